//! What the model knows of holders of records that no object asks for: what each wants instead, if anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kube::{ResourceExt, core::ApiResource};
use zonekeeper_api::{DeletionPolicy, Reason, SourceKind};
use zonekeeper_kernel::{
    holder::{Holder, HolderRef},
    name::Name,
    rdata::RecordType,
    resolve::WantedName,
    zone::ZoneKey,
};
use zonekeeper_sources::{
    self as sources, Found, Reading, Word,
    object::{Kind, Object, ObjectRef},
};

use crate::{
    Key,
    confirmation::ConfirmRequest,
    core::Model,
    effects::Effect,
    records::{RecordEntry, wanted_name},
    released::holder_of,
    sources::{kinds::source_of, news::Standing},
    status,
    zone_entry::Requester,
};

/// A record that no object asks for, and the holder that its marker names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct About {
    pub name: Name,
    pub rtype: RecordType,
    pub holder: HolderRef,
    /// Whether it was published under our own owner id.
    pub is_ours: bool,
}

/// What the model knows, holder by holder.
#[derive(Debug, Default)]
pub struct Answer {
    pub states: Vec<HolderState>,
    /// The kinds of source objects that are followed, as the server serves them.
    pub followed: BTreeMap<Kind, ApiResource>,
    /// The kinds that a holder may be of whose marker has its hash alone: without one of them nothing is known.
    pub possible: BTreeSet<Kind>,
    /// Whether those that are followed were there all the time.
    pub is_complete: bool,
}

/// An object that may hold something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    RecordSet(Key),
    Source(ObjectRef),
}

/// What the model knows of one holder, with what a fresh read must show to confirm it.
#[derive(Debug, Clone)]
pub enum HolderState {
    /// It is being deleted, and its record with it.
    Leaving { object: Subject, uid: String },
    /// It is being deleted, and leaves its record behind.
    Retaining { object: Subject, uid: String },
    /// It is there, was understood, and wants something else.
    WantsOther { object: Subject, uid: String, generation: i64, labels: BTreeMap<String, String> },
    /// The same of a source object, which any part of it may say.
    SourceWantsOther { object: Subject, seen: Arc<Object> },
    /// A synced store does not have it.
    Absent { object: Subject },
    /// A synced store has no object with this hash.
    AbsentHash { hash: String },
    /// It is there, and has not arrived where it goes, or can't be understood.
    Awaited,
    /// It wants this, may have it no more, or is not known to us.
    Nothing,
}

// === impl About ===

impl About {
    /// Whether it may belong to a source object.
    pub fn is_of_source(&self) -> bool {
        match &self.holder {
            HolderRef::Full(holder) => record_set_of(holder).is_none(),
            HolderRef::Hash(_) => true,
            HolderRef::Unnamed => false,
        }
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

// === impl HolderState ===

impl HolderState {
    /// The object that it is about.
    pub fn object(&self) -> Option<&Subject> {
        match self {
            Self::Leaving { object, .. }
            | Self::Retaining { object, .. }
            | Self::WantsOther { object, .. }
            | Self::SourceWantsOther { object, .. }
            | Self::Absent { object } => Some(object),
            Self::AbsentHash { .. } | Self::Awaited | Self::Nothing => None,
        }
    }

    /// The object, where it is being deleted.
    pub fn leaving(&self) -> Option<&Subject> {
        match self {
            Self::Leaving { object, .. } | Self::Retaining { object, .. } => Some(object),
            _other => None,
        }
    }

    fn wants_other(object: Key, entry: &RecordEntry) -> Self {
        Self::WantsOther {
            object: Subject::RecordSet(object),
            uid: entry.object.uid().unwrap_or_default(),
            generation: entry.object.metadata.generation.unwrap_or_default(),
            labels: entry.object.labels().clone(),
        }
    }
}

// === impl Model ===

impl Model {
    /// Has what is known of the holders of some records confirmed by fresh reads.
    pub fn confirm(&mut self, zone: &ZoneKey, pass: u64, about: Vec<About>) {
        let states = about.iter().map(|about| self.holder_state(zone, about)).collect();
        let possible = self.possible_kinds(zone, &about);
        let answer = Answer {
            states,
            followed: self.sources.followed().map(|(kind, resource)| (kind, resource.clone())).collect(),
            is_complete: self.sources.were_always_there(&possible),
            possible,
        };
        self.effects.push(Effect::Confirm(Box::new(ConfirmRequest {
            zone: zone.clone(),
            pass,
            about,
            answer,
        })));
    }

    /// The kinds that a hash may stand for: those that the zone reads, and all there are where others may have
    /// been read before.
    fn possible_kinds(&self, zone: &ZoneKey, about: &[About]) -> BTreeSet<Kind> {
        let is_hash = |about: &&About| matches!(about.holder, HolderRef::Hash(_));
        let is_ours = about.iter().filter(is_hash).all(|about| about.is_ours);
        let entry = self.zones.get(zone);
        let settled = entry.filter(|entry| is_ours && !entry.has_names_of_another_reading());
        match settled.and_then(|entry| entry.reading.as_ref()) {
            Some(reading) => reading.kinds().iter().map(|kind| Kind::Source(*kind)).collect(),
            None => SourceKind::all().iter().map(|kind| Kind::Source(*kind)).collect(),
        }
    }

    fn holder_state(&mut self, zone: &ZoneKey, about: &About) -> HolderState {
        let About { name, rtype, holder, is_ours } = about;
        let rtype = *rtype;
        let subject = match holder {
            HolderRef::Full(holder) => subject_of(holder),
            HolderRef::Hash(hash) => match self.find_by_hash(hash) {
                Some(subject) => Some(subject),
                None if self.may_have_let_go(zone, holder) => return HolderState::Nothing,
                None => return HolderState::AbsentHash { hash: hash.to_string() },
            },
            HolderRef::Unnamed => None,
        };
        match subject {
            Some(Subject::RecordSet(key)) => self.holder_state_record_set(zone, name, rtype, key),
            Some(Subject::Source(reference)) => {
                match self.holder_state_source(zone, name, rtype, reference) {
                    // It was not published by us: what its object said of it then is not known.
                    HolderState::SourceWantsOther { .. } if !is_ours => HolderState::Nothing,
                    state => state,
                }
            }
            None => HolderState::Nothing,
        }
    }

    fn find_by_hash(&self, hash: &str) -> Option<Subject> {
        let named = HolderRef::Hash(hash.into());
        let is_it = |key: &&Key| named.names(&Holder::new("recordset", &key.0, &key.1));
        let record_set = self.records.keys().find(is_it).map(|key| Subject::RecordSet(key.clone()));
        record_set.or_else(|| {
            let mut sources = self.sources.seen();
            let found = sources.find(|object| named.names(&object.holder())).map(|object| object.reference());
            let departed = || {
                let (_, reference) = self.sources.departed.range(hash.to_owned()..).next()?;
                named.names(&reference.holder()).then(|| reference.clone())
            };
            found.or_else(departed).map(Subject::Source)
        })
    }

    /// What a source object says of a set that it may hold.
    fn holder_state_source(
        &self,
        zone: &ZoneKey,
        name: &Name,
        rtype: RecordType,
        reference: ObjectRef,
    ) -> HolderState {
        let Some(entry) = self.zones.get(zone) else { return HolderState::Nothing };
        // A kind that the zone reads no more says nothing.
        let is_read = |reading: &&Arc<Reading>| {
            reading.kinds().iter().any(|kind| Kind::Source(*kind) == reference.kind)
        };
        let Some(reading) = entry.reading.as_ref().filter(is_read) else { return HolderState::Nothing };
        let is_followed = matches!(self.sources.standing(reference.kind), Standing::Following(_));
        if !is_followed || self.sources.unreadable.contains(&reference) {
            return HolderState::Awaited;
        }
        let subject = Subject::Source(reference.clone());
        let seen = match self.sources.world.get(&reference) {
            Found::Here(object) => object,
            Found::NotThere | Found::Deleted if self.sources.may_have_gone_with_kind(&reference) => {
                return HolderState::Nothing;
            }
            Found::NotThere | Found::Deleted => return HolderState::Absent { object: subject },
            Found::NotKnown => return HolderState::Awaited,
        };
        let Some(published) = self.published(&reference, reading) else { return HolderState::Nothing };
        // The zone annotation is the object's own word too.
        let is_elsewhere = published.asked.iter().any(|asked| {
            asked.intent.rtype == rtype
                && matches!(&asked.intent.name, WantedName::Absolute(wanted) if wanted == name)
                && asked.intent.zone_refs.as_ref().is_some_and(|zones| !zones.contains(zone))
        });
        match published.about(name, rtype) {
            Word::WantsOther if published.standing == sources::Standing::Leaving => {
                HolderState::Leaving { object: subject, uid: seen.meta.uid.clone() }
            }
            Word::WantsOther if entry.has_names_of_another_reading() => HolderState::Nothing,
            Word::WantsOther => {
                HolderState::SourceWantsOther { object: subject, seen: Arc::new(seen.clone()) }
            }
            Word::Wants if is_elsewhere && !self.sources.has_arrived(&reference, zone, name, rtype) => {
                HolderState::Awaited
            }
            Word::Wants if is_elsewhere => {
                HolderState::SourceWantsOther { object: subject, seen: Arc::new(seen.clone()) }
            }
            Word::Awaited => HolderState::Awaited,
            Word::Wants | Word::Silent => HolderState::Nothing,
        }
    }

    fn holder_state_record_set(
        &mut self,
        zone: &ZoneKey,
        name: &Name,
        rtype: RecordType,
        key: Key,
    ) -> HolderState {
        let named = HolderRef::Full(holder_of(&key));
        let Some(entry) = self.records.get(&key) else {
            return match self.may_have_let_go(zone, &named) {
                true => HolderState::Nothing,
                false => HolderState::Absent { object: Subject::RecordSet(key) },
            };
        };
        // An object that came again under the same name did not write what the one before it left. One that waits to be let
        // go speaks for itself until it is, unless a person has said that its record stays.
        let was_let_go = self.zones.get(zone).is_some_and(|entry| entry.has_released(&named));
        let speaks = entry.is_leaving() && !status::is_released(&*entry.object);
        if was_let_go && !speaks && !entry.is_retaining() {
            return HolderState::Nothing;
        }
        if entry.is_leaving() {
            return self.holder_state_leaving(zone, name, rtype, key);
        }
        if entry.is_others {
            let has_arrived = self.has_arrived_elsewhere(&key);
            let Some(entry) = self.remember_place(zone, name, &key) else { return HolderState::Nothing };
            return if has_arrived { HolderState::wants_other(key, entry) } else { HolderState::Awaited };
        }
        let is_same_name = entry.placed.get(zone) == Some(name);
        let wants_this = is_same_name && entry.intent.as_ref().is_some_and(|intent| intent.rtype == rtype);
        if wants_this || has_lost_it(entry) {
            return HolderState::Nothing;
        }
        // A change of type is one step; whatever moves goes from its old place when it has arrived at its new one.
        // Two objects that exchange names would wait for each other: what can't stand beside another's wish gives way.
        let is_clear = entry.refused.is_none() && !entry.placed.is_empty();
        let may_go = is_same_name || entry.has_arrived() || self.is_in_the_way(zone, name, rtype, &key);
        if !is_clear || !may_go {
            // Remembered, so that the old place is looked at again as soon as the object has arrived.
            self.remember_place(zone, name, &key);
            return HolderState::Awaited;
        }
        if !self.has_left_by_itself(entry, zone, name, rtype) {
            return HolderState::Nothing;
        }
        self.find_departing(zone, name, &key);
        match self.remember_place(zone, name, &key) {
            Some(entry) => HolderState::wants_other(key, entry),
            None => HolderState::Nothing,
        }
    }

    /// Whether an object was let go while its record stayed: no look at it says that the record may go.
    fn may_have_let_go(&self, zone: &ZoneKey, named: &HolderRef) -> bool {
        self.zones.get(zone).is_some_and(|entry| entry.may_have_released(named))
    }

    /// Whether another object of the same namespace asks for something at a name that can't stand beside this set.
    fn is_in_the_way(&self, zone: &ZoneKey, name: &Name, rtype: RecordType, key: &Key) -> bool {
        let Some(wishes) = self.zones.get(zone).and_then(|entry| entry.wishes.get(name)) else {
            return false;
        };
        wishes.iter().any(|(requester, intent)| {
            let is_another = *requester != Requester::RecordSet(key.clone());
            let is_alias = rtype == RecordType::CNAME || intent.rtype == RecordType::CNAME;
            is_another && is_alias && intent.holder.namespace() == key.0
        })
    }

    fn holder_state_leaving(
        &mut self,
        zone: &ZoneKey,
        name: &Name,
        rtype: RecordType,
        key: Key,
    ) -> HolderState {
        let domain = self.zones.get(zone).and_then(|entry| Some(entry.zone.as_ref()?.domain.clone()));
        let Some(entry) = self.remember_place(zone, name, &key) else { return HolderState::Nothing };
        let uid = entry.object.uid().unwrap_or_default();
        let spec = &entry.object.spec;
        let wished = domain.and_then(|domain| wanted_name(spec, &domain));
        let is_retaining = spec.deletion_policy == DeletionPolicy::Retain
            && spec.rtype.parse() == Ok(rtype)
            && wished.is_none_or(|wished| wished == *name);
        self.find_departing(zone, name, &key);
        let object = Subject::RecordSet(key);
        match is_retaining {
            true => HolderState::Retaining { object, uid },
            false => HolderState::Leaving { object, uid },
        }
    }

    /// Whether an object is not in a zone, or not with this, because it says so itself: a zone that takes
    /// less than it did, or a newer one that takes it away, is no word of the object's.
    fn has_left_by_itself(
        &self,
        entry: &RecordEntry,
        zone: &ZoneKey,
        name: &Name,
        rtype: RecordType,
    ) -> bool {
        let spec = &entry.object.spec;
        let domain = self.zones.get(zone).and_then(|entry| entry.zone.as_ref()).map(|zone| &zone.domain);
        let wished = domain.and_then(|domain| wanted_name(spec, domain));
        let wishes_this = wished.as_ref() == Some(name) && spec.rtype.parse() == Ok(rtype);
        let namespace = entry.object.namespace();
        let is_named = spec.zone_refs.is_empty()
            || spec.zone_refs.iter().any(|reference| {
                let of = reference.namespace.as_ref().or(namespace.as_ref());
                reference.name == zone.name && of == Some(&zone.namespace)
            });
        !wishes_this || !is_named || entry.left.contains_key(zone)
    }

    /// Notes that an object may hold something at a place.
    fn remember_place(&mut self, zone: &ZoneKey, name: &Name, key: &Key) -> Option<&RecordEntry> {
        let entry = self.records.get_mut(key)?;
        entry.places.insert((zone.clone(), name.clone()), ());
        Some(entry)
    }

    /// Whether another release says that it holds what an object wishes now.
    pub fn has_arrived_elsewhere(&self, key: &Key) -> bool {
        let Some(entry) = self.records.get(key).filter(|entry| entry.was_programmed()) else { return false };
        let mut zones = entry.object.status.iter().flat_map(|status| &status.zones);
        zones.any(|zone| {
            let key = ZoneKey { namespace: zone.namespace.clone(), name: zone.name.clone() };
            !zone.records.is_empty() && self.zones.get(&key).is_some_and(|entry| !entry.is_ours)
        })
    }
}

/// Whether an object may not have what it wishes, or it is not known where that goes.
fn has_lost_it(entry: &RecordEntry) -> bool {
    let states = entry.states.values().map(|state| &state.verdict);
    entry.refused.iter().chain(states).any(|verdict| {
        matches!(verdict.reason, Reason::NotAllowed | Reason::NoMatchingZone | Reason::AmbiguousZone)
    })
}

fn subject_of(holder: &Holder) -> Option<Subject> {
    record_set_of(holder).map(Subject::RecordSet).or_else(|| source_of(holder).map(Subject::Source))
}

/// The object that a holder names, where it is a RecordSet.
pub fn record_set_of(holder: &Holder) -> Option<Key> {
    let mut parts = holder.as_str().splitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("recordset"), Some(namespace), Some(name)) => Some((namespace.to_owned(), name.to_owned())),
        _ => None,
    }
}
