//! When all is quiet: the desired end is reached, statuses are true, nothing is stuck, and nothing is written.

use std::{sync::Arc, time::Duration};

use kube::ResourceExt;
use zonekeeper_api::RecordSet;
use zonekeeper_kernel::{name::Name, rdata::Rdata};
use zonekeeper_model::{Key, objects::Kind};

use crate::{
    cluster::{AnyKind, Id, Thing},
    replica::Replica,
    run::check,
    script::DOMAINS,
    server::{Author, Kept},
    truth::Asked,
    world::{State, World},
};

/// How often people look whether something is held, and approve it.
const LOOKS: usize = 12;
/// Longer than two scans.
const BETWEEN: Duration = Duration::from_secs(130);
/// For how long nothing must be written.
const SILENCE: Duration = Duration::from_secs(300);

/// Faults end, people approve what is held, and then all must be well.
pub async fn settle(
    world: &Arc<World>,
    replica: &mut Replica,
    start: &mut impl FnMut() -> Replica,
) -> Result<(), String> {
    {
        let mut state = world.lock();
        state.tell(|| "-- all is quiet from here on".into());
        state.faults.heal();
        state.missing.clear();
        state.forbidden.clear();
        state.effects_left = None;
        for zone in 0..DOMAINS.len() {
            state.act(&crate::script::Act::Suspend(zone, false));
        }
    }
    if !replica.is_running() {
        *replica = start();
    }
    for look in 0..LOOKS {
        world.changed.notify_waiters();
        tokio::time::sleep(BETWEEN).await;
        check(world)?;
        let mut state = world.lock();
        state.let_go();
        state.mend();
        if state.is_held() {
            state.approve();
        } else if state.deleted().is_none() && look > 0 {
            break;
        }
    }
    world.changed.notify_waiters();
    tokio::time::sleep(BETWEEN * 4).await;
    check(world)?;
    let before = {
        let state = world.lock();
        state.judge()?;
        state.all_writes()
    };
    tokio::time::sleep(SILENCE).await;
    check(world)?;
    let after = world.lock().all_writes();
    match after == before {
        true => Ok(()),
        false => Err(format!("noise: {} writes while nothing happens", after - before)),
    }
}

// === impl State ===

impl State {
    fn all_writes(&self) -> u64 {
        self.writes + self.servers.zones.values().map(|zone| zone.writes).sum::<u64>()
    }

    fn is_held(&self) -> bool {
        self.cluster.of_kind(AnyKind::Ours(Kind::Zone)).any(|(_, thing)| match thing {
            Thing::Zone(zone) => zone
                .status
                .as_ref()
                .is_some_and(|status| status.plan.as_ref().is_some_and(|plan| plan.held > 0)),
            _other => false,
        })
    }

    /// An object that was deleted and is still there.
    fn deleted(&self) -> Option<&Key> {
        let mut things = self.cluster.things.iter();
        let is_stuck = |(_, thing): &(&Id, &Thing)| thing.meta().deletion_timestamp.is_some();
        things.find(is_stuck).map(|((_, key), _)| key)
    }

    fn is_unknown(&self, name: &Name) -> bool {
        self.truth
            .open()
            .any(|asked| asked.ask.name == *name && !(self.has_arrived(asked) && self.is_ready(asked)))
    }

    fn judge(&self) -> Result<(), String> {
        if let Some(key) = self.deleted() {
            return Err(format!("stuck: {}/{} was deleted long ago, and is still there", key.0, key.1));
        }
        self.left_over()?;
        for (key, thing) in self.cluster.of_kind(AnyKind::Ours(Kind::RecordSet)) {
            let Thing::RecordSet(object) = thing else { continue };
            self.judge_record_set(key, object)?;
        }
        Ok(())
    }

    /// What is ours at the provider, and no object asks for.
    fn left_over(&self) -> Result<(), String> {
        let kept = self.servers.zones.values().flat_map(|zone| zone.records.values());
        let mut ours = kept.filter(|kept| kept.is_ours() && !kept.is_marker());
        let stray = ours.find(|kept| {
            let is_signed = kept.record.comment.contains("zk1:");
            let is_asked = self.truth.open().any(|asked| asked.asks_for(&kept.name, &kept.written));
            let is_awaited =
                self.is_moving(kept, None) || self.is_unknown(&kept.name) || self.is_let_go(kept);
            is_signed && !is_asked && !is_awaited
        });
        match stray {
            Some(kept) => Err(format!(
                "left: {} {} {} {:?} is left, and no object asks for it",
                kept.name,
                kept.record.rdata.rtype(),
                kept.record.rdata,
                kept.record.comment
            )),
            None => Ok(()),
        }
    }

    /// A deleted object whose DNSZone goes before its record is let go, and the record stays until a person approves: it is
    /// listed when the zone returns (api.md, Deletion).
    fn is_let_go(&self, kept: &Kept) -> bool {
        let asked = self.truth.asked.iter().filter(|asked| asked.asks_for(&kept.name, &kept.written));
        let last = asked.filter_map(|asked| asked.end).max_by_key(|(at, _)| *at);
        last.is_some_and(|(at, _)| {
            let mut deleted = self.truth.zones_deleted.iter();
            deleted.any(|(domain, then)| kept.name.is_within(domain) && *then >= at)
        })
    }

    /// What moved goes from its old place when it has arrived at its new one, and another may be in its way.
    fn is_moving(&self, kept: &Kept, but: Option<&str>) -> bool {
        let was_asked = self.truth.asked.iter().filter(|asked| asked.asks_for(&kept.name, &kept.written));
        was_asked.filter(|was| Some(was.object.as_str()) != but).any(|was| {
            let mut open = self.truth.open().filter(|asked| asked.object == was.object);
            open.any(|asked| !self.has_arrived(asked) || !self.is_ready(asked))
        })
    }

    /// Whether an object does not say itself that it waits for something.
    fn is_ready(&self, asked: &Asked) -> bool {
        let key = asked.object.strip_prefix("recordset/").and_then(|key| key.split_once('/'));
        let key = key.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
        let object = key.and_then(|key| self.cluster.record_set(&key));
        let conditions = object.and_then(|object| Some(&object.status.as_ref()?.conditions));
        conditions.is_none_or(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
    }

    /// Whether all that is asked for is there.
    fn has_arrived(&self, asked: &Asked) -> bool {
        let Some(values) = &asked.ask.values else { return false };
        let name = &asked.ask.name;
        let zone = self.servers.zones.values().find(|zone| name.is_within(&zone.domain));
        zone.is_some_and(|zone| {
            values.iter().all(|value| zone.at(name).any(|kept| kept.record.rdata == *value))
        })
    }

    fn judge_record_set(&self, key: &Key, object: &RecordSet) -> Result<(), String> {
        let holder = crate::actors::holder(key);
        let Some(asked) = self.truth.open().find(|asked| asked.object == holder) else { return Ok(()) };
        let (ask, name) = (&asked.ask, &asked.ask.name);
        let who = || format!("{holder} ({name} {})", ask.rtype);
        let status = object.status.as_ref();
        let ready = status.and_then(|status| status.conditions.iter().find(|it| it.type_ == "Ready"));
        let Some(ready) = ready else { return Err(format!("untrue: {} has no status", who())) };
        if status.and_then(|status| status.observed_generation) != object.meta_generation() {
            return Err(format!("untrue: {}: its status is of another generation", who()));
        }
        let zone = self.servers.zones.values().find(|zone| name.is_within(&zone.domain));
        let Some(zone) = zone else { return Ok(()) };
        let there: Vec<&Rdata> = zone.at(name).map(|kept| &kept.record.rdata).collect();
        let wanted = ask.values.clone().unwrap_or_default();
        let missing = wanted.iter().find(|value| !there.contains(value));
        let is_ready = ready.status == "True";
        if let Some(missing) = missing.filter(|_| is_ready) {
            return Err(format!(
                "untrue: {} says that it is ready ({}), and {missing} is not there",
                who(),
                ready.reason
            ));
        }
        // What follows is about objects that have a name to themselves.
        let is_alone = self.truth.open().filter(|other| other.ask.name == *name).count() == 1;
        let is_shared = zone.at(name).any(|kept| {
            matches!(kept.author, Author::People { .. }) || !kept.record.comment.contains("zk1:")
        });
        let mut zones = self.truth.zones_of(name);
        let may = zones.any(|zone| {
            self.truth.may(zone, asked, self.clock.millis() - 1, crate::truth::Quantifier::Always)
        });
        let is_held_up = zone.at(name).any(|kept| self.is_moving(kept, Some(&holder)));
        if !is_alone || is_shared || !may || is_held_up {
            return Ok(());
        }
        if !is_ready {
            return Err(format!(
                "unready: {} has its name to itself, and is not ready: {} {}",
                who(),
                ready.reason,
                ready.message
            ));
        }
        match zone.at(name).find(|kept| !wanted.contains(&kept.record.rdata)) {
            Some(other) => Err(format!("left: {}: {} is left beside its values", who(), other.record.rdata)),
            None => Ok(()),
        }
    }
}

trait Generation {
    fn meta_generation(&self) -> Option<i64>;
}

impl<K: ResourceExt> Generation for K {
    fn meta_generation(&self) -> Option<i64> {
        self.meta().generation
    }
}
