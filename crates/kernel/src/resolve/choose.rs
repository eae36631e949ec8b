//! Which zones a wish belongs to.

use crate::{
    name::Name,
    reason::{Reason, Rejection},
    resolve::{Intent, WantedName},
    zone::{Selection, Zone},
};

/// A wish placed in one zone, under its full name.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// The zone.
    pub zone: &'a Zone,
    /// The full name there.
    pub name: Name,
}

/// Chooses the zones of one wish.
///
/// zoneRefs is the whole list; else the zones whose recordsFrom matches, from namespaces that they grant;
/// else, for absolute names, the `Any` zone with the longest domain, even if it refuses later.
/// Guarantees: one zone's rejection stops no other zone.
pub fn choose<'a>(intent: &Intent, zones: &'a [Zone]) -> (Vec<Candidate<'a>>, Vec<Rejection>) {
    let (mut candidates, mut rejections) = (Vec::new(), Vec::new());
    let selected: Vec<Result<&Zone, Rejection>> = match &intent.zone_refs {
        Some(refs) => refs
            .iter()
            .map(|key| {
                zones.iter().find(|zone| zone.key == *key).ok_or_else(|| {
                    let message =
                        format!("zoneRefs names DNSZone {key}, which is not ready; create it or wait");
                    reject(intent, Reason::RefNotFound, message)
                })
            })
            .collect(),
        None => {
            let taken: Vec<_> = zones.iter().filter(|zone| takes_by_label(zone, intent)).map(Ok).collect();
            if taken.is_empty() { vec![longest(intent, zones)] } else { taken }
        }
    };
    for choice in selected {
        match choice.and_then(|zone| place(intent, zone)) {
            Ok(candidate) => candidates.push(candidate),
            Err(rejection) => rejections.push(rejection),
        }
    }
    (candidates, rejections)
}

fn takes_by_label(zone: &Zone, intent: &Intent) -> bool {
    let is_granted = intent.namespace == zone.key.namespace
        || zone.grants.iter().any(|grant| {
            grant.namespaces.contain(&zone.key.namespace, &intent.namespace, &intent.namespace_labels)
        });
    is_granted && zone.records_from.iter().any(|selector| selector.matches(&intent.labels))
}

fn longest<'a>(intent: &Intent, zones: &'a [Zone]) -> Result<&'a Zone, Rejection> {
    let WantedName::Absolute(name) = &intent.name else {
        let message = "a relativeName needs zoneRefs, or a zone whose recordsFrom selects this object".into();
        return Err(reject(intent, Reason::NoMatchingZone, message));
    };
    let any = || zones.iter().filter(|zone| zone.selection == Selection::Any && name.is_within(&zone.domain));
    let Some(longest) = any().map(|zone| zone.domain.as_str().len()).max() else {
        let message = format!("no DNSZone has a domain that {name} lies in; create one, or correct the name");
        return Err(reject(intent, Reason::NoMatchingZone, message));
    };
    let best: Vec<&Zone> = any().filter(|zone| zone.domain.as_str().len() == longest).collect();
    match &*best {
        [zone] => Ok(zone),
        several => {
            let keys: Vec<String> = several.iter().map(|zone| zone.key.to_string()).collect();
            let message = format!(
                "{name} could go to DNSZone {}; name one in zoneRefs, or set selection: Explicit on all but one",
                keys.join(" and ")
            );
            Err(reject(intent, Reason::AmbiguousZone, message))
        }
    }
}

fn place<'a>(intent: &Intent, zone: &'a Zone) -> Result<Candidate<'a>, Rejection> {
    let name = match &intent.name {
        WantedName::Absolute(name) => name.clone(),
        WantedName::Relative(text) => Name::parse_under(text, &zone.domain)
            .map_err(|error| reject(intent, Reason::InvalidValue, format!("relativeName: {error}")))?,
    };
    if !name.is_within(&zone.domain) {
        let message = format!("{name} does not lie in {}, the domain of DNSZone {}", zone.domain, zone.key);
        return Err(reject(intent, Reason::NoMatchingZone, message));
    }
    Ok(Candidate { zone, name })
}

fn reject(intent: &Intent, reason: Reason, message: String) -> Rejection {
    let name = match &intent.name {
        WantedName::Absolute(name) => Some(name.clone()),
        WantedName::Relative(_) => None,
    };
    Rejection { holder: intent.holder.clone(), name, rtype: intent.rtype, reason, message }
}
