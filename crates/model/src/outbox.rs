//! What is to be written of our own objects: statuses and finalizers, at most one write per object at a time.

use std::{
    fmt::Debug,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use k8s_openapi::{
    api::core::v1::ObjectReference,
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta},
};
use kube::{Resource, ResourceExt, core::object::HasStatus};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use std::time::Instant;
use zonekeeper_api::{API_VERSION, AddressSource, DNSProvider, DNSZone, RecordSet};

use crate::{
    Key, Written,
    clock::Now,
    conditions::{self, Transitions, Verdict},
    effects::Effects,
    objects::Kind,
    status,
};

/// How long a status waits that was refused.
const FIRST_WAIT: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// One write of one object.
pub struct Write {
    pub kind: Kind,
    pub key: Key,
    pub part: Part,
    pub body: Box<RawValue>,
}

/// Whether a write of an object is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Writing {
    #[default]
    Idle,
    /// Its answer is awaited.
    Busy,
    /// Its answer is awaited, and then there is more to write.
    Again,
}

/// What was told of an object, what its status says, and what is being written of it.
#[derive(Debug, Default)]
pub struct StatusOutbox {
    writing: Writing,
    /// Stands for the status that is being written, if one is.
    in_flight: Option<u64>,
    pub told: Option<Verdict>,
    /// Whether an Event has told that the object has what it asks for.
    has_told_change: bool,
    /// Since when its conditions are as they are.
    pub since: Transitions,
    /// Stands for the status as it is: there are many objects, and their statuses are not read here.
    fingerprint: u64,
    /// A status that the API server has refused.
    refused: Option<Box<Refused>>,
}

/// A status that was refused for what it says: it waits longer each time, and no other write waits with it.
#[derive(Debug)]
struct Refused {
    /// Stands for what the status says, its times aside; none until it is to be said again.
    said: Option<u64>,
    count: u32,
    until: Instant,
}

/// A kind that we write.
pub trait Writable: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static {
    const KIND: Kind;

    /// Wraps it for the model.
    fn written(object: Box<Self>) -> Written;
}

/// A kind whose status has conditions.
pub trait HasConditions {
    /// The conditions.
    fn conditions(&self) -> &[Condition];
}

macro_rules! writable {
    ($kind:ident, $variant:ident) => {
        impl Writable for $kind {
            const KIND: Kind = Kind::$variant;

            fn written(object: Box<Self>) -> Written {
                Written::$variant(object)
            }
        }

        impl HasConditions for $kind {
            fn conditions(&self) -> &[Condition] {
                self.status.as_ref().map_or(&[], |status| &status.conditions)
            }
        }
    };
}

writable!(DNSProvider, Provider);
writable!(DNSZone, Zone);
writable!(RecordSet, RecordSet);
writable!(AddressSource, AddressSource);

// === impl StatusOutbox ===

impl StatusOutbox {
    /// The outbox of an object that is seen for the first time: what its conditions say was told before.
    pub fn new<S: Serialize>(status: Option<&S>, conditions: &[Condition]) -> Self {
        let mut outbox = Self { told: status::ready_verdict(conditions), ..Self::default() };
        outbox.see(status, conditions);
        outbox
    }

    /// Takes over what another outbox read.
    pub fn take_over(&mut self, read: &mut Self) {
        self.since = std::mem::take(&mut read.since);
        self.fingerprint = read.fingerprint;
    }

    /// Takes over what the status of an object says.
    pub fn see_object<K: Writable + HasConditions + HasStatus<Status: Serialize>>(&mut self, object: &K) {
        self.see(object.status(), object.conditions());
    }

    fn see<S: Serialize>(&mut self, status: Option<&S>, conditions: &[Condition]) {
        self.since = Transitions::of(conditions);
        self.fingerprint = status.map(fingerprint).unwrap_or_default();
    }

    /// Whether a write is under way.
    pub fn is_busy(&self) -> bool {
        self.writing != Writing::Idle
    }

    /// Begins a write, if none is under way; otherwise there is more to do when that is over.
    pub fn begin(&mut self) -> bool {
        let was_idle = self.writing == Writing::Idle;
        self.writing = if was_idle { Writing::Busy } else { Writing::Again };
        was_idle
    }

    /// The write is over; says whether there is more to do.
    pub fn end(&mut self) -> bool {
        self.in_flight = None;
        std::mem::take(&mut self.writing) == Writing::Again
    }

    /// The API server refused the status that was sent; says whether that is news. The same one is not sent again for
    /// a while, which grows.
    pub fn refuse(&mut self, now: Instant) -> bool {
        if self.in_flight.is_none() {
            return false;
        }
        let count = self.refused.as_ref().map_or(0, |refused| refused.count);
        let wait = (FIRST_WAIT * 2_u32.pow(count.min(8))).min(LONGEST_WAIT);
        self.refused = Some(Box::new(Refused { said: None, count: count + 1, until: now + wait }));
        count == 0
    }

    /// How long to wait after a write that failed.
    pub fn wait(&self, shortest: Duration, now: Instant) -> Duration {
        let until = self.refused.as_ref().map(|refused| refused.until);
        until.map_or(shortest, |until| until.saturating_duration_since(now).max(shortest))
    }

    /// Whether what there is to say was refused, and waits.
    pub fn is_held_back(&self) -> bool {
        self.refused.is_some() && !self.is_busy()
    }

    /// An Event tells what was written for the object: it need not be told that it is there now.
    pub fn note_told_change(&mut self) {
        self.has_told_change = true;
    }

    /// Tells and writes what is new of an object; says whether a write is needed and was begun, or must wait.
    pub fn report<K: Writable, S: Serialize>(
        &mut self,
        effects: &mut Effects,
        object: &K,
        verdict: Verdict,
        status: &S,
        now: Instant,
    ) -> bool {
        if self.told.as_ref() != Some(&verdict) {
            let is_told = std::mem::take(&mut self.has_told_change) && verdict.is_in_place();
            if !is_told && K::KIND.tells(self.told.as_ref(), &verdict) {
                effects.tell(object.object_ref(&()), &verdict);
            }
            self.told = Some(verdict);
        }
        let new = fingerprint(status);
        if self.fingerprint == new {
            self.refused = None;
            return false;
        }
        if self.refused.as_deref_mut().is_some_and(|refused| refused.is_early(status, now)) {
            return true;
        }
        if self.in_flight != Some(new) && self.begin() {
            self.in_flight = Some(new);
            effects.write(Write::status(object, status));
        }
        true
    }
}

// === impl Refused ===

impl Refused {
    /// Whether this was refused a moment ago.
    fn is_early(&mut self, status: &impl Serialize, now: Instant) -> bool {
        let mut status = serde_json::to_value(status).unwrap_or_default();
        for condition in status["conditions"].as_array_mut().into_iter().flatten() {
            condition["lastTransitionTime"].take();
        }
        let said = fingerprint(&status);
        now < self.until && *self.said.get_or_insert(said) == said
    }
}

// === impl Write ===

impl Write {
    /// The status of an object.
    pub fn status<K: Writable>(object: &K, status: &impl Serialize) -> Option<Self> {
        let mut metadata = json!({ "name": object.name_any(), "uid": object.uid() });
        if let Some(namespace) = object.namespace() {
            metadata["namespace"] = namespace.into();
        }
        let body = json!({
            "apiVersion": API_VERSION,
            "kind": K::kind(&()),
            "metadata": metadata,
            "status": status,
        });
        Self::new::<K>(key_of(object), Part::Status, &body)
    }

    /// Conditions alone: of an object that can't be read, nothing else is known.
    pub fn conditions<K: Writable>(metadata: &ObjectMeta, verdict: &Verdict, now: Now) -> Option<Self> {
        let shown = verdict.common();
        let conditions = conditions::conditions(&Transitions::default(), metadata.generation, shown, now);
        let status = json!({ "observedGeneration": metadata.generation, "conditions": conditions });
        let key = (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
        Self::new::<K>(key, Part::Conditions, &json!({ "status": status }))
    }

    /// One more of our finalizers.
    pub fn add_finalizer<K: Writable>(object: &K, finalizer: &str) -> Option<Self> {
        let mut finalizers = object.finalizers().to_vec();
        finalizers.push(finalizer.to_owned());
        Self::finalizers(object, &finalizers)
    }

    /// One of our finalizers less.
    pub fn remove_finalizer<K: Writable>(object: &K, finalizer: &str) -> Option<Self> {
        let mut finalizers = object.finalizers().to_vec();
        finalizers.retain(|other| other != finalizer);
        Self::finalizers(object, &finalizers)
    }

    fn finalizers<K: Writable>(object: &K, finalizers: &[String]) -> Option<Self> {
        let metadata = json!({ "finalizers": finalizers, "resourceVersion": object.resource_version() });
        Self::new::<K>(key_of(object), Part::Finalizers, &json!({ "metadata": metadata }))
    }

    fn new<K: Writable>(key: Key, part: Part, body: &Value) -> Option<Self> {
        // Thousands may wait for their turn: text takes a tenth of the room.
        Some(Self { kind: K::KIND, key, part, body: to_raw_value(body).ok()? })
    }
}

/// Which part of an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Status,
    Conditions,
    Finalizers,
}

fn key_of<K: Writable>(object: &K) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// How Events name an object of which only the metadata is known.
pub fn reference_of<K: Writable>(metadata: &ObjectMeta) -> ObjectReference {
    ObjectReference {
        api_version: Some(API_VERSION.into()),
        kind: Some(K::kind(&()).into()),
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        ..ObjectReference::default()
    }
}

fn fingerprint(status: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Our own statuses have a JSON form; without one they would be written anew each time.
    serde_json::to_vec(status).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// Whether an object is newer than the one that is known. Resource versions of etcd are numbers.
pub fn is_newer(new: &impl ResourceExt, known: &impl ResourceExt) -> bool {
    let version = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
    match (version(new.resource_version()), version(known.resource_version())) {
        (Some(new), Some(known)) => new > known,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use zonekeeper_api::Reason;

    use super::*;
    use crate::effects::Effect;

    #[test]
    fn what_is_being_written_is_not_written_again() {
        let object = RecordSet::new("www", Default::default());
        let (mut outbox, mut effects) = (StatusOutbox::default(), Effects::default());
        let now = Instant::now();
        let mut report = |outbox: &mut StatusOutbox, message: &str| {
            let verdict = Verdict::new(Reason::Programmed, message);
            let status = json!({ "message": message });
            outbox.report(&mut effects, &object, verdict, &status, now)
        };

        assert!(report(&mut outbox, "one") && outbox.is_busy());
        // A look at the whole zone finds the same.
        assert!(report(&mut outbox, "one"));
        assert!(!outbox.end(), "there is nothing more to do");

        assert!(report(&mut outbox, "two"));
        assert!(report(&mut outbox, "three"));
        assert!(outbox.end(), "the second status is still to be written");

        // A finalizer says nothing of the status.
        assert!(outbox.begin());
        assert!(report(&mut outbox, "three"));
        assert!(outbox.end(), "the status is still to be written");
        let writes = effects.take().into_iter().filter(|effect| matches!(effect, Effect::Write(_)));
        assert_eq!(writes.count(), 2, "one and two");
    }
}
