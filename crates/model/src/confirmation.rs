//! What is known of holders whose records no object asks for, and what fresh reads confirmed of it (law 5).

use std::collections::BTreeMap;

use kube::{Resource, ResourceExt, core::DynamicObject};
use zonekeeper_kernel::{
    holder::HolderHashes,
    plan::{Evidence, Fate},
    zone::ZoneKey,
};
use zonekeeper_sources::object::{Keep, Object};

use crate::holders::{About, Answer, HolderState, Subject};

/// Whether an object was there, and what it was.
pub type Found = Option<DynamicObject>;

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

/// What fresh reads showed.
#[derive(Default)]
pub struct Fresh {
    /// Objects that were read, or are known not to be there; what could not be read is missing.
    pub objects: BTreeMap<Subject, Found>,
    /// The hashes of all holders there are, where all could be listed.
    pub hashes: Option<HolderHashes>,
}

/// Records whose holders were asked about, and what becomes of each; none where that is for a person to say.
#[derive(Debug, Clone, Default)]
pub struct Confirmed {
    fates: BTreeMap<About, Option<Fate>>,
}

// === impl Confirmed ===

impl Confirmed {
    /// What became of these records' holders.
    pub fn new(fates: impl IntoIterator<Item = (About, Option<Fate>)>) -> Self {
        Self { fates: fates.into_iter().collect() }
    }

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

// === impl Fresh ===

impl Fresh {
    /// What becomes of an orphan; none where that is for a person to say.
    pub fn fate(&self, state: &HolderState) -> Option<Fate> {
        match (state, self.confirms(state)) {
            (HolderState::Retaining { .. }, true) => Some(Fate::Retained),
            (_, true) => Some(Fate::Released),
            (HolderState::Absent { .. } | HolderState::AbsentHash { .. } | HolderState::Nothing, false) => {
                None
            }
            // It has not arrived where it goes, or could not be confirmed now.
            (
                HolderState::Awaited
                | HolderState::Leaving { .. }
                | HolderState::Retaining { .. }
                | HolderState::WantsOther { .. }
                | HolderState::SourceWantsOther { .. },
                false,
            ) => Some(Fate::Awaited),
        }
    }

    /// Whether what was read bears out what was known.
    pub fn confirms(&self, state: &HolderState) -> bool {
        let read = state.object().and_then(|object| self.objects.get(object));
        match state {
            HolderState::Leaving { uid, .. } | HolderState::Retaining { uid, .. } => {
                read.is_some_and(|found| {
                    found.as_ref().is_none_or(|found| {
                        found.meta().deletion_timestamp.is_some() && found.uid().as_ref() == Some(uid)
                    })
                })
            }
            HolderState::WantsOther { uid, generation, labels, .. } => {
                read.and_then(Option::as_ref).is_some_and(|found| {
                    found.meta().generation == Some(*generation)
                        && found.labels() == labels
                        && found.uid().as_ref() == Some(uid)
                })
            }
            HolderState::SourceWantsOther { seen, .. } => {
                read.and_then(Option::as_ref).is_some_and(|found| is_same(found, seen))
            }
            HolderState::Absent { .. } => read.is_some_and(Option::is_none),
            HolderState::AbsentHash { hash } => {
                self.hashes.as_ref().is_some_and(|hashes| !hashes.contains(hash))
            }
            HolderState::Awaited | HolderState::Nothing => false,
        }
    }
}

/// Whether an object is as it was seen, as far as sources read it.
fn is_same(found: &DynamicObject, seen: &Object) -> bool {
    let Ok(json) = serde_json::to_value(found) else { return false };
    Object::read(seen.kind, json, Keep::Narrow)
        .is_ok_and(|found| found.meta == seen.meta && found.body == seen.body)
}
