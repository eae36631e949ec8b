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
    Complete {
        /// But these may not have any more what they hold: only a person can say that it goes.
        orphaned: Seen,
        /// But these are there and could not be understood or served: theirs stays, and is no orphan.
        awaited: Seen,
    },
    /// What was seen in a cluster.
    Seen {
        /// These are gone, or want something else: theirs may go.
        released: Seen,
        /// These are going, and leave theirs to whoever comes: it stays, and is ours no more.
        retained: Seen,
        /// These are there, and what they hold is neither wanted nor given up yet: it stays, and is no orphan.
        awaited: Seen,
    },
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
    pub fn seen(holders: impl IntoIterator<Item = HolderRef>) -> Self {
        Self::Seen { released: Seen::new(holders), retained: Seen::default(), awaited: Seen::default() }
    }

    /// The same, and these holders are going without what they hold.
    pub fn retaining(mut self, holders: impl IntoIterator<Item = HolderRef>) -> Self {
        if let Self::Seen { retained, .. } = &mut self {
            *retained = Seen::new(holders);
        }
        self
    }

    /// The same, and of these holders nobody can say yet what they give up.
    pub fn awaiting(mut self, holders: impl IntoIterator<Item = HolderRef>) -> Self {
        match &mut self {
            Self::Complete { awaited, .. } | Self::Seen { awaited, .. } => *awaited = Seen::new(holders),
        }
        self
    }

    /// Evidence from a folder that is the whole wish of its owner id.
    pub fn complete() -> Self {
        Self::complete_but([])
    }

    /// The same, but these holders are there, and may not have any more what they hold.
    pub fn complete_but(holders: impl IntoIterator<Item = HolderRef>) -> Self {
        Self::Complete { orphaned: Seen::new(holders), awaited: Seen::default() }
    }

    /// Whether a record held by `holder` may go.
    pub fn releases(&self, holder: &HolderRef) -> bool {
        match self {
            Self::Complete { orphaned, awaited } => !orphaned.contain(holder) && !awaited.contain(holder),
            Self::Seen { released, .. } => released.contain(holder),
        }
    }

    /// Whether a record held by `holder` stays without being an orphan.
    pub fn awaits(&self, holder: &HolderRef) -> bool {
        match self {
            Self::Complete { awaited, .. } | Self::Seen { awaited, .. } => awaited.contain(holder),
        }
    }

    /// Whether a record held by `holder` stays, and is ours no more.
    pub fn retains(&self, holder: &HolderRef) -> bool {
        match self {
            Self::Complete { .. } => false,
            Self::Seen { retained, .. } => retained.contain(holder),
        }
    }
}

// === impl Seen ===

impl Seen {
    fn new(refs: impl IntoIterator<Item = HolderRef>) -> Self {
        let mut seen = Self::default();
        for holder in refs {
            match holder {
                HolderRef::Full(holder) => {
                    seen.hashes.insert(holder.hash());
                    seen.holders.insert(holder);
                }
                HolderRef::Hash(hash) => drop(seen.hashes.insert(hash.into())),
                HolderRef::Nobody => {}
            }
        }
        seen
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
