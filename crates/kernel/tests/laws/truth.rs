//! What the generator knows of a zone: who wrote each record, who wants what, and who was seen to go.
//!
//! Laws are judged by this and never by what the kernel makes of it.

use std::collections::BTreeSet;

use zonekeeper_kernel::{
    capability::Capabilities,
    claim::Known,
    desired::{Adoption, Desired},
    holder::{Holder, HolderRef},
    marker::Registry,
    name::Name,
    plan::{Evidence, Fate, Settled, Situation},
    rdata::RecordType,
    record::LiveRecord,
    zone::Rules,
};

use crate::{
    forge::{self, Shape, digest},
    model::{Neighbours, Zone, exclude},
};

/// The objects of these zones: two of one namespace, one each of two others.
pub const HOLDERS: [&str; 4] =
    ["recordset/a/one", "ingress/a/two", "recordset/b/one", "httproute/c/with-a-name-that-needs-room"];

pub const TYPES: [RecordType; 6] =
    [RecordType::A, RecordType::AAAA, RecordType::CNAME, RecordType::TXT, RecordType::MX, RecordType::NS];

pub const NAMES: [&str; 7] = [
    "example.com",
    "www.example.com",
    "api.example.com",
    "*.example.com",
    "a.b.example.com",
    "_acme-challenge.example.com",
    // Where the marker of `www A` lies, as ExternalDNS comes.
    "a-www.example.com",
];

/// Whose a live record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Ours: we, or an owner that we took over from, wrote its marker at this name and type, or memory knows it there.
    Ours(Held),
    /// Marked by another owner, or with a marker that is forged or was copied from another name or type.
    Theirs,
    /// Without a marker, and not remembered at this name and type.
    Free,
    /// A TXT record that says whose another one is.
    Marker { is_ours: bool },
    /// The text of a marker, at a name where it speaks for nothing.
    Stray,
    /// Written by the plan under test.
    Written,
}

/// For whom a record of ours was written; none where nothing says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub holder: Option<usize>,
    pub is_hashed: bool,
}

/// A live record and the truth about it.
#[derive(Debug, Clone)]
pub struct Placed {
    pub name: Name,
    pub record: LiveRecord,
    pub whose: Whose,
}

/// A set that is wanted, and by whom.
#[derive(Debug, Clone)]
pub struct Wished {
    pub name: Name,
    pub rtype: RecordType,
    pub holders: Vec<usize>,
    pub adoption: Adoption,
    /// Whether nobody can say at the moment what its values are.
    pub is_unknown: bool,
    pub is_settled: bool,
}

/// What was seen of the objects that hold something.
#[derive(Debug, Clone)]
pub enum Given {
    /// The whole wish of an owner, but for some objects.
    Complete { orphaned: BTreeSet<usize>, awaited: BTreeSet<usize> },
    /// Object by object and set by set.
    Seen { dice: u64, awaited: BTreeSet<usize> },
}

/// Everything a law looks at.
#[derive(Debug, Clone)]
pub struct Case {
    pub shape: Shape,
    pub registry: Registry,
    pub capabilities: Capabilities,
    pub records: Vec<Placed>,
    pub desired: Desired,
    pub wishes: Vec<Wished>,
    /// Names where an object of a namespace asks for something that it can't have now.
    pub reserved: Vec<(Name, Option<RecordType>, &'static str)>,
    pub known: Known,
    pub rules: Rules,
    pub given: Given,
    pub evidence: Evidence,
    pub settled: Settled,
}

pub fn names() -> Vec<Name> {
    NAMES.iter().map(|text| Name::parse(text).unwrap()).collect()
}

pub fn holder(index: usize) -> Holder {
    Holder::from_text(HOLDERS[index])
}

pub fn namespace(index: usize) -> &'static str {
    HOLDERS[index].split('/').nth(1).unwrap()
}

/// All ways in which a marker can name an object.
pub fn references(index: usize) -> [(HolderRef, bool); 3] {
    let hash = |length| HolderRef::Hash(digest(HOLDERS[index], length).into());
    [(HolderRef::Full(holder(index)), false), (hash(forge::HASH), true), (hash(forge::OLD_HASH), true)]
}

// === impl Whose ===

impl Whose {
    /// Whether it is what people ask for, and no marker.
    pub fn is_data(self) -> bool {
        match self {
            Self::Ours(_) | Self::Theirs | Self::Free | Self::Written => true,
            Self::Marker { .. } | Self::Stray => false,
        }
    }
}

// === impl Given ===

impl Given {
    /// What becomes of a record that its holder does not ask for now; none: nobody knows.
    pub fn fate(&self, (name, rtype): (&Name, RecordType), held: Held) -> Option<Fate> {
        match (self, held.holder) {
            (Self::Complete { .. }, None) => Some(Fate::Released),
            (Self::Complete { awaited, .. }, Some(holder)) if awaited.contains(&holder) => {
                Some(Fate::Awaited)
            }
            (Self::Complete { orphaned, .. }, Some(holder)) => {
                (!orphaned.contains(&holder)).then_some(Fate::Released)
            }
            (Self::Seen { .. }, None) => None,
            (Self::Seen { awaited, .. }, Some(holder)) if awaited.contains(&holder) => Some(Fate::Awaited),
            (Self::Seen { dice, .. }, Some(holder)) => {
                let one = NAMES.iter().position(|text| *text == name.as_str()).unwrap();
                let two = TYPES.iter().position(|other| *other == rtype).unwrap();
                let turn = holder * 31 + one * 7 + two * 3 + usize::from(held.is_hashed) * 13;
                match dice.rotate_right((turn % 64) as u32) & 7 {
                    0 => Some(Fate::Retained),
                    1 => Some(Fate::Awaited),
                    2 | 3 => None,
                    _most => Some(Fate::Released),
                }
            }
        }
    }

    /// The same as the kernel is told, for the sets that are there.
    pub fn evidence(&self, places: &BTreeSet<(Name, RecordType)>) -> Evidence {
        let refs = |holders: &BTreeSet<usize>| -> Vec<HolderRef> {
            holders.iter().map(|index| HolderRef::Full(holder(*index))).collect()
        };
        match self {
            Self::Complete { orphaned, awaited } => {
                Evidence::complete_but(refs(orphaned)).awaiting(refs(awaited))
            }
            Self::Seen { awaited, .. } => {
                let mut fates = Vec::new();
                for index in (0..HOLDERS.len()).filter(|index| !awaited.contains(index)) {
                    for (reference, is_hashed) in references(index) {
                        let held = Held { holder: Some(index), is_hashed };
                        for (name, rtype) in places {
                            let fate = self.fate((name, *rtype), held);
                            fates.extend(fate.map(|fate| (name.clone(), *rtype, reference.clone(), fate)));
                        }
                    }
                }
                Evidence::seen(fates).awaiting(refs(awaited))
            }
        }
    }
}

// === impl Case ===

impl Case {
    pub fn zone(&self) -> Zone {
        Zone::new(&self.registry, &self.capabilities, &self.records)
    }

    pub fn situation<'a>(&'a self, zone: &'a Zone) -> Situation<'a> {
        Situation {
            desired: &self.desired,
            live: &zone.live,
            registry: &self.registry,
            known: &self.known,
            rules: &self.rules,
            capabilities: &self.capabilities,
            evidence: &self.evidence,
            settled: &self.settled,
        }
    }

    pub fn wish(&self, name: &Name, rtype: RecordType) -> Option<&Wished> {
        self.wishes.iter().find(|wish| wish.name == *name && wish.rtype == rtype)
    }

    pub fn wants(&self, name: &Name) -> impl Iterator<Item = &Wished> {
        self.wishes.iter().filter(move |wish| wish.name == *name)
    }

    /// Whether the object for which a record was written asks for that set now.
    pub fn holder_wants(&self, name: &Name, rtype: RecordType, held: Held) -> bool {
        self.wish(name, rtype).is_some_and(|wish| held.holder.is_some_and(|one| wish.holders.contains(&one)))
    }

    pub fn fate(&self, name: &Name, rtype: RecordType, held: Held) -> Option<Fate> {
        self.given.fate((name, rtype), held)
    }

    /// Whether an object of the namespace that a record is for can't have what it asks for at this name: the set
    /// itself, or one of any type.
    pub fn is_reserved_for(&self, name: &Name, rtype: Option<RecordType>, held: Held) -> bool {
        let of = held.holder.filter(|_| !held.is_hashed).map(namespace);
        // One author may have moved an object to another namespace, which wants nothing else there then.
        let is_one_author = matches!(self.given, Given::Complete { .. });
        let wants_more =
            |of: &str| self.wants(name).any(|wish| wish.holders.iter().any(|one| namespace(*one) == of));
        let namespace = of.filter(|of| !is_one_author || wants_more(of));
        let mut reserved = self.reserved.iter().filter(|(other, ..)| other == name);
        reserved.any(|(_, of, by)| {
            // Where only a hash is known, it may be anybody's.
            namespace.is_none_or(|namespace| namespace == *by)
                && of.is_none_or(|of| rtype.is_none_or(|rtype| self.concern(name, of, rtype)))
        })
    }

    /// Whether a set can't be had without touching another.
    fn concern(&self, name: &Name, one: RecordType, other: RecordType) -> bool {
        one == other || exclude(Neighbours::of(&self.capabilities), name, one, other)
    }

    /// Whether somebody who is going leaves records there to whoever comes: then the claim alone goes.
    pub fn is_left(&self, name: &Name, rtype: RecordType) -> bool {
        self.records.iter().any(|placed| {
            placed.name == *name
                && placed.record.rdata.rtype() == rtype
                && matches!(placed.whose, Whose::Ours(held) if self.fate(name, rtype, held) == Some(Fate::Retained))
        })
    }
}
