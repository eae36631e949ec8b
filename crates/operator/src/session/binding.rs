//! What the hash of a plan is bound to: where the zone is, whose plan it is, and how that is remembered.

use serde_json::json;
use zonekeeper_kernel::{marker::Form, zone::Zone};

use crate::session::OpenProvider;

/// A line that is another one where the same changes would mean something else.
///
/// Guarantees: a plan that was reviewed under one owner id or registry has another hash under any other. The keys
/// themselves are left out: a hash is shown to people.
pub fn binding(zone: &Zone, open: &OpenProvider) -> String {
    let registry = open.settings.registry.registry(&zone.domain, None);
    let mut taken: Vec<&str> = registry.take_over_from.iter().map(|owner| owner.as_str()).collect();
    taken.sort_unstable();
    taken.dedup();
    let form = match &registry.form {
        Form::Comment(_) => json!(["Comment", registry.keys.is_set()]),
        Form::Txt(form) => {
            let names = &open.spec.registry.txt;
            let is_signed = form.signed && registry.keys.is_set();
            let is_encrypted = form.encryption.is_some();
            json!(["TXT", names.prefix, names.suffix, names.wildcard_replacement, is_signed, is_encrypted])
        }
        Form::None => json!(["None"]),
    };
    json!([open.settings.name, zone.domain.as_str(), registry.owner.as_str(), taken, form]).to_string()
}
