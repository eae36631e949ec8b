//! Zones on servers: found, missing, and only one DNSZone for each.

use dns_servers::{DnsServer, Setup, Software};
use serde_json::json;
use zonekeeper_tests::{dns, manifest::records};

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

/// Case 39, for a zone that was there: whoever notices first, a write or a look, says the same.
#[tokio::test]
async fn a_zone_that_is_taken_from_the_server_is_named_and_comes_back() {
    let more = |domain: &str| format!("more-{domain}");
    let mut site = Site::with("taken", |setup| setup.more_domains = vec![more(&setup.domain)]).await;
    let domain = more(&site.domain);
    let www = |value: &str| records(&format!("www.{domain}"), "A", &[value]).named("more-www");
    site.run();
    site.ready(&site.zone_of(&domain).named("more")).await;
    site.ready(&www("192.0.2.1")).await;
    for (is_written_to, value) in [(true, "192.0.2.2"), (false, "192.0.2.3")] {
        site.server.reconfigure(|setup| setup.more_domains.clear()).expect("named takes it");
        match is_written_to {
            true => drop(site.apply(&www(value)).await),
            false => site.annotate("DNSZone", "more", "reconcile.fluxcd.io/requestedAt", value).await,
        }
        let message = site.wait_reason("DNSZone", "more", "ZoneNotFound").await;
        assert!(message.contains(&domain) && message.contains(&site.relay.address), "{message}");
        site.not_ready(&www(value), "ZoneNotFound").await;
        // The other zone of the server goes on.
        site.ready(&site.a("www", value)).await;
        site.server.reconfigure(|setup| setup.more_domains.push(domain.clone())).expect("named takes it");
        site.wait_ready("DNSZone", "more").await;
        site.wait_ready("RecordSet", "more-www").await;
        assert_eq!(dns::served(&site.server, &format!("www.{domain}"), "A"), [value]);
    }
}

#[tokio::test]
async fn the_zones_own_name_servers_change_only_by_approval() {
    let site = Site::new("apex-ns").await;
    let ns = site.records("@", "NS", &["ns2.example.net", "ns3.example.net"]).with("adoption", "Force");
    let message = site.not_ready(&ns, "Held").await;
    assert!(message.contains("approve-plan"), "{message}");
    assert_eq!(site.served("@", "NS"), ["ns1.example.net."]);
    let zone = site.get("DNSZone", "zone").await.expect("it is there");
    let hash = zone["status"]["plan"]["hash"].as_str().expect("a hash");
    assert!(message.contains(hash), "what is to be copied is there when it is told: {hash}: {message}");
    site.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", hash).await;
    site.wait_ready("RecordSet", "apex").await;
    assert_eq!(site.served("@", "NS"), ["ns2.example.net.", "ns3.example.net."]);
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
