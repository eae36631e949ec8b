//! The guard, judged by arithmetic of the test's own.

use proptest::{prelude::*, sample::select, test_runner::TestCaseResult};
use zonekeeper_kernel::{
    guard::{self, Approval, HeldFor, Limits, Subject, Verdict, Window},
    plan::{Cause, Change, Edit, Operation, Role, Scope, plan},
    rdata::RecordType,
    zone::Policy,
};

use crate::{forge::domain, generate::case, truth::Case};

/// A zone, the limits of its guard, and what happened in the window before.
#[derive(Debug, Clone)]
pub struct Guarded {
    case: Case,
    limits: Limits,
    owned: usize,
    deletes: usize,
    updates: usize,
    prunes: usize,
}

pub fn guarded() -> impl Strategy<Value = Guarded> {
    let limits = (select(vec![0, 10, 30, 99, 100]), select(vec![0, 50, 100]), 0..12_usize);
    (case(), limits, 0..40_usize, (0..8_usize, 0..20_usize, 0..4_usize)).prop_map(
        |(case, (max_delete_percent, max_update_percent, min_records), owned, (deletes, updates, prunes))| {
            Guarded {
                case,
                limits: Limits { max_delete_percent, max_update_percent, min_records },
                owned,
                deletes,
                updates,
                prunes,
            }
        },
    )
}

impl Guarded {
    fn changes(&self) -> Vec<Change> {
        let zone = self.case.zone();
        plan(&self.case.situation(&zone), Scope::Zone).changes
    }

    fn clear(&self, changes: Vec<Change>, identity: &str, approval: &Approval) -> Verdict {
        let subject = Subject {
            identity,
            domain: &self.case.registry.domain,
            rules: &self.case.rules,
            limits: Some(self.limits),
        };
        let window = Window {
            owned_at_start: self.owned,
            deletes: self.deletes,
            updates: self.updates,
            prunes: self.prunes,
            ..Window::default()
        };
        guard::clear(changes, &subject, window, approval)
    }

    /// Whether so many changes of a kind may be made within a window.
    fn allows(&self, count: usize, percent: usize) -> bool {
        let of_few = self.owned < self.limits.min_records;
        percent >= 100 || if of_few { count <= 3 } else { count * 100 <= percent * self.owned }
    }
}

fn touches_data(change: &Change) -> bool {
    let is_answer = |edit: &Edit| match (edit.before(), edit.after()) {
        (Some(before), Some(after)) => {
            before.rdata != after.rdata || before.ttl != after.ttl || before.attributes != after.attributes
        }
        _ => true,
    };
    change.edits.iter().any(|edit| edit.role() == Role::Data && is_answer(edit))
}

fn is_loss(change: &Change) -> bool {
    change.operation == Operation::Delete
        && matches!(change.cause, Cause::Released(_))
        && touches_data(change)
}

fn is_update(change: &Change) -> bool {
    change.operation == Operation::Update && change.cause != Cause::Pruned && touches_data(change)
}

fn is_prune(change: &Change) -> bool {
    change.cause == Cause::Pruned
}

fn count(changes: &[Change], counts: fn(&Change) -> bool) -> usize {
    changes.iter().filter(|change| counts(change)).count()
}

/// No limit is passed, and nothing is held that is within all of them.
pub fn no_more_goes_than_the_limits_allow(guarded: &Guarded) -> TestCaseResult {
    let changes = guarded.changes();
    let verdict = guarded.clear(changes.clone(), "uid", &Approval::None);
    let cleared = verdict.cleared.changes();
    prop_assert_eq!(cleared.len() + verdict.held.len(), changes.len());
    type Counts = fn(&Change) -> bool;
    let kinds: [(Counts, usize, usize); 2] = [
        (is_loss, guarded.deletes, guarded.limits.max_delete_percent),
        (is_update, guarded.updates, guarded.limits.max_update_percent),
    ];
    for (counts, before, percent) in kinds {
        let (gone, all) = (count(cleared, counts), count(&changes, counts));
        prop_assert!(gone == 0 || guarded.allows(before + gone, percent), "{} went", gone);
        if guarded.allows(before + all, percent) {
            let is_too_many = |why: &HeldFor| {
                matches!(why, HeldFor::TooManyDeletes { .. } | HeldFor::TooManyUpdates { .. })
            };
            let held = verdict.held.iter().find(|held| counts(&held.change) && is_too_many(&held.why));
            prop_assert!(held.is_none(), "{:?}", held);
        }
    }
    let pruned = count(cleared, is_prune);
    let cap = guarded.case.rules.prune.max_deletes;
    prop_assert!(pruned == 0 || guarded.prunes + pruned <= cap, "{} pruned, the cap is {}", pruned, cap);
    for change in cleared {
        let asks_a_person = matches!(change.cause, Cause::Orphaned(_) | Cause::Needed(_));
        prop_assert!(!asks_a_person, "{:?}", change);
        let is_authority = |edit: &Edit| {
            edit.before().is_some_and(|before| before.rdata.rtype() == RecordType::NS)
                && *edit.name() == domain()
        };
        prop_assert!(!touches_data(change) || !change.edits.iter().any(is_authority), "{:?}", change);
        let is_acme = change.name.as_str().starts_with("_acme-challenge.");
        prop_assert!(!(is_acme && is_prune(change)), "{:?}", change);
    }
    Ok(())
}

/// A hash stands for one zone and for what is held there, in whatever order; it releases that and nothing else.
pub fn an_approval_releases_exactly_what_was_shown(guarded: &Guarded) -> TestCaseResult {
    let changes = guarded.changes();
    let verdict = guarded.clear(changes.clone(), "uid", &Approval::None);
    let mut backwards = changes.clone();
    backwards.reverse();
    prop_assert_eq!(&guarded.clear(backwards.clone(), "uid", &Approval::None).hash, &verdict.hash);
    let wrong = guarded.clear(changes.clone(), "uid", &Approval::Held("0123456789abcdef".into()));
    prop_assert_eq!(&wrong, &verdict);
    let Some(first) = verdict.held.first() else { return Ok(()) };
    let other_zone = guarded.clear(changes.clone(), "other", &Approval::None);
    prop_assert_ne!(&other_zone.hash, &verdict.hash);
    let fewer: Vec<Change> = changes.iter().filter(|change| **change != first.change).cloned().collect();
    let fewer = guarded.clear(fewer, "uid", &Approval::Held(verdict.hash.clone()));
    prop_assert!(!fewer.released_by_approval, "less than what was shown");
    let approved = guarded.clear(backwards, "uid", &Approval::Held(verdict.hash.clone()));
    prop_assert!(approved.held.is_empty() && approved.released_by_approval);
    prop_assert_eq!(approved.cleared.changes().len(), changes.len());
    Ok(())
}

/// A zone that is only watched is not written to, whatever was approved.
pub fn a_watched_zone_is_never_written_to(guarded: &Guarded) -> TestCaseResult {
    let mut guarded = guarded.clone();
    guarded.case.rules.policy = Policy::Observe;
    let changes = guarded.changes();
    let verdict = guarded.clear(changes.clone(), "uid", &Approval::Whole);
    prop_assert!(verdict.cleared.changes().is_empty() && verdict.held.is_empty());
    prop_assert_eq!(verdict.observed, changes);
    Ok(())
}
