//! The pure parts: transfers, drafts, messages and explanations.

mod drafts;
mod explain;
mod messages;
mod transfers;

use zonekeeper_kernel::{
    attribute::Attributes,
    holder::Holder,
    name::Name,
    plan::{Cause, Change, Edit, Operation, Role},
    rdata::{Rdata, RecordType},
    record::{Record, Ttl},
};

use super::{
    message::Item,
    mirror::{Held, Mirror, Soa, live},
};

const DOMAIN: &str = "example.com";

fn domain() -> Name {
    Name::parse(DOMAIN).unwrap()
}

fn name(text: &str) -> Name {
    Name::parse_under(text, &domain()).unwrap()
}

fn rdata(rtype: &str, value: &str) -> Rdata {
    Rdata::parse(rtype.parse().unwrap(), value).unwrap()
}

/// `www 300 A 192.0.2.1`, as a server sends it.
fn item(text: &str) -> Item {
    let mut words = text.splitn(4, ' ');
    let mut word = || words.next().unwrap();
    let (owner, ttl, rtype) = (name(word()), word().parse().unwrap(), word());
    let rdata = rdata(rtype, word());
    Item { name: owner, rtype: rdata.rtype(), ttl, wire: rdata.wire().to_vec() }
}

fn soa(serial: u32) -> Item {
    item(&format!("@ 300 SOA ns1.example.net hostmaster.example.net {serial} 7200 3600 1209600 60"))
}

/// A zone of these records.
fn mirror(serial: u32, records: &[&str]) -> Mirror {
    let mut mirror = Mirror::new(domain(), Soa::read(&domain(), &soa(serial)).unwrap());
    for record in records {
        mirror.insert(item(record));
    }
    mirror
}

fn held(text: &str) -> Held {
    let item = item(text);
    Held { rdata: Rdata::from_wire(item.rtype, &item.wire).unwrap(), ttl: item.ttl }
}

fn record(text: &str) -> Record {
    let Held { rdata, ttl } = held(text);
    Record {
        name: item(text).name,
        rdata,
        ttl: Ttl(ttl),
        attributes: Attributes::default(),
        comment: "".into(),
    }
}

fn create(text: &str) -> Edit {
    Edit::Create { record: record(text), role: Role::Data }
}

fn delete(text: &str) -> Edit {
    let name = item(text).name;
    let before = live(&name, &held(text), false);
    Edit::Delete { name, before, role: Role::Data }
}

fn alter(before: &str, after: &str) -> Edit {
    let before = live(&item(before).name, &held(before), false);
    Edit::Update { before, after: record(after), role: Role::Data }
}

/// One change with these edits.
fn change(edits: impl IntoIterator<Item = Edit>) -> Change {
    let edits: Vec<Edit> = edits.into_iter().collect();
    Change {
        operation: Operation::Update,
        name: edits[0].name().clone(),
        rtype: edits[0].after().map_or(RecordType::A, |after| after.rdata.rtype()),
        edits,
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: Cause::Wanted,
        holders: Vec::<Holder>::new(),
    }
}
