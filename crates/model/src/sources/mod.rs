//! Source objects in the model: followed as zones read them, published, and told what became of it.

pub mod kinds;
pub mod news;
mod publishing;
mod telling;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use zonekeeper_api::{Reason, SourceKind};
use zonekeeper_kernel::{
    name::Name,
    rdata::RecordType,
    resolve::Intent,
    zone::{SourcesKey, ZoneKey},
};
use zonekeeper_sources::{
    Complaint, Found, Look, Reading, World,
    object::{Body, Keep, Kind, Meta, Object, ObjectRef},
};

use crate::{
    Key,
    conditions::Verdict,
    core::{Model, NamespaceEntry},
    effects::Effect,
    small_map::{SmallMap, SmallSet},
    sources::news::{News, Standing},
};

/// All that is known of source objects.
#[derive(Default)]
pub struct Sources {
    pub world: World,
    /// How zones read them, and which do.
    readings: BTreeMap<SourcesKey, (Arc<Reading>, BTreeSet<ZoneKey>)>,
    /// Those that ask for something.
    pub entries: BTreeMap<ObjectRef, SourceEntry>,
    /// Those that can't be read: what they hold stays.
    pub unreadable: BTreeSet<ObjectRef>,
    /// Who looked at what.
    dependents: BTreeMap<Look, BTreeSet<ObjectRef>>,
    watches: BTreeMap<Kind, Watch>,
    /// Those that asked for something and are gone, by the hash that markers may name them with.
    pub departed: BTreeMap<String, ObjectRef>,
    /// Kinds that were not installed at some time, each with the objects that were seen to be deleted since.
    returned: BTreeMap<Kind, BTreeSet<ObjectRef>>,
    /// Those that must be published anew.
    stale: BTreeSet<ObjectRef>,
}

/// The watch of one kind.
struct Watch {
    standing: Standing,
    keep: Keep,
}

/// A source object that asks for something.
#[derive(Default)]
pub struct SourceEntry {
    /// What it wishes, and where that goes.
    pub wishes: SmallMap<Place, Arc<Intent>>,
    /// Places that it left for others: they are looked at again when it has arrived.
    left: BTreeSet<Place>,
    /// All names that it asks for, wherever they go.
    pub names: SmallSet<Name>,
    looks: SmallSet<Look>,
    /// What became of its wishes.
    pub states: SmallMap<Place, Verdict>,
    /// Why a part of it goes nowhere, or has no values.
    pub refused: Option<Verdict>,
    complaints: Vec<Complaint>,
    /// What people should know of what is published, and whether it was told.
    notes: (Vec<Complaint>, bool),
    /// What was said of it last, and of which generation.
    told: Option<(Verdict, i64)>,
    /// Whether something was written for it since this process began.
    has_written: bool,
    /// Whether an Event has told what was written for it.
    pub has_told_change: bool,
}

/// A set in a zone.
pub type Place = (ZoneKey, Name, RecordType);

// === impl Sources ===

impl Sources {
    /// How a kind is followed.
    pub fn standing(&self, kind: Kind) -> &Standing {
        self.watches.get(&kind).map_or(&Standing::Starting, |watch| &watch.standing)
    }

    /// The kinds that are followed now, as the server serves them.
    pub fn followed(&self) -> impl Iterator<Item = (Kind, &kube::core::ApiResource)> {
        self.watches.iter().filter_map(|(kind, watch)| match &watch.standing {
            Standing::Following(resource) => Some((*kind, resource)),
            Standing::Starting | Standing::Missing | Standing::Forbidden | Standing::Failing => None,
        })
    }

    /// Whether kinds that some zone reads are followed, and none of these kinds was not installed at some time.
    pub fn were_always_there(&self, kinds: &BTreeSet<Kind>) -> bool {
        let is_read = |kind: &Kind| {
            self.readings.values().any(|(reading, _)| Self::kinds_of(reading).any(|own| own == *kind))
        };
        let is_followed = |kind: &Kind| matches!(self.standing(*kind), Standing::Following(_));
        kinds.iter().all(|kind| !self.returned.contains_key(kind) && (!is_read(kind) || is_followed(kind)))
    }

    /// Whether another zone holds what an object wishes of it.
    pub fn has_arrived(&self, object: &ObjectRef, but: &ZoneKey, name: &Name, rtype: RecordType) -> bool {
        let states = self.entries.get(object).into_iter().flat_map(|entry| entry.states.iter());
        let mut elsewhere = states.filter(|((zone, at, of), _)| zone != but && at == name && *of == rtype);
        elsewhere.any(|(_, verdict)| verdict.is_in_place())
    }

    /// Whether an object that is not there may have gone with its kind: it was not deleted then.
    pub fn may_have_gone_with_kind(&self, object: &ObjectRef) -> bool {
        self.returned.get(&object.kind).is_some_and(|deleted| !deleted.contains(object))
    }

    /// Whether something was seen that is not published yet.
    pub fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// All source objects that were seen.
    pub fn seen(&self) -> impl Iterator<Item = &Arc<Object>> {
        SourceKind::all().iter().flat_map(|kind| self.world.seen(Kind::Source(*kind)))
    }

    fn kinds_of(reading: &Reading) -> impl Iterator<Item = Kind> {
        reading.kinds().iter().map(|kind| Kind::Source(*kind))
    }

    /// Whether a reading must wait: what it reads, or what that looks at, was not listed yet.
    pub fn is_starting(&self, reading: &Reading) -> bool {
        if Self::kinds_of(reading).any(|kind| *self.standing(kind) == Standing::Starting) {
            return true;
        }
        let is_read = |object: &ObjectRef| Self::kinds_of(reading).any(|kind| kind == object.kind);
        let is_any = self.watches.values().any(|watch| watch.standing == Standing::Starting);
        is_any
            && self
                .dependents
                .iter()
                .any(|(look, looking)| self.is_listing(look) && looking.iter().any(is_read))
    }

    /// Whether the answer to a look is not known yet, and will be at once: nothing is told of it until then (law 12).
    fn is_listing(&self, look: &Look) -> bool {
        let watch = look.kind().and_then(|kind| self.watches.get(&kind));
        watch.is_some_and(|watch| watch.standing == Standing::Starting)
    }

    /// Why a part of a reading does not work.
    pub fn trouble(&self, reading: &Reading) -> Option<Verdict> {
        let forbidden: Vec<String> = Self::kinds_of(reading)
            .filter(|kind| *self.standing(*kind) == Standing::Forbidden)
            .map(|kind| {
                let row = kinds::row(kind);
                let group = if row.group.is_empty() { "" } else { "." };
                format!("{}{group}{}", row.plural, row.group)
            })
            .collect();
        (!forbidden.is_empty()).then(|| {
            let message = format!(
                "spec.sources.kinds: {} may not be read; allow get, list and watch to the operator's ServiceAccount, or remove the kind; what is published from it stays",
                forbidden.join(", ")
            );
            Verdict::new(Reason::SourceForbidden, message)
        })
    }

    fn mark_dependents(&mut self, looks: &[Look]) {
        for look in looks {
            self.stale.extend(self.dependents.get(look).into_iter().flatten().cloned());
        }
    }
}

// === impl Model ===

impl Model {
    /// A zone reads source objects in this way from now on, or does not.
    pub fn read_sources(&mut self, key: &ZoneKey, reading: Option<Reading>) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        if entry.reading.as_deref() == reading.as_ref() {
            return;
        }
        if let Some(before) = entry.reading.take() {
            self.leave_reading(key, &before);
        }
        let Some(reading) = reading else { return };
        let shared = self.sources.readings.entry(reading.key().clone());
        let (shared, zones) = shared.or_insert_with(|| (Arc::new(reading), BTreeSet::new()));
        let is_new = zones.is_empty();
        zones.insert(key.clone());
        let shared = shared.clone();
        if let Some(entry) = self.zones.get_mut(key) {
            entry.reading = Some(shared.clone());
        }
        if is_new {
            for kind in Sources::kinds_of(&shared) {
                self.follow_kind(kind);
                self.stale_of_kind(kind);
            }
        }
        self.tell_reading(key);
    }

    /// A zone does not read in this way any more.
    pub fn leave_reading(&mut self, key: &ZoneKey, reading: &Reading) {
        let Some((_, zones)) = self.sources.readings.get_mut(reading.key()) else { return };
        zones.remove(key);
        if zones.is_empty() {
            self.sources.readings.remove(reading.key());
            Sources::kinds_of(reading).for_each(|kind| self.stale_of_kind(kind));
        }
    }

    fn stale_of_kind(&mut self, kind: Kind) {
        let seen = self.sources.world.seen(kind).map(|object| object.reference());
        self.sources.stale.extend(seen);
    }

    /// Follows a kind, as closely as its readers need it.
    fn follow_kind(&mut self, kind: Kind) {
        if kind == Kind::Namespace {
            return;
        }
        let needs_whole = self.sources.readings.values().any(|(reading, _)| {
            reading.keep() == Keep::Whole && Sources::kinds_of(reading).any(|other| other == kind)
        });
        let keep = if needs_whole { Keep::Whole } else { Keep::Narrow };
        let known = self.sources.watches.get(&kind);
        if known.is_some_and(|watch| watch.keep == keep || watch.keep == Keep::Whole) {
            return;
        }
        self.effects.push(Effect::WatchKind(kind, keep));
        self.sources.watches.insert(kind, Watch { standing: Standing::Starting, keep });
    }

    /// A watch of a source kind saw something.
    pub fn hear(&mut self, news: News) {
        match news {
            News::Applied(object) => self.see_source(*object),
            News::Unreadable(reference, named, error) => {
                tracing::warn!(object = %reference, error, "a source object can't be read");
                if self.sources.unreadable.insert(reference) {
                    let verdict = Verdict::new(Reason::InvalidValue, format!("can't be read: {error}"));
                    self.effects.tell(*named, &verdict);
                }
            }
            News::Gone(reference) => self.lose_source(&reference, true),
            News::Listed(kind, listed) => {
                let seen = self.sources.world.seen(kind).map(|object| object.reference());
                let is_listed =
                    |object: &ObjectRef| listed.contains(&(object.namespace.clone(), object.name.clone()));
                let gone: Vec<ObjectRef> = seen.filter(|object| !is_listed(object)).collect();
                gone.iter().for_each(|object| self.lose_source(object, false));
                self.sources.unreadable.retain(|object| object.kind != kind || is_listed(object));
                self.sources.world.synced(kind);
            }
            News::Standing(kind, standing) => self.kind_stands(kind, standing),
        }
    }

    fn kind_stands(&mut self, kind: Kind, standing: Standing) {
        let is_followed = matches!(standing, Standing::Following(_));
        if standing == Standing::Missing {
            self.sources.returned.insert(kind, BTreeSet::new());
        }
        let Some(watch) = self.sources.watches.get_mut(&kind) else { return };
        let before = std::mem::replace(&mut watch.standing, standing);
        if before == watch.standing {
            return;
        }
        let was_starting = before == Standing::Starting;
        if is_followed || was_starting {
            // Objects that looked before there was an answer look again.
            let looking: Vec<Look> =
                self.sources.dependents.keys().filter(|look| look.kind() == Some(kind)).cloned().collect();
            self.sources.mark_dependents(&looking);
        }
        if !is_followed {
            // What was seen stays as it is; absence says nothing from now on.
            self.sources.world.unsynced(kind);
        }
        if was_starting {
            // Zones waited for it whose objects look at it.
            self.wake.extend(self.sources.readings.values().flat_map(|(_, zones)| zones.iter().cloned()));
        }
        let readers = self.sources.readings.values();
        let concerned = readers.filter(|(reading, _)| Sources::kinds_of(reading).any(|other| other == kind));
        let zones: BTreeSet<ZoneKey> = concerned.flat_map(|(_, zones)| zones.iter().cloned()).collect();
        for zone in zones {
            self.tell_reading(&zone);
            self.release_zone(&zone);
            // What was deleted unseen is found by a look at all names.
            self.look_at_all(&zone);
        }
    }

    /// Says of a zone whether all that it reads can be read.
    fn tell_reading(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        let trouble = entry.reading.as_ref().and_then(|reading| self.sources.trouble(reading));
        if std::mem::replace(&mut entry.source_trouble, trouble) != entry.source_trouble {
            self.report_zone(key);
        }
    }

    fn see_source(&mut self, object: Object) {
        let reference = object.reference();
        let mut concerns = object.concerns();
        if let Found::Here(before) = self.sources.world.get(&reference) {
            if *before == object {
                return;
            }
            concerns.extend(before.concerns());
        }
        self.sources.unreadable.remove(&reference);
        if !self.sources.departed.is_empty() {
            self.sources.departed.remove(&reference.holder().hash());
        }
        self.sources.world.insert(Arc::new(object));
        self.sources.mark_dependents(&concerns);
        self.sources.stale.insert(reference);
    }

    /// A source object is not there any more: what it may have left is found, and confirmed, by its zones.
    fn lose_source(&mut self, reference: &ObjectRef, was_seen: bool) {
        if let Found::Here(object) = self.sources.world.get(reference) {
            let concerns = object.concerns();
            self.children.forget(&object.meta.uid);
            self.sources.mark_dependents(&concerns);
        }
        self.sources.unreadable.remove(reference);
        if self.sources.entries.get(reference).is_some_and(|entry| !entry.wishes.is_empty()) {
            self.sources.departed.insert(reference.holder().hash().to_owned(), reference.clone());
        }
        if was_seen {
            self.sources.world.remove(reference);
            if let Some(deleted) = self.sources.returned.get_mut(&reference.kind) {
                deleted.insert(reference.clone());
            }
        } else {
            self.sources.world.lose(reference);
        }
        self.sources.stale.insert(reference.clone());
    }

    /// A Namespace as sources see it.
    pub fn see_source_namespace(&mut self, name: &str, entry: Option<&NamespaceEntry>) {
        let reference = ObjectRef::new(Kind::Namespace, "", name);
        match entry {
            Some(entry) => {
                let meta = Meta {
                    name: name.to_owned(),
                    labels: (*entry.labels).clone(),
                    deletion_timestamp: entry.is_terminating.then(|| "set".to_owned()),
                    ..Meta::default()
                };
                self.see_source(Object { kind: Kind::Namespace, meta, body: Body::Namespace, whole: None });
            }
            None => self.lose_source(&reference, true),
        }
        let of_namespace = self.sources.entries.keys().filter(|object| object.namespace == name);
        let of_namespace: Vec<ObjectRef> = of_namespace.cloned().collect();
        self.sources.stale.extend(of_namespace);
    }

    /// An AddressSource says something else.
    pub fn address_changed(&mut self, key: &Key) {
        self.sources.mark_dependents(&[Look::AddressSource(key.0.clone(), key.1.clone())]);
    }

    /// A zone can take objects, or not any more: those that ask for a name there are placed anew.
    pub fn place_sources(&mut self, domain: &Name) {
        let concerned = self.sources.entries.iter().filter(|(_, entry)| {
            entry.names.keys().any(|name| name.is_within(domain))
                || entry.wishes.values().any(|intent| intent.zone_refs.is_some())
        });
        let concerned: Vec<ObjectRef> = concerned.map(|(reference, _)| reference.clone()).collect();
        self.sources.stale.extend(concerned);
    }

    /// A DNSZone is gone, and with it all that was wished there.
    pub fn forget_zone_of_sources(&mut self, key: &ZoneKey) {
        for (reference, entry) in &mut self.sources.entries {
            let had = entry.wishes.len();
            entry.wishes.retain(|(zone, _, _)| zone != key);
            entry.states.retain(|(zone, _, _)| zone != key);
            if entry.wishes.len() < had {
                self.sources.stale.insert(reference.clone());
            }
        }
    }
}
