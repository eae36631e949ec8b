//! Changes that were made are told as Events: on the objects that ask for the sets, else on the DNSZone; a flood in one.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use zonekeeper_api::{AppliedOperation, Reason};
use zonekeeper_kernel::{
    holder::{Holder, HolderRef},
    plan::{Cause, Change, Operation, SetState},
    render,
    zone::ZoneKey,
    zone_change::ZoneChange,
};

use crate::{
    core::Model,
    effects::Effect,
    events::{Action, ObjectEvent},
    history,
    holders::record_set_of,
    pass::Applied,
    sources::kinds,
};

/// How many Events changes may cost at once, and how fast that is made good.
const BURST: u32 = 100;
const ONE_MORE_EVERY: Duration = Duration::from_millis(100);
/// How many objects that share a set are told.
const MOST_OBJECTS: usize = 5;

/// How many Events changes may still cost, and what was made without one.
#[derive(Debug, Default)]
pub struct ChangeEvents {
    spent: u32,
    since: Option<Instant>,
    untold: BTreeMap<ZoneKey, BTreeMap<AppliedOperation, usize>>,
}

/// Who is told of a change.
enum Target {
    Object(ObjectReference),
    Zone,
}

// === impl ChangeEvents ===

impl ChangeEvents {
    /// Whether one more Event may be published; if so, it is counted.
    fn may_tell(&mut self, now: Instant) -> bool {
        let since = *self.since.get_or_insert(now);
        let earned = now.saturating_duration_since(since).as_millis() / ONE_MORE_EVERY.as_millis();
        if earned > 0 {
            self.spent = self.spent.saturating_sub(u32::try_from(earned).unwrap_or(u32::MAX));
            self.since = Some(now);
        }
        let may = self.spent < BURST;
        self.spent += u32::from(may);
        may
    }
}

// === impl Model ===

impl Model {
    /// Tells of changes that were made in a zone: one Event for every object concerned.
    pub fn tell_changes(&mut self, zone: &ZoneKey, applied: &[Applied]) {
        let mut told: BTreeMap<String, (Target, Vec<&Applied>)> = BTreeMap::new();
        for applied in applied {
            if history::operation(&applied.change).is_none() {
                continue;
            }
            for (name, target) in self.targets(&applied.change) {
                told.entry(name).or_insert_with(|| (target, Vec::new())).1.push(applied);
            }
        }
        for (target, applied) in told.into_values() {
            self.tell_change(zone, target, &applied);
        }
    }

    /// Tells of changes of a zone itself.
    pub fn tell_zone_changes(&mut self, zone: &ZoneKey, applied: &[ZoneChange]) {
        let Some(entry) = self.zones.get(zone) else { return };
        for change in applied {
            let reason =
                if change.cause == Cause::Drift { Reason::DriftReverted } else { Reason::Programmed };
            let note = match change.operation {
                Operation::Create => format!("created zone {}", entry.object.spec.domain),
                Operation::Delete => format!("deleted zone {}", entry.object.spec.domain),
                Operation::Update => format!("changed the zone itself: {}", change.line()),
            };
            let event = ObjectEvent::new(entry.object.object_ref(&()), reason, &note, true);
            self.effects.push(Effect::Publish(event));
        }
    }

    /// Tells of what was made without an Event of its own, of each zone in one.
    pub fn tell_untold(&mut self) {
        for (zone, counts) in std::mem::take(&mut self.change_events.untold) {
            let Some(entry) = self.zones.get(&zone) else { continue };
            let count =
                |(operation, count): (AppliedOperation, usize)| format!("{count} {}", past(operation));
            let counts: Vec<String> = counts.into_iter().map(count).collect();
            let note = format!(
                "changed too much at once for an Event per set: {} sets. `zonekeeper history {zone}` shows the last changes, and the operator's log has a line for each",
                counts.join(", ")
            );
            let event = ObjectEvent::new(entry.object.object_ref(&()), Reason::Programmed, &note, true);
            self.effects.push(Effect::Publish(event));
        }
    }

    fn tell_change(&mut self, zone: &ZoneKey, target: Target, applied: &[&Applied]) {
        if !self.change_events.may_tell(self.now.at) {
            let untold = self.change_events.untold.entry(zone.clone()).or_default();
            for operation in applied.iter().filter_map(|applied| history::operation(&applied.change)) {
                *untold.entry(operation).or_default() += 1;
            }
            return;
        }
        let Some(entry) = self.zones.get(zone) else { return };
        let is_zone = matches!(target, Target::Zone);
        let approval = entry.given_approval();
        let mut notes: Vec<String> = Vec::new();
        for applied in applied {
            let mut note = sentence(&applied.change, is_zone);
            if let Some(approval) = approval.as_ref().filter(|_| applied.is_approved) {
                let approver = approval.approver.as_deref().map(|name| format!(" by {name}"));
                note += &format!("; approved{} with {}", approver.unwrap_or_default(), approval.hash);
            }
            notes.push(note);
        }
        let (object, place) = match target {
            Target::Object(object) => (object, format!(" (DNSZone {zone})")),
            Target::Zone => (entry.object.object_ref(&()), String::new()),
        };
        let mut operations = applied.iter().filter_map(|applied| history::operation(&applied.change));
        let first = operations.next();
        let action = match operations.all(|operation| Some(operation) == first) {
            true => first.map_or(Action::Reconcile, Action::of),
            false => Action::Reconcile,
        };
        let note = notes.join("; ") + &place;
        let event = ObjectEvent::new(object, Reason::Programmed, &note, true).by(action);
        self.effects.push(Effect::Publish(event));
    }

    /// Who is told of a change: the objects that are there and concerned, else the DNSZone. What was changed from
    /// outside its objects are told with what differed.
    fn targets(&mut self, change: &Change) -> Vec<(String, Target)> {
        let released = match &change.cause {
            Cause::Released(HolderRef::Full(holder)) | Cause::Needed(HolderRef::Full(holder)) => Some(holder),
            Cause::Released(HolderRef::Hash(_) | HolderRef::Unnamed)
            | Cause::Needed(HolderRef::Hash(_) | HolderRef::Unnamed)
            | Cause::Wanted
            | Cause::Drift
            | Cause::Orphaned(_)
            | Cause::Pruned => None,
        };
        let holders = change.holders.iter().chain(released).take(MOST_OBJECTS);
        let objects: Vec<_> = holders
            .filter_map(|holder| {
                Some((holder.as_str().to_owned(), Target::Object(self.told_object(holder)?)))
            })
            .collect();
        match (objects.is_empty(), &change.cause) {
            (false, Cause::Drift) => Vec::new(),
            (false, _) => objects,
            (true, _) => vec![(String::new(), Target::Zone)],
        }
    }

    /// The object that a holder names, where it is known. That it has what it asks for it need not be told twice.
    fn told_object(&mut self, holder: &Holder) -> Option<ObjectReference> {
        if let Some(key) = record_set_of(holder) {
            let entry = self.records.get_mut(&key)?;
            entry.outbox.note_told_change();
            return Some(entry.object.object_ref(&()));
        }
        let reference = kinds::source_of(holder)?;
        let uid = self.uid_of(&reference)?;
        let entry = self.sources.entries.get_mut(&reference)?;
        entry.has_told_change = true;
        Some(kinds::reference(&reference, Some(uid)))
    }
}

/// What was done, for people: `changed www.example.com A 192.0.2.1 (ttl 300) to 192.0.2.2 (ttl 300)`.
fn sentence(change: &Change, names_objects: bool) -> String {
    let Some(operation) = history::operation(change) else { return String::new() };
    let (before, after) = (change.before(), change.after());
    let values = match operation {
        AppliedOperation::Create => render::states(&after),
        AppliedOperation::Delete => render::states(&before),
        AppliedOperation::Adopt => one_or(&after, &before),
        AppliedOperation::Update => format!("{} to {}", render::states(&before), render::states(&after)),
    };
    let objects: Vec<String> = change.holders.iter().take(MOST_OBJECTS).map(ToString::to_string).collect();
    let why = match &change.cause {
        Cause::Wanted if names_objects => format!(" for {}", objects.join(", ")),
        Cause::Wanted => String::new(),
        Cause::Drift => ", which was changed from outside".to_owned(),
        Cause::Released(holder) | Cause::Needed(holder) => format!(", which {holder} no longer asks for"),
        Cause::Orphaned(holder) => format!(", which {holder} asked for before"),
        Cause::Pruned => ", which is not ours and spec.prune removes".to_owned(),
    };
    format!("{} {} {} {values}{why}", past(operation), change.name, change.rtype)
}

fn one_or(states: &[SetState], others: &[SetState]) -> String {
    let states = if states.is_empty() { others } else { states };
    states.iter().map(render::values).collect::<Vec<_>>().join(", ")
}

fn past(operation: AppliedOperation) -> &'static str {
    match operation {
        AppliedOperation::Create => "created",
        AppliedOperation::Update => "changed",
        AppliedOperation::Delete => "deleted",
        AppliedOperation::Adopt => "adopted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_costs_a_hundred_events_and_ten_a_second_after_that() {
        let (mut events, begun) = (ChangeEvents::default(), Instant::now());
        let told = |events: &mut ChangeEvents, now| (0..10_000).filter(|_| events.may_tell(now)).count();
        assert_eq!(told(&mut events, begun), 100);
        assert_eq!(told(&mut events, begun + Duration::from_millis(50)), 0);
        assert_eq!(told(&mut events, begun + Duration::from_secs(2)), 20);
        assert_eq!(told(&mut events, begun + Duration::from_secs(3_600)), 100);
    }
}
