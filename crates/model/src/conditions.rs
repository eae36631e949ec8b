//! Conditions as kstatus, Flux, Argo CD and `kubectl wait` understand them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use zonekeeper_api::{ConditionType, Reason};

use crate::clock::Now;

/// How far an object has come, and why not further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub reason: Reason,
    pub message: String,
}

/// Since when conditions are as they are.
#[derive(Debug, Clone, Default)]
pub struct Transitions(Vec<(ConditionType, bool, Time)>);

/// One condition to be shown.
pub struct Shown<'a> {
    pub kind: ConditionType,
    pub is_true: bool,
    pub reason: Reason,
    pub message: &'a str,
}

// === impl Transitions ===

impl Transitions {
    /// What a status says.
    pub fn of(conditions: &[Condition]) -> Self {
        let read = |condition: &Condition| {
            let kind = ConditionType::all().iter().find(|kind| kind.as_str() == condition.type_)?;
            Some((*kind, condition.status == "True", condition.last_transition_time.clone()))
        };
        let mut transitions: Vec<_> = conditions.iter().filter_map(read).collect();
        transitions.shrink_to_fit();
        Self(transitions)
    }

    /// Whether a condition is true.
    pub fn is_true(&self, kind: ConditionType) -> bool {
        self.0.iter().any(|(other, is_true, _)| *other == kind && *is_true)
    }

    fn since(&self, kind: ConditionType, is_true: bool) -> Option<&Time> {
        self.0.iter().find(|(other, status, _)| *other == kind && *status == is_true).map(|(_, _, time)| time)
    }
}

// === impl Verdict ===

impl Verdict {
    /// A verdict by its word and what a person needs to know.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    /// Whether the object is as it should be.
    pub fn is_ready(&self) -> bool {
        matches!(self.reason, Reason::Programmed | Reason::Suspended | Reason::DriftReverted)
    }

    /// Whether what the object asks for is in its zone: what is suspended is as it should be, and not there.
    pub fn is_in_place(&self) -> bool {
        self.is_ready() && self.reason != Reason::Suspended
    }

    /// Whether the object may have what it asks for.
    pub fn is_accepted(&self) -> bool {
        !matches!(
            self.reason,
            Reason::Conflict
                | Reason::NotAllowed
                | Reason::NoMatchingZone
                | Reason::AmbiguousZone
                | Reason::DuplicateZone
                | Reason::InvalidValue
                | Reason::ReservedName
                | Reason::RefNotFound
                | Reason::RefNotPermitted
        )
    }

    /// Whether work is under way, or will be without a person's help.
    pub fn is_reconciling(&self) -> bool {
        matches!(
            self.reason,
            Reason::Pending
                | Reason::RateLimited
                | Reason::ProviderUnavailable
                | Reason::TargetsUnknown
                | Reason::Terminating
                | Reason::ZonePending
                | Reason::ServersBehind
        )
    }

    /// Whether a provider does not answer, or asks us to wait.
    pub fn is_outage(&self) -> bool {
        matches!(self.reason, Reason::ProviderUnavailable | Reason::RateLimited)
    }

    /// The same for those who want something of a zone: of an outage only what does not change while it lasts, so that
    /// thousands of statuses are written once. The zone says the rest.
    pub fn for_requesters(&self) -> Self {
        let message = match self.reason {
            Reason::ProviderUnavailable => {
                "the zone's provider does not answer; what is there stays, and it is tried again. The DNSZone says more"
            }
            Reason::RateLimited => {
                "the zone's request budget is used up for now; it goes on by itself. The DNSZone says more"
            }
            _other => return self.clone(),
        };
        Self::new(self.reason, message)
    }

    /// Whether only a person can help.
    pub fn is_stalled(&self) -> bool {
        !self.is_ready() && !self.is_reconciling() && self.reason != Reason::Observed
    }

    /// The conditions that every kind has, each with words of its own.
    pub fn common(&self) -> [Shown<'_>; 3] {
        [
            Shown {
                kind: ConditionType::Ready,
                is_true: self.is_ready(),
                reason: self.reason,
                message: &self.message,
            },
            self.shown(ConditionType::Reconciling, self.is_reconciling(), "no work is under way"),
            self.shown(ConditionType::Stalled, self.is_stalled(), "no action by a person is needed"),
        ]
    }

    /// Whether the object may have what it asks for, and whether the provider holds it.
    pub fn progress(&self) -> [Shown<'_>; 2] {
        let is_there = self.is_in_place();
        let programmed = match is_there {
            true => "the provider holds what is asked for",
            false => {
                "the provider does not hold what is asked for, as far as is known; see the Ready condition"
            }
        };
        let is_accepted = self.is_accepted();
        let accepted = if is_accepted { "it may have what it asks for" } else { &*self.message };
        [
            Shown {
                kind: ConditionType::Accepted,
                is_true: is_accepted,
                reason: self.reason,
                message: accepted,
            },
            Shown {
                kind: ConditionType::Programmed,
                is_true: is_there,
                reason: self.reason,
                message: programmed,
            },
        ]
    }

    /// A condition that says why where it is true, and else that nothing is the matter.
    fn shown<'a>(&'a self, kind: ConditionType, is_true: bool, otherwise: &'a str) -> Shown<'a> {
        let message = if is_true { &*self.message } else { otherwise };
        Shown { kind, is_true, reason: self.reason, message }
    }
}

/// Conditions for a status; whatever did not change keeps its time.
pub fn conditions<'a>(
    before: &Transitions,
    generation: Option<i64>,
    shown: impl IntoIterator<Item = Shown<'a>>,
    now: Now,
) -> Vec<Condition> {
    let shown = shown.into_iter().map(|shown| {
        let (kind, status) = (shown.kind.as_str(), if shown.is_true { "True" } else { "False" });
        let since = before.since(shown.kind, shown.is_true).cloned();
        Condition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: shown.reason.as_str().to_owned(),
            message: shortened(shown.message),
            observed_generation: generation,
            last_transition_time: since.unwrap_or_else(|| now.time()),
        }
    });
    shown.collect()
}

/// Kubernetes allows 32 KiB, which is too long to read.
fn shortened(message: &str) -> String {
    const LONGEST: usize = 1_000;
    if message.len() <= LONGEST {
        return message.to_owned();
    }
    let end = (0..=LONGEST).rev().find(|at| message.is_char_boundary(*at)).unwrap_or_default();
    format!("{} ...", &message[..end])
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use k8s_openapi::jiff::Timestamp;

    use super::*;

    #[test]
    fn a_condition_keeps_its_time_until_its_status_changes() {
        let ready = Verdict::new(Reason::Programmed, "in the zone");
        let now = Now::new(Instant::now(), Timestamp::now());
        let mut before = conditions(&Transitions::default(), Some(1), ready.common(), now);
        let long_ago = Time("2020-01-01T00:00:00Z".parse().unwrap());
        before[0].last_transition_time = long_ago.clone();
        let before = Transitions::of(&before);
        let again = conditions(&before, Some(2), ready.common(), now);
        assert_eq!(again[0].last_transition_time, long_ago);
        assert_eq!(again[0].observed_generation, Some(2));
        let held = Verdict::new(Reason::Held, "waits");
        assert_ne!(conditions(&before, Some(2), held.common(), now)[0].last_transition_time, long_ago);
    }

    #[test]
    fn no_two_conditions_say_the_same_of_an_object_that_is_well() {
        let verdict = Verdict::new(Reason::Programmed, "www A of example.com is in the zone");
        let shown: Vec<Shown<'_>> = verdict.common().into_iter().chain(verdict.progress()).collect();
        let messages: std::collections::BTreeSet<&str> = shown.iter().map(|shown| shown.message).collect();
        assert_eq!(messages.len(), shown.len(), "{messages:?}");
    }

    #[test]
    fn every_reason_is_ready_or_reconciling_or_stalled_or_merely_observed() {
        for reason in Reason::all() {
            let verdict = Verdict::new(*reason, "");
            let states = [verdict.is_ready(), verdict.is_reconciling(), verdict.is_stalled()];
            let count = states.iter().filter(|state| **state).count();
            assert_eq!(count, usize::from(*reason != Reason::Observed), "{reason}");
        }
    }
}
