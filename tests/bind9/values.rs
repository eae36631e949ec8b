//! Values: several objects in one set, every form that DNS has, and mistakes that change nothing.

use control_plane::Options;
use serde_json::json;

use crate::{
    site::Site,
    support::{Manifest, plane},
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
    let refused = [
        (www("192.0.2.256"), "values of type A are IPv4 addresses"),
        (www("192.0.2.1").with("values", json!(many)), "100"),
        (www("192.0.2.1").with("name", format!("{}.{}", "w.".repeat(120), site.domain)), "name"),
    ];
    for (manifest, word) in refused {
        let message = match site.try_apply(&manifest).await {
            Err(error) => error.to_string(),
            Ok(_) => site.wait_reason("RecordSet", "www", "InvalidValue").await,
        };
        assert!(message.contains(word), "{message}");
        assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
    }
    let mx: Manifest = site.records("mx", "MX", &["10 mail.example.net"]);
    site.ready(&mx).await;
    let message = site.not_ready(&mx.with("values", json!(["high mail.example.net"])), "InvalidValue").await;
    assert!(message.contains("high"), "{message}");
    site.scan().await;
    assert_eq!(site.served("mx", "MX"), ["10 mail.example.net."]);
    assert_eq!(site.serial(), serial + 1, "one record more, and nothing else");
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
    let version = async |kind: &str, name: &str| site.get(kind, name).await.expect("it is there");
    let before = (site.serial(), version("RecordSet", "www").await, version("DNSZone", "zone").await);
    let seen = site.relay.requests();
    control_plane::eventually("five looks", control_plane::DEADLINE, async || {
        let looks = site.relay.requests() - seen;
        if looks >= 5 { Ok(()) } else { Err(looks) }
    })
    .await;
    let kinds = site.relay.since(seen);
    assert!(kinds.iter().all(|kind| *kind == zonekeeper_tests::dns::Kind::Query), "{kinds:?}");
    let after = (site.serial(), version("RecordSet", "www").await, version("DNSZone", "zone").await);
    assert_eq!(before, after);
}
