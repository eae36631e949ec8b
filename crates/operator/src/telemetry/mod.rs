//! Where the program says what it does: a log on standard error and, in a cluster, traces.

#[cfg(feature = "cluster")]
mod traces;

use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

/// How the program is watched.
#[derive(Debug, Clone, Default)]
pub struct Telemetry {
    /// Whether the log is read by machines.
    #[cfg(feature = "cluster")]
    pub is_service: bool,
    /// An OpenTelemetry collector that takes traces over HTTP.
    #[cfg(feature = "cluster")]
    pub traces: Option<String>,
}

/// What must be told before the program ends.
#[derive(Default)]
pub struct Running {
    #[cfg(feature = "cluster")]
    traces: Option<traces::Traces>,
}

// === impl Telemetry ===

impl Telemetry {
    /// Starts to log and to trace.
    #[cfg(feature = "cluster")]
    pub fn start(&self) -> anyhow::Result<Running> {
        let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        let log = match self.is_service {
            true => log.json().flatten_event(true).with_filter(filter("info")).boxed(),
            false => log.with_filter(filter("warn")).boxed(),
        };
        let traces = self.traces.as_deref().map(traces::Traces::to).transpose()?;
        let tracing = traces.as_ref().map(traces::Traces::layer);
        tracing_subscriber::registry().with(log).with(tracing).init();
        Ok(Running { traces })
    }

    /// Starts to log.
    #[cfg(not(feature = "cluster"))]
    pub fn start(&self) -> anyhow::Result<Running> {
        let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        tracing_subscriber::registry().with(log.with_filter(filter("warn"))).init();
        Ok(Running::default())
    }
}

// === impl Running ===

impl Running {
    /// Sends what was not sent yet.
    pub fn end(self) {
        #[cfg(feature = "cluster")]
        if let Some(traces) = self.traces {
            traces.end();
        }
    }
}

fn filter(level: &str) -> EnvFilter {
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level))
}
