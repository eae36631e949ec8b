//! RecordSets that the operator makes: PTR records for addresses, and addresses for the target of an alias.

use control_plane::eventually;
use serde_json::{Value, json};
use zonekeeper_tests::dns;

use crate::{
    site::Site,
    support::{lab::DEADLINE, records},
};

const REVERSE: &str = "2.0.192.in-addr.arpa";

/// Waits until an address has these names.
async fn wait_names(site: &Site<'_>, last: u8, expected: &[String]) {
    eventually(&format!("the names of 192.0.2.{last}: {expected:?}"), DEADLINE, async || {
        let found = dns::served(&site.server, &format!("{last}.{REVERSE}"), "PTR");
        if found == expected { Ok(()) } else { Err(found) }
    })
    .await;
}

#[tokio::test]
async fn addresses_have_their_names_in_a_reverse_zone_that_grants_it() {
    let site = Site::with("reverse", |setup| setup.more_domains = vec![REVERSE.into()]).await;
    site.apply(&site.dns_zone().with("reverse", true).with("interval", "1s")).await;
    let grants = json!([{"namespaces": {"from": "All"}, "types": ["PTR"]}]);
    site.apply(&site.zone_of(REVERSE).named("reverse").with("allowedRecords", grants)).await;
    site.run();
    let fqdn = |name: &str| format!("{}.", site.at(name));
    site.apply(&site.records("www", "A", &["192.0.2.1", "192.0.2.2"]).with("deletionPolicy", "Retain")).await;
    wait_names(&site, 1, &[fqdn("www")]).await;
    wait_names(&site, 2, &[fqdn("www")]).await;
    let ptr = site.wait_ready("RecordSet", "www-ptr-192-0-2-1").await;
    assert_eq!(ptr["metadata"]["ownerReferences"][0]["name"], "www");

    // Two names share an address.
    site.apply(&site.a("mail", "192.0.2.1")).await;
    let mut both = [fqdn("mail"), fqdn("www")];
    both.sort();
    wait_names(&site, 1, &both).await;

    // An address that is left loses the name, whatever is said about the end of the object.
    site.apply(&site.records("www", "A", &["192.0.2.2"]).with("deletionPolicy", "Retain")).await;
    wait_names(&site, 1, &[fqdn("mail")]).await;
    wait_names(&site, 2, &[fqdn("www")]).await;

    // One object may say otherwise.
    site.apply(&site.a("mail", "192.0.2.1").with("reverse", false)).await;
    wait_names(&site, 1, &[]).await;
}

#[tokio::test]
async fn an_apex_follows_the_addresses_of_its_target() {
    let site = Site::ready_to_run("targets").await;
    site.run_with(&["--resolver", &site.server.address()]);
    site.apply(&site.records("host", "A", &["192.0.2.7"]).with("ttl", 1)).await;
    site.wait_served("host", "A", &["192.0.2.7"]).await;
    let apex = records(&site.domain, "CNAME", &[&site.at("host")]).named("apex").with("resolveTargets", true);
    site.apply(&apex).await;
    site.wait_served("@", "A", &["192.0.2.7"]).await;
    let apex = site.wait_ready("RecordSet", "apex").await;
    assert!(apex["status"]["conditions"].to_string().contains("is published as 192.0.2.7"), "{apex}");

    site.apply(&site.records("host", "A", &["192.0.2.8"]).with("ttl", 1)).await;
    site.wait_served("@", "A", &["192.0.2.8"]).await;
    // A target that is gone leaves what it had.
    site.delete("RecordSet", "host").await;
    let keeps =
        |object: &Value| object["status"]["conditions"].to_string().contains("the last good answer is kept");
    site.wait("RecordSet", "apex", "the last good answer", keeps).await;
    assert_eq!(site.served("@", "A"), ["192.0.2.8"]);
}
