use domain::base::{
    Message, Rtype,
    iana::{Class, Opcode},
};

use super::{
    super::{
        draft::{Draft, Steps, View, Written},
        message::{items, query, query_since, update},
    },
    change, create, domain, item, mirror, name,
};

#[test]
fn an_update_has_its_zone_its_prerequisites_and_its_steps_in_their_sections() {
    let zone = mirror(1, &["www 300 A 192.0.2.1"]);
    let change = change([create("www 300 A 192.0.2.2"), create("new 60 TXT \"x\"")]);
    let view = View { mirror: &zone, written: &Written::default() };
    let draft = Draft::new(&change, &domain(), view).unwrap();
    let mut steps = Steps::default();
    draft.steps(&domain(), &mut steps);
    let message = update(&domain(), &draft.prerequisites(view), &steps.in_order()).unwrap();
    let octets = message.finish().into_target();
    assert!(octets.len() <= 12 + 17 + draft.size(&domain(), view), "{} octets", octets.len());
    let message = Message::from_octets(octets).unwrap();
    assert_eq!(message.header().opcode(), Opcode::UPDATE);
    assert_eq!(message.sole_question().unwrap().qtype(), Rtype::SOA);
    let classes =
        |section: domain::base::message::RecordSection<'_, Vec<u8>>| -> Vec<(String, Class, Rtype, u32)> {
            let records = section.map(|record| record.unwrap());
            records.map(|r| (r.owner().to_string(), r.class(), r.rtype(), r.ttl().as_secs())).collect()
        };
    assert_eq!(
        classes(message.answer().unwrap()),
        [
            ("new.example.com".into(), Class::NONE, Rtype::ANY, 0),
            ("www.example.com".into(), Class::IN, Rtype::A, 0),
        ]
    );
    assert_eq!(
        classes(message.authority().unwrap()),
        [
            ("www.example.com".into(), Class::ANY, Rtype::A, 0),
            ("new.example.com".into(), Class::IN, Rtype::TXT, 60),
            ("www.example.com".into(), Class::IN, Rtype::A, 300),
            ("www.example.com".into(), Class::IN, Rtype::A, 300),
        ]
    );
}

#[test]
fn questions_ask_for_what_they_say() {
    let message = Message::from_octets(query_since(&domain(), 7).finish().into_target()).unwrap();
    assert_eq!(message.sole_question().unwrap().qtype(), Rtype::IXFR);
    assert_eq!(message.header_counts().nscount(), 1);
    let message = Message::from_octets(query(&name("www"), Rtype::A).finish().into_target()).unwrap();
    assert_eq!(message.sole_question().unwrap().qname().to_string(), "www.example.com");
}

#[test]
fn compressed_names_in_values_are_written_out() {
    use domain::base::{MessageBuilder, Name, Ttl, message_builder::HashCompressor};
    use domain::rdata::Mx;
    let owner: Name<Vec<u8>> = "www.example.com".parse().unwrap();
    let mut message = MessageBuilder::from_target(HashCompressor::new(Vec::new())).unwrap().answer();
    for preference in [10, 20] {
        message.push((&owner, Class::IN, Ttl::from_secs(60), Mx::new(preference, &owner))).unwrap();
    }
    let octets = message.finish().into_target();
    assert!(octets.len() < 70, "it is compressed: {}", octets.len());
    let found = items(&Message::from_octets(octets).unwrap()).unwrap();
    assert_eq!(found, [item("www 60 MX 10 www.example.com"), item("www 60 MX 20 www.example.com")]);
}
