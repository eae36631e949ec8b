//! Values made by walking the table, so that a new row is covered by itself; and texts that are nearly values.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    sample::{Index, select},
};
use zonekeeper_kernel::rdata::{Emptiness, Kind, Rdata, RecordType, Root, Row, row};

pub fn any_type() -> impl Strategy<Value = RecordType> {
    let all: Vec<RecordType> = RecordType::known().chain([RecordType::SOA]).collect();
    // Of the types without a row, only those for private use: the oracles know some others.
    prop_oneof![20 => select(all), 1 => (65_280..=65_534u16).prop_map(RecordType::from_code)]
}

/// A valid value of any type, by walking its row.
pub fn rdata() -> impl Strategy<Value = Rdata> {
    any_type().prop_flat_map(|rtype| {
        let wire = match row(rtype) {
            Some(row) => wire(row).boxed(),
            None => vec(octet(), 0..40).boxed(),
        };
        wire.prop_map(move |wire| Rdata::from_wire(rtype, &wire).unwrap())
    })
}

fn wire(row: &'static Row) -> impl Strategy<Value = Vec<u8>> {
    let fields: Vec<_> = row.fields.iter().map(|field| octets(field.kind)).collect();
    fields.prop_map(|parts| {
        let mut wire: Vec<u8> = Vec::new();
        for (field, mut part) in row.fields.iter().zip(parts) {
            match field.kind {
                Kind::Digest { decided_at, lengths } => {
                    let fixed = lengths.iter().find(|(code, _)| *code == wire[decided_at]);
                    part.truncate(fixed.map_or(usize::from(part[0]) % 80 + 1, |(_, length)| *length));
                }
                Kind::SvcParams if wire.starts_with(&[0, 0]) => part.clear(),
                _ => {}
            }
            wire.extend(part);
        }
        wire
    })
}

fn octets(kind: Kind) -> BoxedStrategy<Vec<u8>> {
    match kind {
        Kind::U8 | Kind::Code8(_) => prop_oneof![0..8u8, any::<u8>()].prop_map(|octet| vec![octet]).boxed(),
        Kind::U16 | Kind::Code16(_) => {
            prop_oneof![0..8u16, any::<u16>()].prop_map(|number| number.to_be_bytes().into()).boxed()
        }
        Kind::U32 => any::<u32>().prop_map(|number| number.to_be_bytes().into()).boxed(),
        Kind::Name | Kind::Target(Root::Allowed) => prop_oneof![1 => Just(vec![0]), 9 => name()].boxed(),
        Kind::Target(Root::Refused) => name().boxed(),
        Kind::Ipv4 => vec(any::<u8>(), 4).boxed(),
        Kind::Ipv6 => vec(prop_oneof![Just(0), any::<u8>()], 16).boxed(),
        Kind::CharString => string().boxed(),
        Kind::CharStrings => vec(string(), 1..4).prop_map(|strings| strings.concat()).boxed(),
        Kind::Digest { .. } => vec(any::<u8>(), 80).boxed(),
        Kind::Base64 => vec(any::<u8>(), 1..80).boxed(),
        Kind::Tag => "[a-z0-9]{1,15}".prop_map(|tag| prefixed(tag.into_bytes())).boxed(),
        Kind::Text(Emptiness::Allowed) => vec(octet(), 0..300).boxed(),
        Kind::Text(Emptiness::Refused) => vec(octet(), 1..300).boxed(),
        Kind::SvcParams => svcparams().boxed(),
        Kind::Loc => loc().boxed(),
    }
}

/// Any octet; those that mean something in zone files more often.
pub fn octet() -> impl Strategy<Value = u8> {
    let special = b"\\\"; ,.()@0\0\x7f".to_vec();
    prop_oneof![6 => b'a'..=b'z', 3 => b' '..=b'~', 2 => select(special), 2 => any::<u8>()]
}

fn prefixed(mut octets: Vec<u8>) -> Vec<u8> {
    octets.insert(0, u8::try_from(octets.len()).unwrap());
    octets
}

fn string() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => vec(octet(), 0..20), 1 => vec(octet(), 0..=255)].prop_map(prefixed)
}

/// A name other than the root.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let plain = "[a-z0-9_-]{1,20}".prop_map(|label| prefixed(label.into_bytes()));
    let odd = vec(octet(), 1..=63).prop_map(prefixed);
    vec(prop_oneof![9 => plain, 1 => odd], 1..6).prop_map(|mut labels| {
        while labels.concat().len() > 254 {
            labels.pop();
        }
        let mut wire = labels.concat();
        wire.push(0);
        wire
    })
}

fn svcparams() -> impl Strategy<Value = Vec<u8>> {
    let alpn = vec(vec(octet(), 1..8).prop_map(prefixed), 1..4).prop_map(|ids| ids.concat());
    let hints = |size: usize| vec(any::<u8>(), 1..4).prop_map(move |seed| seed.repeat(size));
    let dohpath = "/[a-z \"é\\\\,]{0,9}[{][?]dns[}]".prop_map(String::into_bytes);
    let named = (alpn, vec(any::<u8>(), 2), hints(4), vec(any::<u8>(), 1..40), hints(16), dohpath);
    let others = btree_map(9..65_535u16, vec(octet(), 0..20), 0..3);
    (any::<[bool; 9]>(), named, others).prop_map(|(there, named, mut params)| {
        let (alpn, port, ipv4hint, ech, ipv6hint, dohpath) = named;
        let known = [vec![], alpn, vec![], port, ipv4hint, ech, ipv6hint, dohpath, vec![]];
        for (code, value) in (0u16..).zip(known).skip(1).filter(|(code, _)| there[usize::from(*code)]) {
            params.insert(code, value);
        }
        if !params.contains_key(&1) {
            params.remove(&2);
        }
        let mandatory: BTreeSet<u16> = params.keys().copied().step_by(2).collect();
        if there[0] && !mandatory.is_empty() {
            params.insert(0, mandatory.into_iter().flat_map(u16::to_be_bytes).collect());
        }
        flatten(params)
    })
}

fn flatten(params: BTreeMap<u16, Vec<u8>>) -> Vec<u8> {
    let mut wire = Vec::new();
    for (code, value) in params {
        wire.extend(code.to_be_bytes());
        wire.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        wire.extend(value);
    }
    wire
}

fn loc() -> impl Strategy<Value = Vec<u8>> {
    let size = || (0..10u8, 0..10u8).prop_map(|(digit, power)| digit << 4 | power);
    let angle = |degrees: u32| (1 << 31) - degrees * 3_600_000..=(1 << 31) + degrees * 3_600_000;
    (size(), size(), size(), angle(90), angle(180), any::<u32>()).prop_map(|(size, h, v, lat, long, alt)| {
        [&[0, size, h, v][..], &lat.to_be_bytes(), &long.to_be_bytes(), &alt.to_be_bytes()].concat()
    })
}

/// Text made of what values are made of, and of anything else.
pub fn any_text() -> impl Strategy<Value = String> {
    const WORDS: [&str; 16] =
        ["\"", "\\", " ", ".", "0", "10", "\\# ", "a", "é", "alpn=", "port=", "N", "W", "=", ",", ";"];
    let piece =
        prop_oneof![3 => select(&WORDS[..]).prop_map(String::from), 1 => "[ -~]{0,6}", 1 => any::<String>()];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// A printed value with something put into it.
pub fn damaged_text() -> impl Strategy<Value = (RecordType, String)> {
    (rdata(), any::<Index>(), "[ -~é]{0,2}").prop_map(|(value, at, insert)| {
        let mut text: Vec<char> = value.to_string().chars().collect();
        let at = at.index(text.len() + 1);
        text.splice(at..at, insert.chars());
        (value.rtype(), text.into_iter().collect())
    })
}
