//! A server in trouble: explained on the objects, and over when the server is well again.

use serde_json::json;
use zonekeeper_tests::dns::Fault;

use crate::site::Site;

/// Case 38.
#[tokio::test]
async fn a_frozen_zone_is_explained_and_goes_on_when_it_is_thawed() {
    let site = Site::new("frozen").await;
    site.ready(&site.a("www", "192.0.2.1")).await;
    site.server.rndc(&["freeze", &site.domain]).expect("it freezes");
    site.apply(&site.a("www", "192.0.2.2")).await;
    let object = site
        .wait("RecordSet", "www", "why not", |object| {
            crate::support::condition(object, "Ready").message.contains("thaw")
        })
        .await;
    assert!(crate::support::condition(&object, "Ready").is("False"), "{object:#}");
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
    site.server.rndc(&["thaw", &site.domain]).expect("it thaws");
    site.wait_ready("RecordSet", "www").await;
    assert_eq!(site.served("www", "A"), ["192.0.2.2"]);
}

/// Case 40; our answer is Ready=False with ProviderUnavailable where the case says Unknown.
#[tokio::test]
async fn a_server_that_is_down_is_waited_for() {
    let mut site = Site::new("down").await;
    site.ready(&site.a("www", "192.0.2.1")).await;
    site.server.kill();
    let message = site.not_ready(&site.a("www", "192.0.2.2"), "ProviderUnavailable").await;
    assert!(message.contains("DNSZone"), "{message}");
    let message = site.wait_reason("DNSZone", "zone", "ProviderUnavailable").await;
    assert!(message.contains(&site.relay.address), "{message}");
    site.server.restart().expect("it starts again");
    site.wait_ready("RecordSet", "www").await;
    assert_eq!(site.served("www", "A"), ["192.0.2.2"]);
}

/// NOERROR is not success, and Ready is not said of what is not there.
#[tokio::test]
async fn what_the_server_ignores_is_told_on_the_object() {
    let rules = "allow-update { 127.0.0.1; }; allow-transfer { 127.0.0.1; };";
    let site = Site::with("ignored", |setup| setup.rules = Some(rules.into())).await;
    // Only what is not signed can be emptied on its way.
    site.apply(&site.provider().with("rfc2136", json!({"servers": [site.relay.address]}))).await;
    site.run();
    site.ready(&site.a("www", "192.0.2.1")).await;
    site.scan().await;
    site.relay.fault(0, Fault::Hollow);
    let message = site.not_ready(&site.a("www", "192.0.2.2"), "ProviderRejected").await;
    assert!(site.relay.heal() && message.contains("NOERROR"), "{message}");
    site.wait_ready("RecordSet", "www").await;
    assert_eq!(site.served("www", "A"), ["192.0.2.2"]);
}

/// Case 37.
#[tokio::test]
async fn a_name_that_the_policy_denies_is_named_and_stops_nobody_else() {
    let site = Site::with("denied", |setup| {
        let denied = format!("denied.{}.", setup.domain);
        setup.rules = Some(format!(
            "update-policy {{ deny zonekeeper name {denied} A; grant zonekeeper zonesub ANY; }}; \
             allow-transfer {{ key zonekeeper; }};"
        ));
    })
    .await;
    for name in ["one", "denied", "two"] {
        site.apply(&site.a(name, "192.0.2.1")).await;
    }
    site.run();
    let message = site.wait_reason("RecordSet", "denied", "ProviderRejected").await;
    assert!(message.contains("update-policy"), "{message}");
    for name in ["one", "two"] {
        site.wait_ready("RecordSet", name).await;
        assert_eq!(site.served(name, "A"), ["192.0.2.1"]);
    }
    assert_eq!(site.served("a-denied", "TXT"), [""; 0], "nor a marker");
}

/// Case 23, with its way out in case 24.
#[tokio::test]
async fn a_mail_host_without_an_address_is_explained() {
    let site = Site::new("mail-host").await;
    let mx = site.records("@", "MX", &[&format!("10 mail.{}", site.domain)]);
    let message = site.not_ready(&mx, "ProviderRejected").await;
    assert!(message.contains("has no address"), "{message}");
    site.ready(&site.a("mail", "192.0.2.25")).await;
    site.wait_ready("RecordSet", "apex").await;
    assert_eq!(site.served("@", "MX"), [format!("10 mail.{}.", site.domain)]);
}

#[tokio::test]
async fn a_server_that_transfers_nothing_is_explained_and_can_be_read_name_by_name() {
    let site = Site::with("no-transfer", |setup| {
        setup.rules = Some("allow-update { key zonekeeper; }; allow-transfer { none; };".into());
    })
    .await;
    site.run();
    let message = site.wait_reason("DNSZone", "zone", "CredentialsInvalid").await;
    assert!(message.contains("allow-transfer") && message.contains("reading: Names"), "{message}");
    site.apply(&site.provider().with("rfc2136.reading", "Names")).await;
    for (name, rtype, value) in
        [("www", "A", "192.0.2.1"), ("txt", "TXT", "hello"), ("mx", "MX", "10 mail.example.net.")]
    {
        site.ready(&site.records(name, rtype, &[value])).await;
    }
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
    site.by_hand("update add foreign.ZONE. 300 A 203.0.113.1");
    // What is deleted while nobody watches is found by its object, which waits.
    site.kill().await;
    site.delete("RecordSet", "mx").await;
    site.patch("RecordSet", "www", json!({"spec": {"values": ["192.0.2.2"]}})).await;
    site.run();
    site.wait_gone("RecordSet", "mx").await;
    site.wait_served("www", "A", &["192.0.2.2"]).await;
    assert_eq!(site.served("mx", "MX"), [""; 0]);
    assert_eq!(site.served("mx-mx", "TXT"), [""; 0], "nor its marker");
    assert_eq!(site.served("foreign", "A"), ["203.0.113.1"]);
}
