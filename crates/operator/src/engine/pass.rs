//! One pass over a zone: as many rounds as it takes until nothing is left to do, or nothing can be done.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::Instant;
use zonekeeper_kernel::{
    claim::Known,
    desired::{Desired, Values},
    guard::{Approval, Verdict, Window},
    holder::Holder,
    name::Name,
    plan::{Change, Edit, Evidence, Operation, Plan, Role, Scope},
    rdata::RecordType,
    render,
};
use zonekeeper_providers::{Outcome, Progress, ProviderError, Retry, Waiting, Writes, ZoneAccess, describe};

use crate::engine::{Deletes, GuardRecord, ZonePass, ZoneWorker, log};

/// A record read longer ago than this is read again before it is updated; before a delete, always.
const STALE: Duration = Duration::from_secs(5);
/// How often a pass begins again after lost replies or changes in between.
const ROUNDS: u32 = 12;
/// How long a pass waits before a round; the pause grows with every round that gets nothing done.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// More changes than this may not be sent at once.
const ONE_MESSAGE: usize = 100;
/// A change that is refused as out of date this often is refused for good.
const STALE_TRIES: u32 = 3;

/// What a pass is to do.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// What the zone should hold.
    pub desired: &'a Desired,
    /// Which holders are known to want a record no more.
    pub evidence: &'a Evidence,
    /// Which names to work on.
    pub scope: Scope<'a>,
    /// What a person has approved.
    pub approval: &'a Approval,
    /// How long it may wait for a provider that asks for it.
    pub waiting: Waiting,
    /// Whether the deletes are all that there will be.
    pub deletes: Deletes,
    /// Told how many changes are done.
    pub progress: &'a Progress<'a>,
    /// Where the guard's memory is kept, and how much of it is there.
    pub memory: GuardMemory<'a>,
}

/// Where the guard's memory is kept, should this process end in the middle of its work.
#[derive(Debug, Clone, Copy)]
pub enum GuardMemory<'a> {
    /// Nowhere else: the window is as long as the run.
    Run,
    /// In a store outside this process, which holds this record. A pass that needs more ends before it sends anything.
    Saved(Option<&'a GuardRecord>),
}

/// What became of a zone.
#[derive(Debug, Default)]
pub struct Pass {
    /// Changes that were applied, in order.
    pub applied: Vec<Change>,
    /// Sets among them that only an approval released.
    pub approved: BTreeSet<(Name, RecordType)>,
    /// Changes that the provider refused or that could not be sent.
    pub failed: Vec<Failure>,
    /// What is left: rejections, orphans, reported drift, counts.
    pub plan: Plan,
    /// What is held or only watched.
    pub verdict: Verdict,
    /// When it is worth trying again by itself.
    pub retry: Option<Duration>,
    /// What must be saved before the rest can be sent. The pass is to be repeated when it is.
    pub must_save: Option<GuardRecord>,
    /// What became of the zone itself.
    pub zone: ZonePass,
}

/// A change that was not applied.
#[derive(Debug)]
pub struct Failure {
    /// The change.
    pub change: Change,
    /// Why.
    pub error: ProviderError,
}

/// What a round found out.
pub(super) enum Round {
    Done,
    Again(Duration),
    GaveUp(Option<Duration>),
    MustSave(GuardRecord),
}

// === impl GuardMemory ===

impl GuardMemory<'_> {
    /// Whether a record need not be saved, or was.
    fn holds(self, needed: &GuardRecord) -> bool {
        match self {
            Self::Run => true,
            Self::Saved(saved) => saved.is_some_and(|saved| {
                let Window { deletes, updates, prunes, .. } = needed.window;
                // A window begins with the first change that counts: before that it has no beginning to compare.
                let is_same_window = saved.begun == needed.begun || deletes + updates + prunes == 0;
                is_same_window
                    && saved.window.deletes >= needed.window.deletes
                    && saved.window.updates >= needed.window.updates
                    && saved.window.prunes >= needed.window.prunes
                    && (needed.used.is_none() || saved.used == needed.used)
            }),
        }
    }
}

// === impl Pass ===

impl Pass {
    /// Whether the zone is what was asked for, but for what trying again would not change.
    fn is_through(&self, scope: Scope<'_>) -> bool {
        matches!(scope, Scope::Zone)
            && self.must_save.is_none()
            && self.failed.iter().all(|it| it.error.retry() == Retry::Never)
    }
}

impl ZoneWorker {
    /// Makes the zone what is desired, as far as the guard and the provider allow.
    ///
    /// Guarantees: a write whose reply was lost is never repeated before the zone was read again.
    pub async fn pass(&mut self, order: &Order<'_>) -> Result<Pass, ProviderError> {
        let pass = self.rounds(order).await?;
        if pass.is_through(order.scope) {
            self.access.passed();
        }
        self.logged.note(&self.settings.registry.domain, &pass, order.scope);
        Ok(pass)
    }

    async fn rounds(&mut self, order: &Order<'_>) -> Result<Pass, ProviderError> {
        let mut pass = Pass::default();
        let mut pause = FIRST_PAUSE;
        self.settled.forget_all_but(order.desired, order.scope);
        for round in 1..=ROUNDS {
            let (applied, failed) = (pass.applied.len(), std::mem::take(&mut pass.failed));
            let access = self.access.clone();
            let outcome = match self.round(&*access, &mut pass, order, round).await {
                Ok(outcome) => outcome,
                Err(error) => match (order.waiting, error.retry(), round) {
                    (Waiting::UpTo(limit), Retry::After(after), _) if after <= limit => Round::Again(after),
                    (Waiting::UpTo(_), Retry::Backoff, 1..=3)
                        if matches!(error, ProviderError::Unavailable { .. }) =>
                    {
                        Round::Again(pause)
                    }
                    // Reading failed: what was written so far must still be reported, and what was not.
                    (_, retry, _) if applied > 0 && !failed.is_empty() => {
                        pass.failed = failed;
                        Round::GaveUp(match retry {
                            Retry::Never => None,
                            Retry::Backoff => Some(pause),
                            Retry::After(after) => Some(after),
                        })
                    }
                    (_, _, _) => return Err(error),
                },
            };
            // A pass that gets on is not in trouble.
            if pass.applied.len() > applied {
                pause = FIRST_PAUSE;
            }
            match outcome {
                Round::Done => return Ok(pass),
                Round::MustSave(record) => {
                    pass.must_save = Some(record);
                    return Ok(pass);
                }
                Round::GaveUp(retry) => {
                    pass.retry = retry;
                    return Ok(pass);
                }
                Round::Again(wait) => {
                    let wait = wait.max(if round == 1 { Duration::ZERO } else { pause });
                    let may_wait = match order.waiting {
                        Waiting::UpTo(limit) => wait <= limit,
                        Waiting::Never => wait <= Duration::from_secs(1),
                    };
                    if !may_wait || round == ROUNDS {
                        pass.retry = Some(wait);
                        return Ok(pass);
                    }
                    tokio::time::sleep(wait).await;
                    pause = (pause * 2).min(Duration::from_secs(5));
                }
            }
        }
        Ok(pass)
    }

    async fn round(
        &mut self,
        access: &dyn ZoneAccess,
        pass: &mut Pass,
        order: &Order<'_>,
        round: u32,
    ) -> Result<Round, ProviderError> {
        self.look().await?;
        pass.plan = self.plan(order.desired, order.evidence, order.scope);
        pass.verdict = self.guard(&mut pass.plan, order.scope, order.approval, order.deletes);
        if let Some(round) = self.change_zone(pass, order).await? {
            return Ok(round);
        }
        let mut doubtful = self.doubtful(pass.verdict.cleared.changes());
        // What was read before the guard's memory was saved is read.
        let reread = self.reread.take().filter(|(at, _)| at.elapsed() < STALE);
        doubtful.retain(|name| reread.as_ref().is_none_or(|(_, names)| !names.contains(name)));
        if !doubtful.is_empty() {
            self.refresh(&doubtful).await?;
            pass.plan = self.plan(order.desired, order.evidence, order.scope);
            pass.verdict = self.guard(&mut pass.plan, order.scope, order.approval, order.deletes);
            // What came up only now was not read afresh: it waits for the next round.
            let is_new = |change: &Change| !self.doubtful(std::slice::from_ref(change)).is_subset(&doubtful);
            if pass.verdict.cleared.changes().iter().any(is_new) {
                self.forget();
                return Ok(Round::Again(Duration::ZERO));
            }
        }
        let (withheld, wait) = self.repeats.withhold(&mut pass.verdict.cleared, Instant::now());
        if pass.verdict.cleared.changes().is_empty() && !withheld.is_empty() {
            pass.failed.extend(withheld);
            return Ok(Round::GaveUp(wait));
        }
        if pass.verdict.cleared.changes().is_empty() {
            self.settle(order.desired, pass);
            return Ok(Round::Done);
        }
        if is_repetition(&pass.applied, pass.verdict.cleared.changes()) {
            let changes = std::mem::take(&mut pass.verdict.cleared).into_changes();
            pass.failed
                .extend(changes.into_iter().map(|change| Failure { error: not_kept(&change), change }));
            return Ok(Round::GaveUp(None));
        }
        // What a person approved goes as it was shown.
        if !pass.verdict.released_by_approval {
            pass.verdict.cleared.arrivals_first();
        }
        if pass.verdict.cleared.changes().len() > ONE_MESSAGE {
            pass.verdict.cleared.take_turns();
        }
        if let Some(record) = self.unsaved(pass, order) {
            let names = doubtful.into_iter().chain(reread.into_iter().flat_map(|(_, names)| names));
            self.reread = Some((Instant::now(), names.collect()));
            return Ok(Round::MustSave(record));
        }
        let outcomes = access.apply(&pass.verdict.cleared, order.progress).await;
        let changes = std::mem::take(&mut pass.verdict.cleared).into_changes();
        Ok(self.account(pass, changes, outcomes, round))
    }

    /// What must be saved before anything is sent, where that was not done.
    pub(super) fn unsaved(&mut self, pass: &Pass, order: &Order<'_>) -> Option<GuardRecord> {
        let (begun, before) = self.window.clone().unwrap_or_else(|| self.new_window());
        let mut window = before.clone();
        for change in pass.verdict.cleared.changes() {
            window.count(change);
        }
        let counts_updates = self.settings.limits.is_some_and(|limits| limits.max_update_percent < 100);
        let is_kept = window.deletes > before.deletes
            || window.prunes > before.prunes
            || (counts_updates && window.updates > before.updates);
        if window != before {
            self.window = Some((begun, before));
        }
        let used = match (order.approval, pass.verdict.released_by_approval) {
            (Approval::Held(_), true) if zonekeeper_kernel::mutant::is_on("zone: approval unrecorded") => {
                None
            }
            (Approval::Held(hash), true) => Some(hash.clone()),
            (Approval::Held(_) | Approval::Whole | Approval::None, _) => None,
        };
        if (used.is_none() && !is_kept) || zonekeeper_kernel::mutant::is_on("zone: ledger skipped") {
            return None;
        }
        let needed = GuardRecord { begun: begun.into_std(), window, used };
        (!order.memory.holds(&needed)).then_some(needed)
    }

    /// The names that must be read again before these changes are made.
    fn doubtful(&self, changes: &[Change]) -> BTreeSet<Name> {
        if self.settings.is_all_ours {
            return BTreeSet::new();
        }
        let is_stale = self.cache.is_older_than(STALE);
        let is_compared = self.access.traits().writes == Writes::Compared;
        let needs_reading = |change: &&Change| {
            change.edits.iter().any(|edit| match edit {
                // A claim on a whole set: on values that are there already, or on a place that is empty as far as is known.
                Edit::Create { role: Role::Marker, .. } => {
                    is_stale && !(change.unchanged.is_empty() && is_compared)
                }
                Edit::Create { role: Role::Data, .. } => false,
                Edit::Update { .. } => is_stale && !zonekeeper_kernel::mutant::is_on("zone: updates unread"),
                Edit::Delete { .. } => !zonekeeper_kernel::mutant::is_on("zone: deletes unread"),
            })
        };
        let doubtful = changes.iter().filter(needs_reading);
        doubtful.flat_map(|change| self.names_below(change)).collect()
    }

    /// The names that a change writes to, and those that say that it may.
    fn names_below(&self, change: &Change) -> BTreeSet<Name> {
        let mut names = self.settings.registry.names_about(&change.name, [change.rtype]);
        names.retain(|name| *name == change.name || !self.cache.live().at(name).is_empty());
        names.extend(change.edits.iter().map(|edit| edit.name().clone()));
        names
    }

    /// Carries outcomes over to cache, memory and window, and decides how to go on.
    fn account(
        &mut self,
        pass: &mut Pass,
        changes: Vec<Change>,
        outcomes: Vec<Outcome>,
        round: u32,
    ) -> Round {
        let (mut again, mut gave_up) = (None, None);
        for (change, outcome) in changes.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Applied(effects) => {
                    self.remember(&change, &effects);
                    for effect in effects {
                        self.cache.patch(effect);
                    }
                    log::applied(&self.settings.registry.domain, &change);
                    let place = (change.name.clone(), change.rtype);
                    if pass.verdict.released.contains(&place) {
                        pass.approved.insert(place);
                    }
                    pass.applied.push(change);
                    continue;
                }
                Outcome::Unknown(error) => {
                    self.count_in_doubt(&change);
                    if !zonekeeper_kernel::mutant::is_on("zone: repeats lost writes") {
                        self.forget();
                    }
                    again = Some(Duration::ZERO);
                    pass.failed.push(Failure { change, error });
                }
                Outcome::Refused(error @ ProviderError::Stale { .. }) if round < STALE_TRIES => {
                    self.forget();
                    again = again.or(Some(Duration::ZERO));
                    pass.failed.push(Failure { change, error });
                }
                Outcome::Refused(error) => pass.failed.push(Failure { change, error }),
                Outcome::NotSent(error) => {
                    match error.retry() {
                        Retry::Never => gave_up = Some(None),
                        Retry::Backoff
                            if matches!(
                                error,
                                ProviderError::Credentials { .. } | ProviderError::ZoneNotFound { .. }
                            ) =>
                        {
                            gave_up = Some(None)
                        }
                        Retry::Backoff => again = again.or(Some(Duration::from_millis(200))),
                        Retry::After(after) => again = Some(again.unwrap_or_default().max(after)),
                    }
                    pass.failed.push(Failure { change, error });
                }
            }
        }
        match (gave_up, again) {
            (Some(retry), _) => Round::GaveUp(retry),
            (None, Some(wait)) => Round::Again(wait),
            // Some changes are refused for good: trying again would only be refused again.
            (None, None) if !pass.failed.is_empty() => Round::GaveUp(None),
            (None, None) => Round::Again(Duration::ZERO),
        }
    }

    /// A change that may have been made counts, until it turns out that it was not.
    fn count_in_doubt(&mut self, change: &Change) {
        if let Some((_, window)) = &mut self.window
            && Window::counts(change)
            && !zonekeeper_kernel::mutant::is_on("zone: doubt is free")
        {
            window.count(change);
            self.in_doubt.insert(render::hash_line(change));
        }
    }

    fn remember(&mut self, change: &Change, effects: &[zonekeeper_providers::Effect]) {
        if let Some((_, window)) = &mut self.window
            && !zonekeeper_kernel::mutant::is_on("zone: window forgotten")
        {
            window.count(change);
            window.note(change);
        }
        self.repeats.note(change, Instant::now());
        match change.operation {
            Operation::Create => self.owned += 1,
            Operation::Delete => {
                self.owned = self.owned.saturating_sub(1);
                self.settled.bury(&change.name, change.rtype);
            }
            Operation::Update => {}
        }
        let Known::Ids(known) = &mut self.known else { return };
        if zonekeeper_kernel::mutant::is_on("zone: forgets its writes") {
            return;
        }
        for (edit, effect) in change.edits.iter().zip(effects).filter(|(edit, _)| edit.role() == Role::Data) {
            if let Some((_, id)) = &effect.removed {
                known.remove(id);
            }
            // Without a holder the record is left behind.
            if let (Some(holder), Some(record)) = (holder_of(change, edit), &effect.written)
                && !record.id.0.is_empty()
            {
                let place = (edit.name().clone(), record.rdata.rtype());
                known.insert(record.id.clone(), place, holder.clone());
            }
        }
    }

    /// Nothing is left to do: what differs from these wishes from now on is drift. What waits was not applied.
    fn settle(&mut self, desired: &Desired, pass: &Pass) {
        let (plan, verdict) = (&pass.plan, &pass.verdict);
        let held = verdict.held.iter().map(|held| &held.change);
        let waiting = held.chain(&verdict.observed).chain(&verdict.settling).chain(&plan.withheld);
        let rejected = plan.rejections.iter().filter_map(|rejection| rejection.name.as_ref());
        let open: BTreeSet<&Name> = waiting.map(|change| &change.name).chain(rejected).collect();
        for (name, sets) in desired.iter() {
            for set in sets {
                if matches!(set.values, Values::Known(_)) && !open.contains(name) {
                    self.settled.insert(name.clone(), set.clone());
                }
            }
        }
    }
}

/// Who a written record is for, where an object wants it.
fn holder_of<'a>(change: &'a Change, edit: &Edit) -> Option<&'a Holder> {
    edit.after().filter(|_| !edit.disclaims()).and_then(|_| change.holders.first())
}

/// Whether everything that is to be done was done before: the provider says yes and does not keep it.
fn is_repetition(applied: &[Change], cleared: &[Change]) -> bool {
    if applied.is_empty() {
        return false;
    }
    let done: BTreeSet<String> = applied.iter().map(render::hash_line).collect();
    cleared.iter().all(|change| done.contains(&render::hash_line(change)))
}

fn not_kept(change: &Change) -> ProviderError {
    let what = describe(change);
    ProviderError::Rejected {
        message: format!("{what}: the provider reported success, but does not keep the change"),
    }
}
