//! Zones, wishes and claims, small enough that everything meets everything.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select};
use zonekeeper_kernel::{
    attribute::{Attributes, PROXIED},
    capability::Capabilities,
    desired::{Adoption, Desired, DesiredSet, Unmet, Values, Wanted},
    holder::{Holder, OwnerId},
    marker::{Registry, key::MarkerKeys},
    name::Name,
    pattern::Pattern,
    plan::Settled,
    rdata::{Rdata, RecordType},
    record::Ttl,
    zone::{Drift, Ignore, NameLimits, Policy, Prune, PruneMode, Rules},
};

use crate::{
    forge::{Hand, Shape, TxtShape, domain},
    host,
    live::{RawSet, Untyped, live_records, live_sets, untyped},
    model::{Neighbours, exclude},
    truth::{Case, Given, HOLDERS, NAMES, TYPES, Whose, Wished, holder, names, namespace},
};

/// Which keys the registry has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    None,
    One,
    /// A new one, and the one before it.
    Two,
}

/// How ownership is remembered.
#[derive(Debug, Clone)]
pub struct Registered {
    pub shape: Shape,
    pub keys: Keys,
    pub capabilities: Capabilities,
    /// Nothing but this process writes there.
    pub is_all_ours: bool,
}

impl Registered {
    pub fn us(&self) -> Hand {
        Hand { owner: "us", key: (self.keys != Keys::None).then_some(b"key") }
    }

    pub fn registry(&self) -> Registry {
        let previous: Option<&[u8]> = (self.keys == Keys::Two).then_some(b"before");
        Registry {
            domain: domain(),
            owner: OwnerId::new("us"),
            take_over_from: vec![OwnerId::new("old")],
            keys: MarkerKeys::new(self.us().key, previous),
            form: self.shape.form(),
        }
    }
}

pub fn rdata(rtype: RecordType, variant: usize) -> Rdata {
    let text = match rtype {
        RecordType::A => ["192.0.2.1", "192.0.2.2", "192.0.2.3"][variant],
        RecordType::AAAA => ["2001:db8::1", "2001:db8::2", "2001:db8::3"][variant],
        RecordType::CNAME | RecordType::NS => ["x.example.net", "y.example.net", "z.example.net"][variant],
        RecordType::MX => ["10 x.example.net", "20 x.example.net", "10 y.example.net"][variant],
        _txt => ["one", "two", "three"][variant],
    };
    Rdata::parse(rtype, text).unwrap()
}

pub fn some_holder() -> impl Strategy<Value = usize> {
    0..HOLDERS.len()
}

pub fn registered() -> impl Strategy<Value = Registered> {
    let shape = prop_oneof![
        6 => select(vec![100, 60, 500]).prop_map(|limit| Shape::Comment { limit }),
        6 => (
            select(vec![("", ""), ("p.", ""), ("x-%{record_type}.", ""), ("", "-s"), ("", "-%{record_type}")]),
            select(vec!["", "any"]),
            any::<bool>(),
            prop::bool::weighted(0.3),
        ).prop_map(|((prefix, suffix), wildcard, is_signed, is_encrypted)| {
            Shape::Txt(TxtShape { prefix, suffix, wildcard, is_signed, is_encrypted })
        }),
        1 => Just(Shape::None),
    ];
    (shape, select(vec![Keys::One, Keys::Two, Keys::None]), any::<bool>(), any::<bool>()).prop_map(
        |(shape, keys, is_standard, is_all_ours)| {
            let has_comments = matches!(shape, Shape::Comment { .. });
            let must_sign = shape.txt().is_some_and(|shape| shape.is_signed);
            Registered {
                keys: if must_sign && keys == Keys::None { Keys::One } else { keys },
                capabilities: match is_standard && !has_comments {
                    true => Capabilities::standard(),
                    false => host::proxying(),
                },
                is_all_ours: is_all_ours && shape == Shape::None,
                shape,
            }
        },
    )
}

/// A wanted set.
#[derive(Debug, Clone)]
struct RawWish {
    place: (usize, usize),
    values: Vec<(usize, usize)>,
    is_unknown: bool,
    ttl: u32,
    is_proxied: bool,
    adoption: Adoption,
    comment: Option<&'static str>,
    is_settled: bool,
}

fn raw_wishes() -> impl Strategy<Value = Vec<RawWish>> {
    let wish = (
        (0..NAMES.len(), 0..TYPES.len()),
        (vec((0..3_usize, some_holder()), 1..4), prop::bool::weighted(0.1)),
        (select(vec![1, 300, 600]), any::<bool>()),
        select(vec![Adoption::Never, Adoption::Identical, Adoption::Force]),
        select(vec![
            None,
            Some("text"),
            Some("a longer text that may have to be cut on the way, with ünïcödé in it"),
        ]),
        prop::bool::weighted(0.3),
    );
    let wish =
        wish.prop_map(|(place, (values, is_unknown), (ttl, is_proxied), adoption, comment, is_settled)| {
            RawWish { place, values, is_unknown, ttl, is_proxied, adoption, comment, is_settled }
        });
    vec(wish, 0..7)
}

fn rules() -> impl Strategy<Value = Rules> {
    let pattern = |index: usize| Pattern::parse(NAMES[index]).unwrap();
    let ignore = prop_oneof![
        2 => Just(None),
        1 => (0..NAMES.len()).prop_map(move |at| Some(Ignore { name: Some(pattern(at)), rtype: None })),
        1 => select(TYPES.to_vec()).prop_map(|rtype| Some(Ignore { name: None, rtype: Some(rtype) })),
    ];
    let mode = select(vec![PruneMode::Never, PruneMode::Owned, PruneMode::Owned, PruneMode::All]);
    (
        (mode, 0..4_usize, ignore),
        select(vec![Drift::Revert, Drift::Report]),
        prop_oneof![6 => Just(Policy::Sync), 1 => Just(Policy::UpsertOnly), 1 => Just(Policy::CreateOnly)],
        prop_oneof![5 => Just(None), 1 => (0..NAMES.len()).prop_map(Some)],
    )
        .prop_map(move |((mode, max_deletes, ignore), drift, policy, excluded)| Rules {
            policy,
            drift,
            prune: Prune { mode, max_deletes, ignore: ignore.into_iter().collect() },
            names: NameLimits { include: Vec::new(), exclude: excluded.into_iter().map(pattern).collect() },
        })
}

fn given() -> impl Strategy<Value = Given> {
    let some = || prop::collection::btree_set(some_holder(), 0..2);
    prop_oneof![
        1 => Just(Given::Complete { orphaned: BTreeSet::new(), awaited: BTreeSet::new() }),
        1 => (some(), some()).prop_map(|(orphaned, awaited)| Given::Complete { orphaned, awaited }),
        3 => (any::<u64>(), some()).prop_map(|(dice, awaited)| Given::Seen { dice, awaited }),
    ]
}

/// A wish that can't be carried out now.
#[derive(Debug, Clone)]
struct RawReserved {
    name: usize,
    rtype: Option<usize>,
    holder: usize,
    is_mistaken: bool,
}

fn raw_reserved() -> impl Strategy<Value = RawReserved> {
    let rtype = prop::option::weighted(0.8, 0..TYPES.len());
    (0..NAMES.len(), rtype, some_holder(), any::<bool>())
        .prop_map(|(name, rtype, holder, is_mistaken)| RawReserved { name, rtype, holder, is_mistaken })
}

pub fn case() -> impl Strategy<Value = Case> {
    let reserved = vec(raw_reserved(), 1..3);
    let reserved = (prop_oneof![3 => Just(Vec::new()), 1 => reserved], any::<[bool; NAMES.len()]>());
    (registered(), live_sets(), untyped(), raw_wishes(), rules(), given(), reserved).prop_map(
        |(registered, sets, untyped, wishes, rules, given, reserved)| {
            build(&registered, &sets, &untyped, wishes, rules, given, reserved)
        },
    )
}

fn build(
    registered: &Registered,
    sets: &[RawSet],
    untyped: &[Untyped],
    raw: Vec<RawWish>,
    rules: Rules,
    given: Given,
    (reserved, shared): (Vec<RawReserved>, [bool; NAMES.len()]),
) -> Case {
    let (records, known) = live_records(registered, sets, untyped);
    let mut desired = Desired::default();
    for it in &reserved {
        let unmet = if it.is_mistaken { Unmet::Mistaken } else { Unmet::Forbidden };
        let rtype = it.rtype.map(|index| TYPES[index]);
        desired.reserve(names()[it.name].clone(), rtype, namespace(it.holder), unmet);
    }
    for (name, _) in names().into_iter().zip(shared).filter(|(_, is_shared)| *is_shared) {
        desired.share(name);
    }
    let (mut wishes, mut settled): (Vec<Wished>, _) = (Vec::new(), Settled::default());
    for wish in raw {
        let (name, rtype) = (names()[wish.place.0].clone(), TYPES[wish.place.1]);
        let neighbours = Neighbours::of(&registered.capabilities);
        let is_in_the_way =
            |other: &Wished| other.name == name && exclude(neighbours, &name, other.rtype, rtype);
        let is_excluded = rules.names.exclude.iter().any(|pattern| pattern.matches(&name));
        if wishes.iter().any(is_in_the_way)
            || is_excluded
            || !may_hold(registered, &name, rtype)
            || (registered.capabilities.default_ttl == Ttl(300) && wish.ttl == 1)
        {
            continue;
        }
        let before = wishes.iter().find(|other: &&Wished| other.name == name).map(|other| other.is_settled);
        let (set, mut wished) = wished(registered, name.clone(), rtype, wish);
        // The sets of a name are settled together.
        wished.is_settled = before.unwrap_or(wished.is_settled) && !wished.is_unknown;
        if wished.is_settled {
            settled.insert(name.clone(), set.clone());
        }
        wishes.retain(|other| other.name != name || other.rtype != rtype);
        wishes.push(wished);
        desired.insert(name, set);
    }
    // Several namespaces have a name together only where it is shared, as they want it or as it was before.
    for name in names() {
        let here = records.iter().filter(|placed| placed.name == name);
        let held = here.filter_map(|placed| match placed.whose {
            Whose::Ours(held) => held.holder.map(namespace),
            _other => None,
        });
        if held.collect::<BTreeSet<_>>().len() > 1 {
            desired.share(name);
        }
    }
    for one in &wishes {
        let of = |wish: &Wished| wish.holders.iter().map(|index| namespace(*index)).collect::<BTreeSet<_>>();
        let mut here = wishes.iter().filter(|other| other.name == one.name);
        if of(one).len() > 1 || here.any(|other| of(other) != of(one)) {
            desired.share(one.name.clone());
        }
    }
    Case {
        shape: registered.shape.clone(),
        registry: registered.registry(),
        capabilities: registered.capabilities.clone(),
        records,
        desired,
        wishes,
        reserved: reserved
            .iter()
            .map(|it| (names()[it.name].clone(), it.rtype.map(|index| TYPES[index]), namespace(it.holder)))
            .collect(),
        known,
        rules,
        evidence: given.evidence(&sets.iter().map(RawSet::place).collect()),
        given,
        settled,
    }
}

/// Whether a set may be asked for, or stand, at a name: markers need their place.
pub fn may_hold(registered: &Registered, name: &Name, rtype: RecordType) -> bool {
    let is_apex_alias =
        rtype == RecordType::CNAME && *name == domain() && registered.capabilities.comment_limit.is_none();
    let lies_on_a_marker = matches!(rtype, RecordType::TXT | RecordType::CNAME | RecordType::NS)
        && name.as_str() == "a-www.example.com"
        && !matches!(registered.shape, Shape::None);
    !is_apex_alias && !lies_on_a_marker
}

fn wished(registered: &Registered, name: Name, rtype: RecordType, wish: RawWish) -> (DesiredSet, Wished) {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut indexes = Vec::new();
    for (variant, index) in wish.values {
        let rdata = rdata(rtype, variant);
        let is_full = rtype == RecordType::CNAME && !wanted.is_empty();
        if !is_full && !wanted.iter().any(|other| other.rdata == rdata) {
            wanted.push(Wanted { rdata, holder: holder(index) });
            indexes.push(index);
        }
    }
    wanted.sort();
    let mut holders: Vec<Holder> = indexes.iter().map(|index| holder(*index)).collect();
    holders.sort();
    holders.dedup();
    let mut set = DesiredSet {
        rtype,
        values: if wish.is_unknown { Values::Unknown } else { Values::Known(wanted) },
        ttl: Ttl(wish.ttl),
        attributes: Attributes::of(PROXIED, wish.is_proxied),
        comment: wish.comment.map(Into::into),
        adoption: wish.adoption,
        holders,
    };
    registered.capabilities.normalise(&mut set);
    let wished = Wished {
        name,
        rtype,
        holders: indexes,
        adoption: wish.adoption,
        is_unknown: wish.is_unknown,
        is_settled: wish.is_settled && !wish.is_unknown,
    };
    (set, wished)
}
