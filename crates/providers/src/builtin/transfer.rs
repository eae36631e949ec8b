//! A whole zone as a run of messages (RFC 5936), from the moment at which it was asked for.

use domain::base::{
    Header, Name as WireName, Question, Rtype, Serial, ToName,
    iana::{Class, OptRcode, Rcode},
};
use zonekeeper_kernel::rdata::RecordType;

use super::{
    answer::{Answer, RecordSet},
    reply,
    request::{Edns, Request, Transport},
    respond::Reply,
    wire::{Value, wire_name},
    zone::Zone,
    zones::Zones,
};

/// Where a message is full: names are compressed only against its first 16 KiB, so more gains nothing.
const FULL: usize = 16 * 1024;
/// The longest message, as the builder counts: it wants one octet more than it fills.
const LONGEST: usize = 65_535 + 1;

/// A zone on its way to a secondary: an iterator of messages.
///
/// Guarantees: the SOA record is the first and the last, and all between is of that very version.
pub(super) struct Transfer {
    header: Header,
    question: Question<WireName<Vec<u8>>>,
    edns: Option<Edns>,
    sets: Box<dyn Iterator<Item = RecordSet> + Send>,
    /// The set that the next message goes on with, and at which value.
    current: Option<(RecordSet, usize)>,
}

/// Begins a transfer, or says why there is none.
pub(super) fn start(zones: &Zones, header: Header, request: &Request<'_>, transport: Transport) -> Reply {
    let Some(zone) = zones.get(&request.name) else {
        let rcode = if zones.is_begun() { Rcode::NOTAUTH } else { Rcode::SERVFAIL };
        return Reply::Message(reply::error(header, request, rcode));
    };
    if !zone.state().is_known() {
        // A secondary that has an older copy goes on serving it.
        return Reply::Message(reply::error(header, request, Rcode::SERVFAIL));
    }
    let is_incremental = request.question.qtype() == Rtype::IXFR;
    let is_current =
        is_incremental && request.serial.is_some_and(|serial| serial >= Serial::from(zone.state().serial()));
    // A client that is up to date, or asks by datagram, learns our version (RFC 1995 sections 2 and 4).
    match transport {
        Transport::Udp if is_incremental => Reply::Message(soa_alone(&zone, header, request, transport)),
        Transport::Tcp if is_current => Reply::Message(soa_alone(&zone, header, request, transport)),
        Transport::Udp => Reply::Message(reply::error(header, request, Rcode::REFUSED)),
        Transport::Tcp => Reply::Transfer(Transfer::new(&zone, header, request)),
    }
}

// === impl Transfer ===

impl Transfer {
    fn new(zone: &Zone, header: Header, request: &Request<'_>) -> Self {
        let state = zone.state();
        let (soa, snapshot) = (state.soa(), state.tree().snapshot());
        let body = snapshot.into_iter().flat_map(|(name, records)| RecordSet::all(&name, &records));
        let body = body.filter(|set| set.values().all(|rdata| rdata.rtype() != RecordType::SOA));
        Self {
            header,
            question: Question::new(request.question.qname().to_name(), request.question.qtype(), Class::IN),
            edns: request.edns,
            sets: Box::new(soa.clone().into_iter().chain(body).chain(soa)),
            current: None,
        }
    }
}

impl Iterator for Transfer {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut current = self.current.take().or_else(|| Some((self.sets.next()?, 0)));
        current.as_ref()?;
        let mut message = reply::start(self.header, &self.question, Rcode::NOERROR);
        message.header_mut().set_aa(true);
        message.set_push_limit(LONGEST - Edns::LENGTH);
        while let Some((set, first)) = current {
            let owner = wire_name(&set.owner);
            let rest = set.values().skip(first);
            let written = rest.take_while(|rdata| {
                message.as_slice().len() < FULL
                    && message.push((&owner, Class::IN, set.ttl, Value(rdata))).is_ok()
            });
            let next = first + written.count();
            if next < set.values().count() {
                self.current = Some((set, next));
                break;
            }
            current = self.sets.next().map(|set| (set, 0));
        }
        let mut message = message.additional();
        // One OPT record, in the first message (RFC 5936 section 2.2.5).
        if let Some(edns) = self.edns.take() {
            edns.write(&mut message, OptRcode::NOERROR);
        }
        // A record that fits no message ends the transfer without its last SOA: the client sees that.
        (message.counts().ancount() > 0).then(|| message.finish().into_target())
    }
}

fn soa_alone(zone: &Zone, header: Header, request: &Request<'_>, transport: Transport) -> Vec<u8> {
    let mut answer = Answer::empty(Rcode::NOERROR);
    answer.is_authoritative = true;
    answer.answer.extend(zone.state().soa());
    reply::encode(header, request, &answer, transport)
}
