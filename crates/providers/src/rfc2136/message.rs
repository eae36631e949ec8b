//! Questions and updates as messages, and the records that answers hold.

use std::convert::Infallible;

use domain::{
    base::{
        Message, MessageBuilder, Name as WireName, ParsedName, Rtype, ToName, Ttl,
        iana::{Class, Opcode},
        message::RecordSection,
        message_builder::{AdditionalBuilder, PushError},
        rdata::{ComposeRecordData, UnknownRecordData},
        record::ParsedRecord,
        wire::ParseError,
    },
    rdata::AllRecordData,
};
use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
};

use crate::wire::{Buffer, wire_name};

/// A message that may still be signed.
pub(crate) type Unsigned = AdditionalBuilder<Buffer>;

/// What must hold before an update (RFC 2136 section 2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prerequisite<'a> {
    /// The name has no records at all.
    NameUnused(&'a Name),
    /// The name has records of its own.
    NameUsed(&'a Name),
    /// The set does not exist.
    SetMissing(&'a Name, RecordType),
    /// The set holds this value, in these octets; all values of a set that are named are all that it holds.
    Value(&'a Name, RecordType, &'a [u8]),
}

/// What an update does (RFC 2136 section 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// Removes a whole set.
    RemoveSet(&'a Name, RecordType),
    /// Removes one value.
    Remove(&'a Name, &'a Rdata),
    /// Adds a value; the set takes its TTL.
    Add(&'a Name, u32, &'a Rdata),
}

/// A record as a server sent it, its value without compression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: Name,
    pub(crate) rtype: RecordType,
    pub(crate) ttl: u32,
    pub(crate) wire: Vec<u8>,
}

/// A question.
pub(crate) fn query(name: &Name, rtype: Rtype) -> Unsigned {
    let mut message = begin(Opcode::QUERY).question();
    // A message with one question is far below every limit.
    let _ = message.push((&wire_name(name), rtype, Class::IN));
    message.additional()
}

/// A question for what changed since `serial` (RFC 1995).
pub(crate) fn query_since(domain: &Name, serial: u32) -> Unsigned {
    let name = wire_name(domain);
    let mut message = begin(Opcode::QUERY).question();
    let _ = message.push((&name, Rtype::IXFR, Class::IN));
    let mut message = message.authority();
    // Servers look at the serial only; both names are the root.
    let soa = [&[0, 0][..], &serial.to_be_bytes(), &[0; 16]].concat();
    if let Ok(soa) = UnknownRecordData::from_octets(Rtype::SOA, soa) {
        let _ = message.push((&name, Class::IN, Ttl::ZERO, soa));
    }
    message.additional()
}

/// An update: all of it happens, or nothing.
pub(crate) fn update(
    domain: &Name,
    prerequisites: &[Prerequisite<'_>],
    steps: &[Step<'_>],
) -> Result<Unsigned, PushError> {
    let mut message = begin(Opcode::UPDATE).question();
    message.push((&wire_name(domain), Rtype::SOA, Class::IN))?;
    let mut message = message.answer();
    for prerequisite in prerequisites {
        let (name, class, rtype, octets): (_, _, _, &[u8]) = match prerequisite {
            Prerequisite::NameUnused(name) => (name, Class::NONE, Rtype::ANY, &[]),
            Prerequisite::NameUsed(name) => (name, Class::ANY, Rtype::ANY, &[]),
            Prerequisite::SetMissing(name, rtype) => (name, Class::NONE, wire_type(*rtype), &[]),
            Prerequisite::Value(name, rtype, octets) => (name, Class::IN, wire_type(*rtype), octets),
        };
        message.push((wire_name(name), class, Ttl::ZERO, data(rtype, octets)?))?;
    }
    let mut message = message.authority();
    for step in steps {
        let (name, class, ttl, rtype, octets): (_, _, _, _, &[u8]) = match step {
            Step::RemoveSet(name, rtype) => (name, Class::ANY, 0, wire_type(*rtype), &[]),
            Step::Remove(name, rdata) => (name, Class::NONE, 0, wire_type(rdata.rtype()), rdata.wire()),
            Step::Add(name, ttl, rdata) => (name, Class::IN, *ttl, wire_type(rdata.rtype()), rdata.wire()),
        };
        message.push((wire_name(name), class, Ttl::from_secs(ttl), data(rtype, octets)?))?;
    }
    Ok(message.additional())
}

/// The records in the answer of a message.
pub(crate) fn items(message: &Message<Vec<u8>>) -> Result<Vec<Item>, String> {
    let count = message.header_counts().ancount();
    read(message.answer().map_err(broken)?, count)
}

/// The records in its authority section.
pub(crate) fn authority(message: &Message<Vec<u8>>) -> Result<Vec<Item>, String> {
    let count = message.header_counts().nscount();
    read(message.authority().map_err(broken)?, count)
}

/// The records in its additional section, but for those that are about the message itself.
pub(crate) fn additional(message: &Message<Vec<u8>>) -> Result<Vec<Item>, String> {
    let count = message.header_counts().arcount();
    let items = read(message.additional().map_err(broken)?, count)?;
    Ok(items.into_iter().filter(|item| item.rtype != RecordType::from_code(Rtype::OPT.to_int())).collect())
}

fn broken(error: ParseError) -> String {
    format!("a message that can't be read: {error}")
}

fn read(section: RecordSection<'_, Vec<u8>>, count: u16) -> Result<Vec<Item>, String> {
    let mut items = Vec::with_capacity(usize::from(count));
    let mut last: Option<(WireName<Vec<u8>>, Name)> = None;
    for record in section {
        let record = record.map_err(broken)?;
        // The records of a name follow each other: its text is kept once.
        let name = match &last {
            Some((wire, name)) if record.owner() == wire => name.clone(),
            _other => {
                let wire: WireName<Vec<u8>> = record.owner().to_name();
                let (name, _) = Name::from_wire(wire.as_slice())
                    .map_err(|error| format!("a record whose name {wire} can't be read: {error}"))?;
                last = Some((wire, name.clone()));
                name
            }
        };
        items.push(Item {
            name,
            rtype: RecordType::from_code(record.rtype().to_int()),
            ttl: record.ttl().as_secs(),
            wire: value(&record).map_err(broken)?,
        });
    }
    Ok(items)
}

/// A value without compression; one that is broken stays as it is, for there it can't be compressed.
fn value(record: &ParsedRecord<'_, Vec<u8>>) -> Result<Vec<u8>, ParseError> {
    let mut wire = Vec::new();
    match record.to_any_record::<AllRecordData<_, ParsedName<_>>>() {
        Ok(parsed) => {
            let Ok(()) = parsed.data().compose_rdata(&mut wire) as Result<(), Infallible>;
        }
        Err(_) => {
            if let Some(raw) = record.to_record::<UnknownRecordData<_>>()? {
                wire.extend_from_slice(raw.data().data());
            }
        }
    }
    Ok(wire)
}

fn begin(opcode: Opcode) -> MessageBuilder<Buffer> {
    let Ok(mut message) = MessageBuilder::from_target(Buffer::new(Vec::with_capacity(512)));
    let header = message.header_mut();
    header.set_random_id();
    header.set_opcode(opcode);
    message
}

fn data(rtype: Rtype, octets: &[u8]) -> Result<UnknownRecordData<&[u8]>, PushError> {
    UnknownRecordData::from_octets(rtype, octets).map_err(|_| PushError::ShortBuf)
}

fn wire_type(rtype: RecordType) -> Rtype {
    Rtype::from_int(rtype.code())
}
