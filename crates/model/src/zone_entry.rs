//! What the model knows of one DNSZone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use data_encoding::HEXLOWER;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use sha2::{Digest, Sha256};
use std::time::Instant;
use zonekeeper_api::{
    DNSZone, DeletionPolicy, GoDuration, GuardStatus, Reason,
    wellknown::{APPROVE_PLAN, APPROVED_BY, ZONE_FINALIZER},
};
use zonekeeper_kernel::{
    guard::{Approval, Window},
    holder::Holder,
    name::Name,
    rdata::RecordType,
    record::RecordId,
    resolve::Intent,
    zone::Zone,
    zone_change::{Fields, ZoneChange},
};
use zonekeeper_sources::{Reading, object::ObjectRef};

use crate::{
    Key,
    clock::Now,
    conditions::Verdict,
    confirmation::Confirmed,
    delegation::Delegation,
    history::{GivenApproval, History},
    outbox::StatusOutbox,
    pacing::Pacing,
    pass::{Applied, Reserved, Survey},
    small_map::SmallMap,
    status,
    worker::{GuardRecord, Settings},
};

const INTERVAL: Duration = Duration::from_secs(60);
/// How long what is known of holders counts as fresh.
const FRESH: Duration = Duration::from_secs(5);
/// How many used approvals are remembered.
const MOST_APPROVALS: usize = 50;

/// A DNSZone and what is known of it.
pub struct ZoneEntry {
    pub object: Arc<DNSZone>,
    /// Whether this release takes care of it.
    pub is_ours: bool,
    /// In the kernel's terms, where it can be read.
    pub zone: Option<Zone>,
    pub provider: Option<String>,
    /// How it reads source objects.
    pub reading: Option<Arc<Reading>>,
    /// Why some of what it reads can't be read.
    pub source_trouble: Option<Verdict>,
    /// Why it can't be worked on.
    pub trouble: Option<Verdict>,
    /// Why the last pass over it did not get through.
    pub last_pass_error: Option<Verdict>,
    pub worker: WorkerSlot,
    /// How the worker is to be set up when the next pass begins.
    pub setup: Option<WorkerSetup>,
    /// Deletes that settle in it.
    pub settling: Option<Settling>,
    /// Whether deletes are to settle anew: nothing was looked at for a while.
    pub settles_anew: bool,
    /// The search for it at its provider that counts; 0 where that found nothing.
    pub attempt: u64,
    /// Whether that search is under way: no pass begins with an access that is about to be replaced.
    pub is_opening: bool,
    /// Whether it was to be opened while its worker was away: it may be another object by now, or have other settings.
    pub wants_opening: bool,
    /// The pass that counts; 0 where there is none.
    pub pass: u64,
    pub wishes: BTreeMap<Name, SmallMap<Requester, Arc<Intent>>>,
    /// Who may hold something at a name, and wishes it no more.
    pub departing: BTreeSet<(Name, Key)>,
    /// Sets of which some values belong to objects that can't be served now.
    pub unmet: BTreeMap<Key, (Name, RecordType)>,
    pub dirty: Dirty,
    /// Names that were touched since the holders at them were asked about: the answer may be older than what touched them.
    pub touched: BTreeSet<Name>,
    pub pacing: Pacing,
    /// The names that the pass under way, or the last one, is for; none for all.
    pub serving: Option<BTreeSet<Name>>,
    pub failures: u32,
    /// Passes in a row that ended without an answer.
    pub lost: u32,
    pub has_held: bool,
    /// What the last look at the whole zone showed.
    pub survey: Option<Survey>,
    /// When that was.
    pub counted: Instant,
    pub guard: GuardStatus,
    /// Since when no record was seen of objects that were let go.
    pub unseen: BTreeMap<String, Instant>,
    /// How often it is scanned where the request budget stretches the interval.
    pub effective_interval: Option<GoDuration>,
    pub synced: Option<Time>,
    pub history: History,
    /// When it was last read and compared without an error.
    pub read: Option<Time>,
    /// When the pass under way, or the last one, began, and whether it reads the zone.
    pub begun: Option<(Instant, Reads)>,
    /// Since when something is to be done that is neither done nor held.
    pub pending_since: Option<Instant>,
    pub handled: Option<String>,
    /// What was requested when the pass under way, or the last one, began.
    pub requested: Option<String>,
    /// Whether the next pass reads the zone.
    pub wants_scan: bool,
    pub outbox: StatusOutbox,
    /// What the servers of its parent zone answer for it.
    pub delegation: Delegation,
    /// Whether the zone itself is gone from its provider, as its object asked.
    pub is_zone_gone: bool,
    /// Who says that something is held as soon as the status of the zone has the hash that releases it.
    pub tells_later: BTreeSet<Requester>,
    /// What the pass that was interrupted waits for.
    pub awaits: Option<Awaits>,
    /// What it got so far: what is known of holders, and since when.
    pub confirmed: Option<(Instant, Arc<Confirmed>)>,
    /// And what stands in the status of the guard's memory.
    pub saved: Option<GuardRecord>,
}

/// What an interrupted pass waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaits {
    /// The holders that the pass of this number asked about.
    Confirmation(u64),
    /// This memory of the guard in the zone's status.
    Saving(GuardRecord),
}

/// Whether a pass reads its zone, or knows it from before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    Zone,
    Nothing,
}

/// Who wishes something of a zone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requester {
    RecordSet(Key),
    /// A source object, for one of its sets.
    Source(ObjectRef, RecordType),
}

/// Whether a zone is open at its provider, and whether a pass is under way.
#[derive(Debug, Default)]
pub enum WorkerSlot {
    /// It was not found yet.
    #[default]
    Closed,
    Idle(ZoneFacts),
    /// With a pass.
    Busy(ZoneFacts),
}

/// What is known of a zone that was found at its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneFacts {
    pub id: String,
    pub name_servers: Vec<String>,
    /// How many bytes a record's comment may have; none where there are no comments.
    pub comment_limit: Option<usize>,
}

/// How a zone's worker is set up before a pass.
#[derive(Debug, Clone)]
pub struct WorkerSetup {
    /// The search that found the zone.
    pub attempt: u64,
    pub settings: Settings,
    /// For a worker that begins anew.
    pub memory: Option<WorkerMemory>,
}

/// What a worker that begins anew is given.
#[derive(Debug, Clone)]
pub struct WorkerMemory {
    /// The guard's window, and when it began.
    pub window: Option<(Instant, Window)>,
    /// Records that statuses know by their id.
    pub known: Vec<(RecordId, (Name, RecordType), Holder)>,
    /// The values that fields of the zone had before they were managed.
    pub initial: Fields,
}

/// Deletes that settle in a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settling {
    /// When they are to be judged.
    pub due: Instant,
    pub names: BTreeSet<Name>,
}

/// What must be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dirty {
    Names(BTreeSet<Name>),
    Everything,
}

// === impl WorkerSlot ===

impl WorkerSlot {
    /// Takes the worker for a pass; says whether it was there.
    pub fn take(&mut self) -> bool {
        match std::mem::take(self) {
            Self::Idle(facts) => {
                *self = Self::Busy(facts);
                true
            }
            other => {
                *self = other;
                false
            }
        }
    }

    /// The worker is back.
    pub fn put_back(&mut self) {
        *self = match std::mem::take(self) {
            Self::Busy(facts) | Self::Idle(facts) => Self::Idle(facts),
            Self::Closed => Self::Closed,
        };
    }

    /// What is known of the zone, where it is open and no pass is under way.
    pub fn idle(&self) -> Option<&ZoneFacts> {
        match self {
            Self::Idle(facts) => Some(facts),
            Self::Closed | Self::Busy(_) => None,
        }
    }

    /// What is known of the zone, where it is open.
    pub fn facts(&self) -> Option<&ZoneFacts> {
        match self {
            Self::Idle(facts) | Self::Busy(facts) => Some(facts),
            Self::Closed => None,
        }
    }

    /// Whether a pass is under way.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy(_))
    }
}

// === impl Dirty ===

impl Dirty {
    /// Whether there is nothing.
    pub fn is_clean(&self) -> bool {
        matches!(self, Self::Names(names) if names.is_empty())
    }

    /// Adds names, or all.
    pub fn join(&mut self, names: Option<BTreeSet<Name>>) {
        match (&mut *self, names) {
            (Self::Names(known), Some(names)) => known.extend(names),
            (_, None) => *self = Self::Everything,
            (Self::Everything, Some(_)) => {}
        }
    }

    /// Adds a name.
    pub fn add(&mut self, name: Name) {
        if let Self::Names(names) = self {
            names.insert(name);
        }
    }
}

impl Default for Dirty {
    fn default() -> Self {
        Self::Names(BTreeSet::new())
    }
}

// === impl ZoneEntry ===

impl ZoneEntry {
    /// The sets at these names that objects ask for and can't have now.
    pub fn reserved(&self, is_in: impl Fn(&Name) -> bool) -> Vec<Reserved> {
        let here = self.unmet.iter().filter(|(_, (name, _))| is_in(name));
        here.map(|((namespace, _), (name, rtype))| Reserved {
            name: name.clone(),
            rtype: *rtype,
            namespace: namespace.clone(),
        })
        .collect()
    }

    /// A zone of which nothing is known but what its status says.
    pub fn new(object: Arc<DNSZone>, now: Instant) -> Self {
        let status = object.status.clone().unwrap_or_default();
        Self {
            outbox: StatusOutbox::new(object.status.as_ref(), &status.conditions),
            delegation: Delegation::recall(status.delegation.as_ref()),
            is_zone_gone: false,
            guard: status.guard.unwrap_or_default(),
            unseen: BTreeMap::new(),
            effective_interval: None,
            synced: status.last_sync_time,
            history: History::recalled(status.history),
            read: None,
            begun: None,
            pending_since: None,
            handled: status.last_handled_reconcile_at,
            requested: None,
            wants_scan: false,
            object,
            is_ours: false,
            zone: None,
            provider: None,
            reading: None,
            source_trouble: None,
            trouble: None,
            last_pass_error: None,
            worker: WorkerSlot::Closed,
            setup: None,
            settling: None,
            settles_anew: false,
            attempt: 0,
            is_opening: false,
            wants_opening: false,
            pass: 0,
            wishes: BTreeMap::new(),
            departing: BTreeSet::new(),
            unmet: BTreeMap::new(),
            dirty: Dirty::Everything,
            touched: BTreeSet::new(),
            pacing: Pacing::new(now),
            serving: None,
            failures: 0,
            lost: 0,
            has_held: false,
            survey: None,
            counted: now,
            tells_later: BTreeSet::new(),
            awaits: None,
            confirmed: None,
            saved: None,
        }
    }

    /// Whether a message that is about to be written names a hash that the zone's status does not show yet.
    pub fn lacks_hash_in(&self, verdict: &Verdict) -> bool {
        let plan = self.object.status.as_ref().and_then(|status| status.plan.as_ref());
        let is_there = plan.is_some_and(|plan| !plan.hash.is_empty() && verdict.message.contains(&plan.hash));
        verdict.reason == Reason::Held && !is_there && !self.outbox.is_held_back()
    }

    /// Takes over what another release has written down of it.
    pub fn recall_status(&mut self) {
        let status = self.object.status.clone().unwrap_or_default();
        self.guard = status.guard.unwrap_or_default();
        self.synced = status.last_sync_time;
        self.history = History::recalled(status.history);
        self.handled = status.last_handled_reconcile_at;
    }

    /// Forgets what was read and found; a pass that is under way does not count any more, and what waits for it ends.
    pub fn begin_anew(&mut self) {
        (self.worker, self.attempt, self.pass) = (WorkerSlot::Closed, 0, 0);
        (self.setup, self.settling, self.settles_anew) = (None, None, false);
        (self.is_opening, self.wants_opening) = (false, false);
        (self.survey, self.has_held, self.dirty) = (None, false, Dirty::Everything);
        self.forget_needs();
    }

    /// Forgets what an interrupted pass waits for, and what it got.
    pub fn forget_needs(&mut self) {
        (self.awaits, self.confirmed, self.saved) = (None, None, None);
        // They are looked at once more, with an answer of that time.
        self.dirty.join(Some(std::mem::take(&mut self.touched)));
    }

    /// What is known of holders, as far as it is fresh.
    pub fn confirmed_at(&self, now: Instant) -> Arc<Confirmed> {
        let fresh = self.confirmed.as_ref().filter(|(at, _)| now - *at < FRESH);
        fresh.map(|(_, confirmed)| confirmed.clone()).unwrap_or_default()
    }

    /// Works by other settings from the next pass on.
    pub fn adjust_worker(&mut self, settings: Settings) {
        let memory = self.setup.take().and_then(|setup| setup.memory);
        self.setup = Some(WorkerSetup { attempt: self.attempt, settings, memory });
    }

    /// Whether it is being deleted.
    pub fn is_leaving(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Whether it is suspended, so that trouble which only matters to its work is not worth a word.
    pub fn is_suspended_over(&self, trouble: &Verdict) -> bool {
        let is_of_work = trouble.is_reconciling()
            || matches!(
                trouble.reason,
                Reason::CredentialsInvalid | Reason::ZoneNotFound | Reason::InternalError
            );
        self.object.spec.suspend && !self.is_leaving() && is_of_work
    }

    /// How often it is scanned.
    pub fn interval(&self) -> Duration {
        self.object.spec.interval.to_std().unwrap_or(INTERVAL)
    }

    /// Whether it was looked at as a whole since this process began.
    pub fn is_surveyed(&self) -> bool {
        self.survey.is_some()
    }

    /// Whether it was found at its provider, now or before.
    pub fn was_found(&self) -> bool {
        self.worker.facts().is_some()
            || self.object.status.as_ref().is_some_and(|status| status.zone_id.is_some())
    }

    /// Its id at its provider, where that is known; what another release knows of its own stands in the status.
    pub fn id_at_provider(&self) -> Option<&str> {
        // A zone that is to be created has none yet.
        let known = self.worker.facts().map(|facts| facts.id.as_str()).filter(|id| !id.is_empty());
        known.or_else(|| self.object.status.as_ref()?.zone_id.as_deref())
    }

    /// Whether it is worked on, by us or by another release.
    pub fn is_at_work(&self) -> bool {
        let told =
            match self.is_ours {
                true => self.outbox.told.as_ref().map(|verdict| verdict.reason),
                false => self.object.status.as_ref().and_then(|status| {
                    status::ready_verdict(&status.conditions).map(|verdict| verdict.reason)
                }),
            };
        self.was_found() && told.is_some_and(|reason| reason != Reason::DuplicateZone)
    }

    /// Whether it waits for us before it goes.
    pub fn has_finalizer(&self) -> bool {
        self.object.finalizers().iter().any(|finalizer| finalizer == ZONE_FINALIZER)
    }

    /// Whether the zone itself is to go from its provider before its object does.
    pub fn is_to_be_deleted(&self) -> bool {
        let is_missing = self.trouble.as_ref().is_some_and(|trouble| trouble.reason == Reason::ZoneNotFound);
        self.deletes_zone() && self.was_found() && !self.is_zone_gone && !is_missing
    }

    /// Whether its deletion is one of the zone itself.
    fn deletes_zone(&self) -> bool {
        self.object.spec.lifecycle.deletion_policy == DeletionPolicy::Delete
    }

    /// Whether something depends on it.
    pub fn is_needed(&self) -> bool {
        !self.wishes.is_empty() || !self.departing.is_empty()
    }

    /// Whether it must wait for us before it goes, and does not yet.
    pub fn lacks_finalizer(&self) -> bool {
        (self.is_needed() || self.deletes_zone())
            && !self.is_leaving()
            && !self.has_finalizer()
            && self.was_found()
    }

    /// Has the next pass look at a name.
    pub fn touch(&mut self, name: Name, now: Instant) {
        if self.awaits.is_some() || self.confirmed.is_some() {
            self.touched.insert(name.clone());
        }
        self.dirty.add(name);
        self.pacing.touched(now);
        self.pending_since.get_or_insert(now);
    }

    /// What was approved is carried out: its hash does not work again.
    pub fn use_up_approval(&mut self) {
        self.guard.used_approvals.extend(self.guard.pending_approval.take());
        let excess = self.guard.used_approvals.len().saturating_sub(MOST_APPROVALS);
        self.guard.used_approvals.drain(..excess);
    }

    /// Whether names may be there that were read in another way: no object asks for them, and none has given them up. Of a
    /// zone that is new to us, the way is not known.
    pub fn has_names_of_another_reading(&self) -> bool {
        self.guard.reading.is_empty() || self.guard.reading != self.reading_digest()
    }

    /// Notes that no names of another reading are left, where a survey shows that.
    pub fn settle_reading(&mut self, survey: &Survey) {
        let is_current = self.zone.as_ref().is_some_and(|zone| zone.sources == survey.sources);
        if is_current && !survey.has_unread_names {
            self.guard.reading = self.reading_digest();
        }
    }

    fn reading_digest(&self) -> String {
        let Some(reading) = &self.reading else { return String::new() };
        HEXLOWER.encode(&Sha256::digest(reading.key().0.as_bytes())[..8])
    }

    /// A pass is over: what came since it began is pending, and what it left undone stays so.
    pub fn settle_pending(&mut self, is_unfinished: bool) {
        if is_unfinished {
            return;
        }
        let begun = self.begun.map(|(begun, _)| begun);
        self.pending_since = begun.filter(|_| !self.dirty.is_clean());
    }

    /// Notes changes that were made. The status lists them with the time of the last write, which it says once a second at
    /// most, and after every look at the whole zone: a burst costs no write of its own.
    pub fn note_applied(&mut self, applied: &[Applied], now: Now) {
        if applied.is_empty() {
            return;
        }
        let time = now.time();
        let approval = self.given_approval();
        self.history.note(applied, &time, approval.as_ref());
        if self.synced.as_ref() != Some(&time) {
            self.history.show();
        }
        self.synced = Some(time);
    }

    /// Notes changes of the zone itself that were made.
    pub fn note_zone_applied(&mut self, applied: &[ZoneChange], now: Now) {
        if applied.is_empty() {
            return;
        }
        let time = now.time();
        self.history.note_zone(&self.object.spec.domain, applied, &time, self.given_approval().as_ref());
        self.history.show();
        self.synced = Some(time);
    }

    /// The approval that is being carried out, and who gave it where the annotation beside it says so.
    pub fn given_approval(&self) -> Option<GivenApproval> {
        let annotations = self.object.annotations();
        let hash = self.guard.pending_approval.as_ref().or_else(|| annotations.get(APPROVE_PLAN))?;
        let said = annotations.get(APPROVED_BY).and_then(|text| text.split_once(' '));
        let approver = said.filter(|(approved, _)| approved == hash).map(|(_, name)| name.to_owned());
        Some(GivenApproval { hash: hash.clone(), approver })
    }

    /// What a person has approved and was not carried out yet.
    pub fn approval(&self) -> Approval {
        match self.object.annotations().get(APPROVE_PLAN) {
            Some(hash) if !self.guard.used_approvals.contains(hash) => Approval::Held(hash.clone()),
            Some(_) | None => Approval::None,
        }
    }
}
