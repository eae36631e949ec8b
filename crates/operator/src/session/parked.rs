//! Workers of zones that are not worked on for a moment: what they remember, the guard's window first of all, outlasts it.

use std::collections::BTreeMap;

use tokio::time::Instant;
use zonekeeper_kernel::zone::Zone;

use crate::engine::ZoneWorker;

/// A zone by its provider and domain, whatever object declares it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    provider: String,
    domain: String,
}

/// A worker from before.
pub struct Former {
    pub worker: ZoneWorker,
    /// What pinned the zone that its access leads to; none where the zone must be looked for again.
    pub zone_id: Option<String>,
}

/// Workers of zones whose manifest is gone, or whose provider could not be asked.
#[derive(Default)]
pub struct Parked {
    workers: BTreeMap<Place, (ZoneWorker, Instant)>,
}

// === impl Place ===

impl Place {
    /// Where a zone is.
    pub fn of(provider: &str, zone: &Zone) -> Self {
        Self { provider: provider.to_owned(), domain: zone.domain.to_string() }
    }
}

// === impl Parked ===

impl Parked {
    /// Keeps a worker until the guard's window must be over. One whose zone lives in this process has none.
    pub fn put(&mut self, place: Place, former: Option<Former>) {
        let Some(Former { worker, .. }) = former else { return };
        if !worker.settings().is_all_ours {
            let until = Instant::now() + worker.settings().window;
            self.workers.insert(place, (worker, until));
        }
    }

    /// The worker of a zone that is worked on again.
    pub fn take(&mut self, place: &Place) -> Option<Former> {
        let (worker, until) = self.workers.remove(place)?;
        (Instant::now() < until).then_some(Former { worker, zone_id: None })
    }

    /// Drops workers whose time is over.
    pub fn expire(&mut self) {
        let now = Instant::now();
        self.workers.retain(|_, (_, until)| now < *until);
    }
}
