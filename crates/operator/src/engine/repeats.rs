//! The same write again and again: something undoes it, so that it waits longer each time.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use tokio::time::Instant;
use zonekeeper_kernel::{
    guard::Cleared,
    name::Name,
    plan::{Cause, Change},
    rdata::RecordType,
    render,
};
use zonekeeper_providers::{ProviderError, describe};

use crate::engine::Failure;

/// So often a change is made without a pause.
const FREELY: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// A change that was not made for this long is a new one.
const FORGOTTEN: Duration = Duration::from_secs(1_800);
const TIDY: Duration = Duration::from_secs(60);

/// The last change of every set that was changed a short time ago.
#[derive(Debug, Default)]
pub struct Repeats {
    last: BTreeMap<(Name, RecordType), Repeat>,
    tidied: Option<Instant>,
}

#[derive(Debug)]
struct Repeat {
    /// Stands for the change: what was there and what was written.
    change: u64,
    count: u32,
    at: Instant,
}

// === impl Repeats ===

impl Repeats {
    /// Notes that a change was made. Another change of the same set begins anew: the one before it was not undone.
    pub fn note(&mut self, change: &Change, now: Instant) {
        if self.tidied.is_none_or(|tidied| now.duration_since(tidied) > TIDY) {
            self.last.retain(|_, repeat| now.duration_since(repeat.at) < FORGOTTEN);
            self.tidied = Some(now);
        }
        let (set, change) = key(change);
        let before = self.last.get(&set).filter(|before| before.is_same(change, now));
        let count = before.map_or(1, |before| before.count.saturating_add(1));
        self.last.insert(set, Repeat { change, count, at: now });
    }

    /// Takes out what must wait; says until when the first of it must.
    pub fn withhold(&self, cleared: &mut Cleared, now: Instant) -> (Vec<Failure>, Option<Duration>) {
        let mut soonest: Option<Duration> = None;
        let mut is_early = |change: &Change| {
            // A wish that goes back and forth by itself is not undone by anything.
            if change.cause != Cause::Drift {
                return false;
            }
            let (set, change) = key(change);
            let Some(repeat) = self.last.get(&set).filter(|repeat| repeat.is_same(change, now)) else {
                return false;
            };
            let wait = repeat.pause().saturating_sub(now.duration_since(repeat.at));
            if wait > Duration::ZERO {
                soonest = Some(soonest.map_or(wait, |soonest| soonest.min(wait)));
            }
            wait > Duration::ZERO
        };
        let withheld = match self.last.is_empty() {
            true => Vec::new(),
            false => cleared.take_out(&mut is_early),
        };
        let failed = withheld.into_iter().map(|change| Failure { error: undone(&change), change });
        (failed.collect(), soonest)
    }
}

// === impl Repeat ===

impl Repeat {
    fn is_same(&self, change: u64, now: Instant) -> bool {
        self.change == change && now.duration_since(self.at) < FORGOTTEN
    }

    fn pause(&self) -> Duration {
        match self.count.checked_sub(FREELY) {
            None => Duration::ZERO,
            Some(further) => (FIRST_PAUSE * 2_u32.pow(further.min(8))).min(LONGEST_PAUSE),
        }
    }
}

fn key(change: &Change) -> ((Name, RecordType), u64) {
    let mut hasher = DefaultHasher::new();
    render::hash_line(change).hash(&mut hasher);
    ((change.name.clone(), change.rtype), hasher.finish())
}

fn undone(change: &Change) -> ProviderError {
    let message = format!(
        "{} was written {FREELY} times or more, and something undid that each time; find what else writes this record. The next tries come at growing intervals of up to {} minutes",
        describe(change),
        LONGEST_PAUSE.as_secs() / 60
    );
    ProviderError::Undone { message }
}
