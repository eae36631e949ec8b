//! Traces for an OpenTelemetry collector.

use anyhow::Context;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::Subscriber;
use tracing_subscriber::{EnvFilter, Layer, registry::LookupSpan};

/// Sends spans in the background.
pub struct Traces(SdkTracerProvider);

// === impl Traces ===

impl Traces {
    /// Sends to a collector that takes traces over HTTP.
    pub fn to(endpoint: &str) -> anyhow::Result<Self> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .build()
            .with_context(|| format!("--otlp-endpoint {endpoint}"))?;
        let resource = Resource::builder().with_service_name("zonekeeper").build();
        Ok(Self(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build()))
    }

    /// What hears of spans.
    pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        let tracer = self.0.tracer("zonekeeper");
        tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_filter(EnvFilter::new("zonekeeper=debug,zonekeeper_providers=debug"))
    }

    /// Sends what was not sent yet.
    pub fn end(self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}
