//! What became of the changes of a pass, by name: thousands of wishes each look for their own.

use std::collections::BTreeMap;

use zonekeeper_api::Reason;
use zonekeeper_kernel::{
    guard::HeldFor,
    name::Name,
    plan::{Cause, Change},
    rdata::RecordType,
    resolve::Intent,
};
use zonekeeper_providers::ProviderError;

use zonekeeper_model::{conditions::Verdict, pass::Drifted, reasons};

use crate::engine::{Pass, drift, plan_status::how_to_approve, run::concerns};

/// What became of the changes of a pass.
pub struct Fates<'a> {
    /// Identifies what is held.
    hash: &'a str,
    /// At each name, what matters most comes first.
    by_name: BTreeMap<&'a Name, Vec<(Fate<'a>, &'a Change)>>,
}

/// What became of a change.
#[derive(Debug, Clone, Copy)]
enum Fate<'a> {
    Failed(&'a ProviderError),
    Held(HeldFor),
    /// The zone is only watched.
    Observed,
    /// The zone's policy leaves it undone.
    Withheld,
    Pending,
    /// A delete that is judged with what may follow it.
    Settling,
    /// A change from outside, which is left as it is.
    Reported,
    Applied,
}

// === impl Fate ===

impl Fate<'_> {
    /// Why a change was not carried out, where it was to be.
    fn unfinished(self, hash: &str) -> Option<Verdict> {
        let (reason, message) = match self {
            Self::Failed(error) => (reasons::of_error(error), error.to_string()),
            Self::Held(why) => (Reason::Held, format!("{why}; {}", how_to_approve(hash))),
            Self::Observed => (Reason::Observed, "the zone's policy is Observe: nothing is written".into()),
            Self::Withheld => {
                let message = "the zone's policy leaves this change undone; see spec.policy of the DNSZone";
                (Reason::Observed, message.into())
            }
            Self::Pending => (Reason::Pending, "not done yet; it is tried again".into()),
            Self::Settling => (Reason::Pending, "its records are being removed".into()),
            Self::Reported | Self::Applied => return None,
        };
        Some(Verdict::new(reason, message).for_requesters())
    }
}

// === impl Fates ===

impl<'a> Fates<'a> {
    /// Sorts the changes of a pass.
    pub fn of(pass: &'a Pass) -> Self {
        let failed = pass.failed.iter().map(|failure| (Fate::Failed(&failure.error), &failure.change));
        let held = pass.verdict.held.iter().map(|held| (Fate::Held(held.why), &held.change));
        let observed = pass.verdict.observed.iter().map(|change| (Fate::Observed, change));
        let withheld = pass.plan.withheld.iter().map(|change| (Fate::Withheld, change));
        let pending = pass.verdict.cleared.changes().iter().map(|change| (Fate::Pending, change));
        let settling = pass.verdict.settling.iter().map(|change| (Fate::Settling, change));
        let reported = pass.plan.drift.iter().map(|change| (Fate::Reported, change));
        let applied = pass.applied.iter().map(|change| (Fate::Applied, change));
        let mut by_name: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let unfinished = failed.chain(held).chain(observed).chain(withheld).chain(pending).chain(settling);
        for (fate, change) in unfinished.chain(reported).chain(applied) {
            by_name.entry(&change.name).or_default().push((fate, change));
        }
        Self { hash: &pass.verdict.hash, by_name }
    }

    /// What became of a wish that was not refused.
    pub fn verdict(&self, name: &Name, intent: &Intent, domain: &Name, drift: &Option<Drifted>) -> Verdict {
        if let Some(unfinished) = self.unfinished(name, |change| concerns(change, name, intent)) {
            return unfinished;
        }
        if let Some(Drifted::Reported(message)) = drift {
            return Verdict::new(Reason::DriftDetected, message.clone());
        }
        let what = format!("{} {} of {domain}", name.relative_to(domain), intent.rtype);
        Verdict::new(Reason::Programmed, format!("{what} is in the zone"))
    }

    /// Why a change at a name was not carried out, where that is so.
    pub fn unfinished(&self, name: &Name, is_it: impl Fn(&Change) -> bool) -> Option<Verdict> {
        self.at(name).filter(|(_, change)| is_it(change)).find_map(|(fate, _)| fate.unfinished(self.hash))
    }

    /// What was changed from outside in one set: only reported, or undone in this pass.
    pub fn drift(&self, name: &Name, rtype: RecordType, domain: &Name) -> Option<Drifted> {
        let is_it = |change: &Change| {
            change.rtype == rtype && change.cause == Cause::Drift && !change.edits.is_empty()
        };
        self.at(name).filter(|(_, change)| is_it(change)).find_map(|(fate, change)| match fate {
            Fate::Reported => Some(Drifted::Reported(drift::message(change, domain))),
            Fate::Applied => Some(Drifted::Reverted(drift::message(change, domain))),
            Fate::Failed(_)
            | Fate::Held(_)
            | Fate::Observed
            | Fate::Withheld
            | Fate::Pending
            | Fate::Settling => None,
        })
    }

    /// Whether something was written for a wish.
    pub fn has_written(&self, name: &Name, intent: &Intent) -> bool {
        let is_for_it = |change: &Change| change.holders.contains(&intent.holder);
        self.at(name).any(|(fate, change)| matches!(fate, Fate::Applied) && is_for_it(change))
    }

    fn at(&self, name: &Name) -> impl Iterator<Item = (Fate<'a>, &'a Change)> {
        self.by_name.get(name).into_iter().flatten().copied()
    }
}
