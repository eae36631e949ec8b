//! A folder at work: its providers opened, its zones found, its wishes resolved.

mod answers;
mod binding;
mod credentials;
mod delegation;
mod open;
mod parked;
mod reverse;
mod sources;
mod targets;
mod wishes;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

pub use credentials::FolderCredentials;
use futures::{StreamExt, stream};
use tokio::time::Instant;
use zonekeeper_kernel::{
    guard::{Approval, Verdict},
    holder::Holder,
    plan::{Plan, Scope},
    reason::Rejection,
    zone::ZoneKey,
};
use zonekeeper_providers::{
    Provider, ProviderError, builtin::Builtin, cloudflare::budget::Budgets, lookup::Resolver,
};

use crate::{
    address_source::Reachable,
    declare::ProviderSettings,
    engine::{self, Deletes, GuardMemory, Order, Pass, Waiting, ZoneWorker},
    folder::{Declared, Folder, Problem},
};
use answers::Answers;
use parked::Parked;
use targets::Targets;
use wishes::Wishes;
use zonekeeper_api::DNSZone;

/// How long after trouble a zone is tried again.
const RETRY: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_secs(60);
/// How many zones are worked on at once.
const AT_ONCE: usize = 16;

/// How a folder is worked on.
#[derive(Debug, Clone)]
pub struct Options {
    /// The owner id where the manifest names none.
    pub owner_id: Option<String>,
    /// The marker key where no Secret holds one.
    pub marker_key: Option<Vec<u8>>,
    /// The Cloudflare token where no Secret holds one.
    pub token: Option<String>,
    /// Which networks AddressSources may ask.
    pub reachable: Reachable,
    /// What is asked about delegations.
    pub resolver: Resolver,
    /// What the built-in server is there for.
    pub serving: Serving,
    /// How long to wait for a provider that asks for it.
    pub waiting: Waiting,
}

/// What the built-in server is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serving {
    /// It answers queries, and is the default provider.
    Answering,
    /// It holds an empty zone to compare with.
    Comparing,
    /// It shows what it would hold, and is the default provider.
    Showing,
    /// It stands for every provider: nothing is asked of any, and all zones are empty.
    Checking,
}

/// A folder at work.
pub struct Session {
    options: Options,
    folder: Folder,
    budgets: Budgets,
    providers: BTreeMap<String, OpenProvider>,
    zones: Vec<OpenZone>,
    /// Workers of zones that are not worked on now.
    parked: Parked,
    /// DNSZones that another one stands before.
    duplicates: Vec<Rejection>,
    answers: Answers,
    targets: Targets,
}

struct OpenProvider {
    settings: ProviderSettings,
    spec: zonekeeper_api::DNSProviderSpec,
    provider: Arc<dyn Provider>,
    builtin: Option<Builtin>,
    /// Whether the folder's latest version opened it anew.
    is_new: bool,
}

/// A zone of the folder, and its worker where the provider has it.
pub struct OpenZone {
    pub declared: Declared<DNSZone>,
    pub zone: zonekeeper_kernel::zone::Zone,
    pub provider: String,
    /// What the hash of its plan is bound to.
    pub binding: String,
    pub worker: Result<ZoneWorker, ProviderError>,
    /// Whether it lives inside this process.
    pub is_builtin: bool,
    /// When it must be looked at again by itself.
    due: Instant,
    /// When deletes that settle are to be judged.
    settles: Option<Instant>,
}

/// What a zone would become, or became.
pub struct ZoneReport {
    pub key: ZoneKey,
    pub domain: zonekeeper_kernel::name::Name,
    /// What the hash of the plan is bound to.
    pub identity: String,
    /// What was applied; nothing where it was only planned.
    pub pass: Pass,
    /// Wishes for this zone that were refused before planning.
    pub rejections: Vec<Rejection>,
    /// Why nothing could be planned or applied.
    pub error: Option<ProviderError>,
    pub state: ZoneState,
}

/// A plan that a person has seen and released.
pub struct Approved {
    /// Identifies what is held.
    pub hash: String,
    /// The names that it changes.
    pub names: BTreeSet<zonekeeper_kernel::name::Name>,
}

impl From<&ZoneReport> for Approved {
    fn from(planned: &ZoneReport) -> Self {
        Self {
            hash: planned.verdict().hash.clone(),
            names: planned.shown().into_iter().map(|shown| shown.change.name.clone()).collect(),
        }
    }
}

/// Whether a zone was worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneState {
    Planned,
    Suspended,
}

/// What became of all zones of a folder.
pub struct Report {
    pub zones: Vec<ZoneReport>,
    /// Wishes that no zone took.
    pub rejections: Vec<Rejection>,
}

// === impl Session ===

impl Session {
    /// Opens a folder: reads secrets, finds zones. Problems of the folder itself come before any call.
    pub async fn open(folder: Folder, options: Options) -> Result<Self, Vec<Problem>> {
        let mut session = Self {
            options,
            folder: Folder::default(),
            budgets: Budgets::default(),
            providers: BTreeMap::new(),
            zones: Vec::new(),
            parked: Parked::default(),
            duplicates: Vec::new(),
            answers: Answers::default(),
            targets: Targets::default(),
        };
        session.reload(folder).await?;
        Ok(session)
    }

    /// The zones, in the order of their keys.
    pub fn zones(&self) -> &[OpenZone] {
        &self.zones
    }

    /// The zones, to be read.
    pub fn zones_mut(&mut self) -> impl Iterator<Item = &mut OpenZone> {
        self.zones.iter_mut()
    }

    /// Whether a zone of the folder lives in a built-in server.
    pub fn has_builtin(&self) -> bool {
        self.providers.values().any(|open| open.settings.is_builtin())
    }

    /// The folder as it was last read.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Addresses on which the built-in server answers.
    pub fn listening(&self) -> Vec<std::net::SocketAddr> {
        self.providers.values().filter_map(|open| open.builtin.as_ref()?.local_addr()).collect()
    }

    /// Plans every zone; nothing is written.
    pub async fn plan(&mut self) -> Report {
        let wishes = self.wishes().await;
        let planned = self.zones.iter_mut().map(async |zone| {
            let (mut report, resolved) = wishes.begin(zone).await;
            zone.ask_parent(&self.options.resolver).await;
            if let (Ok(worker), Some(resolved)) = (&mut zone.worker, resolved) {
                let mut plan = worker.plan(&resolved.desired, &resolved.evidence, Scope::Zone);
                let verdict = worker.guard(&mut plan, Scope::Zone, &Approval::None, Deletes::Complete);
                report.pass = Pass { plan, verdict, ..Pass::default() };
                report.note_zone(worker);
            }
            report
        });
        let zones = at_once(planned).await;
        Report { zones, rejections: self.rejections(wishes) }
    }

    /// Applies what every zone needs, as far as the guard lets it.
    ///
    /// `approved` holds, by zone, what a person has seen and released: nothing else is touched there.
    pub async fn apply(
        &mut self,
        approved: &BTreeMap<ZoneKey, Approved>,
        deletes: Deletes,
        progress: &(dyn Fn(&ZoneKey, usize) + Send + Sync),
    ) -> Report {
        let wishes = self.wishes().await;
        let waiting = self.options.waiting;
        let applied = self.zones.iter_mut().map(async |zone| {
            if let Ok(worker) = &mut zone.worker {
                worker.may_ask(engine::asks(worker.settings().rules.policy));
            }
            let (mut report, resolved) = wishes.begin(zone).await;
            zone.ask_parent(&self.options.resolver).await;
            if let (Ok(worker), Some(resolved)) = (&mut zone.worker, resolved) {
                let key = &zone.zone.key;
                let (approval, scope) = match approved.get(key) {
                    Some(approved) => (Approval::Held(approved.hash.clone()), Scope::Names(&approved.names)),
                    None => (Approval::None, Scope::Zone),
                };
                let done = |count| progress(key, count);
                let order = Order {
                    desired: &resolved.desired,
                    evidence: &resolved.evidence,
                    scope,
                    approval: &approval,
                    waiting,
                    deletes,
                    progress: &done,
                    memory: GuardMemory::Run,
                };
                match worker.pass(&order).await {
                    Ok(pass) => {
                        report.pass = pass;
                        // Refusals at other names are still to be told.
                        report.pass.plan = worker.plan(order.desired, order.evidence, Scope::Zone);
                        report.note_zone(worker);
                    }
                    Err(error) => report.error = Some(error),
                }
            }
            report
        });
        let zones = at_once(applied).await;
        Report { zones, rejections: self.rejections(wishes) }
    }

    /// Comes back sooner to zones that had trouble in their last pass.
    pub fn reschedule(&mut self, report: &Report) {
        let now = Instant::now();
        for (zone, report) in self.zones.iter_mut().zip(&report.zones) {
            let has_trouble = report.error.is_some() || !report.pass.failed.is_empty();
            zone.settles = match (&mut zone.worker, report.state) {
                (Ok(worker), ZoneState::Planned) if report.error.is_none() => worker.settles_at(),
                (Ok(worker), ZoneState::Suspended) => {
                    worker.settle_anew();
                    None
                }
                // It is come back to for its trouble.
                (Ok(_), ZoneState::Planned) | (Err(_), _) => None,
            };
            let wait = match (report.pass.retry, has_trouble) {
                (Some(retry), _) => retry.max(Duration::from_secs(1)),
                (None, true) => RETRY,
                (None, false) => continue,
            };
            zone.due = zone.due.min(now + wait);
        }
    }

    /// When something must be looked at again by itself.
    pub fn due(&self) -> Option<Instant> {
        let zones =
            self.zones.iter().filter(|zone| !zone.is_builtin || zone.worker.is_err()).map(|zone| zone.due);
        let settling = self.zones.iter().filter_map(|zone| zone.settles);
        zones.chain(settling).chain(self.answers.due(&self.folder)).chain(self.targets.due()).min()
    }

    async fn wishes(&mut self) -> Wishes {
        let addresses = match self.options.serving {
            Serving::Checking => answers::unasked(&self.folder),
            Serving::Answering | Serving::Comparing | Serving::Showing => {
                self.answers.ask(&self.folder, &self.options.reachable).await
            }
        };
        if self.options.serving != Serving::Checking {
            self.targets.ask(&self.folder, &self.options.resolver).await;
        }
        let mut wishes = Wishes::gather(&self.folder, &self.zones, &addresses, &self.targets);
        for zone in &mut self.zones {
            let is_managed =
                zone.declared.object.spec.delegation.manage && !zone.declared.object.spec.suspend;
            if let (true, Ok(worker)) = (is_managed, &mut zone.worker) {
                // Why it can't be observed is said by its own pass.
                let _ = worker.observe().await;
            }
        }
        wishes.delegate(&self.folder, &self.zones);
        wishes.reverse(&self.folder, &self.zones);
        wishes
    }

    fn rejections(&self, wishes: Wishes) -> Vec<Rejection> {
        self.duplicates.iter().cloned().chain(wishes.into_rejections()).collect()
    }
}

/// Works on several zones at once, so that a slow one keeps no other waiting; the reports come in the order of the zones.
async fn at_once(zones: impl Iterator<Item = impl Future<Output = ZoneReport>>) -> Vec<ZoneReport> {
    stream::iter(zones).buffered(AT_ONCE).collect().await
}

// === impl OpenZone ===

impl OpenZone {
    /// Asks the parent's servers about a zone that is to be unsigned.
    async fn ask_parent(&mut self, resolver: &Resolver) {
        let Ok(worker) = &mut self.worker else { return };
        if worker.is_to_be_unsigned() {
            worker.note_parent(delegation::parent_ds(resolver, &self.zone.domain).await);
        }
    }

    fn interval(&self) -> Duration {
        self.declared.object.spec.interval.to_std().unwrap_or(INTERVAL)
    }
}

// === impl ZoneReport ===

impl ZoneReport {
    /// Notes what can't be had of the zone itself.
    fn note_zone(&mut self, worker: &ZoneWorker) {
        let holder = Holder::new("dnszone", &self.key.namespace, &self.key.name);
        self.rejections.extend(worker.zone_rejections(&holder));
        self.error = worker.zone().trouble().cloned();
    }

    /// The plan that the report is about.
    pub fn plan(&self) -> &Plan {
        &self.pass.plan
    }

    /// What the guard said of it.
    pub fn verdict(&self) -> &Verdict {
        &self.pass.verdict
    }

    /// Everything that was refused.
    pub fn all_rejections(&self) -> impl Iterator<Item = &Rejection> {
        self.rejections.iter().chain(&self.pass.plan.rejections)
    }
}
