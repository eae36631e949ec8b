//! Changes of a zone itself: that it is there, how it is configured, that it goes. Field by field, beside its records.

use std::collections::BTreeMap;

use crate::{
    plan::{Cause, Operation},
    transfer_key::TransferKey,
    zone::{Drift, Policy, Rules},
    zone_state::Contents,
};

/// The field that stands for the zone itself, in changes that create or delete it.
pub const ZONE: &str = "zone";
/// The field that says whether the zone is signed.
pub const DNSSEC: &str = "dnssec";
/// How the fields of SOA and apex NS begin.
pub const AUTHORITY: &str = "authority.";
/// The field that says how the zone is set up.
pub const TYPE: &str = "type";
/// The value of [`TYPE`] for a zone that is transferred from other servers.
pub const SECONDARY: &str = "\"secondary\"";
/// The servers that such a zone is transferred from.
pub const PRIMARIES: &str = "primaries";
/// The name of the key for these transfers.
pub const TRANSFER_TSIG: &str = "transferTsig";

/// What is configured of a zone: values by field. A value is a text in one fixed form, so that equal ones are equal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields(BTreeMap<Box<str>, Box<str>>);

/// What is wanted of a zone itself. Fields that are not listed are left alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ZoneWish {
    /// Whether it is to be there.
    pub presence: Presence,
    /// How it is to be configured.
    pub fields: Fields,
    /// Whether it is to go when its object goes.
    pub ends_with_object: bool,
    /// The key behind [`TRANSFER_TSIG`].
    pub transfer_key: Option<TransferKey>,
}

/// Whether a zone is to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Presence {
    /// As it is.
    #[default]
    Unmanaged,
    /// It is created if it is missing.
    Created,
    /// It is to go.
    Deleted,
}

/// What is there of a zone.
#[derive(Debug, Clone, Copy)]
pub enum ZoneLive<'a> {
    /// It is not there.
    Missing,
    /// It is there, configured like this: at least every wanted field that the provider has.
    There(&'a Fields),
}

/// A change of a zone itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneChange {
    /// What it does.
    pub operation: Operation,
    /// The field; [`ZONE`] for the zone itself.
    pub field: Box<str>,
    /// Its value now.
    pub before: Option<Box<str>>,
    /// Its value after the change.
    pub after: Option<Box<str>>,
    /// Why.
    pub cause: Cause,
}

/// What must change of a zone itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ZonePlan {
    /// The changes, in the order in which they are made.
    pub changes: Vec<ZoneChange>,
    /// Outside changes that are reported and not reverted.
    pub drift: Vec<ZoneChange>,
    /// Changes that the zone's policy leaves undone.
    pub withheld: Vec<ZoneChange>,
}

/// Zone changes that may be made. Only the guard makes one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClearedZone {
    changes: Vec<ZoneChange>,
}

/// A zone change that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldZone {
    /// The change.
    pub change: ZoneChange,
    /// Why it waits.
    pub why: ZoneHeldFor,
}

/// Why a zone change waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZoneHeldFor {
    /// It can't be undone: it is made only by approval.
    Irreversible,
    /// It is about SOA or apex NS, on which all of the zone rests.
    Authority,
    /// Something else must happen first, whatever is approved.
    Blocked(String),
}

/// What the guard says of changes of a zone itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ZoneVerdict {
    /// What may be made.
    pub cleared: ClearedZone,
    /// What waits for a person.
    pub held: Vec<HeldZone>,
    /// What is only watched.
    pub observed: Vec<ZoneChange>,
}

/// Plans a zone itself. `settled` are the values that were applied, or seen as wanted, before.
///
/// Guarantees: what is not listed in the wish is not changed; a zone that is to go is changed in nothing but what must
/// go before it.
pub fn plan(wish: &ZoneWish, live: ZoneLive<'_>, settled: &Fields, rules: &Rules) -> ZonePlan {
    let mut plan = ZonePlan::default();
    let changes = match (wish.presence, live) {
        (Presence::Unmanaged | Presence::Deleted, ZoneLive::Missing) => Vec::new(),
        (Presence::Created, ZoneLive::Missing) => creation(wish),
        (Presence::Deleted, ZoneLive::There(live)) => deletion(live),
        (Presence::Unmanaged | Presence::Created, ZoneLive::There(live)) => updates(wish, live, settled),
    };
    for change in changes {
        let is_allowed = match (rules.policy, change.operation) {
            (Policy::Sync | Policy::Observe, _) | (_, Operation::Create) => true,
            (Policy::UpsertOnly, Operation::Update) => wish.presence != Presence::Deleted,
            (Policy::UpsertOnly | Policy::CreateOnly, _) => false,
        };
        match (is_allowed, &change.cause, rules.drift) {
            (false, _, _) => plan.withheld.push(change),
            (true, Cause::Drift, Drift::Report) => plan.drift.push(change),
            (true, _, _) => plan.changes.push(change),
        }
    }
    plan
}

/// A zone is created first, and configured then.
fn creation(wish: &ZoneWish) -> Vec<ZoneChange> {
    let zone = ZoneChange {
        operation: Operation::Create,
        field: ZONE.into(),
        before: None,
        after: Some("created".into()),
        cause: Cause::Wanted,
    };
    let fields = wish.fields.iter().map(|(field, value)| ZoneChange {
        operation: Operation::Update,
        field: field.into(),
        before: None,
        after: Some(value.into()),
        cause: Cause::Wanted,
    });
    std::iter::once(zone).chain(fields).collect()
}

/// Signing ends before the zone does.
fn deletion(live: &Fields) -> Vec<ZoneChange> {
    let is_signed = live.get(DNSSEC) == Some("On");
    let unsigned = is_signed.then(|| ZoneChange {
        operation: Operation::Update,
        field: DNSSEC.into(),
        before: Some("On".into()),
        after: Some("Off".into()),
        cause: Cause::Wanted,
    });
    let zone = ZoneChange {
        operation: Operation::Delete,
        field: ZONE.into(),
        before: Some("there".into()),
        after: None,
        cause: Cause::Wanted,
    };
    unsigned.into_iter().chain([zone]).collect()
}

fn updates(wish: &ZoneWish, live: &Fields, settled: &Fields) -> Vec<ZoneChange> {
    let differs = |(field, value): &(&str, &str)| live.get(field) != Some(value);
    let change = |(field, value): (&str, &str)| ZoneChange {
        operation: Operation::Update,
        field: field.into(),
        before: live.get(field).map(Into::into),
        after: Some(value.into()),
        cause: if settled.get(field) == Some(value) { Cause::Drift } else { Cause::Wanted },
    };
    wish.fields.iter().filter(differs).map(change).collect()
}

/// Splits a plan into what may be made and what waits for a person. `blocks` says what must happen before a change,
/// whatever is approved.
pub(crate) fn clear(
    changes: Vec<ZoneChange>,
    policy: Policy,
    blocks: &crate::guard::Blocks<'_>,
) -> ZoneVerdict {
    let mut verdict = ZoneVerdict::default();
    if policy == Policy::Observe {
        verdict.observed = changes;
        return verdict;
    }
    let is_going = changes.iter().any(|change| change.operation == Operation::Delete);
    for change in changes {
        let why = match blocks(&change) {
            Some(why) => Some(ZoneHeldFor::Blocked(why)),
            None if is_going && !crate::mutant::is_on("guard: zones go") => Some(ZoneHeldFor::Irreversible),
            None if change.field.starts_with(AUTHORITY) && change.before.is_some() => {
                Some(ZoneHeldFor::Authority)
            }
            None => None,
        };
        match why {
            Some(why) => verdict.held.push(HeldZone { change, why }),
            None => verdict.cleared.changes.push(change),
        }
    }
    verdict
}

// === impl Fields ===

impl Fields {
    /// Sets a value.
    pub fn insert(&mut self, field: impl Into<Box<str>>, value: impl Into<Box<str>>) {
        self.0.insert(field.into(), value.into());
    }

    /// Forgets a value.
    pub fn remove(&mut self, field: &str) {
        self.0.remove(field);
    }

    /// A value.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(|value| &**value)
    }

    /// All values, sorted by field.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(field, value)| (&**field, &**value))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<Field: Into<Box<str>>, Value: Into<Box<str>>> FromIterator<(Field, Value)> for Fields {
    fn from_iter<Iter: IntoIterator<Item = (Field, Value)>>(fields: Iter) -> Self {
        Self(fields.into_iter().map(|(field, value)| (field.into(), value.into())).collect())
    }
}

// === impl ZoneWish ===

impl ZoneWish {
    /// Whether the zone itself is left as it is.
    pub fn is_empty(&self) -> bool {
        self.presence == Presence::Unmanaged && self.fields.is_empty()
    }

    /// Whose records the zone is to have.
    pub fn contents(&self) -> Contents {
        match self.fields.get(TYPE) {
            Some(SECONDARY) => Contents::Copies,
            Some(_) | None => Contents::Own,
        }
    }
}

// === impl ZoneChange ===

impl ZoneChange {
    /// One line for a person: `~ zone dnssec: Off -> On`.
    pub fn line(&self) -> String {
        let side = |value: &Option<Box<str>>| value.as_deref().unwrap_or("not known").to_owned();
        match self.operation {
            Operation::Create => "+ zone".into(),
            Operation::Delete => "- zone, with all its records".into(),
            Operation::Update => {
                format!("~ zone {}: {} -> {}", self.field, side(&self.before), side(&self.after))
            }
        }
    }

    /// The line that hashes are made of. Approvals depend on it: its form is fixed.
    pub fn hash_line(&self) -> String {
        let side =
            |value: &Option<Box<str>>| value.as_deref().map(str::escape_default).map(|text| text.to_string());
        let (before, after) = (side(&self.before).unwrap_or_default(), side(&self.after).unwrap_or_default());
        format!("{}\tzone\t{}\t{before}\t{after}", self.operation.as_str(), self.field.escape_default())
    }
}

// === impl ClearedZone ===

impl ClearedZone {
    /// The changes, in the order in which they are to be made.
    pub fn changes(&self) -> &[ZoneChange] {
        &self.changes
    }

    /// Takes the changes out.
    pub fn into_changes(self) -> Vec<ZoneChange> {
        self.changes
    }
}

// === impl ZoneVerdict ===

impl ZoneVerdict {
    /// The lines of what an approval would release.
    pub(crate) fn held_lines(&self) -> impl Iterator<Item = String> {
        let is_released = |held: &&HeldZone| !matches!(held.why, ZoneHeldFor::Blocked(_));
        self.held.iter().filter(is_released).map(|held| held.change.hash_line())
    }

    /// Clears what waits for approval only.
    pub(crate) fn release(&mut self) {
        let (blocked, released): (Vec<_>, Vec<_>) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|held| matches!(held.why, ZoneHeldFor::Blocked(_)));
        self.cleared.changes.extend(released.into_iter().map(|held| held.change));
        self.held = blocked;
    }
}

// === impl ZoneHeldFor ===

impl std::fmt::Display for ZoneHeldFor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Irreversible => formatter.write_str("a zone is deleted only by approval"),
            Self::Authority => formatter.write_str("SOA and apex NS records are changed only by approval"),
            Self::Blocked(why) => formatter.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(listed: &[(&str, &str)]) -> Fields {
        listed.iter().map(|(field, value)| (*field, *value)).collect()
    }

    fn lines(changes: &[ZoneChange]) -> Vec<String> {
        changes.iter().map(ZoneChange::line).collect()
    }

    #[test]
    fn only_listed_fields_change_and_equal_ones_do_not() {
        let wish = ZoneWish {
            presence: Presence::Created,
            fields: fields(&[("paused", "false"), ("settings.ssl", "\"strict\"")]),
            ..ZoneWish::default()
        };
        let live = fields(&[("paused", "false"), ("settings.ssl", "\"full\""), ("type", "\"full\"")]);
        let plan = plan(&wish, ZoneLive::There(&live), &Fields::default(), &Rules::default());
        assert_eq!(lines(&plan.changes), ["~ zone settings.ssl: \"full\" -> \"strict\""]);
        assert_eq!(plan.changes[0].cause, Cause::Wanted);
    }

    #[test]
    fn what_was_as_wanted_before_is_drift_and_may_be_reported_only() {
        let wish = ZoneWish { fields: fields(&[("paused", "false")]), ..ZoneWish::default() };
        let live = fields(&[("paused", "true")]);
        let rules = Rules { drift: Drift::Report, ..Rules::default() };
        let reported = plan(&wish, ZoneLive::There(&live), &wish.fields, &rules);
        assert_eq!((reported.changes.len(), reported.drift.len()), (0, 1));
        let reverted = plan(&wish, ZoneLive::There(&live), &wish.fields, &Rules::default());
        assert_eq!(reverted.changes[0].cause, Cause::Drift);
    }

    #[test]
    fn a_missing_zone_is_created_only_if_that_is_asked_for() {
        let rules = Rules { policy: Policy::CreateOnly, ..Rules::default() };
        let none = plan(&ZoneWish::default(), ZoneLive::Missing, &Fields::default(), &rules);
        assert_eq!(none, ZonePlan::default());
        let wish = ZoneWish {
            presence: Presence::Created,
            fields: fields(&[("paused", "true")]),
            ..ZoneWish::default()
        };
        let created = plan(&wish, ZoneLive::Missing, &Fields::default(), &rules);
        assert_eq!(lines(&created.changes), ["+ zone"]);
        assert_eq!(created.withheld.len(), 1);
    }

    #[test]
    fn a_zone_goes_unsigned_and_only_by_approval() {
        let wish = ZoneWish {
            presence: Presence::Deleted,
            fields: fields(&[("paused", "true")]),
            ..ZoneWish::default()
        };
        let live = fields(&[("paused", "false"), (DNSSEC, "On")]);
        let planned = plan(&wish, ZoneLive::There(&live), &Fields::default(), &Rules::default());
        assert_eq!(lines(&planned.changes), ["~ zone dnssec: On -> Off", "- zone, with all its records"]);
        let mut verdict = clear(planned.changes, Policy::Sync, &|_| None);
        assert!(verdict.cleared.changes().is_empty());
        assert_eq!(verdict.held.len(), 2);
        verdict.release();
        assert_eq!(verdict.cleared.changes().len(), 2);
    }

    #[test]
    fn soa_and_name_servers_change_only_by_approval() {
        let wish = ZoneWish { fields: fields(&[("authority.soa.refresh", "3600")]), ..ZoneWish::default() };
        let live = fields(&[("authority.soa.refresh", "7200")]);
        let planned = plan(&wish, ZoneLive::There(&live), &Fields::default(), &Rules::default());
        let mut verdict = clear(planned.changes, Policy::Sync, &|_| None);
        assert!(verdict.cleared.changes().is_empty());
        assert_eq!(verdict.held_lines().count(), 1);
        verdict.release();
        assert_eq!(verdict.cleared.changes().len(), 1);
    }

    #[test]
    fn what_is_blocked_is_not_released_by_an_approval() {
        let wish = ZoneWish { presence: Presence::Deleted, ..ZoneWish::default() };
        let live = Fields::default();
        let planned = plan(&wish, ZoneLive::There(&live), &Fields::default(), &Rules::default());
        let mut verdict =
            clear(planned.changes, Policy::Sync, &|_| Some("a DS record stands at the parent".into()));
        verdict.release();
        assert!(verdict.cleared.changes().is_empty());
        assert_eq!(verdict.held_lines().count(), 0);
    }
}
