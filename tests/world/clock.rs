//! Virtual time: it passes only when all that can happen now has happened.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};
use tokio::time::Instant;
use zonekeeper_model::clock::Now;

/// When every history begins, in seconds of Unix time: 2026-11-18.
const BEGINNING: i64 = 1_795_000_000;

/// Milliseconds since the history began.
pub type Millis = u64;

#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begun: Instant,
}

// === impl Clock ===

impl Clock {
    pub fn new() -> Self {
        Self { begun: Instant::now() }
    }

    pub fn millis(&self) -> Millis {
        self.begun.elapsed().as_millis() as Millis
    }

    /// This moment for the model.
    pub fn now(&self) -> Now {
        Now::new(Instant::now().into_std(), self.wall())
    }

    /// This moment as an API server writes it.
    pub fn time(&self) -> Time {
        Time(Timestamp::from_second(self.wall().as_second()).expect("a time of this century"))
    }

    /// When a time of an API server was.
    pub fn millis_of(&self, time: &Time) -> Millis {
        (time.0.as_second() - BEGINNING).max(0) as Millis * 1000
    }

    fn wall(&self) -> Timestamp {
        let beginning = Timestamp::from_second(BEGINNING).expect("a time of this century");
        beginning + SignedDuration::from_millis(self.millis() as i64)
    }
}
