//! The rate limit: a sliding window per credential, and a block once it is exceeded.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

pub struct RateLimit {
    pub limit: u32,
    pub window: Duration,
    callers: HashMap<String, Window>,
}

#[derive(Default)]
struct Window {
    calls: VecDeque<Duration>,
    blocked_until: Option<Duration>,
}

/// What the `Ratelimit` headers of one response say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    pub remaining: u32,
    /// Seconds until the window has room again, rounded up.
    pub reset: u64,
    /// Seconds that a refused caller must wait.
    pub retry_after: Option<u64>,
    pub limit: u32,
    pub window: u64,
}

// === impl RateLimit ===

impl RateLimit {
    pub fn new(limit: u32, window: Duration) -> Self {
        Self { limit, window, callers: HashMap::new() }
    }

    /// What a caller without a credential sees.
    pub fn untouched(&self) -> Allowance {
        let window = self.window.as_secs();
        Allowance { remaining: self.limit, reset: window, retry_after: None, limit: self.limit, window }
    }

    /// Counts one call. Exceeding the limit blocks the caller for a whole window.
    pub fn count(&mut self, caller: &str, now: Duration) -> Allowance {
        let untouched = self.untouched();
        if self.limit == u32::MAX {
            return untouched;
        }
        if !self.callers.contains_key(caller) {
            self.callers.insert(caller.to_owned(), Window::default());
        }
        let Some(window) = self.callers.get_mut(caller) else { return untouched };
        while window.calls.front().is_some_and(|&call| call + self.window <= now) {
            window.calls.pop_front();
        }
        window.blocked_until = window.blocked_until.filter(|&end| end > now);
        let is_full = window.calls.len() >= self.limit as usize;
        if is_full && window.blocked_until.is_none() {
            window.blocked_until = Some(now + self.window);
        }
        if let Some(end) = window.blocked_until {
            let wait = seconds(end - now);
            return Allowance { remaining: 0, reset: wait, retry_after: Some(wait), ..untouched };
        }
        window.calls.push_back(now);
        let oldest = window.calls.front().copied().unwrap_or(now);
        Allowance {
            remaining: self.limit.saturating_sub(u32::try_from(window.calls.len()).unwrap_or(u32::MAX)),
            reset: seconds((oldest + self.window).saturating_sub(now)),
            ..untouched
        }
    }
}

// === impl Allowance ===

impl Allowance {
    /// The value of `Ratelimit-Policy`.
    pub fn policy(self) -> String {
        format!("\"default\";q={};w={}", self.limit, self.window)
    }
}

fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_slides_until_it_is_exceeded() {
        let second = Duration::from_secs;
        let mut rate = RateLimit::new(2, second(10));
        assert_eq!(rate.count("a", second(0)).remaining, 1);
        assert_eq!(rate.count("a", second(5)).remaining, 0);
        assert_eq!(rate.count("b", second(5)).remaining, 1);
        let third = rate.count("a", second(10));
        assert_eq!((third.remaining, third.reset, third.retry_after), (0, 5, None));
        assert_eq!(rate.count("a", second(11)).retry_after, Some(10));
        assert_eq!(rate.count("a", second(20)).retry_after, Some(1));
        assert_eq!(rate.count("a", second(21)).retry_after, None);
    }
}
