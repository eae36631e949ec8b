//! Records that are there already, and are not ours.

use serde_json::json;

use crate::support::Lab;

#[tokio::test]
async fn case_50_an_unmanaged_record_of_other_content_is_never_overwritten() {
    let lab = Lab::ready_to_run("unmanaged").await;
    let foreign = lab.seed("www", "A", "192.0.2.66");
    lab.seed("alias", "CNAME", "theirs.example.net");
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    assert_eq!(lab.contents()[1..], ["www A 192.0.2.1", "www A 192.0.2.66"]);
    // A CNAME can't stand beside another.
    let message =
        lab.not_ready(&lab.records("alias", "CNAME", &["ours.example.net"]), "AdoptionRefused").await;
    assert!(message.contains(&lab.at("alias")) && message.contains("Force"), "{message}");
    assert_eq!(lab.record("alias", "CNAME")["content"], "theirs.example.net");
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    assert_eq!(lab.id_of("www", "A"), foreign);
    // Nothing of it ever stood in the way of deleting the refused one.
    lab.delete("RecordSet", "alias").await;
    lab.wait_gone("RecordSet", "alias").await;
    assert_eq!(lab.record("alias", "CNAME")["content"], "theirs.example.net");
}

#[tokio::test]
async fn adoption_never_identical_and_force() {
    let lab = Lab::ready_to_run("adoption").await;
    for name in ["never", "ttl", "forced"] {
        lab.sim
            .seed(&lab.zone, json!({"type": "A", "name": lab.at(name), "content": "192.0.2.1", "ttl": 600}));
    }
    lab.run();
    lab.not_ready(&lab.a("never", "192.0.2.1").with("ttl", 600).with("adoption", "Never"), "AdoptionRefused")
        .await;
    let message = lab.not_ready(&lab.a("ttl", "192.0.2.1").with("ttl", 300), "AdoptionRefused").await;
    assert!(message.contains("ttl") && message.contains("600"), "names the field: {message}");
    lab.ready(&lab.a("forced", "192.0.2.2").with("ttl", 300).with("adoption", "Force")).await;
    let forced = lab.record("forced", "A");
    assert_eq!((&forced["content"], &forced["ttl"]), (&json!("192.0.2.2"), &json!(300)));
    assert!(forced["comment"].as_str().unwrap_or_default().contains("zk1:"));
    // What agrees is taken over.
    lab.ready(&lab.a("ttl", "192.0.2.1").with("ttl", 600)).await;
    assert_eq!(lab.contents(), ["forced A 192.0.2.2", "never A 192.0.2.1", "ttl A 192.0.2.1"]);
    assert_eq!(lab.record("never", "A")["comment"].as_str().unwrap_or_default(), "");
}

#[tokio::test]
async fn case_71_what_another_cluster_marked_is_never_written_or_deleted() {
    let lab = Lab::ready_to_run("marked").await;
    let marker = "zk1:aaaaaaaa:bbbbbbbbbb:cccccccccccccccc";
    let record = json!({"type": "A", "name": lab.at("www"), "content": "192.0.2.1", "comment": marker});
    let id = lab.sim.seed(&lab.zone, record);
    lab.apply(&lab.dns_zone().with("prune", json!({"mode": "All"}))).await;
    lab.run();
    let message = lab.not_ready(&lab.a("www", "192.0.2.1"), "AdoptionRefused").await;
    assert!(message.contains(&lab.at("www")), "{message}");
    lab.not_ready(&lab.a("www", "192.0.2.1").with("adoption", "Force"), "AdoptionRefused").await;
    lab.ready(&lab.a("other", "192.0.2.1")).await;
    lab.scan().await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    lab.scan().await;
    let found = lab.record("www", "A");
    assert_eq!((&found["id"], &found["comment"]), (&json!(id), &json!(marker)));
}

#[tokio::test]
async fn a_copied_marker_is_foreign() {
    let lab = Lab::new("copied").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let comment = lab.record("www", "A")["comment"].clone();
    let copy = json!({"type": "A", "name": lab.at("copy"), "content": "192.0.2.1", "comment": comment});
    lab.sim.seed(&lab.zone, copy);
    lab.scan().await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["copy A 192.0.2.1"]);
}

#[tokio::test]
async fn take_over_from_another_owner_id_rewrites_its_markers() {
    let lab = Lab::ready_to_run("take-over").await;
    lab.apply(&lab.provider().with("registry", json!({"ownerID": "old-cluster"}))).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let marked = lab.record("www", "A")["comment"].clone();
    // The same objects under another id: what is there is another owner's.
    lab.apply(&lab.provider().with("registry", json!({"ownerID": "new-cluster"}))).await;
    lab.wait_reason("RecordSet", "www", "AdoptionRefused").await;
    let registry = json!({"ownerID": "new-cluster", "takeOverFrom": ["old-cluster"]});
    lab.apply(&lab.provider().with("registry", registry)).await;
    lab.wait_ready("RecordSet", "www").await;
    assert_ne!(lab.record("www", "A")["comment"], marked);
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
}
