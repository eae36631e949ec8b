use zonekeeper_kernel::{
    plan::Change,
    rdata::{Rdata, RecordType},
};

use super::{
    super::{
        draft::{Draft, Steps, View, Written},
        message::{Item, Prerequisite, Step},
        mirror::Mirror,
    },
    alter, change, create, delete, domain, mirror, name, rdata,
};

/// What a change says to the server, as people read it.
fn said(zone: &Mirror, change: &Change) -> String {
    let view = View { mirror: zone, written: &Written::default() };
    let draft = Draft::new(change, &domain(), view).unwrap();
    let mut steps = Steps::default();
    draft.steps(&domain(), &mut steps);
    let short = |name: &zonekeeper_kernel::name::Name| name.relative_to(&domain()).to_owned();
    let before = draft.prerequisites(view).into_iter().map(|prerequisite| match prerequisite {
        Prerequisite::NameUnused(name) => format!("no {}", short(name)),
        Prerequisite::NameUsed(name) => format!("some {}", short(name)),
        Prerequisite::SetMissing(name, rtype) => format!("no {} {rtype}", short(name)),
        Prerequisite::Value(name, rtype, octets) => {
            format!("is {} {}", short(name), Rdata::from_wire(rtype, octets).unwrap())
        }
    });
    let after = steps.in_order().into_iter().map(|step| match step {
        Step::RemoveSet(name, rtype) => format!("- {} {rtype}", short(name)),
        Step::Remove(name, rdata) => format!("- {} {rdata}", short(name)),
        Step::Add(name, ttl, rdata) => format!("+ {} {ttl} {rdata}", short(name)),
    });
    before.chain(after).collect::<Vec<_>>().join(", ")
}

fn refused(zone: &Mirror, change: &Change) -> String {
    let view = View { mirror: zone, written: &Written::default() };
    let error = Draft::new(change, &domain(), view).unwrap_err();
    format!("{}: {error}", error.reason())
}

#[test]
fn a_new_set_needs_an_empty_place() {
    let new = change([create("www 300 A 192.0.2.1"), create("a-www 300 TXT \"marker\"")]);
    assert_eq!(said(&mirror(1, &[]), &new), "no a-www, no www, + a-www 300 \"marker\", + www 300 192.0.2.1");
    let beside = mirror(1, &["www 60 TXT \"a\""]);
    // An alias that came meanwhile would make the server ignore it without a word.
    assert_eq!(
        said(&beside, &change([create("www 300 A 192.0.2.1")])),
        "no www A, no www CNAME, + www 300 192.0.2.1"
    );
}

#[test]
fn a_claim_is_written_only_if_the_values_are_as_they_were() {
    let zone = mirror(1, &["www 300 A 192.0.2.1"]);
    let adopted = Change {
        name: name("www"),
        rtype: RecordType::A,
        unchanged: vec![rdata("A", "192.0.2.1")],
        ..change([create("a-www 300 TXT \"marker\"")])
    };
    assert_eq!(said(&zone, &adopted), "no a-www, is www 192.0.2.1, + a-www 300 \"marker\"");
}

#[test]
fn a_set_is_changed_only_while_its_marker_says_that_it_is_ours() {
    let zone = mirror(1, &["www 300 A 192.0.2.1", "a-www 300 TXT \"ours\""]);
    let claimed = |text: &str| Change {
        claims: vec![(name("a-www"), rdata("TXT", text))],
        ..change([alter("www 300 A 192.0.2.1", "www 300 A 192.0.2.2")])
    };
    assert_eq!(
        said(&zone, &claimed("\"ours\"")),
        "is a-www \"ours\", is www 192.0.2.1, - www A, + www 300 192.0.2.2"
    );
    assert!(refused(&zone, &claimed("\"theirs\"")).starts_with("Pending"));
}

#[test]
fn a_name_with_a_value_that_nobody_can_read_is_not_empty() {
    let mut zone = mirror(1, &[]);
    zone.insert(Item { name: name("www"), rtype: RecordType::AAAA, ttl: 300, wire: vec![1] });
    let new = change([create("www 300 A 192.0.2.1")]);
    assert_eq!(said(&zone, &new), "no www A, no www CNAME, + www 300 192.0.2.1");
}

#[test]
fn a_set_is_compared_whole_before_a_part_of_it_changes() {
    let zone = mirror(1, &["www 300 A 192.0.2.1", "www 300 A 192.0.2.2"]);
    assert_eq!(
        said(&zone, &change([alter("www 300 A 192.0.2.1", "www 300 A 192.0.2.3")])),
        "is www 192.0.2.1, is www 192.0.2.2, - www A, + www 300 192.0.2.2, + www 300 192.0.2.3"
    );
    assert_eq!(
        said(&zone, &change([delete("www 300 A 192.0.2.1"), delete("www 300 A 192.0.2.2")])),
        "is www 192.0.2.1, is www 192.0.2.2, - www A"
    );
}

#[test]
fn a_ttl_changes_for_all_values_at_once() {
    let zone = mirror(1, &["www 300 A 192.0.2.1", "www 300 A 192.0.2.2"]);
    let change = change([create("www 60 A 192.0.2.3")]);
    assert_eq!(
        said(&zone, &change),
        "is www 192.0.2.1, is www 192.0.2.2, - www A, + www 60 192.0.2.1, + www 60 192.0.2.2, + www 60 192.0.2.3"
    );
    let view = View { mirror: &zone, written: &Written::default() };
    let effects = Draft::new(&change, &domain(), view).unwrap().effects(&change);
    assert_eq!(effects.len(), 3, "the other two values got another TTL, too");
}

#[test]
fn an_alias_replaces_addresses_in_one_message() {
    let zone = mirror(1, &["www 300 A 192.0.2.1", "www 300 AAAA 2001:db8::1"]);
    let retyped = change([
        alter("www 300 A 192.0.2.1", "www 300 CNAME target.example.net"),
        delete("www 300 AAAA 2001:db8::1"),
    ]);
    assert_eq!(
        said(&zone, &retyped),
        "is www 192.0.2.1, no www CNAME, is www 2001:db8::1, - www A, - www AAAA, + www 300 target.example.net."
    );
    let beside = change([alter("www 300 A 192.0.2.1", "www 300 CNAME target.example.net")]);
    let message = refused(&zone, &beside);
    assert!(message.contains("an alias at www.example.com excludes other records"), "{message}");
}

#[test]
fn the_zones_name_servers_change_without_a_moment_without_any() {
    let zone = mirror(1, &["@ 300 NS ns1.example.net"]);
    let moved = change([alter("@ 300 NS ns1.example.net", "@ 300 NS ns2.example.net")]);
    assert_eq!(said(&zone, &moved), "is @ ns1.example.net., + @ 300 ns2.example.net., - @ ns1.example.net.");
    let gone = refused(&zone, &change([delete("@ 300 NS ns1.example.net")]));
    assert!(gone.starts_with("ProviderRejected") && gone.contains("needs a name server"), "{gone}");
    let soa = "@ 300 SOA ns1.example.net h.example.net 1 2 3 4 5";
    assert!(refused(&zone, &change([create(soa)])).contains("belongs to the server"));
}

#[test]
fn a_change_that_was_planned_on_another_zone_is_refused() {
    let zone = mirror(1, &["www 300 A 192.0.2.9"]);
    for edit in [delete("www 300 A 192.0.2.1"), create("www 300 A 192.0.2.9")] {
        assert!(refused(&zone, &change([edit])).starts_with("Pending"));
    }
}

#[test]
fn what_was_sent_counts_before_it_is_read_back() {
    let (zone, mut written) = (mirror(1, &["www 300 A 192.0.2.1"]), Written::default());
    let first = change([alter("www 300 A 192.0.2.1", "www 300 A 192.0.2.2")]);
    let draft = Draft::new(&first, &domain(), View { mirror: &zone, written: &written }).unwrap();
    written.add(&draft, &zone);
    let second = change([alter("www 300 A 192.0.2.2", "www 300 A 192.0.2.3")]);
    assert!(Draft::new(&second, &domain(), View { mirror: &zone, written: &written }).is_ok());
    assert!(Draft::new(&first, &domain(), View { mirror: &zone, written: &written }).is_err());
}
