//! Kubernetes Events: one per change of an object's state, told once; the same words again are counted.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::{
    api::events::v1::{Event, EventSeries},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use zonekeeper_model::events::ObjectEvent;
use zonekeeper_providers::fence::Fence;

use crate::{
    kube::fenced::fenced,
    runner::tasks::{self, Task},
    serve::Metrics,
};

const CONTROLLER: &str = "zonekeeper.dev/controller";
/// What waits to be told; beyond that the newest are dropped, so that a flood never fills the memory.
const WAITING: usize = 5_000;
const AT_ONCE: usize = 8;
/// So many Events are told without a pause, and so many a second after that: a flood must not be one of the API server's.
const BURST: u32 = 300;
const PER_SECOND: u32 = 25;
const PATIENCE: Duration = Duration::from_secs(10);
/// The same words within this time are one Event.
const SERIES: Duration = Duration::from_secs(360);
/// An Event's name has 253 characters at most, of which a dot and its number take 17.
const LONGEST_NAME: usize = 236;

/// Tells what happened to objects, beside the model.
#[derive(Clone)]
pub struct EventPublisher {
    queue: mpsc::Sender<ObjectEvent>,
    metrics: Arc<Metrics>,
}

/// How many Events may be told now, and when the next.
#[derive(Debug)]
struct Pace {
    left: u32,
    filled: Instant,
}

/// What was said a short time ago: numbers alone, for it may be much.
#[derive(Default)]
struct Recent {
    said: HashMap<u64, Said>,
    last: u64,
    tidied: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Said {
    /// Tells the Events of an object apart, by their names.
    number: u64,
    count: i32,
    at: Instant,
}

// === impl EventPublisher ===

impl EventPublisher {
    /// A teller in the name of this instance, which tells nothing while the lease is not held.
    pub fn new(client: Client, instance: String, metrics: Arc<Metrics>, fence: Arc<dyn Fence>) -> Self {
        let (queue, mut waiting) = mpsc::channel::<ObjectEvent>(WAITING);
        let instance: Arc<str> = instance.into();
        tokio::spawn(async move {
            let (slots, mut recent) = (Arc::new(Semaphore::new(AT_ONCE)), Recent::default());
            let mut pace = Pace { left: BURST, filled: Instant::now() };
            while let Some(saying) = waiting.recv().await {
                tokio::time::sleep(pace.next(Instant::now())).await;
                let Ok(slot) = slots.clone().acquire_owned().await else { return };
                let said = recent.note(fingerprint(&saying), Instant::now());
                let (client, instance, fence) = (client.clone(), instance.clone(), fence.clone());
                tokio::spawn(async move {
                    let _slot = slot;
                    let publish =
                        tokio::time::timeout(PATIENCE, publish(saying, client, &instance, said, &fence));
                    match tasks::caught(Task::Event, publish).await {
                        Some(Ok(Ok(()))) | None => {}
                        Some(Ok(Err(error))) => tracing::debug!(%error, "an Event was not taken"),
                        Some(Err(_)) => tracing::debug!("an Event was not taken in time"),
                    }
                });
            }
        });
        Self { queue, metrics }
    }

    /// How many Events wait to be told.
    pub fn waiting(&self) -> usize {
        WAITING - self.queue.capacity()
    }

    /// Tells something of an object.
    pub fn say(&self, saying: ObjectEvent) {
        if self.queue.try_send(saying).is_err() {
            self.metrics.count_dropped_event();
            tracing::debug!("too many Events wait; one is dropped");
        }
    }
}

// === impl Pace ===

impl Pace {
    /// How long the next Event waits.
    fn next(&mut self, now: Instant) -> Duration {
        let one = Duration::from_secs(1) / PER_SECOND;
        let earned = now.saturating_duration_since(self.filled).as_nanos() / one.as_nanos();
        if earned > 0 {
            self.left = self.left.saturating_add(u32::try_from(earned).unwrap_or(u32::MAX)).min(BURST);
            self.filled = now;
        }
        if self.left > 0 {
            self.left -= 1;
            return Duration::ZERO;
        }
        // One is earned by the time that it is told.
        self.filled = now + one;
        one
    }
}

// === impl Recent ===

impl Recent {
    /// Notes that something is said now; returns how it is to be said.
    fn note(&mut self, fingerprint: u64, now: Instant) -> Said {
        let is_over = |at: Instant| now.duration_since(at) > SERIES;
        if self.tidied.is_none_or(is_over) {
            self.said.retain(|_, said| !is_over(said.at));
            self.tidied = Some(now);
        }
        let said = match self.said.get(&fingerprint).copied().filter(|said| !is_over(said.at)) {
            Some(said) => Said { count: said.count.saturating_add(1), at: now, ..said },
            None => {
                let clock = u64::try_from(Timestamp::now().as_nanosecond()).unwrap_or_default();
                self.last = clock.max(self.last + 1);
                Said { number: self.last, count: 1, at: now }
            }
        };
        self.said.insert(fingerprint, said);
        said
    }
}

/// Equal for the same words about the same object.
fn fingerprint(told: &ObjectEvent) -> u64 {
    let ObjectEvent { object, is_normal, reason, action, note } = told;
    let mut hasher = DefaultHasher::new();
    (&object.kind, &object.namespace, &object.name, &object.uid, is_normal, reason, action, note)
        .hash(&mut hasher);
    hasher.finish()
}

/// Makes an Event, or counts the one that says the same.
async fn publish(
    told: ObjectEvent,
    client: Client,
    instance: &str,
    said: Said,
    fence: &Arc<dyn Fence>,
) -> kube::Result<()> {
    // Events of objects without a namespace live there.
    let namespace = told.object.namespace.clone().unwrap_or_else(|| "default".into());
    let events: Api<Event> = Api::namespaced(client, &namespace);
    let event = event_of(told, instance, said);
    if let Some(series) = &event.series {
        let name = event.metadata.name.as_deref().unwrap_or_default();
        let patch = Patch::Merge(json!({ "series": series }));
        match fenced(fence, events.patch(name, &PatchParams::default(), &patch)).await {
            Err(error) if is_not_found(&error) => {}
            answer => return answer.map(drop),
        }
    }
    fenced(fence, events.create(&PostParams::default(), &event)).await.map(drop)
}

fn event_of(told: ObjectEvent, instance: &str, said: Said) -> Event {
    let now = MicroTime(Timestamp::now());
    let series = (said.count > 1).then(|| EventSeries { count: said.count, last_observed_time: now.clone() });
    Event {
        metadata: ObjectMeta {
            name: Some(event_name(told.object.name.as_deref().unwrap_or("zonekeeper"), said.number)),
            namespace: told.object.namespace.clone(),
            ..ObjectMeta::default()
        },
        type_: Some(if told.is_normal { "Normal" } else { "Warning" }.into()),
        reason: Some(told.reason.as_str().into()),
        note: Some(told.note),
        action: Some(told.action.as_str().into()),
        event_time: Some(now),
        regarding: Some(told.object),
        reporting_controller: Some(CONTROLLER.into()),
        reporting_instance: Some(instance.into()),
        series,
        ..Event::default()
    }
}

/// The name of an Event of this object.
fn event_name(object: &str, number: u64) -> String {
    let kept: String = object.chars().take(LONGEST_NAME).collect();
    format!("{}.{number:x}", kept.trim_end_matches(['.', '-']))
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_are_counted_until_they_are_old() {
        let (mut recent, begun) = (Recent::default(), Instant::now());
        let first = recent.note(1, begun);
        let other = recent.note(2, begun);
        assert_eq!((first.count, other.count), (1, 1));
        assert_ne!(first.number, other.number);
        let later = recent.note(1, begun + SERIES);
        assert_eq!((later.count, later.number), (2, first.number));
        // Counted from the last time.
        assert_eq!(recent.note(1, begun + SERIES * 2).count, 3);
        let anew = recent.note(1, begun + SERIES * 4);
        assert_eq!(anew.count, 1);
        assert_ne!(anew.number, first.number);
        assert_eq!(recent.said.len(), 1);
    }

    #[test]
    fn a_flood_of_events_is_told_at_a_steady_pace() {
        let begun = Instant::now();
        let mut pace = Pace { left: BURST, filled: begun };
        let mut now = begun;
        for _ in 0..BURST + 10 * PER_SECOND {
            now += pace.next(now);
        }
        assert_eq!(now - begun, Duration::from_secs(10));
        // After a calm as many may come at once again.
        now += Duration::from_secs(60);
        assert!((0..BURST).all(|_| pace.next(now).is_zero()));
    }

    #[test]
    fn the_longest_name_makes_a_valid_one() {
        let name = event_name(&format!("{}-{}", "a".repeat(LONGEST_NAME - 1), "b".repeat(17)), u64::MAX);
        assert_eq!(name, format!("{}.ffffffffffffffff", "a".repeat(LONGEST_NAME - 1)));
        assert!(name.len() <= 253);
    }
}
