//! The answer to a question: RFC 1034 section 4.3.2, with wildcards (RFC 4592) and DNAME (RFC 6672).

use domain::base::iana::Rcode;
use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
};

use super::{
    answer::{Answer, RecordSet},
    authority::minimum_of,
    find::{Place, find},
    tree::{Records, Tree, of_type},
    zones::Zones,
};

/// How many aliases are followed for one question.
const MAX_ALIASES: usize = 16;

/// The question type that asks for every set of a name.
pub(super) const ANY: RecordType = RecordType::from_code(255);

/// How a question for every set is answered (RFC 8482).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnyAnswer {
    /// One set stands for all: what is asked over UDP must not amplify.
    OneSet,
    /// All sets.
    AllSets,
}

/// Answers a question from the zones that are served.
pub(super) fn answer(zones: &Zones, name: &Name, rtype: RecordType, any: AnyAnswer) -> Answer {
    let mut answer = Answer::empty(Rcode::NOERROR);
    let mut names = vec![name.clone()];
    while let Some(name) = names.last().filter(|_| names.len() <= MAX_ALIASES) {
        let Some(zone) = zones.enclosing(name, rtype) else {
            if names.len() == 1 {
                answer.rcode = if zones.is_begun() { Rcode::REFUSED } else { Rcode::SERVFAIL };
            }
            break;
        };
        let state = zone.state();
        if !state.is_known() {
            // The target of an alias is asked for again by itself, as if another server had it.
            if names.len() == 1 {
                answer.rcode = Rcode::SERVFAIL;
            }
            break;
        }
        let place = find(state.tree(), name, rtype);
        if names.len() == 1 {
            // The bit is about the first name in the answer (RFC 1035 section 4.1.1).
            answer.is_authoritative = !matches!(place, Place::Cut(..));
        }
        match step(state.tree(), place, name, rtype, any, &mut answer) {
            Some(target) if !names.contains(&target) => names.push(target),
            Some(_) | None => break,
        }
    }
    answer
}

/// Answers from one place of a zone; returns the name to go on with where the name is an alias.
fn step(
    tree: &Tree,
    place: Place<'_>,
    name: &Name,
    rtype: RecordType,
    any: AnyAnswer,
    answer: &mut Answer,
) -> Option<Name> {
    match place {
        Place::Node(records) | Place::Wildcard(records) => {
            if rtype != RecordType::CNAME
                && rtype != ANY
                && let Some(alias) = RecordSet::of(name, records, RecordType::CNAME)
            {
                let target = alias.values().next().and_then(Rdata::target);
                answer.answer.push(alias);
                return target;
            }
            let sets = asked_for(name, records, rtype, any);
            match sets.is_empty() {
                true => answer.authority.extend(negative_soa(tree)),
                false => add_addresses(tree, &sets, &mut answer.additional),
            }
            answer.answer.extend(sets);
            None
        }
        Place::Cut(cut, records) => {
            refer(tree, cut, records, answer);
            None
        }
        Place::Redirected(owner, records) => redirect(name, owner, records, answer),
        Place::Nowhere => {
            answer.rcode = Rcode::NXDOMAIN;
            answer.authority.extend(negative_soa(tree));
            None
        }
    }
}

fn asked_for(name: &Name, records: &Records, rtype: RecordType, any: AnyAnswer) -> Vec<RecordSet> {
    if rtype != ANY {
        return RecordSet::of(name, records, rtype).into_iter().collect();
    }
    let mut sets = RecordSet::all(name, records);
    match any {
        AnyAnswer::OneSet => sets.truncate(1),
        AnyAnswer::AllSets => {}
    }
    sets
}

/// The SOA record with the TTL for which absence may be remembered (RFC 2308 section 5).
fn negative_soa(tree: &Tree) -> Option<RecordSet> {
    let mut soa = RecordSet::of(tree.apex(), tree.get(tree.apex().as_str())?, RecordType::SOA)?;
    let minimum = soa.values().map(minimum_of).min()?;
    soa.ttl = soa.ttl.min(minimum);
    Some(soa)
}

fn refer(tree: &Tree, cut: &Name, records: &Records, answer: &mut Answer) {
    let servers: Vec<Name> =
        of_type(records, RecordType::NS).iter().filter_map(|record| record.rdata.target()).collect();
    answer.authority.extend(RecordSet::of(cut, records, RecordType::NS));
    answer.authority.extend(RecordSet::of(cut, records, RecordType::DS));
    for server in servers {
        // Servers below the cut can't be found without us; others merely cost a question more.
        let section = if server.is_within(cut) { &mut answer.glue } else { &mut answer.additional };
        section.extend(addresses(tree, &server));
    }
}

/// Follows a DNAME; the name to go on with, unless it would be too long.
fn redirect(name: &Name, owner: &Name, records: &Records, answer: &mut Answer) -> Option<Name> {
    let dname = RecordSet::of(owner, records, RecordType::DNAME)?;
    let ttl = dname.ttl;
    let target = dname.values().next().and_then(Rdata::target)?;
    answer.answer.push(dname);
    let Some(renamed) = substitute(name, owner, &target) else {
        answer.rcode = Rcode::YXDOMAIN;
        return None;
    };
    let mut wire = Vec::new();
    renamed.to_wire(&mut wire);
    let alias = Rdata::from_wire(RecordType::CNAME, &wire).ok()?;
    answer.answer.push(RecordSet::made(name.clone(), ttl, alias));
    Some(renamed)
}

/// The name with its suffix `from` replaced by `to`; none where that is too long for a name.
fn substitute(name: &Name, from: &Name, to: &Name) -> Option<Name> {
    let (mut wire, mut suffix) = (Vec::new(), Vec::new());
    name.to_wire(&mut wire);
    from.to_wire(&mut suffix);
    wire.truncate(wire.len() - suffix.len());
    to.to_wire(&mut wire);
    Name::from_wire(&wire).ok().map(|(name, _)| name)
}

/// Addresses of the hosts that some sets point to, once each, as far as this zone has them.
fn add_addresses(tree: &Tree, sets: &[RecordSet], additional: &mut Vec<RecordSet>) {
    let mut hosts: Vec<Name> = Vec::new();
    for set in sets {
        for rdata in set.values() {
            let host = match rdata.rtype() {
                RecordType::MX | RecordType::NS | RecordType::SRV => rdata.target(),
                // The root stands for the owner itself (RFC 9460 section 2.5.2).
                RecordType::HTTPS | RecordType::SVCB => {
                    rdata.target().map(|host| if host.is_root() { set.owner.clone() } else { host })
                }
                _points_nowhere => None,
            };
            if let Some(host) = host.filter(|host| !hosts.contains(host)) {
                additional.extend(addresses(tree, &host));
                hosts.push(host);
            }
        }
    }
}

fn addresses(tree: &Tree, host: &Name) -> Vec<RecordSet> {
    let Some(records) = tree.get(host.as_str()) else { return Vec::new() };
    [RecordType::A, RecordType::AAAA]
        .into_iter()
        .filter_map(|rtype| RecordSet::of(host, records, rtype))
        .collect()
}
