//! What a provider holds: records, and the live state of a zone.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    attribute::Attributes,
    name::Name,
    rdata::{Rdata, RecordType},
};

/// A time to live in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl(pub u32);

/// A provider's own identifier of one record; empty where a provider has none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RecordId(pub Box<str>);

/// One record as it should be at the provider; its comment includes our marker where one belongs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// Owner name.
    pub name: Name,
    /// Type and value.
    pub rdata: Rdata,
    /// Time to live.
    pub ttl: Ttl,
    /// Provider attributes.
    pub attributes: Attributes,
    /// The whole comment, marker included.
    pub comment: Box<str>,
}

/// One record as it was read, without its name, which is the key it is stored under.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiveRecord {
    /// Type and value.
    pub rdata: Rdata,
    /// The provider's identifier.
    pub id: RecordId,
    /// Time to live.
    pub ttl: Ttl,
    /// Provider attributes.
    pub attributes: Attributes,
    /// The whole comment, marker included.
    pub comment: Box<str>,
    /// The provider manages this record itself and refuses changes.
    pub read_only: bool,
}

/// Which data name and type a marker's name stands for; none where the name is no marker's.
pub type MarkerIndex = Arc<dyn Fn(&Name) -> Option<(Name, RecordType)> + Send + Sync>;

/// The live records of one zone, by name.
///
/// Guarantees: the records of a name are sorted, and no name is stored without records.
#[derive(Clone, Default)]
pub struct Live {
    names: BTreeMap<Name, Vec<LiveRecord>>,
    markers: BTreeMap<Name, Vec<(RecordType, Name)>>,
    index: Option<MarkerIndex>,
    count: usize,
}

// === impl Ttl ===

impl Ttl {
    /// "Automatic": the provider chooses. Providers that know it write and return it as 1.
    pub const AUTOMATIC: Self = Self(1);
}

impl fmt::Display for Ttl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::AUTOMATIC { formatter.write_str("auto") } else { write!(formatter, "{}", self.0) }
    }
}

// === impl LiveRecord ===

impl LiveRecord {
    /// The record as a whole, under its name.
    pub fn at(&self, name: &Name) -> Record {
        Record {
            name: name.clone(),
            rdata: self.rdata.clone(),
            ttl: self.ttl,
            attributes: self.attributes.clone(),
            comment: self.comment.clone(),
        }
    }
}

// === impl Record ===

impl Record {
    /// What a provider holds after it wrote this record under `id`.
    pub fn written(&self, id: RecordId) -> LiveRecord {
        LiveRecord {
            rdata: self.rdata.clone(),
            id,
            ttl: self.ttl,
            attributes: self.attributes.clone(),
            comment: self.comment.clone(),
            read_only: false,
        }
    }
}

// === impl Live ===

impl Live {
    /// An empty zone that also remembers which names look like ownership markers.
    pub fn indexed_by(index: Option<MarkerIndex>) -> Self {
        Self { index, ..Self::default() }
    }

    /// Adds a record.
    pub fn insert(&mut self, name: Name, record: LiveRecord) {
        if record.rdata.rtype() == RecordType::TXT
            && let Some((data, rtype)) = self.index.as_ref().and_then(|index| index(&name))
        {
            let markers = self.markers.entry(data).or_default();
            let entry = (rtype, name.clone());
            if let Err(at) = markers.binary_search(&entry) {
                markers.insert(at, entry);
            }
        }
        let records = self.names.entry(name).or_insert_with(|| Vec::with_capacity(1));
        let at = records.partition_point(|other| *other < record);
        records.insert(at, record);
        self.count += 1;
    }

    /// Removes the record with this value and id; true if it was there.
    pub fn remove(&mut self, name: &Name, rdata: &Rdata, id: &RecordId) -> bool {
        let Some(records) = self.names.get_mut(name) else { return false };
        let Some(at) = records.iter().position(|record| record.id == *id && record.rdata == *rdata) else {
            return false;
        };
        records.remove(at);
        self.count -= 1;
        if records.is_empty() {
            self.names.remove(name);
        }
        true
    }

    /// Forgets everything under `name` and puts `records` there: the result of a fresh read.
    pub fn replace(&mut self, name: &Name, records: impl IntoIterator<Item = LiveRecord>) {
        if let Some(old) = self.names.remove(name) {
            self.count -= old.len();
        }
        for record in records {
            self.insert(name.clone(), record);
        }
    }

    /// The records of one name, sorted.
    pub fn at(&self, name: &Name) -> &[LiveRecord] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// The records of one set, sorted.
    pub fn set(&self, name: &Name, rtype: RecordType) -> &[LiveRecord] {
        of_type(self.at(name), rtype)
    }

    /// Where markers of `data` may lie: the claimed type and the marker's name. Kept after a marker is gone.
    pub fn markers_of(&self, data: &Name) -> &[(RecordType, Name)] {
        self.markers.get(data).map_or(&[], Vec::as_slice)
    }

    /// Names that markers were seen for, whether or not these names hold data.
    pub fn marked_names(&self) -> impl Iterator<Item = &Name> {
        self.markers.keys()
    }

    /// Whether a name could be that of a marker.
    pub fn is_marker_name(&self, name: &Name) -> bool {
        self.index.as_ref().is_some_and(|index| index(name).is_some())
    }

    /// All names with their records, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &[LiveRecord])> {
        self.names.iter().map(|(name, records)| (name, records.as_slice()))
    }

    /// How many records the zone holds.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the zone holds nothing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(&self.names).finish()
    }
}

impl PartialEq for Live {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl FromIterator<(Name, LiveRecord)> for Live {
    fn from_iter<I: IntoIterator<Item = (Name, LiveRecord)>>(records: I) -> Self {
        let mut live = Self::default();
        live.extend(records);
        live
    }
}

impl Extend<(Name, LiveRecord)> for Live {
    fn extend<I: IntoIterator<Item = (Name, LiveRecord)>>(&mut self, records: I) {
        for (name, record) in records {
            self.insert(name, record);
        }
    }
}

/// The run of one type within the sorted records of a name.
pub fn of_type(records: &[LiveRecord], rtype: RecordType) -> &[LiveRecord] {
    let start = records.partition_point(|record| record.rdata.rtype() < rtype);
    let length = records[start..].partition_point(|record| record.rdata.rtype() == rtype);
    &records[start..start + length]
}
