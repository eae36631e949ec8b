//! How often an AddressSource is asked, and how often what it newly says takes effect.
//!
//! Every changed address costs requests of a credential that other namespaces use too. A service that says something
//! else each time, or many that do, must not use them up: the changes of one namespace take effect ten times, and then
//! once a minute, those of the same moment together.

use std::{collections::BTreeMap, time::Duration};

use std::time::Instant;
use zonekeeper_api::AddressSourceSpec;

/// No source is asked more often, also where the schema did not refuse it.
pub const FLOOR: Duration = Duration::from_secs(10);
/// Where the text of an interval can't be understood.
const DEFAULT: Duration = Duration::from_secs(300);
/// How many changes of a namespace take effect at once.
const BURST: u32 = 10;
/// How long it takes until one more does.
const REFILL: Duration = Duration::from_secs(60);
/// Changes that come this soon after another count as the same one.
const TOGETHER: Duration = Duration::from_secs(2);

/// How often a source is asked.
pub fn interval(spec: &AddressSourceSpec) -> Duration {
    spec.interval.to_std().unwrap_or(DEFAULT).max(FLOOR)
}

/// Which changes may take effect, by namespace.
#[derive(Debug, Default)]
pub struct Paces(BTreeMap<String, Pace>);

#[derive(Debug)]
struct Pace {
    /// How many more may.
    left: u32,
    /// Since when one more is gathered.
    since: Instant,
    /// The last one that did.
    last: Option<Instant>,
}

// === impl Paces ===

impl Paces {
    /// Whether a change of a source of this namespace takes effect now; if not, how long it has to wait.
    pub fn take(&mut self, namespace: &str, now: Instant) -> Result<(), Duration> {
        let full = || Pace { left: BURST, since: now, last: None };
        let pace = self.0.entry(namespace.to_owned()).or_insert_with(full);
        pace.take(now)
    }

    /// What a person reads while new addresses wait.
    pub fn message(namespace: &str) -> String {
        let seconds = REFILL.as_secs();
        format!(
            "the answers of namespace {namespace} change too often: new addresses are taken once in {seconds} s; \
             ask a service that says the same as long as the address is the same"
        )
    }
}

// === impl Pace ===

impl Pace {
    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        while self.left < BURST && now.duration_since(self.since) >= REFILL {
            self.left += 1;
            self.since += REFILL;
        }
        if self.last.is_some_and(|last| now.duration_since(last) < TOGETHER) {
            return Ok(());
        }
        if self.left == 0 {
            return Err(REFILL - now.duration_since(self.since).min(REFILL));
        }
        if self.left == BURST {
            self.since = now;
        }
        self.left -= 1;
        self.last = Some(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_ten_changes_and_then_one_a_minute() {
        let (mut paces, begin) = (Paces::default(), Instant::now());
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        for n in 0..10 {
            assert_eq!(paces.take("a", at(5 * n)), Ok(()), "{n}");
            assert_eq!(paces.take("a", at(5 * n + 1)), Ok(()), "with the one before: {n}");
        }
        assert_eq!(paces.take("a", at(50)), Err(Duration::from_secs(10)));
        assert_eq!(paces.take("b", at(50)), Ok(()), "another namespace has its own");
        assert_eq!(paces.take("a", at(60)), Ok(()));
        assert_eq!(paces.take("a", at(63)), Err(Duration::from_secs(57)));
        let taken = (64..3664).filter(|second| paces.take("a", at(*second)).is_ok()).count();
        assert!((60..=122).contains(&taken), "about one a minute, each for two seconds: {taken}");
    }

    #[test]
    fn nothing_is_asked_more_often_than_the_floor() {
        for (text, seconds) in [("1ms", 10), ("1s", 10), ("10s", 10), ("5m", 300), ("nonsense", 300)] {
            let spec = AddressSourceSpec { interval: text.into(), ..AddressSourceSpec::default() };
            assert_eq!(interval(&spec), Duration::from_secs(seconds), "{text}");
        }
    }
}
