//! Zones are woken by what touches them; a burst becomes one pass, and what a pass found is taken over.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use kube::ResourceExt;
use zonekeeper_api::{DNSZone, GoDuration, Reason, wellknown::RECONCILE_REQUESTED_AT};
use zonekeeper_kernel::provider::ProviderError;
use zonekeeper_kernel::{holder::Holder, name::Name, resolve::Intent, zone::ZoneKey};

use crate::{
    Key,
    conditions::Verdict,
    core::{Alarm, Model},
    effects::Effect,
    holders::record_set_of,
    pass::{PassRequest, PassResult, ZonePass},
    records::{PlaceState, RecordEntry},
    released::retained,
    status,
    zone_entry::{Dirty, Reads, Requester, Settling, WorkerSetup},
    zones::{retry_after, suspended, verdict},
};

/// When a burst is over, the whole zone is counted.
const CALM: Duration = Duration::from_millis(500);
/// And once in so long where a burst goes on.
const LONGEST_UNCOUNTED: Duration = Duration::from_secs(20);

/// A pass over a zone.
pub struct StartPass {
    pub zone: ZoneKey,
    pub number: u64,
    /// How the worker is to be set up first, where that has changed.
    pub setup: Option<WorkerSetup>,
    pub request: PassRequest,
}

// === impl Model ===

impl Model {
    /// Adds a wish to a zone.
    pub fn add_intent(&mut self, zone: &ZoneKey, name: Name, requester: &Requester, intent: Arc<Intent>) {
        let Some(entry) = self.zones.get_mut(zone) else { return };
        entry.wishes.entry(name.clone()).or_default().insert(requester.clone(), intent);
        if let Requester::RecordSet(key) = requester {
            entry.departing.remove(&(name.clone(), key.clone()));
        }
        entry.touch(name, self.now.at);
        self.wake.insert(zone.clone());
        // Why it can't be had is known already.
        let trouble = entry.trouble.clone().map(|trouble| match entry.is_suspended_over(&trouble) {
            true => suspended(zone),
            false => trouble,
        });
        if let Some(verdict) = trouble.filter(|verdict| verdict.reason != Reason::Pending) {
            self.note_trouble(zone, requester, &verdict.for_requesters());
        }
    }

    /// Notes why a wish can't be had now.
    pub fn note_trouble(&mut self, zone: &ZoneKey, requester: &Requester, verdict: &Verdict) {
        match requester {
            Requester::RecordSet(key) => {
                if let Some(record) = self.records.get_mut(key) {
                    let records = record
                        .states
                        .get(zone)
                        .map(|state| state.records.clone())
                        .unwrap_or_else(|| status::records_before(&record.object, zone));
                    let ttl = record.states.get(zone).and_then(|state| state.ttl);
                    let state = PlaceState { verdict: verdict.clone(), records, drift: None, ttl };
                    record.states.insert(zone.clone(), state);
                }
                self.report_record(key);
            }
            Requester::Source(reference, _) => self.note_source_trouble(reference, zone, verdict),
        }
    }

    /// Takes a wish away from a zone.
    pub fn remove_intent(&mut self, zone: &ZoneKey, name: &Name, requester: &Requester) {
        let Some(entry) = self.zones.get_mut(zone) else { return };
        if let Requester::RecordSet(key) = requester {
            entry.departing.remove(&(name.clone(), key.clone()));
        }
        if let Some(requesters) = entry.wishes.get_mut(name) {
            requesters.remove(requester);
            if requesters.is_empty() {
                entry.wishes.remove(name);
            }
        }
        self.look_again(zone, name.clone());
    }

    /// Has the next pass over a zone look at a name.
    pub fn look_again(&mut self, zone: &ZoneKey, name: Name) {
        if let Some(entry) = self.zones.get_mut(zone) {
            entry.touch(name, self.now.at);
            self.wake.insert(zone.clone());
        }
    }

    /// Notes that an object may hold something that it wishes no more.
    pub fn note_departing(&mut self, zone: &ZoneKey, name: &Name, key: &Key) {
        let Some(entry) = self.zones.get_mut(zone) else { return };
        if entry.worker.facts().is_none()
            && let Some(record) = self.records.get_mut(key)
            && !record.is_retaining()
            && status::records_before(&record.object, zone).is_empty()
        {
            // A zone that was never opened holds nothing, unless a status says so; what that forgot, the marker tells.
            record.places.remove(&(zone.clone(), name.clone()));
            return;
        }
        entry.departing.insert((name.clone(), key.clone()));
        entry.touch(name.clone(), self.now.at);
        self.wake.insert(zone.clone());
    }

    /// The same, found by a pass: it is looked at again only if that is news.
    pub fn find_departing(&mut self, zone: &ZoneKey, name: &Name, key: &Key) {
        let place = (name.clone(), key.clone());
        if self.zones.get(zone).is_some_and(|entry| !entry.departing.contains(&place)) {
            self.note_departing(zone, name, key);
        }
    }

    /// Starts the passes that may start.
    pub fn dispatch(&mut self) {
        if self.is_ending {
            return;
        }
        self.publish_stale();
        let now = self.now.at;
        for key in std::mem::take(&mut self.wake) {
            let Some(entry) = self.zones.get_mut(&key) else { continue };
            if entry.pacing.ready_at() > now {
                self.agenda.by(entry.pacing.ready_at(), Alarm::Zone(key));
                continue;
            }
            self.start_pass(&key);
        }
    }

    /// Starts a pass over a zone, unless there is nothing to do or it can't start now.
    pub fn start_pass(&mut self, key: &ZoneKey) {
        let (read_only, approval) = (self.why_read_only(key), self.approval_of(key));
        let Some(entry) = self.zones.get_mut(key) else { return };
        let Some(zone) = entry.zone.clone() else { return };
        let is_blocked = entry.trouble.is_some() || entry.is_opening || entry.awaits.is_some();
        if entry.dirty.is_clean() || is_blocked || !entry.is_ours {
            return;
        }
        if entry.object.spec.suspend && !entry.is_leaving() {
            self.tell_suspended(key);
            return;
        }
        if entry.reading.as_ref().is_some_and(|reading| self.sources.is_starting(reading)) {
            // What is there is not known yet; the zone is woken when it is.
            return;
        }
        if entry.lacks_finalizer() {
            // Nothing is written that would not be cleaned up; the zone comes back with its finalizer.
            self.release_zone(key);
            return;
        }
        // With another pass, or not found yet; it looks again when it is back.
        if !entry.worker.take() {
            return;
        }
        self.attempts += 1;
        let number = self.attempts;
        entry.pass = number;
        entry.requested = entry.object.annotations().get(RECONCILE_REQUESTED_AT).cloned();
        let first = entry.survey.is_none();
        let names = match std::mem::take(&mut entry.dirty) {
            Dirty::Names(mut names) if !first && !entry.has_held => {
                // What has settled is judged in one pass.
                let settled = entry.settling.iter().filter(|settling| settling.due <= self.now.at);
                names.extend(settled.flat_map(|settling| settling.names.iter().cloned()));
                Some(names)
            }
            Dirty::Names(_) | Dirty::Everything => None,
        };
        let is_in = |name: &Name| names.as_ref().is_none_or(|names| names.contains(name));
        let wishes: Vec<(Name, Arc<Intent>)> = entry
            .wishes
            .iter()
            .filter(|(name, _)| is_in(name))
            .flat_map(|(name, objects)| objects.values().map(|intent| (name.clone(), intent.clone())))
            .collect();
        let settled = match first {
            true => settled_before(&wishes, &self.records, (key, &entry.object)),
            false => BTreeSet::new(),
        };
        let retained = retained(&entry.departing, &self.records, &zone, is_in);
        let request = PassRequest {
            zone,
            wishes,
            reserved: entry.reserved(is_in),
            departing: entry.departing.iter().filter(|(name, _)| is_in(name)).cloned().collect(),
            names,
            settled,
            approval,
            read_only,
            confirmed: entry.confirmed_at(self.now.at),
            saved: entry.saved.clone(),
            scans: std::mem::take(&mut entry.wants_scan),
            parent_ds: entry.delegation.ds(self.now.at),
            settles_anew: std::mem::take(&mut entry.settles_anew),
            released: entry.guard.released.clone(),
            retained,
        };
        let reads = if first || request.scans { Reads::Zone } else { Reads::Nothing };
        entry.begun = Some((self.now.at, reads));
        entry.serving.clone_from(&request.names);
        let start = StartPass { zone: key.clone(), number, setup: entry.setup.take(), request };
        self.effects.push(Effect::StartPass(Box::new(start)));
    }

    /// A pass is over.
    pub fn pass_done(
        &mut self,
        key: &ZoneKey,
        number: u64,
        result: Result<PassResult, ProviderError>,
        settling: Option<Settling>,
    ) {
        // What became of a DNSZone before it came again, or before it changed hands, is not about this one.
        let Some(entry) = self.zones.get_mut(key).filter(|entry| entry.pass == number) else { return };
        entry.pass = 0;
        entry.worker.put_back();
        entry.settling = settling;
        entry.lost = 0;
        let now = self.now.at;
        if !matches!(result, Ok(PassResult::Interrupted { .. })) {
            entry.forget_needs();
        }
        match result {
            Ok(PassResult::Interrupted { applied, needs }) => {
                return self.pass_interrupted(key, number, applied, needs);
            }
            Ok(PassResult::Done(pass)) => {
                if pass.failure.is_none() {
                    entry.failures = 0;
                }
                self.take_over(key, *pass);
            }
            Err(error) => return self.pass_failed(key, error),
        }
        let Some(entry) = self.zones.get_mut(key) else { return };
        match &entry.settling {
            Some(settling) => self.agenda.at(settling.due, Alarm::Settled(key.clone())),
            None => self.agenda.cancel(&Alarm::Settled(key.clone())),
        }
        let served = entry.serving.as_ref().map_or(0, BTreeSet::len);
        entry.pacing.ended(now, served, !entry.dirty.is_clean());
        if self.is_bursting {
            entry.pacing.expect_more(now);
        }
        if !entry.dirty.is_clean() {
            self.wake.insert(key.clone());
        }
        self.reopen_if_stale(key);
    }

    /// A pass did not get through.
    pub fn pass_failed(&mut self, key: &ZoneKey, error: ProviderError) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        let now = self.now.at;
        entry.failures += 1;
        // Who waits for the budget waits with what it asked for, and no more.
        let is_waiting = matches!(error, ProviderError::RateLimited { .. }) && entry.is_surveyed();
        let concerned = entry.serving.take().filter(|_| is_waiting);
        entry.dirty.join(concerned.clone());
        let wait = retry_after(&error, entry.failures);
        entry.pacing.wait_until(now + wait);
        self.agenda.by(now + wait, Alarm::Zone(key.clone()));
        if matches!(error, ProviderError::ZoneNotFound { .. }) {
            // It may be there as another one: it is looked for.
            entry.attempt = 0;
        }
        let is_told = entry.failures > 1 || !matches!(error, ProviderError::Unavailable { .. });
        if matches!(error, ProviderError::Credentials { .. })
            && let Some(provider) = entry.provider.clone()
        {
            self.doubt_provider(&provider);
        }
        if is_told {
            let verdict = verdict(&error);
            match is_waiting && concerned.is_none() {
                true => self.tell_unserved(key, &verdict),
                false => self.tell_requesters(key, &verdict, concerned.as_ref()),
            }
            if let Some(entry) = self.zones.get_mut(key) {
                entry.last_pass_error = Some(verdict);
            }
            self.report_zone(key);
        }
        self.reopen_if_stale(key);
    }

    /// Tells those who do not have what they asked for why they wait.
    fn tell_unserved(&mut self, key: &ZoneKey, verdict: &Verdict) {
        let Some(entry) = self.zones.get(key) else { return };
        let is_unserved = |requester: &&Requester| match requester {
            Requester::RecordSet(record) => self
                .records
                .get(record)
                .is_some_and(|record| record.states.get(key).is_none_or(|state| !state.verdict.is_ready())),
            Requester::Source(_, _) => false,
        };
        let requesters = entry.wishes.values().flat_map(|requesters| requesters.keys());
        let unserved: Vec<Requester> = requesters.filter(is_unserved).cloned().collect();
        unserved.iter().for_each(|requester| self.note_trouble(key, requester, verdict));
    }

    /// Opens a zone anew that changed, or whose provider did, while its worker was away, whatever became of that pass.
    fn reopen_if_stale(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        let has_changed = std::mem::take(&mut entry.wants_opening);
        let (attempt, provider) = (entry.attempt, entry.provider.clone());
        let active = provider.and_then(|provider| self.active_provider(&provider));
        if has_changed || active.is_some_and(|active| attempt < active.since) {
            self.open_zone(key);
        }
    }

    fn take_over(&mut self, key: &ZoneKey, pass: ZonePass) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        let now = self.now.at;
        entry.last_pass_error = pass.failure.as_ref().map(verdict);
        entry.note_applied(&pass.applied, self.now);
        entry.note_zone_applied(&pass.zone_applied, self.now);
        entry.is_zone_gone |= pass.is_zone_gone;
        let was_held = std::mem::replace(&mut entry.has_held, pass.has_held);
        let is_partial = pass.survey.is_none();
        if let Some(survey) = pass.survey {
            let is_open = |hash: &String| *hash == survey.outstanding.plan.hash;
            let was_looked_at = pass.failure.is_none() && survey.read_only.is_none();
            // What settles may be what was approved: after a restart it is not judged yet.
            let is_judged = was_looked_at && entry.settling.is_none();
            if is_judged && !entry.guard.pending_approval.as_ref().is_some_and(is_open) {
                entry.use_up_approval();
            }
            if was_looked_at {
                entry.settle_reading(&survey);
                entry.forget_released(&survey.gone, now);
            }
            if was_looked_at && entry.begun.is_some_and(|(_, reads)| reads == Reads::Zone) {
                entry.read = Some(self.now.time());
            }
            // A zone that was created is opened under its id.
            let id = survey.zone.state.as_ref().map(|state| state.id.clone());
            let is_new = |id: &String| entry.worker.facts().is_some_and(|facts| facts.id != *id);
            if id.as_ref().is_some_and(is_new) {
                (entry.attempt, entry.wants_opening) = (0, true);
            }
            entry.survey = Some(survey);
            entry.history.show();
            entry.counted = now;
            entry.handled.clone_from(&entry.requested);
        } else if pass.has_held || was_held {
            entry.dirty = Dirty::Everything;
        } else {
            self.agenda.at(now + CALM, Alarm::Count(key.clone()));
        }
        entry.settle_pending(pass.failure.is_some() || pass.retry.is_some());
        if let Some(error) = &pass.failure {
            entry.failures += 1;
            let wait = pass.retry.unwrap_or_else(|| retry_after(error, entry.failures + 3));
            self.agenda.by(now + wait, Alarm::Again(key.clone()));
            if matches!(error, ProviderError::ZoneNotFound { .. }) {
                // It may be there as another one: it is looked for.
                entry.attempt = 0;
            }
            if matches!(error, ProviderError::Credentials { .. })
                && let Some(provider) = entry.provider.clone()
            {
                self.doubt_provider(&provider);
            }
        } else if let Some(retry) = pass.retry {
            self.agenda.by(now + retry.max(Duration::from_secs(1)), Alarm::Again(key.clone()));
        }
        self.tell_changes(key, &pass.applied);
        self.tell_zone_changes(key, &pass.zone_applied);
        if !pass.zone_applied.is_empty() {
            self.agenda.at(now, Alarm::Parent(key.clone()));
        }
        for state in pass.states {
            self.note_intent(key, state);
        }
        for (name, rtype) in pass.cut_comments {
            self.tell_cut_comment(key, &name, rtype);
        }
        for left in pass.left {
            match left.why {
                None => self.note_left_clean(key, left.name, &left.object),
                Some(why) => self.note_left(key, left.name, &left.object, why),
            }
            self.release_record(&left.object);
        }
        if !is_partial {
            self.schedule_scan(key);
            self.release_waiting(key);
        }
        self.report_zone(key);
        self.release_zone(key);
        self.consider_marker_key(key);
    }

    /// Sets the time of a zone's next scan, unless it is set; later than asked for where the budget is small.
    fn schedule_scan(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get(key) else { return };
        let (asked, provider) = (entry.interval(), entry.provider.clone());
        let needed = provider.map(|provider| self.shortest_interval(&provider)).unwrap_or_default();
        let Some(entry) = self.zones.get_mut(key) else { return };
        entry.effective_interval =
            (needed > asked).then(|| GoDuration::from(&*format!("{}s", needed.as_secs() + 1)));
        self.agenda.by(self.now.at + asked.max(needed), Alarm::Scan(key.clone()));
    }

    /// How often all zones of a provider can be scanned with half of its budget.
    fn shortest_interval(&self, provider: &str) -> Duration {
        let Some(limit) = self.providers.get(provider).map(|entry| &entry.object.spec.rate_limit) else {
            return Duration::ZERO;
        };
        let calls: usize = self
            .zones
            .values()
            .filter(|entry| entry.provider.as_deref() == Some(provider))
            .map(|entry| entry.survey.as_ref().map_or(1, |survey| survey.calls_to_list))
            .sum();
        let window = limit.window.to_std().unwrap_or_default();
        window.mul_f64(calls as f64 / (f64::from(limit.requests) / 2.0).max(1.0))
    }

    /// A suspended zone is left alone, and everybody knows.
    fn tell_suspended(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        entry.dirty = Dirty::Everything;
        (entry.settling, entry.settles_anew) = (None, true);
        self.tell_requesters(key, &suspended(key), None);
        self.report_zone(key);
    }

    /// An alarm of a zone is due.
    pub fn scan_zone(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        entry.wants_scan = true;
        entry.dirty = Dirty::Everything;
        self.wake.insert(key.clone());
    }

    /// No further delete came to a zone for a while: those that came are judged. A pass that is under way sets this
    /// alarm again when it is over.
    pub fn judge_settled(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        if entry.worker.is_busy() {
            return;
        }
        let names = entry.settling.iter().flat_map(|settling| settling.names.iter().cloned());
        names.for_each(|name| entry.dirty.add(name));
        self.wake.insert(key.clone());
    }

    /// Counts a zone, unless it is about to be looked at for what came meanwhile; then it is counted after that, or
    /// when that has gone on for long.
    pub fn count_zone(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get(key) else { return };
        let is_changing = entry.worker.is_busy() || !entry.dirty.is_clean();
        match is_changing && self.now.at - entry.counted < LONGEST_UNCOUNTED {
            true => self.agenda.at(self.now.at + CALM, Alarm::Count(key.clone())),
            false => self.look_at_all(key),
        }
    }

    /// Looks at the whole zone as it is known.
    pub fn look_at_all(&mut self, key: &ZoneKey) {
        if let Some(entry) = self.zones.get_mut(key) {
            entry.dirty = Dirty::Everything;
            self.wake.insert(key.clone());
        }
    }
}

/// Objects whose present wish was applied before this process began.
fn settled_before(
    wishes: &[(Name, Arc<Intent>)],
    records: &BTreeMap<Key, RecordEntry>,
    (key, zone): (&ZoneKey, &DNSZone),
) -> BTreeSet<Holder> {
    let is_same_zone =
        zone.status.as_ref().is_some_and(|status| status.observed_generation == zone.metadata.generation);
    if !is_same_zone {
        return BTreeSet::new();
    }
    let is_settled = |intent: &Intent| {
        let record = record_set_of(&intent.holder).and_then(|key| records.get(&key));
        record.is_some_and(|record| {
            record.has_drifted() || (record.was_programmed() && was_written(intent, record, key))
        })
    };
    let settled = wishes.iter().filter(|(_, intent)| is_settled(intent));
    settled.map(|(_, intent)| intent.holder.clone()).collect()
}

/// Whether a status says that the values of a wish were written: those of an AddressSource may be others by now.
fn was_written(intent: &Intent, record: &RecordEntry, zone: &ZoneKey) -> bool {
    let Some(wanted) = &intent.values else { return false };
    let wanted: BTreeSet<String> = wanted.iter().map(ToString::to_string).collect();
    let written = status::records_before(&record.object, zone);
    written.into_iter().map(|record| record.value).collect::<BTreeSet<_>>() == wanted
}
