//! Tests of the server without sockets.

mod bytes;
mod model;
mod provider;
mod replies;
mod table;
mod unknown;

use zonekeeper_kernel::{
    attribute::Attributes,
    name::Name,
    plan::{Cause, Change, Edit, Operation, Role},
    rdata::{Rdata, RecordType},
    record::{LiveRecord, Record, Ttl},
};

use super::{authority::Authority, zone::Zone, zones::Zones};
use crate::Outcome;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// A record from `name [ttl] type value`; the TTL is 300.
fn record(line: &str) -> Record {
    let (owner, rest) = line.split_once(' ').unwrap();
    let (first, tail) = rest.split_once(' ').unwrap();
    let (ttl, rtype, value) = match first.parse() {
        Ok(ttl) => tail.split_once(' ').map(|(rtype, value)| (ttl, rtype, value)).unwrap(),
        Err(_) => (300, first, tail),
    };
    let rtype: RecordType = rtype.parse().unwrap();
    Record {
        name: name(owner),
        rdata: Rdata::parse(rtype, value.trim()).unwrap(),
        ttl: Ttl(ttl),
        attributes: Attributes::default(),
        comment: "".into(),
    }
}

fn change(edits: Vec<Edit>) -> Change {
    let first = &edits[0];
    let before = first.before().map(|before| before.rdata.rtype());
    let rtype = first.after().map(|after| after.rdata.rtype()).or(before).unwrap();
    Change {
        operation: Operation::Update,
        name: first.name().clone(),
        rtype,
        edits,
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: Cause::Wanted,
        holders: Vec::new(),
    }
}

fn created(line: &str) -> Edit {
    Edit::Create { record: record(line), role: Role::Data }
}

fn updated(before: LiveRecord, line: &str) -> Edit {
    Edit::Update { before, after: record(line), role: Role::Data }
}

fn deleted(owner: &str, before: LiveRecord) -> Edit {
    Edit::Delete { name: name(owner), before, role: Role::Data }
}

/// Zones with serial number 1 and the default authority; every record must be taken.
fn zones(texts: &[(&str, &str)]) -> Zones {
    let zones = Zones::default();
    for (domain, text) in texts {
        let domain = name(domain);
        let make = || Zone::new(domain.clone(), Authority::default_for(&domain), 0);
        let zone = zones.get_or_insert(domain.clone(), make);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let edits: Vec<Change> = lines.map(|line| change(vec![created(line)])).collect();
        for outcome in zone.apply(&edits) {
            assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
        }
        zone.know();
    }
    zones
}
