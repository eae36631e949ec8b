//! What counts as evidence that a record is wanted no more, and what was applied before.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    desired::DesiredSet,
    holder::{Holder, HolderRef},
    name::Name,
    rdata::RecordType,
};

/// Which holders are known to want a record no more (law 5: absence alone never deletes).
#[derive(Debug, Clone)]
pub enum Evidence {
    /// A folder that parsed completely: it is the whole wish of its owner id.
    Complete,
    /// The same, but these holders are there and could not be understood or served: theirs stays.
    CompleteBut(Seen),
    /// What was seen in a cluster.
    Seen(Seen),
}

/// Some holders, found by their name or by its hash.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    holders: BTreeSet<Holder>,
    hashes: BTreeSet<String>,
}

/// The wishes that were applied before in exactly this form: what differs from them now is drift.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    sets: BTreeMap<(Name, RecordType), DesiredSet>,
}

// === impl Evidence ===

impl Evidence {
    /// Evidence from a cluster: these holders are gone, or want something else.
    pub fn seen(holders: impl IntoIterator<Item = Holder>) -> Self {
        Self::Seen(Seen::new(holders))
    }

    /// Evidence from a folder in which these holders are there without a wish that can be carried out.
    pub fn complete_but(holders: impl IntoIterator<Item = Holder>) -> Self {
        let unclear = Seen::new(holders);
        if unclear.holders.is_empty() { Self::Complete } else { Self::CompleteBut(unclear) }
    }

    /// Whether a record held by `holder` may go.
    pub fn releases(&self, holder: &HolderRef) -> bool {
        match self {
            Self::Complete => true,
            Self::CompleteBut(unclear) => !unclear.contain(holder),
            Self::Seen(seen) => seen.contain(holder),
        }
    }
}

// === impl Seen ===

impl Seen {
    fn new(holders: impl IntoIterator<Item = Holder>) -> Self {
        let holders: BTreeSet<Holder> = holders.into_iter().collect();
        let hashes = holders.iter().map(Holder::hash).collect();
        Self { holders, hashes }
    }

    fn contain(&self, holder: &HolderRef) -> bool {
        match holder {
            HolderRef::Full(holder) => self.holders.contains(holder),
            HolderRef::Hash(hash) => self.hashes.contains(&**hash),
            HolderRef::Nobody => false,
        }
    }
}

// === impl Settled ===

impl Settled {
    /// Remembers that a wish was applied.
    pub fn insert(&mut self, name: Name, set: DesiredSet) {
        self.sets.insert((name, set.rtype), set);
    }

    /// Forgets a wish.
    pub fn remove(&mut self, name: &Name, rtype: RecordType) {
        self.sets.remove(&(name.clone(), rtype));
    }

    /// Whether this very wish was applied before.
    pub fn contains(&self, name: &Name, set: &DesiredSet) -> bool {
        !self.sets.is_empty() && self.sets.get(&(name.clone(), set.rtype)) == Some(set)
    }
}
