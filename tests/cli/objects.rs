//! Commands on one object of a cluster: approve, suspend, resume, reconcile, history.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{
    api::Cluster,
    binary::{Call, zonekeeper},
};

const HASH: &str = "3bdedcb853dfe3f8";

/// A DNSZone with one held delete and two changes behind it.
fn zone() -> Value {
    let change = |operation: &str, name: &str| {
        json!({
            "time": "2026-11-18T09:00:00Z", "operation": operation, "name": name, "type": "A",
            "after": "192.0.2.1 (ttl 300)", "object": "recordset default/www", "cause": "Wanted",
        })
    };
    let mut approved = change("Delete", "old.example.com");
    approved["approval"] = "0123456789abcdef".into();
    approved["approver"] = "alice@example.com".into();
    json!({
        "apiVersion": "zonekeeper.dev/v1alpha1",
        "kind": "DNSZone",
        "metadata": {"name": "example-com", "namespace": "dns", "uid": "1", "resourceVersion": "1"},
        "spec": {"domain": "example.com"},
        "status": {
            "observedGeneration": 1,
            "guard": {"usedApprovals": ["0123456789abcdef"]},
            "plan": {
                "hash": HASH, "creates": 0, "updates": 0, "deletes": 1, "held": 1,
                "changes": [{
                    "operation": "Delete", "name": "gone.example.com", "type": "A", "held": true,
                    "before": {"type": "A", "ttl": 300, "values": ["192.0.2.9"]},
                    "reason": "Held", "message": "4 of 8 owned sets would be deleted within the window",
                }],
            },
            "history": [approved, change("Create", "www.example.com")],
        },
    })
}

fn call(cluster: &Cluster, arguments: &[&str]) -> Call {
    zonekeeper([]).args(arguments).arg("--kubeconfig").arg(cluster.kubeconfig())
}

fn annotation<'a>(zone: &'a Value, name: &str) -> &'a Value {
    &zone["metadata"]["annotations"][format!("zonekeeper.dev/{name}")]
}

#[tokio::test]
async fn approve_takes_the_hash_that_is_shown_and_says_what_it_releases() {
    let cluster = Cluster::with_zones(&[zone()]).await;
    let run = call(&cluster, &["approve", "example-com", HASH]).run().await.exits(0);
    let run = run.says("approved 1 held changes of DNSZone dns/example-com");
    run.says("- gone.example.com A 192.0.2.9").never_says("www.example.com");
    let zone = cluster.zone("example-com");
    assert_eq!(*annotation(&zone, "approve-plan"), HASH);
    assert_eq!(*annotation(&zone, "approved-by"), format!("{HASH} alice@example.com"));
}

#[tokio::test]
async fn approve_refuses_what_the_zone_does_not_show() {
    let cluster = Cluster::with_zones(&[zone()]).await;
    let run = call(&cluster, &["approve", "dns/example-com", "ffffffffffffffff"]).run().await.exits(1);
    run.says("DNSZone dns/example-com").says(HASH).says("nothing was approved");
    let mut quiet = zone();
    quiet["metadata"]["name"] = "quiet".into();
    quiet["status"]["plan"] = json!({"hash": HASH, "held": 0});
    let cluster = Cluster::with_zones(&[quiet]).await;
    call(&cluster, &["approve", "quiet", HASH]).run().await.exits(1).says("nothing is held");
    let used = call(&cluster, &["approve", "quiet", "0123456789abcdef"]).run().await.exits(1);
    used.says("approved and carried out before");
    assert!(annotation(&cluster.zone("quiet"), "approve-plan").is_null());
}

#[tokio::test]
async fn errors_name_the_object_and_the_next_step() {
    let cluster = Cluster::with_zones(&[zone()]).await;
    let run = call(&cluster, &["approve", "missing", HASH]).run().await.exits(1);
    run.says("DNSZone dns/missing does not exist").says("kubectl get dnszones");
    let run = call(&cluster, &["history", "example-com", "--context", "elsewhere"]).run().await.exits(1);
    run.says("DNSZone elsewhere/example-com");
    call(&cluster, &["history", "example-com", "--context", "none"]).run().await.exits(1).says("\"none\"");
    cluster.forbid(Method::PATCH);
    let run = call(&cluster, &["suspend", "dnszone/example-com"]).run().await.exits(1);
    run.says("you may not patch dnszones in namespace dns").says("zonekeeper-edit");
    call(&cluster, &["suspend", "example-com"]).run().await.exits(1).says("KIND/NAME");
    call(&cluster, &["suspend", "service/web"]).run().await.exits(1).says("dnszone, recordset");
    call(&cluster, &["suspend", "dnsprovider/it"]).run().await.exits(1).says("can't be suspended");
}

#[tokio::test]
async fn suspend_and_resume_set_the_field_once() {
    let cluster = Cluster::with_zones(&[zone()]).await;
    call(&cluster, &["suspend", "zkz/example-com"]).run().await.exits(0).says("is suspended");
    assert_eq!(cluster.zone("example-com")["spec"]["suspend"], true);
    call(&cluster, &["suspend", "DNSZone/dns/example-com"]).run().await.exits(0).says("already");
    let refused = call(&cluster, &["approve", "example-com", HASH]).run().await.exits(1);
    refused.says("suspended");
    call(&cluster, &["reconcile", "dnszone/example-com"]).run().await.exits(1).says("zonekeeper resume");
    call(&cluster, &["resume", "dnszones/example-com"]).run().await.exits(0).says("resumed");
    assert_eq!(cluster.zone("example-com")["spec"]["suspend"], false);
}

#[tokio::test]
async fn reconcile_writes_a_new_request() {
    let cluster = Cluster::with_zones(&[zone()]).await;
    let request = |cluster: &Cluster| {
        cluster.zone("example-com")["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"].clone()
    };
    call(&cluster, &["reconcile", "dnszone/example-com", "--timeout", "0s"]).run().await.exits(0);
    let first = request(&cluster);
    assert!(first.is_string(), "{first}");
    call(&cluster, &["reconcile", "dnszone/example-com", "--timeout", "0s"]).run().await.exits(0);
    assert_ne!(request(&cluster), first);
}

#[tokio::test]
async fn history_is_for_people_and_for_machines() {
    let cluster = Cluster::with_zones(&[zone()]).await;
    let run = call(&cluster, &["history", "example-com"]).run().await.exits(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{run}");
    for word in ["2026-11-18T09:00:00Z", "Delete", "old.example.com", "Wanted", "alice@example.com"] {
        assert!(lines[1].contains(word), "{word}: {run}");
    }
    let json = call(&cluster, &["history", "dns/example-com", "-o", "json"]).run().await.exits(0).json();
    assert_eq!((&json["namespace"], &json["name"]), (&json!("dns"), &json!("example-com")));
    assert_eq!(json["changes"], zone()["status"]["history"]);
    let mut fresh = zone();
    fresh["status"] = json!({"observedGeneration": -1});
    let cluster = Cluster::with_zones(&[fresh]).await;
    call(&cluster, &["history", "example-com"]).run().await.exits(0).says("No changes were made");
}
