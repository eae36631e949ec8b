//! What the operator serves over HTTP without a token: health, readiness and metrics.

pub mod api;
mod ear;
mod health;

pub use ear::Ear;
pub use health::Health;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicI64},
    time::Duration,
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
    plan::{Cause, Operation},
    zone::ZoneKey,
};
use zonekeeper_providers::{
    ProviderError,
    meter::{Meter, Outcome},
};

use zonekeeper_model::{
    figures::{Figures, ProviderFigures, ZoneFigures},
    pass::{Applied, PassResult},
};

use crate::runner::tasks;

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
    /// Not `namespace`: Prometheus has a label of that name for the pod that it asks.
    zone_namespace: String,
    zone: String,
    domain: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RecordLabels {
    zone_namespace: String,
    zone: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestedLabels {
    zone_namespace: String,
    zone: String,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RevertLabels {
    zone_namespace: String,
    zone: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    queue: &'static str,
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
    last_read: Family<ZoneLabels, Gauge>,
    last_write: Family<ZoneLabels, Gauge>,
    pending: Family<ZoneLabels, Gauge>,
    requested: Family<RequestedLabels, Gauge>,
    reverts: Family<RevertLabels, Counter>,
    budget: Family<ProviderLabels, Gauge>,
    budget_limit: Family<ProviderLabels, Gauge>,
    token_expiry: Family<ProviderLabels, Gauge>,
    queues: Family<QueueLabels, Gauge>,
    dropped_events: Counter,
    requests: Family<RequestLabels, Histogram, fn() -> Histogram>,
    objects: Family<ObjectLabels, Gauge>,
    leader: Gauge<i64, AtomicI64>,
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
        let last_read = Family::<ZoneLabels, Gauge>::default();
        registry.register(
            "zone_last_read_timestamp_seconds",
            "The last time that the zone was read and compared without an error",
            last_read.clone(),
        );
        let last_write = Family::<ZoneLabels, Gauge>::default();
        registry.register(
            "zone_last_write_timestamp_seconds",
            "The last write at the provider",
            last_write.clone(),
        );
        let pending = Family::<ZoneLabels, Gauge>::default();
        registry.register(
            "zone_oldest_pending_change_seconds",
            "How long the oldest change has been waiting that is neither made nor held",
            pending.clone(),
        );
        let requested = Family::<RequestedLabels, Gauge>::default();
        registry.register(
            "zone_requests",
            "What objects ask of a zone, by what became of it",
            requested.clone(),
        );
        let reverts = Family::<RevertLabels, Counter>::default();
        registry.register(
            "drift_reverts",
            "Sets that were changed from outside and changed back",
            reverts.clone(),
        );
        let budget = Family::<ProviderLabels, Gauge>::default();
        registry.register("provider_budget_requests", "Requests left in this window", budget.clone());
        let budget_limit = Family::<ProviderLabels, Gauge>::default();
        registry.register(
            "provider_budget_limit_requests",
            "Requests of a whole window",
            budget_limit.clone(),
        );
        let token_expiry = Family::<ProviderLabels, Gauge>::default();
        registry.register(
            "provider_token_expiry_timestamp_seconds",
            "When the credentials end, where the provider says so",
            token_expiry.clone(),
        );
        let queues = Family::<QueueLabels, Gauge>::default();
        registry.register("queue_depth", "What waits in a queue of the operator", queues.clone());
        let dropped_events = Counter::default();
        registry.register(
            "dropped_events",
            "Kubernetes Events that were not told: too many waited",
            dropped_events.clone(),
        );
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
            last_read,
            last_write,
            pending,
            requested,
            reverts,
            budget,
            budget_limit,
            token_expiry,
            queues,
            dropped_events,
            requests,
            objects,
            leader,
        }
    }
}

impl Metrics {
    /// A pass over a zone is over, or interrupted.
    pub fn observe(&self, zone: &ZoneKey, result: &Result<PassResult, ProviderError>, took: Duration) {
        match result {
            Ok(PassResult::Done(pass)) => {
                self.count_changes(zone, &pass.applied);
                self.observe_pass("success", took);
            }
            Ok(PassResult::Interrupted { applied, .. }) => self.count_changes(zone, applied),
            Err(_) => self.observe_pass("error", took),
        }
    }

    fn observe_pass(&self, result: &'static str, took: Duration) {
        self.passes.get_or_create(&PassLabels { result }).observe(took.as_secs_f64());
    }

    fn count_changes(&self, zone: &ZoneKey, applied: &[Applied]) {
        let is_revert = |applied: &&Applied| applied.change.cause == Cause::Drift;
        let reverts = applied.iter().filter(is_revert).count();
        if reverts > 0 {
            let ZoneKey { namespace, name } = zone.clone();
            let labels = RevertLabels { zone_namespace: namespace, zone: name };
            self.reverts.get_or_create(&labels).inc_by(reverts as u64);
        }
        for Applied { change, .. } in applied {
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
        self.set_queue("zones", figures.waiting_zones);
        self.set_zones(figures.zones);
        self.set_providers(figures.providers);
        self.set_objects(figures.objects);
    }

    fn set_zones(&self, zones: Vec<ZoneFigures>) {
        self.records.clear();
        self.requested.clear();
        for family in [&self.held, &self.ready, &self.last_read, &self.last_write, &self.pending] {
            family.clear();
        }
        for figures in zones {
            let ZoneKey { namespace, name } = figures.zone;
            let labels =
                ZoneLabels { zone_namespace: namespace.clone(), zone: name.clone(), domain: figures.domain };
            self.ready.get_or_create(&labels).set(i64::from(figures.is_ready));
            self.pending.get_or_create(&labels).set(figures.oldest_pending.as_secs() as i64);
            for (family, time) in
                [(&self.last_read, figures.last_read), (&self.last_write, figures.last_write)]
            {
                if let Some(time) = time {
                    family.get_or_create(&labels).set(time);
                }
            }
            for (reason, count) in figures.requested {
                let (zone_namespace, zone) = (namespace.clone(), name.clone());
                let labels = RequestedLabels { zone_namespace, zone, reason: reason.as_str() };
                self.requested.get_or_create(&labels).set(count);
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
                let (zone_namespace, zone) = (namespace.clone(), name.clone());
                let labels = RecordLabels { zone_namespace, zone, state };
                self.records.get_or_create(&labels).set(count as i64);
            }
        }
    }

    fn set_providers(&self, providers: Vec<ProviderFigures>) {
        self.budget_limit.clear();
        self.token_expiry.clear();
        for figures in providers {
            let labels = ProviderLabels { provider: figures.provider };
            if let Some(limit) = figures.budget_limit {
                self.budget_limit.get_or_create(&labels).set(i64::from(limit));
            }
            if let Some(time) = figures.token_expires {
                self.token_expiry.get_or_create(&labels).set(time);
            }
        }
    }

    /// How much waits in a queue.
    pub fn set_queue(&self, queue: &'static str, depth: usize) {
        self.queues.get_or_create(&QueueLabels { queue }).set(depth as i64);
    }

    /// An Event was not told: too many wait.
    pub fn count_dropped_event(&self) {
        self.dropped_events.inc();
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
