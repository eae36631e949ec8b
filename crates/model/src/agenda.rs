//! What must be looked at again, and when.

use std::collections::{BTreeMap, BTreeSet};

use std::time::Instant;

/// Alarms by time; each is set at most once.
#[derive(Debug)]
pub struct Agenda<A> {
    by_time: BTreeSet<(Instant, A)>,
    by_alarm: BTreeMap<A, Instant>,
}

// === impl Agenda ===

impl<A: Ord + Clone> Agenda<A> {
    /// Sets an alarm, unless it is set for an earlier time.
    pub fn by(&mut self, at: Instant, alarm: A) {
        if self.by_alarm.get(&alarm).is_none_or(|set| at < *set) {
            self.at(at, alarm);
        }
    }

    /// Sets an alarm, whatever it was set for before.
    pub fn at(&mut self, at: Instant, alarm: A) {
        self.cancel(&alarm);
        self.by_alarm.insert(alarm.clone(), at);
        self.by_time.insert((at, alarm));
    }

    /// Takes an alarm away.
    pub fn cancel(&mut self, alarm: &A) {
        if let Some(at) = self.by_alarm.remove(alarm) {
            self.by_time.remove(&(at, alarm.clone()));
        }
    }

    /// When the next alarm is due.
    pub fn next(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes the alarms that are due.
    pub fn due(&mut self, now: Instant) -> Vec<A> {
        let mut due = Vec::new();
        while let Some((at, alarm)) = self.by_time.pop_first() {
            if at > now {
                self.by_time.insert((at, alarm));
                break;
            }
            self.by_alarm.remove(&alarm);
            due.push(alarm);
        }
        due
    }
}

impl<A> Default for Agenda<A> {
    fn default() -> Self {
        Self { by_time: BTreeSet::new(), by_alarm: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_alarm_is_set_once_and_an_earlier_time_wins() {
        let (mut agenda, now) = (Agenda::default(), Instant::now());
        agenda.by(now + Duration::from_secs(5), "scan");
        agenda.by(now + Duration::from_secs(9), "scan");
        agenda.by(now + Duration::from_secs(2), "write");
        assert_eq!(agenda.next(), Some(now + Duration::from_secs(2)));
        assert_eq!(agenda.due(now + Duration::from_secs(5)), ["write", "scan"]);
        assert_eq!(agenda.next(), None);
    }

    #[test]
    fn an_alarm_can_be_put_off_and_cancelled() {
        let (mut agenda, now) = (Agenda::default(), Instant::now());
        agenda.by(now, "scan");
        agenda.at(now + Duration::from_secs(60), "scan");
        assert!(agenda.due(now).is_empty());
        agenda.cancel(&"scan");
        assert_eq!(agenda.next(), None);
    }
}
