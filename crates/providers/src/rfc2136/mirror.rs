//! A zone as its server last showed it.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use zonekeeper_kernel::{
    attribute::Attributes,
    name::Name,
    rdata::{Rdata, RecordType},
    record::{LiveRecord, RecordId, Ttl},
};

use super::message::Item;

/// Types without a row that a server that signs writes itself: NSEC3PARAM, CDS, CDNSKEY, ZONEMD.
const SERVERS_OWN: [u16; 4] = [51, 59, 60, 63];
/// Signatures and proofs of absence: RRSIG, NSEC, NSEC3.
const RRSIG: RecordType = RecordType::from_code(46);
const NSEC: RecordType = RecordType::from_code(47);
const NSEC3: RecordType = RecordType::from_code(50);
/// How far BIND is with signing; it comes and goes at the apex by itself.
const SIGNING_STATE: RecordType = RecordType::from_code(65534);

/// A zone as its server last showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mirror {
    domain: Name,
    soa: Soa,
    names: BTreeMap<Name, Vec<Held>>,
    /// Values that we can't read: their sets are not ours to touch.
    unreadable: BTreeSet<(Name, RecordType, Box<[u8]>)>,
    /// Values that the server spells in another way than we do.
    spelled: BTreeMap<(Name, Rdata), Box<[u8]>>,
    /// Names of which nothing can be known.
    hidden: BTreeSet<Name>,
    /// Signatures at the apex; where there is one, the server signs the zone.
    signatures: usize,
}

/// A value and its set's TTL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) rdata: Rdata,
    pub(super) ttl: u32,
}

/// The SOA record of one version of a zone; it belongs to the server, so that only its serial matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Soa {
    pub(super) serial: u32,
}

/// One step from a version of a zone to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Difference {
    Removed(Item),
    Added(Item),
}

// === impl Soa ===

impl Soa {
    /// Reads an item as the SOA record of `domain`; none where it is something else.
    pub(super) fn read(domain: &Name, item: &Item) -> Option<Self> {
        if item.rtype != RecordType::SOA || item.name != *domain {
            return None;
        }
        let rdata = Rdata::from_wire(RecordType::SOA, &item.wire).ok()?;
        // The serial is the first of the five numbers at the end.
        let (_, numbers) = rdata.wire().split_last_chunk::<20>()?;
        let serial = u32::from_be_bytes(*numbers.first_chunk::<4>()?);
        Some(Self { serial })
    }
}

// === impl Mirror ===

impl Mirror {
    /// A version of a zone, still without records.
    pub(super) fn new(domain: Name, soa: Soa) -> Self {
        Self {
            domain,
            soa,
            names: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            spelled: BTreeMap::new(),
            hidden: BTreeSet::new(),
            signatures: 0,
        }
    }

    /// The version.
    pub(super) fn serial(&self) -> u32 {
        self.soa.serial
    }

    /// Adds a record, or gives one that is there another TTL; false where it is there already.
    pub(super) fn insert(&mut self, item: Item) -> bool {
        let Item { name, rtype, ttl, wire } = item;
        if is_passing(&self.domain, &name, rtype) {
            self.signatures += usize::from(rtype == RRSIG && name == self.domain);
            return true;
        }
        let Ok(rdata) = Rdata::from_wire(rtype, &wire) else {
            return self.unreadable.insert((name, rtype, wire.into()));
        };
        if *rdata.wire() != *wire {
            self.spelled.insert((name.clone(), rdata.clone()), wire.into());
        }
        let records = self.names.entry(name).or_insert_with(|| Vec::with_capacity(1));
        match records.binary_search_by(|held| held.rdata.cmp(&rdata)) {
            Ok(at) => std::mem::replace(&mut records[at].ttl, ttl) != ttl,
            Err(at) => {
                records.insert(at, Held { rdata, ttl });
                true
            }
        }
    }

    /// Goes on to the next version; false where this is not the one that the differences begin with.
    #[must_use]
    pub(super) fn advance(&mut self, differences: Vec<Difference>, soa: Soa) -> bool {
        let fits = differences.into_iter().all(|difference| match difference {
            Difference::Added(item) => self.insert(item),
            Difference::Removed(item) => self.remove(&item),
        });
        self.soa = soa;
        fits
    }

    fn remove(&mut self, item: &Item) -> bool {
        if is_passing(&self.domain, &item.name, item.rtype) {
            let is_counted = item.rtype == RRSIG && item.name == self.domain;
            self.signatures = self.signatures.saturating_sub(usize::from(is_counted));
            return true;
        }
        let Ok(rdata) = Rdata::from_wire(item.rtype, &item.wire) else {
            return self.unreadable.remove(&(item.name.clone(), item.rtype, item.wire.clone().into()));
        };
        let Some(records) = self.names.get_mut(&item.name) else { return false };
        let Ok(at) = records.binary_search_by(|held| held.rdata.cmp(&rdata)) else { return false };
        records.remove(at);
        if !self.spelled.is_empty() {
            self.spelled.remove(&(item.name.clone(), rdata));
        }
        if records.is_empty() {
            self.names.remove(&item.name);
        }
        true
    }

    /// The records of a name, sorted by type and value.
    pub(super) fn at(&self, name: &Name) -> &[Held] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// All names that hold records.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.names.keys()
    }

    /// How the server spells a value, where that is not our way.
    pub(super) fn spelling(&self, name: &Name, rdata: &Rdata) -> Option<&[u8]> {
        if self.spelled.is_empty() {
            return None;
        }
        self.spelled.get(&(name.clone(), rdata.clone())).map(|octets| &**octets)
    }

    /// Notes that nothing can be known of a name.
    pub(super) fn hide(&mut self, name: Name) {
        self.hidden.insert(name);
    }

    /// Whether nothing can be known of a name.
    pub(super) fn is_hidden(&self, name: &Name) -> bool {
        self.hidden.contains(name)
    }

    /// Whether the set holds a value that we can't read.
    pub(super) fn has_unreadable(&self, name: &Name, rtype: RecordType) -> bool {
        let first = (name.clone(), rtype, Box::default());
        self.unreadable.range(first..).next().is_some_and(|(at, found, _)| at == name && *found == rtype)
    }

    /// Whether a name holds a value that we can't read.
    pub(super) fn has_unreadable_at(&self, name: &Name) -> bool {
        let first = (name.clone(), RecordType::from_code(0), Box::default());
        self.unreadable.range(first..).next().is_some_and(|(at, ..)| at == name)
    }

    /// Whether only the server writes the set.
    fn is_servers_own(&self, name: &Name, rtype: RecordType) -> bool {
        let is_part_of_signing = rtype == RecordType::DNSKEY || SERVERS_OWN.contains(&rtype.code());
        is_part_of_signing && self.signatures > 0 && *name == self.domain
    }

    /// The zone as the rest of the program knows it: without SOA record, signatures and proofs of absence.
    pub(super) fn records(&self) -> Vec<(Name, LiveRecord)> {
        let mut listed = Vec::with_capacity(self.names.len());
        listed.extend(self.names.keys().flat_map(|name| self.records_at(name)));
        listed
    }

    /// The records of one name in the same form.
    pub(super) fn records_at(&self, name: &Name) -> impl Iterator<Item = (Name, LiveRecord)> {
        self.at(name).iter().map(move |held| {
            let is_servers_own = self.is_servers_own(name, held.rdata.rtype());
            (name.clone(), live(name, held, is_servers_own))
        })
    }

    /// The names at which two versions differ.
    pub(super) fn names_that_differ(&self, other: &Self) -> BTreeSet<Name> {
        let differ = |one: &Self, other: &Self| -> Vec<Name> {
            one.names
                .iter()
                .filter(|(name, held)| other.at(name) != **held)
                .map(|(name, _)| name.clone())
                .collect()
        };
        let unreadable =
            self.unreadable.symmetric_difference(&other.unreadable).map(|(name, ..)| name.clone());
        differ(self, other).into_iter().chain(differ(other, self)).chain(unreadable).collect()
    }
}

// === impl Difference ===

impl Difference {
    /// The name, where something differs there that is more than the server's own work.
    pub(super) fn data_name(&self, domain: &Name) -> Option<&Name> {
        let (Self::Removed(item) | Self::Added(item)) = self;
        (!is_passing(domain, &item.name, item.rtype)).then_some(&item.name)
    }
}

/// Whether the server makes and drops such records by itself, as it signs or counts versions: they are not data of a user.
fn is_passing(domain: &Name, name: &Name, rtype: RecordType) -> bool {
    matches!(rtype, RRSIG | NSEC | NSEC3)
        || (matches!(rtype, SIGNING_STATE | RecordType::SOA) && name == domain)
}

/// An identifier for a record at a server that has none: whatever has the same name and value is the same record.
pub(super) fn record_id(name: &Name, rdata: &Rdata) -> RecordId {
    let mut hash = Sha256::new();
    hash.update(name.as_str());
    hash.update(rdata.rtype().code().to_be_bytes());
    hash.update(rdata.wire());
    RecordId(HEXLOWER.encode(&hash.finalize()[..8]).into())
}

pub(super) fn live(name: &Name, held: &Held, read_only: bool) -> LiveRecord {
    LiveRecord {
        rdata: held.rdata.clone(),
        id: record_id(name, &held.rdata),
        ttl: Ttl(held.ttl),
        attributes: Attributes::default(),
        comment: "".into(),
        read_only,
    }
}
