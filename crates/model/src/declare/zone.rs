//! A DNSZone in the kernel's terms.

use std::time::Duration;

use kube::ResourceExt;
use zonekeeper_api::{
    DNSZone, Drift as ApiDrift, Policy as ApiPolicy, PruneMode as ApiPruneMode, Selection as ApiSelection,
};
use zonekeeper_kernel::{
    attribute::{Attributes, PROXIED},
    guard::Limits,
    name::Name,
    rdata::RecordType,
    record::Ttl,
    transfer_key::TransferKey,
    zone::{
        Drift, Grant, Ignore, NameLimits, Policy, Prune, PruneMode, Rules, Selection, Sharing, Zone, ZoneKey,
    },
};
use zonekeeper_sources::{Reading, adoption};

use crate::{
    declare::{BadField, RegistrySettings, label_selector, namespaces, patterns, zone_wish},
    worker::Settings,
};

const WINDOW: Duration = Duration::from_secs(600);
const SETTLE: Duration = Duration::from_secs(2);

/// The object's namespace and name.
pub fn zone_key(object: &DNSZone) -> ZoneKey {
    ZoneKey { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
}

/// The zone, as far as choosing and granting needs to know.
pub fn zone(object: &DNSZone, provider: &str) -> Result<Zone, BadField> {
    let spec = &object.spec;
    let mut grants = Vec::new();
    for (index, grant) in spec.allowed_records.iter().enumerate() {
        let field = |name: &str| format!("spec.allowedRecords[{index}].{name}");
        grants.push(Grant {
            namespaces: namespaces(&grant.namespaces),
            names: grant.names.as_deref().map(|names| patterns(&field("names"), names)).transpose()?,
            types: grant
                .types
                .as_deref()
                .map(|types| types.iter().map(|text| rtype(&field("types"), text)).collect())
                .transpose()?,
            share: if grant.share { Sharing::Shared } else { Sharing::Exclusive },
            adoption: adoption(grant.adoption),
        });
    }
    Ok(Zone {
        key: zone_key(object),
        provider: provider.to_owned(),
        domain: domain(object)?,
        selection: match spec.selection {
            ApiSelection::Any => Selection::Any,
            ApiSelection::All => Selection::All,
            ApiSelection::Explicit => Selection::Explicit,
        },
        names: name_limits(object)?,
        grants,
        records_from: spec.records_from.iter().map(|from| label_selector(&from.selector)).collect(),
        sources: reading(object)?.map(|reading| reading.key().clone()),
        default_ttl: spec.defaults.ttl.map(Ttl),
        default_attributes: default_attributes(object),
    })
}

/// Attributes of sets that do not say.
fn default_attributes(object: &DNSZone) -> Attributes {
    match object.spec.defaults.cloudflare.proxied {
        true => Attributes::of(PROXIED, true),
        false => Attributes::default(),
    }
}

/// How the zone reads source objects, where it does.
pub fn reading(object: &DNSZone) -> Result<Option<Reading>, BadField> {
    object.spec.sources.as_ref().map(Reading::parse).transpose()
}

/// How far the zone's worker may go.
pub fn rules(object: &DNSZone) -> Result<Rules, BadField> {
    let spec = &object.spec;
    let mut ignore = Vec::new();
    for (index, entry) in spec.prune.ignore.iter().enumerate() {
        let field = |name: &str| format!("spec.prune.ignore[{index}].{name}");
        let name = entry
            .name
            .as_ref()
            .map(|name| patterns(&field("name"), std::slice::from_ref(name)))
            .transpose()?;
        ignore.push(Ignore {
            name: name.and_then(|mut patterns| patterns.pop()),
            rtype: entry.rtype.as_ref().map(|text| rtype(&field("type"), text)).transpose()?,
        });
    }
    Ok(Rules {
        policy: match spec.policy {
            ApiPolicy::Sync => Policy::Sync,
            ApiPolicy::UpsertOnly => Policy::UpsertOnly,
            ApiPolicy::CreateOnly => Policy::CreateOnly,
            ApiPolicy::Observe => Policy::Observe,
        },
        drift: match spec.drift {
            ApiDrift::Revert => Drift::Revert,
            ApiDrift::Report => Drift::Report,
        },
        prune: Prune {
            mode: match spec.prune.mode {
                ApiPruneMode::Never => PruneMode::Never,
                ApiPruneMode::Owned => PruneMode::Owned,
                ApiPruneMode::All => PruneMode::All,
            },
            max_deletes: spec.prune.max_deletes as usize,
            ignore,
        },
        names: name_limits(object)?,
    })
}

/// How the zone's worker works; `identity` is what held plans are bound to.
pub fn zone_settings(
    object: &DNSZone,
    provider: &RegistrySettings,
    identity: String,
    comment_limit: Option<usize>,
    key: Option<TransferKey>,
) -> Result<Settings, BadField> {
    let is_builtin = provider.is_all_ours;
    Ok(Settings {
        identity,
        registry: provider.registry(&domain(object)?, comment_limit),
        rules: rules(object)?,
        limits: (!is_builtin).then(|| limits(object)),
        window: object.spec.guard.window.to_std().unwrap_or(WINDOW),
        settle: object.spec.guard.settle.to_std_or_zero().unwrap_or(SETTLE),
        is_all_ours: is_builtin,
        wish: zone_wish(object, key)?,
    })
}

/// How much may change at once.
fn limits(object: &DNSZone) -> Limits {
    let guard = &object.spec.guard;
    Limits {
        max_delete_percent: guard.max_delete_percent as usize,
        max_update_percent: guard.max_update_percent as usize,
        min_records: guard.min_records as usize,
    }
}

/// Its domain.
pub fn domain(object: &DNSZone) -> Result<Name, BadField> {
    Name::parse(&object.spec.domain).map_err(|error| BadField::new("spec.domain", error))
}

fn name_limits(object: &DNSZone) -> Result<NameLimits, BadField> {
    let names = &object.spec.names;
    Ok(NameLimits {
        include: patterns("spec.names.include", &names.include)?,
        exclude: patterns("spec.names.exclude", &names.exclude)?,
    })
}

fn rtype(field: &str, text: &str) -> Result<RecordType, BadField> {
    text.parse().map_err(|error| BadField::new(field, error))
}
