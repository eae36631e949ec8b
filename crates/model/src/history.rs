//! The last changes that were made in a zone, as its status lists them.

use std::collections::VecDeque;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use zonekeeper_api::{AppliedChange, AppliedOperation, ChangeCause};
use zonekeeper_kernel::{
    plan::{Cause, Change, Operation},
    render,
    zone_change::ZoneChange,
};

use crate::pass::Applied;

/// How many changes a status lists.
const MOST: usize = 50;
/// How many bytes they may have together, so that a status stays readable and a write of it cheap.
const MOST_BYTES: usize = 16_384;
/// How many characters of a set are kept.
const LONGEST: usize = 200;
/// How many objects are named.
const MOST_OBJECTS: usize = 5;
/// What an entry takes beside its texts.
const OVERHEAD: usize = 140;

/// The last changes of a zone, the newest first.
#[derive(Debug, Default)]
pub struct History {
    entries: VecDeque<AppliedChange>,
    /// What the status says: during a burst it follows once a second, with the time of the last write.
    shown: Vec<AppliedChange>,
}

/// A person's approval: the hash, and who gave it where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenApproval {
    pub hash: String,
    pub approver: Option<String>,
}

// === impl History ===

impl History {
    /// What a status lists.
    pub fn recalled(shown: Vec<AppliedChange>) -> Self {
        Self { entries: shown.iter().cloned().collect(), shown }
    }

    /// Notes changes that were made. Markers that are only written anew are not worth a place.
    pub fn note(&mut self, applied: &[Applied], time: &Time, approval: Option<&GivenApproval>) {
        let is_seen = |applied: &&Applied| operation(&applied.change).is_some();
        let newest: Vec<&Applied> = applied.iter().rev().filter(is_seen).take(MOST).collect();
        for applied in newest.into_iter().rev() {
            let approval = approval.filter(|_| applied.is_approved);
            if let Some(entry) = entry(&applied.change, time, approval) {
                self.entries.push_front(entry);
            }
        }
        let mut bytes = 0;
        let fits = |entry: &&AppliedChange| {
            bytes += size(entry);
            bytes <= MOST_BYTES
        };
        let kept = self.entries.iter().take(MOST).take_while(fits).count();
        self.entries.truncate(kept);
    }

    /// The same for changes of the zone itself.
    pub fn note_zone(
        &mut self,
        domain: &str,
        applied: &[ZoneChange],
        time: &Time,
        approval: Option<&GivenApproval>,
    ) {
        for change in applied {
            let approval = approval.filter(|_| change.operation == Operation::Delete);
            self.entries.push_front(zone_entry(domain, change, time, approval));
        }
        self.entries.truncate(MOST);
    }

    /// The status is to list what is known now.
    pub fn show(&mut self) {
        if !self.entries.iter().eq(&self.shown) {
            self.shown = self.entries.iter().cloned().collect();
        }
    }

    /// What the status is to list.
    pub fn shown(&self) -> &[AppliedChange] {
        &self.shown
    }
}

/// What a change did, in people's terms; nothing where only markers were written anew.
pub fn operation(change: &Change) -> Option<AppliedOperation> {
    if change.is_adoption() {
        return Some(AppliedOperation::Adopt);
    }
    if render::is_marking(change) {
        return None;
    }
    Some(match change.operation {
        Operation::Create => AppliedOperation::Create,
        Operation::Update => AppliedOperation::Update,
        Operation::Delete => AppliedOperation::Delete,
    })
}

fn entry(change: &Change, time: &Time, approval: Option<&GivenApproval>) -> Option<AppliedChange> {
    let (cause, left) = match &change.cause {
        Cause::Wanted => (ChangeCause::Wanted, None),
        Cause::Drift => (ChangeCause::Drift, None),
        Cause::Released(holder) | Cause::Needed(holder) => (ChangeCause::Released, Some(holder.to_string())),
        Cause::Orphaned(holder) => (ChangeCause::Orphaned, Some(holder.to_string())),
        Cause::Pruned => (ChangeCause::Pruned, None),
    };
    let objects = change.holders.iter().map(ToString::to_string).chain(left).take(MOST_OBJECTS);
    let side = |states: Vec<_>| match states.is_empty() {
        true => String::new(),
        false => shortened(&render::states(&states)),
    };
    Some(AppliedChange {
        time: time.clone(),
        operation: operation(change)?,
        field: None,
        name: change.name.as_str().to_owned(),
        rtype: change.rtype.to_string(),
        before: side(change.before()),
        after: side(change.after()),
        object: objects.collect::<Vec<_>>().join(", "),
        cause,
        approval: approval.map(|approval| approval.hash.clone()),
        approver: approval.and_then(|approval| approval.approver.as_deref().map(shortened)),
    })
}

fn zone_entry(
    domain: &str,
    change: &ZoneChange,
    time: &Time,
    approval: Option<&GivenApproval>,
) -> AppliedChange {
    let side = |value: &Option<Box<str>>| value.as_deref().map(shortened).unwrap_or_default();
    AppliedChange {
        time: time.clone(),
        operation: match change.operation {
            Operation::Create => AppliedOperation::Create,
            Operation::Update => AppliedOperation::Update,
            Operation::Delete => AppliedOperation::Delete,
        },
        field: Some(change.field.to_string()),
        name: domain.to_owned(),
        rtype: String::new(),
        before: side(&change.before),
        after: side(&change.after),
        object: String::new(),
        cause: if change.cause == Cause::Drift { ChangeCause::Drift } else { ChangeCause::Wanted },
        approval: approval.map(|approval| approval.hash.clone()),
        approver: approval.and_then(|approval| approval.approver.as_deref().map(shortened)),
    }
}

/// A text that fits into an entry.
fn shortened(text: &str) -> String {
    match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST - 3).chain("...".chars()).collect(),
        false => text.to_owned(),
    }
}

fn size(entry: &AppliedChange) -> usize {
    let optional = [&entry.approval, &entry.approver].into_iter().flatten().map(String::len).sum::<usize>();
    let texts = [&entry.name, &entry.rtype, &entry.before, &entry.after, &entry.object];
    OVERHEAD + optional + texts.into_iter().map(String::len).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use zonekeeper_kernel::{
        attribute::Attributes,
        holder::{Holder, HolderRef},
        name::Name,
        plan::{Edit, Role},
        rdata::{Rdata, RecordType},
        record::{Record, Ttl},
    };

    use super::*;

    fn time(second: i64) -> Time {
        Time(k8s_openapi::jiff::Timestamp::from_second(second).unwrap())
    }

    fn record(name: &str, comment: &str) -> Record {
        Record {
            name: Name::parse(&format!("{name}.example.com")).unwrap(),
            rdata: Rdata::parse(RecordType::A, "192.0.2.1").unwrap(),
            ttl: Ttl(300),
            attributes: Attributes::default(),
            comment: comment.into(),
        }
    }

    fn change(name: &str, operation: Operation, cause: Cause) -> Applied {
        let record = record(name, "");
        let edit = match operation {
            Operation::Create => Edit::Create { record: record.clone(), role: Role::Data },
            Operation::Delete => Edit::Delete {
                name: record.name.clone(),
                before: record.written(Default::default()),
                role: Role::Data,
            },
            Operation::Update => Edit::Update {
                before: Record { ttl: Ttl(60), ..record.clone() }.written(Default::default()),
                after: record.clone(),
                role: Role::Data,
            },
        };
        let holders = match operation {
            Operation::Delete => Vec::new(),
            Operation::Create | Operation::Update => vec![Holder::new("recordset", "default", name)],
        };
        let (name, rtype) = (record.name, RecordType::A);
        let (unchanged, claims) = (Vec::new(), Vec::new());
        let change = Change { operation, name, rtype, edits: vec![edit], unchanged, claims, cause, holders };
        Applied { change, is_approved: false }
    }

    fn names(history: &History) -> Vec<&str> {
        history.shown().iter().map(|entry| entry.name.split('.').next().unwrap_or_default()).collect()
    }

    #[test]
    fn an_entry_says_what_was_done_for_whom_why_and_who_approved_it() {
        let mut history = History::default();
        let given = GivenApproval { hash: "3bdedcb853dfe3f8".into(), approver: Some("alice".into()) };
        let gone = HolderRef::Full(Holder::new("ingress", "shop", "web"));
        let deleted = change("old", Operation::Delete, Cause::Released(gone));
        let approved = Applied { is_approved: true, ..deleted };
        let all = [
            change("new", Operation::Create, Cause::Wanted),
            change("www", Operation::Update, Cause::Drift),
            approved,
        ];
        history.note(&all, &time(60), Some(&given));
        history.show();
        let said: Vec<String> = history
            .shown()
            .iter()
            .map(|it| {
                let approver = it.approver.as_deref().unwrap_or("nobody");
                format!(
                    "{} {}|{}|{}|{}|{}|{approver}",
                    it.operation, it.name, it.before, it.after, it.object, it.cause
                )
            })
            .collect();
        assert_eq!(
            said,
            [
                "Delete old.example.com|192.0.2.1 (ttl 300)||ingress shop/web|Released|alice",
                "Update www.example.com|192.0.2.1 (ttl 60)|192.0.2.1 (ttl 300)|recordset default/www|Drift|nobody",
                "Create new.example.com||192.0.2.1 (ttl 300)|recordset default/new|Wanted|nobody",
            ]
        );
        assert_eq!(history.shown()[0].approval.as_deref(), Some("3bdedcb853dfe3f8"));
    }

    #[test]
    fn a_burst_leaves_the_last_changes_within_their_room() {
        let mut history = History::default();
        let all: Vec<Applied> = (0..10_000)
            .map(|number| change(&format!("n{number}"), Operation::Create, Cause::Wanted))
            .collect();
        history.note(&all, &time(0), None);
        history.show();
        assert_eq!((history.shown().len(), names(&history)[0], names(&history)[49]), (50, "n9999", "n9950"));
        // Long names take more room.
        let label = "x".repeat(60);
        let long: Vec<Applied> = (0..50)
            .map(|number| {
                change(&format!("{label}.{label}.{label}.n{number}"), Operation::Create, Cause::Wanted)
            })
            .collect();
        history.note(&long, &time(1), None);
        history.show();
        let json = serde_json::to_vec(history.shown()).unwrap();
        assert!(json.len() <= MOST_BYTES && history.shown().len() < 50, "{} bytes", json.len());
    }

    #[test]
    fn the_status_follows_when_it_is_told_to_and_a_restart_goes_on_with_what_it_says() {
        let mut history = History::default();
        history.note(&[change("a", Operation::Create, Cause::Wanted)], &time(0), None);
        assert_eq!(names(&history), [""; 0]);
        history.show();
        assert_eq!(names(&history), ["a"]);
        let mut again = History::recalled(history.shown().to_vec());
        again.note(&[change("b", Operation::Create, Cause::Wanted)], &time(1), None);
        again.show();
        assert_eq!(names(&again), ["b", "a"]);
    }

    #[test]
    fn markers_that_are_written_anew_take_no_place() {
        let marked = "zk1:abcdefgh:recordset/default/www";
        let mut rewritten = change("www", Operation::Update, Cause::Wanted);
        let (before, after) = (record("www", marked), record("www", &format!("{marked}:abcdefghabcdefgh")));
        let edit = |before: Record, after: Record| {
            vec![Edit::Update { before: before.written(Default::default()), after, role: Role::Data }]
        };
        rewritten.change.edits = edit(before, after);
        let mut adopted = change("mail", Operation::Update, Cause::Wanted);
        adopted.change.edits = edit(record("mail", ""), record("mail", marked));
        let mut history = History::default();
        history.note(&[rewritten, adopted], &time(0), None);
        history.show();
        assert_eq!(names(&history), ["mail"]);
        assert_eq!(history.shown()[0].operation, AppliedOperation::Adopt);
    }
}
