//! Deletes that come together are judged together: each waits until no further one came for a while.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    time::Duration,
};

use tokio::time::Instant;
use zonekeeper_kernel::{
    guard,
    name::Name,
    plan::{Change, Scope},
    rdata::RecordType,
};

/// A delete waits at most this many times as long as it must be quiet.
const MOST_TIMES: u32 = 5;

/// Whether the deletes of a plan are all that there will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletes {
    /// They are: the plan is judged as it is.
    Complete,
    /// More may follow: this is when the plan's deletes were seen.
    SeenAt(Instant),
}

/// The deletes of a zone that were planned and not made yet.
#[derive(Debug, Default)]
pub struct Settling {
    deletes: BTreeMap<(Name, RecordType), State>,
    /// When the first and the last of those that settle came.
    clock: Option<Clock>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Settles,
    /// The guard has seen it: it does not wait again.
    Judged,
}

#[derive(Debug, Clone, Copy)]
struct Clock {
    first: Instant,
    last: Instant,
    quiet: Duration,
}

// === impl Settling ===

impl Settling {
    /// Takes the deletes out of a plan that are not to be judged yet.
    ///
    /// Guarantees: deletes that settle are judged in one plan, with all that settle beside them.
    pub fn take_unsettled(
        &mut self,
        plan: &mut Vec<Change>,
        scope: Scope<'_>,
        seen: Instant,
        quiet: Duration,
    ) -> Vec<Change> {
        let place = |change: &Change| (change.name.clone(), change.rtype);
        let planned: BTreeSet<(Name, RecordType)> =
            plan.iter().filter(|change| guard::settles(change)).map(place).collect();
        let is_in = |name: &Name| match scope {
            Scope::Zone => true,
            Scope::Names(names) => names.contains(name),
        };
        // What is wanted again, or gone, settles no more.
        self.deletes.retain(|at, _| !is_in(&at.0) || planned.contains(at));
        for at in planned {
            if let Entry::Vacant(new) = self.deletes.entry(at) {
                new.insert(State::Settles);
                let first = self.clock.map_or(seen, |clock| clock.first);
                self.clock = Some(Clock { first, last: seen, quiet });
            }
        }
        if !self.deletes.values().any(|state| *state == State::Settles) {
            self.clock = None;
            return Vec::new();
        }
        self.clock.iter_mut().for_each(|clock| clock.quiet = quiet);
        let is_due = self.due().is_none_or(|due| due <= Instant::now());
        if is_due && self.names().all(is_in) {
            self.deletes.values_mut().for_each(|state| *state = State::Judged);
            self.clock = None;
            return Vec::new();
        }
        let settles = |change: &mut Change| {
            guard::settles(change) && self.deletes.get(&place(change)) == Some(&State::Settles)
        };
        plan.extract_if(.., settles).collect()
    }

    /// When what settles is to be judged; none where nothing does.
    pub fn due(&self) -> Option<Instant> {
        self.clock.map(|clock| (clock.last + clock.quiet).min(clock.first + clock.quiet * MOST_TIMES))
    }

    /// The names at which something settles.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.deletes.iter().filter(|(_, state)| **state == State::Settles).map(|((name, _), _)| name)
    }

    /// Begins anew: what is planned next may not be all that is to come.
    pub fn restart(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use zonekeeper_kernel::{
        holder::{Holder, HolderRef},
        plan::{Cause, Edit, Operation, Role},
        rdata::Rdata,
        record::LiveRecord,
    };

    use super::*;

    const QUIET: Duration = Duration::from_secs(2);

    fn delete(name: &str) -> Change {
        let name = Name::parse(&format!("{name}.example.com")).unwrap();
        let rdata = Rdata::parse(RecordType::A, "192.0.2.1").unwrap();
        let before = LiveRecord {
            id: Default::default(),
            rdata,
            ttl: zonekeeper_kernel::record::Ttl(300),
            attributes: Default::default(),
            comment: "".into(),
            read_only: false,
        };
        Change {
            operation: Operation::Delete,
            name: name.clone(),
            rtype: RecordType::A,
            edits: vec![Edit::Delete { name, before, role: Role::Data }],
            unchanged: Vec::new(),
            claims: Vec::new(),
            cause: Cause::Released(HolderRef::Full(Holder::new("recordset", "default", "x"))),
            holders: Vec::new(),
        }
    }

    /// What is judged of a plan now.
    fn judged(settling: &mut Settling, plan: &[&str], scope: Scope<'_>) -> Vec<String> {
        let mut plan: Vec<Change> = plan.iter().map(|name| delete(name)).collect();
        settling.take_unsettled(&mut plan, scope, Instant::now(), QUIET);
        plan.iter().map(|change| change.name.to_string()).collect()
    }

    fn names(names: &[&str]) -> BTreeSet<Name> {
        names.iter().map(|name| Name::parse(&format!("{name}.example.com")).unwrap()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_lone_delete_waits_once() {
        let mut settling = Settling::default();
        assert!(judged(&mut settling, &["a"], Scope::Zone).is_empty());
        assert_eq!(settling.due(), Some(Instant::now() + QUIET));
        tokio::time::advance(QUIET).await;
        assert_eq!(judged(&mut settling, &["a"], Scope::Zone).len(), 1);
        assert_eq!(settling.due(), None);
        // It is tried again, or held: it does not wait again.
        assert_eq!(judged(&mut settling, &["a"], Scope::Zone).len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn each_further_delete_is_waited_for_but_not_for_ever() {
        let mut settling = Settling::default();
        let all: Vec<String> = (0..20).map(|number| format!("n{number}")).collect();
        let begun = Instant::now();
        for count in 1..=all.len() {
            let plan: Vec<&str> = all[..count].iter().map(String::as_str).collect();
            let judged = judged(&mut settling, &plan, Scope::Zone);
            let is_over = begun.elapsed() >= QUIET * MOST_TIMES;
            assert_eq!(judged.len(), if is_over { count } else { 0 }, "after {:?}", begun.elapsed());
            if is_over {
                return;
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        panic!("it waits for ever");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_over_some_names_does_not_judge_its_part() {
        let mut settling = Settling::default();
        assert!(judged(&mut settling, &["a"], Scope::Names(&names(&["a"]))).is_empty());
        assert!(judged(&mut settling, &["b"], Scope::Names(&names(&["b"]))).is_empty());
        tokio::time::advance(QUIET).await;
        assert!(judged(&mut settling, &["b"], Scope::Names(&names(&["b"]))).is_empty());
        assert!(settling.due().unwrap() <= Instant::now());
        assert_eq!(settling.names().cloned().collect::<BTreeSet<_>>(), names(&["a", "b"]));
        assert_eq!(judged(&mut settling, &["a", "b"], Scope::Names(&names(&["a", "b"]))).len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_wanted_again_is_forgotten_and_waits_when_it_goes_again() {
        let mut settling = Settling::default();
        judged(&mut settling, &["a"], Scope::Zone);
        tokio::time::advance(QUIET).await;
        assert!(judged(&mut settling, &[], Scope::Names(&names(&["a"]))).is_empty());
        assert_eq!(settling.due(), None);
        assert!(judged(&mut settling, &["a"], Scope::Zone).is_empty());
        assert_eq!(settling.due(), Some(Instant::now() + QUIET));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_delete_settles_beside_those_that_are_held() {
        let mut settling = Settling::default();
        judged(&mut settling, &["a", "b"], Scope::Zone);
        tokio::time::advance(QUIET).await;
        assert_eq!(judged(&mut settling, &["a", "b"], Scope::Zone).len(), 2);
        assert_eq!(judged(&mut settling, &["a", "b", "c"], Scope::Zone), ["a.example.com", "b.example.com"]);
        tokio::time::advance(QUIET).await;
        assert_eq!(judged(&mut settling, &["a", "b", "c"], Scope::Zone).len(), 3);
    }
}
