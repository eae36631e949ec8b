//! Namespaces in one zone: who holds a name, and that no other changes what it answers (law 11).

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestCaseResult};
use zonekeeper_kernel::{
    attribute::Attributes,
    desired::{Adoption, Desired, DesiredSet, Values},
    holder::{Holder, HolderRef},
    name::Name,
    rdata::{Rdata, RecordType},
    reason::{Reason, Rejection},
    record::Ttl,
    resolve::{Incumbents, Intent, Origin, WantedName, resolve},
    zone::{Grant, LabelSelector, NameLimits, Namespaces, Requirement, Selection, Sharing, Zone, ZoneKey},
};

use crate::{
    forge::{self, HASH, digest, domain},
    generate::{Registered, may_hold, rdata, registered},
    truth::{NAMES, TYPES, names},
};

const NAMESPACES: [&str; 3] = ["a", "b", "c"];

/// One object's wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    namespace: usize,
    object: usize,
    place: (usize, usize),
    /// None where nobody can say what they are.
    values: Option<Vec<usize>>,
    ttl: u32,
    adoption: Adoption,
    trick: Trick,
}

/// What a tenant tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trick {
    None,
    /// A TXT value that is the text of its own marker.
    CopiesItsMarker,
    /// A comment that looks like one.
    WritesAMarker,
}

/// A zone and its tenants.
#[derive(Debug, Clone)]
pub struct Tenancy {
    registered: Registered,
    /// Whose grant says `share`.
    shares: [bool; 3],
    /// Who holds what now: namespace and object by name, with the types that stand there.
    held: Vec<(usize, usize, usize, Vec<usize>, bool)>,
    asks: Vec<Ask>,
    shuffled: Vec<Ask>,
}

pub fn tenancy() -> impl Strategy<Value = Tenancy> {
    let place = (0..4_usize, 0..TYPES.len());
    let trick = prop_oneof![
        6 => Just(Trick::None), 1 => Just(Trick::CopiesItsMarker), 1 => Just(Trick::WritesAMarker),
    ];
    let values = prop_oneof![8 => vec(0..3_usize, 1..3).prop_map(Some), 1 => Just(None)];
    let ask = (
        (0..3_usize, 0..2_usize),
        place,
        values,
        0..2_u32,
        select(vec![Adoption::Never, Adoption::Identical, Adoption::Force]),
        trick,
    );
    let ask = ask.prop_map(|((namespace, object), place, values, ttl, adoption, trick)| {
        let trick = match trick {
            Trick::CopiesItsMarker if TYPES[place.1] != RecordType::TXT || values.is_none() => Trick::None,
            trick => trick,
        };
        Ask { namespace, object, place, values, ttl, adoption, trick }
    });
    let held = (0..4_usize, 0..3_usize, 0..2_usize, vec(0..TYPES.len(), 1..3), any::<bool>());
    (registered(), any::<[bool; 3]>(), vec(held, 0..4), vec(ask, 0..8)).prop_flat_map(
        |(registered, shares, held, mut asks)| {
            // An object asks for a set once.
            let mut seen = BTreeSet::new();
            asks.retain(|ask: &Ask| seen.insert((ask.namespace, ask.object, ask.place)));
            (Just(registered), Just(shares), Just(held), Just(asks.clone()), Just(asks).prop_shuffle())
                .prop_map(|(registered, shares, held, asks, shuffled)| Tenancy {
                    registered,
                    shares,
                    held,
                    asks,
                    shuffled,
                })
        },
    )
}

// === impl Ask ===

impl Ask {
    fn name(&self) -> Name {
        names()[self.place.0].clone()
    }

    fn rtype(&self) -> RecordType {
        TYPES[self.place.1]
    }

    fn holder(&self) -> Holder {
        Holder::new("recordset", NAMESPACES[self.namespace], &format!("o{}", self.object))
    }

    fn values(&self, registered: &Registered) -> Option<Vec<Rdata>> {
        let rtype = self.rtype();
        if self.trick == Trick::CopiesItsMarker {
            let shape = registered.shape.txt().cloned().unwrap_or(forge::PLAIN);
            let mine = Name::parse("mine.example.com").unwrap();
            return Some(vec![shape.value(registered.us(), (&mine, RecordType::A), self.holder().as_str())]);
        }
        let mut values: Vec<Rdata> =
            self.values.as_ref()?.iter().map(|variant| rdata(rtype, *variant)).collect();
        values.truncate(if rtype == RecordType::CNAME { 1 } else { 3 });
        Some(values)
    }

    fn intent(&self, registered: &Registered) -> Intent {
        let namespace = NAMESPACES[self.namespace];
        let labels = [("name".to_owned(), namespace.to_owned())].into_iter().collect();
        Intent {
            holder: self.holder(),
            origin: Origin::RecordSet,
            age: format!("{}/{namespace}", self.object),
            namespace: namespace.into(),
            namespace_labels: std::sync::Arc::new(labels),
            labels: Default::default(),
            zone_refs: None,
            name: WantedName::Absolute(self.name()),
            rtype: self.rtype(),
            values: self.values(registered),
            ttl: Some(Ttl(300 + self.ttl)),
            attributes: Attributes::default(),
            comment: (self.trick == Trick::WritesAMarker).then(|| {
                forge::comment(registered.us(), (&self.name(), self.rtype()), "recordset/b/o0", "").into()
            }),
            adoption: self.adoption,
        }
    }

    /// Sorts by age: the object's number stands for the time at which it was made.
    fn age(&self) -> (usize, usize) {
        (self.object, self.namespace)
    }
}

// === impl Tenancy ===

impl Tenancy {
    fn zone(&self) -> Zone {
        let grants = NAMESPACES.iter().zip(self.shares).map(|(namespace, shares)| Grant {
            namespaces: Namespaces::Selected(LabelSelector {
                requirements: vec![Requirement::In("name".into(), vec![(*namespace).into()])],
            }),
            names: Some(vec!["*".parse_pattern(), domain().as_str().parse_pattern()]),
            types: Some(TYPES.to_vec()),
            share: if shares { Sharing::Shared } else { Sharing::Exclusive },
            adoption: Adoption::Force,
        });
        Zone {
            key: ZoneKey { namespace: "dns".into(), name: "example-com".into() },
            provider: "p".into(),
            domain: domain(),
            selection: Selection::Any,
            names: NameLimits::default(),
            grants: grants.collect(),
            records_from: Vec::new(),
            sources: None,
            default_ttl: None,
            default_attributes: Attributes::default(),
        }
    }

    /// Who holds each name now: its namespace, object, types, and whether the marker has its hash only.
    fn holders(&self) -> Vec<(Name, usize, Holder, Vec<RecordType>, bool)> {
        let mut seen = BTreeSet::new();
        let held = self.held.iter().filter(|(name, ..)| seen.insert(*name));
        held.map(|(name, namespace, object, types, is_hashed)| {
            let holder = Holder::new("recordset", NAMESPACES[*namespace], &format!("o{object}"));
            let types = types.iter().map(|index| TYPES[*index]).collect();
            (names()[*name].clone(), *namespace, holder, types, *is_hashed)
        })
        .collect()
    }

    fn incumbents(&self) -> Incumbents {
        let mut incumbents = Incumbents::new();
        for (name, _, holder, types, is_hashed) in self.holders() {
            let reference = match is_hashed {
                true => HolderRef::Hash(digest(holder.as_str(), HASH).into()),
                false => HolderRef::Full(holder),
            };
            incumbents.insert(name, types.into_iter().map(|rtype| (rtype, reference.clone())).collect());
        }
        incumbents
    }

    fn resolved(&self, asks: &[Ask]) -> (Desired, Vec<Rejection>) {
        let intents: Vec<Intent> = asks.iter().map(|ask| ask.intent(&self.registered)).collect();
        let wishes = asks.iter().zip(&intents).map(|(ask, intent)| (ask.name(), intent));
        let registered = &self.registered;
        resolve(&self.zone(), &registered.capabilities, &registered.registry(), wishes, &self.incumbents())
    }

    /// Whether a wish is one that the zone can take at all.
    fn is_valid(&self, ask: &Ask) -> bool {
        ask.trick == Trick::None && may_hold(&self.registered, &ask.name(), ask.rtype())
    }

    fn share(&self, one: usize, other: usize) -> bool {
        one == other || (self.shares[one] && self.shares[other])
    }

    /// The namespace that a name belongs to: the one that holds it and still asks for something there, else the
    /// oldest of those that know what they want there, else the oldest that asks.
    fn first(&self, name: &Name) -> Option<usize> {
        let valid: Vec<&Ask> =
            self.asks.iter().filter(|ask| ask.name() == *name && self.is_valid(ask)).collect();
        let holding = self.holders().into_iter().find(|(held, ..)| held == name);
        // A hash names an object, and nothing of its namespace.
        let still = holding.filter(|(_, namespace, holder, _, is_hashed)| {
            valid.iter().any(|ask| ask.namespace == *namespace && (!is_hashed || ask.holder() == *holder))
        });
        let still = still.map(|(_, namespace, ..)| namespace);
        let knows = |of: usize| valid.iter().any(|ask| ask.namespace == of && ask.values.is_some());
        let first = valid.iter().min_by_key(|ask| (!knows(ask.namespace), ask.age()));
        still.or_else(|| first.map(|ask| ask.namespace))
    }
}

/// The namespaces that a name's sets are for.
fn served(sets: &[DesiredSet]) -> BTreeSet<usize> {
    namespaces(sets.iter().flat_map(|set| &set.holders)).collect()
}

fn namespaces<'a>(holders: impl Iterator<Item = &'a Holder>) -> impl Iterator<Item = usize> {
    holders.map(|holder| NAMESPACES.iter().position(|text| *text == holder.namespace()).unwrap())
}

/// Law 11: a name belongs to one namespace, unless the grants of all concerned share it.
pub fn a_name_belongs_to_one_namespace(tenancy: &Tenancy) -> TestCaseResult {
    let (desired, _) = tenancy.resolved(&tenancy.asks);
    for (name, sets) in desired.iter() {
        let first = tenancy.first(name).expect("an object asks for it");
        let mut served = served(sets);
        // A wish without values gives way to known ones that share the name, and holds it all the same.
        served.extend(namespaces(desired.awaited(name)));
        prop_assert!(
            served.contains(&first),
            "{} is {}'s, and goes to {:?}",
            name,
            NAMESPACES[first],
            served
        );
        for other in &served {
            prop_assert!(tenancy.share(first, *other), "{} is {}'s, and {:?} share it", name, first, served);
        }
    }
    Ok(())
}

/// Law 11: no object changes what a name of another namespace answers, unless both grants share it.
pub fn no_namespace_changes_the_name_of_another(tenancy: &Tenancy) -> TestCaseResult {
    let (desired, _) = tenancy.resolved(&tenancy.asks);
    for namespace in 0..NAMESPACES.len() {
        let without: Vec<Ask> =
            tenancy.asks.iter().filter(|ask| ask.namespace != namespace).cloned().collect();
        let (alone, _) = tenancy.resolved(&without);
        for (name, sets) in desired.iter() {
            let first = tenancy.first(name).expect("an object asks for it");
            if !tenancy.share(first, namespace) {
                prop_assert_eq!(sets, alone.at(name), "{} is {}'s, not {}'s", name, first, namespace);
            }
        }
    }
    Ok(())
}

/// A tenant's trick is refused, and what is not served is told.
pub fn every_wish_is_served_or_refused(tenancy: &Tenancy) -> TestCaseResult {
    let (desired, rejections) = tenancy.resolved(&tenancy.asks);
    for ask in &tenancy.asks {
        let (name, rtype, holder) = (ask.name(), ask.rtype(), ask.holder());
        let refused = |reason: Option<Reason>| {
            rejections.iter().any(|one| {
                one.holder == holder
                    && one.name.as_ref() == Some(&name)
                    && one.rtype == rtype
                    && reason.is_none_or(|reason| one.reason == reason)
            })
        };
        if ask.trick != Trick::None && may_hold(&tenancy.registered, &name, rtype) {
            prop_assert!(refused(Some(Reason::ReservedName)), "{:?}", ask);
            let values = ask.values(&tenancy.registered).unwrap_or_default();
            let wanted =
                desired.at(&name).iter().filter(|set| set.rtype == rtype).flat_map(|set| match &set.values {
                    Values::Known(values) => values.as_slice(),
                    Values::Unknown => &[],
                });
            let tricks: Vec<_> = wanted.filter(|wanted| values.contains(&wanted.rdata)).collect();
            prop_assert!(ask.trick != Trick::CopiesItsMarker || tricks.is_empty(), "{:?}", tricks);
        }
        let set = desired.at(&name).iter().find(|set| set.rtype == rtype);
        let is_served = set.is_some_and(|set| set.holders.contains(&holder));
        let is_awaited = ask.values.is_none() && desired.awaited(&name).any(|awaited| *awaited == holder);
        prop_assert!(is_served || is_awaited || refused(None), "{:?} is neither served nor refused", ask);
    }
    Ok(())
}

/// Law 7 for wishes.
pub fn the_order_of_wishes_never_matters(tenancy: &Tenancy) -> TestCaseResult {
    prop_assert_eq!(tenancy.resolved(&tenancy.asks), tenancy.resolved(&tenancy.shuffled));
    Ok(())
}

trait ParsePattern {
    fn parse_pattern(&self) -> zonekeeper_kernel::pattern::Pattern;
}

impl ParsePattern for str {
    fn parse_pattern(&self) -> zonekeeper_kernel::pattern::Pattern {
        zonekeeper_kernel::pattern::Pattern::parse(self).unwrap()
    }
}

const _: () = assert!(NAMES.len() >= 4);
