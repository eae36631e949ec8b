//! One zone's way from a wish to the provider and back: observe, plan, guard, apply.

mod cache;
mod drift;
mod going;
mod intents;
mod known;
mod log;
pub mod open;
mod outcomes;
mod pass;
mod plan_status;
mod repeats;
mod run;
mod settling;
mod zone_work;

pub use cache::Cache;
pub use intents::resolve_intents;
pub use pass::{Failure, GuardMemory, Order, Pass};
pub use run::run_pass;
pub use settling::Deletes;
pub use zone_work::{ZoneFailure, ZonePass, asks};
pub use zonekeeper_model::worker::{GuardRecord, Settings};
pub use zonekeeper_providers::Waiting;

use std::{collections::BTreeSet, sync::Arc};

use tokio::time::Instant;

use zonekeeper_kernel::{
    capability::Capabilities,
    claim::{Claim, Known, KnownIds, NameClaims},
    guard::{self, Approval, Changes, Subject, Verdict, Window},
    holder::HolderRef,
    marker::{Form, comment},
    name::Name,
    plan::{Cause, Change, Evidence, Operation, Plan, Scope, Settled, Situation, plan},
    rdata::{Rdata, RecordType},
    record::LiveRecord,
    render,
    resolve::Incumbents,
    zone::Policy,
    zone_change::Fields,
    zone_state::{Contents, ParentDs},
};
use zonekeeper_providers::{Asks, CacheState, Listing, ProviderError, ZoneAccess};

use zonekeeper_kernel::desired::{Desired, DesiredSet};

use settling::Settling;

/// Owns one zone: nothing else in this process reads or writes it.
pub struct ZoneWorker {
    access: Arc<dyn ZoneAccess>,
    settings: Settings,
    cache: Cache,
    known: Known,
    settled: Settled,
    settling: Settling,
    window: Option<(Instant, Window)>,
    /// Changes that were counted though it is not known whether they were made.
    in_doubt: BTreeSet<String>,
    /// How many sets are ours, as the last look at the whole zone and our own writes since say.
    owned: usize,
    /// What was written a short time ago, so that it is not written without end.
    repeats: repeats::Repeats,
    /// Names that were read, and when, before the pass ended to have the guard's memory saved.
    reread: Option<(Instant, BTreeSet<Name>)>,
    logged: log::Logged,
    /// The zone itself.
    zone: zone_work::ZoneWork,
    /// Whether its provider may be asked to look at it.
    asks: Asks,
    /// Whose records it was taken to have when it was last observed.
    taken_for: Contents,
}

// === impl ZoneWorker ===

impl ZoneWorker {
    /// A worker that has read nothing yet.
    pub fn new(access: Arc<dyn ZoneAccess>, settings: Settings) -> Self {
        let cache = Cache::new(settings.registry.marker_index());
        Self {
            access,
            known: if settings.is_all_ours { Known::Everything } else { Known::Ids(KnownIds::default()) },
            settings,
            cache,
            settled: Settled::default(),
            settling: Settling::default(),
            window: None,
            in_doubt: BTreeSet::new(),
            owned: 0,
            repeats: repeats::Repeats::default(),
            reread: None,
            logged: log::Logged::default(),
            zone: zone_work::ZoneWork::default(),
            asks: Asks::Nothing,
            taken_for: Contents::default(),
        }
    }

    /// The zone at its provider.
    pub fn access(&self) -> &Arc<dyn ZoneAccess> {
        &self.access
    }

    /// How it is worked on.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the zone can hold.
    pub fn capabilities(&self) -> &Capabilities {
        &self.access.traits().capabilities
    }

    /// Whose records the zone has, as it was last observed.
    pub fn taken_for(&self) -> Contents {
        self.taken_for
    }

    /// The live records, where they were read.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Works by other settings from now on; what was written is remembered, and what was read too unless the
    /// access is another.
    ///
    /// Assumes: the same access comes with the same registry.
    pub fn adjust(&mut self, access: Arc<dyn ZoneAccess>, settings: Settings) {
        if !Arc::ptr_eq(&self.access, &access) {
            self.cache.reindex(settings.registry.marker_index());
            if settings.is_all_ours {
                // A server inside this process that is made anew is empty: what is missing there is no drift.
                self.settled = Settled::default();
            }
        }
        if !Arc::ptr_eq(&self.access, &access) || self.settings.wish != settings.wish {
            self.zone.forget();
        }
        self.access = access;
        self.settings = settings;
    }

    /// Whether the provider may be asked to look at the zone itself from now on.
    pub fn may_ask(&mut self, asks: Asks) {
        self.asks = asks;
    }

    /// Notes whether the parent zone vouches for the zone's keys.
    pub fn note_parent(&mut self, ds: ParentDs) {
        self.zone.note_parent(ds);
    }

    /// What is known of the zone itself.
    pub fn zone(&self) -> &zone_work::ZoneWork {
        &self.zone
    }

    /// Takes values for those that fields of the zone had before they were managed.
    pub fn recall_zone(&mut self, initial: Fields) {
        self.zone.recall(initial);
    }

    /// Says what will be asked for, and at which names something may be left: where a zone can't be listed, only that
    /// is read. A set may be there as any type that another can become, and what is left as any type at all.
    pub fn expect<'a>(
        &mut self,
        wanted: impl Iterator<Item = (&'a Name, RecordType)>,
        left: impl Iterator<Item = &'a Name>,
    ) {
        if self.access.traits().listing == Listing::Everything {
            return;
        }
        let registry = &self.settings.registry;
        let wanted = wanted.flat_map(|(name, rtype)| {
            registry.names_about(name, [rtype, RecordType::A, RecordType::AAAA, RecordType::CNAME])
        });
        let left = left.flat_map(|name| registry.names_about(name, RecordType::known()));
        match self.access.watch_names(&wanted.chain(left).collect()) {
            CacheState::Current => {}
            CacheState::Outdated => self.cache.forget(),
        }
    }

    /// Reads the zone, unless that was done already.
    pub async fn observe(&mut self) -> Result<(), ProviderError> {
        self.take_for_what_it_is();
        self.look().await?;
        match self.take_for_what_it_is() {
            true => self.look().await,
            false => Ok(()),
        }
    }

    /// Notes whose records the zone has, for what is planned until the next time; says whether that is news.
    fn take_for_what_it_is(&mut self) -> bool {
        let is_news = self.contents() != self.taken_for;
        if is_news {
            self.taken_for = self.contents();
            self.cache.forget();
        }
        is_news
    }

    /// Reads what is not known of the zone that it was taken for: within a pass it does not become another one.
    async fn look(&mut self) -> Result<(), ProviderError> {
        let is_listed = match self.cache.fill(&*self.access, self.taken_for).await {
            // A scan that does not fit into the budget keeps no change waiting: the next one comes.
            Err(ProviderError::RateLimited { .. }) if self.cache.put_off_scan() => false,
            other => other?,
        };
        if is_listed {
            self.note_listed();
        }
        if is_listed || !self.zone.is_read() {
            self.zone.read(&*self.access, &self.settings.wish, self.asks).await;
        }
        Ok(())
    }

    /// Reads some names afresh.
    async fn refresh(&mut self, names: &BTreeSet<Name>) -> Result<(), ProviderError> {
        let is_listed = self.cache.refresh(&*self.access, names).await?;
        match is_listed {
            true => self.note_listed(),
            false => self.note_read(names),
        }
        Ok(())
    }

    /// Forgets what was read: it is not true any more.
    pub fn forget(&mut self) {
        self.reread = None;
        self.cache.forget();
    }

    /// Reads the zone again in the next pass, to see whether anything has changed.
    pub fn scan(&mut self) {
        self.cache.scan();
    }

    /// Who holds the sets of the zone now, for the resolver.
    ///
    /// Assumes: the zone was observed.
    pub fn incumbents(&self, names: impl IntoIterator<Item = Name>) -> Incumbents {
        let mut incumbents = Incumbents::new();
        for name in names {
            let held: Vec<_> = self
                .held_at(&name)
                .into_iter()
                .map(|(record, holder)| (record.rdata.rtype(), holder))
                .collect();
            if !held.is_empty() {
                incumbents.insert(name, held);
            }
        }
        incumbents
    }

    /// Plans the zone, or some of its names.
    pub fn plan(&self, desired: &Desired, evidence: &Evidence, scope: Scope<'_>) -> Plan {
        let situation = Situation {
            desired,
            live: self.cache.live(),
            registry: &self.settings.registry,
            known: &self.known,
            rules: &self.settings.rules,
            capabilities: self.capabilities(),
            evidence,
            settled: &self.settled,
        };
        Plan { zone: self.plan_zone(), ..plan(&situation, scope) }
    }

    /// Has the guard judge the changes of a plan, which it takes out of it.
    pub fn guard(
        &mut self,
        plan: &mut Plan,
        scope: Scope<'_>,
        approval: &Approval,
        deletes: Deletes,
    ) -> Verdict {
        if let Scope::Zone = scope {
            self.owned = plan.counts.owned;
        }
        if self.window.as_ref().is_some_and(|(begun, _)| begun.elapsed() > self.settings.window) {
            self.window = None;
        }
        self.judge_doubts(&plan.changes);
        self.name_holders(&mut plan.changes);
        let is_judged = self.settings.limits.is_some() && self.settings.rules.policy != Policy::Observe;
        let settling = match deletes {
            Deletes::SeenAt(seen) if is_judged => {
                self.settling.take_unsettled(&mut plan.changes, scope, seen, self.settings.settle)
            }
            Deletes::SeenAt(_) | Deletes::Complete => {
                self.settling.restart();
                Vec::new()
            }
        };
        // A window begins with the first change that counts, whether or not it is held.
        if self.window.is_none() && plan.changes.iter().any(Window::counts) {
            self.window = Some(self.new_window());
        }
        let (_, window) = self.window.clone().unwrap_or_else(|| self.new_window());
        let subject = Subject {
            identity: &self.settings.identity,
            domain: &self.settings.registry.domain,
            rules: &self.settings.rules,
            limits: self.settings.limits,
        };
        // The zone itself is looked at with all that is in it, or by the plan that a person approved; its end only with all.
        let zone = std::mem::take(&mut plan.zone.changes);
        let is_end = zone.iter().any(|change| change.operation == Operation::Delete);
        let is_looked_at = matches!(scope, Scope::Zone) || (*approval != Approval::None && !is_end);
        let (sets, zone) = (std::mem::take(&mut plan.changes), if is_looked_at { zone } else { Vec::new() });
        let changes = Changes { sets, zone, blocks: Some(&|change| self.zone_block(change, plan)) };
        let verdict = guard::clear(changes, &subject, window, approval);
        Verdict { settling, ..verdict }
    }

    /// Names in full who gives up a set, where its marker had room for a hash only and we know whose that is.
    fn name_holders(&self, changes: &mut [Change]) {
        for change in changes {
            if let Cause::Released(named @ HolderRef::Hash(_)) = &change.cause
                && let Some(holder) = self.settled.former_holder(&change.name, change.rtype, named)
            {
                change.cause = Cause::Released(HolderRef::Full(holder.clone()));
            }
        }
    }

    /// When deletes that settle are to be judged; none where there are none.
    pub fn settles_at(&self) -> Option<Instant> {
        self.settling.due()
    }

    /// The names at which deletes settle: they are judged in one pass.
    pub fn settling_names(&self) -> impl Iterator<Item = &Name> {
        self.settling.names()
    }

    /// Has deletes settle anew: nothing was looked at for a while.
    pub fn settle_anew(&mut self) {
        self.settling.restart();
    }

    /// What is still to be done was not done.
    fn judge_doubts(&mut self, planned: &[Change]) {
        let Some((_, window)) = &mut self.window else { return self.in_doubt.clear() };
        if self.in_doubt.is_empty() {
            return;
        }
        for change in planned.iter().filter(|change| Window::counts(change)) {
            if self.in_doubt.remove(&render::hash_line(change)) {
                window.uncount(change);
            }
        }
    }

    fn new_window(&self) -> (Instant, Window) {
        (Instant::now(), Window { owned_at_start: self.owned, ..Window::default() })
    }

    /// Takes a wish for applied: what differs from it is drift.
    pub fn settled_before(&mut self, name: Name, set: DesiredSet) {
        self.settled.insert(name, set);
    }

    /// Goes on in a window that began before this process.
    pub fn resume(&mut self, begun: Instant, window: Window) {
        self.window = Some((begun, window));
    }

    /// Whether a marker of our owner id is there, whether or not we can verify it.
    ///
    /// Assumes: the zone was observed.
    pub fn shows_our_id(&self) -> bool {
        self.settings.registry.is_named_in(self.cache.live())
    }

    /// Whether a record that is ours was published under our own owner id: how those of an id that was taken over
    /// came about is not known.
    pub fn is_published_by_us(&self, name: &Name, rdata: &Rdata) -> bool {
        let registry = &self.settings.registry;
        match &registry.form {
            Form::None => true,
            Form::Comment(_) => {
                let mut records = self.cache.live().at(name).iter().filter(|record| record.rdata == *rdata);
                records.all(|record| {
                    comment::split(&record.comment)
                        .marker
                        .is_none_or(|marker| marker.owner == registry.owner.hash())
                })
            }
            Form::Txt(form) => {
                let claims = NameClaims::read(registry, &self.known, self.cache.live(), name);
                let marker = claims.marker(rdata.rtype()).and_then(|marker| form.read(&marker.record.rdata));
                marker.is_none_or(|labels| labels.owner() == registry.owner.as_str())
            }
        }
    }

    /// Who holds the live records at a name, one entry per record of ours.
    pub fn held_at(&self, name: &Name) -> Vec<(&LiveRecord, HolderRef)> {
        let claims = NameClaims::read(&self.settings.registry, &self.known, self.cache.live(), name);
        let ours = claims.records.into_iter().filter_map(|(record, claim)| match claim {
            Claim::Ours { holder, .. } => Some((record, holder)),
            Claim::Foreign { .. } | Claim::Unclaimed => None,
        });
        ours.collect()
    }
}
