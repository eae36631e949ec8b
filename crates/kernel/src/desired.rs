//! What a zone should hold: one set per name and type, and who wants it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    holder::Holder,
    name::Name,
    rdata::{Rdata, RecordType},
    record::{Attributes, Ttl},
};

/// What to do with an unowned record that is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Adoption {
    /// Refuse.
    Never,
    /// Adopt it if value, TTL and proxied are equal.
    #[default]
    Identical,
    /// Make it what is wanted, and claim it in the same write.
    Force,
}

/// One value and the object that wants it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// The value.
    pub rdata: Rdata,
    /// The object that wants it; of several, the first.
    pub holder: Holder,
}

/// The values of a wish.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Values {
    /// These, sorted and without repetition.
    Known(Vec<Wanted>),
    /// Somebody wants the set, and nobody can say at the moment what it is: live records stay (law 5).
    Unknown,
}

/// One set that a zone should hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DesiredSet {
    /// The type.
    pub rtype: RecordType,
    /// The values.
    pub values: Values,
    /// Time to live.
    pub ttl: Ttl,
    /// Provider attributes.
    pub attributes: Attributes,
    /// The comment; none keeps what is there.
    pub comment: Option<Box<str>>,
    /// What to do with what is already there.
    pub adoption: Adoption,
    /// Everybody who wants the set, sorted; the first is named by a marker of the whole set.
    pub holders: Vec<Holder>,
}

/// What a zone should hold, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Desired {
    names: BTreeMap<Name, Vec<DesiredSet>>,
    reserved: BTreeMap<Name, Reserved>,
}

/// What wishes that can't be carried out ask for at a name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Reserved {
    types: BTreeSet<RecordType>,
    is_expected: bool,
}

/// Whether a wish that can't be carried out will be, once it is put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmet {
    /// It was refused for what it asks: what is there stays, and nobody need be asked about it.
    Mistaken,
    /// It was refused for what its object may have: what is there stays until a person says that it goes.
    Forbidden,
}

// === impl Desired ===

impl Desired {
    /// Adds a set, replacing one of the same name and type.
    pub fn insert(&mut self, name: Name, set: DesiredSet) {
        let sets = self.names.entry(name).or_insert_with(|| Vec::with_capacity(1));
        match sets.binary_search_by(|other| other.rtype.cmp(&set.rtype)) {
            Ok(at) => sets[at] = set,
            Err(at) => sets.insert(at, set),
        }
    }

    /// Notes that somebody asks for a set whose wish can't be carried out: what the name holds may be theirs.
    pub fn reserve(&mut self, name: Name, rtype: RecordType, unmet: Unmet) {
        let reserved = self.reserved.entry(name).or_default();
        reserved.types.insert(rtype);
        reserved.is_expected |= unmet == Unmet::Mistaken;
    }

    /// Whether what is there will be asked for again by a wish that has to be put right.
    pub fn is_expected(&self, name: &Name) -> bool {
        self.reserved.get(name).is_some_and(|reserved| reserved.is_expected)
    }

    /// Whether sets that nobody else asks for must stay at this name.
    pub fn is_reserved(&self, name: &Name) -> bool {
        self.reserved.contains_key(name)
    }

    /// Whether some values of this very set may belong to a wish that can't be carried out.
    pub fn is_shared_with_unmet(&self, name: &Name, rtype: RecordType) -> bool {
        self.reserved.get(name).is_some_and(|reserved| reserved.types.contains(&rtype))
    }

    /// The sets of one name, by type.
    pub fn at(&self, name: &Name) -> &[DesiredSet] {
        self.names.get(name).map_or(&[], Vec::as_slice)
    }

    /// All names with their sets, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &[DesiredSet])> {
        self.names.iter().map(|(name, sets)| (name, sets.as_slice()))
    }

    /// How many sets are wanted.
    pub fn len(&self) -> usize {
        self.names.values().map(Vec::len).sum()
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl FromIterator<(Name, DesiredSet)> for Desired {
    fn from_iter<I: IntoIterator<Item = (Name, DesiredSet)>>(sets: I) -> Self {
        let mut desired = Self::default();
        for (name, set) in sets {
            desired.insert(name, set);
        }
        desired
    }
}
