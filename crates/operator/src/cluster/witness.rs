//! Evidence that a record is wanted no more (law 5): what the hub knows, confirmed by a fresh read.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use kube::{Api, Client, ResourceExt, api::ListParams, core::PartialObjectMeta};
use tokio::sync::{mpsc::UnboundedSender, oneshot};
use zonekeeper_api::RecordSet;
use zonekeeper_kernel::{
    holder::{Holder, HolderRef},
    plan::{Evidence, Fate, Orphan},
    zone::ZoneKey,
};

use crate::cluster::{
    Key, Message,
    testimony::{Question, Testimony},
};

/// More holders than this are confirmed by one list.
const MOST_READS: usize = 50;
const AT_ONCE: usize = 16;

/// Confirms what the hub knows of holders.
#[derive(Clone)]
pub struct Witness {
    pub client: Client,
    pub hub: UnboundedSender<Message>,
}

/// An object as a fresh read shows it; none where it is not there.
type Fresh = Option<PartialObjectMeta<RecordSet>>;

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
        if orphans.is_empty() {
            return Evidence::seen([]).awaiting(keeping);
        }
        let about: Vec<_> = orphans
            .iter()
            .map(|orphan| (orphan.name.clone(), orphan.rdata.rtype(), orphan.holder.clone()))
            .collect();
        let (answer, answered) = oneshot::channel();
        let question = Question { zone: zone.clone(), about, answer };
        if self.hub.send(Message::Asked(question)).is_err() {
            return Evidence::seen([]).awaiting(keeping);
        }
        let Ok(testimonies) = answered.await else { return Evidence::seen([]).awaiting(keeping) };
        let fresh = self.read(&testimonies).await;
        let fates = orphans.iter().zip(&testimonies).filter_map(|(orphan, testimony)| {
            let fate = fate(testimony, &fresh)?;
            Some((orphan.name.clone(), orphan.rdata.rtype(), orphan.holder.clone(), fate))
        });
        Evidence::seen(fates).awaiting(keeping)
    }

    /// Reads afresh what the testimonies are about; what could not be read is missing.
    async fn read(&self, testimonies: &[Testimony]) -> Readings {
        let mut objects: Vec<&Key> = testimonies.iter().filter_map(Testimony::object).collect();
        objects.sort();
        objects.dedup();
        let has_hashes =
            testimonies.iter().any(|testimony| matches!(testimony, Testimony::AbsentHash { .. }));
        if objects.len() > MOST_READS || has_hashes {
            let all: Api<RecordSet> = Api::all(self.client.clone());
            // Without a resource version a list is as fresh as a read.
            return match all.list_metadata(&ListParams::default()).await {
                Ok(list) => Readings::All(list.items.into_iter().map(|item| (key(&item), item)).collect()),
                Err(error) => {
                    tracing::warn!(%error, "holders can't be confirmed; their records stay for now");
                    Readings::Some(BTreeMap::new())
                }
            };
        }
        let read = stream::iter(objects.into_iter().cloned())
            .map(|object| async move {
                let api: Api<RecordSet> = Api::namespaced(self.client.clone(), &object.0);
                let fresh = match api.get_metadata(&object.1).await {
                    Ok(found) => Some(Some(found)),
                    Err(kube::Error::Api(status)) if is_object_missing(&status, &object.1) => Some(None),
                    Err(error) => {
                        tracing::warn!(%error, "a holder can't be confirmed; its records stay for now");
                        None
                    }
                };
                fresh.map(|fresh| (object, fresh))
            })
            .buffer_unordered(AT_ONCE)
            .filter_map(|read| async move { read })
            .collect()
            .await;
        Readings::Some(read)
    }
}

/// What fresh reads showed.
enum Readings {
    /// These objects, one by one.
    Some(BTreeMap<Key, Fresh>),
    /// All there are.
    All(BTreeMap<Key, PartialObjectMeta<RecordSet>>),
}

// === impl Readings ===

impl Readings {
    /// What was read of an object: nothing known, not there, or there.
    fn of(&self, object: &Key) -> Option<Option<&PartialObjectMeta<RecordSet>>> {
        match self {
            Self::Some(read) => read.get(object).map(Option::as_ref),
            Self::All(all) => Some(all.get(object)),
        }
    }
}

/// What becomes of an orphan; none where that is for a person to say.
fn fate(testimony: &Testimony, fresh: &Readings) -> Option<Fate> {
    match (testimony, is_confirmed(testimony, fresh)) {
        (Testimony::Retaining { .. }, true) => Some(Fate::Retained),
        (_, true) => Some(Fate::Released),
        (Testimony::Awaited, _) => Some(Fate::Awaited),
        // It could not be confirmed now.
        (Testimony::Leaving { .. } | Testimony::Retaining { .. } | Testimony::WantsOther { .. }, false) => {
            Some(Fate::Awaited)
        }
        (Testimony::Absent { .. } | Testimony::AbsentHash { .. } | Testimony::Nothing, false) => None,
    }
}

fn is_confirmed(testimony: &Testimony, fresh: &Readings) -> bool {
    match testimony {
        Testimony::Leaving { object, uid } | Testimony::Retaining { object, uid } => {
            fresh.of(object).is_some_and(|found| {
                found.is_none_or(|found| {
                    found.metadata.deletion_timestamp.is_some() && found.uid().as_ref() == Some(uid)
                })
            })
        }
        Testimony::WantsOther { object, uid, generation, labels } => {
            fresh.of(object).flatten().is_some_and(|found| {
                found.metadata.generation == Some(*generation)
                    && found.labels() == labels
                    && found.uid().as_ref() == Some(uid)
            })
        }
        Testimony::Absent { object } => fresh.of(object).is_some_and(|found| found.is_none()),
        Testimony::AbsentHash { hash } => match fresh {
            Readings::All(all) => {
                !all.keys().any(|key| Holder::new("recordset", &key.0, &key.1).hash() == *hash)
            }
            Readings::Some(_) => false,
        },
        Testimony::Awaited | Testimony::Nothing => false,
    }
}

/// Whether it is the object that is missing, and not its kind.
fn is_object_missing(status: &kube::core::Status, name: &str) -> bool {
    status.code == 404 && status.details.as_ref().is_some_and(|details| details.name == name)
}

fn key(object: &PartialObjectMeta<RecordSet>) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}
