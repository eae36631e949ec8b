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
    /// What was seen in a cluster.
    Seen(Seen),
}

/// Holders that were seen deleted, or read and found to want something else.
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
        let holders: BTreeSet<Holder> = holders.into_iter().collect();
        let hashes = holders.iter().map(Holder::hash).collect();
        Self::Seen(Seen { holders, hashes })
    }

    /// Whether a record held by `holder` may go.
    pub fn releases(&self, holder: &HolderRef) -> bool {
        match (self, holder) {
            (Self::Complete, _) => true,
            (Self::Seen(seen), HolderRef::Full(holder)) => seen.holders.contains(holder),
            (Self::Seen(seen), HolderRef::Hash(hash)) => seen.hashes.contains(&**hash),
            (Self::Seen(_), HolderRef::Nobody) => false,
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
