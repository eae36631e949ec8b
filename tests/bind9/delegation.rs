//! Delegations that the operator keeps in the parent zone, and what the parent's servers really answer.
//!
//! Servers of zones are asked at port 53, so that these tests need the right to listen there.

use std::ops::Deref;

use cloudflare_sim::{Fault, Plan, When};
use control_plane::eventually;
use dns_servers::{DnsServer, Setup, Software};
use serde_json::{Value, json};
use zonekeeper_api::wellknown::{APPROVE_PLAN, RECONCILE_REQUESTED_AT};
use zonekeeper_tests::dns::{
    self,
    above::{Front, addresses, served_at},
};

use crate::{
    site::Site,
    support::{condition, lab::DEADLINE, records},
};

/// An operator that asks the parent's server for what is at port 53.
async fn parent(name: &str, address: &str) -> (Site<'static>, Front) {
    let site = Site::with(name, |setup| setup.zone = served_at(&setup.domain, address)).await;
    let front = Front::start(address, &site.server);
    site.apply(&site.dns_zone().with("defaults", json!({"ttl": 2})).with("interval", "1s")).await;
    let resolver = site.server.address();
    site.run_with(&["--resolver", &resolver]);
    (site, front)
}

#[tokio::test]
async fn a_child_zone_is_delegated_with_its_glue_and_seen_at_the_parent_s_servers() {
    let Some((above, below)) = addresses() else { return };
    let (site, _front) = parent("delegated", &above).await;
    let child = site.at("child");
    let mut setup = Setup::new(Software::Bind, &child);
    setup.zone = served_at(&child, &below);
    let server = DnsServer::start(setup).expect("the server starts");
    let below_front = Front::start(&below, &server);
    let provider = format!("{}-child", site.home.name());
    let servers = site.provider().named(&provider).with("rfc2136.servers", json!([server.address()]));
    site.apply(&servers).await;
    let zone = site
        .zone_of(&child)
        .named("child")
        .with("providerRef", json!({"name": provider}))
        .with("interval", "1s")
        .with("delegation", json!({"manage": true}));
    site.apply(&zone).await;
    site.apply(&records(&format!("ns1.{child}"), "A", &[&below]).named("ns1")).await;
    site.wait_ready("RecordSet", "child-ns").await;
    let glue = site.wait_ready("RecordSet", "child-glue-ns1-a").await;
    assert_eq!(glue["spec"]["deletionPolicy"], "Retain", "the delegation stays where the zone does");
    assert_eq!(glue["metadata"]["ownerReferences"][0]["name"], "child");
    site.wait_condition("DNSZone", "child", "Delegated", "True", "Programmed").await;
    let zone = site.get("DNSZone", "child").await.expect("it is there");
    assert_eq!(zone["status"]["delegation"]["nameServers"], json!([format!("ns1.{child}")]));
    assert!(zone["status"]["delegation"]["lame"].is_null(), "{}", zone["status"]);

    // An edit is repaired, a deleted one is made again.
    site.patch("RecordSet", "child-ns", json!({"spec": {"values": ["ns.example.net."]}})).await;
    let is_repaired = |object: &Value| object["spec"]["values"] == json!([format!("ns1.{child}.")]);
    site.wait("RecordSet", "child-ns", "repaired", is_repaired).await;
    let uid = glue["metadata"]["uid"].clone();
    site.delete("RecordSet", "child-glue-ns1-a").await;
    let is_new = |object: &Value| object["metadata"]["uid"] != uid && condition(object, "Ready").is("True");
    site.wait("RecordSet", "child-glue-ns1-a", "made again", is_new).await;

    // A server that does not answer is named.
    drop((server, below_front));
    site.annotate("DNSZone", "child", RECONCILE_REQUESTED_AT, "now").await;
    let message = site.wait_condition("DNSZone", "child", "Delegated", "False", "NotDelegated").await;
    assert!(message.contains("do not answer") && message.contains(&format!("ns1.{child}")), "{message}");
}

#[tokio::test]
async fn a_zone_is_signed_in_its_parent_and_unsigned_only_after_that() {
    let Some((above, _)) = addresses() else { return };
    let (site, _front) = parent("signed-child", &above).await;
    let child = site.at("child");
    let id = site.sim.zone(&child, Plan::Pro);
    site.put_secret("cloudflare", &[("apiToken", &site.token)]).await;
    let provider = format!("{}-cloudflare", site.home.name());
    site.apply(&Deref::deref(&site).provider().named(&provider)).await;
    let zone = site
        .zone_of(&child)
        .named("child")
        .with("providerRef", json!({"name": provider}))
        .with("interval", "1s")
        .with("delegation", json!({"manage": true}))
        .with("dnssec", json!({"mode": "On"}));
    site.apply(&zone).await;
    site.wait_ready("RecordSet", "child-ds").await;
    let ds = dns::served(&site.server, &child, "DS");
    assert_eq!(ds.len(), 1, "{ds:?}");
    let has_ds = |zone: &Value| zone["status"]["delegation"]["ds"][0]["keyTag"].is_number();
    site.wait("DNSZone", "child", "the parent's DS record", has_ds).await;
    site.sim.complete_dnssec(&id);
    site.wait_condition("DNSZone", "child", "Signed", "True", "Programmed").await;

    // Switched off: first the DS record goes, then what resolvers remember of it, then the signatures.
    site.apply(&zone.with("dnssec", json!({"mode": "Off"}))).await;
    site.wait_gone("RecordSet", "child-ds").await;
    assert!(dns::served(&site.server, &child, "DS").is_empty());
    eventually("the signatures go", DEADLINE, async || {
        let is_off = site.sim.journal().iter().any(|entry| {
            entry.method == "PATCH" && entry.path.ends_with("/dnssec") && entry.body["status"] == "disabled"
        });
        if is_off {
            Ok(())
        } else {
            Err(site.get("DNSZone", "child").await.map(|zone| zone["status"].clone()))
        }
    })
    .await;
}

#[tokio::test]
async fn the_delegation_of_a_zone_goes_before_the_zone_and_only_by_approval() {
    let Some((above, _)) = addresses() else { return };
    let (site, _front) = parent("ended-child", &above).await;
    let child = site.at("child");
    let id = site.sim.zone(&child, Plan::Pro);
    site.put_secret("cloudflare", &[("apiToken", &site.token)]).await;
    let provider = format!("{}-cloudflare", site.home.name());
    site.apply(&Deref::deref(&site).provider().named(&provider)).await;
    let zone = site
        .zone_of(&child)
        .named("child")
        .with("providerRef", json!({"name": provider}))
        .with("interval", "1s")
        .with("lifecycle", json!({"deletionPolicy": "Delete"}))
        .with("delegation", json!({"manage": true}));
    site.apply(&zone).await;
    site.wait_ready("RecordSet", "child-ns").await;
    let names_ours = |zone: &Value| zone["status"]["delegation"]["nameServers"].is_array();
    site.wait("DNSZone", "child", "the delegation", names_ours).await;

    site.delete("DNSZone", "child").await;
    let is_held = |zone: &Value| condition(zone, "Ready").message.contains(APPROVE_PLAN);
    let held = site.wait("DNSZone", "child", "a hash", is_held).await;
    assert!(site.get("RecordSet", "child-ns").await.is_some(), "nothing goes without approval");
    // The answer to the deletion is held: what is gone by then went before it.
    site.sim.faults(vec![Fault::hold_from_write(1, When::Before)]);
    let hash = held["status"]["plan"]["hash"].as_str().expect("a hash").to_owned();
    site.annotate("DNSZone", "child", APPROVE_PLAN, &hash).await;
    eventually("the deletion is sent", DEADLINE, async || {
        if site.sim.held() > 0 { Ok(()) } else { Err("nothing is held") }
    })
    .await;
    assert!(site.get("RecordSet", "child-ns").await.is_none(), "the delegation goes first");
    assert!(site.sim.zones().iter().any(|(_, other)| *other == id));
    site.sim.faults(Vec::new());
    site.sim.release();
    site.wait_gone("DNSZone", "child").await;
    assert!(site.sim.zones().iter().all(|(_, other)| *other != id));
}

#[tokio::test]
async fn a_parent_that_does_not_grant_it_says_so_on_the_zone() {
    let Some((above, _)) = addresses() else { return };
    let (site, _front) = parent("ungranted-child", &above).await;
    let child = site.at("child");
    site.sim.zone(&child, Plan::Pro);
    let tenant = site.tenant(json!({"team": "a"})).await;
    site.put_secret("cloudflare", &[("apiToken", &site.token)]).await;
    let provider = format!("{}-cloudflare", site.home.name());
    let all = json!({"from": "All"});
    site.apply(&Deref::deref(&site).provider().named(&provider).with("allowedNamespaces", all)).await;
    let zone = site.zone_of(&child).named("child").in_namespace(tenant.name());
    let zone = zone.with("providerRef", json!({"name": provider})).with("interval", "1s");
    site.apply(&zone.with("delegation", json!({"manage": true}))).await;
    let name = format!("{}/child", tenant.name());
    let is_refused = |zone: &Value| {
        let delegated = condition(zone, "Delegated");
        delegated.reason == "NotDelegated" && delegated.message.contains("NotAllowed")
    };
    site.wait("DNSZone", &name, "the refusal", is_refused).await;
    assert!(dns::served(&site.server, &child, "NS").is_empty());
}
