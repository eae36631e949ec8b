//! What a source object asks for, as one zone's sources read it.

use std::collections::BTreeSet;

use zonekeeper_api::Dialect;
use zonekeeper_kernel::{
    attribute::PROXIED,
    desired::Adoption,
    name::Name,
    rdata::RecordType,
    reason::Reason,
    resolve::{Intent, Origin, WantedName},
    zone::ZoneKey,
};

use crate::{
    Asked, Surroundings, Unknown,
    dialect::{self, Setting},
    kinds,
    object::{Body, Kind, Object},
    reader::Reader,
    reading::Reading,
    record_set::tags,
    settings::{boolean, list, zones},
    wish::{Set, sets},
    world::{Found, Look, World},
};

/// What became of reading an object.
#[derive(Debug, Clone)]
pub struct Published {
    /// Whether it was read at all.
    pub standing: Standing,
    /// What it asks for, one per name and type, sorted.
    pub asked: Vec<Asked>,
    /// What is wrong with it.
    pub complaints: Vec<Complaint>,
    /// What it depends on besides itself.
    pub looked_at: BTreeSet<Look>,
    /// Why it is not known which other names it asks for: whatever it holds stays.
    pub unclear: Option<Unknown>,
    /// What people should know where it is published; nothing is wrong.
    pub notes: Vec<Complaint>,
    /// Names that it carries in words which this reading does not understand.
    unread: BTreeSet<Name>,
    /// Names below which it names everything, though it asks for some of it only.
    covered: BTreeSet<Name>,
}

/// Whether an object was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was: what it does not ask for, it does not want.
    Read,
    /// It is being deleted, whether the zone reads it or not.
    Leaving,
    /// Its kind, labels or annotations are not those that the zone reads: it says nothing here.
    NotRead,
}

/// A bad value, for a Warning Event on the object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complaint {
    /// The fixed word.
    pub reason: Reason,
    /// The annotation or field.
    pub field: String,
    /// What is wrong, and what is accepted.
    pub message: String,
}

/// What an object says of one set that it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It asks for it.
    Wants,
    /// It can't be understood or served now: what it holds there stays.
    Awaited,
    /// It asks for something else, or for nothing: what it holds there may go (law 5).
    WantsOther,
    /// It is not read, or not in the words that it uses: only a person can say that something goes.
    Silent,
}

/// Reads an object as one zone's sources say.
///
/// Guarantees: the result depends on the arguments only, and not on the order of anything in them; a bad value
/// never removes anything; wherever values are not known, `unknown` says why.
pub fn publish(
    object: &Object,
    reading: &Reading,
    world: &World,
    surroundings: &Surroundings<'_>,
) -> Published {
    let mut reader = Reader::new(object, reading, world, surroundings);
    let standing = standing(&reader);
    let (asked, unread) = match standing {
        Standing::Read if is_silenced(&mut reader) => Default::default(),
        Standing::Read => (ask(&mut reader), unread(object, reading)),
        Standing::Leaving | Standing::NotRead => Default::default(),
    };
    let Reader { mut complaints, looked_at, unclear, covered, notes, .. } = reader;
    complaints.sort();
    Published { standing, asked, complaints, looked_at, unclear, notes, unread, covered }
}

// === impl Published ===

impl Published {
    /// What the object says of a set that it may hold.
    pub fn about(&self, name: &Name, rtype: RecordType) -> Word {
        if let Some(word) = self.standing.word() {
            return word;
        }
        let wished = |asked: &&Asked| matches!(&asked.intent.name, WantedName::Absolute(own) if own == name);
        let here: Vec<&Asked> = self.asked.iter().filter(wished).collect();
        if here.iter().any(|asked| asked.intent.rtype == rtype) {
            return Word::Wants;
        }
        let is_unclear = self.unclear.is_some() || here.iter().any(|asked| asked.intent.values.is_none());
        if is_unclear && !zonekeeper_kernel::mutant::is_on("publish: unclear is clear") {
            return Word::Awaited;
        }
        if self.covered.iter().any(|own| name != own && name.is_within(own)) {
            return Word::Awaited;
        }
        // A headless Service's Pods have names below its own.
        let is_unread = self.unread.iter().any(|own| name.is_within(own));
        if is_unread { Word::Silent } else { Word::WantsOther }
    }

    /// What the object says of all that it does not ask for, if one word must do for every name.
    ///
    /// Guarantees: `WantsOther` only if [`Published::about`] says so of every other set.
    pub fn about_the_rest(&self) -> Word {
        if let Some(word) = self.standing.word() {
            return word;
        }
        if self.unclear.is_some() || self.asked.iter().any(|asked| asked.intent.values.is_none()) {
            return Word::Awaited;
        }
        let names_more = !self.covered.is_empty() || !self.unread.is_empty();
        if names_more { Word::Silent } else { Word::WantsOther }
    }
}

// === impl Standing ===

impl Standing {
    /// What an object says of every set, if it was not read.
    fn word(self) -> Option<Word> {
        match self {
            Self::NotRead if zonekeeper_kernel::mutant::is_on("publish: unselected gives up") => {
                Some(Word::WantsOther)
            }
            Self::NotRead => Some(Word::Silent),
            Self::Leaving => Some(Word::WantsOther),
            Self::Read => None,
        }
    }
}

fn standing(reader: &Reader<'_>) -> Standing {
    let (object, reading) = (reader.object, reader.reading);
    let is_listed = matches!(object.kind, Kind::Source(kind) if reading.kinds().contains(&kind));
    match object.meta.deletion_timestamp {
        Some(_) => Standing::Leaving,
        None if is_listed && reading.selects(object) => Standing::Read,
        None => Standing::NotRead,
    }
}

/// Whether the object itself says that it is not to be published, or not by us.
fn is_silenced(reader: &mut Reader<'_>) -> bool {
    let is_endpoint = matches!(reader.object.body, Body::DnsEndpoint(_));
    if !is_endpoint && reader.said(Setting::Controller).is_some_and(|said| said.value != "dns-controller") {
        return true;
    }
    let Some(said) = reader.said(Setting::Ignore) else { return false };
    boolean(said.value).unwrap_or_else(|accepted| {
        reader.spoil(said.key, accepted);
        false
    })
}

fn ask(reader: &mut Reader<'_>) -> Vec<Asked> {
    let wishes = match kinds::cloudflare_operator::wishes(reader) {
        Some(wishes) => wishes,
        None if speaks_for_itself(reader) => kinds::wishes(reader),
        None => Vec::new(),
    };
    let zone_refs = zone_refs(reader);
    let (sets, faults) = sets(wishes);
    for (field, message) in faults {
        reader.misname(field, message);
    }
    let leaving = leaving_namespace(reader);
    let spoiled = reader.spoiled.clone().or(leaving);
    sets.into_iter()
        .map(|((name, rtype), set)| asked(reader, name, rtype, set, spoiled.clone(), zone_refs.clone()))
        .filter(|asked| {
            asked.unknown.is_none() || !zonekeeper_kernel::mutant::is_on("publish: unknown is unasked")
        })
        .collect()
}

/// Whether an object is published as it is: cloudflare-operator publishes nothing that does not ask for it, but what
/// needs no annotations needs no dialect either.
fn speaks_for_itself(reader: &Reader<'_>) -> bool {
    matches!(reader.object.body, Body::DnsEndpoint(_) | Body::Node(_)) || reads_hosts(reader.reading)
}

/// Whether hosts count that stand in an object's spec.
fn reads_hosts(reading: &Reading) -> bool {
    reading.reads(Dialect::Zonekeeper) || reading.reads(Dialect::ExternalDns)
}

fn zone_refs(reader: &mut Reader<'_>) -> Option<Vec<ZoneKey>> {
    let said = reader.said(Setting::Zone)?;
    match zones(said.value, &reader.object.meta.namespace) {
        Ok(zones) => (!zones.is_empty()).then_some(zones),
        Err(accepted) => {
            reader.spoil(said.key, accepted);
            None
        }
    }
}

/// In a namespace that is being deleted nothing new is made.
fn leaving_namespace(reader: &mut Reader<'_>) -> Option<Unknown> {
    let namespace = reader.object.meta.namespace.as_str();
    if namespace.is_empty() {
        return None;
    }
    match reader.look(Kind::Namespace, "", namespace) {
        Found::Here(found) if found.meta.deletion_timestamp.is_some() => {
            Some((Reason::TargetsUnknown, format!("Namespace {namespace} is being deleted")))
        }
        Found::Here(_) | Found::NotThere | Found::Deleted | Found::NotKnown => None,
    }
}

fn asked(
    reader: &Reader<'_>,
    name: Name,
    rtype: RecordType,
    set: Set,
    spoiled: Option<Unknown>,
    zone_refs: Option<Vec<ZoneKey>>,
) -> Asked {
    let meta = &reader.object.meta;
    let values = match spoiled {
        Some(why) => Err(why),
        None => set.values,
    };
    let (values, unknown) = match values {
        Ok(values) => (Some(values), None),
        Err(why) => (None, Some(why)),
    };
    let proxied = set.settings.proxied.filter(|_| is_proxiable(rtype));
    let proxied = proxied.map(|is_on| (PROXIED.into(), is_on.into()));
    let tags = tags(&set.settings.tags.unwrap_or_default());
    let intent = Intent {
        holder: reader.object.holder(),
        origin: Origin::Source(reader.reading.key().clone()),
        age: meta.age(),
        namespace: meta.namespace.clone(),
        namespace_labels: reader.surroundings.namespace_labels.clone(),
        // Zones take RecordSets by label, and source objects by how they read them.
        labels: Default::default(),
        zone_refs,
        name: WantedName::Absolute(name),
        rtype,
        values,
        ttl: set.settings.ttl,
        attributes: proxied.into_iter().chain(tags).collect(),
        comment: set.settings.comment.map(Into::into),
        adoption: Adoption::Identical,
    };
    Asked { intent, unknown }
}

/// One annotation speaks for all sets of an object, and some of them can't be proxied anywhere.
fn is_proxiable(rtype: RecordType) -> bool {
    matches!(rtype, RecordType::A | RecordType::AAAA | RecordType::CNAME)
}

/// Names in words that the reading does not understand: it may have understood them before it was narrowed.
fn unread(object: &Object, reading: &Reading) -> BTreeSet<Name> {
    let is_understood = |key: &str| {
        [Setting::Hostname, Setting::InternalHostname]
            .iter()
            .any(|setting| reading.understands(key, *setting))
    };
    let annotations = object.meta.annotations.iter();
    let foreign = annotations.filter(|(key, _)| dialect::is_naming(key) && !is_understood(key));
    let mut names: Vec<String> = foreign.flat_map(|(_, value)| list(value)).collect();
    let prefix = dialect::prefixes(Dialect::CloudflareOperator)[0];
    let is_cloudflare_operators = object.meta.annotations.keys().any(|key| key.starts_with(prefix));
    let needs_cloudflare_operator = is_cloudflare_operators || !reads_hosts(reading);
    if needs_cloudflare_operator && !reading.reads(Dialect::CloudflareOperator) {
        names.extend(kinds::spec_hosts(object).into_iter().map(|(host, _)| host));
    }
    names.iter().filter_map(|name| Name::parse(name).ok()).collect()
}
