//! Evidence that a record is wanted no more (law 5): what the hub knows, confirmed by a fresh read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kube::{Client, CustomResourceExt, Resource, ResourceExt, api::DynamicObject};
use zonekeeper_api::RecordSet;
use zonekeeper_kernel::{
    holder::{Holder, HolderHashes},
    plan::{Evidence, Fate},
    zone::ZoneKey,
};
use zonekeeper_sources::object::{Keep, Kind, Object, ObjectRef};

use crate::cluster::{
    Message,
    fresh::{Found, Memory, Much, Reads, resource_of},
    sources::kinds::{is_defined, is_staying},
    tasks::{self, Task},
    testimony::{About, Answer, Subject, Testimony},
};

/// What is known of the holders of some records, to be confirmed by fresh reads.
pub struct ConfirmRequest {
    pub zone: ZoneKey,
    /// The pass that needs it.
    pub pass: u64,
    pub about: Vec<About>,
    pub answer: Answer,
}

/// What became of it.
pub struct Confirmation {
    pub zone: ZoneKey,
    pub pass: u64,
    pub confirmed: Confirmed,
    /// Whether the definition of RecordSets stays, where that was asked.
    pub is_staying: Option<bool>,
}

/// Records whose holders were asked about, and what becomes of each; none where that is for a person to say.
#[derive(Debug, Clone, Default)]
pub struct Confirmed {
    fates: BTreeMap<About, Option<Fate>>,
}

/// Confirms what is known of holders.
struct Witness {
    client: Client,
    memory: Arc<Memory>,
    /// Whether the definition of RecordSets stays, where that was asked.
    is_staying: Option<bool>,
}

/// What fresh reads showed.
#[derive(Default)]
struct Fresh {
    /// Objects that were read, or are known not to be there; what could not be read is missing.
    objects: BTreeMap<Subject, Found>,
    /// The hashes of all holders there are, where all could be listed.
    hashes: Option<HolderHashes>,
}

// === impl ConfirmRequest ===

impl ConfirmRequest {
    /// Reads, and answers; what can't be confirmed is no evidence.
    pub async fn run(self, client: Client, memory: Arc<Memory>) -> Message {
        let Self { zone, pass, about, answer } = self;
        let unconfirmed = Confirmed { fates: about.iter().map(|about| (about.clone(), None)).collect() };
        let confirm = async {
            let mut witness = Witness { client, memory, is_staying: None };
            let fresh = witness.read(&answer).await;
            let fates = about.into_iter().zip(&answer.testimonies);
            let fates = fates.map(|(about, testimony)| (about, fate(testimony, &fresh))).collect();
            (Confirmed { fates }, witness.is_staying)
        };
        let done = tasks::caught(Task::Confirmation, confirm).await;
        let (confirmed, is_staying) = done.unwrap_or((unconfirmed, None));
        Message::Confirmed(Confirmation { zone, pass, confirmed, is_staying })
    }
}

// === impl Confirmed ===

impl Confirmed {
    /// Whether the holders of all these records were asked about.
    pub fn covers(&self, about: &[About]) -> bool {
        about.iter().all(|about| self.fates.contains_key(about))
    }

    /// What is known of the holders of these records.
    pub fn evidence(&self, about: &[About]) -> Evidence {
        let fates = about.iter().filter_map(|about| {
            let fate = (*self.fates.get(about)?)?;
            Some((about.name.clone(), about.rtype, about.holder.clone(), fate))
        });
        Evidence::seen(fates)
    }
}

// === impl Witness ===

impl Witness {
    /// Reads afresh what the testimonies are about, as far as that was not done a moment ago.
    async fn read(&mut self, answer: &Answer) -> Fresh {
        let (client, memory) = (self.client.clone(), self.memory.clone());
        let reads = Reads { client: &client, memory: &memory };
        let mut fresh = Fresh::default();
        let mut by_kind: BTreeMap<Option<Kind>, BTreeMap<Subject, Much>> = BTreeMap::new();
        for testimony in &answer.testimonies {
            let Some(subject) = testimony.object() else { continue };
            if let Some(found) = self.memory.recall(subject) {
                fresh.objects.entry(subject.clone()).or_insert(found);
                if is_confirmed(testimony, &fresh) {
                    continue;
                }
            }
            let much = match testimony {
                Testimony::SourceWantsOther { .. } => Much::Whole,
                _others => Much::Metadata,
            };
            let asked = by_kind.entry(subject.kind()).or_default().entry(subject.clone()).or_insert(much);
            *asked = (*asked).max(much);
        }
        let leaving: BTreeSet<&Subject> = answer.testimonies.iter().filter_map(Testimony::leaving).collect();
        for (kind, subjects) in by_kind {
            subjects.keys().for_each(|subject| drop(fresh.objects.remove(subject)));
            let Some(resource) = resource_of(kind, answer) else { continue };
            let mut read = reads.objects(kind, &resource, subjects).await;
            let is_leaving = |subject: &Subject| leaving.contains(subject);
            let is_in_doubt = read.iter().any(|(subject, found)| found.is_none() || is_leaving(subject));
            if is_in_doubt && !self.is_staying(kind).await {
                read.retain(|(subject, found)| found.is_some() && !is_leaving(subject));
            }
            self.memory.note(&read);
            fresh.objects.extend(read);
        }
        let has_hashes =
            answer.testimonies.iter().any(|testimony| matches!(testimony, Testimony::AbsentHash { .. }));
        if has_hashes && answer.is_complete {
            fresh.hashes = reads.hashes(answer).await;
        }
        fresh
    }

    /// Whether what is not there, or going, was deleted, and does not go with its kind.
    async fn is_staying(&mut self, kind: Option<Kind>) -> bool {
        let found = match kind {
            Some(kind) => is_staying(&self.client, kind).await,
            None => is_defined(&self.client, RecordSet::crd_name()).await,
        };
        if let (None, Ok(is_staying)) = (kind, &found) {
            self.is_staying = Some(*is_staying);
        }
        found.unwrap_or_else(|error| {
            let kind = kind.map_or("RecordSet", |kind| kind.as_str());
            tracing::warn!(kind, %error, "a definition can't be read; records stay for now");
            false
        })
    }
}

// === impl Subject ===

impl Subject {
    pub fn of(kind: Option<Kind>, (namespace, name): (String, String)) -> Self {
        match kind {
            Some(kind) => Self::Source(ObjectRef::new(kind, namespace, name)),
            None => Self::RecordSet((namespace, name)),
        }
    }

    /// The kind of a source object.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Self::RecordSet(_) => None,
            Self::Source(reference) => Some(reference.kind),
        }
    }

    pub fn key(&self) -> (&str, &str) {
        match self {
            Self::RecordSet((namespace, name)) => (namespace, name),
            Self::Source(reference) => (&reference.namespace, &reference.name),
        }
    }

    pub fn holder(&self) -> Holder {
        match self {
            Self::RecordSet((namespace, name)) => Holder::new("recordset", namespace, name),
            Self::Source(reference) => reference.holder(),
        }
    }
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
