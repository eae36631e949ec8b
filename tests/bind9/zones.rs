//! Zones on servers: found, missing, and only one DNSZone for each.

use dns_servers::{DnsServer, Setup, Software};
use serde_json::json;

use crate::site::Site;

/// Case 39.
#[tokio::test]
async fn a_zone_that_the_server_does_not_have_recovers_when_it_does() {
    let mut site = Site::ready_to_run("missing-zone").await;
    let domain = format!("{}.example.org", site.home.name());
    site.run();
    let message = site.not_ready(&site.zone_of(&domain).named("later"), "ZoneNotFound").await;
    assert!(message.contains(&domain) && message.contains(&site.relay.address), "{message}");
    let domains = vec![domain];
    site.server.reconfigure(|setup| setup.more_domains = domains).expect("named takes it");
    let zone = site.wait_ready("DNSZone", "later").await;
    assert_eq!(zone["status"]["nameServers"], json!(["ns1.example.net"]));
}

#[tokio::test]
async fn two_providers_of_one_server_have_one_zone() {
    let site = Site::new("one-server").await;
    site.wait_ready("DNSZone", "zone").await;
    let second = format!("{}-second", site.home.name());
    site.ready(&site.provider().named(&second)).await;
    let twin = site.dns_zone().named("twin").with("providerRef", json!({"name": second}));
    let message = site.not_ready(&twin, "DuplicateZone").await;
    assert!(message.contains("/zone"), "{message}");
    site.ready(&site.a("www", "192.0.2.1")).await;
    // The same domain on another server is another zone.
    let elsewhere = DnsServer::start(Setup::new(Software::Bind, &site.domain)).expect("the server starts");
    let other = format!("{}-other", site.home.name());
    let provider = site.provider().named(&other).with("rfc2136.servers", json!([elsewhere.address()]));
    site.ready(&provider).await;
    let zone = site.dns_zone().named("other").with("selection", "Explicit");
    site.ready(&zone.with("providerRef", json!({"name": other}))).await;
}
