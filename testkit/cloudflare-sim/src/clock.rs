//! The simulator's time and its supply of ids: both under a test's control.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// Wall time plus whatever a test added; no two readings of `tick` are equal.
pub struct Clock {
    started: Instant,
    started_at: Timestamp,
    skipped: Duration,
    last: Timestamp,
}

/// Ids and tokens from a seed: the same calls give the same ids.
pub struct Ids {
    state: u64,
}

// === impl Clock ===

impl Clock {
    pub fn start() -> Self {
        let now = Timestamp::now();
        Self { started: Instant::now(), started_at: now, skipped: Duration::ZERO, last: now }
    }

    /// Time since the start, skips included.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed() + self.skipped
    }

    pub fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        self.started_at.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// A moment later than every tick before, so that `modified_on` orders changes.
    pub fn tick(&mut self) -> Timestamp {
        let next = self.last.saturating_add(SignedDuration::from_micros(1)).unwrap_or(Timestamp::MAX);
        self.last = self.now().max(next);
        self.last
    }

    pub fn skip(&mut self, time: Duration) {
        self.skipped += time;
    }
}

// === impl Ids ===

impl Ids {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 32 hex digits.
    pub fn id(&mut self) -> String {
        format!("{:016x}{:016x}", self.next(), self.next())
    }

    /// Hex digits of an API key.
    pub fn key(&mut self) -> String {
        let mut key = self.id() + &self.id();
        key.truncate(37);
        key
    }

    /// Letters and digits.
    pub fn token(&mut self, length: usize) -> String {
        const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        (0..length).map(|_| char::from(ALPHABET[(self.next() % 62) as usize])).collect()
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.state)
    }
}

/// The output function of SplitMix64: every input gives another, evenly spread number.
pub fn scramble(input: u64) -> u64 {
    let mut mixed = input;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
