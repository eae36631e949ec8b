//! Which of several wishes for one zone win their sets.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    capability::Capabilities,
    desired::{Adoption, Desired, DesiredSet, Values, Wanted},
    holder::{Holder, HolderRef},
    marker::{Form, Registry, comment},
    name::Name,
    rdata::RecordType,
    reason::{Reason, Rejection},
    resolve::{Incumbents, Intent, Origin},
    zone::{Grant, Sharing, Zone},
};

/// BIND refuses more than 100 (2026-11); other providers take more.
const MAX_VALUES: usize = 100;

/// Resolves the wishes that belong to one zone.
///
/// Guarantees: the result does not depend on the order of `wishes`; at most one set per name and type, no two sets
/// at a name that exclude each other, and no two namespaces at a name that do not both share it; every wish is part
/// of a set, is waited for because its values are not known, or is rejected with a reason.
pub fn resolve<'a>(
    zone: &Zone,
    capabilities: &Capabilities,
    registry: &Registry,
    wishes: impl IntoIterator<Item = (Name, &'a Intent)>,
    incumbents: &Incumbents,
) -> (Desired, Vec<Rejection>) {
    let resolver = Resolver { zone, capabilities, registry, incumbents };
    let mut rejections = Vec::new();
    let mut by_name: BTreeMap<Name, Vec<Wish<'_>>> = BTreeMap::new();
    for (name, intent) in wishes {
        match resolver.admit(&name, intent) {
            Ok(wish) => by_name.entry(name).or_default().push(wish),
            Err(rejection) => rejections.push(rejection),
        }
    }
    let mut desired = Desired::default();
    for (name, wishes) in by_name {
        if wishes.iter().any(|wish| wish.sharing == Sharing::Shared) {
            desired.share(name.clone());
        }
        let unknown: Vec<(&Holder, RecordType)> = wishes
            .iter()
            .filter(|wish| wish.is_unknown())
            .map(|wish| (&wish.intent.holder, wish.set.rtype))
            .collect();
        let refused_before = rejections.len();
        for set in resolver.settle(&name, wishes, &mut rejections) {
            desired.insert(name.clone(), set);
        }
        for (holder, rtype) in unknown {
            let is_it = |rejection: &Rejection| rejection.holder == *holder && rejection.rtype == rtype;
            if !rejections[refused_before..].iter().any(is_it) {
                desired.wait_for(name.clone(), holder.clone());
            }
        }
    }
    rejections.sort();
    rejections.dedup();
    (desired, rejections)
}

/// A wish that the zone admits.
struct Wish<'a> {
    intent: &'a Intent,
    set: DesiredSet,
    sharing: Sharing,
}

// === impl Wish ===

impl Wish<'_> {
    /// Whether its values are not known at the moment.
    fn is_unknown(&self) -> bool {
        self.set.values == Values::Unknown
    }

    /// Whether it gives way to a wish that is known: of a source object without values not even the type is known.
    fn yields_to(&self, other: &Self) -> bool {
        let is_open = matches!(self.intent.origin, Origin::Source(_)) || self.set.rtype == other.set.rtype;
        self.is_unknown() && !other.is_unknown() && is_open && self.may_share_with(other)
    }

    fn may_share_with(&self, other: &Self) -> bool {
        let is_shared = self.sharing == Sharing::Shared && other.sharing == Sharing::Shared;
        let is_shared = is_shared || crate::mutant::is_on("resolve: share forgotten");
        self.intent.namespace == other.intent.namespace || is_shared
    }
}

/// What was decided at one name so far.
#[derive(Default)]
struct Taken<'a> {
    winners: Vec<Wish<'a>>,
    /// Wishes without values that gave way: they hold the name all the same.
    waiting: Vec<Wish<'a>>,
}

struct Resolver<'a> {
    zone: &'a Zone,
    capabilities: &'a Capabilities,
    registry: &'a Registry,
    incumbents: &'a Incumbents,
}

// === impl Resolver ===

impl Resolver<'_> {
    fn admit<'a>(&self, name: &Name, intent: &'a Intent) -> Result<Wish<'a>, Rejection> {
        let reject = |reason, message: String| Rejection {
            holder: intent.holder.clone(),
            name: Some(name.clone()),
            rtype: intent.rtype,
            reason,
            message,
        };
        let zone = self.zone;
        if !zone.names.allow(name) {
            let message =
                format!("{name} lies outside the names of DNSZone {}; see its spec.names", zone.key);
            return Err(reject(Reason::NotAllowed, message));
        }
        let (most, sharing) = self.rights(name, intent).ok_or_else(|| {
            let message = format!(
                "DNSZone {} grants namespace {} no {} records at {name}; its owner can add them to spec.allowedRecords",
                zone.key, intent.namespace, intent.rtype
            );
            reject(Reason::NotAllowed, message)
        })?;
        if intent.rtype == RecordType::SOA {
            let message = "SOA is written by the provider; see spec.authority of the DNSZone".into();
            return Err(reject(Reason::InvalidValue, message));
        }
        let place = (name, &zone.domain);
        let stands_beside_soa = !self.capabilities.conflict(place, intent.rtype, RecordType::SOA);
        if *name == zone.domain && !stands_beside_soa {
            let message = format!("{name} is the zone itself, which can't be a {} there", intent.rtype);
            return Err(reject(Reason::InvalidValue, message));
        }
        if !self.capabilities.types.contain(intent.rtype) {
            let message = format!("the provider of DNSZone {} has no {} records", zone.key, intent.rtype);
            return Err(reject(Reason::InvalidValue, message));
        }
        if let Some(why) = self.reserved(name, intent) {
            return Err(reject(Reason::ReservedName, why));
        }
        let ttl = intent.ttl.or(zone.default_ttl).unwrap_or(self.capabilities.default_ttl);
        if !self.capabilities.allows_ttl(ttl) {
            let (low, high) = (self.capabilities.minimum_ttl, self.capabilities.maximum_ttl);
            let message =
                format!("ttl {} is not allowed there; use {low} to {high} seconds, or leave it out", ttl.0);
            return Err(reject(Reason::InvalidValue, message));
        }
        if let Some(why) = self.capabilities.attributes.refusal(intent.rtype, &intent.attributes) {
            return Err(reject(Reason::InvalidValue, format!("{} records {why}", intent.rtype)));
        }
        let values = match &intent.values {
            None => Values::Unknown,
            Some(values) => {
                self.check_values(name, intent, values.len())
                    .map_err(|why| reject(Reason::InvalidValue, why))?;
                let mut wanted: Vec<Wanted> = values
                    .iter()
                    .map(|rdata| Wanted { rdata: rdata.clone(), holder: intent.holder.clone() })
                    .collect();
                wanted.sort();
                wanted.dedup();
                Values::Known(wanted)
            }
        };
        let mut set = DesiredSet {
            rtype: intent.rtype,
            values,
            ttl,
            attributes: intent.attributes.or(&zone.default_attributes),
            comment: intent.comment.clone(),
            adoption: intent.adoption.min(most),
            holders: vec![intent.holder.clone()],
        };
        self.capabilities.normalise(&mut set);
        Ok(Wish { intent, set, sharing })
    }

    /// The most a wish gets there: how far it may adopt, and whether it may share.
    fn rights(&self, name: &Name, intent: &Intent) -> Option<(Adoption, Sharing)> {
        if intent.namespace == self.zone.key.namespace {
            return Some((Adoption::Force, self.own_sharing(name)));
        }
        let covers = |grant: &&Grant| {
            grant.namespaces.contain(&self.zone.key.namespace, &intent.namespace, &intent.namespace_labels)
                && grant.covers(&self.zone.domain, name, intent.rtype)
        };
        let granted: Vec<&Grant> = self.zone.grants.iter().filter(covers).collect();
        let adoption = granted.iter().map(|grant| grant.adoption).max()?;
        let is_shared = granted.iter().any(|grant| grant.share == Sharing::Shared);
        Some((adoption, if is_shared { Sharing::Shared } else { Sharing::Exclusive }))
    }

    /// The zone's own namespace, which needs no grant, shares the names that it lets others share.
    fn own_sharing(&self, name: &Name) -> Sharing {
        let shares =
            |grant: &Grant| grant.share == Sharing::Shared && grant.covers_name(&self.zone.domain, name);
        if self.zone.grants.iter().any(shares) { Sharing::Shared } else { Sharing::Exclusive }
    }

    fn check_values(&self, name: &Name, intent: &Intent, count: usize) -> Result<(), String> {
        let rtype = intent.rtype;
        if count == 0 {
            return Err(format!("{name} {rtype} has no values"));
        }
        if count > MAX_VALUES {
            return Err(format!("{name} {rtype} has {count} values; at most {MAX_VALUES} are allowed"));
        }
        if is_single(rtype) && count > 1 {
            return Err(format!("{name} {rtype} has {count} values; a {rtype} has exactly one"));
        }
        let is_own_target = |rdata: &crate::rdata::Rdata| rdata.target().as_ref() == Some(name);
        if rtype == RecordType::CNAME && intent.values.iter().flatten().any(is_own_target) {
            return Err(format!("{name} CNAME points to itself"));
        }
        Ok(())
    }

    fn reserved(&self, name: &Name, intent: &Intent) -> Option<String> {
        if intent.comment.as_deref().is_some_and(comment::is_reserved) {
            return Some("the comment contains an ownership marker (zk1:); remove it".into());
        }
        if intent.rtype != RecordType::TXT {
            return None;
        }
        if intent.values.iter().flatten().any(|rdata| self.registry.reads_as_marker(rdata)) {
            return Some(format!("the TXT value at {name} is an ownership marker (heritage=external-dns)"));
        }
        match &self.registry.form {
            Form::Txt(form) if form.names.data_of(name, &self.registry.domain).is_some() => {
                Some(format!("{name} TXT is where ownership markers of this zone lie; choose another name"))
            }
            Form::Txt(_) | Form::Comment(_) | Form::None => None,
        }
    }

    /// Decides who wins at one name: it belongs to one namespace, unless the grants of all that want it say share.
    fn settle(&self, name: &Name, wishes: Vec<Wish<'_>>, rejections: &mut Vec<Rejection>) -> Vec<DesiredSet> {
        let mut taken = Taken::default();
        for wish in self.ranked(name, wishes) {
            rejections.extend(self.place(name, &mut taken, wish).err());
        }
        taken.winners.into_iter().map(|winner| winner.set).collect()
    }

    /// Who comes first: the namespace that holds the name now under any type, then one that knows what it wants there
    /// (an object without an address must not keep a name from others), in it the object that holds the set, then
    /// age. What else the first one's namespace wants comes before all others.
    fn ranked<'a>(&self, name: &Name, mut wishes: Vec<Wish<'a>>) -> Vec<Wish<'a>> {
        if wishes.len() < 2 || crate::mutant::is_on("resolve: as they come") {
            return wishes;
        }
        let held = self.incumbents.get(name).map_or(&[][..], Vec::as_slice);
        let is_named = |wish: &Wish<'_>| held.iter().any(|(_, holder)| holder.names(&wish.intent.holder));
        let holding: BTreeSet<String> = held
            .iter()
            .filter_map(|(_, holder)| match holder {
                HolderRef::Full(holder) => Some(holder.namespace().to_owned()),
                HolderRef::Hash(_) | HolderRef::Unnamed => None,
            })
            .chain(wishes.iter().filter(|wish| is_named(wish)).map(|wish| wish.intent.namespace.clone()))
            .collect();
        let known = wishes.iter().filter(|wish| !wish.is_unknown());
        let known: BTreeSet<String> = known.map(|wish| wish.intent.namespace.clone()).collect();
        wishes.sort_by_cached_key(|wish| {
            let holds = |rtype: Option<RecordType>| {
                let mut sets = held.iter().filter(|(of, _)| rtype.is_none_or(|rtype| rtype == *of));
                sets.any(|(_, holder)| holder.names(&wish.intent.holder))
            };
            let rank = (
                !holding.contains(&wish.intent.namespace)
                    && !crate::mutant::is_on("resolve: newcomers first"),
                !known.contains(&wish.intent.namespace) && !crate::mutant::is_on("resolve: unknown holds"),
                !holds(Some(wish.set.rtype)),
                !holds(None),
            );
            (rank, wish.intent.age.clone(), wish.intent.holder.clone(), wish.set.clone())
        });
        if let Some(first) = wishes.first().map(|wish| wish.intent.namespace.clone()) {
            wishes.sort_by_key(|wish| wish.intent.namespace != first);
        }
        wishes
    }

    /// Makes a wish a set of its own or part of one, or says why it can't be.
    fn place<'a>(&self, name: &Name, taken: &mut Taken<'a>, wish: Wish<'a>) -> Result<(), Rejection> {
        let Taken { winners, waiting } = taken;
        let rtype = wish.set.rtype;
        let reject = |reason, message| Rejection {
            holder: wish.intent.holder.clone(),
            name: Some(name.clone()),
            rtype,
            reason,
            message,
        };
        let held_by = |winner: &Wish<'_>, why: &str| {
            let held = format!("{name} {} is held by {}{why}", winner.set.rtype, winner.intent.holder);
            reject(Reason::Conflict, format!("{held}; remove it there, or grant sharing"))
        };
        let mut before = winners.iter().chain(&*waiting);
        if let Some(winner) = before.find(|winner| !winner.may_share_with(&wish)) {
            let is_same = winner.set.rtype == rtype;
            return Err(held_by(winner, if is_same { "" } else { ", and a name belongs to one namespace" }));
        }
        let place = (name, &self.zone.domain);
        let excludes = |winner: &Wish<'_>| self.capabilities.conflict(place, winner.set.rtype, rtype);
        let meets = |winner: &Wish<'_>| winner.set.rtype == rtype || excludes(winner);
        // What gives way has what it had (Desired::wait_for); what the others want is written.
        waiting.extend(winners.extract_if(.., |winner| meets(winner) && winner.yields_to(&wish)));
        if winners.iter().any(|winner| meets(winner) && wish.yields_to(winner)) {
            waiting.push(wish);
            return Ok(());
        }
        if let Some(winner) = winners.iter().find(|winner| excludes(winner)) {
            return Err(held_by(winner, ", and the two types exclude each other"));
        }
        let Some(winner) = winners.iter_mut().find(|winner| winner.set.rtype == rtype) else {
            winners.push(wish);
            return Ok(());
        };
        let count = union_size(&winner.set.values, &wish.set.values);
        if count > MAX_VALUES {
            let together = format!("{count} values together with those of {}", winner.intent.holder);
            let message = format!("{name} {rtype} would have {together}; at most {MAX_VALUES} are allowed");
            return Err(reject(Reason::InvalidValue, message));
        }
        join(&mut winner.set, &wish.set).map_err(|why| held_by(winner, &why))
    }
}

/// Adds a wish to the set that was there first, or says why it can't be.
fn join(set: &mut DesiredSet, more: &DesiredSet) -> Result<(), String> {
    if is_single(more.rtype) && set.values != more.values && !same_rdata(set, more) {
        return Err(" with another value".into());
    }
    if set.ttl != more.ttl {
        return Err(" with another ttl".into());
    }
    if let Some((name, ..)) = set.attributes.differences(&more.attributes).first() {
        return Err(format!(" with another value of {name}"));
    }
    if set.comment != more.comment {
        return Err(" with another comment".into());
    }
    // The wishes of one holder follow each other.
    let is_new = |holder: &&Holder| set.holders.last() != Some(holder);
    let holders: Vec<Holder> = more.holders.iter().filter(is_new).cloned().collect();
    set.holders.extend(holders);
    set.adoption = set.adoption.min(more.adoption);
    match (&mut set.values, &more.values) {
        (Values::Known(values), Values::Known(more)) => {
            for wanted in more {
                match values.binary_search_by(|value| value.rdata.cmp(&wanted.rdata)) {
                    // The order of arrival must not matter here, or the marker would move.
                    Ok(at) => values[at].holder = values[at].holder.clone().min(wanted.holder.clone()),
                    Err(at) => values.insert(at, wanted.clone()),
                }
            }
        }
        // A known wish and an unknown one never meet here: the unknown one gives way.
        (Values::Known(_) | Values::Unknown, Values::Unknown) | (Values::Unknown, Values::Known(_)) => {}
    }
    Ok(())
}

/// How many values two sets have together.
fn union_size(one: &Values, other: &Values) -> usize {
    match (one, other) {
        (Values::Known(one), Values::Known(other)) => {
            let is_new =
                |wanted: &&Wanted| one.binary_search_by(|value| value.rdata.cmp(&wanted.rdata)).is_err();
            one.len() + other.iter().filter(is_new).count()
        }
        (Values::Known(_) | Values::Unknown, _) => 0,
    }
}

fn same_rdata(one: &DesiredSet, other: &DesiredSet) -> bool {
    match (&one.values, &other.values) {
        (Values::Known(one), Values::Known(other)) => {
            one.iter().map(|value| &value.rdata).eq(other.iter().map(|value| &value.rdata))
        }
        (Values::Known(_) | Values::Unknown, _) => false,
    }
}

fn is_single(rtype: RecordType) -> bool {
    matches!(rtype, RecordType::CNAME | RecordType::DNAME)
}
