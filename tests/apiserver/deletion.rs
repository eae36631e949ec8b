//! Deletion: nothing is stranded, nothing is forgotten.

use cloudflare_sim::{Action, Fault, Match, Scope};
use control_plane::Options;
use serde_json::{Value, json};

use crate::support::{Lab, condition, plane};

/// The zone when it lists one orphan, and holds it.
async fn orphans(lab: &Lab<'_>) -> Value {
    let is_listed =
        |zone: &Value| zone["status"]["records"]["orphaned"] == 1 && zone["status"]["plan"]["held"] == 1;
    lab.wait("DNSZone", "zone", "the orphan", is_listed).await
}

fn failing_writes() -> Vec<Fault> {
    vec![Fault::new(Match { scope: Scope::Writes, ..Match::default() }, Action::Json(500))]
}

#[tokio::test]
async fn case_21_and_k8_a_failed_delete_keeps_the_object_and_is_tried_again() {
    let lab = Lab::new("failed-delete").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.sim.faults(failing_writes());
    lab.delete("RecordSet", "www").await;
    let object = lab
        .wait("RecordSet", "www", "why it stays", |object| {
            condition(object, "Ready").reason == "ProviderUnavailable"
        })
        .await;
    assert_eq!(object["metadata"]["finalizers"], json!(["zonekeeper.dev/record"]));
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    lab.sim.faults(Vec::new());
    lab.wait_gone("RecordSet", "www").await;
    assert_eq!(lab.contents(), [""; 0]);
}

#[tokio::test]
async fn the_release_annotation_lets_an_object_go_and_its_record_is_listed() {
    let lab = Lab::new("release").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.sim.faults(failing_writes());
    lab.delete("RecordSet", "www").await;
    lab.wait("RecordSet", "www", "why it stays", |object| {
        condition(object, "Ready").reason == "ProviderUnavailable"
    })
    .await;
    lab.annotate("RecordSet", "www", "zonekeeper.dev/release", "true").await;
    lab.wait_gone("RecordSet", "www").await;
    let events = lab.events("RecordSet", "www").await;
    assert!(events.iter().any(|event| event.reason == "Orphaned"), "{events:?}");
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    // It is no record of an object that was deleted: only a person can say that it goes, after a restart, too.
    lab.sim.faults(Vec::new());
    lab.kill().await;
    lab.run();
    lab.scan().await;
    let zone = orphans(&lab).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    assert_eq!(zone["status"]["guard"]["released"].as_array().map(Vec::len), Some(1));
    let hash = zone["status"]["plan"]["hash"].as_str().expect("something is held").to_owned();
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", &hash).await;
    lab.wait_contents(&[]).await;
}

#[tokio::test]
async fn retain_leaves_the_record_without_our_marker() {
    let lab = Lab::new("retain").await;
    let retained = |name: &str| lab.a(name, "192.0.2.1").named("it").with("deletionPolicy", "Retain");
    lab.ready(&retained("old")).await;
    // A rename still cleans up.
    lab.ready(&retained("www")).await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    lab.delete("RecordSet", "it").await;
    lab.wait_gone("RecordSet", "it").await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    assert!(!lab.record("www", "A")["comment"].as_str().unwrap_or_default().contains("zk1:"));
    // It is nobody's now.
    lab.scan().await;
    let zone = lab.get("DNSZone", "zone").await.expect("it is there");
    assert_eq!(zone["status"]["records"]["foreign"], 1);
    assert_eq!(zone["status"]["records"]["owned"], 0);
}

#[tokio::test]
async fn retain_holds_for_what_is_wished_whatever_becomes_of_the_old_place() {
    let lab = Lab::ready_to_run("retain-renamed").await;
    let guarded =
        |percent: u32| lab.dns_zone().with("guard", json!({"maxDeletePercent": percent, "minRecords": 1}));
    lab.apply(&guarded(0)).await;
    lab.run();
    let it = |name: &str| lab.a(name, "192.0.2.1").named("it").with("deletionPolicy", "Retain");
    lab.ready(&it("old")).await;
    // The old record is held, the new one stands: one holder, two fates.
    lab.apply(&it("www")).await;
    lab.wait_contents(&["old A 192.0.2.1", "www A 192.0.2.1"]).await;
    lab.wait_reason("DNSZone", "zone", "Held").await;
    lab.delete("RecordSet", "it").await;
    lab.wait_reason("RecordSet", "it", "Held").await;
    lab.apply(&guarded(100)).await;
    lab.wait_gone("RecordSet", "it").await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    assert!(!lab.record("www", "A")["comment"].as_str().unwrap_or_default().contains("zk1:"));
}

#[tokio::test]
async fn retain_leaves_the_record_where_markers_are_texts() {
    let lab = Lab::ready_to_run("retain-txt").await;
    lab.apply(&lab.provider().with("registry", json!({"type": "TXT"}))).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1").with("deletionPolicy", "Retain")).await;
    assert_eq!(lab.contents().len(), 2, "a record and its marker");
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    // Nor does a restart bring it back into our hands.
    lab.kill().await;
    lab.run();
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
}

#[tokio::test]
async fn an_alias_that_is_replaced_by_another_object_changes_hands_without_a_gap() {
    let lab = Lab::new("alias-replaced").await;
    let alias = |object: &str, target: &str| lab.records("www", "CNAME", &[target]).named(object);
    lab.ready(&alias("one", "one.example.net")).await;
    // Both at once, as a chart that renames its object does.
    lab.patch("DNSZone", "zone", json!({"spec": {"suspend": true}})).await;
    lab.wait_condition("DNSZone", "zone", "Ready", "True", "Suspended").await;
    lab.delete("RecordSet", "one").await;
    lab.apply(&alias("two", "two.example.net")).await;
    let mark = lab.mark();
    lab.patch("DNSZone", "zone", json!({"spec": {"suspend": false}})).await;
    lab.wait_gone("RecordSet", "one").await;
    lab.wait_ready("RecordSet", "two").await;
    assert_eq!(lab.contents(), ["www CNAME two.example.net"]);
    assert_eq!(lab.changes_since(mark), ["~ www CNAME one.example.net -> two.example.net"]);
}

#[tokio::test]
async fn case_52_an_object_that_never_had_a_zone_goes_at_once() {
    let lab = Lab::new("never-bound").await;
    let stray = lab.a("www", "192.0.2.1").with("name", format!("www.{}.example.org", lab.home.name()));
    lab.not_ready(&stray, "NoMatchingZone").await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
}

#[tokio::test]
async fn a_zone_that_is_deleted_first_waits_for_its_objects() {
    let lab = Lab::new("zone-first").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.wait("DNSZone", "zone", "its finalizer", |object| {
        object["metadata"]["finalizers"] == json!(["zonekeeper.dev/zone"])
    })
    .await;
    lab.delete("DNSZone", "zone").await;
    let message = lab.wait_reason("DNSZone", "zone", "Terminating").await;
    assert!(message.contains("zonekeeper.dev/release"), "{message}");
    // Its objects still work until they go.
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    assert_eq!(lab.contents(), [""; 0]);
    lab.wait_gone("DNSZone", "zone").await;
    // The provider has nobody left to wait for.
    lab.delete("DNSProvider", lab.home.name()).await;
    lab.wait_gone("DNSProvider", lab.home.name()).await;
}

#[tokio::test]
async fn a_zone_released_by_annotation_strands_nobody() {
    let lab = Lab::new("zone-released").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.delete("DNSZone", "zone").await;
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/release", "true").await;
    lab.wait_gone("DNSZone", "zone").await;
    lab.wait_reason("RecordSet", "www", "NoMatchingZone").await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    let events = lab.events("RecordSet", "www").await;
    assert!(events.iter().any(|event| event.reason == "Orphaned"), "{events:?}");
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    // When the zone returns, the record is listed, and waits for a person.
    lab.apply(&lab.dns_zone()).await;
    orphans(&lab).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
}

#[tokio::test]
async fn a_provider_that_is_deleted_first_waits_for_its_zones() {
    let lab = Lab::new("provider-first").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.wait("DNSProvider", lab.home.name(), "its finalizer", |object| {
        object["metadata"]["finalizers"] == json!(["zonekeeper.dev/provider"])
    })
    .await;
    lab.delete("DNSProvider", lab.home.name()).await;
    lab.wait_reason("DNSProvider", lab.home.name(), "Terminating").await;
    lab.delete("DNSZone", "zone").await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    lab.wait_gone("DNSZone", "zone").await;
    lab.wait_gone("DNSProvider", lab.home.name()).await;
    assert_eq!(lab.contents(), [""; 0]);
}

#[tokio::test]
async fn a_provider_that_is_released_strands_nobody() {
    let lab = Lab::new("provider-released").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.annotate("DNSProvider", lab.home.name(), "zonekeeper.dev/release", "true").await;
    lab.delete("DNSProvider", lab.home.name()).await;
    lab.wait_gone("DNSProvider", lab.home.name()).await;
    lab.wait_reason("DNSZone", "zone", "RefNotFound").await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    lab.delete("DNSZone", "zone").await;
    lab.wait_gone("DNSZone", "zone").await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
}

#[tokio::test]
async fn case_73_without_its_secret_an_object_is_released_with_an_event() {
    let lab = Lab::new("secret-gone").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.a("kept", "192.0.2.1").with("deletionPolicy", "Retain")).await;
    lab.delete("Secret", "cloudflare").await;
    lab.wait_reason("DNSProvider", lab.home.name(), "RefNotFound").await;
    for name in ["www", "kept"] {
        lab.delete("RecordSet", name).await;
        lab.wait_gone("RecordSet", name).await;
        let events = lab.events("RecordSet", name).await;
        assert!(
            events.iter().any(|event| event.reason == "Orphaned" && event.kind == "Warning"),
            "{events:?}"
        );
    }
    assert_eq!(lab.contents(), ["kept A 192.0.2.1", "www A 192.0.2.1"]);
}

#[tokio::test]
async fn an_unreachable_provider_holds_a_delete_up_and_says_why() {
    let lab = Lab::new("unreachable").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.sim.faults(vec![Fault::every(Action::Cut)]);
    lab.delete("RecordSet", "www").await;
    lab.wait("RecordSet", "www", "why it stays", |object| {
        condition(object, "Ready").reason == "ProviderUnavailable"
    })
    .await;
    lab.sim.faults(Vec::new());
    lab.wait_gone("RecordSet", "www").await;
    assert_eq!(lab.contents(), [""; 0]);
}

#[tokio::test]
async fn namespaces_can_be_deleted() {
    let plane = plane::own(Options { controller_manager: true }).await;
    let lab = Lab::bare_on(&plane, "namespaces").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    lab.apply(&lab.dns_zone().with("allowedRecords", json!([{"namespaces": {"from": "All"}}]))).await;
    lab.run();
    let domain = format!("stuck.{}", lab.domain);
    let id = lab.sim.zone(&domain, cloudflare_sim::Plan::Free);
    let granting =
        lab.zone_of(&domain).named("stuck").with("allowedRecords", json!([{"namespaces": {"from": "All"}}]));
    lab.ready(&granting).await;
    // Two tenants; what one holds can't be deleted at the provider.
    let (tenant, stuck) = (lab.tenant(json!({})).await, lab.tenant(json!({})).await);
    lab.ready(&lab.a("www", "192.0.2.1").in_namespace(tenant.name())).await;
    lab.ready(&lab.a("www.stuck", "192.0.2.1").in_namespace(stuck.name())).await;
    lab.ready(&lab.a("own", "192.0.2.1")).await;
    let to_stuck = Match { scope: Scope::Writes, path_contains: Some(id.clone()), ..Match::default() };
    lab.sim.faults(vec![Fault::new(to_stuck, Action::Json(500))]);
    lab.delete("Namespace", tenant.name()).await;
    lab.delete("Namespace", stuck.name()).await;
    lab.wait_gone("Namespace", tenant.name()).await;
    assert_eq!(lab.contents(), ["own A 192.0.2.1"]);
    lab.wait_gone("Namespace", stuck.name()).await;
    lab.sim.faults(Vec::new());
    // It is an orphan from now on, which only a person can say that goes.
    lab.scan_of("stuck").await;
    lab.wait("DNSZone", "stuck", "the orphan", |zone| zone["status"]["records"]["orphaned"] == 1).await;
    assert_eq!(lab.sim.records(&id).len(), 1);
    // The operator's own, with zone, Secret and records at once.
    lab.delete("Namespace", lab.home.name()).await;
    lab.wait_gone("Namespace", lab.home.name()).await;
    lab.delete("DNSProvider", lab.home.name()).await;
    lab.wait_gone("DNSProvider", lab.home.name()).await;
}
