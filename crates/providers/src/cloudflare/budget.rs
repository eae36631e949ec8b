//! One request budget per credential: never past the limit, changes before scans, Retry-After obeyed, fair between
//! zones.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep_until};

/// Cloudflare's windows are shorter; what a header says beyond this is not believed.
const LONGEST_RESET: Duration = Duration::from_secs(3_600);
/// This part of a budget is kept for zones that have used little of it.
const RESERVED_PART: usize = 4;
/// A zone that was sent away is expected to come back for so long.
const EXPECTED_BACK: Duration = Duration::from_secs(30);
/// Who waits behind others asks again after this long at the latest.
const ASK_AGAIN: Duration = Duration::from_millis(250);

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
    sent: VecDeque<Sent>,
    /// All zones that ever asked, with what they sent within the window.
    zones: BTreeMap<Arc<str>, usize>,
    /// Zones that were told to wait, when that was, and for what they asked.
    waiting: BTreeMap<Arc<str>, (Instant, Purpose)>,
    blocked_until: Option<Instant>,
    /// What the server said is left, and until when that holds.
    remaining: Option<(usize, Instant)>,
}

#[derive(Debug)]
struct Sent {
    at: Instant,
    purpose: Purpose,
    /// None for what concerns no zone, such as a look at the token.
    zone: Option<Arc<str>>,
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
        let state = State {
            rate,
            sent: VecDeque::new(),
            zones: BTreeMap::new(),
            waiting: BTreeMap::new(),
            blocked_until: None,
            remaining: None,
        };
        Self { state: Mutex::new(state) }
    }

    /// Waits until one more request may be sent, and counts it.
    pub async fn acquire(&self, purpose: Purpose) {
        loop {
            let Some(until) = lock(&self.state).try_acquire(purpose, None, Instant::now()) else { return };
            sleep_until(until).await;
        }
    }

    /// The same for a zone. Who would wait longer than `patience` is told how long, and comes back.
    ///
    /// Guarantees: a zone that has used little of the budget does not wait behind one that has used much.
    pub async fn acquire_for(
        &self,
        zone: &str,
        purpose: Purpose,
        patience: Option<Duration>,
    ) -> Result<(), Duration> {
        let begun = Instant::now();
        loop {
            let now = Instant::now();
            let Some(until) = lock(&self.state).try_acquire(purpose, Some(zone), now) else { return Ok(()) };
            if patience.is_some_and(|patience| until > begun + patience) {
                return Err(until - now);
            }
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
    fn try_acquire(&mut self, purpose: Purpose, zone: Option<&str>, now: Instant) -> Option<Instant> {
        self.forget(now);
        let zone: Option<Arc<str>> = zone.map(|zone| match self.zones.get_key_value(zone) {
            Some((known, _)) => known.clone(),
            None => Arc::from(zone),
        });
        if let Some(zone) = &zone {
            self.zones.entry(zone.clone()).or_default();
        }
        if let Some(until) = self.why_wait(purpose, zone.as_ref(), now) {
            if let Some(zone) = zone {
                self.waiting.insert(zone, (now, purpose));
            }
            return Some(until);
        }
        if let Some(zone) = &zone {
            self.waiting.remove(zone);
            *self.zones.entry(zone.clone()).or_default() += 1;
        }
        self.sent.push_back(Sent { at: now, purpose, zone });
        if let Some((remaining, _)) = &mut self.remaining {
            *remaining -= 1;
        }
        None
    }

    /// Until when a request waits, if it must.
    fn why_wait(&self, purpose: Purpose, zone: Option<&Arc<str>>, now: Instant) -> Option<Instant> {
        if let Some(until) = self.blocked_until {
            return Some(until);
        }
        if let Some((0, until)) = self.remaining {
            return Some(until);
        }
        let scans = || self.sent.iter().filter(|sent| sent.purpose == Purpose::Scan);
        let scan_share = (self.rate.requests / 2).max(1);
        let free = self.rate.requests.max(1).saturating_sub(self.sent.len());
        let oldest = match purpose {
            _ if free == 0 => self.sent.front(),
            Purpose::Scan if scans().count() >= scan_share => scans().next(),
            Purpose::Change if zone.is_some_and(|zone| self.is_greedy(zone, free)) => self.sent.front(),
            Purpose::Scan | Purpose::Change => None,
        };
        if let Some(sent) = oldest {
            return Some(sent.at + self.rate.window);
        }
        let ahead = self.ahead_of(purpose, zone);
        (ahead > 0 && free <= ahead).then_some(now + ASK_AGAIN)
    }

    /// Whether a zone would take what is kept for the others, having used more than its share of that.
    fn is_greedy(&self, zone: &Arc<str>, free: usize) -> bool {
        let reserve = self.rate.requests / RESERVED_PART;
        let share = (reserve / self.zones.len().max(1)).max(1);
        self.zones.len() > 1 && free <= reserve && self.used_by(zone) >= share
    }

    /// How many other zones wait that come first: changes before scans, then those that have used less.
    fn ahead_of(&self, purpose: Purpose, zone: Option<&Arc<str>>) -> usize {
        let Some(zone) = zone else { return 0 };
        let used = self.used_by(zone);
        let is_ahead = |(other, (_, waits_for)): &(&Arc<str>, &(Instant, Purpose))| {
            let by_purpose = match (purpose, waits_for) {
                (Purpose::Scan, Purpose::Change) => true,
                (Purpose::Change, Purpose::Scan) => return false,
                (Purpose::Change, Purpose::Change) | (Purpose::Scan, Purpose::Scan) => false,
            };
            *other != zone && (by_purpose || self.used_by(other) < used)
        };
        self.waiting.iter().filter(is_ahead).count()
    }

    fn used_by(&self, zone: &Arc<str>) -> usize {
        self.zones.get(zone).copied().unwrap_or_default()
    }

    fn forget(&mut self, now: Instant) {
        while self.sent.front().is_some_and(|sent| sent.at + self.rate.window <= now) {
            let sent = self.sent.pop_front();
            if let Some(used) = sent.and_then(|sent| sent.zone).and_then(|zone| self.zones.get_mut(&zone)) {
                *used = used.saturating_sub(1);
            }
        }
        self.waiting.retain(|_, (asked, _)| *asked + EXPECTED_BACK > now);
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

    /// A flood of one zone, and another zone that was seen before.
    async fn flooded(requests: usize) -> Budget {
        let budget = Budget::new(rate(requests));
        budget.acquire_for("quiet", Purpose::Change, None).await.unwrap();
        let patience = Some(Duration::ZERO);
        while budget.acquire_for("busy", Purpose::Change, patience).await.is_ok() {}
        budget
    }

    #[tokio::test(start_paused = true)]
    async fn the_flood_of_one_zone_leaves_room_for_the_others() {
        let budget = flooded(100).await;
        let start = Instant::now();
        for zone in ["quiet", "new"] {
            budget.acquire_for(zone, Purpose::Change, Some(Duration::from_secs(1))).await.unwrap();
        }
        assert!(start.elapsed() < Duration::from_secs(1));
        // Who waits long is told how long.
        let wait = budget.acquire_for("busy", Purpose::Change, Some(Duration::from_secs(1))).await;
        assert!(wait.unwrap_err() > Duration::from_secs(200));
    }

    #[tokio::test(start_paused = true)]
    async fn a_zone_that_is_alone_has_the_whole_budget() {
        let budget = Budget::new(rate(10));
        for _ in 0..10 {
            budget.acquire_for("only", Purpose::Change, Some(Duration::ZERO)).await.unwrap();
        }
        assert!(budget.acquire_for("only", Purpose::Change, Some(Duration::ZERO)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_scan_waits_for_a_change_that_waits() {
        let budget = Budget::new(rate(2));
        budget.acquire_for("one", Purpose::Change, None).await.unwrap();
        budget.acquire_for("two", Purpose::Change, None).await.unwrap();
        let change = budget.acquire_for("three", Purpose::Change, Some(Duration::ZERO)).await;
        assert!(change.is_err());
        tokio::time::advance(Duration::from_secs(290)).await;
        assert!(budget.acquire_for("three", Purpose::Change, Some(Duration::ZERO)).await.is_err());
        tokio::time::advance(Duration::from_secs(10)).await;
        budget.acquire_for("one", Purpose::Change, Some(Duration::ZERO)).await.unwrap();
        let scan = budget.acquire_for("two", Purpose::Scan, Some(Duration::ZERO)).await;
        assert!(scan.is_err(), "the last request is for the change");
        budget.acquire_for("three", Purpose::Change, Some(Duration::ZERO)).await.unwrap();
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
