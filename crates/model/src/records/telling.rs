//! What became of RecordSets' wishes, and where it is said: statuses and Events.

use std::sync::Arc;

use kube::Resource;
use zonekeeper_api::{Reason, RecordSet};
use zonekeeper_kernel::{name::Name, rdata::RecordType, zone::ZoneKey};

use crate::{
    Key,
    conditions::Verdict,
    core::Model,
    holders::record_set_of,
    pass::{Drifted, IntentState},
    records::PlaceState,
    status,
    zone_entry::Requester,
};

// === impl Model ===

impl Model {
    /// Takes over what a pass says of a wish.
    pub fn note_intent(&mut self, zone: &ZoneKey, state: IntentState) {
        let Some(key) = record_set_of(&state.intent.holder) else { return self.note_source(zone, state) };
        let Some(entry) = self.records.get_mut(&key) else { return };
        // The wish may have changed while the pass was under way.
        if entry.placed.get(zone) != Some(&state.name) {
            return;
        }
        if state.has_written {
            entry.synced = Some(self.now.time());
        }
        if let Some(Drifted::Reverted(message)) = &state.drift {
            self.effects.say(entry.object.object_ref(&()), Reason::DriftReverted, message, true);
        }
        // What became of an older wish says nothing of this one, for which another pass comes.
        if !entry.intent.as_ref().is_some_and(|intent| Arc::ptr_eq(intent, &state.intent)) {
            return;
        }
        let intent_is_unknown = entry.intent.as_ref().is_some_and(|intent| intent.values.is_none());
        let verdict = match entry.object.spec.suspend
            && intent_is_unknown
            && state.verdict.reason == Reason::TargetsUnknown
        {
            true => Verdict::new(Reason::Suspended, "suspended: nothing is written for it"),
            false => state.verdict,
        };
        let drift = match state.drift {
            // What was undone is shown until something else happens.
            None => entry
                .states
                .get(zone)
                .and_then(|state| state.drift.clone())
                .filter(|drift| matches!(drift, Drifted::Reverted(_)) && !state.has_written),
            found => found,
        };
        let had_arrived = entry.has_arrived();
        entry
            .states
            .insert(zone.clone(), PlaceState { verdict, records: state.records, drift, ttl: state.ttl });
        if !had_arrived && entry.has_arrived() {
            let old: Vec<_> = entry
                .places
                .keys()
                .filter(|(zone, name)| entry.placed.get(zone) != Some(name))
                .cloned()
                .collect();
            old.iter().for_each(|(zone, name)| self.note_departing(zone, name, &key));
        }
        self.reverse_record(&key);
        self.report_record(&key);
    }

    /// Tells those who wish a set, once, that their comment was too long for its zone.
    pub fn tell_cut_comment(&mut self, zone: &ZoneKey, name: &Name, rtype: RecordType) {
        let Some(wishes) = self.zones.get(zone).and_then(|entry| entry.wishes.get(name)) else { return };
        let commented = wishes.iter().filter(|(_, intent)| intent.rtype == rtype && intent.comment.is_some());
        for (requester, _) in commented {
            let Requester::RecordSet(key) = requester else { continue };
            let Some(entry) = self.records.get_mut(key) else { continue };
            let generation = entry.object.metadata.generation;
            if std::mem::replace(&mut entry.cut_told, generation) != generation {
                let message = format!(
                    "spec.cloudflare.comment is longer than DNSZone {zone} has room for beside the ownership marker; it was cut"
                );
                self.effects.say(entry.object.object_ref(&()), Reason::InvalidValue, &message, false);
            }
        }
    }

    /// Says of a RecordSet what there is to say, if that is new.
    pub fn report_record(&mut self, key: &Key) {
        let Some(entry) = self.records.get(key) else { return };
        if entry.is_others {
            return;
        }
        let said = status::record_verdict(entry);
        let Some(verdict) = self.target_verdict(key).or(said) else { return };
        let Some(entry) = self.records.get(key) else { return };
        if verdict.reason == Reason::Held {
            let lingering = entry.lingering.keys().map(|(zone, _)| zone);
            let zones = entry.placed.keys().chain(lingering).cloned().collect();
            if self.tells_later(zones, &Requester::RecordSet(key.clone()), &verdict) {
                return;
            }
        }
        let Some(entry) = self.records.get_mut(key) else { return };
        let status = status::record_status(entry, &verdict, &self.zones, self.now);
        let object = entry.object.clone();
        entry.outbox.report(&mut self.effects, &*object, verdict, &status, self.now.at);
        if entry.unreadable.is_some() {
            // The API's answer can't be read either: what was written is remembered here.
            Arc::make_mut(&mut entry.object).status = Some(status);
            entry.outbox.see_object(&*entry.object);
        }
    }

    /// Our own write of a RecordSet is over.
    pub fn record_written(&mut self, key: &Key, written: Option<RecordSet>) {
        let Some(entry) = self.records.get_mut(key) else { return };
        let again = entry.outbox.end();
        match written {
            Some(object) => self.see_record(object),
            None if entry.unreadable.is_some() => {}
            None => self.retry_record(key),
        }
        if again {
            self.finish_record(key);
        }
    }

    /// Goes on with what had to wait for a write: a finalizer that is to come or to go, or what there is to say.
    pub fn finish_record(&mut self, key: &Key) {
        let Some(entry) = self.records.get(key) else { return };
        if entry.is_leaving() || !entry.has_finalizer() {
            self.consider_record(key);
        }
        self.report_record(key);
    }
}
