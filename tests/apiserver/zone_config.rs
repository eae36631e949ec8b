//! The zone itself in a cluster: created, activated, configured, signed, and given back.

use cloudflare_sim::{Fault, When};
use control_plane::eventually;
use dns_servers::Key;
use serde_json::{Value, json};
use zonekeeper_api::wellknown::APPROVE_PLAN;
use zonekeeper_tests::dns::above::above;

use crate::support::{Lab, Manifest, condition, lab::DEADLINE};

/// A lab whose zone Cloudflare does not have, and whose provider may create it.
async fn without_zone(name: &str) -> Lab<'static> {
    let lab = Lab::bare(name).await;
    lab.sim.remove_zone(&lab.zone);
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider().with("cloudflare.accountID", json!(lab.sim.account()))).await;
    lab
}

fn created(lab: &Lab<'_>) -> Manifest {
    lab.dns_zone().with("lifecycle", json!({"create": true}))
}

/// The id of the only zone at Cloudflare.
fn only_zone(lab: &Lab<'_>) -> String {
    let zones = lab.sim.zones();
    assert_eq!(zones.len(), 1, "{zones:?}");
    zones[0].1.clone()
}

#[tokio::test]
async fn a_zone_is_created_waits_for_its_delegation_and_is_signed() {
    let lab = without_zone("zone-created").await;
    lab.apply(&created(&lab).with("dnssec", json!({"mode": "On"})).with("interval", json!("1s"))).await;
    lab.apply(&lab.a("www", "192.0.2.1")).await;
    lab.run();
    let message = lab.wait_reason("DNSZone", "zone", "ZonePending").await;
    assert!(message.contains("ada.ns.example.com, bob.ns.example.com"), "{message}");
    lab.wait_ready("RecordSet", "www").await;
    let id = only_zone(&lab);
    let zone = lab.wait("DNSZone", "zone", "its id", |zone| zone["status"]["zoneID"] == id.as_str()).await;
    assert_eq!(zone["status"]["zone"]["status"], "pending");
    assert!(zone["status"]["zone"]["activationDeadline"].is_string(), "{zone}");
    assert_eq!(zone["status"]["nameServers"], json!(["ada.ns.example.com", "bob.ns.example.com"]));
    lab.sim.delegate(&id, "active");
    lab.wait_ready("DNSZone", "zone").await;
    let zone =
        lab.wait("DNSZone", "zone", "its key", |zone| zone["status"]["dnssec"]["state"] == "pending").await;
    assert_eq!(zone["status"]["dnssec"]["ds"][0]["keyTag"], 2371);
    let signed = condition(&zone, "Signed");
    assert_eq!((signed.status.as_str(), signed.reason.as_str()), ("False", "NotSigned"));
    assert!(signed.message.contains("2371 13 2 "), "{}", signed.message);
    lab.sim.complete_dnssec(&id);
    lab.wait_condition("DNSZone", "zone", "Signed", "True", "Programmed").await;
    let history = &lab.get("DNSZone", "zone").await.expect("it is there")["status"]["history"];
    assert!(
        history.as_array().is_some_and(|all| all.iter().any(|entry| entry["field"] == "zone")),
        "{history}"
    );
}

#[tokio::test]
async fn settings_are_kept_as_they_are_wanted_and_the_first_values_remembered() {
    let lab = Lab::bare("zone-settings").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    let settings = json!({"settings": {"ssl": "strict"}});
    lab.apply(&lab.dns_zone().with("cloudflare", settings).with("interval", json!("1s"))).await;
    lab.run();
    lab.wait_ready("DNSZone", "zone").await;
    let initial = |zone: &Value| zone["status"]["zone"]["initial"]["settings.ssl"] == "\"full\"";
    lab.wait("DNSZone", "zone", "the value of before", initial).await;
    lab.sim.set(&lab.zone, "ssl", json!("off"));
    let is_reverted = |zone: &Value| {
        let newest = &zone["status"]["history"][0];
        newest["field"] == "settings.ssl" && newest["cause"] == "Drift" && newest["before"] == "\"off\""
    };
    lab.wait("DNSZone", "zone", "what was reverted", is_reverted).await;
}

#[tokio::test]
async fn a_secondary_zone_waits_for_its_key_follows_its_primary_and_takes_no_record() {
    let lab = Lab::bare("zone-secondary").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    lab.sim.set_kind(&lab.zone, "secondary");
    let secondary = json!({
        "type": "secondary",
        "primaries": [{"address": "192.0.2.53"}],
        "transferTsigSecretRef": {"name": "transfer"},
    });
    lab.apply(&lab.dns_zone().with("cloudflare", secondary).with("interval", json!("1s"))).await;
    lab.run();
    let message = lab.wait_reason("DNSZone", "zone", "RefNotFound").await;
    assert!(message.contains("/transfer does not exist; create it"), "{message}");
    let key = Key::new("transfer");
    let put = async |secret: &str| {
        let data = [("name", "transfer"), ("algorithm", "hmac-sha256"), ("secret", secret)];
        lab.put_secret("transfer", &data).await;
    };
    put(&key.secret).await;
    lab.wait_ready("DNSZone", "zone").await;
    assert_eq!(lab.sim.peers()[0]["tsig_id"], lab.sim.tsigs()[0]["id"]);
    lab.apply(&lab.a("www", "192.0.2.1")).await;
    let message = lab.wait_reason("RecordSet", "www", "NotAllowed").await;
    assert!(message.contains("declare the record at its primary"), "{message}");
    assert_eq!(lab.sim.records(&lab.zone), [] as [Value; 0]);
    put(&format!("{}AAAA", key.secret)).await;
    let is_new = |zone: &Value| {
        let newest = &zone["status"]["history"][0];
        newest["field"] == "transferTsig" && newest["before"] == "\"transfer (another secret)\""
    };
    lab.wait("DNSZone", "zone", "the new secret", is_new).await;
    assert_eq!((lab.sim.peers().len(), lab.sim.tsigs().len()), (1, 2));
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    lab.delete("DNSZone", "zone").await;
    lab.wait_gone("DNSZone", "zone").await;
}

#[tokio::test]
async fn a_zone_is_deleted_only_by_approval_and_not_with_records_of_others() {
    let Some((above, _front)) = above() else { return };
    let lab = Lab::bare("zone-deleted").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    let lifecycle = json!({"create": false, "deletionPolicy": "Delete"});
    lab.apply(&lab.dns_zone().with("lifecycle", lifecycle).with("interval", json!("1s"))).await;
    let foreign =
        lab.sim.seed(&lab.zone, json!({"type": "A", "name": lab.at("old"), "content": "192.0.2.9"}));
    lab.run_with(&["--resolver", &above.address()]);
    lab.wait_ready("DNSZone", "zone").await;
    let has_finalizer = |zone: &Value| zone["metadata"]["finalizers"].is_array();
    lab.wait("DNSZone", "zone", "a finalizer", has_finalizer).await;
    lab.delete("DNSZone", "zone").await;
    let message = lab.wait_reason("DNSZone", "zone", "Held").await;
    assert!(message.contains("1 record sets in it are not managed"), "{message}");
    lab.sim.remove(&lab.zone, &foreign);
    let held = |zone: &Value| condition(zone, "Ready").message.contains(APPROVE_PLAN);
    let zone = lab.wait("DNSZone", "zone", "a hash", held).await;
    assert_eq!(zone["status"]["plan"]["changes"][0]["operation"], "Delete");
    assert_eq!(zone["status"]["plan"]["changes"][0]["field"], "zone");
    assert_eq!(lab.sim.zones().len(), 1, "nothing goes without approval");
    let hash = zone["status"]["plan"]["hash"].as_str().expect("a hash").to_owned();

    // A record that came after the last look keeps the zone, whatever was approved.
    let foreign =
        lab.sim.seed(&lab.zone, json!({"type": "A", "name": lab.at("late"), "content": "192.0.2.9"}));
    lab.annotate("DNSZone", "zone", APPROVE_PLAN, &hash).await;
    let is_kept = |zone: &Value| condition(zone, "Ready").message.contains("1 record sets in it");
    lab.wait("DNSZone", "zone", "the late record", is_kept).await;
    assert_eq!(lab.sim.zones().len(), 1);
    lab.sim.remove(&lab.zone, &foreign);
    lab.wait_gone("DNSZone", "zone").await;
    assert_eq!(lab.sim.zones(), []);
}

#[tokio::test]
async fn a_zone_is_retained_unless_its_object_says_otherwise() {
    let lab = without_zone("zone-retained").await;
    lab.apply(&created(&lab)).await;
    lab.run();
    lab.wait_reason("DNSZone", "zone", "ZonePending").await;
    lab.delete("DNSZone", "zone").await;
    lab.wait_gone("DNSZone", "zone").await;
    only_zone(&lab);
}

#[tokio::test]
async fn a_killed_operator_creates_no_zone_twice() {
    let lab = without_zone("zone-once").await;
    lab.sim.faults(vec![Fault::hold_from_write(1, When::After)]);
    lab.apply(&created(&lab)).await;
    lab.run();
    let is_held = async || if lab.sim.held() > 0 { Ok(()) } else { Err("nothing is held") };
    eventually("the answer is held", DEADLINE, is_held).await;
    lab.kill().await;
    lab.sim.faults(Vec::new());
    lab.sim.release();
    lab.run();
    lab.wait_reason("DNSZone", "zone", "ZonePending").await;
    only_zone(&lab);
}

#[tokio::test]
async fn a_domain_that_is_registered_at_cloudflare_keeps_its_zone() {
    let Some((above, _front)) = above() else { return };
    let lab = Lab::bare("zone-registered").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    lab.sim.register(&lab.domain);
    let lifecycle = json!({"create": false, "deletionPolicy": "Delete"});
    lab.apply(&lab.dns_zone().with("lifecycle", lifecycle).with("interval", json!("1s"))).await;
    lab.run_with(&["--resolver", &above.address()]);
    lab.wait_ready("DNSZone", "zone").await;
    let has_finalizer = |zone: &Value| zone["metadata"]["finalizers"].is_array();
    lab.wait("DNSZone", "zone", "a finalizer", has_finalizer).await;
    lab.delete("DNSZone", "zone").await;
    let held = |zone: &Value| condition(zone, "Ready").message.contains(APPROVE_PLAN);
    let zone = lab.wait("DNSZone", "zone", "a hash", held).await;
    let hash = zone["status"]["plan"]["hash"].as_str().expect("a hash").to_owned();
    lab.annotate("DNSZone", "zone", APPROVE_PLAN, &hash).await;
    let is_refused = |zone: &Value| condition(zone, "Ready").message.contains("registered at Cloudflare");
    lab.wait("DNSZone", "zone", "why it stays", is_refused).await;
    lab.patch("DNSZone", "zone", json!({"spec": {"lifecycle": {"deletionPolicy": "Retain"}}})).await;
    lab.wait_gone("DNSZone", "zone").await;
    assert_eq!(lab.sim.zones().len(), 1);
}
