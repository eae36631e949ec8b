//! RecordSets that zones take by their label, as users of bindy have them.

use serde_json::json;
use zonekeeper_tests::dns;

use crate::site::Site;

/// Case 55: bindy calls this a conflict; here each zone serves it, under its own name.
#[tokio::test]
async fn a_record_set_that_two_zones_take_is_served_in_both() {
    let second = |domain: &str| format!("second-{domain}");
    let site = Site::with("both", |setup| setup.more_domains = vec![second(&setup.domain)]).await;
    let taken = json!([{"selector": {"matchLabels": {"dns": "public"}}}]);
    site.apply(&site.dns_zone().with("recordsFrom", taken.clone())).await;
    let other = second(&site.domain);
    site.apply(&site.zone_of(&other).named("second").with("recordsFrom", taken)).await;
    site.run();
    let www = |value: &str| {
        site.a("www", value).without("name").with("relativeName", "www").labelled("dns", "public")
    };
    let object = site.ready(&www("192.0.2.1")).await;
    assert_eq!(object["status"]["zones"].as_array().map(Vec::len), Some(2), "{object:#}");
    site.ready(&www("192.0.2.2")).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.2"]);
    assert_eq!(dns::served(&site.server, &format!("www.{other}"), "A"), ["192.0.2.2"]);
    site.delete("RecordSet", "www").await;
    site.wait_gone("RecordSet", "www").await;
    assert_eq!(site.served("www", "A"), [""; 0]);
    assert_eq!(dns::served(&site.server, &format!("www.{other}"), "A"), [""; 0]);
}

/// Case 56.
#[tokio::test]
async fn a_label_that_no_zone_takes_is_told_once() {
    let site = Site::ready_to_run("untaken").await;
    let taken = json!([{"selector": {"matchLabels": {"dns": "public"}}}]);
    site.apply(&site.dns_zone().with("recordsFrom", taken)).await;
    site.run();
    site.wait_ready("DNSZone", "zone").await;
    let www = site.a("www", "192.0.2.1").without("name").with("relativeName", "www");
    site.not_ready(&www.clone().labelled("dns", "private"), "NoMatchingZone").await;
    let before = site.get("RecordSet", "www").await.expect("it is there");
    let seen = site.relay.requests();
    site.scan().await;
    let after = site.get("RecordSet", "www").await.expect("it is there");
    assert_eq!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    assert!(site.relay.since(seen).iter().all(|kind| *kind == dns::Kind::Query));
    site.ready(&www.labelled("dns", "public")).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
}
