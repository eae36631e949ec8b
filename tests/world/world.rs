//! All that is not the operator: API server, provider, faults, and the oracle that watches every write.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;
use zonekeeper_api::{DNSZone, RegistryType};
use zonekeeper_kernel::{name::Name, plan::Edit, rdata::RecordType};
use zonekeeper_model::{Key, objects::Kind, secrets::SecretState};
use zonekeeper_providers::{Effect, ProviderError};

use crate::{
    clock::{Clock, Millis},
    cluster::{AnyKind, Cluster, Thing},
    faults::Faults,
    oracle::{Approved, Counts, Moment, Window, is_left},
    provider,
    random::Random,
    server::{Author, Kept, Servers, marker},
    truth::{LAG, Truth},
};

/// What everybody shares.
pub struct World {
    state: Mutex<State>,
    /// Told when the API server has something new.
    pub changed: Notify,
}

pub struct State {
    pub clock: Clock,
    pub random: Random,
    pub cluster: Cluster,
    pub servers: Servers,
    pub faults: Faults,
    pub truth: Truth,
    pub counts: BTreeMap<String, Counts>,
    /// What people have approved, by DNSZone.
    pub approved: BTreeMap<String, Approved>,
    pub secrets: BTreeMap<Key, SecretState>,
    pub valid_tokens: BTreeSet<Vec<u8>>,
    /// Kinds that are not installed now.
    pub missing: BTreeSet<AnyKind>,
    /// Kinds that may not be listed now.
    pub forbidden: BTreeSet<AnyKind>,
    pub comment_limit: usize,
    /// Whether a change happens as a whole at the provider, or edit by edit.
    pub is_atomic: bool,
    /// Kinds whose watches are to begin anew with a list.
    pub expired: BTreeSet<AnyKind>,
    /// How long a call or an event takes at most.
    pub slowness: Millis,
    /// Writes that the operator made in the API server.
    pub writes: u64,
    /// After so many further effects the operator is stopped.
    pub effects_left: Option<u64>,
    /// The first rule that was broken.
    pub broken: Option<String>,
    history: Option<Vec<String>>,
}

// === impl World ===

impl World {
    pub fn new(seed: u64, is_told: bool) -> Arc<Self> {
        let mut random = Random::new(seed);
        let state = State {
            clock: Clock::new(),
            cluster: Cluster::default(),
            servers: Servers::default(),
            faults: Faults::default(),
            truth: Truth::default(),
            counts: BTreeMap::new(),
            approved: BTreeMap::new(),
            secrets: BTreeMap::new(),
            valid_tokens: BTreeSet::new(),
            missing: BTreeSet::new(),
            forbidden: BTreeSet::new(),
            expired: BTreeSet::new(),
            comment_limit: random.pick(&[100, 500]),
            is_atomic: random.percent(50),
            slowness: random.pick(&[20, 200, 1500]),
            writes: 0,
            effects_left: None,
            broken: None,
            history: is_told.then(Vec::new),
            random,
        };
        Arc::new(Self { state: Mutex::new(state), changed: Notify::new() })
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    /// Adds a line to the history, where it is to be told.
    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        if let Some(history) = &mut self.history {
            let millis = self.clock.millis();
            history.push(format!("{:>6}.{:03}  {}", millis / 1000, millis % 1000, line()));
        }
    }

    pub fn take_history(&mut self) -> Vec<String> {
        self.history.take().unwrap_or_default()
    }

    /// A rule was broken. The first one counts.
    pub fn break_rule(&mut self, why: String) {
        self.tell(|| format!("BROKEN: {why}"));
        self.broken.get_or_insert(why);
    }

    pub fn provider_latency(&mut self) -> Duration {
        Duration::from_millis(self.random.between(1, self.slowness))
    }

    pub fn api_latency(&mut self) -> Duration {
        Duration::from_millis(self.random.between(1, self.slowness / 4 + 1))
    }

    /// As of when a listing shows the zone.
    pub fn listing_time(&mut self) -> Millis {
        let now = self.clock.millis();
        match self.faults.lagging > now {
            true => now.saturating_sub(self.random.below(4_000)),
            false => now,
        }
    }

    /// The DNSZone of a zone at the provider: the oldest one of its domain that was not deleted.
    fn zone_object(&self, id: &str) -> Option<(&Key, &DNSZone)> {
        let is_its =
            |zone: &DNSZone| zone.status.as_ref().is_some_and(|status| status.zone_id.as_deref() == Some(id));
        let zones = self.cluster.of_kind(AnyKind::Ours(Kind::Zone)).filter_map(|(key, thing)| match thing {
            Thing::Zone(zone) if is_its(zone) => Some((key, &**zone)),
            _other => None,
        });
        let oldest = zones.min_by_key(|(_, zone)| zone.metadata.creation_timestamp.clone());
        // It may have gone a moment ago.
        oldest.or_else(|| {
            self.cluster.log.iter().rev().find_map(|entry| match &entry.thing {
                Some(Thing::Zone(zone)) if is_its(zone) => Some((&entry.id.1, &**zone)),
                Some(_) | None => None,
            })
        })
    }

    /// An edit arrives at the provider.
    pub fn edit(&mut self, id: &str, edit: &Edit, replica: &str) -> Result<Effect, ProviderError> {
        let now = self.clock.millis();
        let stale = |what: &str| ProviderError::Stale { message: what.to_owned() };
        let new = self.servers.new_id();
        if let Some(after) = edit.after()
            && let Some(marker) = marker(&after.comment)
        {
            let issued = (marker.into(), after.name.clone(), after.rdata.rtype());
            self.servers.issued.insert(issued);
        }
        let Some(zone) = self.servers.zones.get(id) else { return Err(stale("the zone is gone")) };
        let record_id = edit.before().map_or(new, |before| before.id.clone());
        let old = zone.records.get(&record_id);
        if edit.before().is_some() && old.is_none() {
            return Err(stale("81044: the record does not exist"));
        }
        if let Some(after) = edit.after() {
            if zone.holds(after, &record_id) {
                return Err(stale("81058: an identical record already exists"));
            }
            if zone.conflicts(&after.name, after.rdata.rtype(), &record_id) {
                return Err(stale("81053: a record of another type is in the way"));
            }
        }
        let key = self.zone_object(id).map(|(key, _)| format!("{}/{}", key.0, key.1)).unwrap_or_default();
        let approved = self.approved.get(&key).cloned().unwrap_or_default();
        let moment = Moment { now, truth: &self.truth, zone, approved: &approved };
        let objection = moment.objection(edit);
        let line = || {
            let what = |record: &zonekeeper_kernel::rdata::Rdata, comment: &str| {
                format!("{} {record} {comment:?}", record.rtype())
            };
            let before = old.map(|kept| what(&kept.record.rdata, &kept.record.comment));
            let after = edit.after().map(|after| what(&after.rdata, &after.comment));
            format!(
                "{replica} writes {} {}: {} -> {}",
                edit.name(),
                record_id.0,
                before.unwrap_or_else(|| "nothing".into()),
                after.unwrap_or_else(|| "nothing".into())
            )
        };
        let line = self.history.is_some().then(line);
        let lost = old.filter(|kept| {
            edit.after().is_none()
                && kept.is_ours()
                && !kept.is_marker()
                && !is_left(zone, &kept.name, &record_id)
        });
        let lost = lost.map(|kept| ((kept.name.clone(), kept.record.rdata.rtype()), kept.born));
        if let Some(line) = line {
            self.tell(|| line);
        }
        if let Some(why) = objection {
            self.break_rule(why);
        }
        if let Some((set, born)) = lost {
            self.count_loss(id, &key, set, born);
        }
        let zone = self.servers.zones.get_mut(id).expect("it was there");
        zone.remember(now);
        zone.writes += 1;
        match edit.after() {
            Some(after) => {
                let record = after.written(record_id.clone());
                let is_retained = marker(&after.comment).is_none() && edit.is_marker_only() && !self.is_txt();
                let home = (after.name.clone(), after.rdata.rtype());
                let zone = self.servers.zones.get_mut(id).expect("it was there");
                let before = zone.records.get(&record_id);
                let since =
                    before.map_or(now, |kept| if kept.written == after.rdata { kept.since } else { now });
                let asked = self.truth.asked.iter().filter(|asked| {
                    asked.reaches(now.saturating_sub(LAG)) && asked.asks_for(&after.name, &after.rdata)
                });
                let owners = asked.map(|asked| asked.namespace.clone()).collect();
                let born = before.map_or(now, |kept| kept.born);
                let author = match is_retained {
                    true => Author::People { since: now, was_ours: true },
                    false => Author::Us,
                };
                let kept = Kept {
                    name: after.name.clone(),
                    written: after.rdata.clone(),
                    record,
                    author,
                    home,
                    since,
                    born,
                    owners,
                    touched: 0,
                    is_copy: false,
                };
                zone.records.insert(record_id.clone(), kept);
            }
            None => drop(zone.records.remove(&record_id)),
        }
        let zone = &self.servers.zones[id];
        self.counts.entry(id.to_owned()).or_default().note(zone, now);
        Ok(provider::effect(edit, record_id))
    }

    /// Whether ownership is remembered in TXT records.
    fn is_txt(&self) -> bool {
        self.cluster.of_kind(AnyKind::Ours(Kind::Provider)).any(|(_, thing)| match thing {
            Thing::Provider(provider) => provider.spec.registry.registry_type == Some(RegistryType::Txt),
            _other => false,
        })
    }

    fn count_loss(&mut self, id: &str, key: &str, set: (Name, RecordType), born: Millis) {
        if self.approved.get_mut(key).is_some_and(|approved| approved.remove(&set)) {
            return;
        }
        let now = self.clock.millis();
        let guard = self.zone_object(id).and_then(|(_, zone)| zone.status.as_ref()?.guard.as_ref());
        let begun = guard.and_then(|guard| guard.window_start.as_ref());
        let window = Window { begun: begun.map(|begun| self.clock.millis_of(begun)), is_guarded: true };
        if let Some(why) = self.counts.entry(id.to_owned()).or_default().lose(key, window, born, now) {
            self.break_rule(format!("guard: {}: {why}", set.0));
        }
    }
}
