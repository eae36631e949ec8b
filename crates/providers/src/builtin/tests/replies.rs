//! Answers and transfers as messages: their sizes, their sections, their one version.

use std::net::{IpAddr, Ipv4Addr};

use domain::{
    base::{Message, MessageBuilder, Name as WireName, Rtype, iana::Class},
    rdata::{A, Soa},
};

use super::{change, created, name, zones};
use crate::builtin::{
    request::Transport,
    respond::{Reply, respond},
    zones::Zones,
};

/// A question; with EDNS where a payload size is given.
fn question(owner: &str, rtype: Rtype, payload: Option<u16>) -> Vec<u8> {
    let mut message = MessageBuilder::new_vec().question();
    message.push((WireName::vec_from_str(owner).unwrap(), rtype, Class::IN)).unwrap();
    let mut message = message.additional();
    if let Some(payload) = payload {
        message
            .opt(|opt| {
                opt.set_udp_payload_size(payload);
                opt.set_dnssec_ok(true);
                Ok(())
            })
            .unwrap();
    }
    message.finish()
}

fn ask(zones: &Zones, message: &[u8], transport: Transport) -> Reply {
    let peers = ["127.0.0.0/8".parse().unwrap()];
    respond(zones, &peers, message, IpAddr::V4(Ipv4Addr::LOCALHOST), transport)
}

fn answered(zones: &Zones, message: &[u8], transport: Transport) -> Message<Vec<u8>> {
    match ask(zones, message, transport) {
        Reply::Message(reply) => Message::from_octets(reply).unwrap(),
        Reply::Silence | Reply::Transfer(_) => panic!("not one message"),
    }
}

/// Answer, authority and additional records, and whether the answer was cut.
fn shape(reply: &Message<Vec<u8>>) -> (u16, u16, u16, bool) {
    let counts = reply.header_counts();
    (counts.ancount(), counts.nscount(), counts.arcount(), reply.header().tc())
}

#[test]
fn an_answer_fills_its_limit_to_the_last_octet() {
    // Header 12, question 21, and 16 for each address: 29 of them make 497.
    let text: String = (0..29).map(|number| format!("www.example.com A 192.0.2.{number}\n")).collect();
    let zones = zones(&[("example.com", &text)]);
    let reply = answered(&zones, &question("www.example.com", Rtype::A, None), Transport::Udp);
    assert_eq!((reply.as_slice().len(), shape(&reply)), (12 + 21 + 29 * 16, (29, 0, 0, false)));
    for payload in [0, 512, 4096] {
        let reply = answered(&zones, &question("www.example.com", Rtype::A, Some(payload)), Transport::Udp);
        assert_eq!(shape(&reply), (29, 0, 1, false), "{payload}: 508 octets with OPT");
        assert!(reply.opt().unwrap().dnssec_ok());
    }
    let zone = zones.get(&name("example.com")).unwrap();
    zone.apply(&[change(vec![created("www.example.com A 192.0.2.29")])]);
    let reply = answered(&zones, &question("www.example.com", Rtype::A, None), Transport::Udp);
    assert_eq!(shape(&reply), (0, 0, 0, true), "513 octets");
    let reply = answered(&zones, &question("www.example.com", Rtype::A, Some(524)), Transport::Udp);
    assert_eq!((reply.as_slice().len(), shape(&reply)), (12 + 21 + 30 * 16 + 11, (30, 0, 1, false)));
    let reply = answered(&zones, &question("www.example.com", Rtype::A, Some(523)), Transport::Udp);
    assert_eq!(shape(&reply), (0, 0, 1, true));
}

#[test]
fn glue_that_does_not_fit_truncates_and_other_addresses_are_left_out() {
    let mut text =
        String::from("sub.example.com NS ns.sub.example.com\nexample.com MX 10 mail.example.com\n");
    for number in 0..40 {
        text += &format!("ns.sub.example.com A 192.0.2.{number}\nmail.example.com A 192.0.2.{number}\n");
    }
    let zones = zones(&[("example.com", &text)]);
    let reply = answered(&zones, &question("www.sub.example.com", Rtype::A, None), Transport::Udp);
    assert_eq!(shape(&reply), (0, 0, 0, true));
    let reply = answered(&zones, &question("www.sub.example.com", Rtype::A, None), Transport::Tcp);
    assert_eq!(shape(&reply), (0, 1, 40, false));
    let reply = answered(&zones, &question("example.com", Rtype::MX, None), Transport::Udp);
    assert_eq!(shape(&reply), (1, 0, 0, false));
    let reply = answered(&zones, &question("example.com", Rtype::MX, None), Transport::Tcp);
    assert_eq!(shape(&reply), (1, 0, 40, false));
}

#[test]
fn a_transfer_is_of_one_version_whatever_is_written_meanwhile() {
    let text: String = (0..3000).map(|number| format!("host-{number}.example.com A 192.0.2.1\n")).collect();
    let zones = zones(&[("example.com", &text)]);
    let Reply::Transfer(mut transfer) =
        ask(&zones, &question("example.com", Rtype::AXFR, Some(1232)), Transport::Tcp)
    else {
        panic!("no transfer");
    };
    let mut messages = vec![transfer.next().unwrap()];
    let zone = zones.get(&name("example.com")).unwrap();
    zone.apply(&[change(vec![created("host-2999.example.com A 192.0.2.2")])]);
    messages.extend(transfer);
    assert!(messages.len() > 1);
    let (mut addresses, mut serials) = (0, Vec::new());
    for (index, message) in messages.iter().enumerate() {
        assert!(message.len() < 17 * 1024, "{}", message.len());
        let message = Message::from_octets(message).unwrap();
        assert!(message.header().aa());
        assert_eq!(message.opt().is_some(), index == 0);
        for record in message.answer().unwrap() {
            let record = record.unwrap();
            if let Some(address) = record.to_record::<A>().unwrap() {
                assert_eq!(address.data().addr(), Ipv4Addr::new(192, 0, 2, 1));
                addresses += 1;
            }
            if let Some(soa) = record.to_record::<Soa<_>>().unwrap() {
                serials.push(soa.data().serial().into_int());
            }
        }
    }
    assert_eq!((addresses, serials.as_slice()), (3000, &[1, 1][..]));
}

#[test]
fn transfers_of_unknown_zones_and_by_datagram_are_refused() {
    let zones = zones(&[("example.com", "www.example.com A 192.0.2.1")]);
    let reply = answered(&zones, &question("example.test", Rtype::AXFR, None), Transport::Tcp);
    assert_eq!(reply.header().rcode().to_string(), "NOTAUTH");
    let reply = answered(&zones, &question("example.com", Rtype::AXFR, None), Transport::Udp);
    assert_eq!(reply.header().rcode().to_string(), "REFUSED");
    let reply = answered(&zones, &question("example.com", Rtype::IXFR, None), Transport::Udp);
    assert_eq!(shape(&reply), (1, 0, 0, false));
}

#[test]
fn a_set_with_values_near_the_limit_of_a_message_is_transferred() {
    let long = "ab".repeat(60_000);
    let text = format!("a.example.com TYPE65280 \\# 60000 {long}\nb.example.com TYPE65280 \\# 60000 {long}");
    let zones = zones(&[("example.com", &text)]);
    let Reply::Transfer(transfer) = ask(&zones, &question("example.com", Rtype::AXFR, None), Transport::Tcp)
    else {
        panic!("no transfer");
    };
    let counts: Vec<u16> =
        transfer.map(|message| Message::from_octets(message).unwrap().header_counts().ancount()).collect();
    assert_eq!(counts.iter().sum::<u16>(), 5, "{counts:?}");
}
