//! When a zone may start its next pass: at once for one change, in ever larger batches while changes keep coming.

use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How fast a pause grows while changes come faster than they are served.
const GROWTH: u32 = 4;
/// Where nothing has come for this part of a pause, the burst is over, and with it the pause.
const QUIET: u32 = 16;
const SHORTEST_QUIET: Duration = Duration::from_millis(100);

/// So many passes in a row for one change each mean that a client waits for each before it makes the next.
const CALM: u32 = 8;

/// Paces the passes of one zone.
#[derive(Debug)]
pub struct Pacing {
    pause: Duration,
    /// Passes in a row for one change, during which nothing came.
    calm: u32,
    /// Nothing is started before this.
    not_before: Instant,
    /// When something came last, or a pass ended.
    stirred: Instant,
    /// The end of the pause.
    until: Instant,
    /// Whether something came since the last pass.
    is_touched: bool,
}

// === impl Pacing ===

impl Pacing {
    /// A zone that has not had a pass yet.
    pub fn new(now: Instant) -> Self {
        Self { pause: Duration::ZERO, calm: 0, not_before: now, stirred: now, until: now, is_touched: false }
    }

    /// When the next pass may start, if nothing comes until then.
    pub fn ready_at(&self) -> Instant {
        let quiet = (self.pause / QUIET).max(SHORTEST_QUIET);
        self.until.min(self.stirred + quiet).max(self.not_before)
    }

    /// A pass is over. Changes that came meanwhile, or more than one at a time, come faster than they are served.
    pub fn ended(&mut self, now: Instant, served: usize, came_meanwhile: bool) {
        let keeps_coming = came_meanwhile || served > 1;
        self.calm = if keeps_coming { 0 } else { self.calm + 1 };
        if keeps_coming {
            self.pause = (self.pause * GROWTH).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        } else if self.calm >= CALM {
            self.pause = Duration::ZERO;
        }
        (self.not_before, self.stirred, self.until) = (now, now, now + self.pause);
        self.is_touched = came_meanwhile;
    }

    /// More is on its way: a pause gathers it.
    pub fn expect_more(&mut self, now: Instant) {
        self.pause = self.pause.max(FIRST_PAUSE);
        self.until = now + self.pause;
    }

    /// Nothing is started before this.
    pub fn wait_until(&mut self, at: Instant) {
        self.not_before = at;
    }

    /// Something is to be done: where it was quiet for as long as the pause, it was the end of a burst.
    pub fn touched(&mut self, now: Instant) {
        let is_first = !std::mem::replace(&mut self.is_touched, true);
        if is_first && now > self.until + self.pause {
            self.pause = Duration::ZERO;
        }
        self.stirred = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn one_change_after_the_other_never_waits() {
        let mut now = Instant::now();
        let mut pacing = Pacing::new(now);
        for _ in 0..100 {
            pacing.touched(now);
            assert!(pacing.ready_at() <= now);
            now += 3 * MILLI;
            pacing.ended(now, 1, false);
        }
    }

    #[test]
    fn a_burst_of_four_seconds_costs_a_handful_of_passes() {
        let begun = Instant::now();
        let mut pacing = Pacing::new(begun);
        let (mut passes, mut waiting, mut busy_until) = (0, 0, begun);
        for milli in 0..4_000 {
            let now = begun + milli * MILLI;
            // A change every two milliseconds, passes of three.
            if milli % 2 == 0 {
                pacing.touched(now);
                waiting += 1;
            }
            if waiting > 0 && now >= busy_until && now >= pacing.ready_at() {
                let served = std::mem::take(&mut waiting);
                passes += 1;
                busy_until = now + 3 * MILLI;
                pacing.ended(busy_until, served, true);
            }
        }
        assert!(passes < 9, "{passes}");
    }

    #[test]
    fn the_end_of_a_burst_is_not_waited_for_long() {
        let begun = Instant::now();
        let mut pacing = Pacing::new(begun);
        (0..10).for_each(|_| pacing.ended(begun, 100, true));
        let last = begun + Duration::from_millis(700);
        pacing.touched(last);
        assert_eq!(pacing.ready_at(), last + LONGEST_PAUSE / QUIET);
        // Changes that keep coming do not keep it waiting.
        pacing.touched(begun + LONGEST_PAUSE);
        assert_eq!(pacing.ready_at(), begun + LONGEST_PAUSE);
    }

    #[test]
    fn what_is_on_its_way_is_gathered() {
        let now = Instant::now();
        let mut pacing = Pacing::new(now);
        pacing.ended(now, 1, false);
        pacing.expect_more(now);
        pacing.touched(now + MILLI);
        assert_eq!(pacing.ready_at(), now + FIRST_PAUSE);
    }

    #[test]
    fn what_must_wait_waits() {
        let now = Instant::now();
        let mut pacing = Pacing::new(now);
        pacing.wait_until(now + LONGEST_PAUSE * 2);
        pacing.touched(now + MILLI);
        assert_eq!(pacing.ready_at(), now + LONGEST_PAUSE * 2);
    }

    #[test]
    fn whoever_waits_for_each_change_is_not_slowed_down_for_long() {
        let mut now = Instant::now();
        let mut pacing = Pacing::new(now);
        pacing.ended(now, 1, true);
        for _ in 0..CALM {
            now = now.max(pacing.ready_at()) + 3 * MILLI;
            pacing.ended(now, 1, false);
        }
        assert_eq!(pacing.ready_at(), now);
    }

    #[test]
    fn after_a_burst_one_change_is_served_at_once_again() {
        let mut now = Instant::now();
        let mut pacing = Pacing::new(now);
        for _ in 0..10 {
            pacing.ended(now, 1, true);
        }
        pacing.ended(now, 1, false);
        now += 3 * LONGEST_PAUSE;
        pacing.touched(now);
        assert!(pacing.ready_at() <= now);
        pacing.ended(now, 1, false);
        assert_eq!(pacing.ready_at(), now);
    }
}
