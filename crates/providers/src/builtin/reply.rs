//! Answers as messages: within the client's limit, or truncated.

use domain::base::{
    Header, MessageBuilder,
    iana::{Class, OptRcode, Rcode},
    message_builder::{AnswerBuilder, PushError, RecordSectionBuilder},
    question::ComposeQuestion,
};

use super::{
    answer::{Answer, RecordSet},
    request::{Request, Transport},
    wire::{Buffer, Value, wire_name},
};

/// Writes an answer; one that is too long for a datagram becomes an empty one with the TC bit, so that the
/// client asks again over TCP and never takes a part for the whole.
pub(super) fn encode(
    header: Header,
    request: &Request<'_>,
    answer: &Answer,
    transport: Transport,
) -> Vec<u8> {
    match whole(header, request, answer, transport) {
        Ok(message) => message,
        Err(_) => match transport {
            Transport::Udp => empty(header, request, answer.rcode, |header| {
                header.set_aa(answer.is_authoritative);
                header.set_tc(true);
            }),
            Transport::Tcp => empty(header, request, Rcode::SERVFAIL, |_| {}),
        },
    }
}

/// A reply of the question and a response code.
pub(super) fn error(header: Header, request: &Request<'_>, rcode: Rcode) -> Vec<u8> {
    empty(header, request, rcode, |_| {})
}

/// The reply to a version of EDNS that we don't speak (RFC 6891 section 6.1.3).
pub(super) fn bad_version(header: Header, request: &Request<'_>) -> Vec<u8> {
    let mut message = start(header, &request.question, Rcode::NOERROR).additional();
    if let Some(edns) = request.edns {
        edns.write(&mut message, OptRcode::BADVERS);
    }
    message.finish().into_target()
}

/// The reply to a message of which only the header can be relied on.
pub(super) fn header_only(header: Header, rcode: Rcode) -> Vec<u8> {
    let mut message = new_message();
    copy_header(header, message.header_mut(), rcode);
    message.finish().into_target()
}

/// A message that repeats the question and awaits records.
pub(super) fn start(header: Header, question: &impl ComposeQuestion, rcode: Rcode) -> AnswerBuilder<Buffer> {
    let mut message = new_message();
    copy_header(header, message.header_mut(), rcode);
    let mut section = message.question();
    section.push(question).expect("a vector grows, and there is no limit yet");
    section.answer()
}

/// Appends all records of a set, or says that there is no room.
pub(super) fn push(
    section: &mut impl RecordSectionBuilder<Buffer>,
    set: &RecordSet,
) -> Result<(), PushError> {
    let owner = wire_name(&set.owner);
    set.values().try_for_each(|rdata| section.push((&owner, Class::IN, set.ttl, Value(rdata))))
}

fn whole(
    header: Header,
    request: &Request<'_>,
    answer: &Answer,
    transport: Transport,
) -> Result<Vec<u8>, PushError> {
    let mut section = start(header, &request.question, answer.rcode);
    section.header_mut().set_aa(answer.is_authoritative);
    // The builder wants one octet more than it fills.
    section.set_push_limit(request.room(transport) + 1);
    answer.answer.iter().try_for_each(|set| push(&mut section, set))?;
    let mut section = section.authority();
    answer.authority.iter().try_for_each(|set| push(&mut section, set))?;
    let mut section = section.additional();
    answer.glue.iter().try_for_each(|set| push(&mut section, set))?;
    for set in &answer.additional {
        // No client depends on these, but a part of a set would mislead (RFC 2181 section 9).
        if section.as_slice().len() + longest(set) <= request.room(transport) {
            push(&mut section, set)?;
        }
    }
    if let Some(edns) = request.edns {
        edns.write(&mut section, OptRcode::from_rcode(answer.rcode));
    }
    Ok(section.finish().into_target())
}

fn empty(header: Header, request: &Request<'_>, rcode: Rcode, set_bits: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut message = start(header, &request.question, rcode).additional();
    set_bits(message.header_mut());
    if let Some(edns) = request.edns {
        edns.write(&mut message, OptRcode::from_rcode(rcode));
    }
    message.finish().into_target()
}

fn new_message() -> MessageBuilder<Buffer> {
    MessageBuilder::from_target(Buffer::new(Vec::with_capacity(512))).expect("a vector has room for a header")
}

fn copy_header(request: Header, reply: &mut Header, rcode: Rcode) {
    reply.set_id(request.id());
    reply.set_qr(true);
    reply.set_opcode(request.opcode());
    reply.set_rd(request.rd());
    reply.set_rcode(rcode);
}

/// The octets that a set takes where nothing can be compressed.
fn longest(set: &RecordSet) -> usize {
    let owner = set.owner.as_str().len() + 2;
    set.values().map(|rdata| owner + 10 + rdata.wire().len()).sum()
}
