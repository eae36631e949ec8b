//! What a zone should hold: one set per name and type, and who wants it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    attribute::Attributes,
    capability::Capabilities,
    holder::{Holder, HolderRef},
    name::Name,
    rdata::{Rdata, RecordType},
    record::Ttl,
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
    /// An object wants the set, and its values are not known now: live records stay (law 5).
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
    reserved: BTreeMap<Name, BTreeSet<Reserved>>,
    shared: BTreeSet<Name>,
    /// Values that refused objects ask for: a claim on a whole set does not say whose they are.
    refused: BTreeSet<(Name, Rdata)>,
    /// Values that objects leave behind when they go.
    left: BTreeSet<(Name, Rdata)>,
    /// Who wants something at a name whose values are not known.
    awaited: BTreeMap<Name, BTreeSet<Holder>>,
}

/// A set that an object of a namespace asks for and can't have now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Reserved {
    namespace: Box<str>,
    /// None where the object does not say it clearly.
    rtype: Option<RecordType>,
    unmet: Unmet,
}

/// Whether a wish that can't be carried out will be, once it is put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unmet {
    /// It was refused for what it asks: what is there stays, without a question.
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

    /// Takes what a provider made of these sets: values, TTL, attributes and comment. What it left out is taken away,
    /// and returned.
    ///
    /// Guarantees: whatever was answered, there is no set at another name, of another type or for other holders.
    pub fn adapt(&mut self, answer: &Self, capabilities: &Capabilities) -> Vec<(Name, DesiredSet)> {
        let mut left_out = Vec::new();
        for (name, sets) in &mut self.names {
            sets.retain_mut(|set| {
                let made = answer.at(name).iter().find(|made| made.rtype == set.rtype);
                let is_taken = made.is_some_and(|made| set.take_over(made));
                match is_taken {
                    true => capabilities.normalise(set),
                    false => left_out.push((name.clone(), set.clone())),
                }
                is_taken
            });
        }
        self.names.retain(|_, sets| !sets.is_empty());
        left_out
    }

    /// Notes that an object of `namespace` asks for a set that it can't have now: what its namespace has there stays.
    pub fn reserve(&mut self, name: Name, rtype: Option<RecordType>, namespace: &str, unmet: Unmet) {
        let reserved = Reserved { namespace: namespace.into(), rtype, unmet };
        self.reserved.entry(name).or_default().insert(reserved);
    }

    /// Notes a value that a refused object asks for.
    pub fn refuse_value(&mut self, name: Name, rdata: Rdata) {
        self.refused.insert((name, rdata));
    }

    /// Whether a refused object asks for this value.
    pub fn is_refused(&self, name: &Name, rdata: &Rdata) -> bool {
        !self.refused.is_empty() && self.refused.contains(&(name.clone(), rdata.clone()))
    }

    /// Notes a value that an object leaves behind when it goes.
    pub fn leave(&mut self, name: Name, rdata: Rdata) {
        self.left.insert((name, rdata));
    }

    /// Whether an object that is going leaves this value behind.
    pub fn is_left(&self, name: &Name, rdata: &Rdata) -> bool {
        !self.left.is_empty() && self.left.contains(&(name.clone(), rdata.clone()))
    }

    /// Notes that several namespaces may hold this name together.
    pub fn share(&mut self, name: Name) {
        self.shared.insert(name);
    }

    /// Whether several namespaces may hold this name together.
    pub fn is_shared(&self, name: &Name) -> bool {
        self.shared.contains(name)
    }

    /// Whether an object asks for something at this name that it can't have now.
    pub fn is_reserved(&self, name: &Name) -> bool {
        self.reserved.contains_key(name)
    }

    /// Whether what `holder` has at this name will be asked for again by an object that has to be put right.
    pub fn is_expected(&self, name: &Name, holder: &HolderRef) -> bool {
        self.reserved_at(name).any(|it| it.unmet == Unmet::Mistaken && it.may_mean(holder))
    }

    /// Whether something at this name is reserved for the namespace of `holder`.
    pub fn is_reserved_for(&self, name: &Name, holder: &HolderRef) -> bool {
        self.reserved_at(name).any(|it| it.may_mean(holder))
    }

    /// Whether records of `holder` at this name stay: an object of its namespace asks for a set there, of a type that
    /// `concerns` them, and can't have it now.
    pub fn keeps(&self, name: &Name, holder: &HolderRef, concerns: impl Fn(RecordType) -> bool) -> bool {
        !crate::mutant::is_on("plan: refused is not reserved")
            && self.reserved_at(name).any(|it| it.rtype.is_none_or(&concerns) && it.may_mean(holder))
    }

    /// Whether some values of this set may belong to an object of one of these namespaces that asks for it and can't
    /// have it now.
    pub fn has_unclear_values(&self, name: &Name, rtype: RecordType, is_one: impl Fn(&str) -> bool) -> bool {
        self.reserved_at(name).any(|it| it.covers(rtype) && is_one(&it.namespace))
    }

    fn reserved_at(&self, name: &Name) -> impl Iterator<Item = &Reserved> {
        self.reserved.get(name).into_iter().flatten()
    }

    /// Notes that an object's values at a name are not known: what it has there stays, and stops no other object.
    pub fn wait_for(&mut self, name: Name, holder: Holder) {
        self.awaited.entry(name).or_default().insert(holder);
    }

    /// Those whose values at a name are not known.
    pub fn awaited(&self, name: &Name) -> impl Iterator<Item = &Holder> {
        self.awaited.get(name).into_iter().flatten()
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

// === impl DesiredSet ===

impl DesiredSet {
    /// Becomes what a provider made of it, unless that has no values.
    fn take_over(&mut self, made: &Self) -> bool {
        if let (Values::Known(own), Values::Known(made)) = (&self.values, &made.values) {
            let holder_of = |value: &Wanted| {
                let own = own.iter().find(|own| own.rdata == value.rdata).map(|own| &own.holder);
                own.or(self.holders.first()).unwrap_or(&value.holder).clone()
            };
            let made = made.iter().filter(|value| value.rdata.rtype() == self.rtype);
            let mut values: Vec<Wanted> =
                made.map(|value| Wanted { rdata: value.rdata.clone(), holder: holder_of(value) }).collect();
            values.sort();
            values.dedup();
            if values.is_empty() {
                return false;
            }
            self.values = Values::Known(values);
        }
        self.ttl = made.ttl;
        self.attributes = made.attributes.clone();
        self.comment = made.comment.clone();
        true
    }
}

// === impl Reserved ===

impl Reserved {
    fn covers(&self, rtype: RecordType) -> bool {
        self.rtype.is_none_or(|wanted| wanted == rtype)
    }

    /// Whether the holder may be of the namespace that it is reserved for.
    fn may_mean(&self, holder: &HolderRef) -> bool {
        match holder {
            HolderRef::Full(holder) => *holder.namespace() == *self.namespace,
            HolderRef::Hash(_) | HolderRef::Unnamed => true,
        }
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
