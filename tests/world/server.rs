//! What a provider holds, record by record, with the truth about who wrote it.

use std::collections::{BTreeMap, BTreeSet};

use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
    record::{LiveRecord, Record, RecordId},
};

use crate::clock::Millis;

/// Who a record belongs to, by what was done to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// People made it, or made it their own at this time.
    People { since: Millis, was_ours: bool },
    /// Zonekeeper wrote it.
    Us,
}

/// A record with its truth.
#[derive(Debug, Clone)]
pub struct Kept {
    pub name: Name,
    pub record: LiveRecord,
    pub author: Author,
    /// Where we wrote it: at another name or type it is not ours.
    pub home: (Name, RecordType),
    /// The value that we wrote last, and since when it stands for an object.
    pub written: Rdata,
    pub since: Millis,
    /// When it came.
    pub born: Millis,
    /// The namespaces that asked for it when it was written.
    pub owners: BTreeSet<String>,
    /// When people changed it last.
    pub touched: Millis,
    /// Whether people made it, whatever marker it has.
    pub is_copy: bool,
}

/// A zone at the provider.
#[derive(Debug, Clone)]
pub struct ServerZone {
    pub domain: Name,
    pub records: BTreeMap<RecordId, Kept>,
    /// What it was at some moments, for listings that lag.
    pub past: Vec<(Millis, Vec<(Name, LiveRecord)>)>,
    pub writes: u64,
}

/// Markers in comments, each where it was written.
pub type Issued = BTreeSet<(Box<str>, Name, RecordType)>;

/// All zones, by id.
#[derive(Debug, Default)]
pub struct Servers {
    pub zones: BTreeMap<String, ServerZone>,
    /// Every marker that we wrote into a comment, and where.
    pub issued: Issued,
    last_id: u64,
}

// === impl Kept ===

impl Kept {
    pub fn is_ours(&self) -> bool {
        self.author == Author::Us && self.home == (self.name.clone(), self.record.rdata.rtype())
    }

    /// People did something to it: whose is it now? A marker of ours counts where we wrote it; without one the record
    /// is ours where we wrote it (design.md, "Ownership").
    pub fn touched(&mut self, issued: &Issued, now: Millis) {
        self.touched = now;
        let place = (self.name.clone(), self.record.rdata.rtype());
        let is_ours = match marker(&self.record.comment) {
            Some(marker) => issued.contains(&(marker.into(), place.0, place.1)),
            None => !self.is_copy && self.home == place,
        };
        self.author = match (&self.author, is_ours) {
            (_, true) => Author::Us,
            (Author::Us, false) => Author::People { since: now, was_ours: true },
            (people, false) => people.clone(),
        };
    }

    pub fn is_marker(&self) -> bool {
        is_marker(&self.record.rdata)
    }
}

// === impl ServerZone ===

impl ServerZone {
    pub fn listing(&self) -> Vec<(Name, LiveRecord)> {
        self.records.values().map(|kept| (kept.name.clone(), kept.record.clone())).collect()
    }

    /// What was there at a moment of the past.
    pub fn listing_at(&self, at: Millis) -> Vec<(Name, LiveRecord)> {
        match self.past.iter().find(|(changed, _)| *changed > at) {
            Some((_, before)) => before.clone(),
            None => self.listing(),
        }
    }

    /// Remembers what is there, before it changes.
    pub fn remember(&mut self, now: Millis) {
        self.past.retain(|(changed, _)| changed + 10_000 > now);
        let listing = self.listing();
        self.past.push((now, listing));
    }

    pub fn at<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a Kept> {
        self.records.values().filter(move |kept| kept.name == *name)
    }

    /// Whether a record of this type can't stand at a name, as Cloudflare judges it.
    pub fn conflicts(&self, name: &Name, rtype: RecordType, but: &RecordId) -> bool {
        let is_address = |rtype| matches!(rtype, RecordType::A | RecordType::AAAA | RecordType::CNAME);
        let is_alias = |one, other| one == RecordType::CNAME && is_address(other);
        self.at(name).filter(|kept| kept.record.id != *but).any(|kept| {
            let other = kept.record.rdata.rtype();
            is_alias(rtype, other) || is_alias(other, rtype)
        })
    }

    pub fn holds(&self, record: &Record, but: &RecordId) -> bool {
        self.at(&record.name).any(|kept| kept.record.rdata == record.rdata && kept.record.id != *but)
    }
}

// === impl Servers ===

impl Servers {
    pub fn new_id(&mut self) -> RecordId {
        self.last_id += 1;
        RecordId(format!("r{}", self.last_id).into())
    }

    /// A zone without records; one that was removed and made anew has another id.
    pub fn add(&mut self, domain: Name) -> String {
        self.last_id += 1;
        let id = format!("zone-{}", self.last_id);
        let zone = ServerZone { domain, records: BTreeMap::new(), past: Vec::new(), writes: 0 };
        self.zones.insert(id.clone(), zone);
        id
    }

    pub fn find(&self, domain: &Name) -> Option<&String> {
        self.zones.iter().find(|(_, zone)| zone.domain == *domain).map(|(id, _)| id)
    }
}

/// Whether a value is the marker of an installation, by the words that every form of it has.
pub fn is_marker(rdata: &Rdata) -> bool {
    rdata.rtype() == RecordType::TXT && rdata.to_string().contains("heritage=")
}

/// The marker in a comment.
pub fn marker(comment: &str) -> Option<&str> {
    comment.find("zk1:").map(|at| &comment[at..])
}
