//! What is left to do in a zone, for its status and for the objects that it concerns.

use zonekeeper_api::{PlanStatus, PlannedChange, Reason, wellknown::APPROVE_PLAN};
use zonekeeper_kernel::{name::Name, plan::Change, resolve::Intent};

use crate::{
    cluster::{
        conditions::Verdict,
        job::{Drifted, concerns},
    },
    report::{Tally, change_json, shown},
    zone::Pass,
};

/// How many changes a status lists; and how large they may be together, so that a status stays readable.
const MOST_CHANGES: usize = 100;
const MOST_BYTES: usize = 50_000;

/// Changes that were not carried out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outstanding {
    pub plan: PlanStatus,
    /// Why the first held change waits.
    pub held: Option<String>,
}

/// What a pass left undone.
pub fn outstanding(pass: &Pass, domain: &Name) -> Outstanding {
    let all = shown(&pass.verdict);
    let tally = Tally::of(&all);
    let mut bytes = 0;
    let mut changes: Vec<PlannedChange> = Vec::new();
    for change in all.iter().take(MOST_CHANGES) {
        let json = change_json(change);
        bytes += json.to_string().len();
        if bytes > MOST_BYTES {
            break;
        }
        changes.extend(serde_json::from_value(json).ok());
    }
    let held = pass.verdict.held.first().map(|held| {
        let more = match pass.verdict.held.len() {
            0 | 1 => String::new(),
            all => format!(" and {} more", all - 1),
        };
        format!(
            "held: {} {}{more}: {}; {}",
            held.change.name.relative_to(domain),
            held.change.rtype,
            held.why,
            how_to_approve(&pass.verdict.hash)
        )
    });
    Outstanding {
        plan: PlanStatus {
            hash: pass.verdict.hash.clone(),
            creates: tally.creates as u32,
            updates: tally.updates as u32,
            deletes: tally.deletes as u32,
            held: tally.held as u32,
            changes,
        },
        held,
    }
}

/// What became of a wish that was not refused.
pub fn verdict(pass: &Pass, name: &Name, intent: &Intent, domain: &Name, drift: &Option<Drifted>) -> Verdict {
    let is_it = |change: &Change| concerns(change, name, intent);
    let what = || format!("{} {} of {domain}", name.relative_to(domain), intent.rtype);
    if let Some(unfinished) = unfinished(pass, &is_it) {
        return unfinished;
    }
    if let Some(Drifted::Reported(message)) = drift {
        return Verdict::new(Reason::DriftDetected, message.clone());
    }
    Verdict::new(Reason::Programmed, format!("{} is in the zone", what()))
}

/// Why a change that concerns somebody was not carried out, where that is so.
pub fn unfinished(pass: &Pass, is_it: &dyn Fn(&Change) -> bool) -> Option<Verdict> {
    if let Some(failure) = pass.failed.iter().find(|failure| is_it(&failure.change)) {
        let reason = failure.error.reason().parse().unwrap_or(Reason::ProviderRejected);
        return Some(Verdict::new(reason, failure.error.to_string()));
    }
    if let Some(held) = pass.verdict.held.iter().find(|held| is_it(&held.change)) {
        let message = format!("{}; {}", held.why, how_to_approve(&pass.verdict.hash));
        return Some(Verdict::new(Reason::Held, message));
    }
    if pass.verdict.observed.iter().any(is_it) {
        return Some(Verdict::new(Reason::Observed, "the zone's policy is Observe: nothing is written"));
    }
    if pass.plan.withheld.iter().any(is_it) {
        let message = "the zone's policy leaves this change undone; see spec.policy of the DNSZone";
        return Some(Verdict::new(Reason::Observed, message));
    }
    if pass.verdict.cleared.changes().iter().any(is_it) {
        return Some(Verdict::new(Reason::Pending, "not done yet; it is tried again"));
    }
    None
}

fn how_to_approve(hash: &str) -> String {
    format!("look at status.plan of the DNSZone, then annotate it with {APPROVE_PLAN}={hash}")
}
