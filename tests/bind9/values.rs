//! Values: several objects in one set, every form that DNS has, and mistakes that change nothing.

use std::{collections::BTreeSet, time::Instant};

use control_plane::Options;
use kube::{ResourceExt, api::ListParams};
use serde_json::json;

use crate::{
    site::Site,
    support::{Manifest, objects, plane},
};

/// Cases 1 and 2.
#[tokio::test]
async fn objects_share_a_set() {
    let site = Site::new("share").await;
    let at_apex = |object: &str, rtype: &str, value: &str| site.records("@", rtype, &[value]).named(object);
    for (object, rtype, value) in [
        ("mail-1", "MX", "10 mail1.example.net"),
        ("mail-2", "MX", "20 mail2.example.net"),
        ("spf", "TXT", "v=spf1 mx -all"),
        ("verification", "TXT", "verification=0123"),
    ] {
        site.ready(&at_apex(object, rtype, value)).await;
    }
    assert_eq!(site.served("@", "MX"), ["10 mail1.example.net.", "20 mail2.example.net."]);
    assert_eq!(site.served("@", "TXT"), ["\"v=spf1 mx -all\"", "\"verification=0123\""]);
    // One that goes takes its own value and nothing else.
    site.delete("RecordSet", "spf").await;
    site.wait_gone("RecordSet", "spf").await;
    assert_eq!(site.served("@", "TXT"), ["\"verification=0123\""]);
    assert_eq!(site.served("@", "MX").len(), 2);
}

/// Cases 15 to 18 and 21.
#[tokio::test]
async fn values_are_served_as_they_were_written() {
    let site = Site::new("values").await;
    let long = "x".repeat(300);
    let whole = format!("\"{}\" \"{}\"", "x".repeat(255), "x".repeat(45));
    let cases: [(&str, &str, &str, &str); 10] = [
        ("long", "TXT", &long, &whole),
        ("quoted", "TXT", r#""say \"a\\b\"" "#, r#""say \"a\\b\"""#),
        ("utf8", "TXT", "grün", r#""gr\195\188n""#),
        (
            "caa",
            "CAA",
            "0 issue \"ca.example.net; accounturi=https://ca.example.net/1\"",
            "0 issue \"ca.example.net; accounturi=https://ca.example.net/1\"",
        ),
        ("web", "HTTPS", "1 . alpn=h2,h3 ipv4hint=192.0.2.1", "1 . alpn=\"h2,h3\" ipv4hint=192.0.2.1"),
        ("svc", "SVCB", "2 svc.example.net port=8443", "2 svc.example.net. port=8443"),
        ("new", "TYPE65400", r"\# 3 010203", r"\# 3 010203"),
        ("_sip._tcp", "SRV", "1 2 5060 sip.example.net", "1 2 5060 sip.example.net."),
        ("@", "A", "192.0.2.1", "192.0.2.1"),
        ("*", "A", "192.0.2.2", "192.0.2.2"),
    ];
    for (name, rtype, value, _) in cases {
        site.apply(&site.records(name, rtype, &[value.trim_end()])).await;
    }
    for (name, rtype, value, expected) in cases {
        site.ready(&site.records(name, rtype, &[value.trim_end()])).await;
        assert_eq!(site.served(name, rtype), [expected], "{name} {rtype}");
    }
    assert_eq!(site.served("anything", "A"), ["192.0.2.2"], "the wildcard answers");
    // Nothing of it looks different when it is read back.
    let serial = site.serial();
    site.scan().await;
    site.scan().await;
    assert_eq!(site.serial(), serial);
}

/// Cases 9, 10, 14 and 22.
#[tokio::test]
async fn a_mistake_leaves_what_is_served_alone() {
    let site = Site::new("mistakes").await;
    let www = |value: &str| site.a("www", value);
    site.ready(&www("192.0.2.1")).await;
    let serial = site.serial();
    let many: Vec<String> = (0..=100).map(|i| format!("192.0.2.{i}")).collect();
    let under_zone = |name: String| www("192.0.2.1").with("name", format!("{name}.{}", site.domain));
    let (too_long, label) = ("w.".repeat(127), "w".repeat(64));
    for (manifest, words) in [
        (www("192.0.2.256"), "values of type A are IPv4 addresses"),
        (www("192.0.2.1").with("values", json!(many)), "must have at most 100 items"),
        (under_zone(too_long + "w"), "may not be more than 255"),
    ] {
        let message = site.refused(&manifest).await;
        assert!(message.contains(words), "{message}");
    }
    // What passes admission changes nothing either: a label too long, and a name that is by a little.
    let little = "w.".repeat(127)[..252 - site.domain.len()].to_owned() + "w";
    for (name, words) in [(label, "63"), (little, "253")] {
        let message = site.not_ready(&under_zone(name), "InvalidValue").await;
        assert!(message.contains(words), "{message}");
        site.ready(&www("192.0.2.1")).await;
    }
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
    let mx: Manifest = site.records("mx", "MX", &["10 mail.example.net"]);
    site.ready(&mx).await;
    let message = site.not_ready(&mx.with("values", json!(["high mail.example.net"])), "InvalidValue").await;
    assert!(message.contains("high"), "{message}");
    site.scan().await;
    assert_eq!(site.served("mx", "MX"), ["10 mail.example.net."]);
    assert_eq!(site.serial(), serial + 1, "one record more, and nothing else");
}

/// Case 14, where only all objects of a set together are too many: BIND takes 100 of them.
#[tokio::test]
async fn values_of_several_objects_that_are_too_many_are_explained() {
    let site = Site::new("too-many").await;
    let values =
        |range: std::ops::Range<u8>| json!(range.map(|i| format!("192.0.2.{i}")).collect::<Vec<_>>());
    site.ready(&site.a("many", "192.0.2.0").with("values", values(0..60))).await;
    let more = site.a("many", "192.0.2.0").named("more").with("values", values(60..101));
    let message = site.not_ready(&more, "InvalidValue").await;
    assert!(message.contains("101 values together with those of recordset"), "{message}");
    assert_eq!(site.served("many", "A").len(), 60, "what was there stays");
    site.ready(&more.with("values", values(60..100))).await;
    assert_eq!(site.served("many", "A").len(), 100);
}

/// Case 27.
#[tokio::test]
async fn a_quiet_zone_is_asked_for_its_version_and_nothing_else() {
    let plane = plane::own(Options::default()).await;
    let site = Site::with_on(&plane, "quiet", |_| {}).await;
    site.apply(&site.dns_zone().with("interval", "1s")).await;
    site.run();
    site.ready(&site.a("www", "192.0.2.1")).await;
    site.ready(&site.records("@", "MX", &["10 Mail.Example.Net"])).await;
    site.scan().await;
    let before = (site.serial(), versions(&site).await);
    let (seen, begun) = (site.relay.requests(), Instant::now());
    control_plane::eventually("five looks", control_plane::DEADLINE, async || {
        let looks = site.relay.requests() - seen;
        if looks >= 5 { Ok(()) } else { Err(looks) }
    })
    .await;
    let (kinds, seconds) = (site.relay.since(seen), begun.elapsed().as_secs() as usize);
    assert!(kinds.iter().all(|kind| *kind == zonekeeper_tests::dns::Kind::Query), "{kinds:?}");
    assert!(kinds.len() <= seconds + 2, "one question per interval: {} in {seconds} s", kinds.len());
    assert_eq!((site.serial(), versions(&site).await), before);
}

/// Every object that we could have written; our Lease aside, which shows that we live.
async fn versions(site: &Site<'_>) -> BTreeSet<(String, String, String)> {
    let mut versions = BTreeSet::new();
    for kind in ["DNSProvider", "DNSZone", "RecordSet", "AddressSource", "Secret", "Event"] {
        let api = objects::api(site.home.client(), kind, site.home.name());
        for object in api.list(&ListParams::default()).await.expect("a list") {
            let version = object.resource_version().expect("a version");
            versions.insert((kind.to_owned(), object.name_any(), version));
        }
    }
    versions
}
