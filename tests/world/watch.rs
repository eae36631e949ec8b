//! Watches of the simulated API server: each kind in its own order, with delays, and relisted after 410.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::sync::mpsc::UnboundedSender;
use zonekeeper_model::{
    Event, Key,
    objects::{Kind, Sight},
    secrets::SecretState,
    sources::{
        kinds,
        news::{News, Standing},
    },
};
use zonekeeper_sources::object::{Keep, Kind as SourceKind, Object, ObjectRef};

use crate::{
    cluster::{AnyKind, Entry, Thing},
    world::World,
};

const RETRY: Duration = Duration::from_secs(5);

/// Follows one of our own kinds.
pub async fn follow_ours(world: Arc<World>, events: UnboundedSender<Event>, kind: Kind) {
    let tell = |sight| drop(events.send(Event::Seen(sight)));
    loop {
        let (things, mut at) = list(&world, AnyKind::Ours(kind)).await;
        let keys: BTreeSet<Key> = things.iter().map(|(key, _)| key.clone()).collect();
        let seen = things.iter().filter_map(|(_, thing)| thing.object());
        seen.for_each(|object| tell(Sight::Applied(object)));
        tell(Sight::Listed(kind, keys));
        while let Some(entries) = next(&world, AnyKind::Ours(kind), &mut at).await {
            for Entry { id: (_, key), thing } in entries {
                match thing.as_ref().map(Thing::object) {
                    Some(Some(object)) => tell(Sight::Applied(object)),
                    Some(None) => {}
                    None => tell(Sight::Gone(kind, key)),
                }
            }
        }
    }
}

/// Follows a kind that is published.
pub async fn follow_source(world: Arc<World>, events: UnboundedSender<Event>, kind: SourceKind, keep: Keep) {
    let any = AnyKind::Source(kind);
    let tell = |news| drop(events.send(Event::Source(news)));
    loop {
        if let Some(standing) = standing(&world, any) {
            tell(News::Standing(kind, standing));
            tokio::time::sleep(RETRY).await;
            continue;
        }
        let (things, mut at) = list(&world, any).await;
        things.iter().filter_map(|(_, thing)| read(kind, keep, thing)).for_each(tell);
        tell(News::Listed(kind, things.into_iter().map(|(key, _)| key).collect()));
        let row = kinds::row(kind);
        let resource = kinds::resource(&row, row.version.unwrap_or("v1"));
        tell(News::Standing(kind, Standing::Following(resource)));
        'watching: while let Some(entries) = next(&world, any, &mut at).await {
            for Entry { id: (_, key), thing } in entries {
                match thing {
                    Some(thing) => drop(read(kind, keep, &thing).map(tell)),
                    // With its definition an object goes that nobody has deleted.
                    None if standing(&world, any).is_some() => break 'watching,
                    None => tell(News::Gone(ObjectRef::new(kind, key.0, key.1))),
                }
            }
        }
    }
}

/// Follows one Secret.
pub async fn follow_secret(world: Arc<World>, events: UnboundedSender<Event>, key: Key) {
    let mut told: Option<SecretState> = None;
    loop {
        let latency = world.lock().api_latency();
        tokio::time::sleep(latency).await;
        let changed = world.changed.notified();
        let state = {
            let world = world.lock();
            let is_down = world.faults.api_down > world.clock.millis();
            (!is_down).then(|| world.secrets.get(&key).cloned().unwrap_or(SecretState::Absent))
        };
        match state {
            Some(state) if told.as_ref() != Some(&state) => {
                told = Some(state.clone());
                drop(events.send(Event::Secret(key.clone(), state)));
            }
            Some(_) => changed.await,
            None => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}

fn standing(world: &World, kind: AnyKind) -> Option<Standing> {
    let world = world.lock();
    if world.faults.api_down > world.clock.millis() {
        return Some(Standing::Failing);
    }
    if world.missing.contains(&kind) {
        return Some(Standing::Missing);
    }
    world.forbidden.contains(&kind).then_some(Standing::Forbidden)
}

fn read(kind: SourceKind, keep: Keep, thing: &Thing) -> Option<News> {
    let json = serde_json::to_value(thing.dynamic()?).ok()?;
    let object = Object::read(kind, json, keep).expect("actors write valid objects");
    Some(News::Applied(Box::new(object)))
}

/// All objects of a kind, and the place in the log from which a watch goes on.
async fn list(world: &World, kind: AnyKind) -> (Vec<(Key, Thing)>, usize) {
    loop {
        let latency = world.lock().api_latency();
        tokio::time::sleep(latency).await;
        {
            let state = world.lock();
            if state.faults.api_down <= state.clock.millis() {
                let things = state.cluster.of_kind(kind).map(|(key, thing)| (key.clone(), thing.clone()));
                return (things.collect(), state.cluster.log.len());
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// What a watch sees next; none where it is to begin anew with a list.
async fn next(world: &World, kind: AnyKind, at: &mut usize) -> Option<Vec<Entry>> {
    loop {
        let changed = world.changed.notified();
        let (entries, wait) = {
            let mut state = world.lock();
            if state.expired.remove(&kind) {
                return None;
            }
            let now = state.clock.millis();
            let stuck = state.faults.watches_stuck.max(state.faults.api_down).saturating_sub(now);
            if stuck > 0 {
                (None, Duration::from_millis(stuck))
            } else {
                let log = &state.cluster.log[*at..];
                // Events come one by one or together, as the network has it.
                let new: Vec<Entry> = log.iter().filter(|entry| entry.id.0 == kind).cloned().collect();
                *at = state.cluster.log.len();
                let wait = if new.is_empty() { Duration::ZERO } else { state.api_latency() };
                (Some(new), wait)
            }
        };
        match entries {
            Some(entries) if entries.is_empty() => changed.await,
            Some(entries) => {
                tokio::time::sleep(wait).await;
                return Some(entries);
            }
            None => tokio::time::sleep(wait).await,
        }
    }
}
