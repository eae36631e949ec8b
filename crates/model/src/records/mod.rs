//! RecordSets in the model: what each wishes, where that goes, and what became of it.

mod telling;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt;
use zonekeeper_api::{
    API_VERSION, ConditionType, DeletionPolicy, Reason, RecordSet, RecordSetSpec, RecordSetStatus,
    WrittenRecord,
    wellknown::{RECONCILE_REQUESTED_AT, RECORD_FINALIZER},
};
use zonekeeper_kernel::{
    name::Name,
    rdata::RecordType,
    record::Ttl,
    resolve::{Intent, choose},
    zone::{Labels, ZoneKey},
};
use zonekeeper_sources::{Asked, Surroundings, record_set};

use crate::{
    Key,
    children::ChildRef,
    conditions::Verdict,
    core::{Alarm, Model},
    outbox::{StatusOutbox, Write, is_newer},
    pass::Drifted,
    reasons,
    small_map::{SmallMap, SmallSet},
    zone_entry::Requester,
};

/// How long a new RecordSet waits for its zone before it says that there is none.
const AHEAD: Duration = Duration::from_millis(500);

/// A RecordSet and what is known of it.
pub struct RecordEntry {
    pub object: Arc<RecordSet>,
    /// What it asks for; none where that can't be read, or it is going.
    pub intent: Option<Arc<Intent>>,
    /// Why it, or a part of it, is refused before any zone could say something.
    pub refused: Option<Verdict>,
    /// Where its wish goes.
    pub placed: SmallMap<ZoneKey, Name>,
    /// What of it that was for.
    placed_for: Edition,
    /// Zones that it left by an edit of its own.
    pub left: SmallSet<ZoneKey>,
    /// Where it may hold something: what it wishes, and what it wished before.
    pub places: SmallSet<(ZoneKey, Name)>,
    /// What became of it, by zone.
    pub states: SmallMap<ZoneKey, PlaceState>,
    /// Why it holds something still that it wishes no more.
    pub lingering: SmallMap<(ZoneKey, Name), Verdict>,
    /// The last write for it.
    pub synced: Option<Time>,
    /// Whether another release takes care of it.
    pub is_others: bool,
    /// Zones of other releases that take it.
    pub elsewhere: SmallSet<ZoneKey>,
    /// In which generation it was told that its comment was cut.
    cut_told: Option<i64>,
    /// In which generation it was told that an address has no reverse zone here.
    pub reverse_told: Option<i64>,
    /// Since when it could go only if its record stayed.
    pub stuck_since: Option<Instant>,
    /// Why it can't be read, where that is so.
    pub unreadable: Option<Verdict>,
    pub outbox: StatusOutbox,
}

/// What became of a wish in one zone.
#[derive(Debug, Clone)]
pub struct PlaceState {
    pub verdict: Verdict,
    pub records: Vec<WrittenRecord>,
    pub drift: Option<Drifted>,
    /// The TTL that it gets there, where that is known.
    pub ttl: Option<Ttl>,
}

/// What an object asks for, and who takes it.
#[derive(Default)]
pub struct Placement {
    /// Zones of this release that take it, and under which name.
    pub placed: SmallMap<ZoneKey, Name>,
    /// Zones of other releases that do.
    pub elsewhere: SmallSet<ZoneKey>,
    intent: Option<Arc<Intent>>,
    refused: Option<Verdict>,
}

/// What of an object decides where its wish goes: another edition is an edit of its own.
#[derive(Debug, Default, PartialEq, Eq)]
struct Edition {
    generation: Option<i64>,
    labels: u64,
}

// === impl RecordEntry ===

impl RecordEntry {
    fn new(object: Arc<RecordSet>, outbox: StatusOutbox) -> Self {
        let synced = object.status.as_ref().and_then(|status| status.last_sync_time.clone());
        Self {
            object,
            intent: None,
            refused: None,
            placed: SmallMap::default(),
            placed_for: Edition::default(),
            left: SmallSet::default(),
            places: SmallSet::default(),
            states: SmallMap::default(),
            lingering: SmallMap::default(),
            synced,
            is_others: false,
            elsewhere: SmallSet::default(),
            cut_told: None,
            reverse_told: None,
            stuck_since: None,
            unreadable: None,
            outbox,
        }
    }

    /// Whether it is being deleted.
    pub fn is_leaving(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Whether it is being deleted, and leaves its record behind.
    pub fn is_retaining(&self) -> bool {
        self.is_leaving() && self.object.spec.deletion_policy == DeletionPolicy::Retain
    }

    /// Whether we have to look after it before it may go.
    pub fn has_finalizer(&self) -> bool {
        self.object.finalizers().iter().any(|finalizer| finalizer == RECORD_FINALIZER)
    }

    /// Whether all its zones hold what it wishes now.
    pub fn has_arrived(&self) -> bool {
        !self.placed.is_empty()
            && self
                .placed
                .keys()
                .all(|zone| self.states.get(zone).is_some_and(|state| state.verdict.is_in_place()))
    }

    /// Whether its status says that its present generation was programmed.
    pub fn was_programmed(&self) -> bool {
        let Some(status) = &self.object.status else { return false };
        status.observed_generation == self.object.metadata.generation
            && self.outbox.since.is_true(ConditionType::Programmed)
    }

    /// Whether its status says that its present generation was applied, and changed from outside since.
    pub fn has_drifted(&self) -> bool {
        let Some(status) = &self.object.status else { return false };
        status.observed_generation == self.object.metadata.generation
            && self.outbox.since.is_true(ConditionType::DriftDetected)
    }
}

/// A RecordSet as an object that may be made for another.
fn child(key: &Key) -> ChildRef {
    ChildRef {
        api_version: API_VERSION.into(),
        kind: "RecordSet".into(),
        namespace: key.0.clone(),
        name: key.1.clone(),
    }
}

// === impl Edition ===

impl Edition {
    fn of(object: &RecordSet) -> Self {
        let mut labels = DefaultHasher::new();
        object.labels().hash(&mut labels);
        Self { generation: object.metadata.generation, labels: labels.finish() }
    }
}

// === impl Model ===

impl Model {
    /// A RecordSet was seen, or came back from our own write.
    pub fn see_record(&mut self, mut object: RecordSet) {
        let key = (object.namespace().unwrap_or_default(), object.name_any());
        if object.metadata.deletion_timestamp.is_none() {
            // Their definition is there, or there again; a deleted object finds out anew.
            self.record_sets_are_going = false;
        }
        self.children.see(&child(&key), &object.metadata, &mut self.effects);
        let status = object.status.take();
        let conditions = status.as_ref().map_or(&[][..], |status| &status.conditions);
        let mut outbox = StatusOutbox::new(status.as_ref(), conditions);
        // There are many RecordSets, and their conditions take most of the room.
        object.status = status.map(|status| RecordSetStatus { conditions: Vec::new(), ..status });
        let object = Arc::new(object);
        let is_same_wish = match self.records.get_mut(&key) {
            // A late answer to a write may be about an object that is gone, and came again since.
            Some(entry) if !is_newer(&*object, &*entry.object) => return,
            Some(entry) if entry.object.uid() != object.uid() => {
                self.forget_record(&key);
                false
            }
            Some(entry) => {
                let is_same = has_same_wish(&entry.object, &object) && entry.unreadable.is_none();
                // Another release may have written it down.
                let told = object.status.as_ref().and_then(|status| status.last_sync_time.clone());
                entry.synced = entry.synced.take().max(told);
                entry.object = object.clone();
                entry.unreadable = None;
                entry.outbox.take_over(&mut outbox);
                is_same
            }
            None => false,
        };
        self.records.entry(key.clone()).or_insert_with(|| RecordEntry::new(object, outbox));
        self.scan_if_requested(&key);
        if is_same_wish {
            // Our status may have been written by another client.
            self.report_record(&key);
            self.leave_to_others(&key);
        } else {
            self.consider_record(&key);
        }
        self.tell_owner(&key);
    }

    /// What another release has taken over goes from here.
    fn leave_to_others(&mut self, key: &Key) {
        let Some(entry) = self.records.get(key).filter(|entry| entry.is_others && !entry.places.is_empty())
        else {
            return;
        };
        let places: Vec<_> = entry.places.keys().cloned().collect();
        if self.has_arrived_elsewhere(key) {
            places.iter().for_each(|(zone, name)| self.note_departing(zone, name, key));
        }
    }

    /// Reads the zones of an object again where a person, or Flux, asks for that.
    fn scan_if_requested(&mut self, key: &Key) {
        let Some(entry) = self.records.get(key) else { return };
        let requested = entry.object.annotations().get(RECONCILE_REQUESTED_AT);
        let handled =
            entry.object.status.as_ref().and_then(|status| status.last_handled_reconcile_at.as_ref());
        if requested.is_some() && requested != handled {
            let zones: Vec<ZoneKey> = entry.placed.keys().cloned().collect();
            zones.iter().for_each(|zone| self.scan_zone(zone));
        }
    }

    /// A RecordSet that can't be read: what it holds stays, and it says so itself.
    pub fn see_unreadable_record(&mut self, metadata: ObjectMeta, verdict: Verdict) {
        let key = (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
        let known = self.records.get(&key).filter(|entry| entry.object.uid() == metadata.uid);
        // What it was before, where that is known, still says what it holds.
        let mut object = known.map_or_else(
            || RecordSet::new(&key.1, RecordSetSpec::default()),
            |entry| RecordSet::clone(&entry.object),
        );
        object.metadata = metadata;
        let object = Arc::new(object);
        let entry = self
            .records
            .entry(key.clone())
            .or_insert_with(|| RecordEntry::new(object.clone(), StatusOutbox::default()));
        entry.object = object;
        entry.unreadable = Some(verdict);
        self.consider_record(&key);
    }

    /// A RecordSet is gone; what it may have left is found, and confirmed, by its zones.
    pub fn lose_record(&mut self, key: &Key) {
        self.forget_record(key);
        self.children.lose(&child(key), &mut self.effects);
    }

    fn forget_record(&mut self, key: &Key) {
        let Some(entry) = self.records.remove(key) else { return };
        self.forget_target(key);
        self.children.forget(&entry.object.uid().unwrap_or_default());
        for (zone, name) in entry.places.keys() {
            self.remove_intent(zone, name, &Requester::RecordSet(key.clone()));
            // No pass comes to a zone in trouble: only this lets it go.
            if self.zones.get(zone).is_some_and(|zone| zone.trouble.is_some()) {
                self.release_zone(zone);
            }
        }
        self.unmet_of(key);
    }

    /// Finds out anew what a RecordSet wishes, and where that goes.
    pub fn consider_record(&mut self, key: &Key) {
        if !self.has_begun {
            return;
        }
        let Some(entry) = self.records.get(key) else { return };
        let object = entry.object.clone();
        if entry.is_leaving() {
            self.unmet_of(key);
            self.place_record(key, SmallMap::default(), None);
            self.look_where_it_was(key);
            self.leave_release_to_others(key);
            self.release_record(key);
            return;
        }
        let Placement { placed, elsewhere, intent, refused } = match &entry.unreadable {
            Some(why) => Placement { refused: Some(why.clone()), ..Placement::default() },
            None => self.placement_of(&object),
        };
        let is_resolved = object.spec.resolve_targets && !placed.is_empty();
        let needs_finalizer = !placed.is_empty() && !entry.has_finalizer();
        if is_resolved {
            return self.consider_target(key);
        }
        // That no zone takes it takes nothing away (law 5): a selector or a zone may have changed, not the object.
        if !object.spec.resolve_targets {
            self.forget_target(key);
        }
        if let Some(entry) = self.records.get_mut(key) {
            entry.refused = refused;
            entry.is_others = placed.is_empty() && !elsewhere.is_empty();
            entry.elsewhere = elsewhere;
            // What was said of the old wish does not hold for the new one.
            entry.states.clear();
        }
        if needs_finalizer {
            // Only what will be cleaned up is written; the object comes back with its finalizer, and until then
            // what stands at its name is not taken away.
            if let Some(rtype) = intent.map(|intent| intent.rtype) {
                for (zone, name) in placed.iter() {
                    if let Some(zone) = self.zones.get_mut(zone) {
                        zone.unmet.insert(key.clone(), (name.clone(), rtype));
                    }
                }
            }
            self.add_record_finalizer(key);
            return;
        }
        let nothing_to_do = placed.is_empty();
        self.place_record(key, placed, intent);
        self.note_unmet(key);
        if nothing_to_do {
            match self.may_be_ahead_of_its_zone(key) {
                true => self.agenda.by(self.now.at + AHEAD, Alarm::Record(key.clone())),
                false => self.report_record(key),
            }
        }
    }

    /// Whether a RecordSet is so new that the watch of DNSZones may not have brought its zone yet: applied together, they
    /// are seen in any order.
    fn may_be_ahead_of_its_zone(&self, key: &Key) -> bool {
        let Some(entry) = self.records.get(key) else { return false };
        let lacks_zone = entry.refused.as_ref().is_some_and(|why| why.reason == Reason::NoMatchingZone);
        let age =
            entry.object.creation_timestamp().map(|made| self.now.time().0.duration_since(made.0).as_secs());
        lacks_zone && entry.outbox.told.is_none() && age.is_some_and(|age| (0..=1).contains(&age))
    }

    fn add_record_finalizer(&mut self, key: &Key) {
        let Some(entry) = self.records.get_mut(key) else { return };
        if entry.outbox.begin() {
            self.effects.write(Write::add_finalizer(&*entry.object, RECORD_FINALIZER));
        }
    }

    /// What an object asks for, and which zones take it.
    pub fn placement_of(&self, object: &RecordSet) -> Placement {
        let namespace = object.namespace().unwrap_or_default();
        let none = Arc::new(Labels::new());
        let labels = self.namespaces.get(&namespace).map_or(&none, |namespace| &namespace.labels);
        let addresses = self.addresses_for(object);
        let surroundings = Surroundings { namespace_labels: labels, addresses: &addresses };
        let Asked { intent, unknown } = match record_set(object, age(object), &surroundings) {
            Ok(asked) => asked,
            Err(bad) => {
                let refused = Verdict::new(Reason::InvalidValue, bad.to_string());
                return Placement { refused: Some(refused), ..Placement::default() };
            }
        };
        let (candidates, rejections) = choose(&intent, &self.index);
        let is_ours = |zone: &ZoneKey| self.zones.get(zone).is_some_and(|entry| entry.is_ours);
        let (mut placed, mut elsewhere) = (SmallMap::default(), SmallSet::default());
        for candidate in candidates {
            let zone = candidate.zone.key.clone();
            match is_ours(&zone) {
                true => placed.insert(zone, candidate.name),
                false => elsewhere.insert(zone, ()),
            }
        }
        let unknown = unknown.map(|(word, message)| Verdict::new(reasons::of_word(word), message));
        let refused = rejections
            .first()
            .map(|rejection| Verdict::new(reasons::of_word(rejection.reason), rejection.message.clone()));
        let refused = refused.map(|verdict| self.explain_missing_zone(object, verdict));
        Placement { placed, elsewhere, intent: Some(Arc::new(intent)), refused: unknown.or(refused) }
    }

    /// Where a DNSZone is there and not ready, its own trouble is the better answer.
    fn explain_missing_zone(&self, object: &RecordSet, verdict: Verdict) -> Verdict {
        if verdict.reason != Reason::NoMatchingZone && verdict.reason != Reason::RefNotFound {
            return verdict;
        }
        let name = object.spec.name.as_deref().and_then(|name| Name::parse(name).ok());
        let is_meant = |key: &ZoneKey, entry: &crate::zone_entry::ZoneEntry| {
            let is_named = object.spec.zone_refs.iter().any(|reference| {
                reference.name == key.name
                    && reference.namespace.clone().or(object.namespace()).as_ref() == Some(&key.namespace)
            });
            let lies_within = object.spec.zone_refs.is_empty()
                && matches!((&name, &entry.zone), (Some(name), Some(zone)) if name.is_within(&zone.domain));
            is_named || lies_within
        };
        let meant = self.zones.iter().find(|(key, entry)| entry.trouble.is_some() && is_meant(key, entry));
        match meant.and_then(|(key, entry)| Some((key, entry.trouble.as_ref()?))) {
            Some((key, trouble)) => {
                Verdict::new(trouble.reason, format!("DNSZone {key} is not ready: {}", trouble.message))
            }
            None => verdict,
        }
    }

    /// Moves an object's wish from where it was to where it goes now, and wakes the zones that this touches.
    pub fn place_record(&mut self, key: &Key, placed: SmallMap<ZoneKey, Name>, intent: Option<Arc<Intent>>) {
        let Some(entry) = self.records.get_mut(key) else { return };
        let before = std::mem::replace(&mut entry.placed, placed.clone());
        let edition = Edition::of(&entry.object);
        let is_edited = std::mem::replace(&mut entry.placed_for, edition) != entry.placed_for;
        entry.intent.clone_from(&intent);
        for (zone, name) in placed.iter() {
            entry.places.insert((zone.clone(), name.clone()), ());
            entry.lingering.remove(&(zone.clone(), name.clone()));
            entry.left.remove(zone);
        }
        for (zone, _) in before.iter().filter(|(zone, _)| is_edited && !placed.contains_key(zone)) {
            entry.left.insert(zone.clone(), ());
        }
        for (zone, name) in before.iter() {
            if placed.get(zone) != Some(name) {
                self.remove_intent(zone, name, &Requester::RecordSet(key.clone()));
                self.note_departing(zone, name, key);
            }
        }
        let Some(intent) = intent else { return };
        for (zone, name) in placed {
            self.add_intent(&zone, name, &Requester::RecordSet(key.clone()), intent.clone());
        }
    }

    /// An object that is going: its status says where it was, whatever this process has seen.
    fn look_where_it_was(&mut self, key: &Key) {
        let Some(entry) = self.records.get(key) else { return };
        let object = entry.object.clone();
        let zones = object.status.iter().flat_map(|status| &status.zones);
        let mut places: Vec<(ZoneKey, Name)> = entry.places.keys().cloned().collect();
        if entry.is_retaining() && entry.unreadable.is_none() {
            // A status may not say yet what was written: without the object its record would be one of an object that is
            // gone, and be deleted.
            let Placement { placed, .. } = self.placement_of(&object);
            places.extend(placed.iter().map(|(zone, name)| (zone.clone(), name.clone())));
        }
        for zone in zones {
            let zone = ZoneKey { namespace: zone.namespace.clone(), name: zone.name.clone() };
            let Some(domain) =
                self.zones.get(&zone).and_then(|entry| entry.zone.as_ref()).map(|zone| &zone.domain)
            else {
                continue;
            };
            places.extend(wanted_name(&object.spec, domain).map(|name| (zone, name)));
        }
        for (zone, name) in places {
            if let Some(entry) = self.records.get_mut(key) {
                entry.places.insert((zone.clone(), name.clone()), ());
            }
            self.note_departing(&zone, &name, key);
        }
    }

    /// Sets whose values belong in part to objects that can't be served keep those values.
    fn note_unmet(&mut self, key: &Key) {
        self.unmet_of(key);
        let Some(entry) = self.records.get(key) else { return };
        let is_unmet = entry.refused.is_some() || entry.intent.is_none();
        let Some(status) = entry.object.status.as_ref().filter(|_| is_unmet && !entry.is_leaving()) else {
            return;
        };
        let spec = &entry.object.spec;
        let Ok(rtype) = spec.rtype.parse::<RecordType>() else { return };
        for zone in status.zones.iter().filter(|zone| !zone.records.is_empty()) {
            let zone = ZoneKey { namespace: zone.namespace.clone(), name: zone.name.clone() };
            let Some(zone) = self.zones.get_mut(&zone) else { continue };
            let domain = zone.zone.as_ref().map(|zone| &zone.domain);
            if let Some(name) = domain.and_then(|domain| wanted_name(spec, domain)) {
                zone.unmet.insert(key.clone(), (name, rtype));
            }
        }
    }

    fn unmet_of(&mut self, key: &Key) {
        self.zones.values_mut().for_each(|zone| drop(zone.unmet.remove(key)));
    }
}

/// Whether two versions of an object ask for the same, so that only what we wrote ourselves differs.
fn has_same_wish(before: &RecordSet, after: &RecordSet) -> bool {
    let requested = |object: &RecordSet| object.annotations().get(RECONCILE_REQUESTED_AT).cloned();
    before.metadata.generation == after.metadata.generation
        && before.spec == after.spec
        && before.labels() == after.labels()
        && before.metadata.deletion_timestamp == after.metadata.deletion_timestamp
        && before.finalizers() == after.finalizers()
        && requested(before) == requested(after)
        && before.annotations() == after.annotations()
}

/// The name that an object wishes in a zone of this domain.
pub fn wanted_name(spec: &RecordSetSpec, domain: &Name) -> Option<Name> {
    match (&spec.name, &spec.relative_name) {
        (Some(name), _) => Name::parse(name).ok(),
        (None, Some(name)) => Name::parse_under(name, domain).ok(),
        (None, None) => None,
    }
}

/// Sorts objects by their creation; the uid decides between two of the same second.
fn age(object: &RecordSet) -> String {
    let created = object.creation_timestamp().map(|time| time.0.to_string()).unwrap_or_default();
    format!("{created} {}", object.uid().unwrap_or_default())
}
