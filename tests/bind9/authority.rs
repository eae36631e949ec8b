//! SOA and apex NS of a zone on a server, as the DNSZone declares them: only what is listed, and only by approval.

use serde_json::{Value, json};
use zonekeeper_api::wellknown::APPROVE_PLAN;
use zonekeeper_tests::dns;

use crate::{site::Site, support::condition};

#[tokio::test]
async fn soa_and_name_servers_change_by_approval_and_in_one_update() {
    let site = Site::ready_to_run("authority").await;
    let servers = json!(["ns1.example.net", "ns2.example.net"]);
    let authority =
        json!({"soa": {"refresh": 3600, "rname": "dns.admin@example.com"}, "nameServers": servers});
    site.apply(&site.dns_zone().with("authority", authority).with("interval", "1s")).await;
    site.run();
    let is_held = |zone: &Value| condition(zone, "Ready").message.contains(APPROVE_PLAN);
    let held = site.wait("DNSZone", "zone", "a hash", is_held).await;
    let fields: Vec<&str> = held["status"]["plan"]["changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|change| change["field"].as_str())
        .collect();
    assert_eq!(fields, ["authority.nameServers", "authority.soa.refresh", "authority.soa.rname"]);
    // Records go on meanwhile.
    site.apply(&site.a("www", "192.0.2.1")).await;
    site.wait_served("www", "A", &["192.0.2.1"]).await;

    let before = dns::served(&site.server, &site.domain, "SOA").join(" ");
    let held = site.wait("DNSZone", "zone", "a hash", is_held).await;
    let hash = held["status"]["plan"]["hash"].as_str().expect("a hash").to_owned();
    site.annotate("DNSZone", "zone", APPROVE_PLAN, &hash).await;
    site.wait_ready("DNSZone", "zone").await;
    let after = dns::served(&site.server, &site.domain, "SOA").join(" ");
    let (before, after): (Vec<&str>, Vec<&str>) = (before.split(' ').collect(), after.split(' ').collect());
    assert_eq!((after[1], after[3]), ("dns\\.admin.example.com.", "3600"), "{after:?}");
    assert_eq!((after[0], &after[4..]), (before[0], &before[4..]), "what is not listed stays");
    assert_eq!(dns::served(&site.server, &site.domain, "NS"), ["ns1.example.net.", "ns2.example.net."]);

    // A change from outside is drift, and waits as well.
    site.by_hand("update delete ZONE NS ns2.example.net.");
    let held = site.wait("DNSZone", "zone", "a hash", is_held).await;
    assert_eq!(held["status"]["plan"]["changes"][0]["field"], "authority.nameServers");
}
