//! What to say to a message: from the header inwards, and never a panic, whatever it holds.

use std::net::IpAddr;

use domain::base::{
    Message, Rtype,
    iana::{Class, Opcode, Rcode},
};

use super::{
    lookup::{self, AnyAnswer},
    peer::TransferPeer,
    reply,
    request::{Request, Transport},
    transfer::{self, Transfer},
    zones::Zones,
};

/// What to say.
pub(super) enum Reply {
    /// Nothing: not a question, or not readable at all.
    Silence,
    /// One message.
    Message(Vec<u8>),
    /// A zone, in as many messages as it takes.
    Transfer(Transfer),
}

/// Answers one message from `source`.
pub(super) fn respond(
    zones: &Zones,
    peers: &[TransferPeer],
    message: &[u8],
    source: IpAddr,
    transport: Transport,
) -> Reply {
    let Ok(message) = Message::from_slice(message) else { return Reply::Silence };
    let header = message.header();
    if header.qr() {
        return Reply::Silence;
    }
    if header.opcode() != Opcode::QUERY && header.opcode() != Opcode::NOTIFY {
        return Reply::Message(reply::header_only(header, Rcode::NOTIMP));
    }
    let Ok(request) = Request::parse(message) else {
        return Reply::Message(reply::header_only(header, Rcode::FORMERR));
    };
    if request.edns.is_some_and(|edns| edns.version != 0) {
        return Reply::Message(reply::bad_version(header, &request));
    }
    if header.opcode() == Opcode::NOTIFY {
        // This server is no secondary: heard, and that is all (RFC 1996 section 3.11).
        return Reply::Message(reply::error(header, &request, Rcode::NOERROR));
    }
    if request.question.qclass() != Class::IN {
        return Reply::Message(reply::error(header, &request, Rcode::REFUSED));
    }
    if matches!(request.question.qtype(), Rtype::AXFR | Rtype::IXFR) {
        let is_allowed = peers.iter().any(|peer| peer.allows(source));
        return match is_allowed {
            true => transfer::start(zones, header, &request, transport),
            false => Reply::Message(reply::error(header, &request, Rcode::REFUSED)),
        };
    }
    let any = match transport {
        Transport::Udp => AnyAnswer::OneSet,
        Transport::Tcp => AnyAnswer::AllSets,
    };
    let answer = lookup::answer(zones, &request.name, request.rtype, any);
    Reply::Message(reply::encode(header, &request, &answer, transport))
}
