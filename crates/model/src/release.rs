//! Deletion: an object goes when nothing of it is left, or when nothing can be done about what is.

use std::{collections::BTreeSet, time::Duration};

use kube::Resource;
use zonekeeper_api::{Reason, wellknown::RECORD_FINALIZER};
use zonekeeper_kernel::{name::Name, zone::ZoneKey};

use crate::{
    Key,
    conditions::Verdict,
    core::{Alarm, Model},
    outbox::Write,
    records::{Placement, RecordEntry},
    status,
    zone_entry::ZoneEntry,
};

/// How long an object of a namespace that is going waits for a zone that can't delete its record.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why an object that is going is not held up any longer.
enum Release {
    /// Nothing of it is left.
    Clean,
    /// What is left stays, for this reason.
    Orphaned(String),
    /// The same, if nothing changes for a while.
    Stuck(String),
    /// It waits.
    NotYet,
}

// === impl Model ===

impl Model {
    /// Lets a RecordSet go where that may be.
    pub fn release_record(&mut self, key: &Key) {
        let Some(entry) = self.records.get(key) else { return };
        if !entry.is_leaving() || !entry.has_finalizer() || entry.is_others {
            return;
        }
        let release = self.may_go(key);
        if !matches!(release, Release::Stuck(_))
            && let Some(entry) = self.records.get_mut(key)
        {
            entry.stuck_since = None;
        }
        match release {
            Release::NotYet => self.report_record(key),
            Release::Stuck(why) => self.let_go_after_a_while(key, why),
            Release::Clean => self.let_go(key, None),
            Release::Orphaned(why) => self.let_go(key, Some(why)),
        }
    }

    /// An object that is, or would be, in zones of another release only is for that one to let go: its status may
    /// not say yet what was written for it.
    pub fn leave_release_to_others(&mut self, key: &Key) {
        let Some(entry) = self.records.get(key) else { return };
        let mut zones = zones_of(entry);
        if entry.unreadable.is_none() {
            let Placement { placed, elsewhere, .. } = self.placement_of(&entry.object);
            zones.extend(placed.keys().chain(elsewhere.keys()).cloned());
        }
        let mut known = zones.iter().filter_map(|zone| self.zones.get(zone)).peekable();
        let is_others = known.peek().is_some() && known.all(|zone| !zone.is_ours);
        if let Some(entry) = self.records.get_mut(key) {
            entry.is_others = is_others;
        }
    }

    /// What it leaves needs a person from then on: trouble that lasts a moment is waited for.
    fn let_go_after_a_while(&mut self, key: &Key, why: String) {
        let now = self.now.at;
        let Some(entry) = self.records.get_mut(key) else { return };
        let end = *entry.stuck_since.get_or_insert(now) + PATIENCE;
        if now >= end {
            return self.let_go(key, Some(why));
        }
        self.agenda.by(end, Alarm::Record(key.clone()));
        self.report_record(key);
    }

    fn let_go(&mut self, key: &Key, orphaned: Option<String>) {
        // What it leaves must not be taken for the record of an object that was deleted: that is written down first.
        if orphaned.is_some() && !self.remember_released(key) {
            return;
        }
        let Some(entry) = self.records.get_mut(key) else { return };
        if !entry.outbox.begin() {
            return;
        }
        if let Some(why) = orphaned {
            self.effects.say(entry.object.object_ref(&()), Reason::Orphaned, &why, false);
        }
        self.effects.write(Write::remove_finalizer(&*entry.object, RECORD_FINALIZER));
    }

    fn may_go(&self, key: &Key) -> Release {
        let Some(entry) = self.records.get(key) else { return Release::NotYet };
        if status::is_released(&*entry.object) {
            return Release::Orphaned("released by annotation; what it wrote stays at the provider".into());
        }
        if self.record_sets_are_going {
            let why = "RecordSets go with their definition; what they wrote stays at the provider";
            return Release::Orphaned(why.into());
        }
        let is_terminating = self.namespaces.get(&key.0).is_some_and(|namespace| namespace.is_terminating);
        let (mut orphaned, mut stuck) = (None, None);
        for key in zones_of(entry) {
            let Some(zone) = self.zones.get(&key) else {
                orphaned =
                    orphaned.or(Some(format!("DNSZone {key} is gone; its records stay at the provider")));
                continue;
            };
            if !zone.is_ours {
                // Another release cleans up there, with the object or after it.
                continue;
            }
            let is_left = entry.places.keys().any(|(place, _)| *place == key) || !zone.is_surveyed();
            if !is_left {
                continue;
            }
            match self.why_impossible(&key, zone) {
                Some(why) => orphaned = Some(why),
                None if is_terminating && self.is_stuck(&key, zone, entry) => {
                    stuck =
                        Some(format!("the namespace is going while DNSZone {key} can't delete its records"));
                }
                None => return Release::NotYet,
            }
        }
        match (stuck, orphaned) {
            (Some(why), _) => Release::Stuck(why),
            (None, Some(why)) => Release::Orphaned(why),
            (None, None) => Release::Clean,
        }
    }

    /// Why a zone will never delete what an object left, where that is so.
    fn why_impossible(&self, key: &ZoneKey, zone: &ZoneEntry) -> Option<String> {
        if self.never_deletes(key) && zone.is_surveyed() {
            return Some(format!(
                "the policy of DNSZone {key} deletes nothing; its records stay at the provider"
            ));
        }
        let trouble = zone.trouble.as_ref()?;
        let is_gone = matches!(
            trouble.reason,
            Reason::RefNotFound | Reason::ZoneNotFound | Reason::DuplicateZone | Reason::RefNotPermitted
        );
        is_gone.then(|| format!("DNSZone {key}: {}; its records stay at the provider", trouble.message))
    }

    /// Whether a delete is held, or its zone in trouble: a namespace does not wait for that. A zone that was not looked
    /// for yet is not in trouble: after a start, it is about to delete what an object leaves, or to retain it.
    fn is_stuck(&self, key: &ZoneKey, zone: &ZoneEntry, entry: &RecordEntry) -> bool {
        let mut lingering = entry.lingering.iter().filter(|((place, _), _)| place == key);
        zone.trouble.as_ref().is_some_and(|trouble| trouble.reason != Reason::Pending)
            || zone.last_pass_error.is_some()
            || zone.object.spec.suspend
            || lingering.any(|(_, why)| why.is_stalled())
    }

    /// Whether RecordSets are going because their definition is, which is no word about any of them.
    pub fn note_definition(&mut self, is_staying: bool) {
        self.record_sets_are_going = !is_staying;
        if is_staying {
            return;
        }
        let leaving = self.records.iter().filter(|(_, entry)| entry.is_leaving());
        let leaving: Vec<Key> = leaving.map(|(key, _)| key.clone()).collect();
        leaving.iter().for_each(|key| self.release_record(key));
    }

    /// Notes why something that an object wishes no more is there still.
    pub fn note_left(&mut self, zone: &ZoneKey, name: Name, key: &Key, why: Verdict) {
        let Some(entry) = self.records.get_mut(key) else { return };
        // It may wish that again by now.
        if entry.placed.get(zone) == Some(&name) {
            return;
        }
        entry.lingering.insert((zone.clone(), name), why);
        self.report_record(key);
    }

    /// Notes that an object holds nothing at a place that it wishes no more.
    pub fn note_left_clean(&mut self, zone: &ZoneKey, name: Name, key: &Key) {
        if let Some(entry) = self.zones.get_mut(zone) {
            entry.departing.remove(&(name.clone(), key.clone()));
        }
        let Some(entry) = self.records.get_mut(key) else { return };
        let was_told = entry.lingering.remove(&(zone.clone(), name.clone())).is_some();
        if entry.placed.get(zone) != Some(&name) {
            entry.places.remove(&(zone.clone(), name));
        }
        if was_told {
            self.report_record(key);
        }
    }

    /// Looks again at objects that waited for the first look at a zone.
    pub fn release_waiting(&mut self, zone: &ZoneKey) {
        let is_waiting = |object: &zonekeeper_api::RecordSet| {
            object.metadata.deletion_timestamp.is_some()
                && object
                    .status
                    .iter()
                    .flat_map(|status| &status.zones)
                    .any(|written| written.namespace == zone.namespace && written.name == zone.name)
        };
        let waiting: Vec<Key> = self
            .records
            .iter()
            .filter(|(_, entry)| is_waiting(&entry.object))
            .map(|(key, _)| key.clone())
            .collect();
        waiting.iter().for_each(|key| self.release_record(key));
    }
}

/// Where an object may have written something, as this process or its status knows.
pub fn zones_of(entry: &RecordEntry) -> BTreeSet<ZoneKey> {
    let written = entry.object.status.iter().flat_map(|status| &status.zones);
    let written = written.map(|zone| ZoneKey { namespace: zone.namespace.clone(), name: zone.name.clone() });
    entry.places.keys().map(|(zone, _)| zone.clone()).chain(written).collect()
}
