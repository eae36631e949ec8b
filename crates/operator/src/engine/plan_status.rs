//! What is left to do in a zone, for its status.

use zonekeeper_api::{PlanStatus, PlannedChange, wellknown::APPROVE_PLAN};
use zonekeeper_kernel::{name::Name, zone_change::ZoneHeldFor};

use zonekeeper_model::pass::Outstanding;

use crate::{
    engine::Pass,
    report::{Tally, change_json, shown, shown_zone, zone_change_json},
};

/// How many changes a status lists; and how large they may be together, so that a status stays readable.
const MOST_CHANGES: usize = 100;
const MOST_BYTES: usize = 50_000;

/// What a pass left undone.
pub fn outstanding(pass: &Pass, domain: &Name) -> Outstanding {
    let all = shown(&pass.verdict);
    let zone = shown_zone(&pass.verdict.zone);
    let tally = Tally::of(&all, &zone);
    let mut bytes = 0;
    let mut changes: Vec<PlannedChange> = Vec::new();
    let changes_as_json = zone.iter().map(zone_change_json).chain(all.iter().map(change_json));
    for json in changes_as_json.take(MOST_CHANGES) {
        bytes += json.to_string().len();
        if bytes > MOST_BYTES {
            break;
        }
        changes.extend(serde_json::from_value(json).ok());
    }
    let held_zone = pass.verdict.zone.held.last().map(|held| match &held.why {
        ZoneHeldFor::Irreversible | ZoneHeldFor::Authority => {
            format!("held: {}; {}", held.change.line(), how_to_approve(&pass.verdict.hash))
        }
        ZoneHeldFor::Blocked(why) => format!("held: {}: {why}", held.change.line()),
    });
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
        held: held_zone.or(held),
    }
}

/// How a person releases what is held.
pub fn how_to_approve(hash: &str) -> String {
    format!("look at status.plan of the DNSZone, then annotate it with {APPROVE_PLAN}={hash}")
}
