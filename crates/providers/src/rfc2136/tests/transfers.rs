use super::{
    super::{
        conversation::Next,
        message::Item,
        mirror::Mirror,
        transfer::{Transfer, Transferred},
    },
    domain, item, mirror, name, soa,
};

/// All items in one message, then one message each: the result must not depend on that.
fn read(since: Option<u32>, items: &[Item]) -> Result<Option<Transferred>, String> {
    let domain = domain();
    let run = |messages: Vec<Vec<Item>>| {
        let mut transfer = match since {
            Some(serial) => Transfer::since(&domain, serial),
            None => Transfer::whole(&domain),
        };
        for message in messages {
            if transfer.take(message)? == Next::Done {
                break;
            }
        }
        Ok(transfer.finish())
    };
    let at_once: Result<Option<Transferred>, String> = run(vec![items.to_vec()]);
    if at_once.is_ok() {
        assert_eq!(at_once, run(items.iter().map(|item| vec![item.clone()]).collect()));
    }
    at_once
}

fn apply(mut zone: Mirror, transferred: Transferred) -> Mirror {
    let Transferred::Differences(differences, soa) = transferred else { unreachable!("{transferred:?}") };
    assert!(zone.advance(differences, soa));
    zone
}

#[test]
fn a_whole_zone_ends_with_the_record_that_it_begins_with() {
    let records = ["@ 300 NS ns1.example.net", "www 60 A 192.0.2.1", "www 60 A 192.0.2.2"];
    let mut items = vec![soa(7)];
    items.extend(records.map(item));
    assert_eq!(read(None, &items), Ok(None), "without its closing SOA record there is no zone");
    items.push(soa(7));
    assert_eq!(read(None, &items), Ok(Some(Transferred::Whole(mirror(7, &records)))));
    items.push(item("late 60 A 192.0.2.1"));
    assert!(read(None, &items).unwrap_err().contains("after its end"));
}

#[test]
fn a_zone_that_can_not_be_right_is_an_error() {
    let mut outside = item("www 60 A 192.0.2.1");
    outside.name = zonekeeper_kernel::name::Name::parse("www.example.net").unwrap();
    let cases: [(&[Item], &str); 4] = [
        (&[item("www 60 A 192.0.2.1")], "does not begin"),
        (&[soa(7), outside, soa(7)], "outside the zone"),
        (&[soa(7), item("www 60 A 192.0.2.1"), soa(8)], "another version"),
        (&[soa(7), Item { name: name("www"), ..soa(7) }, soa(7)], "a SOA record at"),
    ];
    for (items, expected) in cases {
        let error = read(None, items).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn differences_lead_from_version_to_version() {
    let before = mirror(7, &["www 60 A 192.0.2.1", "old 60 A 192.0.2.9"]);
    let items = [
        soa(9),
        soa(7),
        item("www 60 A 192.0.2.1"),
        soa(8),
        item("www 60 A 192.0.2.2"),
        soa(8),
        item("old 60 A 192.0.2.9"),
        soa(9),
        item("new 60 TXT \"a\""),
        soa(9),
    ];
    for cut in 2..items.len() {
        assert_eq!(read(Some(7), &items[..cut]), Ok(None), "cut after {cut}");
    }
    let after = apply(before, read(Some(7), &items).unwrap().unwrap());
    assert_eq!(after, mirror(9, &["www 60 A 192.0.2.2", "new 60 TXT \"a\""]));
}

#[test]
fn a_server_may_send_all_or_say_that_nothing_is_newer() {
    let whole = [soa(9), item("www 60 A 192.0.2.1"), soa(9)];
    assert_eq!(read(Some(7), &whole), Ok(Some(Transferred::Whole(mirror(9, &["www 60 A 192.0.2.1"])))));
    assert_eq!(read(Some(7), &[soa(9), soa(9)]), Ok(Some(Transferred::Whole(mirror(9, &[])))));
    for serial in [7, 6, 3_000_000_000] {
        assert_eq!(read(Some(7), &[soa(serial)]), Ok(Some(Transferred::Current)), "{serial}");
    }
    assert_eq!(read(Some(7), &[soa(8)]), Ok(None), "more must follow");
    let gap = [soa(9), soa(7), soa(8), soa(9)];
    assert!(read(Some(7), &gap).unwrap_err().contains("leave out"));
}

#[test]
fn differences_of_another_zone_do_not_fit() {
    let items = [soa(8), soa(7), item("www 60 A 192.0.2.1"), soa(8), soa(8)];
    let Some(Transferred::Differences(differences, soa)) = read(Some(7), &items).unwrap() else {
        unreachable!("differences")
    };
    assert!(!mirror(7, &["www 60 A 192.0.2.7"]).advance(differences, soa));
}

#[test]
fn what_a_server_signs_by_itself_is_left_out_or_read_only() {
    let rrsig = |owner: &str| Item {
        name: name(owner),
        rtype: zonekeeper_kernel::rdata::RecordType::from_code(46),
        ttl: 60,
        wire: vec![0; 24],
    };
    let key = "@ 60 DNSKEY 257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=";
    let mut zone = mirror(7, &[key, "@ 60 NS ns1.example.net", "@ 0 TYPE65534 \\# 2 0000"]);
    let read_only = |zone: &Mirror| zone.records().iter().filter(|(_, record)| record.read_only).count();
    assert_eq!(read_only(&zone), 0, "in a zone that the server does not sign, keys are data");
    zone.insert(rrsig("@"));
    zone.insert(rrsig("www"));
    assert_eq!((zone.records().len(), read_only(&zone)), (2, 1), "BIND's signing state has no owner");
}

#[test]
fn a_value_that_can_not_be_read_blocks_its_set_only() {
    let mut zone = mirror(7, &["www 60 A 192.0.2.1"]);
    let broken = Item { wire: vec![1, 2, 3], ..item("www 60 AAAA 2001:db8::1") };
    zone.insert(broken.clone());
    assert!(zone.has_unreadable(&name("www"), broken.rtype));
    assert!(!zone.has_unreadable(&name("www"), item("www 60 A 192.0.2.1").rtype));
    assert!(!zone.has_unreadable(&name("wwx"), broken.rtype));
    assert_eq!(zone.records().len(), 1);
}
