//! The moment of a decision: everything that one turn of the model decides happens at the same time.

use std::time::Duration;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};
use std::time::Instant;

/// A moment, by the clock that never jumps and by the clock on the wall.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    pub at: Instant,
    wall: Timestamp,
}

// === impl Now ===

impl Now {
    /// One moment by both clocks.
    pub fn new(at: Instant, wall: Timestamp) -> Self {
        Self { at, wall }
    }

    /// The same clocks, this much later.
    #[cfg(test)]
    pub fn later(self, by: Duration) -> Self {
        Self { at: self.at + by, wall: self.wall + SignedDuration::try_from(by).unwrap() }
    }

    /// This moment, in whole seconds as the API keeps it.
    pub fn time(&self) -> Time {
        whole_seconds(self.wall)
    }

    /// When an instant was, by the clock on the wall.
    pub fn time_of(&self, instant: Instant) -> Time {
        let ago = SignedDuration::try_from(self.at.saturating_duration_since(instant)).unwrap_or_default();
        whole_seconds(self.wall - ago)
    }

    /// When an instant to come will be, by the clock on the wall.
    pub fn time_at(&self, instant: Instant) -> Time {
        let left = SignedDuration::try_from(instant.saturating_duration_since(self.at)).unwrap_or_default();
        whole_seconds(self.wall.checked_add(left).unwrap_or(self.wall))
    }

    /// How long it is until a time by the clock on the wall.
    pub fn until(&self, time: &Time) -> Duration {
        Duration::try_from(time.0.duration_since(self.wall)).unwrap_or_default()
    }

    /// The instant of a time by the clock on the wall; none where this process can't say.
    pub fn instant_of(&self, time: &Time) -> Option<Instant> {
        let ago = Duration::try_from(self.wall.duration_since(time.0)).unwrap_or_default();
        self.at.checked_sub(ago)
    }
}

fn whole_seconds(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_and_its_instant_agree_to_the_second() {
        let now = Now::new(Instant::now(), Timestamp::now());
        let before = now.at - Duration::from_secs(90);
        let again = now.instant_of(&now.time_of(before)).unwrap();
        assert!(before.duration_since(again) < Duration::from_secs(1), "{before:?} {again:?}");
        // A time to come counts as now.
        assert_eq!(now.instant_of(&Time(now.wall + SignedDuration::from_secs(5))), Some(now.at));
    }
}
