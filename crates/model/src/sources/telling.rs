//! Events on source objects: one per change of their state, each told once.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;
use zonekeeper_api::{Reason, SourceKind};
use zonekeeper_kernel::zone::ZoneKey;
use zonekeeper_sources::{
    Complaint, Found,
    object::{Body, Kind, ObjectRef},
};

use crate::{
    conditions::{Transitions, Verdict, conditions},
    core::Model,
    effects::Effect,
    pass::{Drifted, IntentState},
    reasons,
    sources::{SourceEntry, kinds, news::Standing},
    zone_entry::Requester,
};

/// How many names one Event spells out.
const MOST_NAMES: usize = 10;

// === impl SourceEntry ===

impl SourceEntry {
    /// What is to be said of the whole object; nothing while a part is not known.
    fn verdict(&self) -> Option<Verdict> {
        let bad = self
            .states
            .values()
            .find(|verdict| !verdict.is_ready() && verdict.reason != Reason::TargetsUnknown);
        if let Some(verdict) = bad.or(self.refused.as_ref()) {
            return Some(verdict.clone());
        }
        if self.wishes.is_empty() || self.wishes.keys().any(|place| !self.states.contains_key(place)) {
            return None;
        }
        if let Some(verdict) = self.states.values().find(|verdict| !verdict.is_ready()) {
            return Some(verdict.clone());
        }
        let mut names: Vec<String> =
            self.wishes.keys().map(|(_, name, rtype)| format!("{name} {rtype}")).collect();
        names.dedup();
        let more = names.len().saturating_sub(MOST_NAMES);
        names.truncate(MOST_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(Verdict::new(Reason::Programmed, format!("published: {}{more}", names.join(", "))))
    }
}

// === impl Model ===

impl Model {
    /// Takes over what a pass says of a source object's wish.
    pub fn note_source(&mut self, zone: &ZoneKey, state: IntentState) {
        let Some(reference) = kinds::source_of(&state.intent.holder) else { return };
        let place = (zone.clone(), state.name, state.intent.rtype);
        let Some(entry) = self.sources.entries.get_mut(&reference) else { return };
        entry.has_written |= state.has_written;
        let has_written = entry.has_written;
        // What became of an older wish says nothing of this one, for which another pass comes.
        if entry.wishes.get(&place) != Some(&state.intent) {
            return;
        }
        let left =
            if state.verdict.is_in_place() { std::mem::take(&mut entry.left) } else { BTreeSet::new() };
        entry.states.insert(place, state.verdict);
        for (zone, name, _) in left {
            self.look_again(&zone, name);
        }
        if let Some(Drifted::Reverted(message)) = &state.drift {
            let named = kinds::reference(&reference, self.uid_of(&reference));
            self.effects.say(named, Reason::DriftReverted, message, true);
        }
        if has_written {
            self.tell_notes(&reference);
        }
        self.reverse_source(&reference);
        self.tell_source(&reference);
    }

    /// Notes why a source object's wish can't be had now.
    pub fn note_source_trouble(&mut self, reference: &ObjectRef, zone: &ZoneKey, verdict: &Verdict) {
        let Some(entry) = self.sources.entries.get_mut(reference) else { return };
        let places: Vec<_> = entry.wishes.keys().filter(|(other, _, _)| other == zone).cloned().collect();
        for place in places {
            entry.states.insert(place, verdict.clone());
        }
        self.tell_source(reference);
    }

    /// Tells what is new of a source object.
    pub fn tell_source(&mut self, reference: &ObjectRef) {
        let uid = self.uid_of(reference);
        let generation = match self.sources.world.get(reference) {
            Found::Here(object) => object.meta.generation,
            Found::NotThere | Found::Deleted | Found::NotKnown => return,
        };
        // It is looked at again as soon as the rest is known.
        let Some(entry) = self.sources.entries.get(reference) else { return };
        if entry.looks.keys().any(|look| self.sources.is_listing(look)) {
            return;
        }
        let Some(verdict) = entry.verdict() else { return };
        if verdict.reason == Reason::Held {
            let zones = entry.states.keys().map(|(zone, _, _)| zone.clone()).collect();
            let rtype = entry.states.keys().map(|(_, _, rtype)| *rtype).next();
            let requester = rtype.map(|rtype| Requester::Source(reference.clone(), rtype));
            if requester.is_some_and(|requester| self.tells_later(zones, &requester, &verdict)) {
                return;
            }
        }
        let Some(entry) = self.sources.entries.get_mut(reference) else { return };
        let before = entry.told.replace((verdict.clone(), generation));
        if before.as_ref() == entry.told.as_ref() {
            return;
        }
        // After a restart nothing is news that was so before.
        let is_news = match &before {
            // An outage, and its end, is told by the zone.
            Some((before, _)) if before.is_outage() && verdict.is_ready() => false,
            Some((before, _)) => *before != verdict && !verdict.is_outage(),
            None => entry.has_written || !(verdict.is_ready() || verdict.is_outage()),
        };
        let is_told = std::mem::take(&mut entry.has_told_change) && verdict.is_in_place();
        if is_news && !is_told && verdict.reason != Reason::Pending {
            self.effects.tell(kinds::reference(reference, uid), &verdict);
        }
        if reference.kind == Kind::Source(SourceKind::DnsEndpoint) {
            self.write_endpoint_status(reference, &verdict);
        }
    }

    /// A DNSEndpoint has a status of its own to say it in.
    fn write_endpoint_status(&mut self, reference: &ObjectRef, verdict: &Verdict) {
        let Found::Here(object) = self.sources.world.get(reference) else { return };
        let Body::DnsEndpoint(endpoint) = &object.body else { return };
        let Standing::Following(resource) = self.sources.standing(reference.kind) else { return };
        let generation = Some(object.meta.generation);
        let shown = verdict.common().into_iter().chain(verdict.progress());
        let before = endpoint.status.conditions.iter();
        let before: Vec<Condition> =
            before.filter_map(|condition| serde_json::from_value(condition.clone()).ok()).collect();
        let conditions = conditions(&Transitions::of(&before), generation, shown, self.now);
        if conditions == before && endpoint.status.observed_generation == generation {
            return;
        }
        let status = json!({ "status": { "observedGeneration": generation, "conditions": conditions } });
        let (object, resource) = (reference.clone(), resource.clone());
        self.effects.push(Effect::WriteEndpoint { object, resource, status });
    }

    /// Tells what is wrong with a source object, if that is new.
    pub(super) fn complain(&mut self, reference: &ObjectRef, mut complaints: Vec<Complaint>) {
        complaints.sort();
        complaints.dedup();
        let uid = self.uid_of(reference);
        let Some(entry) = self.sources.entries.get_mut(reference) else { return };
        let before = std::mem::replace(&mut entry.complaints, complaints.clone());
        for complaint in complaints.iter().filter(|complaint| !before.contains(complaint)) {
            let reason = reasons::of_word(complaint.reason);
            let message = format!("{}: {}", complaint.field, complaint.message);
            self.effects.say(kinds::reference(reference, uid.clone()), reason, &message, false);
        }
    }

    /// Tells once what people should know of what is published.
    pub(super) fn tell_notes(&mut self, reference: &ObjectRef) {
        let uid = self.uid_of(reference);
        let Some(entry) = self.sources.entries.get_mut(reference) else { return };
        if std::mem::replace(&mut entry.notes.1, true) {
            return;
        }
        for note in &entry.notes.0 {
            let reason = reasons::of_word(note.reason);
            let message = format!("{}: {}", note.field, note.message);
            self.effects.say(kinds::reference(reference, uid.clone()), reason, &message, false);
        }
    }

    pub fn uid_of(&self, reference: &ObjectRef) -> Option<String> {
        match self.sources.world.get(reference) {
            Found::Here(object) => Some(object.meta.uid.clone()).filter(|uid| !uid.is_empty()),
            Found::NotThere | Found::Deleted | Found::NotKnown => None,
        }
    }
}
