//! Fresh reads of holders: metadata in pages where that is enough, and what they showed is used for some seconds.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams},
    core::PartialObjectMeta,
};
use zonekeeper_api::{RecordSet, SourceKind};
use zonekeeper_kernel::holder::HolderHashes;
use zonekeeper_sources::object::Kind;

use zonekeeper_model::{
    confirmation::Found,
    holders::{Answer, Subject},
};

use crate::kube::resources::find;

/// More holders of a kind than this are confirmed by one list.
const MOST_READS: usize = 50;
const AT_ONCE: usize = 16;
/// How many objects one page of a list has.
const PAGE: u32 = 500;
/// How long what was read counts as fresh: while something is held, every pass asks again.
const FRESH: Duration = Duration::from_secs(5);

/// How much of an object must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Much {
    Metadata,
    Whole,
}

/// What was read a moment ago.
#[derive(Default)]
pub struct Memory {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    objects: BTreeMap<Subject, (Instant, Found)>,
    /// The hashes of all holders there are, with the kinds that were listed for certain.
    hashes: Option<(Instant, BTreeSet<Kind>, HolderHashes)>,
}

/// Reads objects from the API server.
pub struct Reads<'a> {
    pub client: &'a Client,
    pub memory: &'a Memory,
}

// === impl Memory ===

impl Memory {
    /// What was read of an object a moment ago.
    pub fn recall(&self, subject: &Subject) -> Option<Found> {
        let inner = self.inner();
        let (at, found) = inner.objects.get(subject)?;
        (at.elapsed() < FRESH).then(|| found.clone())
    }

    /// Remembers what was read, and forgets what is too old.
    pub fn note(&self, read: &[(Subject, Found)]) {
        let (now, mut inner) = (Instant::now(), self.inner());
        inner.objects.retain(|_, (at, _)| at.elapsed() < FRESH);
        inner.objects.extend(read.iter().map(|(subject, found)| (subject.clone(), (now, found.clone()))));
    }

    /// The hashes that were listed a moment ago, all these kinds among them.
    fn recall_hashes(&self, possible: &BTreeSet<Kind>) -> Option<HolderHashes> {
        let inner = self.inner();
        let (at, kinds, hashes) = inner.hashes.as_ref()?;
        (at.elapsed() < FRESH && possible.is_subset(kinds)).then(|| hashes.clone())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every change of it is complete in itself.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Reads ===

impl Reads<'_> {
    /// Reads objects of one kind; what can't be read is missing.
    pub async fn objects(
        &self,
        kind: Option<Kind>,
        resource: &ApiResource,
        subjects: BTreeMap<Subject, Much>,
    ) -> Vec<(Subject, Found)> {
        if subjects.len() <= MOST_READS {
            return self.each(resource, subjects).await;
        }
        let much = subjects.values().copied().max().unwrap_or(Much::Metadata);
        let mut found: BTreeMap<Subject, DynamicObject> = BTreeMap::new();
        let listed = self
            .pages(resource, much, |object| {
                let subject = subject(kind, &object);
                if subjects.contains_key(&subject) {
                    found.insert(subject, object);
                }
            })
            .await;
        if let Err(error) = listed {
            tracing::warn!(%error, "holders can't be confirmed; their records stay for now");
            return Vec::new();
        }
        // A list that is empty, or too short, by mistake is no evidence.
        let absent: BTreeMap<Subject, Much> =
            subjects.into_iter().filter(|(subject, _)| !found.contains_key(subject)).collect();
        let mut read = self.each(resource, absent).await;
        read.extend(found.into_iter().map(|(subject, object)| (subject, Some(object))));
        read
    }

    async fn each(&self, resource: &ApiResource, subjects: BTreeMap<Subject, Much>) -> Vec<(Subject, Found)> {
        let read = stream::iter(subjects)
            .map(|(subject, much)| async move {
                let (namespace, name) = subject.key();
                let api: Api<DynamicObject> = match namespace {
                    "" => Api::all_with(self.client.clone(), resource),
                    namespace => Api::namespaced_with(self.client.clone(), namespace, resource),
                };
                let answer = match much {
                    Much::Whole => api.get(name).await,
                    Much::Metadata => api.get_metadata(name).await.map(bare),
                };
                let found = match answer {
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

    /// Lists a kind page by page. Without a resource version a list is as fresh as a read.
    async fn pages(
        &self,
        resource: &ApiResource,
        much: Much,
        mut take: impl FnMut(DynamicObject),
    ) -> kube::Result<usize> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        let (mut page, mut count) = (ListParams::default().limit(PAGE), 0);
        loop {
            let (items, next): (Vec<DynamicObject>, _) = match much {
                Much::Whole => {
                    let listed = api.list(&page).await?;
                    (listed.items, listed.metadata.continue_)
                }
                Much::Metadata => {
                    let listed = api.list_metadata(&page).await?;
                    (listed.items.into_iter().map(bare).collect(), listed.metadata.continue_)
                }
            };
            count += items.len();
            items.into_iter().for_each(&mut take);
            match next.filter(|next| !next.is_empty()) {
                Some(next) => page = page.continue_token(&next),
                None => return Ok(count),
            }
        }
    }

    /// The hashes of all objects that could be holders, whether or not a zone reads their kind now; none where one
    /// of the possible kinds is not installed, or any kind could not be listed.
    pub async fn hashes(&self, answer: &Answer) -> Option<HolderHashes> {
        if let Some(hashes) = self.memory.recall_hashes(&answer.possible) {
            return Some(hashes);
        }
        let mut resources = vec![(None, resource_of(None, answer)?)];
        for kind in SourceKind::all().iter().map(|kind| Kind::Source(*kind)) {
            let found = match answer.followed.get(&kind).cloned() {
                Some(resource) => Some(resource),
                None => find(self.client, kind).await.ok()?,
            };
            match found {
                Some(resource) => resources.push((Some(kind), resource)),
                None if answer.possible.contains(&kind) => return None,
                None => {}
            }
        }
        let (mut hashes, mut kinds) = (HolderHashes::default(), BTreeSet::new());
        for (kind, resource) in resources {
            let mut take = |object: DynamicObject| {
                hashes.insert(&subject(kind, &object).holder());
            };
            let count = self.pages(&resource, Much::Metadata, &mut take).await.ok()?;
            // An empty list may be a mistake, and here nothing else would tell.
            let is_followed = kind.is_some_and(|kind| answer.followed.contains_key(&kind));
            if is_followed && count == 0 {
                return None;
            }
            kinds.extend(kind);
        }
        self.memory.inner().hashes = Some((Instant::now(), kinds, hashes.clone()));
        Some(hashes)
    }
}

/// How a kind is served; a RecordSet where it is none.
pub fn resource_of(kind: Option<Kind>, answer: &Answer) -> Option<ApiResource> {
    match kind {
        None => Some(ApiResource::erase::<RecordSet>(&())),
        Some(kind) => answer.followed.get(&kind).cloned(),
    }
}

/// Metadata, as an object without anything else.
fn bare(partial: PartialObjectMeta<DynamicObject>) -> DynamicObject {
    DynamicObject { types: partial.types, metadata: partial.metadata, data: serde_json::Value::Null }
}

fn subject(kind: Option<Kind>, object: &DynamicObject) -> Subject {
    Subject::of(kind, (object.namespace().unwrap_or_default(), object.name_any()))
}

/// Whether it is the object that is missing, and not its kind.
fn is_object_missing(status: &kube::core::Status, name: &str) -> bool {
    status.code == 404 && status.details.as_ref().is_some_and(|details| details.name == name)
}
