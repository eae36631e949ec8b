//! Objects that were let go while their records stayed: the zone remembers them, so that their records count as orphans
//! and not as records of objects that were deleted.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use zonekeeper_kernel::{
    holder::{Holder, HolderRef},
    name::Name,
    rdata::Rdata,
    zone::{Zone, ZoneKey},
};

use crate::{
    Key,
    core::Model,
    holders::record_set_of,
    pass::Retained,
    records::{RecordEntry, wanted_name},
    release::zones_of,
    status,
    zone_entry::ZoneEntry,
};

/// How many a status has room for.
const MOST: usize = 200;
/// For how long no listing must show a record before its object is forgotten.
const UNSEEN: Duration = Duration::from_secs(60);
/// Stands for all that had no room.
pub const ALL: &str = "*";

/// A RecordSet as markers and statuses name it.
pub fn holder_of(key: &Key) -> Holder {
    Holder::new("recordset", &key.0, &key.1)
}

/// Adds a holder to those that a status lists.
fn add(released: &mut Vec<String>, holder: &str) {
    // Too much is remembered rather than too little: what is listed waits for a person.
    let named = released.iter().filter(|known| *known != ALL).count();
    let entry = if named + 1 < MOST { holder } else { ALL };
    if !released.iter().any(|known| known == holder || known == entry) {
        released.push(entry.to_owned());
        released.sort();
    }
}

// === impl ZoneEntry ===

impl ZoneEntry {
    /// Whether an object is listed as one that was let go while its record stayed here.
    pub fn has_released(&self, named: &HolderRef) -> bool {
        self.guard.released.iter().any(|known| named.names(&Holder::from_text(known)))
    }

    /// The same of an object that is gone: it may be one that had no room.
    pub fn may_have_released(&self, named: &HolderRef) -> bool {
        self.has_released(named) || self.guard.released.iter().any(|known| known == ALL)
    }

    /// Whether the status of the zone, as the API server has it, lists an object that was let go.
    fn has_written_down(&self, holder: &str) -> bool {
        let guard = self.object.status.as_ref().and_then(|status| status.guard.as_ref());
        guard.is_some_and(|guard| guard.released.iter().any(|known| known == holder || known == ALL))
    }

    /// Whether objects that wait to be let go are not listed in the status yet.
    pub fn has_unwritten_releases(&self) -> bool {
        self.guard.released.iter().any(|holder| !self.has_written_down(holder))
    }

    /// Forgets those of which no record was seen for a while: a listing may be behind.
    pub fn forget_released(&mut self, gone: &BTreeSet<String>, now: Instant) {
        self.unseen.retain(|holder, _| gone.contains(holder));
        for holder in gone {
            let since = *self.unseen.entry(holder.clone()).or_insert(now);
            if now.saturating_duration_since(since) >= UNSEEN {
                self.guard.released.retain(|known| known != holder);
            }
        }
    }
}

// === impl Model ===

impl Model {
    /// Remembers, in every zone where an object leaves something, that it was let go; says whether that is written down.
    pub fn remember_released(&mut self, key: &Key) -> bool {
        let Some(entry) = self.records.get(key) else { return true };
        if self.record_sets_are_going {
            // Nothing may hold up a definition that goes, and perhaps that of DNSZones with it.
            return true;
        }
        let is_released = status::is_released(&*entry.object);
        let holder = holder_of(key).as_str().to_owned();
        let mut is_written = true;
        for zone in zones_of(entry) {
            if self.never_deletes(&zone) && !is_released {
                // What it leaves is as its owner wants it, until another policy deletes.
                continue;
            }
            let is_left = self.records.get(key).is_some_and(|entry| {
                entry.places.keys().any(|(place, _)| *place == zone)
                    || self.zones.get(&zone).is_none_or(|zone| !zone.is_surveyed())
            });
            is_written &= !is_left || self.remember_released_in(&zone, &holder);
        }
        is_written
    }

    fn remember_released_in(&mut self, zone: &ZoneKey, holder: &str) -> bool {
        let Some(entry) = self.zones.get_mut(zone) else {
            // There is no status: this process remembers it until the zone returns.
            add(self.adrift.entry(zone.clone()).or_default(), holder);
            return true;
        };
        if !entry.is_ours {
            return true;
        }
        add(&mut entry.guard.released, holder);
        if entry.has_written_down(holder) {
            return true;
        }
        self.report_zone(zone);
        false
    }

    /// Takes over what is remembered of a zone that returns.
    pub fn recall_released(&mut self, zone: &ZoneKey) {
        let Some(entry) = self.zones.get_mut(zone) else { return };
        for holder in self.adrift.remove(zone).into_iter().flatten() {
            add(&mut entry.guard.released, &holder);
        }
    }

    /// A DNSZone is gone, and its status with it.
    pub fn keep_released(&mut self, zone: &ZoneKey, released: Vec<String>) {
        if !released.is_empty() {
            let kept = self.adrift.entry(zone.clone()).or_default();
            released.iter().for_each(|holder| add(kept, holder));
        }
    }

    /// The status of a zone was written: objects that waited for that may go.
    pub fn release_remembered(&mut self, zone: &ZoneKey) {
        let released = self.zones.get(zone).map(|entry| entry.guard.released.clone());
        let keys = released.into_iter().flatten();
        let keys: Vec<Key> = match keys.clone().any(|holder| holder == ALL) {
            true => {
                self.records.iter().filter(|(_, it)| it.is_leaving()).map(|(key, _)| key.clone()).collect()
            }
            false => keys.filter_map(|holder| record_set_of(&Holder::from_text(&holder))).collect(),
        };
        keys.iter().for_each(|key| self.release_record(key));
    }
}

/// What objects that are going leave behind at these names.
pub fn retained(
    departing: &BTreeSet<(Name, Key)>,
    records: &BTreeMap<Key, RecordEntry>,
    zone: &Zone,
    is_in: impl Fn(&Name) -> bool,
) -> Vec<Retained> {
    let here = departing.iter().filter(|(name, _)| is_in(name));
    here.filter_map(|(name, key)| retained_by(records.get(key)?, zone, name, key)).collect()
}

fn retained_by(entry: &RecordEntry, zone: &Zone, name: &Name, key: &Key) -> Option<Retained> {
    let spec = &entry.object.spec;
    // A rename still cleans up.
    if !entry.is_retaining() || wanted_name(spec, &zone.domain)? != *name {
        return None;
    }
    let rtype = spec.rtype.parse().ok()?;
    let written = status::records_before(&entry.object, &zone.key);
    let texts = spec.values.iter().chain(written.iter().map(|record| &record.value));
    let values = texts.filter_map(|text| Rdata::parse(rtype, text).ok()).collect();
    Some(Retained { name: name.clone(), rtype, values, object: key.clone() })
}
