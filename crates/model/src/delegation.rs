//! The delegation of a zone: what is wanted in its parent zone, as RecordSets there, and what the parent's servers really
//! answer.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};
use zonekeeper_api::{
    API_VERSION, DNSZone, DelegationStatus, DeletionPolicy, DnssecMode, DsRecord, Lifecycle, Reason,
    Selection,
};
use zonekeeper_kernel::{
    guard::Approval,
    name::Name,
    rdata::{Rdata, RecordType},
    resolve::Zones,
    zone::ZoneKey,
    zone_state::{Ds, ParentAnswer, ParentDs, ZoneState},
};

use crate::{
    clock::Now,
    conditions::Verdict,
    core::{Alarm, Model},
    effects::Effect,
    zone_entry::ZoneEntry,
};

/// How often the parent's servers are asked.
const INTERVAL: Duration = Duration::from_secs(600);
/// How often while something is expected of them.
const SOON: Duration = Duration::from_secs(30);
/// How long after a write of ours they are asked.
const WRITTEN: Duration = Duration::from_secs(5);
/// An answer that is older says nothing about a change that can't be undone.
const FRESH: Duration = Duration::from_secs(120);

/// What the parent's servers answered for a zone.
#[derive(Debug, Default)]
pub struct Delegation {
    /// The question that counts; 0 if none was asked.
    attempt: u64,
    is_asking: bool,
    answered: Option<(Instant, ParentAnswer)>,
    /// Why the last question was not answered.
    failure: Option<String>,
    /// Until when resolvers remember a DS record that was seen.
    ds_until: Option<(Instant, Time)>,
    /// What the status said before this process asked for the first time.
    before: Option<DelegationStatus>,
}

// === impl Delegation ===

impl Delegation {
    /// As a status has it.
    pub fn recall(status: Option<&DelegationStatus>) -> Self {
        Self { before: status.cloned(), ..Self::default() }
    }

    /// What the servers answered last.
    pub fn answer(&self) -> Option<&ParentAnswer> {
        self.answered.as_ref().map(|(_, answer)| answer)
    }

    /// Whether a DS record is in the way of a change.
    pub fn ds(&self, now: Instant) -> ParentDs {
        match (&self.failure, &self.answered) {
            (Some(why), _) => ParentDs::Unknown(why.clone()),
            (None, Some((_, answer))) if !answer.ds.is_empty() => ParentDs::There,
            (None, Some((at, _))) if now - *at > FRESH => ParentDs::NotAsked,
            (None, Some(_)) => match self.ds_until.as_ref().filter(|(until, _)| *until > now) {
                Some((until, _)) => ParentDs::Remembered(*until - now),
                None => ParentDs::Absent,
            },
            (None, None) => ParentDs::NotAsked,
        }
    }

    fn note(&mut self, found: Result<ParentAnswer, String>, now: Now) {
        self.is_asking = false;
        match found {
            Ok(answer) => {
                if let Some(before) = self.before.take() {
                    self.remember(remembered(&before, now), now);
                }
                if !answer.ds.is_empty() {
                    self.remember(answer.ds_ttl, now);
                }
                self.failure = None;
                self.answered = Some((now.at, answer));
            }
            Err(why) => self.failure = Some(why),
        }
    }

    fn remember(&mut self, left: Duration, now: Now) {
        let until = now.at + left;
        self.ds_until = Some((until, now.time_at(until)));
    }

    /// In the words of a status.
    pub fn status(&self, now: Now) -> Option<DelegationStatus> {
        let answer = self.answer()?;
        let has_ds = !answer.ds.is_empty();
        let until = self.ds_until.as_ref().filter(|(until, _)| !has_ds && *until > now.at);
        let names = |names: &BTreeSet<Name>| names.iter().map(|name| name.to_string()).collect();
        Some(DelegationStatus {
            name_servers: names(&answer.name_servers),
            ds: answer.ds.iter().map(ds_record).collect(),
            ds_ttl: has_ds.then(|| u32::try_from(answer.ds_ttl.as_secs()).unwrap_or(u32::MAX)),
            ds_remembered_until: until.map(|(_, until)| until.clone()),
            lame: names(&answer.lame),
        })
    }
}

// === impl Model ===

impl Model {
    /// Asks the servers of a zone's parent, unless that was done a moment ago.
    pub fn ask_parent(&mut self, key: &ZoneKey) {
        let now = self.now.at;
        let Some(entry) = self.zones.get_mut(key) else { return };
        if !entry.is_ours || !is_watched(&entry.object) || entry.object.spec.suspend {
            return;
        }
        let Some(zone) = entry.zone.as_ref().filter(|_| !entry.delegation.is_asking) else { return };
        self.attempts += 1;
        (entry.delegation.attempt, entry.delegation.is_asking) = (self.attempts, true);
        let (zone, domain) = (key.clone(), zone.domain.clone());
        self.effects.push(Effect::AskParent { zone, domain, attempt: self.attempts });
        self.agenda.at(now + INTERVAL, Alarm::Parent(key.clone()));
    }

    /// The servers of a zone's parent were asked.
    pub fn parent_answered(&mut self, key: &ZoneKey, attempt: u64, found: Result<ParentAnswer, String>) {
        let now = self.now.at;
        let Some(entry) = self.zones.get_mut(key).filter(|entry| entry.delegation.attempt == attempt) else {
            return;
        };
        let before = entry.delegation.ds(now);
        entry.delegation.note(found, self.now);
        let after = entry.delegation.ds(now);
        let has_opened = before.block().is_some() && after.block().is_none();
        let next = match (&after, is_expected(entry)) {
            (ParentDs::Remembered(left), _) => (*left).clamp(Duration::from_secs(1), INTERVAL),
            (_, true) => SOON,
            (_, false) => INTERVAL,
        };
        self.agenda.at(now + next, Alarm::Parent(key.clone()));
        let ends = is_end_approved(entry);
        if has_opened || ends {
            self.look_at_all(key);
        }
        self.report_zone(key);
    }

    /// Says what is wanted of a zone in its parent zone.
    pub fn delegate(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get(key).filter(|entry| entry.is_ours) else { return };
        let Some(owner) = owner(&entry.object) else { return };
        if entry.object.spec.suspend {
            return;
        }
        if entry.is_leaving() {
            // What stays, stays with its zone; what ends, ends before it.
            if entry.object.spec.delegation.manage
                && is_end_approved(entry)
                && self.children.want(&owner, Vec::new(), &mut self.effects)
            {
                self.agenda.by(self.now.at + WRITTEN, Alarm::Parent(key.clone()));
            }
            return;
        }
        if !entry.object.spec.delegation.manage {
            // The delegation stays, unless the zone is one that goes with its object.
            self.children.give_up(&owner, &mut self.effects);
            return;
        }
        let Some(zone) = &entry.zone else { return };
        let state = entry.survey.as_ref().and_then(|survey| survey.zone.state.as_ref());
        let parents = parents_of(&self.index, &zone.domain);
        let addresses = |name: &Name, rtype| {
            let wishes = entry.wishes.get(name).into_iter().flat_map(|wishes| wishes.values());
            let values = wishes
                .filter(|intent| intent.rtype == rtype)
                .flat_map(|intent| intent.values.iter().flatten());
            values.map(Rdata::to_string).collect()
        };
        let wanted =
            InParent { zone: &entry.object, domain: &zone.domain, parents: &parents, addresses: &addresses };
        let Some(manifests) =
            state.filter(|_| !parents.is_empty()).and_then(|state| wanted.record_sets(state))
        else {
            return;
        };
        if self.children.want(&owner, manifests, &mut self.effects) {
            // Its servers say something else in a moment.
            self.agenda.by(self.now.at + WRITTEN, Alarm::Parent(key.clone()));
        }
    }

    /// The approval that the next pass over a zone gets. The end of a zone waits for that of its delegation: others could make
    /// a zone of that name where its name servers point.
    pub fn approval_of(&self, key: &ZoneKey) -> Approval {
        let Some(entry) = self.zones.get(key) else { return Approval::None };
        let is_delegated = entry.delegation.answer().is_some_and(|answer| {
            let state = entry.survey.as_ref().and_then(|survey| survey.zone.state.as_ref());
            let own = state.into_iter().flat_map(|state| &state.name_servers);
            own.filter_map(|name| Name::parse(name).ok()).any(|name| answer.name_servers.contains(&name))
        });
        let waits = entry.is_leaving() && entry.object.spec.delegation.manage && is_end_approved(entry);
        match waits && is_delegated {
            true => Approval::None,
            false => entry.approval(),
        }
    }

    /// Whether a zone is delegated as it should be; none if that is not managed, or not known yet.
    pub fn delegated(&self, key: &ZoneKey) -> Option<Verdict> {
        let entry = self.zones.get(key)?;
        let domain = &entry.object.spec.domain;
        let not = |message: String| Some(Verdict::new(Reason::NotDelegated, message));
        let state = entry.survey.as_ref().and_then(|survey| survey.zone.state.as_ref());
        if !is_watched(&entry.object) || entry.zone.is_none() {
            return None;
        }
        if entry.object.spec.delegation.manage
            && let Some(why) = self.why_not_in_parent(entry)
        {
            return not(why);
        }
        let servers = state.map(|state| state.name_servers.clone()).unwrap_or_default();
        let wanted: BTreeSet<Name> = servers.iter().filter_map(|name| Name::parse(name).ok()).collect();
        match (&entry.delegation.failure, entry.delegation.answer()) {
            (Some(why), _) => not(format!("the parent zone of {domain} can't be asked: {why}")),
            (None, None) => None,
            (None, Some(answer)) if !answer.lame.is_empty() => {
                let lame: Vec<&str> = answer.lame.iter().map(Name::as_str).collect();
                not(format!(
                    "the parent zone of {domain} names servers that do not answer for it: {}; remove them there, or set them up",
                    lame.join(", ")
                ))
            }
            (None, Some(answer)) if !self.is_named(entry, &answer.name_servers, &wanted) => {
                let named: Vec<&str> = answer.name_servers.iter().map(Name::as_str).collect();
                not(format!(
                    "the parent zone names {} for {domain}; set them to {}",
                    if named.is_empty() { "no name server".into() } else { named.join(", ") },
                    servers.join(", ")
                ))
            }
            (None, Some(_)) => Some(Verdict::new(
                Reason::Programmed,
                format!("the parent zone of {domain} names its servers, and all of them answer"),
            )),
        }
    }

    /// Whether a parent names the servers of a zone; beside them stand those of its twins, if several providers host it.
    fn is_named(&self, entry: &ZoneEntry, named: &BTreeSet<Name>, wanted: &BTreeSet<Name>) -> bool {
        let is_hosted_elsewhere = entry.object.spec.selection == Selection::All;
        wanted.is_empty() || named == wanted || (is_hosted_elsewhere && named.is_superset(wanted))
    }

    /// Why the parent zone does not hold what it should, as far as we write it.
    fn why_not_in_parent(&self, entry: &ZoneEntry) -> Option<String> {
        let zone = entry.zone.as_ref()?;
        if parents_of(&self.index, &zone.domain).is_empty() {
            let servers = entry.survey.as_ref().and_then(|survey| survey.zone.state.as_ref());
            let servers = servers.map(|state| state.name_servers.join(", ")).unwrap_or_default();
            return Some(format!(
                "no DNSZone here is the parent of {}: set its name servers to {servers} there, or set spec.delegation.manage to false",
                zone.domain
            ));
        }
        let uid = entry.object.uid().unwrap_or_default();
        if let Some(trouble) = self.children.trouble(&uid) {
            return Some(trouble);
        }
        self.children.of(&uid).find_map(|child| {
            let record = self.records.get(&(child.namespace.clone(), child.name.clone()))?;
            let told = record.outbox.told.as_ref().filter(|told| !told.is_ready())?;
            Some(format!("{child}: {}: {}", told.reason, told.message))
        })
    }
}

/// Whether a person has approved the end of a zone, as it is held now.
fn is_end_approved(entry: &ZoneEntry) -> bool {
    let plan = entry.survey.as_ref().map(|survey| &survey.outstanding.plan);
    let held = plan.filter(|plan| plan.held > 0).map(|plan| &plan.hash);
    let is_it = |hash: &String| matches!(entry.approval(), Approval::Held(approved) if approved == *hash);
    entry.is_leaving() && entry.is_to_be_deleted() && held.is_some_and(is_it)
}

/// The zones around a domain that take what does not name them: those of the longest domain.
pub fn parents_of(zones: &Zones, domain: &Name) -> Vec<ZoneKey> {
    let around = domain.parent().and_then(|above| zones.above(&above).next());
    around.iter().flatten().map(|zone| zone.key.clone()).collect()
}

/// What is wanted of a zone in its parent zones.
pub struct InParent<'a> {
    pub zone: &'a DNSZone,
    pub domain: &'a Name,
    pub parents: &'a [ZoneKey],
    /// The addresses that objects ask for at a name of the zone.
    pub addresses: &'a dyn Fn(&Name, RecordType) -> BTreeSet<String>,
}

// === impl InParent ===

impl InParent<'_> {
    /// The RecordSets there: NS, DS and glue; none if it is not known how the zone is signed, so that nothing is taken away
    /// because it could not be read.
    pub fn record_sets(&self, state: &ZoneState) -> Option<Vec<Value>> {
        let is_signed = self.zone.spec.dnssec.mode == DnssecMode::On;
        if is_signed && state.dnssec.is_none() {
            return None;
        }
        let name = self.zone.name_any();
        let servers: BTreeSet<Name> =
            state.name_servers.iter().filter_map(|server| Name::parse(server).ok()).collect();
        if servers.is_empty() {
            return None;
        }
        let targets = servers.iter().map(|server| format!("{server}.")).collect();
        let mut manifests =
            vec![self.record_set(&format!("{name}-ns"), self.domain, RecordType::NS, targets)];
        let ds = state.dnssec.iter().flat_map(|dnssec| &dnssec.ds).map(Ds::to_string);
        let ds: BTreeSet<String> = ds.filter(|_| is_signed).collect();
        if !ds.is_empty() {
            manifests.push(self.record_set(&format!("{name}-ds"), self.domain, RecordType::DS, ds));
        }
        for server in servers.iter().filter(|server| server.is_within(self.domain)) {
            for rtype in [RecordType::A, RecordType::AAAA] {
                let addresses = (self.addresses)(server, rtype);
                if !addresses.is_empty() {
                    let place = server.as_str().trim_end_matches(self.domain.as_str()).trim_end_matches('.');
                    let place = if place.is_empty() { "apex" } else { place }.replace(['.', '_', '*'], "-");
                    let name = format!("{name}-glue-{place}-{}", rtype.to_string().to_lowercase());
                    manifests.push(self.record_set(&name, server, rtype, addresses));
                }
            }
        }
        Some(manifests)
    }

    fn record_set(&self, name: &str, place: &Name, rtype: RecordType, values: BTreeSet<String>) -> Value {
        let parents: Vec<Value> = self
            .parents
            .iter()
            .map(|parent| json!({ "namespace": parent.namespace, "name": parent.name }))
            .collect();
        json!({
            "apiVersion": API_VERSION,
            "kind": "RecordSet",
            "metadata": { "name": name, "namespace": self.zone.namespace().unwrap_or_default() },
            "spec": {
                "name": place.as_str(),
                "type": rtype.to_string(),
                "values": values,
                "zoneRefs": parents,
                // The delegation stays where the zone does.
                "deletionPolicy": self.zone.spec.lifecycle.deletion_policy,
            },
        })
    }
}

/// How long resolvers may remember what a status says of DS records.
fn remembered(status: &DelegationStatus, now: Now) -> Duration {
    let until = status.ds_remembered_until.as_ref().map(|until| now.until(until)).unwrap_or_default();
    let seen = Duration::from_secs(status.ds_ttl.unwrap_or_default().into());
    if status.ds.is_empty() { until } else { until.max(seen) }
}

/// Whether the parent's servers are asked about a zone: they decide what of the zone itself may change.
fn is_watched(zone: &DNSZone) -> bool {
    let spec = &zone.spec;
    spec.delegation.manage
        || spec.dnssec.mode != DnssecMode::Unmanaged
        || spec.lifecycle != Lifecycle::default()
}

/// Whether the parent is about to change.
fn is_expected(entry: &ZoneEntry) -> bool {
    let state = entry.survey.as_ref().and_then(|survey| survey.zone.state.as_ref());
    let dnssec = state.and_then(|state| state.dnssec.as_ref());
    let answer = entry.delegation.answer();
    let is_delegated = answer.is_some_and(|answer| !answer.name_servers.is_empty() && answer.lame.is_empty());
    let is_leaving =
        entry.is_leaving() && entry.object.spec.lifecycle.deletion_policy == DeletionPolicy::Delete;
    let is_vouched_for = match entry.object.spec.dnssec.mode {
        DnssecMode::Unmanaged => true,
        DnssecMode::On => dnssec.is_some_and(|dnssec| dnssec.is_complete),
        DnssecMode::Off => answer.is_some_and(|answer| answer.ds.is_empty()),
    };
    !is_delegated || !is_vouched_for || is_leaving
}

fn ds_record(ds: &Ds) -> DsRecord {
    DsRecord {
        key_tag: ds.key_tag,
        algorithm: ds.algorithm,
        digest_type: ds.digest_type,
        digest: ds.digest.clone(),
    }
}

fn owner(zone: &DNSZone) -> Option<OwnerReference> {
    // An object that is not in a cluster owns nothing there.
    zone.uid()?;
    zone.controller_owner_ref(&())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    const TTL: Duration = Duration::from_secs(3_600);

    fn answer(ds: &[Ds]) -> Result<ParentAnswer, String> {
        Ok(ParentAnswer { ds: ds.iter().cloned().collect(), ds_ttl: TTL, ..ParentAnswer::default() })
    }

    fn ds() -> Ds {
        Ds { key_tag: 2371, algorithm: 13, digest_type: 2, digest: "AB".into() }
    }

    #[test]
    fn a_restart_forgets_no_ds_record_that_resolvers_remember() {
        let now = Now::new(Instant::now(), Timestamp::now());
        let mut first = Delegation::default();
        first.note(answer(&[ds()]), now);
        assert_eq!(first.ds(now.at), ParentDs::There);
        let seen = first.status(now);

        // It goes while no process looks: from when on is not known.
        let mut second = Delegation::recall(seen.as_ref());
        assert_eq!(second.ds(now.at), ParentDs::NotAsked);
        let later = now.later(Duration::from_secs(60));
        second.note(answer(&[]), later);
        assert_eq!(second.ds(later.at), ParentDs::Remembered(TTL));
        let gone = second.status(later);
        assert!(gone.as_ref().is_some_and(|gone| gone.ds.is_empty() && gone.ds_remembered_until.is_some()));

        // The next process waits for what is left of that.
        let mut third = Delegation::recall(gone.as_ref());
        let later = later.later(Duration::from_secs(600));
        third.note(answer(&[]), later);
        let ParentDs::Remembered(left) = third.ds(later.at) else { panic!("{:?}", third.ds(later.at)) };
        assert!(left > Duration::from_secs(2_990) && left <= Duration::from_secs(3_000), "{left:?}");
        let later = later.later(TTL);
        third.note(answer(&[]), later);
        assert_eq!(third.ds(later.at), ParentDs::Absent);
        assert_eq!(third.status(later).and_then(|status| status.ds_remembered_until), None);
    }
}
