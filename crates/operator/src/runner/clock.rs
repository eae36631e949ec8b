//! Reads the clocks: nothing else in the operator decides by the time of its own.

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use crate::model::clock::Now;

// === impl Now ===

impl Now {
    /// This moment.
    pub fn read() -> Self {
        Self::new(Instant::now(), Timestamp::now())
    }
}
