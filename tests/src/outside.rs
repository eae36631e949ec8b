//! Somebody else at work in the zone: records added, changed and removed behind the worker's back.

use zonekeeper_kernel::{
    attribute::Attributes,
    guard::{self, Approval, Subject, Window},
    name::Name,
    plan::{Cause, Change, Edit, Operation, Role},
    rdata::{Rdata, RecordType},
    record::{LiveRecord, Record, Ttl},
    zone::Rules,
};
use zonekeeper_providers::Outcome;

use crate::{
    stage::{Stage, domain},
    wish::place,
};

/// A record as a person would add it, without a marker.
pub fn by_hand(rtype: &str, name: &str, value: &str, ttl: u32) -> Record {
    let rtype: RecordType = rtype.parse().expect("a test's type");
    Record {
        name: place(name, &domain()),
        rdata: Rdata::parse(rtype, value).expect("a test's value"),
        ttl: Ttl(ttl),
        attributes: Attributes::default(),
        comment: "".into(),
    }
}

impl Stage {
    /// Adds a record.
    pub async fn add(&self, record: Record) {
        self.write(Edit::Create { record, role: Role::Data }).await;
    }

    /// Changes the one record of a set.
    pub async fn alter(&self, name: &str, rtype: &str, change: impl FnOnce(&mut Record)) {
        let (name, before) = self.only(name, rtype).await;
        let mut after = before.at(&name);
        change(&mut after);
        self.write(Edit::Update { before, after, role: Role::Data }).await;
    }

    /// Removes the one record of a set.
    pub async fn drop_record(&self, name: &str, rtype: &str) {
        let (name, before) = self.only(name, rtype).await;
        self.write(Edit::Delete { name, before, role: Role::Data }).await;
    }

    /// The one record of a set, id included.
    pub async fn only(&self, name: &str, rtype: &str) -> (Name, LiveRecord) {
        let name = place(name, &domain());
        let mut found = self.listing().await;
        found.retain(|(at, record)| *at == name && record.rdata.rtype().to_string() == rtype);
        assert_eq!(found.len(), 1, "one record {name} {rtype}: {found:?}");
        found.remove(0)
    }

    /// All records with their ids, sorted.
    pub async fn listing(&self) -> Vec<(Name, LiveRecord)> {
        let mut records = self.access.list().await.expect("listing works");
        records.sort();
        records
    }

    async fn write(&self, edit: Edit) {
        let change = Change {
            operation: Operation::Update,
            name: edit.name().clone(),
            rtype: RecordType::A,
            edits: vec![edit],
            unchanged: Vec::new(),
            claims: Vec::new(),
            cause: Cause::Wanted,
            holders: Vec::new(),
        };
        let rules = Rules::default();
        let subject = Subject { identity: "outside", domain: &domain(), rules: &rules, limits: None };
        let verdict = guard::clear(vec![change], &subject, Window::default(), &Approval::None);
        let outcomes = self.access.apply(&verdict.cleared, &|_| {}).await;
        assert!(matches!(outcomes[..], [Outcome::Applied(_)]), "{outcomes:?}");
    }
}
