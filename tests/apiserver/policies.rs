//! How far a zone may go: policies, suspension.

use serde_json::json;

use crate::support::{Lab, condition};

#[tokio::test]
async fn an_observed_zone_is_planned_and_never_written() {
    let lab = Lab::new("observe").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.a("gone", "192.0.2.1")).await;
    let mark = lab.mark();
    lab.apply(&lab.dns_zone().with("policy", "Observe")).await;
    let zone = lab.wait_ready("DNSZone", "zone").await;
    assert_eq!(condition(&zone, "Ready").reason, "Observed");
    // Live equals desired: Ready.
    lab.wait_ready("RecordSet", "www").await;
    let message = lab.not_ready(&lab.a("www", "192.0.2.2"), "Observed").await;
    assert!(message.contains("Observe"), "{message}");
    lab.not_ready(&lab.a("new", "192.0.2.3"), "Observed").await;
    let object = lab.get("RecordSet", "new").await.expect("it is there");
    assert_eq!(condition(&object, "Stalled").status, "False");
    let zone =
        lab.wait("DNSZone", "zone", "the plan", |object| object["status"]["plan"]["creates"] == 1).await;
    assert_eq!(zone["status"]["plan"]["updates"], 1);
    assert_eq!(zone["status"]["plan"]["changes"].as_array().map(Vec::len), Some(2));
    assert_eq!(condition(&zone, "Ready").status, "True");
    // Who is deleted is not held up by a zone that never deletes.
    lab.delete("RecordSet", "gone").await;
    lab.wait_gone("RecordSet", "gone").await;
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
    lab.apply(&lab.dns_zone()).await;
    lab.wait_ready("RecordSet", "www").await;
    lab.wait_ready("RecordSet", "new").await;
    lab.wait_contents(&["new A 192.0.2.3", "www A 192.0.2.2"]).await;
}

#[tokio::test]
async fn upsert_only_never_deletes_and_create_only_never_updates() {
    let lab = Lab::ready_to_run("upsert").await;
    lab.apply(&lab.dns_zone().with("policy", "UpsertOnly")).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.2"]);
    let events = lab.events("RecordSet", "www").await;
    assert!(events.iter().any(|event| event.reason == "Orphaned"), "{events:?}");
    lab.apply(&lab.dns_zone().with("policy", "CreateOnly")).await;
    lab.ready(&lab.a("new", "192.0.2.3")).await;
    lab.not_ready(&lab.a("new", "192.0.2.4"), "Observed").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["new A 192.0.2.3", "www A 192.0.2.2"]);
}

#[tokio::test]
async fn a_suspended_record_set_is_left_alone() {
    let lab = Lab::new("suspend").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let suspended = lab.ready(&lab.a("www", "192.0.2.2").with("suspend", true)).await;
    assert_eq!(condition(&suspended, "Ready").reason, "Suspended");
    assert_eq!(suspended["status"]["zones"][0]["records"][0]["value"], "192.0.2.1");
    let mark = lab.mark();
    lab.sim.edit(&lab.zone, &lab.id_of("www", "A"), json!({"content": "192.0.2.66"}));
    lab.scan().await;
    lab.ready(&lab.a("other", "192.0.2.5")).await;
    assert_eq!(lab.changes_since(mark), ["+ other A 192.0.2.5"]);
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    assert_eq!(lab.contents(), ["other A 192.0.2.5", "www A 192.0.2.2"]);
}

#[tokio::test]
async fn a_suspended_zone_is_neither_read_nor_written() {
    let lab = Lab::ready_to_run("suspend-zone").await;
    lab.apply(&lab.dns_zone().with("interval", "1s")).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.apply(&lab.dns_zone().with("interval", "1s").with("suspend", true)).await;
    let zone = lab.wait_ready("DNSZone", "zone").await;
    assert_eq!(condition(&zone, "Ready").reason, "Suspended");
    let new = lab.ready(&lab.a("www", "192.0.2.2")).await;
    assert_eq!(condition(&new, "Ready").reason, "Suspended");
    let requests = lab.sim.requests();
    assert_eq!(condition(&new, "Programmed").status, "False");
    lab.ready(&lab.a("later", "192.0.2.3")).await;
    assert_eq!(lab.sim.requests(), requests);
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    lab.apply(&lab.dns_zone().with("interval", "1s")).await;
    lab.wait_contents(&["later A 192.0.2.3", "www A 192.0.2.2"]).await;
    lab.wait_condition("RecordSet", "www", "Ready", "True", "Programmed").await;
}
