//! Which zones a wish belongs to.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    name::Name,
    reason::{Reason, Rejection},
    resolve::{Intent, WantedName},
    zone::{Selection, Zone, ZoneKey},
};

/// All zones that wishes can go to, found without walking through all of them.
#[derive(Debug, Clone, Default)]
pub struct Zones {
    by_key: BTreeMap<ZoneKey, Zone>,
    /// Those that take wishes which do not name them.
    by_domain: BTreeMap<Name, BTreeSet<ZoneKey>>,
    /// Those that take wishes by label.
    selecting: BTreeSet<ZoneKey>,
}

/// A wish placed in one zone, under its full name.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// The zone.
    pub zone: &'a Zone,
    /// The full name there.
    pub name: Name,
}

// === impl Zones ===

impl Zones {
    /// Adds a zone, in place of one with the same key.
    pub fn insert(&mut self, zone: Zone) {
        self.remove(&zone.key);
        if zone.selection == Selection::Any {
            self.by_domain.entry(zone.domain.clone()).or_default().insert(zone.key.clone());
        }
        if !zone.records_from.is_empty() {
            self.selecting.insert(zone.key.clone());
        }
        self.by_key.insert(zone.key.clone(), zone);
    }

    /// Takes a zone away.
    pub fn remove(&mut self, key: &ZoneKey) {
        let Some(zone) = self.by_key.remove(key) else { return };
        self.selecting.remove(key);
        if let Some(keys) = self.by_domain.get_mut(&zone.domain) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_domain.remove(&zone.domain);
            }
        }
    }

    /// A zone by its key.
    pub fn get(&self, key: &ZoneKey) -> Option<&Zone> {
        self.by_key.get(key)
    }

    /// All zones, by key.
    pub fn iter(&self) -> impl Iterator<Item = &Zone> {
        self.by_key.values()
    }

    /// The `Any` zones whose domain a name lies in, the longest domain first; several of one domain together.
    pub fn above(&self, name: &Name) -> impl Iterator<Item = Vec<&Zone>> {
        let domains = std::iter::successors(Some(name.clone()), Name::parent);
        domains.filter_map(|domain| {
            let keys = self.by_domain.get(&domain)?;
            Some(keys.iter().filter_map(|key| self.by_key.get(key)).collect())
        })
    }
}

impl FromIterator<Zone> for Zones {
    fn from_iter<I: IntoIterator<Item = Zone>>(zones: I) -> Self {
        let mut all = Self::default();
        zones.into_iter().for_each(|zone| all.insert(zone));
        all
    }
}

/// Chooses the zones of one wish.
///
/// zoneRefs is the whole list; else the zones whose recordsFrom matches, from namespaces that they grant;
/// else, for absolute names, the `Any` zone with the longest domain, even if it refuses later.
/// Guarantees: one zone's rejection stops no other zone.
pub fn choose<'a>(intent: &Intent, zones: &'a Zones) -> (Vec<Candidate<'a>>, Vec<Rejection>) {
    let (mut candidates, mut rejections) = (Vec::new(), Vec::new());
    let selected: Vec<Result<&Zone, Rejection>> = match &intent.zone_refs {
        Some(refs) => refs
            .iter()
            .map(|key| {
                zones.get(key).ok_or_else(|| {
                    let message =
                        format!("zoneRefs names DNSZone {key}, which is not ready; create it or wait");
                    reject(intent, Reason::RefNotFound, message)
                })
            })
            .collect(),
        None => {
            let selecting = zones.selecting.iter().filter_map(|key| zones.get(key));
            let taken: Vec<_> = selecting.filter(|zone| takes_by_label(zone, intent)).map(Ok).collect();
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

fn longest<'a>(intent: &Intent, zones: &'a Zones) -> Result<&'a Zone, Rejection> {
    let WantedName::Absolute(name) = &intent.name else {
        let message = "a relativeName needs zoneRefs, or a zone whose recordsFrom selects this object".into();
        return Err(reject(intent, Reason::NoMatchingZone, message));
    };
    match zones.above(name).next().as_deref() {
        None | Some([]) => {
            let message =
                format!("no DNSZone has a domain that {name} lies in; create one, or correct the name");
            Err(reject(intent, Reason::NoMatchingZone, message))
        }
        Some([zone]) => Ok(zone),
        Some(several) => {
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
