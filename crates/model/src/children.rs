//! Objects that are made for an object of ours: applied, repaired when they are edited, removed when nothing wants them.
//!
//! The same for every kind of owner and of child. What is wanted is a manifest; what is seen is metadata.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};
use zonekeeper_api::wellknown::{CONTROLLER, MANAGED_BY, MANAGER};

use crate::effects::{Effect, Effects};

/// An object that is made for another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChildRef {
    /// `zonekeeper.dev/v1alpha1`, for example.
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

/// What is to be done with a child.
#[derive(Debug, Clone, PartialEq)]
pub enum ChildWrite {
    /// Create it. It fails if an object of that name is there.
    Create(Value),
    /// Apply it over the object with the uid that it names.
    Apply(Value),
    /// Delete the object with this uid.
    Delete(String, Leaving),
}

/// What becomes of what a child has written itself, where its own deletion would leave that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leaving {
    /// It goes as well: its owner wants something else.
    #[default]
    Nothing,
    /// What the child says itself: its owner does not look after it any more.
    AsDeclared,
}

/// All children of all owners.
///
/// Guarantees: nothing is deleted of an owner that did not say yet what it wants; what was not made by us is left alone.
pub struct Children {
    /// The installation that makes them: each looks after its own.
    controller: String,
    by_ref: BTreeMap<ChildRef, Child>,
    /// Those that are wanted for, or were seen to be made for, the object with a uid.
    by_owner: BTreeMap<String, BTreeSet<ChildRef>>,
    /// The uids of owners that have said what they want.
    known_owners: BTreeSet<String>,
}

/// What is known of a child.
#[derive(Default)]
struct Child {
    wanted: Option<Wanted>,
    seen: Option<Seen>,
    /// Whether a write of it is under way; of which manifest, if it is not deleted.
    is_being_written: bool,
    sent: Option<u64>,
    /// Why the last write of it failed.
    failure: Option<String>,
    /// How it goes when it is wanted no more.
    leaving: Leaving,
}

struct Wanted {
    /// The uid of the object that it is made for.
    owner: String,
    manifest: Value,
    /// Stands for the manifest.
    hash: u64,
    /// The hash that was applied, and the object that came of it.
    applied: Option<(u64, Fingerprint)>,
}

/// What was seen of an object of that name.
struct Seen {
    uid: String,
    is_leaving: bool,
    /// The uid of the object of ours that it was made for; none if it is not ours.
    owner: Option<String>,
    fingerprint: Fingerprint,
}

/// Stands for what an object says. A status may change without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fingerprint(u64);

// === impl ChildRef ===

impl ChildRef {
    /// Of a manifest; none if it lacks a part of it.
    pub fn of(manifest: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            api_version: text(&manifest["apiVersion"])?,
            kind: text(&manifest["kind"])?,
            namespace: text(&manifest["metadata"]["namespace"])?,
            name: text(&manifest["metadata"]["name"])?,
        })
    }
}

impl std::fmt::Display for ChildRef {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

// === impl Children ===

impl Children {
    /// None yet, of this installation.
    pub fn of_controller(controller: &str) -> Self {
        Self {
            controller: controller.to_owned(),
            by_ref: BTreeMap::new(),
            by_owner: BTreeMap::new(),
            known_owners: BTreeSet::new(),
        }
    }

    /// Says all that is wanted for an owner; what was wanted for it before, and is not among this, goes. Whether something
    /// is to be written for that.
    pub fn want(&mut self, owner: &OwnerReference, manifests: Vec<Value>, effects: &mut Effects) -> bool {
        self.say(owner, manifests, Leaving::Nothing, effects)
    }

    /// Nothing is wanted for an owner any more; what was made for it leaves behind what it says itself.
    pub fn give_up(&mut self, owner: &OwnerReference, effects: &mut Effects) {
        self.say(owner, Vec::new(), Leaving::AsDeclared, effects);
    }

    fn say(
        &mut self,
        owner: &OwnerReference,
        manifests: Vec<Value>,
        leaving: Leaving,
        effects: &mut Effects,
    ) -> bool {
        self.known_owners.insert(owner.uid.clone());
        let manifests: BTreeMap<ChildRef, Value> = manifests
            .into_iter()
            .filter_map(|manifest| Some((ChildRef::of(&manifest)?, self.owned(manifest, owner))))
            .collect();
        let of_owner = self.by_owner.entry(owner.uid.clone()).or_default();
        of_owner.extend(manifests.keys().cloned());
        let touched = of_owner.clone();
        let before = effects.len();
        for child in touched {
            let known = self.by_ref.entry(child.clone()).or_default();
            known.set(manifests.get(&child), owner);
            known.leaving = leaving;
            self.proceed(&child, effects);
        }
        effects.len() > before
    }

    /// An object that may be a child was seen.
    pub fn see(&mut self, child: &ChildRef, metadata: &ObjectMeta, effects: &mut Effects) {
        let seen = Seen::of(metadata, &self.controller);
        if seen.owner.is_none() && !self.by_ref.contains_key(child) {
            return;
        }
        if let Some(owner) = &seen.owner {
            self.by_owner.entry(owner.clone()).or_default().insert(child.clone());
        }
        self.by_ref.entry(child.clone()).or_default().seen = Some(seen);
        self.proceed(child, effects);
    }

    /// Whether there is an object that was made for an owner, or is wanted for it.
    pub fn has(&self, owner_uid: &str) -> bool {
        self.by_owner.get(owner_uid).is_some_and(|children| !children.is_empty())
    }

    /// An object that may be a child is gone.
    pub fn lose(&mut self, child: &ChildRef, effects: &mut Effects) {
        let Some(known) = self.by_ref.get_mut(child) else { return };
        known.seen = None;
        if let Some(wanted) = &mut known.wanted {
            wanted.applied = None;
        }
        self.proceed(child, effects);
    }

    /// A write of a child is over: the object as it is now, or why it was not taken. That is tried again with `retry`.
    pub fn written(
        &mut self,
        child: &ChildRef,
        answer: Result<Option<Box<ObjectMeta>>, String>,
        effects: &mut Effects,
    ) {
        let Some(known) = self.by_ref.get_mut(child) else { return };
        known.is_being_written = false;
        match answer {
            Ok(metadata) => {
                known.failure = None;
                match (metadata, &mut known.seen) {
                    (Some(metadata), _) => {
                        let seen = Seen::of(&metadata, &self.controller);
                        known.note_applied(seen.fingerprint);
                        known.seen = Some(seen);
                    }
                    // Deleted: its watch says when it is gone.
                    (None, Some(seen)) => seen.is_leaving = true,
                    (None, None) => {}
                }
                self.proceed(child, effects);
            }
            Err(error) => known.failure = Some(error),
        }
    }

    /// Tries again what failed.
    pub fn retry(&mut self, effects: &mut Effects) {
        let failed = self.by_ref.iter().filter(|(_, child)| child.failure.is_some());
        let failed: Vec<ChildRef> = failed.map(|(key, _)| key.clone()).collect();
        failed.iter().for_each(|child| self.proceed(child, effects));
    }

    /// The uid of the object that a child is wanted for.
    pub fn owner_of(&self, child: &ChildRef) -> Option<&str> {
        self.by_ref.get(child)?.wanted.as_ref().map(|wanted| &*wanted.owner)
    }

    /// Why children of an owner are not as they are wanted, if something is in their way.
    pub fn trouble(&self, owner_uid: &str) -> Option<String> {
        self.known_of(owner_uid).find_map(|(key, child)| {
            let wanted = child.wanted.as_ref().filter(|wanted| wanted.owner == owner_uid)?;
            match (&child.failure, &child.seen) {
                (_, Some(seen)) if seen.owner.as_ref() != Some(&wanted.owner) => {
                    Some(format!("{key} is there and was not made for this object; rename or delete it"))
                }
                (Some(failure), _) => Some(format!("{key} can't be written: {failure}")),
                (None, _) => None,
            }
        })
    }

    /// The children that are wanted for an owner.
    pub fn of<'a>(&'a self, owner_uid: &'a str) -> impl Iterator<Item = &'a ChildRef> {
        let is_of =
            move |child: &Child| child.wanted.as_ref().is_some_and(|wanted| wanted.owner == owner_uid);
        self.known_of(owner_uid).filter(move |(_, child)| is_of(child)).map(|(key, _)| key)
    }

    fn known_of<'a>(&'a self, owner_uid: &str) -> impl Iterator<Item = (&'a ChildRef, &'a Child)> {
        let of_owner = self.by_owner.get(owner_uid).into_iter().flatten();
        of_owner.filter_map(|key| Some((key, self.by_ref.get(key)?)))
    }

    /// An owner is gone: its children go with it, by their owner references.
    pub fn forget(&mut self, owner_uid: &str) {
        self.known_owners.remove(owner_uid);
        for key in self.by_owner.remove(owner_uid).unwrap_or_default() {
            let Some(child) = self.by_ref.get_mut(&key) else { continue };
            child.wanted = child.wanted.take().filter(|wanted| wanted.owner != owner_uid);
            if !child.is_needed(&self.known_owners) {
                self.by_ref.remove(&key);
            }
        }
    }

    /// A manifest with its owner in it: it goes with that, and nothing else is taken for it.
    fn owned(&self, mut manifest: Value, owner: &OwnerReference) -> Value {
        manifest["metadata"]["labels"][MANAGED_BY] = json!(MANAGER);
        manifest["metadata"]["annotations"][CONTROLLER] = json!(self.controller);
        manifest["metadata"]["ownerReferences"] = json!([owner]);
        manifest
    }

    fn proceed(&mut self, key: &ChildRef, effects: &mut Effects) {
        let Some(child) = self.by_ref.get_mut(key) else { return };
        if child.is_being_written {
            return;
        }
        if let Some(write) = child.next(&self.known_owners) {
            child.is_being_written = true;
            child.sent = child.wanted.as_ref().map(|wanted| wanted.hash);
            effects.push(Effect::WriteChild(key.clone(), write));
        } else if child.wanted.is_none() && child.seen.is_none() {
            self.by_ref.remove(key);
            self.by_owner.retain(|_, children| {
                children.remove(key);
                !children.is_empty()
            });
        }
    }
}

// === impl Child ===

impl Child {
    fn set(&mut self, manifest: Option<&Value>, owner: &OwnerReference) {
        let Some(manifest) = manifest else {
            // Another owner may want an object of that name by now.
            self.wanted = self.wanted.take().filter(|wanted| wanted.owner != owner.uid);
            return;
        };
        let mut hasher = DefaultHasher::new();
        manifest.to_string().hash(&mut hasher);
        let hash = hasher.finish();
        let is_known = |wanted: &Wanted| wanted.owner == owner.uid && wanted.hash == hash;
        if !self.wanted.as_ref().is_some_and(is_known) {
            let (owner, manifest) = (owner.uid.clone(), manifest.clone());
            self.wanted = Some(Wanted { owner, manifest, hash, applied: None });
        }
    }

    /// What was sent last made the object what it is.
    fn note_applied(&mut self, fingerprint: Fingerprint) {
        let sent = self.sent.take();
        if let Some(wanted) = self.wanted.as_mut().filter(|wanted| sent == Some(wanted.hash)) {
            wanted.applied = Some((wanted.hash, fingerprint));
        }
    }

    /// Whether anything is to be remembered of it.
    fn is_needed(&self, known_owners: &BTreeSet<String>) -> bool {
        let owner = self.seen.as_ref().and_then(|seen| seen.owner.as_ref());
        self.wanted.is_some() || owner.is_some_and(|owner| known_owners.contains(owner))
    }

    /// What is to be done next.
    fn next(&self, known_owners: &BTreeSet<String>) -> Option<ChildWrite> {
        match (&self.wanted, &self.seen) {
            (Some(wanted), None) => Some(ChildWrite::Create(wanted.manifest.clone())),
            (Some(_), Some(seen)) if seen.is_leaving => None,
            (Some(wanted), Some(seen)) if seen.owner.as_ref() == Some(&wanted.owner) => {
                let is_in_place = wanted.applied == Some((wanted.hash, seen.fingerprint));
                (!is_in_place).then(|| {
                    let mut manifest = wanted.manifest.clone();
                    manifest["metadata"]["uid"] = json!(seen.uid);
                    ChildWrite::Apply(manifest)
                })
            }
            // It was not made for this object: it is left alone.
            (Some(_), Some(_)) => None,
            (None, Some(seen)) if !seen.is_leaving => {
                let is_known = seen.owner.as_ref().is_some_and(|owner| known_owners.contains(owner));
                is_known.then(|| ChildWrite::Delete(seen.uid.clone(), self.leaving))
            }
            (None, _) => None,
        }
    }
}

// === impl Seen ===

impl Seen {
    fn of(metadata: &ObjectMeta, controller: &str) -> Self {
        let has = |values: &Option<BTreeMap<String, String>>, key: &str, value: &str| {
            values.as_ref().is_some_and(|values| values.get(key).is_some_and(|it| it == value))
        };
        let is_managed =
            has(&metadata.labels, MANAGED_BY, MANAGER) && has(&metadata.annotations, CONTROLLER, controller);
        let owner = metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
        Self {
            uid: metadata.uid.clone().unwrap_or_default(),
            is_leaving: metadata.deletion_timestamp.is_some(),
            owner: owner.filter(|_| is_managed).map(|owner| owner.uid.clone()),
            fingerprint: Fingerprint::of(metadata),
        }
    }
}

// === impl Fingerprint ===

impl Fingerprint {
    /// Kinds without a generation have no status either: their resource version says that they changed.
    fn of(metadata: &ObjectMeta) -> Self {
        let mut hasher = DefaultHasher::new();
        match metadata.generation {
            Some(generation) => generation.hash(&mut hasher),
            None => metadata.resource_version.hash(&mut hasher),
        }
        metadata.uid.hash(&mut hasher);
        metadata.labels.hash(&mut hasher);
        metadata.annotations.hash(&mut hasher);
        for owner in metadata.owner_references.iter().flatten() {
            (&owner.uid, owner.controller).hash(&mut hasher);
        }
        Self(hasher.finish())
    }
}

#[cfg(test)]
mod tests;
