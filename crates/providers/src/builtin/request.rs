//! What a client asks, read from its message.

use domain::{
    base::{
        Message, ParsedName, Question, Rtype, Serial,
        iana::OptRcode,
        message_builder::AdditionalBuilder,
        opt::{Opt, OptRecord},
        wire::ParseError,
    },
    rdata::Soa,
};
use zonekeeper_kernel::{name::Name, rdata::RecordType};

use super::wire::Buffer;

/// The largest answer over UDP that reaches every client in one piece (DNS flag day 2020).
const MAX_DATAGRAM: u16 = 1232;
/// The largest answer over UDP to a client without EDNS (RFC 1035 section 4.2.1).
const MIN_DATAGRAM: u16 = 512;

/// How a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// As a datagram.
    Udp,
    /// On a connection.
    Tcp,
}

/// What a client asks.
#[derive(Debug)]
pub(super) struct Request<'a> {
    /// The question as it was written, upper case and all.
    pub(super) question: Question<ParsedName<&'a [u8]>>,
    /// The name in canonical form.
    pub(super) name: Name,
    /// The type.
    pub(super) rtype: RecordType,
    /// Its EDNS record.
    pub(super) edns: Option<Edns>,
    /// The serial number that it has already (IXFR).
    pub(super) serial: Option<Serial>,
}

/// The part of a client's EDNS record that we heed (RFC 6891).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edns {
    /// The largest datagram that it takes.
    pub(super) payload: u16,
    /// The version.
    pub(super) version: u8,
    /// Whether it understands signatures; echoed (RFC 3225).
    pub(super) is_dnssec_ok: bool,
}

// === impl Request ===

impl<'a> Request<'a> {
    /// Reads all sections of a message; an error is one of format.
    pub(super) fn parse(message: &'a Message<[u8]>) -> Result<Self, ParseError> {
        let question = message.sole_question()?;
        let mut wire = Vec::with_capacity(64);
        for label in question.qname().iter() {
            wire.push(u8::try_from(label.len()).map_err(|_| ParseError::form_error("label"))?);
            wire.extend_from_slice(label.as_slice());
        }
        let (name, _) = Name::from_wire(&wire).map_err(|_| ParseError::form_error("question name"))?;
        let rtype = RecordType::from_code(question.qtype().to_int());
        let (_, answer, authority, additional) = message.sections()?;
        for record in answer {
            record?;
        }
        let mut serial = None;
        for record in authority {
            if let Some(soa) = record?.to_record::<Soa<ParsedName<_>>>()? {
                serial = Some(soa.data().serial());
            }
        }
        let mut edns = None;
        for record in additional {
            let record = record?;
            if record.rtype() != Rtype::OPT {
                continue;
            }
            // One only, and at the root (RFC 6891 section 6.1.1).
            if edns.is_some() || !record.owner().is_root() {
                return Err(ParseError::form_error("OPT record"));
            }
            let opt = record.to_record::<Opt<_>>()?.ok_or(ParseError::form_error("OPT record"))?;
            let opt = OptRecord::from(opt);
            edns = Some(Edns {
                payload: opt.udp_payload_size(),
                version: opt.version(),
                is_dnssec_ok: opt.dnssec_ok(),
            });
        }
        Ok(Self { question, name, rtype, edns, serial })
    }

    /// How long the answer may be, without the OPT record.
    pub(super) fn room(&self, transport: Transport) -> usize {
        let whole = match (transport, self.edns) {
            (Transport::Tcp, _) => u16::MAX,
            (Transport::Udp, None) => MIN_DATAGRAM,
            (Transport::Udp, Some(edns)) => edns.payload.clamp(MIN_DATAGRAM, MAX_DATAGRAM),
        };
        usize::from(whole) - if self.edns.is_some() { Edns::LENGTH } else { 0 }
    }
}

// === impl Edns ===

impl Edns {
    /// The octets of an OPT record without options.
    pub(super) const LENGTH: usize = 11;

    /// Writes our own EDNS record, past whatever limit the message had.
    pub(super) fn write(self, message: &mut AdditionalBuilder<Buffer>, rcode: OptRcode) {
        message.clear_push_limit();
        let written = message.opt(|opt| {
            opt.set_udp_payload_size(MAX_DATAGRAM);
            opt.set_dnssec_ok(self.is_dnssec_ok);
            opt.set_rcode(rcode);
            Ok(())
        });
        written.expect("room is kept for it, a vector grows, and there is one");
    }
}
