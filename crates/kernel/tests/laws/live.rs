//! Live records in all the ways in which they can be ours, another owner's, forged, copied or unmarked.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select};
use zonekeeper_kernel::{
    attribute::{Attributes, PROXIED},
    claim::Known,
    name::Name,
    rdata::{Rdata, RecordType},
    record::{LiveRecord, RecordId, Ttl},
};

use crate::{
    forge::{self, Hand, PLAIN, Shape, TxtShape, digest},
    generate::{Keys, Registered, may_hold, rdata, some_holder},
    model::{Neighbours, exclude},
    truth::{HOLDERS, Held, NAMES, Placed, TYPES, Whose, holder, names},
};

const OLD: Hand = Hand { owner: "old", key: Some(b"old key") };
const OTHER: Hand = Hand { owner: "other", key: Some(b"key") };
const FORGER: Hand = Hand { owner: "us", key: Some(b"guess") };

/// How a comment names its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Full,
    Hash,
    OldHash,
}

/// The marker of one record, in its comment.
#[derive(Debug, Clone, Copy)]
enum Mark {
    None,
    Ours(usize, Spelling),
    Previous(usize),
    Old(usize),
    Other,
    Forged,
    Unsigned(usize),
    CopiedFromName(usize),
    CopiedFromType(usize),
}

/// The marker of a whole set, beside it.
#[derive(Debug, Clone, Copy)]
enum SetMark {
    None,
    Ours(usize),
    Previous(usize),
    Old(usize),
    Other,
    Forged,
    Copied(usize),
    Both(usize),
}

/// What a status, or this process, remembers of a record's id.
#[derive(Debug, Clone, Copy)]
enum Memory {
    Nothing,
    Here(usize),
    /// It was renamed since.
    AtAnotherName(usize),
    /// It was made another type since.
    OfAnotherType(usize),
}

#[derive(Debug, Clone)]
struct RawValue {
    variant: usize,
    mark: Mark,
    is_read_only: bool,
    memory: Memory,
}

/// A live set.
#[derive(Debug, Clone)]
pub struct RawSet {
    place: (usize, usize),
    values: Vec<RawValue>,
    mark: SetMark,
    ttl: u32,
    is_proxied: bool,
}

/// A marker that stands for no type, or a copy of one.
#[derive(Debug, Clone)]
pub struct Untyped {
    name: usize,
    author: Author,
}

#[derive(Debug, Clone, Copy)]
enum Author {
    Us(usize),
    Other,
    /// Somebody copies the text of a marker of ours that stands elsewhere.
    Copier(usize),
}

fn mark() -> impl Strategy<Value = Mark> {
    let spelling = select(vec![Spelling::Full, Spelling::Full, Spelling::Hash, Spelling::OldHash]);
    prop_oneof![
        5 => (some_holder(), spelling).prop_map(|(holder, spelling)| Mark::Ours(holder, spelling)),
        1 => some_holder().prop_map(Mark::Previous),
        1 => some_holder().prop_map(Mark::Old),
        1 => Just(Mark::Other),
        1 => Just(Mark::Forged),
        1 => some_holder().prop_map(Mark::Unsigned),
        1 => some_holder().prop_map(Mark::CopiedFromName),
        1 => some_holder().prop_map(Mark::CopiedFromType),
        3 => Just(Mark::None),
    ]
}

fn set_mark() -> impl Strategy<Value = SetMark> {
    prop_oneof![
        5 => some_holder().prop_map(SetMark::Ours),
        1 => some_holder().prop_map(SetMark::Previous),
        1 => some_holder().prop_map(SetMark::Old),
        1 => Just(SetMark::Other),
        1 => Just(SetMark::Forged),
        1 => some_holder().prop_map(SetMark::Copied),
        1 => some_holder().prop_map(SetMark::Both),
        3 => Just(SetMark::None),
    ]
}

fn memory() -> impl Strategy<Value = Memory> {
    prop_oneof![
        4 => Just(Memory::Nothing),
        2 => some_holder().prop_map(Memory::Here),
        1 => some_holder().prop_map(Memory::AtAnotherName),
        1 => some_holder().prop_map(Memory::OfAnotherType),
    ]
}

pub fn live_sets() -> impl Strategy<Value = Vec<RawSet>> {
    let value = (0..3_usize, mark(), prop::bool::weighted(0.06), memory())
        .prop_map(|(variant, mark, is_read_only, memory)| RawValue { variant, mark, is_read_only, memory });
    let set = (
        (0..NAMES.len(), 0..TYPES.len()),
        vec(value, 0..3),
        set_mark(),
        select(vec![1, 300, 600]),
        prop::bool::weighted(0.2),
    );
    vec(
        set.prop_map(|(place, values, mark, ttl, is_proxied)| RawSet {
            place,
            values,
            mark,
            ttl,
            is_proxied,
        }),
        0..7,
    )
}

pub fn untyped() -> impl Strategy<Value = Vec<Untyped>> {
    let author = prop_oneof![
        2 => some_holder().prop_map(Author::Us),
        1 => Just(Author::Other),
        2 => some_holder().prop_map(Author::Copier),
    ];
    // All names but the one that is a marker's itself.
    let one = (0..NAMES.len() - 1, author).prop_map(|(name, author)| Untyped { name, author });
    prop_oneof![2 => Just(Vec::new()), 1 => vec(one, 1..3)]
}

/// A zone as it is built up.
struct Builder<'a> {
    registered: &'a Registered,
    placed: Vec<Placed>,
    ids: Vec<(Name, RecordType, RecordId, usize)>,
}

/// The records of a zone with the truth about each, and what is remembered of their ids.
pub fn live_records(registered: &Registered, sets: &[RawSet], untyped: &[Untyped]) -> (Vec<Placed>, Known) {
    let mut builder = Builder { registered, placed: Vec::new(), ids: Vec::new() };
    let mut seen = BTreeSet::new();
    let mut untyped_names = BTreeSet::new();
    let untyped: Vec<(Name, Author)> = untyped
        .iter()
        .filter(|one| untyped_names.insert(one.name))
        .filter_map(|one| builder.untyped(&names()[one.name], one.author))
        .collect();
    for set in sets {
        let (name, rtype) = (names()[set.place.0].clone(), TYPES[set.place.1]);
        if seen.insert(set.place) && may_hold(registered, &name, rtype) {
            builder.set(&name, rtype, set, &untyped);
        }
    }
    let known = match registered.is_all_ours {
        true => Known::Everything,
        false => known(builder.ids),
    };
    (builder.placed, known)
}

/// What memory knows: ids, each where it was written.
fn known(ids: Vec<(Name, RecordType, RecordId, usize)>) -> Known {
    Known::Ids(ids.into_iter().map(|(name, rtype, id, index)| (id, (name, rtype), holder(index))).collect())
}

// === impl RawSet ===

impl RawSet {
    pub fn place(&self) -> (Name, RecordType) {
        (names()[self.place.0].clone(), TYPES[self.place.1])
    }
}

// === impl Builder ===

impl Builder<'_> {
    /// Puts a record where the provider takes it.
    fn put(&mut self, name: &Name, record: LiveRecord, whose: Whose) -> Option<RecordId> {
        let rtype = record.rdata.rtype();
        let neighbours = Neighbours::of(&self.registered.capabilities);
        let refuses = |other: &Placed| {
            other.name == *name
                && (other.record.rdata == record.rdata
                    || (rtype == RecordType::CNAME && other.record.rdata.rtype() == rtype)
                    || exclude(neighbours, name, other.record.rdata.rtype(), rtype))
        };
        if self.placed.iter().any(refuses) {
            return None;
        }
        let id = RecordId(format!("r{}", self.placed.len()).into());
        self.placed.push(Placed {
            name: name.clone(),
            record: LiveRecord { id: id.clone(), ..record },
            whose,
        });
        Some(id)
    }

    fn put_marker(&mut self, at: &Name, value: Rdata, whose: Whose) -> bool {
        let ttl = self.registered.capabilities.default_ttl;
        self.put(at, record(value, ttl.0, false, String::new()), whose).is_some()
    }

    /// A marker for all types of a name; says whose it is where that is worth something.
    fn untyped(&mut self, name: &Name, author: Author) -> Option<(Name, Author)> {
        let us = self.registered.us();
        let place = (name, RecordType::A);
        let elsewhere = Name::parse("mine.example.com").unwrap();
        let (shape, is_strict) = match &self.registered.shape {
            Shape::Txt(shape) => (shape.clone(), shape.is_strict()),
            Shape::Comment { .. } => (PLAIN, false),
            Shape::None => return None,
        };
        let has_comments = matches!(self.registered.shape, Shape::Comment { .. });
        let at = shape.untyped(name).filter(|at| !is_a_place(&shape, at))?;
        let (value, whose) = match (author, is_strict) {
            (Author::Us(_) | Author::Copier(_), _) if has_comments => return None,
            (Author::Us(index), true) => (shape.value(us, place, HOLDERS[index]), Whose::Stray),
            (Author::Us(index), false) => {
                (shape.value(us, place, HOLDERS[index]), Whose::Marker { is_ours: true })
            }
            (Author::Copier(index), true) => {
                (shape.value(us, (&elsewhere, RecordType::A), HOLDERS[index]), Whose::Stray)
            }
            // Where nothing proves anything, no wish can have such a value.
            (Author::Copier(_), false) | (Author::Other, true) => return None,
            // Among comments it is a record like others.
            (Author::Other, false) if has_comments => (shape.value(OTHER, place, HOLDERS[0]), Whose::Theirs),
            (Author::Other, false) => {
                (shape.value(OTHER, place, HOLDERS[0]), Whose::Marker { is_ours: false })
            }
        };
        let is_stray = whose == Whose::Stray;
        (self.put_marker(&at, value, whose) && !is_stray).then(|| (name.clone(), author))
    }

    fn set(&mut self, name: &Name, rtype: RecordType, set: &RawSet, untyped: &[(Name, Author)]) {
        let claim = self.mark(name, rtype, set.mark).or_else(|| {
            let (_, author) = untyped.iter().find(|(other, _)| other == name)?;
            match author {
                Author::Other => (rtype != RecordType::AAAA).then_some(Whose::Theirs),
                Author::Us(index) => {
                    matches!(rtype, RecordType::A | RecordType::CNAME).then(|| ours(*index, Spelling::Full))
                }
                Author::Copier(_) => None,
            }
        });
        let has_comments = self.registered.capabilities.comment_limit.is_some();
        let is_proxiable = matches!(rtype, RecordType::A | RecordType::AAAA | RecordType::CNAME);
        let is_proxied = set.is_proxied && has_comments && is_proxiable;
        let is_automatic = is_proxied || (set.ttl == 1 && has_comments);
        let ttl = if is_automatic { 1 } else { set.ttl.max(300) };
        for value in &set.values {
            let (comment, marked) =
                if has_comments { self.comment(name, rtype, value.mark) } else { Default::default() };
            let whose = match &self.registered.shape {
                Shape::Comment { .. } => marked.or(claim),
                Shape::Txt(_) => claim.or(marked),
                Shape::None => None,
            };
            let whose = whose.unwrap_or(match value.memory {
                _ if self.registered.is_all_ours => Whose::Ours(Held { holder: None, is_hashed: false }),
                Memory::Here(index) => ours(index, Spelling::Full),
                Memory::Nothing | Memory::AtAnotherName(_) | Memory::OfAnotherType(_) => Whose::Free,
            });
            let mut live = record(rdata(rtype, value.variant), ttl, is_proxied, comment);
            live.read_only = value.is_read_only;
            if let Some(id) = self.put(name, live, whose) {
                self.remember(name, rtype, id, value.memory);
            }
        }
    }

    fn remember(&mut self, name: &Name, rtype: RecordType, id: RecordId, memory: Memory) {
        let next = |index: usize| names()[(index + 1) % NAMES.len()].clone();
        let at = NAMES.iter().position(|text| *text == name.as_str()).unwrap();
        let of = TYPES.iter().position(|other| *other == rtype).unwrap();
        self.ids.extend(match memory {
            Memory::Nothing => None,
            Memory::Here(index) => Some((name.clone(), rtype, id, index)),
            Memory::AtAnotherName(index) => Some((next(at), rtype, id, index)),
            Memory::OfAnotherType(index) => Some((name.clone(), TYPES[(of + 1) % TYPES.len()], id, index)),
        });
    }

    /// A comment, and whose it makes its record.
    fn comment(&self, name: &Name, rtype: RecordType, mark: Mark) -> (String, Option<Whose>) {
        let us = self.registered.us();
        let has_key = us.key.is_some();
        let write = |hand: Hand, place: (&Name, RecordType), holder: &str| {
            forge::comment(hand, place, holder, "text")
        };
        let is_form = matches!(self.registered.shape, Shape::Comment { .. });
        let (place, elsewhere) = ((name, rtype), Name::parse("mine.example.com").unwrap());
        let other_type = if rtype == RecordType::A { RecordType::AAAA } else { RecordType::A };
        let proved = |index| if has_key { Whose::Theirs } else { ours(index, Spelling::Full) };
        let (comment, whose) = match mark {
            Mark::None => return ("text".into(), None),
            Mark::Other => return (write(OTHER, place, HOLDERS[0]), Some(Whose::Theirs)),
            // In a zone with TXT markers, what we wrote in comments before says nothing.
            Mark::Ours(index, _) if !is_form => return (write(us, place, HOLDERS[index]), None),
            _ if !is_form => return (String::new(), None),
            Mark::Ours(index, spelling) => {
                (write(us, place, &spelled(index, spelling)), ours(index, spelling))
            }
            Mark::Previous(index) => {
                let key: Option<&[u8]> =
                    if self.registered.keys == Keys::Two { Some(b"before") } else { us.key };
                (write(Hand { key, ..us }, place, HOLDERS[index]), ours(index, Spelling::Full))
            }
            Mark::Old(index) => (write(OLD, place, HOLDERS[index]), ours(index, Spelling::Full)),
            Mark::Forged => (write(FORGER, place, HOLDERS[0]), Whose::Theirs),
            Mark::Unsigned(index) => (write(Hand { key: None, ..us }, place, HOLDERS[index]), proved(index)),
            Mark::CopiedFromName(index) => (write(us, (&elsewhere, rtype), HOLDERS[index]), proved(index)),
            Mark::CopiedFromType(index) => (write(us, (name, other_type), HOLDERS[index]), proved(index)),
        };
        (comment, Some(whose))
    }

    /// Writes the marker of a set, with data or without, and says whose it makes it.
    fn mark(&mut self, name: &Name, rtype: RecordType, mark: SetMark) -> Option<Whose> {
        let us = self.registered.us();
        let shape = match (&self.registered.shape, mark) {
            (Shape::Txt(shape), _) => shape.clone(),
            // ExternalDNS may be at work in a zone with comment markers, too.
            (Shape::Comment { .. }, SetMark::Other) => PLAIN,
            (Shape::Comment { .. } | Shape::None, _) => return None,
        };
        let (at, place) = (shape.typed(name, rtype), (name, rtype));
        let elsewhere = Name::parse("mine.example.com").unwrap();
        let other = || shape.value(OTHER, place, HOLDERS[0]);
        let mine = Whose::Marker { is_ours: true };
        let not_mine = match self.registered.shape {
            Shape::Comment { .. } => Whose::Theirs,
            Shape::Txt(_) | Shape::None => Whose::Marker { is_ours: false },
        };
        let (value, marker, whose) = match mark {
            SetMark::None => return None,
            SetMark::Ours(index) => {
                (shape.value(us, place, HOLDERS[index]), mine, ours(index, Spelling::Full))
            }
            SetMark::Previous(index) => {
                let key: Option<&[u8]> =
                    if self.registered.keys == Keys::Two { Some(b"before") } else { us.key };
                let value = shape.value(Hand { key, ..us }, place, HOLDERS[index]);
                (value, mine, ours(index, Spelling::Full))
            }
            SetMark::Old(index) => (
                shape.value(Hand { key: None, ..OLD }, place, HOLDERS[index]),
                mine,
                ours(index, Spelling::Full),
            ),
            SetMark::Other => (other(), not_mine, Whose::Theirs),
            SetMark::Forged if shape.is_signed => {
                (shape.value(FORGER, place, HOLDERS[0]), not_mine, Whose::Theirs)
            }
            SetMark::Forged => (other(), not_mine, Whose::Theirs),
            SetMark::Copied(index) if shape.is_signed => {
                (shape.value(us, (&elsewhere, rtype), HOLDERS[index]), not_mine, Whose::Theirs)
            }
            // Without a signature, a marker at its place is what it says.
            SetMark::Copied(index) => {
                (shape.value(us, place, HOLDERS[index]), mine, ours(index, Spelling::Full))
            }
            SetMark::Both(index) => {
                if !self.put_marker(&at, shape.value(us, place, HOLDERS[index]), mine) {
                    return None;
                }
                (other(), not_mine, Whose::Theirs)
            }
        };
        self.put_marker(&at, value, marker).then_some(whose)
    }
}

fn ours(index: usize, spelling: Spelling) -> Whose {
    Whose::Ours(Held { holder: Some(index), is_hashed: spelling != Spelling::Full })
}

fn spelled(index: usize, spelling: Spelling) -> String {
    match spelling {
        Spelling::Full => HOLDERS[index].to_owned(),
        Spelling::Hash => digest(HOLDERS[index], forge::HASH),
        Spelling::OldHash => digest(HOLDERS[index], forge::OLD_HASH),
    }
}

/// Whether a name is where the marker of some set lies.
fn is_a_place(shape: &TxtShape, at: &Name) -> bool {
    names().iter().any(|name| TYPES.iter().any(|rtype| shape.typed(name, *rtype) == *at))
}

fn record(rdata: Rdata, ttl: u32, proxied: bool, comment: String) -> LiveRecord {
    LiveRecord {
        rdata,
        id: RecordId::default(),
        ttl: Ttl(ttl),
        attributes: if proxied { Attributes::of(PROXIED, true) } else { Attributes::default() },
        comment: comment.into(),
        read_only: false,
    }
}
