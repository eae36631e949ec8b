//! Whether the operator does its work.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

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

    /// Whether it moves, or waits for its turn.
    pub fn is_healthy(&self) -> bool {
        let beat = Duration::from_millis(self.last_beat_millis.load(Ordering::Relaxed));
        !self.leads.load(Ordering::Relaxed) || self.begun.elapsed().saturating_sub(beat) < HANGING
    }

    /// A replica that waits for its turn is ready to take it.
    pub fn is_ready(&self) -> bool {
        self.is_healthy() && (!self.leads.load(Ordering::Relaxed) || self.is_synced.load(Ordering::Relaxed))
    }
}
