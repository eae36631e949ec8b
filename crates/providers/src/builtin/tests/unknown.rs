//! A zone of which nothing is known yet is no answer, no transfer and no news.

use domain::base::{
    Message, MessageBuilder, Name as WireName, Rtype,
    iana::{Class, Rcode},
};
use zonekeeper_kernel::rdata::RecordType;

use super::{change, created, name, zones};
use crate::builtin::{
    authority::Authority,
    lookup::{self, AnyAnswer},
    request::Transport,
    respond::{Reply, respond},
    zone::Zone,
    zones::Zones,
};

/// A known zone, with a zone below it and one beside it of which nothing is known.
fn half_known() -> Zones {
    let zones =
        zones(&[("example.com", "www.example.com A 192.0.2.1\nalias.example.com CNAME www.example.net")]);
    for domain in ["sub.example.com", "example.net"] {
        let domain = name(domain);
        zones.get_or_insert(domain.clone(), || Zone::new(domain.clone(), Authority::default_for(&domain), 7));
    }
    zones
}

fn code(zones: &Zones, owner: &str, rtype: RecordType) -> Rcode {
    lookup::answer(zones, &name(owner), rtype, AnyAnswer::AllSets).rcode
}

fn transferred(zones: &Zones, domain: &str, rtype: Rtype, transport: Transport) -> Option<Rcode> {
    let mut question = MessageBuilder::new_vec().question();
    question.push((WireName::vec_from_str(domain).unwrap(), rtype, Class::IN)).unwrap();
    let peers = ["127.0.0.1".parse().unwrap()];
    match respond(zones, &peers, &question.finish(), [127, 0, 0, 1].into(), transport) {
        Reply::Message(message) => Some(Message::from_slice(&message).unwrap().header().rcode()),
        Reply::Transfer(_) => None,
        Reply::Silence => panic!("no reply"),
    }
}

#[test]
fn each_zone_is_unknown_until_its_own_first_pass() {
    let zones = half_known();
    assert_eq!(code(&zones, "www.example.com", RecordType::A), Rcode::NOERROR);
    assert_eq!(code(&zones, "x.example.com", RecordType::A), Rcode::NXDOMAIN);
    for owner in ["sub.example.com", "x.sub.example.com", "example.net", "www.example.net"] {
        for rtype in [RecordType::A, RecordType::SOA, RecordType::NS, lookup::ANY] {
            let answer = lookup::answer(&zones, &name(owner), rtype, AnyAnswer::AllSets);
            assert_eq!(answer.rcode, Rcode::SERVFAIL, "{owner} {rtype}");
            assert!(!answer.is_authoritative && answer.answer.is_empty() && answer.authority.is_empty());
        }
    }
    assert_eq!(code(&zones, "www.example.org", RecordType::A), Rcode::REFUSED);
    let alias = lookup::answer(&zones, &name("alias.example.com"), RecordType::A, AnyAnswer::AllSets);
    assert_eq!((alias.rcode, alias.answer.len()), (Rcode::NOERROR, 1), "the target is asked for by itself");
}

#[test]
fn records_without_the_end_of_a_pass_make_no_zone_known() {
    let zones = half_known();
    let zone = zones.get(&name("example.net")).unwrap();
    zone.apply(&[change(vec![created("www.example.net A 192.0.2.1")])]);
    assert_eq!(code(&zones, "www.example.net", RecordType::A), Rcode::SERVFAIL);
    let mut serials = zone.serials();
    assert_eq!(*serials.borrow_and_update(), None, "no news yet");
    zone.know();
    assert_eq!(code(&zones, "www.example.net", RecordType::A), Rcode::NOERROR);
    assert_eq!(*serials.borrow_and_update(), Some(8));
    zone.know();
    assert!(!serials.has_changed().unwrap(), "known once");
}

#[test]
fn nothing_is_transferred_that_is_not_known() {
    let zones = half_known();
    for rtype in [Rtype::AXFR, Rtype::IXFR] {
        for transport in [Transport::Udp, Transport::Tcp] {
            assert_eq!(
                transferred(&zones, "example.net", rtype, transport),
                Some(Rcode::SERVFAIL),
                "{rtype}"
            );
        }
        assert_eq!(transferred(&zones, "example.com", rtype, Transport::Tcp), None, "{rtype}");
    }
    assert_eq!(transferred(&zones, "example.org", Rtype::AXFR, Transport::Tcp), Some(Rcode::NOTAUTH));
}

#[test]
fn what_stands_above_a_zone_is_not_guessed() {
    let zones = half_known();
    zones.get(&name("sub.example.com")).unwrap().know();
    assert_eq!(code(&zones, "sub.example.com", RecordType::DS), Rcode::NOERROR, "no delegation above: no DS");
    let zones = Zones::default();
    for domain in ["example.com", "sub.example.com"] {
        let domain = name(domain);
        zones.get_or_insert(domain.clone(), || Zone::new(domain.clone(), Authority::default_for(&domain), 7));
    }
    zones.get(&name("sub.example.com")).unwrap().know();
    assert_eq!(code(&zones, "sub.example.com", RecordType::SOA), Rcode::NOERROR);
    assert_eq!(code(&zones, "sub.example.com", RecordType::DS), Rcode::SERVFAIL);
}

#[test]
fn a_server_without_any_zone_yet_does_not_refuse() {
    let zones = Zones::default();
    assert_eq!(code(&zones, "www.example.com", RecordType::A), Rcode::SERVFAIL);
    assert_eq!(transferred(&zones, "example.com", Rtype::AXFR, Transport::Tcp), Some(Rcode::SERVFAIL));
    zones.get_or_insert(name("example.com"), || {
        Zone::new(name("example.com"), Authority::default_for(&name("example.com")), 7)
    });
    zones.remove(&name("example.com"));
    assert_eq!(code(&zones, "www.example.com", RecordType::A), Rcode::REFUSED);
}
