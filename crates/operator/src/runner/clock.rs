//! Reads the clocks: nothing else in the operator decides by a time of its own.

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;
use zonekeeper_model::clock::Now;

/// This moment.
pub fn now() -> Now {
    Now::new(Instant::now().into_std(), Timestamp::now())
}
