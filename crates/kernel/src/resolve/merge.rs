//! Which of several wishes for one zone win their sets.

use std::collections::BTreeMap;

use crate::{
    capability::Capabilities,
    claim::is_reserved_text,
    desired::{Adoption, Desired, DesiredSet, Values, Wanted},
    marker::{Form, Registry, comment},
    name::Name,
    rdata::RecordType,
    reason::{Reason, Rejection},
    resolve::{Incumbents, Intent},
    zone::{Grant, Sharing, Zone},
};

/// Cloudflare's own limit on values per set is higher; BIND refuses more than 100 (2026-11).
const MAX_VALUES: usize = 100;

/// Resolves the wishes that belong to one zone.
///
/// Guarantees: the result does not depend on the order of `wishes`; at most one set per name and type, and
/// no two sets at a name that exclude each other; every wish is part of a set or is rejected with a reason.
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
        for set in resolver.settle(&name, wishes, &mut rejections) {
            desired.insert(name.clone(), set);
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
        if !self.capabilities.supports(intent.rtype) {
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
        if intent.proxied == Some(true)
            && self.capabilities.attributes == crate::capability::AttributeSupport::Cloudflare
            && !self.capabilities.is_proxiable(intent.rtype)
        {
            let message = format!("{} records can't be proxied; remove cloudflare.proxied", intent.rtype);
            return Err(reject(Reason::InvalidValue, message));
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
            attributes: intent.attributes.clone(),
            comment: intent.comment.clone(),
            adoption: intent.adoption.min(most),
            holders: vec![intent.holder.clone()],
        };
        set.attributes.proxied = intent.proxied.unwrap_or(zone.default_proxied);
        self.capabilities.normalise(&mut set);
        Ok(Wish { intent, set, sharing })
    }

    /// The most a wish gets there: how far it may adopt, and whether it may share.
    fn rights(&self, name: &Name, intent: &Intent) -> Option<(Adoption, Sharing)> {
        if intent.namespace == self.zone.key.namespace {
            return Some((Adoption::Force, self.own_sharing(name, intent.rtype)));
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

    /// The zone's own namespace shares where it lets others share.
    fn own_sharing(&self, name: &Name, rtype: RecordType) -> Sharing {
        let shares =
            |grant: &Grant| grant.share == Sharing::Shared && grant.covers(&self.zone.domain, name, rtype);
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
        let is_standard = self.capabilities.neighbours == crate::capability::Neighbours::Standard;
        if rtype == RecordType::CNAME && is_standard && *name == self.zone.domain {
            return Err(format!("{name} is the zone itself, which can't be a CNAME there"));
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
        if intent.values.iter().flatten().any(is_reserved_text) {
            return Some(format!("the TXT value at {name} is an ownership marker (heritage=external-dns)"));
        }
        match &self.registry.form {
            Form::Txt(form) if form.names.data_of(name, &self.registry.domain).is_some() => {
                Some(format!("{name} TXT is where ownership markers of this zone lie; choose another name"))
            }
            Form::Txt(_) | Form::Comment(_) | Form::None => None,
        }
    }

    /// Decides who wins at one name.
    fn settle(
        &self,
        name: &Name,
        mut wishes: Vec<Wish<'_>>,
        rejections: &mut Vec<Rejection>,
    ) -> Vec<DesiredSet> {
        wishes.sort_by_cached_key(|wish| {
            let incumbent = self.incumbents.get(&(name.clone(), wish.set.rtype));
            let is_incumbent = incumbent.is_some_and(|holder| holder.names(&wish.intent.holder));
            (!is_incumbent, wish.intent.age.clone(), wish.intent.holder.clone(), wish.set.clone())
        });
        let mut winners: Vec<Wish<'_>> = Vec::new();
        let place = (name, &self.zone.domain);
        for wish in wishes {
            let in_the_way = winners.iter_mut().find(|winner| {
                let (one, other) = (winner.set.rtype, wish.set.rtype);
                one == other || self.capabilities.conflict(place, one, other)
            });
            match in_the_way {
                None => winners.push(wish),
                Some(winner) => match join(winner, &wish) {
                    Ok(()) => {}
                    Err(why) => rejections.push(Rejection {
                        holder: wish.intent.holder.clone(),
                        name: Some(name.clone()),
                        rtype: wish.set.rtype,
                        reason: Reason::Conflict,
                        message: format!(
                            "{name} {} is held by {}{why}; remove it there, or grant sharing",
                            winner.set.rtype, winner.intent.holder
                        ),
                    }),
                },
            }
        }
        winners.into_iter().map(|winner| winner.set).collect()
    }
}

/// Adds a wish to the set that was there first, or says why it can't be.
fn join(winner: &mut Wish<'_>, wish: &Wish<'_>) -> Result<(), &'static str> {
    if winner.set.rtype != wish.set.rtype {
        return Err(", and the two types exclude each other");
    }
    let is_same_namespace = winner.intent.namespace == wish.intent.namespace;
    let is_shared = winner.sharing == Sharing::Shared && wish.sharing == Sharing::Shared;
    if !is_same_namespace && !is_shared {
        return Err("");
    }
    if is_single(wish.set.rtype)
        && winner.set.values != wish.set.values
        && !same_rdata(&winner.set, &wish.set)
    {
        return Err(" with another value");
    }
    if winner.set.ttl != wish.set.ttl {
        return Err(" with another ttl");
    }
    if winner.set.attributes != wish.set.attributes || winner.set.comment != wish.set.comment {
        return Err(" with other cloudflare settings");
    }
    let holder = wish.intent.holder.clone();
    if !winner.set.holders.contains(&holder) {
        winner.set.holders.push(holder);
    }
    winner.set.adoption = winner.set.adoption.min(wish.set.adoption);
    match (&mut winner.set.values, &wish.set.values) {
        (Values::Known(values), Values::Known(more)) => {
            for wanted in more {
                match values.iter_mut().find(|value| value.rdata == wanted.rdata) {
                    // Whoever was first in the zone must not matter here, or the marker would move.
                    Some(value) => value.holder = value.holder.clone().min(wanted.holder.clone()),
                    None => values.push(wanted.clone()),
                }
            }
            values.sort();
        }
        // As long as one holder's values are unknown, nobody can say which live values are too many.
        (values, Values::Unknown) => *values = Values::Unknown,
        (Values::Unknown, Values::Known(_)) => {}
    }
    Ok(())
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
