//! One zone's way from a wish to the provider and back: observe, plan, guard, apply.

mod cache;
mod pass;

pub use cache::Cache;
pub use pass::{Failure, Order, Pass, Waiting};

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use zonekeeper_kernel::{
    capability::Capabilities,
    claim::Known,
    guard::{self, Approval, Limits, Subject, Verdict, Window},
    holder::Holder,
    marker::Registry,
    name::Name,
    plan::{Evidence, Plan, Scope, Settled, Situation, plan},
    record::RecordId,
    resolve::Incumbents,
    zone::Rules,
};
use zonekeeper_providers::{ProviderError, ZoneAccess};

use zonekeeper_kernel::desired::Desired;

/// Owns one zone: nobody else in this process reads or writes it.
pub struct ZoneWorker {
    access: Arc<dyn ZoneAccess>,
    capabilities: Capabilities,
    settings: Settings,
    cache: Cache,
    written: BTreeMap<RecordId, Holder>,
    settled: Settled,
    window: Option<(Instant, Window)>,
}

/// How a zone is worked on.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What held plans are bound to: the object's uid, or provider and domain.
    pub identity: String,
    /// How ownership is remembered.
    pub registry: Registry,
    /// How far we may go.
    pub rules: Rules,
    /// How much may change at once; none where all that is there lives in this process.
    pub limits: Option<Limits>,
    /// How long the guard adds changes up.
    pub window: Duration,
    /// What is ours though the zone does not say so, apart from what this worker wrote itself.
    pub known: Known,
}

// === impl ZoneWorker ===

impl ZoneWorker {
    /// A worker that has read nothing yet.
    pub fn new(access: Arc<dyn ZoneAccess>, settings: Settings) -> Self {
        let cache = Cache::new(settings.registry.marker_index());
        Self {
            capabilities: access.capabilities(),
            access,
            settings,
            cache,
            written: BTreeMap::new(),
            settled: Settled::default(),
            window: None,
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
        &self.capabilities
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
        }
        self.capabilities = access.capabilities();
        self.access = access;
        self.settings = settings;
    }

    /// Reads the zone, unless that was done already.
    pub async fn observe(&mut self) -> Result<(), ProviderError> {
        self.cache.fill(&*self.access).await
    }

    /// Forgets what was read: it is not true any more.
    pub fn forget(&mut self) {
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
        let known = self.known();
        let mut incumbents = Incumbents::new();
        for name in names {
            let claims = zonekeeper_kernel::claim::NameClaims::read(
                &self.settings.registry,
                &known,
                self.cache.live(),
                &name,
            );
            for (record, claim) in claims.records {
                if let zonekeeper_kernel::claim::Claim::Ours { holder, .. } = claim {
                    incumbents.entry((name.clone(), record.rdata.rtype())).or_insert(holder);
                }
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
            known: &self.known(),
            rules: &self.settings.rules,
            capabilities: &self.capabilities,
            evidence,
            settled: &self.settled,
        };
        plan(&situation, scope)
    }

    /// Asks the guard about a plan.
    pub fn guard(&mut self, plan: &Plan, approval: &Approval) -> Verdict {
        if self.window.is_some_and(|(begun, _)| begun.elapsed() > self.settings.window) {
            self.window = None;
        }
        let new = Window { owned_at_start: plan.counts.owned, ..Window::default() };
        let (_, window) = *self.window.get_or_insert((Instant::now(), new));
        let subject = Subject {
            identity: &self.settings.identity,
            domain: &self.settings.registry.domain,
            rules: &self.settings.rules,
            limits: self.settings.limits,
        };
        guard::clear(plan.changes.clone(), &subject, window, approval)
    }

    fn known(&self) -> Known {
        match &self.settings.known {
            Known::Everything => Known::Everything,
            Known::Nothing => Known::Ids(self.written.clone()),
            Known::Ids(ids) => Known::Ids(
                ids.iter().chain(&self.written).map(|(id, holder)| (id.clone(), holder.clone())).collect(),
            ),
        }
    }
}
