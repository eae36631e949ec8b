//! No message makes the server panic, and every answer is a message.

use std::net::{IpAddr, Ipv4Addr};

use domain::base::{Message, iana::Rcode};
use proptest::prelude::*;

use super::{name, zones};
use crate::builtin::{
    request::Transport,
    respond::{Reply, respond},
    zones::Zones,
};

const ZONE: &str = "
    www.example.com A 192.0.2.1
    *.example.com TXT \"any\"
    sub.example.com NS ns.sub.example.com
    moved.example.com DNAME example.com
";

const OWNERS: &[&str] =
    &["www.example.com", "a.b.example.com", "x.sub.example.com", "x.moved.example.com", "."];

/// A question as octets: header, name, type, class.
fn question(owner: &str, rtype: u16) -> Vec<u8> {
    let mut message = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    name(owner).to_wire(&mut message);
    message.extend(rtype.to_be_bytes());
    message.extend([0, 1]);
    message
}

fn reply(zones: &Zones, message: &[u8], transport: Transport) -> Option<Vec<u8>> {
    let peers = ["127.0.0.1".parse().unwrap()];
    match respond(zones, &peers, message, IpAddr::V4(Ipv4Addr::LOCALHOST), transport) {
        Reply::Silence => None,
        Reply::Message(message) => Some(message),
        Reply::Transfer(mut messages) => messages.next(),
    }
}

fn rcode(message: &[u8]) -> Option<Rcode> {
    let zones = zones(&[("example.com", ZONE)]);
    reply(&zones, message, Transport::Udp).map(|reply| Message::from_octets(reply).unwrap().header().rcode())
}

#[test]
fn what_is_no_question_is_answered_as_what_it_is() {
    let good = question("www.example.com", 1);
    let with = |at: usize, octet: u8| {
        let mut message = good.clone();
        message[at] = octet;
        message
    };
    assert_eq!(rcode(&good), Some(Rcode::NOERROR));
    assert_eq!(rcode(&good[..11]), None);
    assert_eq!(rcode(&good[..12]), Some(Rcode::FORMERR));
    assert_eq!(rcode(&good[..20]), Some(Rcode::FORMERR));
    assert_eq!(rcode(&with(2, 0x81)), None, "an answer");
    assert_eq!(rcode(&with(2, 0x29)), Some(Rcode::NOTIMP), "UPDATE");
    assert_eq!(rcode(&with(5, 0)), Some(Rcode::FORMERR), "no question");
    assert_eq!(rcode(&with(5, 2)), Some(Rcode::FORMERR), "two questions");
    assert_eq!(rcode(&with(11, 1)), Some(Rcode::FORMERR), "a record that is not there");
    assert_eq!(rcode(&with(good.len() - 1, 3)), Some(Rcode::REFUSED), "class CH");
}

#[test]
fn two_opt_records_are_malformed() {
    let opt = [0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0];
    let mut message = question("www.example.com", 1);
    message[11] = 1;
    message.extend(opt);
    assert_eq!(rcode(&message), Some(Rcode::NOERROR));
    message[11] = 2;
    message.extend(opt);
    assert_eq!(rcode(&message), Some(Rcode::FORMERR));
}

proptest! {
    #[test]
    fn arbitrary_octets_never_panic(message in prop::collection::vec(any::<u8>(), 0..200), is_tcp: bool) {
        let zones = zones(&[("example.com", ZONE)]);
        let transport = if is_tcp { Transport::Tcp } else { Transport::Udp };
        if let Some(reply) = reply(&zones, &message, transport) {
            prop_assert_eq!(&reply[..2], &message[..2]);
            prop_assert!(reply[2] & 0x80 != 0);
        }
    }

    #[test]
    fn damaged_questions_never_panic(
        owner in prop::sample::select(OWNERS),
        rtype in prop::sample::select(vec![1_u16, 2, 6, 43, 251, 252, 255, 41, 250]),
        tail in prop::collection::vec(any::<u8>(), 0..40),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        is_tcp: bool,
    ) {
        let zones = zones(&[("example.com", ZONE)]);
        let mut message = question(owner, rtype);
        message.extend(tail);
        for (at, octet) in damage {
            let at = at.index(message.len());
            message[at] = octet;
        }
        let transport = if is_tcp { Transport::Tcp } else { Transport::Udp };
        if let Some(reply) = reply(&zones, &message, transport) {
            let reply = Message::from_octets(reply).unwrap();
            prop_assert!(reply.header().qr());
            for record in reply.answer().unwrap() {
                record.unwrap();
            }
            prop_assert!(is_tcp || reply.as_slice().len() <= 1232);
        }
    }
}
