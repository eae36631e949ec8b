//! Manifests in the kernel's terms: what they declare, or why they can't.

mod registry;
mod zone;
mod zone_wish;

pub use registry::{Credentials, RegistrySettings, registry_settings};
pub use zone::{domain, reading, rules, zone, zone_key, zone_settings};
pub use zone_wish::{mailbox, transfer_key, zone_wish};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as ApiSelector;
use zonekeeper_api::{NamespaceSelection, NamespacesFrom};
use zonekeeper_kernel::{
    pattern::Pattern,
    zone::{LabelSelector, Namespaces, Requirement},
};
pub use zonekeeper_sources::BadField;

/// Namespaces by rule, in the kernel's terms.
pub fn namespaces(selection: &NamespaceSelection) -> Namespaces {
    match selection.from {
        NamespacesFrom::Same => Namespaces::Same,
        NamespacesFrom::All => Namespaces::All,
        NamespacesFrom::Selector => {
            Namespaces::Selected(selection.selector.as_ref().map(label_selector).unwrap_or_default())
        }
    }
}

fn label_selector(selector: &ApiSelector) -> LabelSelector {
    let labels = selector.match_labels.iter().flatten();
    let mut requirements: Vec<Requirement> =
        labels.map(|(key, value)| Requirement::In(key.clone(), vec![value.clone()])).collect();
    for expression in selector.match_expressions.iter().flatten() {
        let (key, values) = (expression.key.clone(), expression.values.clone().unwrap_or_default());
        requirements.push(match expression.operator.as_str() {
            "In" => Requirement::In(key, values),
            "NotIn" => Requirement::NotIn(key, values),
            "DoesNotExist" => Requirement::DoesNotExist(key),
            _exists => Requirement::Exists(key),
        });
    }
    LabelSelector { requirements }
}

fn patterns(field: &str, texts: &[String]) -> Result<Vec<Pattern>, BadField> {
    let parse = |(index, text): (usize, &String)| {
        Pattern::parse(text).map_err(|error| BadField::new(format!("{field}[{index}]"), error))
    };
    texts.iter().enumerate().map(parse).collect()
}
