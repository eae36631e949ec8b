//! What people and machines read of a plan: text, Markdown and JSON.

use serde_json::{Map, Value, json};
use zonekeeper_kernel::{
    attribute::{AttributeValue, PROXIED, TAGS},
    guard::{self, HeldFor, Verdict},
    name::Name,
    plan::{Cause, Change, Operation, SetState},
    reason::Rejection,
    render,
    zone_change::{ZoneChange, ZoneHeldFor, ZoneVerdict},
};

use crate::session::{Report, ZoneReport, ZoneState};

/// Why a delete is not made at once.
const SETTLING: &str = "it is judged together with the deletes that come shortly after it; see guard.settle";

/// A change as it is shown: what, and whether and why it waits.
pub struct Shown<'a> {
    pub change: &'a Change,
    pub held: Option<HeldFor>,
    pub is_observed: bool,
    /// Whether it is judged with what may follow it.
    pub is_settling: bool,
}

/// A change of the zone itself as it is shown.
pub struct ShownZone<'a> {
    pub change: &'a ZoneChange,
    pub held: Option<&'a ZoneHeldFor>,
    pub is_observed: bool,
}

/// How many sets, and fields of the zone itself, a plan touches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub creates: usize,
    pub updates: usize,
    pub deletes: usize,
    pub held: usize,
}

// === impl ZoneReport ===

impl ZoneReport {
    /// Every change that is still to be made, sorted for reading.
    pub fn shown(&self) -> Vec<Shown<'_>> {
        shown(self.verdict())
    }

    /// Every change of the zone itself that is still to be made.
    pub fn shown_zone(&self) -> Vec<ShownZone<'_>> {
        shown_zone(&self.verdict().zone)
    }

    /// How many sets, and fields of the zone itself, the plan touches.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.shown(), &self.shown_zone())
    }

    /// How many changes wait for a person.
    pub fn held(&self) -> usize {
        self.verdict().held.len() + self.verdict().zone.held.len()
    }
}

// === impl Tally ===

impl Tally {
    /// Counts changes by what they do.
    pub fn of(changes: &[Shown<'_>], zone: &[ShownZone<'_>]) -> Self {
        let mut tally = Self::default();
        let sets = changes.iter().map(|shown| (shown.change.operation, shown.held.is_some()));
        let fields = zone.iter().map(|shown| (shown.change.operation, shown.held.is_some()));
        for (operation, is_held) in fields.chain(sets) {
            match operation {
                Operation::Create => tally.creates += 1,
                Operation::Update => tally.updates += 1,
                Operation::Delete => tally.deletes += 1,
            }
            tally.held += usize::from(is_held);
        }
        tally
    }
}

/// Every change that a verdict leaves to be made, sorted for reading.
pub fn shown(verdict: &Verdict) -> Vec<Shown<'_>> {
    let plain = |change| Shown { change, held: None, is_observed: false, is_settling: false };
    let cleared = verdict.cleared.changes().iter().map(plain);
    let held = verdict.held.iter().map(|held| Shown { held: Some(held.why), ..plain(&held.change) });
    let observed = verdict.observed.iter().map(|change| Shown { is_observed: true, ..plain(change) });
    let settling = verdict.settling.iter().map(|change| Shown { is_settling: true, ..plain(change) });
    let mut shown: Vec<Shown<'_>> = cleared.chain(held).chain(observed).chain(settling).collect();
    shown.sort_by(|one, other| {
        let key = |shown: &Shown<'_>| (shown.change.name.clone(), shown.change.rtype, shown.change.operation);
        key(one).cmp(&key(other))
    });
    shown
}

/// Every change of the zone itself that a verdict leaves to be made.
pub fn shown_zone(verdict: &ZoneVerdict) -> Vec<ShownZone<'_>> {
    let plain = |change| ShownZone { change, held: None, is_observed: false };
    let cleared = verdict.cleared.changes().iter().map(plain);
    let held = verdict.held.iter().map(|held| ShownZone { held: Some(&held.why), ..plain(&held.change) });
    let observed = verdict.observed.iter().map(|change| ShownZone { is_observed: true, ..plain(change) });
    cleared.chain(held).chain(observed).collect()
}

// === impl Report ===

impl Report {
    /// Identifies the whole plan, cleared and held, of all zones.
    pub fn hash(&self) -> String {
        guard::whole_hash(self.zones.iter().map(|zone| {
            let sets = zone.shown().into_iter().map(|shown| render::hash_line(shown.change));
            let fields = zone.shown_zone().into_iter().map(|shown| shown.change.hash_line());
            (zone.identity.as_str(), fields.chain(sets).collect())
        }))
    }

    /// Every wish that was refused, with the zone that refused it.
    pub fn rejections(&self) -> impl Iterator<Item = (Option<&ZoneReport>, &Rejection)> {
        let zones = self
            .zones
            .iter()
            .flat_map(|zone| zone.all_rejections().map(move |rejection| (Some(zone), rejection)));
        self.rejections.iter().map(|rejection| (None, rejection)).chain(zones)
    }

    /// Whether a zone could not be read or written, a change failed, or an object was refused.
    pub fn has_errors(&self) -> bool {
        self.rejections().next().is_some()
            || self.zones.iter().any(|zone| {
                zone.error.is_some() || !zone.pass.failed.is_empty() || !zone.pass.zone.failed.is_empty()
            })
    }

    /// Whether anything waits for a person.
    pub fn has_held(&self) -> bool {
        self.zones.iter().any(|zone| zone.held() > 0)
    }

    /// Whether anything would change.
    pub fn has_changes(&self) -> bool {
        self.zones.iter().any(|zone| zone.tally() != Tally::default())
    }

    /// For machines; the shape is part of the contract.
    pub fn json(&self) -> Value {
        let zones: Vec<Value> = self.zones.iter().map(zone_json).collect();
        let rejected: Vec<Value> = self.rejections.iter().map(rejection_json).collect();
        json!({ "hash": self.hash(), "zones": zones, "rejected": rejected })
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for zone in &self.zones {
            text.push_str(&format!("{}\n", headline(zone)));
            if let Some(error) = &zone.error {
                text.push_str(&format!("  ! {}: {error}\n", error.reason()));
            }
            for shown in zone.shown_zone() {
                text.push_str(&format!("  {}\n", zone_line(&shown)));
            }
            for shown in zone.shown() {
                text.push_str(&format!("  {}\n", shown_line(&shown, &zone.domain)));
            }
            for change in &zone.plan().zone.drift {
                text.push_str(&format!("  ! drift, reported only: {}\n", change.line()));
            }
            for change in &zone.plan().drift {
                text.push_str(&format!("  ! drift, reported only: {}\n", render::line(change, &zone.domain)));
            }
            let listed_only = zone.plan().orphans.len()
                - zone
                    .verdict()
                    .held
                    .iter()
                    .filter(|held| held.why == HeldFor::Orphaned)
                    .count()
                    .min(zone.plan().orphans.len());
            if listed_only > 0 {
                for orphan in &zone.plan().orphans {
                    let name = orphan.name.relative_to(&zone.domain);
                    let rtype = orphan.rdata.rtype();
                    text.push_str(&format!(
                        "  ? {name} {rtype} {} is orphaned: {}\n",
                        orphan.rdata, orphan.holder
                    ));
                }
            }
        }
        for (_, rejection) in self.rejections() {
            text.push_str(&format!(
                "rejected: {}: {}: {}\n",
                rejection.holder, rejection.reason, rejection.message
            ));
        }
        text
    }

    /// For a comment on a merge request.
    pub fn markdown(&self) -> String {
        let mut text = format!("### Zonekeeper plan `{}`\n", self.hash());
        for zone in &self.zones {
            text.push_str(&format!("\n**{}**\n", headline(zone)));
            if let Some(error) = &zone.error {
                text.push_str(&format!("\n> {}: {error}\n", error.reason()));
            }
            let shown = zone.shown();
            if zone.tally() == Tally::default() {
                continue;
            }
            text.push_str("\n| | Name | Type | Before | After | |\n|---|---|---|---|---|---|\n");
            for shown in zone.shown_zone() {
                text.push_str(&zone_row(&shown));
            }
            for shown in shown {
                let cell = |states: &[SetState]| {
                    let cells: Vec<String> = states
                        .iter()
                        .map(|state| {
                            let (values, notes) = (render::values(state), render::notes(state));
                            format!("`{}` ({})", escaped(&values), escaped(&notes))
                        })
                        .collect();
                    cells.join(" ")
                };
                let (before, after) = (cell(&shown.change.before()), cell(&shown.change.after()));
                text.push_str(&format!(
                    "| {} | {} | {} | {before} | {after} | {} |\n",
                    render::sign(shown.change),
                    shown.change.name.relative_to(&zone.domain),
                    shown.change.rtype,
                    note(&shown).unwrap_or_default(),
                ));
            }
        }
        let rejected: Vec<String> = self
            .rejections()
            .map(|(_, rejection)| {
                format!("- {}: **{}**: {}\n", rejection.holder, rejection.reason, rejection.message)
            })
            .collect();
        if !rejected.is_empty() {
            text.push_str(&format!("\nRejected:\n\n{}", rejected.concat()));
        }
        text
    }
}

/// One line for a change, with the reason why it waits.
pub fn shown_line(shown: &Shown<'_>, domain: &Name) -> String {
    let line = render::line(shown.change, domain);
    match note(shown) {
        Some(note) => format!("{line}   {note}"),
        None => line,
    }
}

/// One line for a change of the zone itself, with the reason why it waits.
pub fn zone_line(shown: &ShownZone<'_>) -> String {
    match zone_note(shown) {
        Some(note) => format!("{}   {note}", shown.change.line()),
        None => shown.change.line(),
    }
}

fn zone_row(shown: &ShownZone<'_>) -> String {
    let sign = match shown.change.operation {
        Operation::Create => '+',
        Operation::Update => '~',
        Operation::Delete => '-',
    };
    let side = |value: &Option<Box<str>>| value.as_deref().map(|text| format!("`{}`", escaped(text)));
    let (before, after) = (side(&shown.change.before), side(&shown.change.after));
    format!(
        "| {sign} | {} | zone | {} | {} | {} |\n",
        escaped(&shown.change.field),
        before.unwrap_or_default(),
        after.unwrap_or_default(),
        zone_note(shown).unwrap_or_default(),
    )
}

fn zone_note(shown: &ShownZone<'_>) -> Option<String> {
    match (shown.held, shown.is_observed) {
        (Some(why), _) => Some(format!("HELD: {why}")),
        (None, true) => Some("observed only".into()),
        (None, false) => None,
    }
}

fn note(shown: &Shown<'_>) -> Option<String> {
    match (shown.held, shown.is_observed) {
        _ if shown.is_settling => Some(SETTLING.into()),
        (Some(why), _) => Some(format!("HELD: {why}")),
        (None, true) => Some("observed only".into()),
        (None, false) => None,
    }
}

fn headline(zone: &ZoneReport) -> String {
    let head = format!("zone {} ({})", zone.key, zone.domain);
    if zone.state == ZoneState::Suspended {
        return format!("{head}: suspended");
    }
    let tally = zone.tally();
    match (zone.error.is_some(), tally == Tally::default()) {
        (true, _) => format!("{head}: not read"),
        (false, true) => format!("{head}: nothing to do"),
        (false, false) => {
            let held = if tally.held > 0 { format!(", {} held", tally.held) } else { String::new() };
            format!(
                "{head}: {} to create, {} to update, {} to delete{held}",
                tally.creates, tally.updates, tally.deletes
            )
        }
    }
}

fn zone_json(zone: &ZoneReport) -> Value {
    let tally = zone.tally();
    let (fields, sets) = (zone.shown_zone(), zone.shown());
    let changes = fields.iter().map(zone_change_json).chain(sets.iter().map(change_json));
    let changes: Vec<Value> = changes.collect();
    let orphans: Vec<Value> = zone
        .plan()
        .orphans
        .iter()
        .map(|orphan| {
            json!({
                "name": orphan.name.as_str(),
                "type": orphan.rdata.rtype().to_string(),
                "value": orphan.rdata.to_string(),
                "holder": orphan.holder.to_string(),
            })
        })
        .collect();
    let counts = zone.plan().counts;
    json!({
        "namespace": zone.key.namespace,
        "name": zone.key.name,
        "domain": zone.domain.as_str(),
        "hash": zone.verdict().hash,
        "creates": tally.creates,
        "updates": tally.updates,
        "deletes": tally.deletes,
        "held": tally.held,
        "changes": changes,
        "records": {
            "desired": counts.desired,
            "live": counts.live,
            "owned": counts.owned,
            "foreign": counts.foreign,
            "orphaned": counts.orphaned,
        },
        "orphans": orphans,
        "rejected": zone.all_rejections().map(rejection_json).collect::<Vec<_>>(),
        "error": zone.error.as_ref().map(|error| json!({"reason": error.reason(), "message": error.to_string()})),
    })
}

/// One change for machines; the shape is part of the contract.
pub fn change_json(shown: &Shown<'_>) -> Value {
    let reason = match (shown.held, shown.is_observed, &shown.change.cause) {
        _ if shown.is_settling => Some("Pending"),
        (Some(HeldFor::Orphaned), _, _) => Some("Orphaned"),
        (Some(_), _, _) => Some("Held"),
        (None, true, _) => Some("Observed"),
        (None, false, Cause::Drift) => Some("DriftDetected"),
        (
            None,
            false,
            Cause::Wanted | Cause::Released(_) | Cause::Orphaned(_) | Cause::Needed(_) | Cause::Pruned,
        ) => None,
    };
    let message = match shown.is_settling {
        true => Some(SETTLING.to_owned()),
        false => shown.held.map(|why| why.to_string()),
    };
    json!({
        "operation": shown.change.operation.as_str(),
        "name": shown.change.name.as_str(),
        "type": shown.change.rtype.to_string(),
        "before": state_json(&shown.change.before()),
        "after": state_json(&shown.change.after()),
        "held": shown.held.is_some(),
        "reason": reason,
        "message": message,
        "markerOnly": render::is_marking(shown.change),
    })
}

/// One change of the zone itself for machines; the shape is part of the contract.
pub fn zone_change_json(shown: &ShownZone<'_>) -> Value {
    let reason = match (shown.held, shown.is_observed, &shown.change.cause) {
        (Some(_), _, _) => Some("Held"),
        (None, true, _) => Some("Observed"),
        (None, false, Cause::Drift) => Some("DriftDetected"),
        (
            None,
            false,
            Cause::Wanted | Cause::Released(_) | Cause::Orphaned(_) | Cause::Needed(_) | Cause::Pruned,
        ) => None,
    };
    json!({
        "operation": shown.change.operation.as_str(),
        "field": shown.change.field,
        "before": shown.change.before.as_deref().map(field_value),
        "after": shown.change.after.as_deref().map(field_value),
        "held": shown.held.is_some(),
        "reason": reason,
        "message": shown.held.map(ToString::to_string),
    })
}

/// The value of a field: JSON if it is some, else the text.
fn field_value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// A set as JSON; where a name changes between several types, their values carry the type.
fn state_json(states: &[SetState]) -> Value {
    let Some(first) = states.first() else { return Value::Null };
    let types: Vec<String> = states.iter().map(|state| state.rtype.to_string()).collect();
    let values: Vec<String> = match states {
        [one] => one.values.iter().map(ToString::to_string).collect(),
        several => several
            .iter()
            .flat_map(|state| state.values.iter().map(|value| format!("{} {value}", state.rtype)))
            .collect(),
    };
    let mut json = json!({
        "type": types.join("+"),
        "ttl": first.ttl.0,
        "values": values,
        "proxied": states.iter().any(|state| state.attributes.is_on(PROXIED)),
        "tags": first.attributes.list(TAGS),
    });
    if let Some(comment) = &first.comment {
        json["comment"] = (&**comment).into();
    }
    // What is off is not listed.
    let settings =
        first.attributes.iter().filter(|(name, value)| ![PROXIED, TAGS].contains(name) && !value.is_unset());
    let settings: Map<String, Value> =
        settings.map(|(name, value)| (name.to_owned(), attribute_json(value))).collect();
    if !settings.is_empty() {
        json["settings"] = settings.into();
    }
    json
}

fn attribute_json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Flag(is_on) => (*is_on).into(),
        AttributeValue::Text(text) => (&**text).into(),
        AttributeValue::List(texts) => json!(texts),
    }
}

fn rejection_json(rejection: &Rejection) -> Value {
    json!({
        "object": rejection.holder.as_str(),
        "name": rejection.name.as_ref().map(Name::as_str),
        "type": rejection.rtype.to_string(),
        "reason": rejection.reason.as_str(),
        "message": rejection.message,
    })
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('`', "'")
}
