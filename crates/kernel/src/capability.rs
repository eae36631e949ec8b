//! What a provider can hold, as values: types, what can't stand together, attributes, comments, TTLs.

use std::collections::BTreeSet;

use crate::{attribute::Schema, desired::DesiredSet, name::Name, rdata::RecordType, record::Ttl};

/// What one zone at one provider can hold, and how it changes what it is given.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// The types it takes.
    pub types: Types,
    /// What can't stand together at a name.
    pub exclusions: Vec<Exclusion>,
    /// What it keeps beside value, TTL and comment.
    pub attributes: Schema,
    /// How many bytes a record's comment may have; none where there are no comments.
    pub comment_limit: Option<usize>,
    /// The TTL of a set that asks for none.
    pub default_ttl: Ttl,
    /// The smallest TTL apart from "automatic".
    pub minimum_ttl: u32,
    /// The largest TTL.
    pub maximum_ttl: u32,
}

/// A set of record types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Types {
    /// Every type, unknown ones by RFC 3597.
    Every,
    /// These.
    Only(BTreeSet<RecordType>),
    /// Every other type.
    AllBut(BTreeSet<RecordType>),
}

/// A type beside which others can't stand.
#[derive(Debug, Clone)]
pub struct Exclusion {
    /// The type.
    pub rtype: RecordType,
    /// What it excludes; its own type is never meant.
    pub excludes: Types,
    /// At which names.
    pub at: Names,
}

/// Names of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// All of them.
    Every,
    /// All but the zone's own.
    BelowApex,
}

// === impl Types ===

impl Types {
    /// These types.
    pub fn only(types: impl IntoIterator<Item = RecordType>) -> Self {
        Self::Only(types.into_iter().collect())
    }

    /// Every type but these.
    pub fn all_but(types: impl IntoIterator<Item = RecordType>) -> Self {
        Self::AllBut(types.into_iter().collect())
    }

    /// Whether a type is one of them.
    pub fn contain(&self, rtype: RecordType) -> bool {
        match self {
            Self::Every => true,
            Self::Only(types) => types.contains(&rtype),
            Self::AllBut(types) => !types.contains(&rtype),
        }
    }
}

// === impl Exclusion ===

impl Exclusion {
    /// A CNAME stands alone (RFC 1034 section 3.6.2).
    pub fn standard() -> Self {
        Self { rtype: RecordType::CNAME, excludes: Types::Every, at: Names::Every }
    }

    fn separates(&self, one: RecordType, other: RecordType) -> bool {
        self.rtype == one && self.excludes.contain(other)
    }
}

// === impl Capabilities ===

impl Capabilities {
    /// An ordinary DNS server.
    pub fn standard() -> Self {
        Self {
            types: Types::Every,
            exclusions: vec![Exclusion::standard()],
            attributes: Schema::default(),
            comment_limit: None,
            default_ttl: Ttl(300),
            minimum_ttl: 0,
            maximum_ttl: i32::MAX as u32,
        }
    }

    /// Whether sets of these two types can't share `name` in the zone of `domain`.
    pub fn conflict(&self, (name, domain): (&Name, &Name), one: RecordType, other: RecordType) -> bool {
        let is_there = |exclusion: &&Exclusion| match exclusion.at {
            Names::Every => true,
            Names::BelowApex => name != domain,
        };
        one != other
            && self
                .exclusions
                .iter()
                .filter(is_there)
                .any(|exclusion| exclusion.separates(one, other) || exclusion.separates(other, one))
    }

    /// Whether this TTL can be stored as it is.
    pub fn allows_ttl(&self, ttl: Ttl) -> bool {
        (self.default_ttl == Ttl::AUTOMATIC && ttl == Ttl::AUTOMATIC)
            || (self.minimum_ttl..=self.maximum_ttl).contains(&ttl.0)
    }

    /// Changes a set into the form in which the provider will return it (law 8).
    pub fn normalise(&self, set: &mut DesiredSet) {
        set.attributes = self.attributes.normalise(set.rtype, &set.attributes);
        if self.attributes.sets_ttl(&set.attributes) {
            set.ttl = Ttl::AUTOMATIC;
        }
        if self.comment_limit.is_none() {
            set.comment = None;
        }
    }
}
