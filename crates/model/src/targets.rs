//! Names of hosts turned into addresses, where an alias can't stand: the target of a RecordSet is asked for at its TTL, and
//! its addresses are published by RecordSets that are made for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    time::Duration,
};

use kube::{Resource, ResourceExt};
use serde_json::{Value, json};
use zonekeeper_api::{API_VERSION, Reason, RecordSet};
use zonekeeper_kernel::name::Name;

use crate::{
    Key,
    children::ChildRef,
    conditions::Verdict,
    core::{Alarm, Model},
    effects::Effect,
    small_map::SmallMap,
};

/// No target is asked for more often, whatever its TTL: each answer may cost writes.
const SHORTEST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(3_600);
/// How long after a question that was not answered a target is asked for again.
pub const RETRY: Duration = Duration::from_secs(30);

/// What a target resolved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub addresses: BTreeSet<IpAddr>,
    /// How long that holds.
    pub ttl: Duration,
}

/// The targets of RecordSets.
#[derive(Default)]
pub struct Targets(BTreeMap<Key, Target>);

struct Target {
    name: Name,
    /// The question that counts.
    attempt: u64,
    /// The last good answer.
    good: Option<BTreeSet<IpAddr>>,
    /// Why the last question was not answered.
    failure: Option<String>,
}

// === impl Model ===

impl Model {
    /// Follows the target of a RecordSet, and says what is wanted for it.
    pub fn consider_target(&mut self, key: &Key) {
        let Some(entry) = self.records.get_mut(key) else { return };
        let object = entry.object.clone();
        let target = object.spec.values.first().map(|value| Name::parse(value));
        let name = match target {
            Some(Ok(name)) => name,
            Some(Err(error)) => {
                entry.refused = Some(Verdict::new(Reason::InvalidValue, format!("spec.values[0]: {error}")));
                return self.report_record(key);
            }
            None => {
                let message = "spec.values is empty; resolveTargets needs the name of a host there";
                entry.refused = Some(Verdict::new(Reason::InvalidValue, message));
                return self.report_record(key);
            }
        };
        entry.refused = None;
        entry.is_others = false;
        let is_known = self.targets.0.get(key).is_some_and(|target| target.name == name);
        if !is_known {
            self.targets.0.insert(key.clone(), Target { name, attempt: 0, good: None, failure: None });
            self.resolve_target(key);
        }
        self.publish_target(key, &object);
        self.report_record(key);
    }

    /// A RecordSet has no target that is to be resolved, or not any more: the sets that were made for one go.
    pub fn forget_target(&mut self, key: &Key) {
        if self.targets.0.remove(key).is_some() {
            self.agenda.cancel(&Alarm::Target(key.clone()));
        }
        let Some(entry) = self.records.get(key) else { return };
        let object = entry.object.clone();
        let may_be_reversed = ["A", "AAAA"].contains(&object.spec.rtype.as_str());
        let owner = object.uid().filter(|uid| self.children.has(uid) && !may_be_reversed);
        if let Some(owner) = owner.and_then(|_| object.controller_owner_ref(&())) {
            self.children.want(&owner, Vec::new(), &mut self.effects);
        }
    }

    /// Asks for a target.
    pub fn resolve_target(&mut self, key: &Key) {
        let is_suspended = self.records.get(key).is_none_or(|entry| entry.object.spec.suspend);
        let Some(target) = self.targets.0.get_mut(key).filter(|_| !is_suspended) else { return };
        self.attempts += 1;
        target.attempt = self.attempts;
        self.effects.push(Effect::ResolveTarget {
            record: key.clone(),
            target: target.name.clone(),
            attempt: target.attempt,
        });
    }

    /// A target was asked for. The last good answer is kept.
    pub fn target_resolved(&mut self, key: &Key, attempt: u64, found: Result<Resolved, String>) {
        let Some(target) = self.targets.0.get_mut(key).filter(|target| target.attempt == attempt) else {
            return;
        };
        let wait = match found {
            Ok(found) if found.addresses.is_empty() => {
                target.failure = Some(format!("{} has no address", target.name));
                RETRY
            }
            Ok(found) => {
                target.failure = None;
                target.good = Some(found.addresses);
                pace(found.ttl)
            }
            Err(why) => {
                target.failure = Some(why);
                RETRY
            }
        };
        self.agenda.at(self.now.at + wait, Alarm::Target(key.clone()));
        self.consider_record(key);
    }

    /// Says what is wanted for a target whose addresses are known. The alias that may stand there goes when the sets that
    /// take its place are there to replace it.
    fn publish_target(&mut self, key: &Key, object: &RecordSet) {
        let addresses = self.targets.0.get(key).and_then(|target| target.good.clone());
        let Some(owner) = object.uid().and_then(|_| object.controller_owner_ref(&())) else { return };
        let Some(addresses) = addresses.filter(|_| !object.spec.suspend) else { return };
        let manifests = record_sets(object, &addresses);
        self.children.want(&owner, manifests, &mut self.effects);
        let is_placed = |child: &ChildRef| {
            let child = (child.namespace.clone(), child.name.clone());
            self.records.get(&child).is_some_and(|entry| !entry.placed.is_empty())
        };
        if self.children.of(&owner.uid).all(is_placed) {
            self.place_record(key, SmallMap::default(), None);
        }
    }

    /// What there is to say of a RecordSet whose target is resolved; nothing while it is not known.
    pub fn target_verdict(&self, key: &Key) -> Option<Verdict> {
        let entry = self.records.get(key).filter(|entry| !entry.is_leaving() && entry.refused.is_none())?;
        let target = self.targets.0.get(key)?;
        if entry.object.spec.suspend {
            return Some(Verdict::new(Reason::Suspended, "suspended: nothing is written for it"));
        }
        let Some(good) = &target.good else {
            let why = target.failure.as_ref()?;
            let message =
                format!("the addresses of {} are not known: {why}; what is there stays", target.name);
            return Some(Verdict::new(Reason::TargetsUnknown, message));
        };
        let uid = entry.object.uid().unwrap_or_default();
        if let Some(trouble) = self.children.trouble(&uid) {
            return Some(Verdict::new(Reason::Conflict, trouble));
        }
        for child in self.children.of(&uid) {
            let record = self.records.get(&(child.namespace.clone(), child.name.clone()))?;
            let told = record.outbox.told.as_ref()?;
            if !told.is_ready() {
                return Some(Verdict::new(told.reason, format!("{child}: {}", told.message)));
            }
        }
        let addresses: Vec<String> = good.iter().map(IpAddr::to_string).collect();
        let kept = target.failure.as_ref().map(|why| format!("; the last good answer is kept: {why}"));
        let message =
            format!("{} is published as {}{}", target.name, addresses.join(", "), kept.unwrap_or_default());
        Some(Verdict::new(Reason::Programmed, message))
    }

    /// A child was written, or could not be: its owner may have more to say.
    pub fn tell_owner_of(&mut self, child: &ChildRef) {
        let Some(owner) = self.children.owner_of(child).map(str::to_owned) else { return };
        let is_it = |uid: Option<String>| uid.as_deref() == Some(&*owner);
        let record = self
            .targets
            .0
            .keys()
            .find(|key| self.records.get(*key).is_some_and(|entry| is_it(entry.object.uid())));
        let zone = self.zones.iter().find(|(_, entry)| is_it(entry.object.uid())).map(|(key, _)| key.clone());
        if let Some(key) = record.cloned() {
            self.report_record(&key);
        }
        if let Some(key) = zone {
            self.report_zone(&key);
        }
    }

    /// A RecordSet that was made for another has changed: that one may have more to say, or less to hold.
    pub fn tell_owner(&mut self, key: &Key) {
        let Some(entry) = self.records.get(key) else { return };
        let owner = entry.object.owner_references().iter().find(|owner| {
            owner.controller == Some(true) && owner.kind == "RecordSet" && owner.api_version == API_VERSION
        });
        let Some(owner) = owner.map(|owner| (key.0.clone(), owner.name.clone())) else { return };
        if self.targets.0.contains_key(&owner) {
            self.consider_record(&owner);
        }
    }
}

/// How long an answer is used, whatever its TTL.
pub fn pace(ttl: Duration) -> Duration {
    ttl.clamp(SHORTEST, LONGEST)
}

/// The RecordSets that publish a target's addresses: a set for each family that it has.
pub fn record_sets(object: &RecordSet, addresses: &BTreeSet<IpAddr>) -> Vec<Value> {
    let families = [("A", IpAddr::is_ipv4 as fn(&IpAddr) -> bool), ("AAAA", IpAddr::is_ipv6)];
    let set = |(rtype, is_of): (&str, fn(&IpAddr) -> bool)| {
        let values: Vec<String> =
            addresses.iter().filter(|address| is_of(address)).map(IpAddr::to_string).collect();
        (!values.is_empty()).then(|| record_set(object, rtype, &values))
    };
    families.into_iter().filter_map(set).collect()
}

/// All that is said of the alias, but for its type and values.
fn record_set(object: &RecordSet, rtype: &str, values: &[String]) -> Value {
    let mut spec = json!(object.spec);
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("resolveTargets");
        spec.insert("type".into(), rtype.into());
        spec.insert("values".into(), json!(values));
    }
    json!({
        "apiVersion": API_VERSION,
        "kind": "RecordSet",
        "metadata": {
            "name": format!("{}-{}", object.name_any(), rtype.to_lowercase()),
            "namespace": object.namespace().unwrap_or_default(),
            "labels": object.labels(),
        },
        "spec": spec,
    })
}

#[cfg(test)]
mod tests {
    use zonekeeper_api::RecordSetSpec;

    use super::*;

    #[test]
    fn an_alias_becomes_a_set_per_family_with_all_else_as_it_was() {
        let spec = RecordSetSpec {
            name: Some("example.com".into()),
            rtype: "CNAME".into(),
            values: vec!["host.example.net".into()],
            resolve_targets: true,
            ttl: Some(60),
            ..RecordSetSpec::default()
        };
        let mut object = RecordSet::new("apex", spec);
        object.metadata.namespace = Some("team".into());
        object.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        let addresses = ["192.0.2.1", "2001:db8::1", "192.0.2.2"].map(|text| text.parse().unwrap()).into();
        let sets = record_sets(&object, &addresses);
        let line = |set: &Value| {
            format!("{} {} {}", set["metadata"]["name"], set["spec"]["type"], set["spec"]["values"])
        };
        assert_eq!(
            sets.iter().map(line).collect::<Vec<_>>(),
            [r#""apex-a" "A" ["192.0.2.1","192.0.2.2"]"#, r#""apex-aaaa" "AAAA" ["2001:db8::1"]"#,]
        );
        assert_eq!(sets[0]["spec"]["ttl"], 60);
        assert_eq!(sets[0]["metadata"]["labels"]["a"], "b");
        let spec: RecordSetSpec = serde_json::from_value(sets[0]["spec"].clone()).unwrap();
        assert!(!spec.resolve_targets);
        assert_eq!(record_sets(&object, &["192.0.2.1".parse().unwrap()].into()).len(), 1);
    }
}
