//! The guard on generated plans, judged by counting again from what the generator knows.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};
use zonekeeper_kernel::{
    guard::{self, Approval, HeldFor, Limits, Subject, Verdict, Window},
    holder::{Holder, HolderRef},
    name::Name,
    plan::{Cause, Change, Edit, Operation, Role},
    rdata::{Rdata, RecordType},
    record::{LiveRecord, Record, Ttl},
    zone::{Drift, NameLimits, Policy, Prune, PruneMode, Rules},
};

/// Who gives a set up: namespace a to d, an object without one, or a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Giver {
    Namespace(usize),
    NoNamespace,
    Hash,
}

/// One planned delete, and whether its set came within the window.
#[derive(Debug, Clone, Copy)]
struct Planned {
    giver: Giver,
    is_newborn: bool,
}

fn giver() -> impl Strategy<Value = Giver> {
    prop_oneof![8 => (0..4_usize).prop_map(Giver::Namespace), 1 => Just(Giver::NoNamespace), 1 => Just(Giver::Hash)]
}

fn planned() -> impl Strategy<Value = Planned> {
    (giver(), prop::bool::weighted(0.2)).prop_map(|(giver, is_newborn)| Planned { giver, is_newborn })
}

fn name(number: usize) -> Name {
    Name::parse(&format!("n{number:03}.example.com")).unwrap()
}

fn holder(giver: Giver, number: usize) -> HolderRef {
    match giver {
        Giver::Namespace(at) => {
            let namespace = ["a", "b", "c", "d"][at];
            HolderRef::Full(Holder::new("ingress", namespace, &format!("n{number}")))
        }
        Giver::NoNamespace => HolderRef::Full(Holder::cluster_wide("node", &format!("n{number}"))),
        Giver::Hash => HolderRef::Hash("abcdefghij".into()),
    }
}

fn live(value: &str) -> LiveRecord {
    LiveRecord {
        id: Default::default(),
        rdata: Rdata::parse(RecordType::A, value).unwrap(),
        ttl: Ttl(300),
        attributes: Default::default(),
        comment: "".into(),
        read_only: false,
    }
}

fn delete(number: usize, giver: Giver) -> Change {
    let name = name(number);
    Change {
        operation: Operation::Delete,
        name: name.clone(),
        rtype: RecordType::A,
        edits: vec![Edit::Delete { name, before: live("192.0.2.1"), role: Role::Data }],
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: Cause::Released(holder(giver, number)),
        holders: Vec::new(),
    }
}

fn create(number: usize, namespace: &str) -> Change {
    let holder = Holder::new("ingress", namespace, &format!("n{number}"));
    let record = Record {
        name: name(number),
        rdata: Rdata::parse(RecordType::A, "192.0.2.1").unwrap(),
        ttl: Ttl(300),
        attributes: Default::default(),
        comment: "".into(),
    };
    Change {
        operation: Operation::Create,
        name: name(number),
        rtype: RecordType::A,
        edits: vec![Edit::Create { record, role: Role::Data }],
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: Cause::Wanted,
        holders: vec![holder],
    }
}

fn rules() -> Rules {
    Rules {
        policy: Policy::Sync,
        drift: Drift::Revert,
        prune: Prune { mode: PruneMode::Owned, max_deletes: 10, ignore: Vec::new() },
        names: NameLimits::default(),
    }
}

fn clear(plan: Vec<Change>, limits: Limits, window: Window, approval: &Approval) -> Verdict {
    let (rules, domain) = (rules(), Name::parse("example.com").unwrap());
    let subject = Subject { identity: "zone", domain: &domain, rules: &rules, limits: Some(limits) };
    guard::clear(plan, &subject, window, approval)
}

/// Which of the planned deletes may go, by counting: every order of namespaces that the contract does not name is
/// left out by construction.
fn expected(planned: &[Planned], limits: Limits, owned: usize, before: usize) -> BTreeSet<usize> {
    let allowed = match limits.max_delete_percent {
        100.. => usize::MAX,
        _ if owned < limits.min_records => 3,
        percent => percent * owned / 100,
    };
    let mut go: BTreeSet<usize> = (0..planned.len()).filter(|at| planned[*at].is_newborn).collect();
    let mut groups: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (at, one) in planned.iter().enumerate().filter(|(_, one)| !one.is_newborn) {
        let group = match one.giver {
            Giver::Namespace(namespace) => Some(namespace),
            Giver::NoNamespace | Giver::Hash => None,
        };
        groups.entry(group).or_default().push(at);
    }
    let last = groups.remove(&None);
    let mut spent = before;
    // The smallest group that is left, again and again; of equal ones the first by name.
    while let Some(next) = groups.keys().copied().min_by_key(|group| (groups[group].len(), *group)) {
        let group = groups.remove(&next).unwrap();
        if spent + group.len() > allowed {
            return go;
        }
        spent += group.len();
        go.extend(group);
    }
    if let Some(last) = last.filter(|last| spent + last.len() <= allowed) {
        go.extend(last);
    }
    go
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn deletes_go_namespace_by_namespace_the_smallest_first(
        planned in vec(planned(), 0..24),
        percent in prop_oneof![Just(0_usize), Just(30), Just(50), Just(100)],
        owned in 0..60_usize,
        before in 0..6_usize,
        creates in 0..3_usize,
    ) {
        let limits = Limits { max_delete_percent: percent, max_update_percent: 100, min_records: 10 };
        let mut window = Window { owned_at_start: owned, deletes: before, ..Window::default() };
        for (at, _) in planned.iter().enumerate().filter(|(_, one)| one.is_newborn) {
            window.note(&create(at, "a"));
        }
        let mut plan: Vec<Change> = (0..creates).map(|at| create(900 + at, "a")).collect();
        plan.extend(planned.iter().enumerate().map(|(at, one)| delete(at, one.giver)));
        let verdict = clear(plan, limits, window, &Approval::None);
        let gone: BTreeSet<Name> = verdict
            .cleared
            .changes()
            .iter()
            .filter(|change| change.operation == Operation::Delete)
            .map(|change| change.name.clone())
            .collect();
        let wanted: BTreeSet<Name> =
            expected(&planned, limits, owned, before).into_iter().map(name).collect();
        prop_assert_eq!(&gone, &wanted);
        prop_assert_eq!(verdict.cleared.changes().len(), gone.len() + creates, "nothing else waits");
        prop_assert_eq!(verdict.held.len(), planned.len() - gone.len());
        let total = before + planned.iter().filter(|one| !one.is_newborn).count();
        for held in &verdict.held {
            prop_assert_eq!(held.why, HeldFor::TooManyDeletes { count: total, of: owned });
        }
        // What is cleared and counted never goes past the limit.
        let losses = gone.len() - planned.iter().filter(|one| one.is_newborn).count();
        let is_past = match (percent, owned < 10) {
            (100, _) => false,
            (_, true) => before + losses > 3,
            (percent, false) => (before + losses) * 100 > percent * owned,
        };
        prop_assert!(losses == 0 || !is_past);
    }

    #[test]
    fn namespaces_take_turns_and_keep_their_own_order(counts in vec(0..30_usize, 1..4)) {
        let mut plan = Vec::new();
        for (namespace, count) in counts.iter().enumerate() {
            let namespace = ["a", "b", "c"][namespace];
            plan.extend((0..*count).map(|_| namespace));
        }
        let changes: Vec<Change> =
            plan.iter().enumerate().map(|(at, namespace)| create(at, namespace)).collect();
        let limits = Limits::default();
        let mut cleared = clear(changes.clone(), limits, Window::default(), &Approval::None).cleared;
        cleared.take_turns();
        let after = cleared.changes();
        prop_assert_eq!(after.len(), changes.len());
        for (namespace, count) in counts.iter().enumerate() {
            let namespace = ["a", "b", "c"][namespace];
            let of = |changes: &[Change]| -> Vec<Name> {
                let is_its = |change: &&Change| change.holders[0].namespace() == namespace;
                changes.iter().filter(is_its).map(|change| change.name.clone()).collect()
            };
            prop_assert_eq!(of(after), of(&changes));
            // The last of a small namespace comes before more than as many of each other one.
            let last = after.iter().rposition(|change| change.holders[0].namespace() == namespace);
            prop_assert!(last.is_none_or(|last| last < count * counts.len()));
        }
    }
}

#[test]
fn a_single_delete_goes_beside_the_mass_delete_of_another_namespace() {
    let mut plan: Vec<Change> = (0..60).map(|at| delete(at, Giver::Namespace(0))).collect();
    plan.push(delete(60, Giver::Namespace(1)));
    let window = Window { owned_at_start: 100, ..Window::default() };
    let verdict = clear(plan, Limits::default(), window, &Approval::None);
    let cleared: Vec<&Name> = verdict.cleared.changes().iter().map(|change| &change.name).collect();
    assert_eq!(cleared, [&name(60)]);
    assert_eq!(verdict.held.len(), 60);
}

#[test]
fn what_came_within_the_window_goes_within_it_and_what_was_restored_counts() {
    let mut window = Window { owned_at_start: 2, ..Window::default() };
    for at in 0..10 {
        window.note(&create(at, "a"));
    }
    let plan: Vec<Change> = (0..10).map(|at| delete(at, Giver::Namespace(0))).collect();
    let verdict = clear(plan.clone(), Limits::default(), window.clone(), &Approval::None);
    assert_eq!((verdict.cleared.changes().len(), verdict.held.len()), (10, 0));
    for change in verdict.cleared.changes() {
        window.count(change);
        window.note(change);
    }
    assert_eq!(window.deletes, 0);
    // Gone and restored: such a set is not new.
    let mut window = Window { owned_at_start: 10, ..Window::default() };
    for at in 0..10 {
        window.note(&Change { cause: Cause::Drift, ..create(at, "a") });
    }
    let verdict = clear(plan, Limits::default(), window, &Approval::None);
    assert_eq!(verdict.held.len(), 10);
}
