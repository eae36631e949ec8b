//! What changes while a pass is under way, and what must not happen because of it.

use std::time::Duration;

use cloudflare_sim::{Fault, Plan, When};
use control_plane::{Options, eventually};
use kube::api::DeleteParams;
use serde_json::json;
use tokio::time::sleep;
use zonekeeper_tests::{
    dns,
    manifest::{self, Manifest, builtin},
};

use crate::support::{Lab, condition, lab::DEADLINE, objects, plane};

/// Applies an object, and comes back when the write for it is on its way and goes no further.
async fn apply_and_hold(lab: &Lab<'_>, manifest: &Manifest) {
    lab.sim.faults(vec![Fault::hold_from_write(1, When::Before)]);
    lab.apply(manifest).await;
    eventually("a write", DEADLINE, async || if lab.sim.held() > 0 { Ok(()) } else { Err(()) }).await;
    lab.sim.faults(Vec::new());
}

/// Long enough for a watch to tell; where it takes longer, a test has less to say and none fails.
async fn until_seen() {
    sleep(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_record_that_goes_to_a_suspended_zone_stays_where_it_is() {
    let lab = Lab::new("to-suspended").await;
    let domain = format!("second.{}", lab.domain);
    lab.sim.zone(&domain, Plan::Free);
    lab.ready(&lab.zone_of(&domain).named("second").with("suspend", true)).await;
    let www = lab.a("www.second", "192.0.2.1");
    lab.ready(&www.clone().with("zoneRefs", json!([{"name": "zone"}]))).await;
    assert_eq!(lab.contents(), ["www.second A 192.0.2.1"]);
    lab.apply(&www.with("zoneRefs", json!([{"name": "second"}]))).await;
    lab.wait("RecordSet", "www-second", "told", |object| condition(object, "Ready").reason == "Suspended")
        .await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www.second A 192.0.2.1"], "it would be nowhere");
    // It goes when it has arrived.
    lab.apply(&lab.zone_of(&domain).named("second")).await;
    lab.wait_contents(&[]).await;
}

#[tokio::test]
async fn a_record_that_is_renamed_and_suspended_at_once_keeps_its_name() {
    let lab = Lab::new("renamed-suspended").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.apply(&lab.a("www", "192.0.2.1").with("name", lab.at("web")).with("suspend", true)).await;
    lab.wait("RecordSet", "www", "told", |object| condition(object, "Ready").reason == "Suspended").await;
    lab.scan().await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
}

/// Each would wait for the other: an alias can't stand beside another, and what moves goes when it has arrived.
#[tokio::test]
async fn two_objects_can_exchange_their_names() {
    let lab = Lab::new("exchange").await;
    let (one, two) =
        (lab.records("one", "CNAME", &["a.example.net."]), lab.records("two", "CNAME", &["b.example.net."]));
    lab.ready(&one).await;
    lab.ready(&two).await;
    lab.apply(&one.with("name", lab.at("two"))).await;
    lab.ready(&two.with("name", lab.at("one"))).await;
    lab.wait_ready("RecordSet", "one").await;
    lab.wait_contents(&["one CNAME b.example.net", "two CNAME a.example.net"]).await;
}

#[tokio::test]
async fn a_zone_that_is_edited_during_a_pass_works_by_the_new_settings() {
    let lab = Lab::new("edited-zone").await;
    lab.wait_ready("DNSZone", "zone").await;
    apply_and_hold(&lab, &lab.a("www", "192.0.2.1")).await;
    lab.apply(&lab.dns_zone().with("policy", "Observe")).await;
    until_seen().await;
    lab.sim.release();
    lab.wait_ready("RecordSet", "www").await;
    lab.wait_ready("DNSZone", "zone").await;
    lab.not_ready(&lab.a("new", "192.0.2.2"), "Observed").await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
}

#[tokio::test]
async fn an_object_that_is_edited_during_a_pass_is_ready_when_the_edit_is_served() {
    let lab = Lab::new("edited-record").await;
    lab.wait_ready("DNSZone", "zone").await;
    apply_and_hold(&lab, &lab.a("www", "192.0.2.1")).await;
    lab.apply(&lab.a("www", "192.0.2.2")).await;
    until_seen().await;
    lab.sim.release();
    lab.wait_ready("RecordSet", "www").await;
    assert_eq!(lab.contents(), ["www A 192.0.2.2"]);
}

#[tokio::test]
async fn a_rename_that_was_held_and_is_taken_back_leaves_nothing_to_say() {
    let lab = Lab::ready_to_run("taken-back").await;
    let guard = json!({"maxDeletePercent": 0, "minRecords": 0});
    lab.apply(&lab.dns_zone().with("guard", guard)).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let message = lab.not_ready(&lab.a("www", "192.0.2.1").with("name", lab.at("web")), "Held").await;
    assert!(message.contains("asked for before"), "{message}");
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    assert!(lab.contents().contains(&"www A 192.0.2.1".to_owned()));
}

/// Law 5: whoever uninstalls the definitions deletes no record.
#[tokio::test]
async fn record_sets_that_go_with_their_definition_leave_their_records() {
    let own = plane::own(Options::default()).await;
    let lab = Lab::bare_on(&own, "undefined").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    lab.apply(&lab.dns_zone()).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.a("api", "192.0.2.1")).await;
    let api = objects::api(lab.home.client(), "CustomResourceDefinition", "");
    let name = "recordsets.zonekeeper.dev";
    api.delete(name, &DeleteParams::default()).await.expect("the API server deletes");
    lab.wait_gone("CustomResourceDefinition", name).await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["api A 192.0.2.1", "www A 192.0.2.1"]);
}

#[tokio::test]
async fn two_releases_do_not_write_one_status_in_turn() {
    let (one, _other) = (Lab::new("storm-one").await, Lab::new("storm-two").await);
    one.ready(&one.a("www", "192.0.2.1")).await;
    one.not_ready(&one.a("www", "192.0.2.1").with("name", "www.nobody.test"), "NoMatchingZone").await;
    let version = async || {
        one.get("RecordSet", "www").await.expect("it is there")["metadata"]["resourceVersion"].clone()
    };
    // Nothing to wait for: what must not happen would happen within this time.
    sleep(Duration::from_secs(1)).await;
    let before = version().await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(version().await, before);
}

/// Its status does not say yet where it is, and its finalizer is not ours to remove.
#[tokio::test]
async fn what_another_release_may_have_written_is_not_let_go() {
    let (one, other) = (Lab::ready_to_run("lets-go").await, Lab::new("leaves-alone").await);
    let mut www = one.a("www", "192.0.2.1");
    www.0["metadata"]["finalizers"] = json!(["zonekeeper.dev/record"]);
    one.apply(&www).await;
    one.delete("RecordSet", "www").await;
    // A new object is a barrier: when it is Ready, the other release has seen what came before it.
    other.ready(&other.a("barrier", "192.0.2.9")).await;
    sleep(Duration::from_secs(1)).await;
    assert!(one.get("RecordSet", "www").await.is_some());
    one.run();
    one.wait_gone("RecordSet", "www").await;
}

/// The younger of two DNSZones of one domain serves nothing, and takes nothing with it.
#[tokio::test]
async fn a_duplicate_that_goes_leaves_the_zone_that_we_serve() {
    let own = plane::own(Options::default()).await;
    let lab = Lab::bare_on(&own, "served").await;
    let port = dns_servers::free_port().expect("a free port");
    lab.run_plainly(&["--namespace", lab.home.name()]);
    let listen = json!({"listen": format!("127.0.0.1:{port}")});
    lab.ready(&builtin().with("builtin", listen).with("allowedNamespaces", json!({"from": "All"}))).await;
    let zone = |name: &str| manifest::zone(&lab.domain).named(name);
    lab.ready(&zone("first")).await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    // Times have whole seconds: this one is younger.
    sleep(Duration::from_millis(1100)).await;
    lab.not_ready(&zone("second"), "DuplicateZone").await;
    lab.delete("DNSZone", "second").await;
    lab.wait_gone("DNSZone", "second").await;
    for _ in 0..10 {
        assert_eq!(dns::answers(port, &lab.at("www"), "A"), ["192.0.2.1"]);
        sleep(Duration::from_millis(50)).await;
    }
    lab.scan_of("first").await;
    lab.wait_ready("DNSZone", "first").await;
}
