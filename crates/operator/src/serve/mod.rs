//! What the operator serves over HTTP without a token: health, readiness and metrics.

pub mod api;
mod ear;

pub use ear::Ear;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context;
use axum::{Router, http::StatusCode, routing::get};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use zonekeeper_api::Reason;
use zonekeeper_kernel::{
    plan::{Change, Operation},
    zone::ZoneKey,
};
use zonekeeper_providers::{
    ProviderError,
    meter::{Meter, Outcome},
};

use zonekeeper_model::{
    figures::{Figures, ZoneFigures},
    pass::PassResult,
};

use crate::runner::tasks;

/// A model that has not moved for this long hangs.
const HANGING: Duration = Duration::from_secs(120);

/// Whether the operator does its work.
#[derive(Debug)]
pub struct Health {
    begun: Instant,
    is_synced: AtomicBool,
    /// Whether this replica leads, or waits for its turn.
    leads: AtomicBool,
    last_beat_millis: AtomicU64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PassLabels {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ChangeLabels {
    operation: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ZoneLabels {
    namespace: String,
    name: String,
    domain: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RecordLabels {
    namespace: String,
    name: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    provider: String,
    method: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectLabels {
    kind: &'static str,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProviderLabels {
    provider: String,
}

/// Figures for Prometheus.
pub struct Metrics {
    registry: Mutex<Registry>,
    passes: Family<PassLabels, Histogram, fn() -> Histogram>,
    changes: Family<ChangeLabels, Counter>,
    records: Family<RecordLabels, Gauge>,
    held: Family<ZoneLabels, Gauge>,
    ready: Family<ZoneLabels, Gauge>,
    last_success: Family<ZoneLabels, Gauge>,
    budget: Family<ProviderLabels, Gauge>,
    requests: Family<RequestLabels, Histogram, fn() -> Histogram>,
    objects: Family<ObjectLabels, Gauge>,
    leader: Gauge<i64, AtomicI64>,
}

// === impl Health ===

impl Default for Health {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            is_synced: AtomicBool::new(false),
            leads: AtomicBool::new(false),
            last_beat_millis: AtomicU64::new(0),
        }
    }
}

impl Health {
    /// The model has taken something in.
    pub fn beat(&self) {
        self.last_beat_millis.store(self.begun.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// All kinds were listed.
    pub fn set_synced(&self) {
        self.is_synced.store(true, Ordering::Relaxed);
    }

    /// This replica leads from now on.
    pub fn set_leading(&self) {
        self.leads.store(true, Ordering::Relaxed);
        self.beat();
    }

    fn is_healthy(&self) -> bool {
        let beat = Duration::from_millis(self.last_beat_millis.load(Ordering::Relaxed));
        !self.leads.load(Ordering::Relaxed) || self.begun.elapsed().saturating_sub(beat) < HANGING
    }

    /// A replica that waits for its turn is ready to take it.
    fn is_ready(&self) -> bool {
        self.is_healthy() && (!self.leads.load(Ordering::Relaxed) || self.is_synced.load(Ordering::Relaxed))
    }
}

// === impl Metrics ===

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("zonekeeper");
        let passes = Family::<PassLabels, Histogram, fn() -> Histogram>::new_with_constructor(durations);
        registry.register("reconcile_duration_seconds", "One pass over a zone", passes.clone());
        let changes = Family::<ChangeLabels, Counter>::default();
        registry.register("changes", "Sets written at providers", changes.clone());
        let records = Family::<RecordLabels, Gauge>::default();
        registry.register("records", "Sets of a zone by what they are to us", records.clone());
        let held = Family::<ZoneLabels, Gauge>::default();
        registry.register("held_changes", "Changes that wait for approval", held.clone());
        let ready = Family::<ZoneLabels, Gauge>::default();
        registry.register("zone_ready", "Whether a zone is as it should be", ready.clone());
        let last_success = Family::<ZoneLabels, Gauge>::default();
        registry.register(
            "zone_last_write_timestamp_seconds",
            "The last write at the provider",
            last_success.clone(),
        );
        let budget = Family::<ProviderLabels, Gauge>::default();
        registry.register("provider_budget_requests", "Requests left in this window", budget.clone());
        let requests = Family::<RequestLabels, Histogram, fn() -> Histogram>::new_with_constructor(durations);
        registry.register("provider_request_duration_seconds", "One request to a provider", requests.clone());
        let objects = Family::<ObjectLabels, Gauge>::default();
        registry.register("objects", "Our objects by the reason of their Ready condition", objects.clone());
        let leader = Gauge::<i64, AtomicI64>::default();
        registry.register("leader", "Whether this replica leads", leader.clone());
        let failures = &*tasks::FAILURES;
        registry.register("task_failures", "Work that failed by a fault of our own", failures.clone());
        let info = prometheus_client::metrics::info::Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version that runs", info);
        Self {
            registry: Mutex::new(registry),
            passes,
            changes,
            records,
            held,
            ready,
            last_success,
            budget,
            requests,
            objects,
            leader,
        }
    }
}

impl Metrics {
    /// A pass over a zone is over, or interrupted.
    pub fn observe(&self, result: &Result<PassResult, ProviderError>, took: Duration) {
        match result {
            Ok(PassResult::Done(pass)) => {
                self.count_changes(&pass.applied);
                self.observe_pass("success", took);
            }
            Ok(PassResult::Interrupted { applied, .. }) => self.count_changes(applied),
            Err(_) => self.observe_pass("error", took),
        }
    }

    fn observe_pass(&self, result: &'static str, took: Duration) {
        self.passes.get_or_create(&PassLabels { result }).observe(took.as_secs_f64());
    }

    fn count_changes(&self, changes: &[Change]) {
        for change in changes {
            let operation = match change.operation {
                Operation::Create => "create",
                Operation::Update => "update",
                Operation::Delete => "delete",
            };
            self.changes.get_or_create(&ChangeLabels { operation }).inc();
        }
    }

    /// This replica leads from now on.
    pub fn set_leading(&self) {
        self.leader.set(1);
    }

    /// What zones and objects are like now.
    pub fn set(&self, figures: Figures) {
        tasks::count_server_failures();
        self.set_zones(figures.zones);
        self.set_objects(figures.objects);
    }

    fn set_zones(&self, zones: Vec<ZoneFigures>) {
        self.records.clear();
        self.held.clear();
        self.ready.clear();
        self.last_success.clear();
        for figures in zones {
            let ZoneKey { namespace, name } = figures.zone;
            let labels =
                ZoneLabels { namespace: namespace.clone(), name: name.clone(), domain: figures.domain };
            self.ready.get_or_create(&labels).set(i64::from(figures.is_ready));
            if let Some(time) = figures.last_write {
                self.last_success.get_or_create(&labels).set(time);
            }
            let Some((held, counts)) = figures.survey else { continue };
            self.held.get_or_create(&labels).set(i64::from(held));
            for (state, count) in [
                ("desired", counts.desired),
                ("live", counts.live),
                ("owned", counts.owned),
                ("foreign", counts.foreign),
                ("orphaned", counts.orphaned),
            ] {
                let labels = RecordLabels { namespace: namespace.clone(), name: name.clone(), state };
                self.records.get_or_create(&labels).set(count as i64);
            }
        }
    }

    fn set_objects(&self, objects: Vec<(&'static str, Reason)>) {
        let mut counts: BTreeMap<(&'static str, Reason), i64> = BTreeMap::new();
        objects.into_iter().for_each(|object| *counts.entry(object).or_default() += 1);
        self.objects.clear();
        for ((kind, reason), count) in counts {
            self.objects.get_or_create(&ObjectLabels { kind, reason: reason.as_str() }).set(count);
        }
    }

    /// How many requests a provider's credentials may still make.
    pub fn set_budget(&self, provider: String, left: usize) {
        self.budget.get_or_create(&ProviderLabels { provider }).set(left as i64);
    }

    /// Measures the requests of one provider.
    pub fn of_provider(self: &Arc<Self>, provider: &str) -> Arc<dyn Meter> {
        Arc::new(ProviderMeter { metrics: self.clone(), provider: provider.to_owned() })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a String does not fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

/// Measures the requests of one provider.
struct ProviderMeter {
    metrics: Arc<Metrics>,
    provider: String,
}

impl std::fmt::Debug for ProviderMeter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ProviderMeter").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl Meter for ProviderMeter {
    fn request(&self, method: &'static str, outcome: Outcome, took: Duration) {
        let labels = RequestLabels { provider: self.provider.clone(), method, outcome: outcome.as_str() };
        self.metrics.requests.get_or_create(&labels).observe(took.as_secs_f64());
    }
}

fn durations() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

/// Serves until the process ends.
pub async fn serve(listen: SocketAddr, health: Arc<Health>, metrics: Arc<Metrics>) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::bind(listen)
        .await
        .with_context(|| format!("listening on {listen}; change --listen"))?;
    let answer = |is_good: bool| match is_good {
        true => (StatusCode::OK, "ok\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not yet\n"),
    };
    let (healthy, ready) = (health.clone(), health);
    let router = Router::new()
        .route("/healthz", get(move || async move { answer(healthy.is_healthy()) }))
        .route("/readyz", get(move || async move { answer(ready.is_ready()) }))
        .route("/metrics", get(move || async move { metrics.text() }));
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "the HTTP server ended");
        }
    });
    Ok(())
}
