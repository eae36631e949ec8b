//! Zones are looked for at their provider, and each is worked on by one DNSZone only.

use kube::ResourceExt;
use std::time::Instant;
use zonekeeper_api::{GuardStatus, Reason, RecordSet, WrittenZone};
use zonekeeper_kernel::provider::ProviderError;
use zonekeeper_kernel::{
    guard::Window, holder::Holder, name::Name, rdata::RecordType, record::RecordId, zone::ZoneKey,
    zone_change::ZoneWish,
};

use crate::{
    clock::Now,
    conditions::Verdict,
    core::{Alarm, Model},
    declare,
    effects::Effect,
    records::wanted_name,
    transfer_key::NoKey,
    zone_entry::{Dirty, WorkerMemory, WorkerSetup, WorkerSlot, ZoneEntry, ZoneFacts},
    zones::{retry_after, verdict},
};

/// A look for a zone at its provider.
pub struct OpenRequest {
    pub zone: ZoneKey,
    pub attempt: u64,
    pub domain: Name,
    /// The id that the DNSZone names, if it does.
    pub id: Option<String>,
    /// What is wanted of the zone itself.
    pub wish: ZoneWish,
    pub provider: String,
    /// The try that opened the provider.
    pub provider_attempt: u64,
}

// === impl Model ===

impl Model {
    /// Looks for a zone at its provider, or goes on with the one that was found.
    pub fn open_zone(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        if !entry.is_ours {
            return;
        }
        let Some(provider) = entry.provider.clone() else { return };
        let Some(active) = self.active_provider(&provider) else {
            let verdict = self.provider_trouble(&provider);
            let was_found = self.zones.get(key).is_some_and(ZoneEntry::was_found);
            let keeps_place =
                was_found || verdict.is_reconciling() || verdict.reason == Reason::CredentialsInvalid;
            self.trouble_zone(key, verdict, keeps_place);
            return;
        };
        if let Some(first) = self.older_twin(key) {
            let message = format!("DNSZone {first} stands for the same zone; remove one of the two");
            self.trouble_zone(key, Verdict::new(Reason::DuplicateZone, message), false);
            return;
        }
        let transfer_key = match self.transfer_key(key) {
            Ok(transfer_key) => transfer_key,
            Err(NoKey::Unread) => return,
            Err(NoKey::Trouble(verdict)) => return self.trouble_zone(key, verdict, true),
        };
        let Some(entry) = self.zones.get_mut(key) else { return };
        let Some(zone) = &entry.zone else { return };
        if active.is_builtin() {
            self.effects.push(Effect::Declare(provider.clone(), entry.object.clone()));
        }
        if let Some(facts) = entry.worker.idle()
            && entry.attempt >= active.since
        {
            // The same access, perhaps with other settings: one changed object costs no call.
            let identity = entry.object.uid().unwrap_or_default();
            let (registry, limit) = (&active.registry, facts.comment_limit);
            match declare::zone_settings(&entry.object, registry, identity, limit, transfer_key) {
                Ok(settings) => {
                    entry.adjust_worker(settings);
                    entry.dirty = Dirty::Everything;
                    self.wake.insert(key.clone());
                }
                Err(bad) => {
                    let verdict = Verdict::new(Reason::InvalidValue, bad.to_string());
                    self.trouble_zone(key, verdict, true);
                }
            }
            return;
        }
        if entry.worker.is_busy() {
            // Done anew when the worker is back.
            entry.dirty = Dirty::Everything;
            entry.wants_opening = true;
            return;
        }
        self.attempts += 1;
        entry.attempt = self.attempts;
        entry.is_opening = true;
        self.effects.push(Effect::OpenZone(OpenRequest {
            zone: key.clone(),
            attempt: entry.attempt,
            domain: zone.domain.clone(),
            id: Some(entry.object.spec.zone_id.clone()).filter(|id| !id.is_empty()),
            wish: declare::zone_wish(&entry.object, transfer_key).unwrap_or_default(),
            provider_attempt: active.attempt,
            provider,
        }));
    }

    /// A zone was found at its provider, or not.
    pub fn zone_opened(&mut self, key: &ZoneKey, attempt: u64, found: Result<ZoneFacts, ProviderError>) {
        let Some(entry) = self.zones.get_mut(key).filter(|entry| entry.attempt == attempt) else { return };
        entry.is_opening = false;
        let Some(provider) = entry.provider.clone() else { return };
        let facts = match found {
            Ok(facts) => facts,
            Err(error) => {
                let verdict = verdict(&error);
                let keeps_place =
                    !matches!(error, ProviderError::ZoneNotFound { .. }) || entry.worker.facts().is_some();
                entry.failures += 1;
                // The next try looks for it again, whatever access is left from before.
                entry.attempt = 0;
                let wait = retry_after(&error, entry.failures);
                self.agenda.by(self.now.at + wait, Alarm::Open(key.clone()));
                if matches!(error, ProviderError::Credentials { .. }) {
                    self.doubt_provider(&provider);
                }
                self.trouble_zone(key, verdict, keeps_place);
                return;
            }
        };
        let Some(active) = self.active_provider(&provider) else { return };
        let transfer_key = match self.transfer_key(key) {
            Ok(transfer_key) => transfer_key,
            // It is opened anew with its Secret.
            Err(NoKey::Unread) => return,
            Err(NoKey::Trouble(verdict)) => return self.trouble_zone(key, verdict, true),
        };
        let Some(entry) = self.zones.get_mut(key) else { return };
        let identity = entry.object.uid().unwrap_or_default();
        let (registry, limit) = (&active.registry, facts.comment_limit);
        let settings = match declare::zone_settings(&entry.object, registry, identity, limit, transfer_key) {
            Ok(settings) => settings,
            Err(bad) => {
                self.trouble_zone(key, Verdict::new(Reason::InvalidValue, bad.to_string()), true);
                return;
            }
        };
        entry.failures = 0;
        entry.trouble = None;
        let is_same = entry.worker.facts().is_some_and(|before| before.id == facts.id);
        let mut memory = None;
        if !is_same {
            entry.survey = None;
            let domain = entry.zone.as_ref().map(|zone| &zone.domain);
            let records = self.records.values().map(|record| &*record.object);
            let known = domain.map(|domain| known_ids(records, key, &facts.id, domain).collect());
            let window = window_of(&entry.guard, self.now);
            let status = entry.object.status.as_ref();
            let initial = status.and_then(|status| status.zone.as_ref()).map(|zone| zone.initial.clone());
            let initial = initial.unwrap_or_default().into_iter().collect();
            memory = Some(WorkerMemory { window, known: known.unwrap_or_default(), initial });
        } else if let Some(before) = entry.setup.take() {
            // What was not set up yet is.
            memory = before.memory;
        }
        entry.setup = Some(WorkerSetup { attempt, settings, memory });
        entry.worker = WorkerSlot::Idle(facts);
        entry.dirty = Dirty::Everything;
        if let Some(zone) = entry.zone.clone() {
            self.index_zone(zone);
        }
        self.wake.insert(key.clone());
        self.ask_parent(key);
        self.reconsider_twins(key);
    }

    /// A pass ended without an answer, and its worker with it: the zone is taken up anew, after a pause that grows.
    pub fn pass_lost(&mut self, key: &ZoneKey, number: u64, error: &ProviderError) {
        let Some(entry) = self.zones.get_mut(key).filter(|entry| entry.pass == number) else { return };
        entry.begin_anew();
        self.effects.push(Effect::CloseZone(key.clone()));
        entry.lost += 1;
        // What has just failed fails again most of the time.
        let wait = retry_after(error, entry.lost + 3);
        self.agenda.by(self.now.at + wait, Alarm::Open(key.clone()));
        self.trouble_zone(key, verdict(error), true);
    }

    /// The older DNSZone for the same zone at the same provider.
    fn older_twin(&self, key: &ZoneKey) -> Option<ZoneKey> {
        let entry = self.zones.get(key)?;
        let (domain, provider) = (&entry.zone.as_ref()?.domain, entry.provider.as_ref()?);
        // Times have whole seconds; of two from the same second, the one at work goes on.
        let age =
            |entry: &ZoneEntry| (entry.object.creation_timestamp(), !entry.is_at_work(), entry.object.uid());
        let is_twin = |other: &ZoneEntry| {
            let is_same_domain = other.zone.as_ref().is_some_and(|zone| zone.domain == *domain);
            let is_same_id = entry.id_at_provider().is_some()
                && entry.id_at_provider() == other.id_at_provider()
                && self.is_same_place(provider, other.provider.as_deref());
            let is_same_name = other.is_ours
                && other.provider.as_ref() == Some(provider)
                && other.object.spec.zone_id == entry.object.spec.zone_id;
            is_same_domain && (is_same_name || is_same_id) && age(other) < age(entry)
        };
        let twins = self.zones.iter().filter(|(other, _)| *other != key);
        twins.filter(|(_, other)| is_twin(other)).map(|(other, _)| other.clone()).next()
    }

    /// Two DNSZones may turn out to stand for one zone.
    pub fn reconsider_twins(&mut self, key: &ZoneKey) {
        let keys: Vec<ZoneKey> = match self.zones.get(key).and_then(|entry| entry.zone.as_ref()) {
            Some(zone) => self
                .zones
                .iter()
                .filter(|(_, other)| other.zone.as_ref().is_some_and(|other| other.domain == zone.domain))
                .map(|(key, _)| key.clone())
                .collect(),
            None => Vec::new(),
        };
        let is_ours = |key: &ZoneKey| self.zones.get(key).is_some_and(|entry| entry.is_ours);
        let ours: Vec<ZoneKey> = keys.into_iter().filter(is_ours).collect();
        for key in ours {
            if let Some(first) = self.older_twin(&key) {
                let message = format!("DNSZone {first} stands for the same zone; remove one of the two");
                self.trouble_zone(&key, Verdict::new(Reason::DuplicateZone, message), false);
            }
        }
    }

    /// Zones that stood back for another may have their turn.
    pub fn reconsider_duplicates(&mut self) {
        let is_duplicate = |entry: &ZoneEntry| {
            entry.trouble.as_ref().is_some_and(|verdict| verdict.reason == Reason::DuplicateZone)
        };
        let waiting: Vec<ZoneKey> =
            self.zones.iter().filter(|(_, entry)| is_duplicate(entry)).map(|(key, _)| key.clone()).collect();
        waiting.iter().for_each(|key| self.consider_zone(key));
    }
}

/// What RecordSets' statuses remember of a zone: ids, each at the name and type under which it was written.
fn known_ids<'a>(
    records: impl Iterator<Item = &'a RecordSet> + 'a,
    key: &'a ZoneKey,
    id: &'a str,
    domain: &'a Name,
) -> impl Iterator<Item = (RecordId, (Name, RecordType), Holder)> + 'a {
    records.flat_map(move |record| {
        let holder = Holder::new("recordset", &record.namespace().unwrap_or_default(), &record.name_any());
        let zones = record.status.iter().flat_map(|status| &status.zones);
        let here = zones
            .filter(move |zone| zone.namespace == key.namespace && zone.name == key.name && zone.id == id);
        let ids = here.filter_map(|zone| Some((written_at(record, zone, domain)?, &zone.records)));
        let ids = ids.flat_map(|(place, records)| records.iter().map(move |record| (place.clone(), record)));
        ids.filter(|(_, record)| !record.id.is_empty())
            .map(|(place, record)| (RecordId(record.id.as_str().into()), place, holder.clone()))
            .collect::<Vec<_>>()
    })
}

/// The name and type under which records were written. A status of before does not say it: what the object asks for,
/// where it has not changed since.
fn written_at(object: &RecordSet, zone: &WrittenZone, domain: &Name) -> Option<(Name, RecordType)> {
    if let (Some(name), Some(rtype)) = (&zone.record_name, &zone.record_type) {
        return Some((Name::parse(name).ok()?, rtype.parse().ok()?));
    }
    let is_unchanged = object.status.as_ref()?.observed_generation == object.metadata.generation;
    let place = (wanted_name(&object.spec, domain)?, object.spec.rtype.parse().ok()?);
    is_unchanged.then_some(place)
}

/// The guard's window as a status remembers it, where it is not too long ago to say.
fn window_of(guard: &GuardStatus, now: Now) -> Option<(Instant, Window)> {
    let begun = now.instant_of(guard.window_start.as_ref()?)?;
    let window = Window {
        owned_at_start: guard.owned_at_start as usize,
        deletes: guard.deletes as usize,
        updates: guard.updates as usize,
        prunes: guard.prunes as usize,
        // What came in it is not remembered: it counts.
        ..Window::default()
    };
    Some((begun, window))
}
