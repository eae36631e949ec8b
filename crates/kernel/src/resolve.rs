//! Which zone a wish belongs to, whether it may ask, and which of several wishes wins a set.

mod choose;
mod merge;

use std::{collections::BTreeMap, sync::Arc};

pub use choose::{Candidate, Zones, choose};
pub use merge::resolve;

use crate::{
    attribute::Attributes,
    desired::Adoption,
    holder::{Holder, HolderRef},
    name::Name,
    rdata::{Rdata, RecordType},
    record::Ttl,
    zone::{Labels, SourcesKey, ZoneKey},
};

/// A record set that an object asks for, and the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Who.
    pub holder: Holder,
    /// Where the wish was read.
    pub origin: Origin,
    /// Sorts wishes by age: a creation time and uid, or namespace and name where there is no cluster.
    pub age: String,
    /// The namespace it comes from.
    pub namespace: String,
    /// The labels of that namespace.
    pub namespace_labels: Arc<Labels>,
    /// The labels of the object itself.
    pub labels: Labels,
    /// The zones it names; none leaves it to labels and names.
    pub zone_refs: Option<Vec<ZoneKey>>,
    /// The name.
    pub name: WantedName,
    /// The type.
    pub rtype: RecordType,
    /// The values, where they are known at the moment.
    pub values: Option<Vec<Rdata>>,
    /// The TTL; none leaves it to the zone.
    pub ttl: Option<Ttl>,
    /// Attributes; a name that is missing leaves it to the zone.
    pub attributes: Attributes,
    /// The comment; none keeps what is there.
    pub comment: Option<Box<str>>,
    /// What to do with what is already there.
    pub adoption: Adoption,
}

/// Where a wish was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In a RecordSet.
    RecordSet,
    /// In a source object, as zones of this key read it.
    Source(SourcesKey),
}

/// A wanted name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedName {
    /// This name.
    Absolute(Name),
    /// This name under each zone that takes the wish; `@` is the zone itself.
    Relative(String),
}

/// Who holds records at a name now, by the claims in the zone.
pub type Incumbents = BTreeMap<Name, Vec<(RecordType, HolderRef)>>;
