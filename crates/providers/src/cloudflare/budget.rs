//! One request budget per credential: never past the limit, changes before scans, Retry-After obeyed.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep_until};

/// Cloudflare's windows are shorter; what a header says beyond this is not believed.
const LONGEST_RESET: Duration = Duration::from_secs(3_600);

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A user waits for it.
    Change,
    /// It looks for drift: at most half of the budget.
    Scan,
}

/// The limit of one credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests per window.
    pub requests: usize,
    /// The window.
    pub window: Duration,
}

/// All budgets of this process, by the hash of their credential.
#[derive(Debug, Clone, Default)]
pub struct Budgets {
    by_credential: Arc<Mutex<BTreeMap<[u8; 32], Weak<Budget>>>>,
}

/// The requests that one credential may still make.
#[derive(Debug)]
pub struct Budget {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    rate: Rate,
    sent: VecDeque<(Instant, Purpose)>,
    blocked_until: Option<Instant>,
    /// What the server said is left, and until when that holds.
    remaining: Option<(usize, Instant)>,
}

// === impl Rate ===

impl Default for Rate {
    /// Cloudflare allows 1,200 per 5 minutes to all clients of a user together (2026-11).
    fn default() -> Self {
        Self { requests: 1_000, window: Duration::from_secs(300) }
    }
}

impl Rate {
    fn per_second(self) -> f64 {
        self.requests as f64 / self.window.as_secs_f64()
    }
}

// === impl Budgets ===

impl Budgets {
    /// The budget of a credential; where several providers share it, the smaller rate counts.
    pub fn of(&self, credential: &str, rate: Rate) -> Arc<Budget> {
        let hash: [u8; 32] = Sha256::digest(credential.as_bytes()).into();
        let mut budgets = lock(&self.by_credential);
        budgets.retain(|_, budget| budget.strong_count() > 0);
        if let Some(budget) = budgets.get(&hash).and_then(Weak::upgrade) {
            let mut state = lock(&budget.state);
            if rate.per_second() < state.rate.per_second() {
                state.rate = rate;
            }
            drop(state);
            return budget;
        }
        let budget = Arc::new(Budget::new(rate));
        budgets.insert(hash, Arc::downgrade(&budget));
        budget
    }
}

// === impl Budget ===

impl Budget {
    /// A budget of its own.
    pub fn new(rate: Rate) -> Self {
        let state = State { rate, sent: VecDeque::new(), blocked_until: None, remaining: None };
        Self { state: Mutex::new(state) }
    }

    /// Waits until one more request may be sent, and counts it.
    pub async fn acquire(&self, purpose: Purpose) {
        loop {
            let Some(until) = lock(&self.state).try_acquire(purpose, Instant::now()) else { return };
            sleep_until(until).await;
        }
    }

    /// Stops all requests for a while: the server said so.
    pub fn block(&self, duration: Duration) {
        let until = Instant::now() + duration;
        let mut state = lock(&self.state);
        state.blocked_until = Some(state.blocked_until.map_or(until, |other| other.max(until)));
    }

    /// Corrects the budget by a `Ratelimit` header such as `"default";r=50;t=30`.
    pub fn correct(&self, header: &str) {
        let field = |key: &str| {
            header
                .split(';')
                .find_map(|part| part.trim().strip_prefix(key)?.strip_prefix('=')?.parse::<u64>().ok())
        };
        if let (Some(remaining), Some(seconds)) = (field("r"), field("t")) {
            let until = Instant::now() + Duration::from_secs(seconds).min(LONGEST_RESET);
            lock(&self.state).remaining = Some((remaining as usize, until));
        }
    }

    /// How many requests are left in this window.
    pub fn left(&self) -> usize {
        let mut state = lock(&self.state);
        state.forget(Instant::now());
        state.rate.requests.saturating_sub(state.sent.len())
    }
}

// === impl State ===

impl State {
    /// Counts a request, or says when to ask again.
    fn try_acquire(&mut self, purpose: Purpose, now: Instant) -> Option<Instant> {
        self.forget(now);
        if let Some(until) = self.blocked_until {
            return Some(until);
        }
        if let Some((0, until)) = self.remaining {
            return Some(until);
        }
        let scans = || self.sent.iter().filter(|(_, sent)| *sent == Purpose::Scan);
        let scan_share = (self.rate.requests / 2).max(1);
        let oldest = match purpose {
            _ if self.sent.len() >= self.rate.requests.max(1) => self.sent.front(),
            Purpose::Scan if scans().count() >= scan_share => scans().next(),
            Purpose::Scan | Purpose::Change => None,
        };
        if let Some((sent, _)) = oldest {
            return Some(*sent + self.rate.window);
        }
        self.sent.push_back((now, purpose));
        if let Some((remaining, _)) = &mut self.remaining {
            *remaining -= 1;
        }
        None
    }

    fn forget(&mut self, now: Instant) {
        while self.sent.front().is_some_and(|(sent, _)| *sent + self.rate.window <= now) {
            self.sent.pop_front();
        }
        self.blocked_until = self.blocked_until.filter(|until| *until > now);
        self.remaining = self.remaining.filter(|(_, until)| *until > now);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(requests: usize) -> Rate {
        Rate { requests, window: Duration::from_secs(300) }
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_is_never_passed_in_any_window() {
        let budget = Budget::new(rate(10));
        let start = Instant::now();
        let mut sent = Vec::new();
        for _ in 0..25 {
            budget.acquire(Purpose::Change).await;
            sent.push(start.elapsed());
        }
        for (index, at) in sent.iter().enumerate().skip(10) {
            assert!(*at - sent[index - 10] >= Duration::from_secs(300));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn scans_take_at_most_half_so_that_a_change_never_waits_for_them() {
        let budget = Budget::new(rate(10));
        let start = Instant::now();
        for _ in 0..5 {
            budget.acquire(Purpose::Scan).await;
        }
        let sixth = tokio::time::timeout(Duration::from_secs(1), budget.acquire(Purpose::Scan)).await;
        assert!(sixth.is_err());
        budget.acquire(Purpose::Change).await;
        assert!(start.elapsed() < Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn retry_after_and_the_servers_own_count_are_obeyed() {
        let budget = Budget::new(rate(1_000));
        let start = Instant::now();
        budget.block(Duration::from_secs(120));
        budget.acquire(Purpose::Change).await;
        assert!(start.elapsed() >= Duration::from_secs(120));
        budget.correct("\"default\";r=1;t=30");
        budget.acquire(Purpose::Change).await;
        assert!(start.elapsed() < Duration::from_secs(121));
        budget.acquire(Purpose::Change).await;
        assert!(start.elapsed() >= Duration::from_secs(150));
    }

    #[test]
    fn one_credential_has_one_budget_and_the_smaller_rate() {
        let budgets = Budgets::default();
        let one = budgets.of("token", rate(1_000));
        let other = budgets.of("token", rate(100));
        assert!(Arc::ptr_eq(&one, &other));
        assert_eq!(other.left(), 100);
        assert!(!Arc::ptr_eq(&one, &budgets.of("another", rate(100))));
    }
}
