//! All that is known, and what is to be done about it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};
use std::time::Instant;
use zonekeeper_api::{AddressSource, DNSProvider, DNSZone, Reason};
use zonekeeper_kernel::{
    resolve::Zones,
    zone::{Labels, ZoneKey},
};

use crate::{
    Event, Key, Written,
    address_pacing::Paces,
    addresses::AddressEntry,
    agenda::Agenda,
    change_events::ChangeEvents,
    children::Children,
    clock::Now,
    conditions::Verdict,
    effects::{Effect, Effects},
    objects::{Kind, Object, Sight},
    outbox::{Writable, Write, reference_of},
    providers::ProviderEntry,
    records::RecordEntry,
    secrets::Secrets,
    sources::Sources,
    targets::Targets,
    zone_entry::ZoneEntry,
};

/// How long after a write that failed an object is looked at again.
const RETRY: Duration = Duration::from_secs(2);
const TIDY: Duration = Duration::from_secs(5);

/// What is to be looked at again at a certain time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alarm {
    /// A zone may start its next pass.
    Zone(ZoneKey),
    /// A zone is to be read.
    Scan(ZoneKey),
    /// A zone is to be counted.
    Count(ZoneKey),
    /// Deletes in a zone have settled.
    Settled(ZoneKey),
    /// A zone is to be tried again as a whole.
    Again(ZoneKey),
    /// A zone is to be looked for at its provider.
    Open(ZoneKey),
    /// A zone's status is to be written.
    Report(ZoneKey),
    /// The servers of its parent zone are to be asked.
    Parent(ZoneKey),
    /// The target of a RecordSet is to be resolved.
    Target(Key),
    /// Credentials are to be tried.
    Provider(String),
    /// A source is to be asked.
    Address(Key),
    /// A source's status is to be written.
    ReportSource(Key),
    /// An object is to be looked at.
    Record(Key),
    /// What is not needed is to be dropped.
    Tidy,
}

/// A namespace, as far as grants and deletions need to know.
#[derive(Debug, Default)]
pub struct NamespaceEntry {
    pub labels: Arc<Labels>,
    pub is_terminating: bool,
}

/// All that is known. It decides what is to be done, at a moment that it is given; the runner does it.
pub struct Model {
    /// The moment of this turn.
    pub now: Now,
    /// What this turn wants to be done.
    pub effects: Effects,
    pub namespace: String,
    pub controller_name: String,
    /// The id under which we mark what is ours, unless a provider names another.
    pub owner: String,
    pub providers: BTreeMap<String, ProviderEntry>,
    pub zones: BTreeMap<ZoneKey, ZoneEntry>,
    pub records: BTreeMap<Key, RecordEntry>,
    /// Objects that were let go while their records stayed in zones that have no DNSZone now.
    pub adrift: BTreeMap<ZoneKey, Vec<String>>,
    pub address_sources: BTreeMap<Key, AddressEntry>,
    /// How often their changed answers take effect.
    pub paces: Paces,
    pub namespaces: BTreeMap<String, NamespaceEntry>,
    pub secrets: Secrets,
    pub sources: Sources,
    /// Objects that are made for others.
    pub children: Children,
    pub targets: Targets,
    /// Objects that can't be read, and in which generation.
    unreadable: BTreeMap<(Kind, Key), Option<i64>>,
    /// The zones that wishes can go to.
    pub index: Zones,
    listed: BTreeSet<Kind>,
    /// Whether every zone that was listed is known: before that it is not known where a wish goes.
    pub has_begun: bool,
    /// Whether RecordSets go with their definition.
    pub record_sets_are_going: bool,
    /// Zones that something touched.
    pub wake: BTreeSet<ZoneKey>,
    pub agenda: Agenda<Alarm>,
    /// How many Events changes may still cost.
    pub change_events: ChangeEvents,
    /// Counts everything that is begun, so that what is overtaken can be told.
    pub attempts: u64,
    /// Whether many objects are being written that are about to ask for something.
    pub is_bursting: bool,
    /// Whether nothing is begun any more.
    pub is_ending: bool,
}

// === impl Model ===

impl Model {
    /// Knows nothing yet.
    pub fn new(namespace: String, controller_name: String, owner: String, now: Now) -> Self {
        let mut agenda = Agenda::default();
        agenda.by(now.at + TIDY, Alarm::Tidy);
        Self {
            now,
            effects: Effects::default(),
            namespace,
            children: Children::of_controller(&controller_name),
            controller_name,
            owner,
            providers: BTreeMap::new(),
            zones: BTreeMap::new(),
            records: BTreeMap::new(),
            adrift: BTreeMap::new(),
            address_sources: BTreeMap::new(),
            paces: Paces::default(),
            namespaces: BTreeMap::new(),
            secrets: Secrets::default(),
            sources: Sources::default(),
            targets: Targets::default(),
            unreadable: BTreeMap::new(),
            index: Zones::default(),
            listed: BTreeSet::new(),
            has_begun: false,
            record_sets_are_going: false,
            wake: BTreeSet::new(),
            agenda,
            change_events: ChangeEvents::default(),
            attempts: 0,
            is_bursting: false,
            is_ending: false,
        }
    }

    /// Takes something in.
    pub fn apply(&mut self, event: Event, now: Now) -> Vec<Effect> {
        self.now = now;
        self.take(event);
        self.effects.take()
    }

    /// Does what is due, and starts the passes that may start.
    pub fn proceed(&mut self, now: Now) -> Vec<Effect> {
        self.now = now;
        // However many messages come, what is due is not put off by them.
        for alarm in self.agenda.due(now.at) {
            self.ring(alarm);
        }
        self.dispatch();
        self.effects.take()
    }

    /// When something is due.
    pub fn next_alarm(&self) -> Option<Instant> {
        self.agenda.next()
    }

    /// Whether a pass is under way, or a status that belongs to one.
    pub fn is_busy(&self) -> bool {
        let is_away = |zone: &ZoneEntry| zone.worker.is_busy() || zone.outbox.is_busy();
        self.zones.values().any(is_away) || self.records.values().any(|entry| entry.outbox.is_busy())
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Seen(sight) => self.see(sight),
            Event::Secret(key, state) => self.see_secret(&key, state),
            Event::Checked(checked) => self.provider_checked(*checked),
            Event::Opened { zone, attempt, found } => self.zone_opened(&zone, attempt, found),
            Event::Done { zone, number, result, settling } => {
                self.pass_done(&zone, number, *result, settling)
            }
            Event::Lost { zone, number, error } => self.pass_lost(&zone, number, &error),
            Event::Confirmed(confirmation) => self.holders_confirmed(confirmation),
            Event::Source(news) => self.hear(news),
            Event::Addresses { source, attempt, found } => self.addresses_found(&source, attempt, found),
            Event::Written(written) => self.see_written(written),
            Event::NotWritten { kind, key, error, is_refused } => {
                if is_refused {
                    self.see_refused(kind, &key, &error);
                }
                self.see_unwritten(kind, &key, &error);
            }
            Event::ChildWritten(child, answer) => {
                self.children.written(&child, answer, &mut self.effects);
                self.tell_owner_of(&child);
            }
            Event::ParentAnswered { zone, attempt, found } => self.parent_answered(&zone, attempt, found),
            Event::TargetResolved { record, attempt, found } => self.target_resolved(&record, attempt, found),
            Event::KeyMade(key, made) => self.key_made(&key, made),
        }
    }

    fn ring(&mut self, alarm: Alarm) {
        match alarm {
            Alarm::Zone(zone) => drop(self.wake.insert(zone)),
            Alarm::Scan(zone) => self.scan_zone(&zone),
            Alarm::Count(zone) => self.count_zone(&zone),
            Alarm::Settled(zone) => self.judge_settled(&zone),
            Alarm::Again(zone) => self.look_at_all(&zone),
            Alarm::Open(zone) => self.open_zone(&zone),
            Alarm::Report(zone) => {
                self.report_zone(&zone);
                self.release_zone(&zone);
            }
            Alarm::Parent(zone) => self.ask_parent(&zone),
            Alarm::Target(record) => self.resolve_target(&record),
            Alarm::Provider(provider) => self.check_provider(&provider),
            Alarm::Address(source) => self.ask_addresses(&source),
            Alarm::ReportSource(source) => self.report_address_source(&source),
            Alarm::Record(record) => self.finish_record(&record),
            Alarm::Tidy => {
                self.tidy();
                self.agenda.by(self.now.at + TIDY, Alarm::Tidy);
            }
        }
    }

    fn see(&mut self, sight: Sight) {
        match sight {
            Sight::Applied(Object::Provider(object)) => self.see_provider(*object),
            Sight::Applied(Object::Zone(object)) => self.see_zone(*object),
            Sight::Applied(Object::RecordSet(object)) => self.see_record(*object),
            Sight::Applied(Object::AddressSource(object)) => self.see_address_source(*object),
            Sight::Applied(Object::Namespace(object)) => {
                let entry = NamespaceEntry {
                    labels: Arc::new(object.labels().clone()),
                    is_terminating: object.metadata.deletion_timestamp.is_some(),
                };
                self.see_namespace(object.name_any(), entry);
            }
            Sight::Unreadable(kind, metadata, error) => self.see_unreadable(kind, *metadata, &error),
            Sight::Gone(kind, key) => self.lose(kind, &key),
            Sight::Listed(kind, keys) => self.listed(kind, &keys),
        }
    }

    fn lose(&mut self, kind: Kind, key: &Key) {
        self.unreadable.remove(&(kind, key.clone()));
        match kind {
            Kind::Provider => self.lose_provider(&key.1),
            Kind::Zone => self.lose_zone(&ZoneKey { namespace: key.0.clone(), name: key.1.clone() }),
            Kind::RecordSet => self.lose_record(key),
            Kind::AddressSource => self.lose_address_source(key),
            Kind::Namespace => {
                self.namespaces.remove(&key.1);
                self.see_source_namespace(&key.1, None);
            }
        }
    }

    /// An object that can't be read: what is known of it goes on, and it says so itself.
    fn see_unreadable(&mut self, kind: Kind, metadata: ObjectMeta, error: &str) {
        let key = (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
        tracing::warn!(?kind, namespace = key.0, name = key.1, error, "an object can't be read");
        let verdict = Verdict::new(Reason::InvalidValue, format!("can't be read: {error}"));
        match kind {
            Kind::RecordSet => self.see_unreadable_record(metadata, verdict),
            Kind::Provider => self.tell_unreadable::<DNSProvider>(key, &metadata, &verdict),
            Kind::Zone => self.tell_unreadable::<DNSZone>(key, &metadata, &verdict),
            Kind::AddressSource => self.tell_unreadable::<AddressSource>(key, &metadata, &verdict),
            Kind::Namespace => {}
        }
    }

    fn tell_unreadable<K: Writable>(&mut self, key: Key, metadata: &ObjectMeta, verdict: &Verdict) {
        // Our own word on it comes back as another sight of it.
        let told = self.unreadable.insert((K::KIND, key), metadata.generation);
        if told != Some(metadata.generation) {
            self.effects.tell(reference_of::<K>(metadata), verdict);
            self.effects.write(Write::conditions::<K>(metadata, verdict, self.now));
        }
    }

    /// A list is complete: what it does not hold is gone.
    fn listed(&mut self, kind: Kind, keys: &BTreeSet<Key>) {
        let known: Vec<Key> = match kind {
            Kind::Provider => self.providers.keys().map(|name| (String::new(), name.clone())).collect(),
            Kind::Zone => self.zones.keys().map(|key| (key.namespace.clone(), key.name.clone())).collect(),
            Kind::RecordSet => self.records.keys().cloned().collect(),
            Kind::AddressSource => self.address_sources.keys().cloned().collect(),
            Kind::Namespace => self.namespaces.keys().map(|name| (String::new(), name.clone())).collect(),
        };
        for key in known.iter().filter(|key| !keys.contains(*key)) {
            self.lose(kind, key);
        }
        if kind == Kind::Namespace {
            self.sources.world.synced(zonekeeper_sources::object::Kind::Namespace);
        }
        let was_synced = self.is_synced();
        self.listed.insert(kind);
        if self.is_synced() && !was_synced {
            self.begin();
        }
    }

    /// Whether every kind was listed once: before that nothing is decided.
    pub fn is_synced(&self) -> bool {
        self.listed.len() == Kind::ALL.len()
    }

    fn begin(&mut self) {
        tracing::info!(
            providers = self.providers.len(),
            zones = self.zones.len(),
            record_sets = self.records.len(),
            "synced"
        );
        let providers: Vec<String> = self.providers.keys().cloned().collect();
        providers.iter().for_each(|name| self.check_provider(name));
        let zones: Vec<ZoneKey> = self.zones.keys().cloned().collect();
        zones.iter().for_each(|key| self.consider_zone(key));
        self.has_begun = true;
        let sources: Vec<Key> = self.address_sources.keys().cloned().collect();
        sources.iter().for_each(|key| self.ask_addresses(key));
        let records: Vec<Key> = self.records.keys().cloned().collect();
        records.iter().for_each(|key| self.consider_record(key));
    }

    fn see_namespace(&mut self, name: String, entry: NamespaceEntry) {
        self.see_source_namespace(&name, Some(&entry));
        let before = self.namespaces.insert(name.clone(), entry);
        let now = &self.namespaces[&name];
        let is_same = before
            .is_some_and(|before| before.labels == now.labels && before.is_terminating == now.is_terminating);
        if is_same || !self.is_synced() {
            return;
        }
        let zones: Vec<ZoneKey> = self.zones.keys().filter(|key| key.namespace == name).cloned().collect();
        zones.iter().for_each(|key| self.consider_zone(key));
        let records: Vec<Key> = self.records.keys().filter(|key| key.0 == name).cloned().collect();
        records.iter().for_each(|key| self.consider_record(key));
    }

    fn see_written(&mut self, written: Written) {
        match written {
            Written::Provider(object) => self.provider_written(&object.name_any(), Some(*object)),
            Written::Zone(object) => self.zone_written(&crate::declare::zone_key(&object), Some(*object)),
            Written::RecordSet(object) => {
                let key = (object.namespace().unwrap_or_default(), object.name_any());
                self.record_written(&key, Some(*object));
            }
            Written::AddressSource(object) => {
                let key = (object.namespace().unwrap_or_default(), object.name_any());
                self.address_source_written(&key, Some(*object));
            }
        }
    }

    fn see_unwritten(&mut self, kind: Kind, key: &Key, error: &str) {
        tracing::debug!(
            ?kind,
            namespace = key.0,
            name = key.1,
            error,
            "a write was not taken; it is tried again"
        );
        match kind {
            Kind::Provider => self.provider_written(&key.1, None),
            Kind::Zone => self.zone_written(&ZoneKey { namespace: key.0.clone(), name: key.1.clone() }, None),
            Kind::RecordSet => self.record_written(key, None),
            Kind::AddressSource => self.address_source_written(key, None),
            Kind::Namespace => {}
        }
    }

    /// The API server refused a status for what it says: that object waits, and says so in an Event.
    fn see_refused(&mut self, kind: Kind, key: &Key, error: &str) {
        let zone = || ZoneKey { namespace: key.0.clone(), name: key.1.clone() };
        let (outbox, object) = match kind {
            Kind::Provider => match self.providers.get_mut(&key.1) {
                Some(entry) => (&mut entry.outbox, entry.object.object_ref(&())),
                None => return,
            },
            Kind::Zone => match self.zones.get_mut(&zone()) {
                Some(entry) => (&mut entry.outbox, entry.object.object_ref(&())),
                None => return,
            },
            Kind::RecordSet => match self.records.get_mut(key) {
                Some(entry) => (&mut entry.outbox, entry.object.object_ref(&())),
                None => return,
            },
            Kind::AddressSource => match self.address_sources.get_mut(key) {
                Some(entry) => (&mut entry.outbox, entry.object.object_ref(&())),
                None => return,
            },
            Kind::Namespace => return,
        };
        if outbox.refuse(self.now.at) {
            tracing::warn!(?kind, namespace = key.0, name = key.1, error, "a status is refused");
            let message = format!(
                "the API server refuses the status of this object, which therefore does not say how it is; the records are kept up all the same: {error}"
            );
            self.effects.say(object, Reason::InternalError, &message, false);
        }
    }

    /// Looks at an object again after a while: a write of it failed.
    pub fn retry_record(&mut self, key: &Key) {
        let wait = self.records.get(key).map_or(RETRY, |entry| entry.outbox.wait(RETRY, self.now.at));
        self.agenda.by(self.now.at + wait, Alarm::Record(key.clone()));
    }

    fn tidy(&mut self) {
        let named = self.named_secrets();
        self.secrets.keep(&named, &mut self.effects);
        self.tell_untold();
        self.children.retry(&mut self.effects);
        let figures = Box::new(self.figures());
        self.effects.push(Effect::Measure(figures));
    }
}
