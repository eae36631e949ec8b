//! One line in the log for every change that is made, refused or held.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use zonekeeper_kernel::{
    name::Name,
    plan::{Cause, Change, Operation, Scope, SetState},
    render,
    zone_change::ZoneChange,
};

use crate::engine::Pass;

/// What waits, and was logged: the same is not logged again with every pass.
#[derive(Debug, Default)]
pub struct Logged(BTreeSet<u64>);

/// A change was made.
pub fn applied(zone: &Name, change: &Change) {
    let Told { operation, before, after, object, cause } = Told::of(change);
    tracing::info!(%zone, operation, name = %change.name, "type" = %change.rtype, before, after, object, cause, "applied");
}

/// The zone itself was changed.
pub fn zone_changed(zone: &Name, change: &ZoneChange) {
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let operation = match change.operation {
        Operation::Create => "create",
        Operation::Update => "update",
        Operation::Delete => "delete",
    };
    let (field, cause) = (&*change.field, if change.cause == Cause::Drift { "drift" } else { "wanted" });
    tracing::info!(%zone, operation, field, before, after, cause, "applied");
}

// === impl Logged ===

impl Logged {
    /// Logs what a pass could not do, as far as that is news.
    pub fn note(&mut self, zone: &Name, pass: &Pass, scope: Scope<'_>) {
        let mut waiting = BTreeSet::new();
        for held in &pass.verdict.held {
            let Told { operation, before, after, object, cause } = Told::of(&held.change);
            let (change, why) = (&held.change, held.why.to_string());
            // How many others wait with it is not worth another line.
            if self.is_news(&mut waiting, change, "held") {
                tracing::info!(%zone, operation, name = %change.name, "type" = %change.rtype, before, after, object, cause, why, "held");
            }
        }
        for failure in &pass.failed {
            let Told { operation, before, after, object, cause } = Told::of(&failure.change);
            let (change, why) = (&failure.change, failure.error.to_string());
            if self.is_news(&mut waiting, change, &why) {
                tracing::info!(%zone, operation, name = %change.name, "type" = %change.rtype, before, after, object, cause, why, "refused");
            }
        }
        match scope {
            Scope::Zone => self.0 = waiting,
            Scope::Names(_) => self.0.extend(waiting),
        }
    }

    fn is_news(&self, waiting: &mut BTreeSet<u64>, change: &Change, why: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        (render::hash_line(change), why).hash(&mut hasher);
        let number = hasher.finish();
        waiting.insert(number);
        !self.0.contains(&number)
    }
}

/// A change as the log tells it.
struct Told {
    operation: &'static str,
    before: String,
    after: String,
    /// The objects that ask for the set, or asked for it.
    object: String,
    cause: &'static str,
}

// === impl Told ===

impl Told {
    fn of(change: &Change) -> Self {
        let operation = match change.operation {
            _ if change.is_marker_only() => "mark",
            Operation::Create => "create",
            Operation::Update => "update",
            Operation::Delete => "delete",
        };
        let (cause, left) = match &change.cause {
            Cause::Wanted => ("wanted", None),
            Cause::Drift => ("drift", None),
            Cause::Released(holder) => ("released", Some(holder.to_string())),
            Cause::Needed(holder) => ("needed", Some(holder.to_string())),
            Cause::Orphaned(holder) => ("orphaned", Some(holder.to_string())),
            Cause::Pruned => ("pruned", None),
        };
        let holders = change.holders.iter().map(ToString::to_string).chain(left);
        Self {
            operation,
            before: values(&change.before()),
            after: values(&change.after()),
            object: holders.collect::<Vec<_>>().join(", "),
            cause,
        }
    }
}

fn values(states: &[SetState]) -> String {
    states.iter().map(render::values).collect::<Vec<_>>().join(", ")
}
