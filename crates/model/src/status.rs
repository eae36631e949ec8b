//! Statuses, built from what became of things, never from what was meant to.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::ResourceExt;
use zonekeeper_api::{
    AddressSourceStatus, ConditionType, DNSProviderStatus, DNSZoneStatus, DelegationStatus, Policy, Reason,
    RecordCounts, RecordSet, RecordSetStatus, RecordSummary, VisibleZone, WrittenRecord, WrittenZone,
    wellknown::{RECONCILE_REQUESTED_AT, RELEASE},
};
use zonekeeper_kernel::zone::ZoneKey;

use crate::{
    addresses::AddressEntry,
    clock::Now,
    conditions::{Shown, Verdict, conditions},
    pass::Drifted,
    providers::ProviderEntry,
    records::RecordEntry,
    zone_entry::ZoneEntry,
    zone_status,
};

/// How many visible zones a status lists.
const MOST_ZONES: usize = 500;
/// How many values a column lists, and how many characters it has.
const MOST_VALUES: usize = 10;
const LONGEST_VALUES: usize = 80;
/// How many zones of a RecordSet its status lists, as its definition allows.
const MOST_WRITTEN_ZONES: usize = 100;

/// What is to be said of a RecordSet; nothing while it is not known.
pub fn record_verdict(entry: &RecordEntry) -> Option<Verdict> {
    if let Some(refused) = &entry.refused {
        return Some(refused.clone());
    }
    if entry.is_leaving() {
        let bad = entry.lingering.values().find(|why| why.reason != Reason::Pending);
        let removing = || Verdict::new(Reason::Terminating, "its records are being removed");
        return Some(bad.cloned().unwrap_or_else(removing));
    }
    if let Some(why) = entry.lingering.values().find(|why| why.is_stalled()) {
        return Some(Verdict::new(
            why.reason,
            format!("what it asked for before is there still: {}", why.message),
        ));
    }
    if entry.placed.is_empty() || entry.placed.keys().any(|zone| !entry.states.contains_key(zone)) {
        return None;
    }
    let states = || entry.placed.keys().filter_map(|zone| entry.states.get(zone));
    let worst = states().find(|state| !state.verdict.is_ready()).or_else(|| states().next())?;
    Some(worst.verdict.clone())
}

/// The status of a RecordSet.
pub fn record_status(
    entry: &RecordEntry,
    verdict: &Verdict,
    zones: &BTreeMap<ZoneKey, ZoneEntry>,
    now: Now,
) -> RecordSetStatus {
    let object = &entry.object;
    let before = object.status.clone().unwrap_or_default();
    let generation = object.metadata.generation;
    let mut written: Vec<WrittenZone> = Vec::new();
    for (key, state) in entry.states.iter() {
        let known = before.zones.iter().find(|zone| zone.namespace == key.namespace && zone.name == key.name);
        let id = zones.get(key).and_then(zone_id).or_else(|| known.map(|zone| zone.id.clone()));
        let (record_name, record_type) = place_of(entry, key, &state.records, known);
        written.push(WrittenZone {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            id: id.unwrap_or_default(),
            record_name,
            record_type,
            records: state.records.clone(),
        });
    }
    // Where it was before is remembered until it has left.
    for zone in &before.zones {
        let key = ZoneKey { namespace: zone.namespace.clone(), name: zone.name.clone() };
        let is_there_still = entry.placed.is_empty()
            || entry.elsewhere.contains_key(&key)
            || entry.places.keys().any(|(place, _)| *place == key);
        if !entry.states.contains_key(&key) && is_there_still {
            written.push(zone.clone());
        }
    }
    written.sort();
    let (count, mut verdict) = (written.len(), verdict.clone());
    if count > MOST_WRITTEN_ZONES {
        // Where something is written comes first; of the rest the markers know.
        written.sort_by_key(|zone| zone.records.is_empty());
        written.truncate(MOST_WRITTEN_ZONES);
        written.sort();
        verdict.message += &format!("; status.zones lists {MOST_WRITTEN_ZONES} of its {count} zones");
    }
    let verdict = &verdict;
    let drift = entry.states.values().find_map(|state| state.drift.as_ref());
    let (is_drifted, drift_reason, drift_message) = match drift {
        Some(Drifted::Reported(message)) => (true, Reason::DriftDetected, message.as_str()),
        Some(Drifted::Reverted(message)) => (false, Reason::DriftReverted, message.as_str()),
        None => (false, verdict.reason, "not changed from outside"),
    };
    let drift = Shown {
        kind: ConditionType::DriftDetected,
        is_true: is_drifted,
        reason: drift_reason,
        message: drift_message,
    };
    let shown = verdict.common().into_iter().chain(verdict.progress()).chain([drift]);
    RecordSetStatus {
        observed_generation: generation,
        zones: written,
        summary: summary(entry),
        last_sync_time: entry.synced.clone(),
        last_handled_reconcile_at: object.annotations().get(RECONCILE_REQUESTED_AT).cloned(),
        conditions: conditions(&entry.outbox.since, generation, shown, now),
    }
}

/// What a RecordSet comes to, as people write it.
fn summary(entry: &RecordEntry) -> Option<RecordSummary> {
    let spec = &entry.object.spec;
    let known = entry.intent.as_ref().and_then(|intent| intent.values.as_ref());
    let values: Vec<String> = match known {
        Some(values) => values.iter().take(MOST_VALUES + 1).map(ToString::to_string).collect(),
        None => spec.values.iter().take(MOST_VALUES + 1).cloned().collect(),
    };
    let used = entry.states.values().find_map(|state| state.ttl).map(|ttl| ttl.to_string());
    let ttl = used.or_else(|| spec.ttl.map(|ttl| ttl.to_string())).unwrap_or_default();
    let summary = RecordSummary { values: listed(&values), ttl };
    (summary != RecordSummary::default()).then_some(summary)
}

/// Values in a line, as far as a column has room.
fn listed(values: &[String]) -> String {
    let mut text = values.iter().take(MOST_VALUES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let is_long = text.chars().count() > LONGEST_VALUES;
    if is_long {
        text = text.chars().take(LONGEST_VALUES).collect();
    }
    if is_long || values.len() > MOST_VALUES { text + "..." } else { text }
}

/// The name and type under which records were written: those of before while the records are, else what is asked for.
fn place_of(
    entry: &RecordEntry,
    zone: &ZoneKey,
    records: &[WrittenRecord],
    known: Option<&WrittenZone>,
) -> (Option<String>, Option<String>) {
    if records.is_empty() {
        return (None, None);
    }
    if let Some(known) = known.filter(|known| known.records == records && known.record_name.is_some()) {
        return (known.record_name.clone(), known.record_type.clone());
    }
    let rtype = entry.intent.as_ref().map(|intent| intent.rtype.to_string());
    (entry.placed.get(zone).map(|name| name.to_string()), rtype)
}

/// What is to be said of a DNSZone; nothing while it is not known.
pub fn zone_verdict(entry: &ZoneEntry) -> Option<Verdict> {
    if let Some(trouble) = entry.trouble.as_ref().filter(|trouble| !entry.is_suspended_over(trouble)) {
        return Some(trouble.clone());
    }
    let ends = entry.is_leaving() && entry.is_to_be_deleted();
    if let Some(error) = entry.last_pass_error.as_ref().filter(|_| ends) {
        return Some(error.clone());
    }
    let held = entry.survey.as_ref().and_then(|survey| survey.outstanding.held.as_ref());
    if let Some(held) = held.filter(|_| ends) {
        return Some(Verdict::new(Reason::Held, held.clone()));
    }
    if entry.is_leaving() {
        let count = entry.wishes.len() + entry.departing.len();
        return Some(Verdict::new(
            Reason::Terminating,
            format!("{count} names depend on it; delete their objects, or annotate it with {RELEASE}=true"),
        ));
    }
    if entry.object.spec.suspend {
        return Some(Verdict::new(Reason::Suspended, "suspended: nothing is read or written"));
    }
    if let Some(last_pass_error) = &entry.last_pass_error {
        return Some(last_pass_error.clone());
    }
    let survey = entry.survey.as_ref()?;
    if let Some(why) = &survey.read_only {
        return Some(why.clone());
    }
    if let Some(held) = &survey.outstanding.held {
        return Some(Verdict::new(Reason::Held, held.clone()));
    }
    if let Some(trouble) = survey.zone.trouble.as_ref().or(entry.source_trouble.as_ref()) {
        return Some(trouble.clone());
    }
    if let Some(why) = zone_status::inactive(survey.zone.state.as_ref(), &entry.object.spec.domain) {
        return Some(why);
    }
    Some(match entry.object.spec.policy {
        Policy::Observe => Verdict::new(Reason::Observed, "watched only: nothing is written"),
        Policy::Sync | Policy::UpsertOnly | Policy::CreateOnly => {
            Verdict::new(Reason::Programmed, "the zone holds what is wanted")
        }
    })
}

/// The status of a DNSZone.
pub fn zone_status(
    entry: &ZoneEntry,
    verdict: &Verdict,
    delegated: Option<&Verdict>,
    now: Now,
) -> DNSZoneStatus {
    let object = &entry.object;
    let before = object.status.clone().unwrap_or_default();
    let generation = object.metadata.generation;
    let survey = entry.survey.as_ref();
    let held = survey.and_then(|survey| survey.outstanding.held.as_deref());
    let drift = survey.and_then(|survey| survey.drift.as_deref());
    let is_observed = verdict.reason == Reason::Observed;
    let mut common = verdict.common();
    // A zone that is only watched is as it should be.
    common[0].is_true |= is_observed;
    let shown = common.into_iter().chain(verdict.progress()).chain([
        Shown {
            kind: ConditionType::Held,
            is_true: held.is_some(),
            reason: if held.is_some() { Reason::Held } else { verdict.reason },
            message: held.unwrap_or("nothing waits for approval"),
        },
        Shown {
            kind: ConditionType::DriftDetected,
            is_true: drift.is_some(),
            reason: if drift.is_some() { Reason::DriftDetected } else { verdict.reason },
            message: drift.unwrap_or("nothing was changed from outside"),
        },
    ]);
    let found = entry.worker.facts().filter(|facts| !facts.id.is_empty());
    let state = survey.and_then(|survey| survey.zone.state.as_ref());
    let signed = zone_status::signed(entry, state);
    let signed = signed.as_ref().map(|(is_true, reason, message)| Shown {
        kind: ConditionType::Signed,
        is_true: *is_true,
        reason: *reason,
        message,
    });
    let delegated = delegated.map(|verdict| Shown {
        kind: ConditionType::Delegated,
        is_true: verdict.is_ready(),
        reason: verdict.reason,
        message: &verdict.message,
    });
    let shown = shown.chain(delegated).chain(signed);
    let initial = survey.map(|survey| &survey.zone.initial);
    DNSZoneStatus {
        zone: state.map(|state| zone_status::standing(state, initial)).or(before.zone),
        dnssec: state.map_or(before.dnssec, zone_status::dnssec),
        // An object without fields is none: the API server makes null of it, and refuses that.
        delegation: entry
            .delegation
            .status(now)
            .or(before.delegation)
            .filter(|delegation| *delegation != DelegationStatus::default()),
        observed_generation: generation,
        provider: entry.provider.clone(),
        zone_id: found.map(|facts| facts.id.clone()).or(before.zone_id),
        name_servers: state
            .map(|state| state.name_servers.clone())
            .or_else(|| found.map(|facts| facts.name_servers.clone()))
            .unwrap_or(before.name_servers),
        records: survey.map(|survey| counts(&survey.counts)).or(before.records),
        guard: (entry.guard != Default::default()).then(|| entry.guard.clone()),
        effective_interval: entry.effective_interval.clone(),
        plan: survey.map(|survey| survey.outstanding.plan.clone()).or(before.plan),
        history: entry.history.shown().to_vec(),
        last_sync_time: entry.synced.clone(),
        last_handled_reconcile_at: entry.handled.clone(),
        conditions: conditions(&entry.outbox.since, generation, shown, now),
    }
}

/// What is to be said of a DNSProvider; nothing while it is not known.
pub fn provider_verdict(entry: &ProviderEntry) -> Option<Verdict> {
    if entry.object.metadata.deletion_timestamp.is_some() {
        let message = format!("DNSZones use it; delete them, or annotate it with {RELEASE}=true");
        return Some(Verdict::new(Reason::Terminating, message));
    }
    match (&entry.trouble, &entry.active) {
        (Some(trouble), Some(_)) => Some(Verdict::new(
            trouble.reason,
            format!("{}; the credentials before are used on", trouble.message),
        )),
        (Some(trouble), None) => Some(trouble.clone()),
        (None, Some(_)) => Some(Verdict::new(Reason::Programmed, "the credentials work")),
        (None, None) => None,
    }
}

/// The status of a DNSProvider.
pub fn provider_status(entry: &ProviderEntry, verdict: &Verdict, now: Now) -> DNSProviderStatus {
    let object = &entry.object;
    let before = object.status.clone().unwrap_or_default();
    let generation = object.metadata.generation;
    let standing = entry.active.as_ref().map(|active| &active.standing);
    let zones = standing.and_then(|standing| standing.zones.as_ref());
    let is_valid = match &entry.trouble {
        None => entry.active.is_some(),
        Some(trouble) => trouble.reason == Reason::ProviderUnavailable && entry.active.is_some(),
    };
    let credentials = Shown {
        kind: ConditionType::CredentialsValid,
        is_true: is_valid,
        reason: verdict.reason,
        message: &verdict.message,
    };
    DNSProviderStatus {
        observed_generation: generation,
        owner_id: entry
            .active
            .as_ref()
            .and_then(|active| active.registry.owner().map(str::to_owned))
            .or(before.owner_id),
        zones: match zones {
            Some(zones) => zones
                .iter()
                .take(MOST_ZONES)
                .map(|(name, id)| VisibleZone { name: name.clone(), id: id.clone() })
                .collect(),
            None => before.zones,
        },
        zone_count: zones.map(|zones| zones.len() as u32).or(before.zone_count),
        token_expires: match standing {
            Some(standing) => standing.expires.as_deref().and_then(|time| time.parse().ok()).map(Time),
            None => before.token_expires,
        },
        conditions: conditions(
            &entry.outbox.since,
            generation,
            verdict.common().into_iter().chain([credentials]),
            now,
        ),
    }
}

/// The status of an AddressSource.
pub fn address_status(entry: &AddressEntry, verdict: &Verdict, now: Now) -> AddressSourceStatus {
    let generation = entry.object.metadata.generation;
    AddressSourceStatus {
        observed_generation: generation,
        addresses: entry.good.iter().flatten().map(ToString::to_string).collect(),
        last_handled_reconcile_at: entry.object.annotations().get(RECONCILE_REQUESTED_AT).cloned(),
        conditions: conditions(&entry.outbox.since, generation, verdict.common(), now),
    }
}

/// What a status says of an object, so that it is not told again.
pub fn ready_verdict(conditions: &[Condition]) -> Option<Verdict> {
    let ready = conditions.iter().find(|condition| condition.type_ == ConditionType::Ready.as_str())?;
    Some(Verdict::new(ready.reason.parse().ok()?, ready.message.clone()))
}

/// What a status says that was written for an object in a zone.
pub fn records_before(object: &RecordSet, key: &ZoneKey) -> Vec<WrittenRecord> {
    let zones = object.status.iter().flat_map(|status| &status.zones);
    let here = zones.filter(|zone| zone.namespace == key.namespace && zone.name == key.name);
    here.flat_map(|zone| zone.records.clone()).collect()
}

/// Whether a person lets an object go.
pub fn is_released(object: &impl ResourceExt) -> bool {
    object.annotations().get(RELEASE).is_some_and(|value| value == "true")
}

fn zone_id(entry: &ZoneEntry) -> Option<String> {
    entry.id_at_provider().map(str::to_owned)
}

fn counts(counts: &zonekeeper_kernel::plan::Counts) -> RecordCounts {
    RecordCounts {
        desired: counts.desired as u32,
        live: counts.live as u32,
        owned: counts.owned as u32,
        foreign: counts.foreign as u32,
        orphaned: counts.orphaned as u32,
    }
}
