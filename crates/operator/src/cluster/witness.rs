//! Evidence that a record is wanted no more (law 5): what the hub knows, confirmed by a fresh read.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, stream};
use kube::{
    Api, Client, CustomResourceExt, Resource, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams},
};
use tokio::sync::{mpsc::UnboundedSender, oneshot};
use zonekeeper_api::{RecordSet, SourceKind};
use zonekeeper_kernel::{
    holder::{Holder, HolderRef},
    plan::{Evidence, Fate, Orphan},
    zone::ZoneKey,
};
use zonekeeper_sources::object::{Keep, Kind, Object, ObjectRef};

use crate::cluster::{
    Message,
    sources::kinds::{find, is_defined, is_staying},
    testimony::{Answer, Question, Subject, Testimony},
};

/// More holders of a kind than this are confirmed by one list.
const MOST_READS: usize = 50;
const AT_ONCE: usize = 16;

/// Confirms what the hub knows of holders.
#[derive(Clone)]
pub struct Witness {
    pub client: Client,
    pub hub: UnboundedSender<Message>,
}

/// What fresh reads showed.
#[derive(Default)]
struct Fresh {
    /// Objects that were read, or are known not to be there; what could not be read is missing.
    objects: BTreeMap<Subject, Option<DynamicObject>>,
    /// The hashes of all holders there are, where all could be listed.
    hashes: Option<BTreeSet<String>>,
}

// === impl Witness ===

impl Witness {
    /// The evidence about holders of orphans; whatever can't be confirmed is no evidence.
    pub async fn evidence(
        &self,
        zone: &ZoneKey,
        orphans: &[Orphan],
        keeping: impl Iterator<Item = HolderRef>,
    ) -> Evidence {
        let keeping: Vec<HolderRef> = keeping.collect();
        let answer = if orphans.is_empty() { None } else { self.ask(zone, orphans).await };
        let Some(answer) = answer else { return Evidence::seen([]).awaiting(keeping) };
        let fresh = self.read(&answer).await;
        let fates = orphans.iter().zip(&answer.testimonies).filter_map(|(orphan, testimony)| {
            let fate = fate(testimony, &fresh)?;
            Some((orphan.name.clone(), orphan.rdata.rtype(), orphan.holder.clone(), fate))
        });
        Evidence::seen(fates).awaiting(keeping)
    }

    async fn ask(&self, zone: &ZoneKey, orphans: &[Orphan]) -> Option<Answer> {
        let about = orphans
            .iter()
            .map(|orphan| (orphan.name.clone(), orphan.rdata.rtype(), orphan.holder.clone()))
            .collect();
        let (answer, answered) = oneshot::channel();
        self.hub.send(Message::Asked(Question { zone: zone.clone(), about, answer })).ok()?;
        answered.await.ok()
    }

    /// Reads afresh what the testimonies are about.
    async fn read(&self, answer: &Answer) -> Fresh {
        let mut by_kind: BTreeMap<Option<Kind>, BTreeSet<Subject>> = BTreeMap::new();
        for subject in answer.testimonies.iter().filter_map(Testimony::object) {
            by_kind.entry(subject.kind()).or_default().insert(subject.clone());
        }
        let leaving: BTreeSet<&Subject> = answer.testimonies.iter().filter_map(Testimony::leaving).collect();
        let mut fresh = Fresh::default();
        for (kind, subjects) in by_kind {
            let Some(resource) = resource_of(kind, answer) else { continue };
            let mut read = match subjects.len() > MOST_READS {
                true => self.list_objects(kind, &resource, subjects).await,
                false => self.read_each(&resource, subjects).await,
            };
            let is_leaving = |subject: &Subject| leaving.contains(subject);
            let is_in_doubt = read.iter().any(|(subject, found)| found.is_none() || is_leaving(subject));
            if is_in_doubt && !self.is_staying(kind).await {
                read.retain(|(subject, found)| found.is_some() && !is_leaving(subject));
            }
            fresh.objects.extend(read);
        }
        let has_hashes =
            answer.testimonies.iter().any(|testimony| matches!(testimony, Testimony::AbsentHash { .. }));
        if has_hashes && answer.is_complete {
            fresh.hashes = self.all_hashes(answer).await;
        }
        fresh
    }

    /// Whether what is not there, or going, was deleted, and does not go with its kind.
    async fn is_staying(&self, kind: Option<Kind>) -> bool {
        let found = match kind {
            Some(kind) => is_staying(&self.client, kind).await,
            None => is_defined(&self.client, RecordSet::crd_name()).await,
        };
        if let (None, Ok(is_staying)) = (kind, &found) {
            // The hub ends with the program.
            let _ = self.hub.send(Message::Definition { is_staying: *is_staying });
        }
        found.unwrap_or_else(|error| {
            let kind = kind.map_or("RecordSet", |kind| kind.as_str());
            tracing::warn!(kind, %error, "a definition can't be read; records stay for now");
            false
        })
    }

    async fn read_each(
        &self,
        resource: &ApiResource,
        subjects: BTreeSet<Subject>,
    ) -> Vec<(Subject, Option<DynamicObject>)> {
        let read = stream::iter(subjects)
            .map(|subject| async move {
                let (namespace, name) = subject.key();
                let api: Api<DynamicObject> = match namespace {
                    "" => Api::all_with(self.client.clone(), resource),
                    namespace => Api::namespaced_with(self.client.clone(), namespace, resource),
                };
                let found = match api.get(name).await {
                    Ok(found) => Some(found),
                    Err(kube::Error::Api(status)) if is_object_missing(&status, name) => None,
                    Err(error) => {
                        tracing::warn!(%error, "a holder can't be confirmed; its records stay for now");
                        return None;
                    }
                };
                Some((subject, found))
            })
            .buffer_unordered(AT_ONCE);
        read.filter_map(|read| async move { read }).collect().await
    }

    async fn list_objects(
        &self,
        kind: Option<Kind>,
        resource: &ApiResource,
        subjects: BTreeSet<Subject>,
    ) -> Vec<(Subject, Option<DynamicObject>)> {
        let all: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        // Without a resource version a list is as fresh as a read.
        let listed = match all.list(&ListParams::default()).await {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "holders can't be confirmed; their records stay for now");
                return Vec::new();
            }
        };
        let mut found: BTreeMap<Subject, DynamicObject> =
            listed.items.into_iter().map(|object| (subject(kind, &object), object)).collect();
        let (there, absent): (BTreeSet<Subject>, BTreeSet<Subject>) =
            subjects.into_iter().partition(|subject| found.contains_key(subject));
        // A list that is empty, or too short, by mistake is no evidence.
        let mut read = self.read_each(resource, absent).await;
        read.extend(there.into_iter().map(|subject| {
            let object = found.remove(&subject);
            (subject, object)
        }));
        read
    }

    /// The hashes of all objects that could be holders, whether or not a zone reads their kind now.
    async fn all_hashes(&self, answer: &Answer) -> Option<BTreeSet<String>> {
        let mut resources = vec![(None, resource_of(None, answer)?)];
        for kind in SourceKind::all().iter().map(|kind| Kind::Source(*kind)) {
            let followed = answer.followed.get(&kind).cloned();
            let found = match followed {
                Some(resource) => Some(resource),
                None => find(&self.client, kind).await.ok()?,
            };
            resources.extend(found.map(|resource| (Some(kind), resource)));
        }
        let mut hashes = BTreeSet::new();
        for (kind, resource) in resources {
            let all: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
            let listed = all.list_metadata(&ListParams::default()).await.ok()?;
            // An empty list may be a mistake, and here nothing else would tell.
            let is_followed = kind.is_some_and(|kind| answer.followed.contains_key(&kind));
            if is_followed && listed.items.is_empty() {
                return None;
            }
            for object in listed.items {
                let name = (object.namespace().unwrap_or_default(), object.name_any());
                hashes.insert(Subject::of(kind, name).holder().hash().to_string());
            }
        }
        Some(hashes)
    }
}

// === impl Subject ===

impl Subject {
    fn of(kind: Option<Kind>, (namespace, name): (String, String)) -> Self {
        match kind {
            Some(kind) => Self::Source(ObjectRef::new(kind, namespace, name)),
            None => Self::RecordSet((namespace, name)),
        }
    }

    /// The kind of a source object.
    fn kind(&self) -> Option<Kind> {
        match self {
            Self::RecordSet(_) => None,
            Self::Source(reference) => Some(reference.kind),
        }
    }

    fn key(&self) -> (&str, &str) {
        match self {
            Self::RecordSet((namespace, name)) => (namespace, name),
            Self::Source(reference) => (&reference.namespace, &reference.name),
        }
    }

    fn holder(&self) -> Holder {
        match self {
            Self::RecordSet((namespace, name)) => Holder::new("recordset", namespace, name),
            Self::Source(reference) => reference.holder(),
        }
    }
}

/// How a kind is served; a RecordSet where it is none.
fn resource_of(kind: Option<Kind>, answer: &Answer) -> Option<ApiResource> {
    match kind {
        None => Some(ApiResource::erase::<RecordSet>(&())),
        Some(kind) => answer.followed.get(&kind).cloned(),
    }
}

fn subject(kind: Option<Kind>, object: &DynamicObject) -> Subject {
    Subject::of(kind, (object.namespace().unwrap_or_default(), object.name_any()))
}

/// What becomes of an orphan; none where that is for a person to say.
fn fate(testimony: &Testimony, fresh: &Fresh) -> Option<Fate> {
    match (testimony, is_confirmed(testimony, fresh)) {
        (Testimony::Retaining { .. }, true) => Some(Fate::Retained),
        (_, true) => Some(Fate::Released),
        (Testimony::Absent { .. } | Testimony::AbsentHash { .. } | Testimony::Nothing, false) => None,
        // It has not arrived where it goes, or could not be confirmed now.
        (
            Testimony::Awaited
            | Testimony::Leaving { .. }
            | Testimony::Retaining { .. }
            | Testimony::WantsOther { .. }
            | Testimony::SourceWantsOther { .. },
            false,
        ) => Some(Fate::Awaited),
    }
}

fn is_confirmed(testimony: &Testimony, fresh: &Fresh) -> bool {
    let read = testimony.object().and_then(|object| fresh.objects.get(object));
    match testimony {
        Testimony::Leaving { uid, .. } | Testimony::Retaining { uid, .. } => read.is_some_and(|found| {
            found.as_ref().is_none_or(|found| {
                found.meta().deletion_timestamp.is_some() && found.uid().as_ref() == Some(uid)
            })
        }),
        Testimony::WantsOther { uid, generation, labels, .. } => {
            read.and_then(Option::as_ref).is_some_and(|found| {
                found.meta().generation == Some(*generation)
                    && found.labels() == labels
                    && found.uid().as_ref() == Some(uid)
            })
        }
        Testimony::SourceWantsOther { seen, .. } => {
            read.and_then(Option::as_ref).is_some_and(|found| is_same(found, seen))
        }
        Testimony::Absent { .. } => read.is_some_and(Option::is_none),
        Testimony::AbsentHash { hash } => fresh.hashes.as_ref().is_some_and(|hashes| !hashes.contains(hash)),
        Testimony::Awaited | Testimony::Nothing => false,
    }
}

/// Whether an object is as it was seen, as far as sources read it.
fn is_same(found: &DynamicObject, seen: &Object) -> bool {
    let Ok(json) = serde_json::to_value(found) else { return false };
    Object::read(seen.kind, json, Keep::Narrow)
        .is_ok_and(|found| found.meta == seen.meta && found.body == seen.body)
}

/// Whether it is the object that is missing, and not its kind.
fn is_object_missing(status: &kube::core::Status, name: &str) -> bool {
    status.code == 404 && status.details.as_ref().is_some_and(|details| details.name == name)
}
