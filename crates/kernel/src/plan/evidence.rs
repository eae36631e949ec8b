//! What counts as evidence that a record is wanted no more, and what was applied before.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    desired::{Desired, DesiredSet, Values},
    holder::{Holder, HolderHashes, HolderRef},
    name::Name,
    plan::Scope,
    rdata::{Rdata, RecordType},
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
    /// What was seen in a cluster, place by place: who gives up one record may keep another.
    Seen {
        /// What becomes of a holder's records in one set.
        fates: BTreeMap<(Name, RecordType), Vec<(HolderRef, Fate)>>,
        /// It is not known yet what these give up, at any name.
        awaited: Seen,
    },
}

/// What becomes of records that their holder does not ask for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The holder is gone, or wants something else: they may go.
    Released,
    /// The holder is going, and leaves them behind: they stay, and are ours no more.
    Retained,
    /// It is not known yet: they stay, and are no orphans.
    Awaited,
}

/// Some holders, found by their name or by its hash.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    holders: BTreeSet<Holder>,
    hashes: HolderHashes,
}

/// The wishes that were applied before in exactly this form: what differs from them now is drift.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    sets: BTreeMap<(Name, RecordType), DesiredSet>,
    /// Sets that are no longer wanted as they were: who had which value, where a marker does not say it.
    former: BTreeMap<(Name, RecordType), DesiredSet>,
}

// === impl Evidence ===

impl Evidence {
    /// Evidence from a cluster: what becomes of these holders' records in these sets.
    pub fn seen(found: impl IntoIterator<Item = (Name, RecordType, HolderRef, Fate)>) -> Self {
        let mut fates: BTreeMap<(Name, RecordType), Vec<(HolderRef, Fate)>> = BTreeMap::new();
        for (name, rtype, holder, fate) in found {
            fates.entry((name, rtype)).or_default().push((holder, fate));
        }
        Self::Seen { fates, awaited: Seen::default() }
    }

    /// The same, and it is not known yet what these holders give up.
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

    /// Whether it is the whole wish of one author, who may have moved an object to another namespace.
    pub fn is_complete(&self) -> bool {
        matches!(self, Self::Complete { .. })
    }

    /// Whether a record of this name and type that `holder` holds may go.
    pub fn releases(&self, place: (&Name, RecordType), holder: &HolderRef) -> bool {
        match self {
            Self::Complete { .. } if crate::mutant::is_on("evidence: all of a folder") => true,
            Self::Complete { orphaned, awaited } => !orphaned.contain(holder) && !awaited.contain(holder),
            Self::Seen { .. } if crate::mutant::is_on("evidence: absence") => true,
            Self::Seen { fates, .. } => fate(fates, place, holder) == Some(Fate::Released),
        }
    }

    /// Whether it stays without being an orphan.
    pub fn awaits(&self, place: (&Name, RecordType), holder: &HolderRef) -> bool {
        match self {
            Self::Complete { awaited, .. } => awaited.contain(holder),
            Self::Seen { fates, awaited } => {
                awaited.contain(holder) || fate(fates, place, holder) == Some(Fate::Awaited)
            }
        }
    }

    /// Whether it stays, and is ours no more.
    pub fn retains(&self, place: (&Name, RecordType), holder: &HolderRef) -> bool {
        match self {
            Self::Complete { .. } => false,
            Self::Seen { fates, .. } => fate(fates, place, holder) == Some(Fate::Retained),
        }
    }
}

/// Where two testimonies on one holder disagree, the one that keeps more counts.
fn fate(
    fates: &BTreeMap<(Name, RecordType), Vec<(HolderRef, Fate)>>,
    (name, rtype): (&Name, RecordType),
    holder: &HolderRef,
) -> Option<Fate> {
    if fates.is_empty() {
        return None;
    }
    let here = fates.get(&(name.clone(), rtype))?.iter().filter(|(named, _)| named == holder);
    here.map(|(_, fate)| *fate).max_by_key(|fate| match fate {
        Fate::Released => 0,
        Fate::Retained => 1,
        Fate::Awaited => 2,
    })
}

// === impl Seen ===

impl Seen {
    fn new(refs: impl IntoIterator<Item = HolderRef>) -> Self {
        let mut seen = Self::default();
        for holder in refs {
            match holder {
                HolderRef::Full(holder) => {
                    seen.hashes.insert(&holder);
                    seen.holders.insert(holder);
                }
                HolderRef::Hash(hash) => seen.hashes.insert_hash(&hash),
                HolderRef::Unnamed => {}
            }
        }
        seen
    }

    fn contain(&self, holder: &HolderRef) -> bool {
        match holder {
            HolderRef::Full(holder) => self.holders.contains(holder),
            HolderRef::Hash(hash) => self.hashes.contains(hash),
            HolderRef::Unnamed => false,
        }
    }
}

// === impl Settled ===

impl Settled {
    /// Remembers that a wish was applied.
    pub fn insert(&mut self, name: Name, set: DesiredSet) {
        let place = (name, set.rtype);
        self.former.remove(&place);
        self.sets.insert(place, set);
    }

    /// Forgets the wishes at some names that left, or are not what they were: what is asked for again later is a new
    /// wish, though it looks like the old one. A wish whose values are not known now has not changed.
    pub fn forget_all_but(&mut self, desired: &Desired, scope: Scope<'_>) {
        let is_same = |(name, rtype): &(Name, RecordType), set: &DesiredSet| {
            let wish = desired.at(name).iter().find(|wish| wish.rtype == *rtype);
            wish.is_some_and(|wish| wish == set || wish.values == Values::Unknown)
        };
        let left: Vec<(Name, RecordType)> = match scope {
            Scope::Zone => {
                self.sets.iter().filter(|(at, set)| !is_same(at, set)).map(|(at, _)| at.clone()).collect()
            }
            Scope::Names(names) => names
                .iter()
                .flat_map(|name| self.at(name))
                .filter(|(at, set)| !is_same(at, set))
                .map(|(at, _)| at.clone())
                .collect(),
        };
        for place in left {
            if let Some(set) = self.sets.remove(&place) {
                self.former.insert(place, set);
            }
        }
    }

    /// Forgets who wanted a set: it is gone.
    pub fn bury(&mut self, name: &Name, rtype: RecordType) {
        if !self.former.is_empty() {
            self.former.remove(&(name.clone(), rtype));
        }
    }

    /// The holder in full that a marker names by its hash, where it wanted this set before.
    pub fn former_holder(&self, name: &Name, rtype: RecordType, named: &HolderRef) -> Option<&Holder> {
        if self.former.is_empty() {
            return None;
        }
        self.former.get(&(name.clone(), rtype))?.holders.iter().find(|holder| named.names(holder))
    }

    fn at(&self, name: &Name) -> impl Iterator<Item = (&(Name, RecordType), &DesiredSet)> {
        let first = (name.clone(), RecordType::from_code(0));
        self.sets.range(first..).take_while(move |((other, _), _)| other == name)
    }

    /// Whether a value was applied before, for a holder that is one of these.
    pub fn has_value_of(&self, name: &Name, value: &Rdata, is_it: impl Fn(&Holder) -> bool) -> bool {
        let place = (name.clone(), value.rtype());
        let sets = [self.sets.get(&place), self.former.get(&place)];
        sets.into_iter().flatten().any(|set| match &set.values {
            Values::Known(values) => {
                values.iter().any(|wanted| wanted.rdata == *value && is_it(&wanted.holder))
            }
            Values::Unknown => false,
        })
    }

    /// Whether this very wish was applied before.
    pub fn contains(&self, name: &Name, set: &DesiredSet) -> bool {
        !self.sets.is_empty() && self.sets.get(&(name.clone(), set.rtype)) == Some(set)
    }
}
