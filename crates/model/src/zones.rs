//! DNSZones in the model: found at their provider, woken by what touches them, and reported on.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use kube::ResourceExt;
use zonekeeper_api::{
    DNSZone, Policy, Reason,
    wellknown::{RECONCILE_REQUESTED_AT, ZONE_FINALIZER},
};
use zonekeeper_kernel::provider::{ProviderError, Retry};
use zonekeeper_kernel::{
    name::Name,
    zone::{Zone, ZoneKey},
};

use crate::{
    Key,
    conditions::Verdict,
    core::{Alarm, Model},
    declare::{self, zone_key},
    effects::Effect,
    outbox::{Write, is_newer},
    reasons,
    records::RecordEntry,
    status,
    zone_entry::{Awaits, Requester, ZoneEntry},
};

/// An error is told when it stays; the first retry is soon.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How long after a write that failed a status is written again.
pub const REWRITE: Duration = Duration::from_secs(1);

// === impl Model ===

impl Model {
    /// A DNSZone was seen, or came back from our own write.
    pub fn see_zone(&mut self, object: DNSZone) {
        let key = zone_key(&object);
        let object = Arc::new(object);
        let before = self.zones.get(&key).is_some_and(|entry| entry.object.spec.reverse);
        let is_switched = before != object.spec.reverse;
        let is_same = match self.zones.get_mut(&key) {
            // A late answer to a write may be about an object that is gone, and came again since.
            Some(entry) if !is_newer(&*object, &*entry.object) => return,
            Some(entry) if entry.object.uid() != object.uid() => {
                self.lose_zone(&key);
                false
            }
            Some(entry) => {
                let found = |zone: &DNSZone| zone.status.as_ref().and_then(|status| status.zone_id.clone());
                let is_same = entry.object.spec == object.spec
                    && entry.object.annotations() == object.annotations()
                    && entry.object.metadata.deletion_timestamp == object.metadata.deletion_timestamp
                    // Another release has found it: it may be the same as one of ours.
                    && (entry.is_ours || found(&entry.object) == found(&object));
                entry.object = object.clone();
                entry.outbox.see_object(&*object);
                if !entry.is_ours {
                    entry.recall_status();
                }
                is_same
            }
            None => false,
        };
        self.zones.entry(key.clone()).or_insert_with(|| ZoneEntry::new(object, self.now.at));
        self.recall_released(&key);
        let Some(entry) = self.zones.get(&key) else { return };
        let requested = entry.object.annotations().get(RECONCILE_REQUESTED_AT);
        if requested.is_some() && requested != entry.handled.as_ref() {
            self.scan_zone(&key);
            self.agenda.by(self.now.at + Duration::from_secs(1), Alarm::Parent(key.clone()));
        }
        if is_same {
            self.report_zone(&key);
        } else {
            self.consider_zone(&key);
        }
        if is_switched {
            self.reconsider_reverse_of(&key);
        }
    }

    /// A DNSZone is gone: what is in it stays, and holds up nothing.
    pub fn lose_zone(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.remove(key) else { return };
        self.keep_released(key, entry.guard.released.clone());
        self.index.remove(key);
        self.children.forget(&entry.object.uid().unwrap_or_default());
        self.agenda.cancel(&Alarm::Parent(key.clone()));
        if let Some(reading) = &entry.reading {
            self.leave_reading(key, reading);
        }
        self.forget_zone_of_sources(key);
        self.agenda.cancel(&Alarm::Scan(key.clone()));
        let is_served_by = |other: &ZoneEntry| {
            let domain = |entry: &ZoneEntry| entry.zone.as_ref().map(|zone| zone.domain.clone());
            other.provider == entry.provider && domain(other) == domain(&entry)
        };
        if let (Some(provider), Some(zone)) = (&entry.provider, &entry.zone)
            && self.is_builtin(provider)
            && !self.zones.values().any(is_served_by)
        {
            self.effects.push(Effect::Retract(provider.clone(), zone.domain.clone()));
        }
        self.effects.push(Effect::CloseZone(key.clone()));
        if let Some(provider) = entry.provider.clone() {
            self.release_provider(&provider);
            self.reconsider_zones_of(&provider);
        }
        self.reconsider_duplicates();
        let records: Vec<Key> = self
            .records
            .iter()
            .filter(|(_, record)| record.places.keys().any(|(zone, _)| zone == key))
            .map(|(key, _)| key.clone())
            .collect();
        for record in records {
            if let Some(record) = self.records.get_mut(&record) {
                record.places.retain(|(zone, _)| zone != key);
                record.lingering.retain(|(zone, _)| zone != key);
                record.placed.remove(key);
                record.states.remove(key);
            }
            self.consider_record(&record);
        }
    }

    /// Finds out anew how a zone is to be worked on.
    pub fn consider_zone(&mut self, key: &ZoneKey) {
        if !self.is_synced() {
            return;
        }
        let Some(entry) = self.zones.get(key) else { return };
        let object = entry.object.clone();
        let was_found = entry.was_found();
        let placement = self.provider_of(&object);
        let entry = match self.zones.get_mut(key) {
            Some(entry) => entry,
            None => return,
        };
        match placement {
            Ok((provider, is_ours)) => {
                let has_changed_hands = std::mem::replace(&mut entry.is_ours, is_ours) != is_ours;
                entry.provider = Some(provider.clone());
                if has_changed_hands {
                    // Whatever this release knew of it, the other one went on since.
                    if entry.worker.facts().is_some() {
                        self.effects.push(Effect::CloseZone(key.clone()));
                    }
                    entry.begin_anew();
                }
                match declare::zone(&object, &provider).and_then(|zone| declare::rules(&object).map(|_| zone))
                {
                    Ok(zone) => {
                        entry.zone = Some(zone.clone());
                        entry.trouble = None;
                        let reading = declare::reading(&object).ok().flatten();
                        self.read_sources(key, reading.filter(|_| is_ours));
                        let was_indexed = self.index.get(key) == Some(&zone);
                        self.index_zone(zone.clone());
                        // Another release takes care of it from now on, or did before.
                        if has_changed_hands && was_indexed {
                            self.reconsider_records(&zone);
                            self.place_sources(&zone.domain);
                        }
                        self.open_zone(key);
                    }
                    Err(bad) => {
                        self.trouble_zone(key, Verdict::new(Reason::InvalidValue, bad.to_string()), was_found)
                    }
                }
            }
            Err(verdict) => {
                // A zone of another release stays that.
                entry.is_ours |= entry.provider.is_none();
                let provider = entry.provider.clone().unwrap_or_default();
                if entry.zone.is_none() {
                    entry.zone = declare::zone(&object, &provider).ok();
                }
                self.trouble_zone(key, verdict, was_found);
            }
        }
        self.release_zone(key);
        if self.zones.get(key).is_some_and(|entry| !entry.is_ours) {
            self.reconsider_twins(key);
        }
    }

    /// Puts a zone among those that wishes can go to, and places anew what it may concern.
    pub fn index_zone(&mut self, zone: Zone) {
        if self.index.get(&zone.key) == Some(&zone) {
            return;
        }
        self.index.insert(zone.clone());
        self.reconsider_records(&zone);
        self.place_sources(&zone.domain);
        self.reconsider_reverse(&zone.domain);
    }

    /// Takes a zone away from those that wishes can go to.
    fn unindex_zone(&mut self, key: &ZoneKey) {
        if let Some(zone) = self.index.get(key).cloned() {
            self.index.remove(key);
            self.reconsider_records(&zone);
            self.place_sources(&zone.domain);
        }
    }

    fn reconsider_records(&mut self, zone: &Zone) {
        let concerns = |entry: &RecordEntry| {
            let spec = &entry.object.spec;
            !spec.zone_refs.is_empty()
                || !zone.records_from.is_empty()
                || entry.placed.contains_key(&zone.key)
                || spec
                    .name
                    .as_deref()
                    .is_some_and(|name| Name::parse(name).is_ok_and(|name| name.is_within(&zone.domain)))
        };
        let records: Vec<Key> =
            self.records.iter().filter(|(_, entry)| concerns(entry)).map(|(key, _)| key.clone()).collect();
        records.iter().for_each(|key| self.consider_record(key));
    }

    /// Notes why a zone can't be worked on, for itself and for all that wish something of it.
    pub fn trouble_zone(&mut self, key: &ZoneKey, verdict: Verdict, keeps_place: bool) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        entry.trouble = Some(verdict.clone());
        if !keeps_place {
            self.unindex_zone(key);
        } else if let Some(zone) = entry.zone.clone() {
            self.index_zone(zone);
        }
        let is_suspended = self.zones.get(key).is_some_and(|entry| entry.is_suspended_over(&verdict));
        let told = if is_suspended { suspended(key) } else { verdict };
        // What takes a moment is not worth a word.
        if told.reason != Reason::Pending {
            self.tell_requesters(key, &told, None);
            self.report_zone(key);
        }
    }

    /// Tells every object that asks something of a zone why it can't be had now.
    pub fn tell_requesters(&mut self, key: &ZoneKey, verdict: &Verdict, names: Option<&BTreeSet<Name>>) {
        let Some(entry) = self.zones.get(key) else { return };
        let verdict = &verdict.for_requesters();
        let mut requesters: BTreeSet<Requester> = BTreeSet::new();
        for (name, objects) in &entry.wishes {
            if names.is_none_or(|names| names.contains(name)) {
                requesters.extend(objects.keys().cloned());
            }
        }
        let is_meant = |(name, _): &&(Name, Key)| names.is_none_or(|names| names.contains(name));
        let leavers: Vec<(Name, Key)> = entry.departing.iter().filter(is_meant).cloned().collect();
        for requester in requesters {
            self.note_trouble(key, &requester, verdict);
        }
        for (name, leaver) in leavers {
            self.note_left(key, name, &leaver, verdict.clone());
            self.release_record(&leaver);
        }
    }

    /// Says of a zone what there is to say, if that is new.
    pub fn report_zone(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get(key).filter(|entry| entry.is_ours) else { return };
        // Before the first look is over a pass, or an object that is let go, may wait for the guard's memory: that says
        // nothing new.
        let before = || {
            let is_saving = matches!(entry.awaits, Some(Awaits::Saving(_)));
            let first = || Verdict::new(Reason::Pending, "the zone is looked at for the first time");
            let is_awaited = is_saving || entry.has_unwritten_releases();
            is_awaited.then(|| entry.outbox.told.clone().unwrap_or_else(first))
        };
        let Some(verdict) = status::zone_verdict(entry).or_else(before) else { return };
        self.delegate(key);
        let delegated = self.delegated(key);
        let Some(entry) = self.zones.get(key) else { return };
        let status = status::zone_status(entry, &verdict, delegated.as_ref(), self.now);
        let Some(entry) = self.zones.get_mut(key) else { return };
        let object = entry.object.clone();
        let must_wait = entry.outbox.report(&mut self.effects, &*object, verdict, &status, self.now.at);
        if entry.outbox.is_held_back() {
            self.guard_not_saved(key);
        } else if !must_wait {
            self.guard_saved(key);
        }
    }

    /// Our own write of a zone is over.
    pub fn zone_written(&mut self, key: &ZoneKey, written: Option<DNSZone>) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        let again = entry.outbox.end();
        match written {
            Some(object) => {
                // With our write may come an edit that its watch has not told yet.
                self.see_zone(object);
                self.report_zone(key);
                self.release_remembered(key);
                self.release_zone(key);
                self.tell_waiting(key);
                // A pass may have waited for the finalizer.
                self.wake.insert(key.clone());
            }
            // It was a finalizer, or overtaken: the status has yet to be written.
            None if again => self.report_zone(key),
            None => {
                let wait = entry.outbox.wait(REWRITE, self.now.at);
                self.agenda.by(self.now.at + wait, Alarm::Report(key.clone()));
                self.guard_not_saved(key);
            }
        }
    }

    /// Whether an object must wait with what it has to say until the status of one of its zones has the hash that it names.
    pub fn tells_later(
        &mut self,
        zones: BTreeSet<ZoneKey>,
        requester: &Requester,
        verdict: &Verdict,
    ) -> bool {
        let lacks = |zone: &ZoneKey| self.zones.get(zone).is_some_and(|entry| entry.lacks_hash_in(verdict));
        let waits = !zones.is_empty() && zones.iter().all(lacks);
        for zone in zones.iter().filter(|_| waits) {
            if let Some(entry) = self.zones.get_mut(zone) {
                entry.tells_later.insert(requester.clone());
            }
        }
        waits
    }

    /// Lets those speak who waited for a zone's status.
    fn tell_waiting(&mut self, zone: &ZoneKey) {
        let waiting = self.zones.get_mut(zone).map(|entry| std::mem::take(&mut entry.tells_later));
        for requester in waiting.into_iter().flatten() {
            match requester {
                Requester::RecordSet(key) => self.report_record(&key),
                Requester::Source(reference, _) => self.tell_source(&reference),
            }
        }
    }

    /// Keeps, or sets, the finalizer of a zone that something depends on; lets go one that nothing does.
    pub fn release_zone(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get_mut(key).filter(|entry| entry.is_ours) else { return };
        let is_released = status::is_released(&*entry.object);
        // An object that was not read yet may depend on it.
        let is_reading = entry
            .reading
            .as_ref()
            .is_some_and(|reading| self.sources.is_starting(reading) || self.sources.is_stale());
        let is_needed = entry.is_needed() || is_reading || entry.is_to_be_deleted();
        let is_to_go = entry.is_leaving() && entry.has_finalizer() && (!is_needed || is_released);
        let is_to_stay = entry.lacks_finalizer();
        // A write that is under way comes back here.
        if !(is_to_go || is_to_stay) || entry.outbox.is_busy() {
            return;
        }
        entry.outbox.begin();
        self.effects.write(match is_to_go {
            true => Write::remove_finalizer(&*entry.object, ZONE_FINALIZER),
            false => Write::add_finalizer(&*entry.object, ZONE_FINALIZER),
        });
    }

    /// Whether a zone's policy never deletes.
    pub fn never_deletes(&self, key: &ZoneKey) -> bool {
        self.zones.get(key).is_some_and(|entry| entry.object.spec.policy != Policy::Sync)
    }
}

/// What is said of wishes in a zone that is suspended.
pub fn suspended(key: &ZoneKey) -> Verdict {
    Verdict::new(Reason::Suspended, format!("DNSZone {key} is suspended: nothing is written"))
}

/// A provider's error as a verdict.
pub fn verdict(error: &ProviderError) -> Verdict {
    Verdict::new(reasons::of_error(error), error.to_string())
}

/// How long to wait after trouble.
pub fn retry_after(error: &ProviderError, failures: u32) -> Duration {
    match error.retry() {
        Retry::After(after) => after.max(FIRST_RETRY),
        Retry::Backoff | Retry::Never => {
            (FIRST_RETRY * 2_u32.pow(failures.saturating_sub(1).min(6))).min(LONGEST_RETRY)
        }
    }
}
