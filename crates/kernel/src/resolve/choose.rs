//! Which zones a wish belongs to.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    name::Name,
    reason::{Reason, Rejection},
    resolve::{Intent, Origin, WantedName},
    zone::{Selection, SourcesKey, Zone, ZoneKey},
};

/// All zones that wishes can go to, found without walking through all of them.
#[derive(Debug, Clone, Default)]
pub struct Zones {
    by_key: BTreeMap<ZoneKey, Zone>,
    /// Those that take wishes which do not name them.
    by_domain: BTreeMap<Name, BTreeSet<ZoneKey>>,
    /// Those that take wishes by label.
    selecting: BTreeSet<ZoneKey>,
    /// `Explicit` ones that take source objects, by how they read them.
    publishing: BTreeMap<SourcesKey, BTreeSet<ZoneKey>>,
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
        if zone.selection != Selection::Explicit {
            self.by_domain.entry(zone.domain.clone()).or_default().insert(zone.key.clone());
        }
        if !zone.records_from.is_empty() {
            self.selecting.insert(zone.key.clone());
        }
        if let (Selection::Explicit, Some(sources)) = (zone.selection, &zone.sources) {
            self.publishing.entry(sources.clone()).or_default().insert(zone.key.clone());
        }
        self.by_key.insert(zone.key.clone(), zone);
    }

    /// Takes a zone away.
    pub fn remove(&mut self, key: &ZoneKey) {
        let Some(zone) = self.by_key.remove(key) else { return };
        self.selecting.remove(key);
        if let Some(sources) = &zone.sources
            && let Some(keys) = self.publishing.get_mut(sources)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.publishing.remove(sources);
            }
        }
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

    /// The `Any` and `All` zones whose domain a name lies in, the longest domain first; several of one domain together.
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
/// else, for absolute names, the zones with the longest domain, even if they refuse later: the `Any` one, and every `All` one.
/// A source object goes to zones that read it as it was read here: every `Explicit` one around the name, and
/// those with the longest domain. A zone that reads it otherwise has a wish of its own, so nothing is said of it here.
/// Guarantees: one zone's rejection stops no other zone.
pub fn choose<'a>(intent: &Intent, zones: &'a Zones) -> (Vec<Candidate<'a>>, Vec<Rejection>) {
    let (mut candidates, mut rejections) = (Vec::new(), Vec::new());
    let selected: Vec<Result<&Zone, Rejection>> = match (&intent.zone_refs, &intent.origin) {
        (Some(refs), _) => refs.iter().filter_map(|key| named(intent, key, zones)).collect(),
        (None, Origin::Source(sources)) => publishing(intent, sources, zones),
        (None, Origin::RecordSet) => {
            let selecting = zones.selecting.iter().filter_map(|key| zones.get(key));
            let taken: Vec<_> = selecting.filter(|zone| takes_by_label(zone, intent)).map(Ok).collect();
            if taken.is_empty() { longest(intent, zones) } else { taken }
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

/// The zone that a wish names; none where the zone reads the source object in a way of its own.
fn named<'a>(intent: &Intent, key: &ZoneKey, zones: &'a Zones) -> Option<Result<&'a Zone, Rejection>> {
    let Some(zone) = zones.get(key) else {
        let message = format!("zoneRefs names DNSZone {key}, which is not ready; create it or wait");
        return Some(Err(reject(intent, Reason::RefNotFound, message)));
    };
    match (&intent.origin, &zone.sources) {
        (Origin::RecordSet, _) => Some(Ok(zone)),
        (Origin::Source(wanted), Some(sources)) => (wanted == sources).then_some(Ok(zone)),
        (Origin::Source(_), None) => Some(Err(takes_no_sources(intent, zone))),
    }
}

/// The zones that publish a source object without being named by it.
fn publishing<'a>(
    intent: &Intent,
    sources: &SourcesKey,
    zones: &'a Zones,
) -> Vec<Result<&'a Zone, Rejection>> {
    let WantedName::Absolute(name) = &intent.name else { return Vec::new() };
    let explicit = zones.publishing.get(sources).into_iter().flatten().filter_map(|key| zones.get(key));
    let mut chosen: Vec<Result<&Zone, Rejection>> =
        explicit.filter(|zone| name.is_within(&zone.domain)).map(Ok).collect();
    let longest = zones.above(name).next().unwrap_or_default();
    let alike: Vec<&Zone> =
        longest.iter().copied().filter(|zone| zone.sources.as_ref() == Some(sources)).collect();
    match (alike.as_slice(), longest.first()) {
        ([], Some(zone)) if chosen.is_empty() && longest.iter().all(|zone| zone.sources.is_none()) => {
            chosen.push(Err(takes_no_sources(intent, zone)));
        }
        ([], Some(_)) => {}
        ([], None) if chosen.is_empty() => chosen.push(Err(no_zone(intent, name))),
        ([], None) => {}
        (alike, _) => chosen.extend(together(intent, name, alike)),
    }
    chosen
}

/// Which zones of one domain take a wish: each with `All`, and the one with `Any`. Two of those compete.
fn together<'a>(intent: &Intent, name: &Name, zones: &[&'a Zone]) -> Vec<Result<&'a Zone, Rejection>> {
    let (all, any): (Vec<&Zone>, Vec<&Zone>) =
        zones.iter().partition(|zone| zone.selection == Selection::All);
    let any = match any.as_slice() {
        [] => None,
        [zone] => Some(Ok(*zone)),
        several => Some(Err(ambiguous(intent, name, several))),
    };
    all.into_iter().map(Ok).chain(any).collect()
}

fn takes_by_label(zone: &Zone, intent: &Intent) -> bool {
    let is_granted = intent.namespace == zone.key.namespace
        || zone.grants.iter().any(|grant| {
            grant.namespaces.contain(&zone.key.namespace, &intent.namespace, &intent.namespace_labels)
        });
    is_granted && zone.records_from.iter().any(|selector| selector.matches(&intent.labels))
}

fn longest<'a>(intent: &Intent, zones: &'a Zones) -> Vec<Result<&'a Zone, Rejection>> {
    let WantedName::Absolute(name) = &intent.name else {
        let message = "a relativeName needs zoneRefs, or a zone whose recordsFrom selects this object".into();
        return vec![Err(reject(intent, Reason::NoMatchingZone, message))];
    };
    match zones.above(name).next().as_deref() {
        None | Some([]) => vec![Err(no_zone(intent, name))],
        Some(zones) => together(intent, name, zones),
    }
}

fn no_zone(intent: &Intent, name: &Name) -> Rejection {
    let message = format!("no DNSZone has a domain that {name} lies in; create one, or correct the name");
    reject(intent, Reason::NoMatchingZone, message)
}

fn ambiguous(intent: &Intent, name: &Name, several: &[&Zone]) -> Rejection {
    let keys: Vec<String> = several.iter().map(|zone| zone.key.to_string()).collect();
    let message = format!(
        "{name} could go to DNSZone {}; name one in zoneRefs, set selection: Explicit on all but one, or All on each that \
         is to have it",
        keys.join(" and ")
    );
    reject(intent, Reason::AmbiguousZone, message)
}

fn takes_no_sources(intent: &Intent, zone: &Zone) -> Rejection {
    let message = format!("DNSZone {} takes no source objects; its owner can set spec.sources", zone.key);
    reject(intent, Reason::NotAllowed, message)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        attribute::Attributes,
        desired::Adoption,
        holder::Holder,
        rdata::RecordType,
        zone::{NameLimits, ZoneKey},
    };

    fn key(name: &str) -> ZoneKey {
        ZoneKey { namespace: "dns".into(), name: name.into() }
    }

    fn zone(name: &str, domain: &str, selection: Selection, sources: Option<&str>) -> Zone {
        Zone {
            key: key(name),
            provider: name.into(),
            domain: Name::parse(domain).unwrap(),
            selection,
            names: NameLimits::default(),
            grants: Vec::new(),
            records_from: Vec::new(),
            sources: sources.map(|text| SourcesKey(Arc::from(text))),
            default_ttl: None,
            default_attributes: Attributes::default(),
        }
    }

    fn ingress(host: &str, sources: &str) -> Intent {
        Intent {
            holder: Holder::new("ingress", "shop", "web"),
            origin: Origin::Source(SourcesKey(Arc::from(sources))),
            age: String::new(),
            namespace: "shop".into(),
            namespace_labels: Arc::default(),
            labels: Default::default(),
            zone_refs: None,
            name: WantedName::Absolute(Name::parse(host).unwrap()),
            rtype: RecordType::A,
            values: None,
            ttl: None,
            attributes: Attributes::default(),
            comment: None,
            adoption: Adoption::Identical,
        }
    }

    fn chosen(intent: &Intent, zones: &Zones) -> (Vec<String>, Vec<Reason>) {
        let (candidates, rejections) = choose(intent, zones);
        (
            candidates.iter().map(|candidate| candidate.zone.key.name.clone()).collect(),
            rejections.iter().map(|rejection| rejection.reason).collect(),
        )
    }

    #[test]
    fn a_zone_without_sources_takes_no_source_object_even_if_a_shorter_one_would() {
        let zones: Zones = [
            zone("parent", "example.com", Selection::Any, Some("r")),
            zone("child", "a.example.com", Selection::Any, None),
        ]
        .into_iter()
        .collect();
        assert_eq!(chosen(&ingress("www.example.com", "r"), &zones), (vec!["parent".into()], vec![]));
        assert_eq!(chosen(&ingress("www.a.example.com", "r"), &zones), (vec![], vec![Reason::NotAllowed]));
        assert_eq!(chosen(&ingress("www.example.net", "r"), &zones), (vec![], vec![Reason::NoMatchingZone]));
    }

    #[test]
    fn zones_that_read_differently_do_not_compete() {
        let zones: Zones = [
            zone("public", "example.com", Selection::Any, Some("public")),
            zone("private", "example.com", Selection::Any, Some("private")),
            zone("silent", "example.com", Selection::Any, None),
        ]
        .into_iter()
        .collect();
        assert_eq!(chosen(&ingress("www.example.com", "public"), &zones), (vec!["public".into()], vec![]));
        assert_eq!(chosen(&ingress("www.example.com", "other"), &zones), (vec![], vec![]));
    }

    #[test]
    fn zones_that_read_alike_are_ambiguous_unless_explicit() {
        let mut zones: Zones = [
            zone("one", "example.com", Selection::Any, Some("r")),
            zone("two", "example.com", Selection::Any, Some("r")),
        ]
        .into_iter()
        .collect();
        assert_eq!(chosen(&ingress("www.example.com", "r"), &zones), (vec![], vec![Reason::AmbiguousZone]));
        zones.insert(zone("two", "example.com", Selection::Explicit, Some("r")));
        let both = (vec!["two".into(), "one".into()], vec![]);
        assert_eq!(chosen(&ingress("www.example.com", "r"), &zones), both);
        zones.remove(&key("two"));
        assert_eq!(chosen(&ingress("www.example.com", "r"), &zones), (vec!["one".into()], vec![]));
    }

    #[test]
    fn every_zone_of_a_domain_with_all_takes_it_and_two_with_any_compete() {
        let zones = |selections: &[Selection]| -> Zones {
            let zones = selections.iter().enumerate();
            zones
                .map(|(at, selection)| zone(&format!("z{at}"), "example.com", *selection, Some("r")))
                .collect()
        };
        let record = Intent { origin: Origin::RecordSet, ..ingress("www.example.com", "r") };
        let names = |taken: &[&str]| taken.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for intent in [record, ingress("www.example.com", "r")] {
            let all = zones(&[Selection::All, Selection::All, Selection::All]);
            assert_eq!(chosen(&intent, &all), (names(&["z0", "z1", "z2"]), vec![]));
            let mixed = zones(&[Selection::Any, Selection::All]);
            assert_eq!(chosen(&intent, &mixed), (names(&["z1", "z0"]), vec![]));
            let competing = zones(&[Selection::Any, Selection::Any, Selection::All]);
            assert_eq!(chosen(&intent, &competing), (names(&["z2"]), vec![Reason::AmbiguousZone]));
        }
    }

    #[test]
    fn a_longer_domain_wins_over_all() {
        let zones: Zones = [
            zone("one", "example.com", Selection::All, Some("r")),
            zone("two", "example.com", Selection::All, Some("r")),
            zone("child", "a.example.com", Selection::All, Some("r")),
        ]
        .into_iter()
        .collect();
        assert_eq!(chosen(&ingress("www.a.example.com", "r"), &zones), (vec!["child".into()], vec![]));
    }

    #[test]
    fn a_named_zone_takes_a_source_object_only_as_it_reads_it() {
        let zones: Zones = [
            zone("reading", "example.com", Selection::Explicit, Some("r")),
            zone("silent", "example.com", Selection::Any, None),
        ]
        .into_iter()
        .collect();
        let naming = |name: &str, sources: &str| Intent {
            zone_refs: Some(vec![key(name)]),
            ..ingress("www.example.com", sources)
        };
        assert_eq!(chosen(&naming("reading", "r"), &zones), (vec!["reading".into()], vec![]));
        assert_eq!(chosen(&naming("reading", "other"), &zones), (vec![], vec![]));
        assert_eq!(chosen(&naming("silent", "r"), &zones), (vec![], vec![Reason::NotAllowed]));
        assert_eq!(chosen(&naming("missing", "r"), &zones), (vec![], vec![Reason::RefNotFound]));
    }
}
