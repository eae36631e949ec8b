//! What the actors do, and what the oracle learns from it.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use zonekeeper_api::PlannedState;
use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
    record::{LiveRecord, RecordId, Ttl},
};
use zonekeeper_model::{Key, objects::Kind, secrets::SecretState};
use zonekeeper_sources::object::Kind as SourceKind;

use crate::{
    cluster::{AnyKind, Id, Thing},
    replica::NAMESPACE,
    script::{Act, Comment, DOMAINS, Fault, LABELS, Object, Person, TEAMS, Value, Wish},
    server::{Author, Kept, Servers},
    truth::{Adoption, Ask, End, Grant, Rules},
    world::State,
};

const APPROVE: &str = "zonekeeper.dev/approve-plan";
const RELEASE: &str = "zonekeeper.dev/release";
const INGRESS: AnyKind = AnyKind::Source(SourceKind::Source(zonekeeper_api::SourceKind::Ingress));

// === impl State ===

impl State {
    /// What is there when a history begins: a provider, its zones and the namespaces.
    pub fn set_up(&mut self) {
        for name in [NAMESPACE, TEAMS[0], TEAMS[1]] {
            self.put_namespace(name);
        }
        let token = b"token-1".to_vec();
        self.valid_tokens.insert(token.clone());
        let data = [("apiToken".to_owned(), token)].into();
        self.secrets.insert((NAMESPACE.into(), "cloudflare".into()), SecretState::Present(data));
        let spec = json!({"cloudflare": {"apiTokenSecretRef": {"name": "cloudflare"}}});
        let id = (AnyKind::Ours(Kind::Provider), (String::new(), "cloudflare".to_owned()));
        let now = self.clock.time();
        self.cluster.put(id, spec, json!({}), now);
        for domain in DOMAINS {
            self.servers.add(Name::parse(domain).expect("a valid name"));
        }
        for number in 0..DOMAINS.len() {
            self.put_zone(number, Grant::All, false);
        }
    }

    pub fn act(&mut self, act: &Act) {
        let now = self.clock.millis();
        match act {
            Act::Put(object, wish) => self.put_record_set(*object, wish),
            Act::Delete(object) => self.delete_record_set(*object),
            Act::Recreate(object, wish) => {
                self.delete_record_set(*object);
                self.put_record_set(*object, wish);
            }
            Act::DeleteMany(count) => {
                let keys: Vec<Key> = self
                    .cluster
                    .of_kind(AnyKind::Ours(Kind::RecordSet))
                    .map(|(key, _)| key.clone())
                    .take(*count)
                    .collect();
                keys.iter().for_each(|key| self.delete_key(key));
            }
            Act::Approve => self.approve(),
            Act::ApproveWrongly => self.annotate_zones(|_| Some("0123456789abcdef".to_owned())),
            Act::Grant(zone, grant) => {
                let is_suspended = self.last_rules(*zone).is_some_and(|rules| !rules.is_active);
                self.put_zone(*zone, *grant, is_suspended);
            }
            Act::Suspend(zone, is_suspended) => {
                let grant = self.last_rules(*zone).map_or(Grant::All, |rules| rules.grant);
                self.put_zone(*zone, grant, *is_suspended);
            }
            Act::RemakeZone(zone) => {
                let time = self.clock.time();
                let id = zone_id(*zone);
                // Every other time people wait no longer.
                let is_released = now.is_multiple_of(2);
                self.cluster.delete(&id, time);
                let key = format!("{}/{}", id.1.0, id.1.1);
                self.truth.zones_deleted.push((Name::parse(DOMAINS[*zone]).expect("a valid name"), now));
                if let Some(rules) = self.truth.rules.get_mut(&key)
                    && let Some(last) = rules.last().cloned()
                {
                    rules.push(Rules { from: now, is_active: false, ..last });
                }
                if is_released {
                    self.let_go();
                }
            }
            Act::RotateToken => {
                let token = format!("token-{now}").into_bytes();
                self.valid_tokens = BTreeSet::from([token.clone()]);
                let data = [("apiToken".to_owned(), token)].into();
                self.secrets.insert((NAMESPACE.into(), "cloudflare".into()), SecretState::Present(data));
            }
            Act::DeleteNamespace(team) => self.delete_namespace(TEAMS[*team]),
            Act::PutIngress(object, label, address) => self.put_ingress(*object, *label, *address),
            Act::DeleteIngress(object) => self.delete_ingress(&key_of(*object)),
            Act::ForbidIngresses(is_forbidden) => {
                match is_forbidden {
                    true => self.forbidden.insert(INGRESS),
                    false => self.forbidden.remove(&INGRESS),
                };
                self.expired.insert(INGRESS);
            }
            Act::Person(person) => self.person(person),
            Act::Fault(fault) => self.fault(fault),
            Act::Relist(is_source) => match is_source {
                true => drop(self.expired.insert(INGRESS)),
                false => self.expired.extend(Kind::ALL.map(AnyKind::Ours)),
            },
            // The processes are not part of the world.
            Act::Kill | Act::KillAtEffect(_) | Act::Handover(_) => {}
        }
        self.mend();
    }

    /// People make again what has gone: namespaces and DNSZones come back when the old ones are gone.
    pub fn mend(&mut self) {
        for name in TEAMS {
            let id = (AnyKind::Ours(Kind::Namespace), (String::new(), name.to_owned()));
            if !self.cluster.things.contains_key(&id) {
                self.put_namespace(name);
            }
        }
        for number in 0..DOMAINS.len() {
            if !self.cluster.things.contains_key(&zone_id(number)) {
                self.put_zone(number, Grant::All, false);
            }
        }
    }

    /// DNSZones that were deleted wait for what depends on them (api.md, "Deletion"): people let them go.
    pub fn let_go(&mut self) {
        for number in 0..DOMAINS.len() {
            let id = zone_id(number);
            let is_leaving =
                self.cluster.things.get(&id).is_some_and(|thing| thing.meta().deletion_timestamp.is_some());
            if is_leaving {
                self.cluster.change(&id, |thing| {
                    let annotations = thing.meta_mut().annotations.get_or_insert_default();
                    annotations.insert(RELEASE.to_owned(), "true".to_owned());
                });
            }
        }
    }

    fn put_namespace(&mut self, name: &str) {
        let id = (AnyKind::Ours(Kind::Namespace), (String::new(), name.to_owned()));
        let now = self.clock.time();
        self.cluster.put(id, json!({}), json!({"labels": {"kubernetes.io/metadata.name": name}}), now);
    }

    fn last_rules(&self, zone: usize) -> Option<&Rules> {
        let (_, key) = zone_id(zone);
        self.truth.rules.get(&format!("{}/{}", key.0, key.1))?.last()
    }

    fn put_zone(&mut self, number: usize, grant: Grant, is_suspended: bool) {
        let id = zone_id(number);
        let all = json!({"from": "All"});
        let grants = match grant {
            Grant::None => json!([]),
            Grant::All => json!([{"namespaces": all, "names": ["*"], "adoption": "Force"}]),
            Grant::Team => {
                let names = [format!("*.team.{}", DOMAINS[number])];
                json!([{"namespaces": all, "names": names, "adoption": "Force"}])
            }
        };
        let spec = json!({"domain": DOMAINS[number], "allowedRecords": grants, "suspend": is_suspended, "sources": {"kinds": ["Ingress"]}});
        let annotations = self.cluster.things.get(&id).and_then(|thing| thing.meta().annotations.clone());
        let (now, time) = (self.clock.millis(), self.clock.time());
        // What was approved in the DNSZone before it, which had another uid, counts until that is gone.
        if !self.cluster.things.contains_key(&id) {
            self.approved.remove(&format!("{}/{}", id.1.0, id.1.1));
        }
        if !self.cluster.put(id.clone(), spec, json!({"annotations": annotations}), time) {
            return;
        }
        let rules = Rules {
            from: now,
            domain: Name::parse(DOMAINS[number]).expect("a valid name"),
            home: NAMESPACE.into(),
            grant,
            is_active: !is_suspended,
        };
        self.truth.rules.entry(format!("{}/{}", id.1.0, id.1.1)).or_default().push(rules);
    }

    fn put_record_set(&mut self, object: Object, wish: &Wish) {
        let key = key_of(object);
        if self.is_namespace_going(&key.0) {
            return;
        }
        let (rtype, values) = values_of(&wish.value);
        let name = format!("{}.{}", LABELS[wish.label], DOMAINS[wish.domain]);
        let adoption = ["Never", "Identical", "Force"][usize::from(wish.adoption)];
        let policy = if wish.is_retained { "Retain" } else { "Delete" };
        let spec = json!({
            "name": name, "type": rtype.to_string(), "values": values, "adoption": adoption, "deletionPolicy": policy,
        });
        let (now, time) = (self.clock.millis(), self.clock.time());
        let id = (AnyKind::Ours(Kind::RecordSet), key.clone());
        // The same again is no edit.
        if self.cluster.record_set(&key).is_some_and(|old| {
            old.metadata.deletion_timestamp.is_none()
                && serde_json::from_value(spec.clone())
                    .is_ok_and(|spec: zonekeeper_api::RecordSetSpec| spec == old.spec)
        }) {
            return;
        }
        if !self.cluster.put(id, spec, json!({}), time) {
            return;
        }
        let ask = Ask {
            name: Name::parse(&name).expect("a valid name"),
            rtype,
            values: Some(
                values.iter().map(|value| Rdata::parse(rtype, value).expect("a valid value")).collect(),
            ),
            adoption: [Adoption::Never, Adoption::Identical, Adoption::Force][usize::from(wish.adoption)],
            ttl: 1,
            is_retained: wish.is_retained,
        };
        self.truth.ask(&holder(&key), &key.0, vec![ask], now, End::Edited);
    }

    fn delete_record_set(&mut self, object: Object) {
        self.delete_key(&key_of(object));
    }

    fn delete_key(&mut self, key: &Key) {
        let (now, time) = (self.clock.millis(), self.clock.time());
        if self.cluster.delete(&(AnyKind::Ours(Kind::RecordSet), key.clone()), time) {
            self.truth.ask(&holder(key), &key.0, Vec::new(), now, End::Deleted);
        }
    }

    fn put_ingress(&mut self, object: Object, label: usize, address: Option<u8>) {
        let key = key_of(object);
        if self.is_namespace_going(&key.0) {
            return;
        }
        let host = format!("{}.{}", LABELS[label], DOMAINS[0]);
        let address = address.map(|number| format!("192.0.2.{number}"));
        let addresses: Vec<Json> = address.iter().map(|ip| json!({"ip": ip})).collect();
        let whole = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {},
            "spec": {"rules": [{"host": host}]}, "status": {"loadBalancer": {"ingress": addresses}},
        });
        let (now, time) = (self.clock.millis(), self.clock.time());
        if !self.cluster.put((INGRESS, key.clone()), whole, json!({}), time) {
            return;
        }
        let holder = format!("ingress/{}/{}", key.0, key.1);
        let name = Name::parse(&host).expect("a valid name");
        let values =
            address.map(|ip| BTreeSet::from([Rdata::parse(RecordType::A, &ip).expect("an address")]));
        // An address that is lost is no word of its owner; another one is.
        let is_same_host = self.truth.open().any(|asked| asked.object == holder && asked.ask.name == name);
        let end = if is_same_host && values.is_none() { End::NoEvidence } else { End::Edited };
        let adoption = Adoption::Identical;
        let ask = Ask { name, rtype: RecordType::A, values, adoption, ttl: 1, is_retained: false };
        self.truth.ask(&holder, &key.0, vec![ask], now, end);
    }

    fn delete_ingress(&mut self, key: &Key) {
        let (now, time) = (self.clock.millis(), self.clock.time());
        if self.cluster.delete(&(INGRESS, key.clone()), time) {
            let holder = format!("ingress/{}/{}", key.0, key.1);
            self.truth.ask(&holder, &key.0, Vec::new(), now, End::Deleted);
        }
    }

    fn is_namespace_going(&self, name: &str) -> bool {
        let id = (AnyKind::Ours(Kind::Namespace), (String::new(), name.to_owned()));
        self.cluster.things.get(&id).is_none_or(|thing| thing.meta().deletion_timestamp.is_some())
    }

    fn delete_namespace(&mut self, name: &str) {
        let ingresses: Vec<Key> = self
            .cluster
            .of_kind(INGRESS)
            .filter(|(key, _)| key.0 == name)
            .map(|(key, _)| key.clone())
            .collect();
        ingresses.iter().for_each(|key| self.delete_ingress(key));
        let keys: Vec<Key> = self
            .cluster
            .of_kind(AnyKind::Ours(Kind::RecordSet))
            .filter(|(key, _)| key.0 == name)
            .map(|(key, _)| key.clone())
            .collect();
        keys.iter().for_each(|key| self.delete_key(key));
        let time = self.clock.time();
        self.cluster.delete(&(AnyKind::Ours(Kind::Namespace), (String::new(), name.to_owned())), time);
    }

    /// People approve what the DNSZones say is held.
    pub fn approve(&mut self) {
        let mut shown = Vec::new();
        for (key, thing) in self.cluster.of_kind(AnyKind::Ours(Kind::Zone)) {
            let Thing::Zone(zone) = thing else { continue };
            let Some(plan) = zone.status.as_ref().and_then(|status| status.plan.as_ref()) else { continue };
            let held = plan.changes.iter().filter(|change| change.held);
            let sets: Vec<_> = held
                .flat_map(|change| {
                    let domain = Name::parse(&zone.spec.domain).ok()?;
                    // Names are told as they are in the zone.
                    let shown = change.name.as_deref()?;
                    let name = match Name::parse(shown).ok() {
                        Some(name) if name.is_within(&domain) => name,
                        _relative => Name::parse_under(shown, &domain).ok()?,
                    };
                    let before = change.before.as_ref().and_then(|before| match before {
                        PlannedState::Set(set) => Some(set.rtype.clone()),
                        PlannedState::Value(_) => None,
                    });
                    let types = [change.rtype.clone(), before].into_iter().flatten();
                    Some(
                        types
                            .filter_map(move |rtype| Some((name.clone(), rtype.parse().ok()?)))
                            .collect::<Vec<_>>(),
                    )
                })
                .flatten()
                .collect();
            if plan.held > 0 {
                shown.push((format!("{}/{}", key.0, key.1), plan.hash.clone(), sets));
            }
        }
        for (key, _, sets) in &shown {
            self.approved.entry(key.clone()).or_default().extend(sets.iter().cloned());
        }
        self.annotate_zones(|zone| {
            let found = shown.iter().find(|(key, _, _)| key == zone);
            found.map(|(_, hash, _)| hash.clone())
        });
    }

    fn annotate_zones(&mut self, hash: impl Fn(&str) -> Option<String>) {
        for number in 0..DOMAINS.len() {
            let id = zone_id(number);
            if let Some(hash) = hash(&format!("{}/{}", id.1.0, id.1.1)) {
                self.cluster.change(&id, |thing| {
                    let annotations = thing.meta_mut().annotations.get_or_insert_default();
                    annotations.insert(APPROVE.to_owned(), hash);
                });
            }
        }
    }

    fn person(&mut self, person: &Person) {
        let now = self.clock.millis();
        let new = self.servers.new_id();
        let Servers { zones, issued, .. } = &mut self.servers;
        let Some(zone) = zones.values_mut().next() else { return };
        zone.remember(now);
        let nth = |nth: u64| -> Option<RecordId> {
            let ids: Vec<&RecordId> = zone.records.keys().collect();
            ids.get((nth % (ids.len().max(1) as u64)) as usize).map(|id| (*id).clone())
        };
        let domain = zone.domain.clone();
        let named = |label: usize| {
            Name::parse(&format!("{}.{}", LABELS[label], domain.as_str())).expect("a valid name")
        };
        match person {
            Person::Creates { label, value, comment } => {
                let (rtype, values) = values_of(value);
                let rdata = Rdata::parse(rtype, &values[0]).expect("a valid value");
                let name = named(*label);
                let comment = match comment {
                    Comment::None => "",
                    Comment::Text => "do not touch",
                    Comment::Forged => "zk1:dnefoi3j:recordset/team-a/r1:aaaaaaaaaaaaaaaa",
                    Comment::Others => "zk1:aaaaaaaa:recordset/x/y:bbbbbbbbbbbbbbbb",
                };
                let record = LiveRecord {
                    rdata: rdata.clone(),
                    id: new.clone(),
                    // Some differ from what objects ask for.
                    ttl: if now.is_multiple_of(3) { Ttl(300) } else { Ttl::AUTOMATIC },
                    attributes: Default::default(),
                    comment: comment.into(),
                    read_only: false,
                };
                let is_twin = zone.at(&name).any(|kept| kept.record.rdata == rdata);
                if !is_twin && !zone.conflicts(&name, rtype, &new) {
                    zone.records.insert(new, theirs(name, record, now));
                }
            }
            Person::Edits(at, number) => {
                let Some(id) = nth(*at) else { return };
                let other = zone.records[&id].record.rdata.rtype();
                if let Some(rdata) = another(other, *number)
                    && !zone.at(&zone.records[&id].name.clone()).any(|kept| kept.record.rdata == rdata)
                    && let Some(kept) = zone.records.get_mut(&id)
                {
                    kept.record.rdata = rdata;
                    kept.touched(issued, now);
                }
            }
            Person::Wipes(at) => {
                if let Some(kept) = nth(*at).and_then(|id| zone.records.get_mut(&id)) {
                    kept.record.comment = "".into();
                    kept.touched(issued, now);
                }
            }
            Person::Repurposes(at, number) => {
                let Some(id) = nth(*at) else { return };
                let kept = &zone.records[&id];
                let Some(rdata) = another(kept.record.rdata.rtype(), *number + 100) else { return };
                let is_twin = zone.at(&kept.name).any(|other| other.record.rdata == rdata);
                if let Some(kept) = zone.records.get_mut(&id).filter(|_| !is_twin) {
                    kept.record.rdata = rdata;
                    kept.record.comment = "zk1:aaaaaaaa:recordset/x/y:bbbbbbbbbbbbbbbb".into();
                    kept.touched(issued, now);
                }
            }
            Person::Renames(at, label) => {
                let Some(id) = nth(*at) else { return };
                let (name, rdata) = (named(*label), zone.records[&id].record.rdata.clone());
                let is_twin = zone.at(&name).any(|kept| kept.record.rdata == rdata);
                if is_twin || zone.conflicts(&name, rdata.rtype(), &id) {
                    return;
                }
                if let Some(kept) = zone.records.get_mut(&id)
                    && kept.name != name
                {
                    kept.name = name;
                    kept.touched(issued, now);
                }
            }
            Person::Copies(at, label) => {
                let Some(id) = nth(*at) else { return };
                let (name, kept) = (named(*label), zone.records[&id].clone());
                let is_twin = zone.at(&name).any(|other| other.record.rdata == kept.record.rdata);
                if !is_twin && kept.name != name && !zone.conflicts(&name, kept.record.rdata.rtype(), &new) {
                    let mut copy = theirs(name, LiveRecord { id: new.clone(), ..kept.record }, now);
                    copy.touched(issued, now);
                    zone.records.insert(new, copy);
                }
            }
            Person::Deletes(at) => {
                if let Some(id) = nth(*at) {
                    zone.records.remove(&id);
                }
            }
        }
    }

    fn fault(&mut self, fault: &Fault) {
        let now = self.clock.millis();
        let faults = &mut self.faults;
        match fault {
            Fault::ProviderDown(millis) => faults.provider_down = now + millis,
            Fault::RateLimited(millis) => faults.rate_limited = now + millis,
            Fault::Lagging(millis) => faults.lagging = now + millis,
            Fault::LostReplies(count) => faults.lost_replies += count,
            Fault::Refusals(count) => faults.refusals += count,
            Fault::ApiDown(millis) => faults.api_down = now + millis,
            Fault::WatchesStuck(millis) => faults.watches_stuck = now + millis,
            Fault::Conflicts(count) => faults.api_conflicts += count,
        }
    }
}

/// `kind/namespace/name`.
pub fn holder(key: &Key) -> String {
    format!("recordset/{}/{}", key.0, key.1)
}

fn key_of(object: Object) -> Key {
    (TEAMS[object.team].to_owned(), format!("r{}", object.number))
}

pub fn zone_id(number: usize) -> Id {
    (AnyKind::Ours(Kind::Zone), (NAMESPACE.to_owned(), DOMAINS[number].replace('.', "-")))
}

fn values_of(value: &Value) -> (RecordType, Vec<String>) {
    match value {
        Value::A(numbers) => (RecordType::A, numbers.iter().map(|n| format!("192.0.2.{n}")).collect()),
        Value::Aaaa(number) => (RecordType::AAAA, vec![format!("2001:db8::{number}")]),
        Value::Txt(number) => (RecordType::TXT, vec![format!("text {number}")]),
        Value::Cname(number) => (RecordType::CNAME, vec![format!("target-{number}.example.org.")]),
    }
}

/// A value that no object asks for.
fn another(rtype: RecordType, number: u8) -> Option<Rdata> {
    let text = match rtype {
        RecordType::A => format!("198.51.100.{number}"),
        RecordType::AAAA => format!("2001:db8:1::{number}"),
        RecordType::TXT => format!("theirs {number}"),
        RecordType::CNAME => format!("theirs-{number}.example.org."),
        _other => return None,
    };
    Rdata::parse(rtype, &text).ok()
}

fn theirs(name: Name, record: LiveRecord, now: u64) -> Kept {
    let home = (name.clone(), record.rdata.rtype());
    let written = record.rdata.clone();
    Kept {
        name,
        record,
        author: Author::People { since: now, was_ours: false },
        home,
        written,
        since: now,
        born: now,
        owners: BTreeSet::new(),
        touched: 0,
        is_copy: true,
    }
}
