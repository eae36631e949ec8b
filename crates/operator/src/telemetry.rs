//! Where the program says what it does: a log on standard error and, where asked for, traces.

use anyhow::Context;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

/// How the program is watched.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    /// Whether the log is read by machines.
    pub is_service: bool,
    /// An OpenTelemetry collector that takes traces over HTTP.
    pub traces: Option<String>,
}

/// What must be told before the program ends.
#[derive(Default)]
pub struct Running {
    traces: Option<SdkTracerProvider>,
}

// === impl Telemetry ===

impl Telemetry {
    /// Starts to log and to trace.
    pub fn start(&self) -> anyhow::Result<Running> {
        let level = if self.is_service { "info" } else { "warn" };
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
        let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        let log = match self.is_service {
            true => log.json().flatten_event(true).with_filter(filter).boxed(),
            false => log.with_filter(filter).boxed(),
        };
        let traces = self.traces.as_deref().map(exporter).transpose()?;
        let tracing = traces.as_ref().map(|provider| {
            let tracer = provider.tracer("zonekeeper");
            tracing_opentelemetry::layer()
                .with_tracer(tracer)
                .with_filter(EnvFilter::new("zonekeeper=debug,zonekeeper_providers=debug"))
        });
        tracing_subscriber::registry().with(log).with(tracing).init();
        Ok(Running { traces })
    }
}

// === impl Running ===

impl Running {
    /// Sends what was not sent yet.
    pub fn end(self) {
        if let Some(Err(error)) = self.traces.map(|traces| traces.shutdown()) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

fn exporter(endpoint: &str) -> anyhow::Result<SdkTracerProvider> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .build()
        .with_context(|| format!("--otlp-endpoint {endpoint}"))?;
    let resource = Resource::builder().with_service_name("zonekeeper").build();
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}
