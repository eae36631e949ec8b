//! Requests that wait until a test lets them go on.

use tokio::sync::watch;

/// Where held requests wait.
pub struct Gate {
    releases: watch::Sender<u64>,
}

/// A request that waits; it stops waiting when this is dropped.
pub struct Held {
    release: watch::Receiver<u64>,
}

// === impl Gate ===

impl Gate {
    pub fn hold(&self) -> Held {
        Held { release: self.releases.subscribe() }
    }

    /// How many requests wait now.
    pub fn held(&self) -> usize {
        self.releases.receiver_count()
    }

    /// Lets go on all that wait now.
    pub fn release(&self) {
        self.releases.send_modify(|releases| *releases += 1);
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self { releases: watch::Sender::new(0) }
    }
}

// === impl Held ===

impl Held {
    pub async fn released(mut self) {
        // The simulator ends with its sender.
        let _ = self.release.changed().await;
    }
}
