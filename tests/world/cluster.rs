//! A simulated API server: objects with uid, generation and resource version, finalizers, and a log that watches follow.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::{
    api::core::v1::Namespace,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use kube::{
    Resource,
    core::{DynamicObject, PartialObjectMeta},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use zonekeeper_api::{DNSProvider, DNSZone, RecordSet};
use zonekeeper_model::{
    Key, Written,
    objects::{Kind, Object},
    outbox::{Part, Write},
};
use zonekeeper_sources::object::Kind as SourceKind;

/// Which kind: one of ours, or one that is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnyKind {
    Ours(Kind),
    Source(SourceKind),
}

pub type Id = (AnyKind, Key);

/// An object as the API server has it.
#[derive(Debug, Clone)]
pub enum Thing {
    Provider(Arc<DNSProvider>),
    Zone(Arc<DNSZone>),
    RecordSet(Arc<RecordSet>),
    Namespace(Arc<PartialObjectMeta<Namespace>>),
    Source(Arc<DynamicObject>),
}

/// What happened to an object; the index in the log is what a watch has seen.
#[derive(Debug, Clone)]
pub struct Entry {
    pub id: Id,
    /// None where it went.
    pub thing: Option<Thing>,
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    pub message: String,
}

/// All that the API server knows.
#[derive(Default)]
pub struct Cluster {
    pub things: BTreeMap<Id, Thing>,
    pub log: Vec<Entry>,
    version: u64,
    uids: u64,
}

// === impl Thing ===

impl Thing {
    pub fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Provider(object) => &object.metadata,
            Self::Zone(object) => &object.metadata,
            Self::RecordSet(object) => &object.metadata,
            Self::Namespace(object) => &object.metadata,
            Self::Source(object) => &object.metadata,
        }
    }

    pub fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Provider(object) => &mut Arc::make_mut(object).metadata,
            Self::Zone(object) => &mut Arc::make_mut(object).metadata,
            Self::RecordSet(object) => &mut Arc::make_mut(object).metadata,
            Self::Namespace(object) => &mut Arc::make_mut(object).metadata,
            Self::Source(object) => &mut Arc::make_mut(object).metadata,
        }
    }

    /// As a watch of one of our own kinds delivers it.
    pub fn object(&self) -> Option<Object> {
        Some(match self {
            Self::Provider(object) => Object::Provider(Box::new((**object).clone())),
            Self::Zone(object) => Object::Zone(Box::new((**object).clone())),
            Self::RecordSet(object) => Object::RecordSet(Box::new((**object).clone())),
            Self::Namespace(object) => Object::Namespace(Box::new((**object).clone())),
            Self::Source(_) => return None,
        })
    }

    /// As the answer to a write has it.
    fn written(&self) -> Option<Written> {
        Some(match self {
            Self::Provider(object) => Written::Provider(Box::new((**object).clone())),
            Self::Zone(object) => Written::Zone(Box::new((**object).clone())),
            Self::RecordSet(object) => Written::RecordSet(Box::new((**object).clone())),
            Self::Namespace(_) | Self::Source(_) => return None,
        })
    }

    /// As a read without a type delivers it.
    pub fn dynamic(&self) -> Option<DynamicObject> {
        let json = match self {
            Self::Provider(object) => serde_json::to_value(&**object),
            Self::Zone(object) => serde_json::to_value(&**object),
            Self::RecordSet(object) => serde_json::to_value(&**object),
            Self::Namespace(object) => serde_json::to_value(&**object),
            Self::Source(object) => return Some((**object).clone()),
        };
        serde_json::from_value(json.ok()?).ok()
    }

    fn set_status(&mut self, status: &Value) -> Result<(), Refusal> {
        fn read<T: DeserializeOwned>(status: &Value) -> Result<Option<T>, Refusal> {
            serde_json::from_value(status.clone()).map(Some).map_err(|error| refusal(422, &error.to_string()))
        }
        match self {
            Self::Provider(object) => Arc::make_mut(object).status = read(status)?,
            Self::Zone(object) => Arc::make_mut(object).status = read(status)?,
            Self::RecordSet(object) => Arc::make_mut(object).status = read(status)?,
            Self::Namespace(_) | Self::Source(_) => return Err(refusal(405, "has no status of ours")),
        }
        Ok(())
    }

    fn json(&self) -> Value {
        fn value<T: Serialize>(object: &T) -> Value {
            serde_json::to_value(object).expect("our own kinds have a JSON form")
        }
        match self {
            Self::Provider(object) => value(&object.status),
            Self::Zone(object) => value(&object.status),
            Self::RecordSet(object) => value(&object.status),
            Self::Namespace(_) | Self::Source(_) => Value::Null,
        }
    }
}

// === impl Cluster ===

impl Cluster {
    pub fn record_set(&self, key: &Key) -> Option<&Arc<RecordSet>> {
        match self.things.get(&(AnyKind::Ours(Kind::RecordSet), key.clone()))? {
            Thing::RecordSet(object) => Some(object),
            _other => None,
        }
    }

    pub fn of_kind(&self, kind: AnyKind) -> impl Iterator<Item = (&Key, &Thing)> {
        let things = self.things.iter().filter(move |((of, _), _)| *of == kind);
        things.map(|((_, key), thing)| (key, thing))
    }

    /// Creates an object, or replaces its spec and metadata as `kubectl apply` does; false where it is being deleted.
    pub fn put(&mut self, id: Id, spec: Value, metadata: Value, now: Time) -> bool {
        let old = self.things.get(&id).cloned();
        if old.as_ref().is_some_and(|old| old.meta().deletion_timestamp.is_some()) {
            return false;
        }
        let mut meta: ObjectMeta = serde_json::from_value(metadata).expect("valid metadata");
        meta.name = Some(id.1.1.clone());
        meta.namespace = Some(id.1.0.clone()).filter(|namespace| !namespace.is_empty());
        match &old {
            Some(old) => {
                let before = old.meta();
                meta.uid = before.uid.clone();
                meta.generation = before.generation.map(|generation| generation + 1);
                meta.creation_timestamp = before.creation_timestamp.clone();
                meta.finalizers = before.finalizers.clone();
            }
            None => {
                self.uids += 1;
                meta.uid = Some(format!("uid-{:04}", self.uids));
                meta.generation = Some(1);
                meta.creation_timestamp = Some(now);
            }
        }
        let mut thing = thing(id.0, &spec);
        if let Some(old) = &old {
            let status = old.json();
            if !status.is_null() {
                thing.set_status(&status).expect("it was there");
            }
        }
        *thing.meta_mut() = meta;
        self.store(id, thing);
        true
    }

    /// Changes an object that is there in place, as a controller does to the status of its kind.
    pub fn change(&mut self, id: &Id, change: impl FnOnce(&mut Thing)) {
        if let Some(mut thing) = self.things.get(id).cloned() {
            change(&mut thing);
            self.store(id.clone(), thing);
        }
    }

    /// Deletes an object: it stays until its finalizers are gone.
    pub fn delete(&mut self, id: &Id, now: Time) -> bool {
        let Some(thing) = self.things.get(id) else { return false };
        let meta = thing.meta();
        if meta.deletion_timestamp.is_some() {
            return false;
        }
        if meta.finalizers.as_ref().is_none_or(Vec::is_empty) && id.0 != AnyKind::Ours(Kind::Namespace) {
            self.remove(id);
            return true;
        }
        let mut thing = thing.clone();
        let meta = thing.meta_mut();
        meta.deletion_timestamp = Some(now.clone());
        meta.generation = meta.generation.map(|generation| generation + 1);
        self.store(id.clone(), thing);
        if id.0 == AnyKind::Ours(Kind::Namespace) {
            let inside: Vec<Id> = self.things.keys().filter(|(_, key)| key.0 == id.1.1).cloned().collect();
            for id in &inside {
                self.delete(id, now.clone());
            }
            self.finish_namespace(&id.1.1);
        }
        true
    }

    /// A write of ours, as the API server takes it.
    pub fn write(&mut self, write: &Write) -> Result<Written, Refusal> {
        let id = (AnyKind::Ours(write.kind), write.key.clone());
        let Some(thing) = self.things.get(&id) else { return Err(refusal(404, "not found")) };
        let body: Value = serde_json::from_str(write.body.get()).expect("what is sent is JSON");
        let mut thing = thing.clone();
        let is_same = match write.part {
            Part::Status => {
                let uid = body["metadata"]["uid"].as_str();
                if uid.is_some() && uid != thing.meta().uid.as_deref() {
                    return Err(refusal(409, "the uid in the precondition is another"));
                }
                let before = thing.json();
                thing.set_status(&body["status"])?;
                before == thing.json()
            }
            Part::Conditions => return Err(refusal(405, "every object here can be read")),
            Part::Finalizers => {
                let version = body["metadata"]["resourceVersion"].as_str();
                if version.is_some() && version != thing.meta().resource_version.as_deref() {
                    return Err(refusal(409, "the object has been modified"));
                }
                let finalizers: Vec<String> =
                    serde_json::from_value(body["metadata"]["finalizers"].clone()).expect("a list");
                let before = thing.meta_mut().finalizers.replace(finalizers);
                before == thing.meta().finalizers
            }
        };
        if !is_same {
            self.store(id.clone(), thing.clone());
            thing = self.things[&id].clone();
        }
        let meta = thing.meta();
        if meta.deletion_timestamp.is_some() && meta.finalizers.as_ref().is_none_or(Vec::is_empty) {
            self.remove(&id);
            self.finish_namespace(&id.1.0);
        }
        thing.written().ok_or_else(|| refusal(405, "is not written"))
    }

    fn store(&mut self, id: Id, mut thing: Thing) {
        self.version += 1;
        thing.meta_mut().resource_version = Some(self.version.to_string());
        self.things.insert(id.clone(), thing.clone());
        self.log.push(Entry { id, thing: Some(thing) });
    }

    fn remove(&mut self, id: &Id) {
        self.version += 1;
        self.things.remove(id);
        self.log.push(Entry { id: id.clone(), thing: None });
    }

    /// A namespace goes when nothing is left in it.
    fn finish_namespace(&mut self, name: &str) {
        let id = (AnyKind::Ours(Kind::Namespace), (String::new(), name.to_owned()));
        let is_going = self.things.get(&id).is_some_and(|thing| thing.meta().deletion_timestamp.is_some());
        if is_going && !self.things.keys().any(|(_, key)| key.0 == name) {
            self.remove(&id);
        }
    }
}

fn thing(kind: AnyKind, spec: &Value) -> Thing {
    fn read<T: DeserializeOwned>(value: Value) -> Arc<T> {
        Arc::new(serde_json::from_value(value).expect("actors write valid objects"))
    }
    let ours = |kind: &str| json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": kind, "metadata": {}, "spec": spec});
    match kind {
        AnyKind::Ours(Kind::Provider) => Thing::Provider(read(ours(&DNSProvider::kind(&())))),
        AnyKind::Ours(Kind::Zone) => Thing::Zone(read(ours(&DNSZone::kind(&())))),
        AnyKind::Ours(Kind::RecordSet) => Thing::RecordSet(read(ours(&RecordSet::kind(&())))),
        AnyKind::Ours(Kind::Namespace) => {
            Thing::Namespace(read(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {}})))
        }
        AnyKind::Ours(Kind::AddressSource) => unreachable!("no actor makes one"),
        AnyKind::Source(_) => Thing::Source(read(spec.clone())),
    }
}

fn refusal(code: u16, message: &str) -> Refusal {
    Refusal { code, message: message.to_owned() }
}
