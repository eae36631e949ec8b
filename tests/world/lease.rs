//! For how long a replica leads.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use zonekeeper_providers::fence::Fence;

/// A lease that ends when another replica takes it.
#[derive(Debug, Default)]
pub struct Lease {
    has_ended: AtomicBool,
}

// === impl Lease ===

impl Lease {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

impl Fence for Lease {
    fn time_left(&self) -> Option<Duration> {
        (!self.has_ended.load(Ordering::Relaxed)).then_some(Duration::from_secs(15))
    }
}
