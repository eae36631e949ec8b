//! Pruning: orphans, and records that were never ours.

use serde_json::{Value, json};

use crate::support::{Lab, records, zone};

fn pruning(prune: Value) -> crate::support::Manifest {
    zone("example.com").with("prune", prune)
}

#[tokio::test]
async fn all_removes_what_nobody_declared_and_keeps_the_ignored() {
    let lab = Lab::start().await;
    lab.seed("A", "hand", "192.0.2.50");
    lab.seed("A", "keep", "192.0.2.51");
    lab.seed("TXT", "_acme-challenge.www", "\"token\"");
    lab.seed("NS", "example.com", "ns1.example.net");
    lab.declare(pruning(json!({"mode": "All", "ignore": [{"name": "keep.example.com"}, {"name": "_acme-challenge.*", "type": "TXT"}]})));
    lab.applied(&[records("www.example.com", "A", &["192.0.2.1"])]).await;
    assert_eq!(
        lab.contents(),
        [
            "_acme-challenge.www.example.com TXT \"token\"",
            "example.com NS ns1.example.net",
            "keep.example.com A 192.0.2.51",
            "www.example.com A 192.0.2.1",
        ]
    );
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_challenge_is_kept_even_if_the_list_forgets_it() {
    let lab = Lab::start().await;
    lab.seed("TXT", "_acme-challenge", "\"token\"");
    lab.seed("A", "hand", "192.0.2.50");
    lab.declare(pruning(json!({"mode": "All", "ignore": []})));
    lab.apply().await.exits(2).says("certificates");
    assert_eq!(lab.contents(), ["_acme-challenge.example.com TXT \"token\""]);
}

#[tokio::test]
async fn above_the_cap_nothing_is_pruned_without_approval() {
    let lab = Lab::start().await;
    for n in 0..4 {
        lab.seed("A", &format!("hand{n}"), "192.0.2.50");
    }
    lab.declare(pruning(json!({"mode": "All", "maxDeletes": 3})));
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.apply().await.exits(2).says("maxDeletes 3");
    assert_eq!(lab.contents().len(), 5);
    lab.approve().await.exits(0);
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn owned_and_never_leave_foreign_records_alone() {
    for mode in ["Owned", "Never"] {
        let lab = Lab::start().await;
        lab.seed("A", "hand", "192.0.2.50");
        lab.declare(pruning(json!({"mode": mode})));
        lab.applied(&[records("www.example.com", "A", &["192.0.2.1"])]).await;
        assert_eq!(lab.contents().len(), 2);
    }
}

#[tokio::test]
async fn orphans_are_held_under_owned_and_listed_under_never() {
    let lab = Lab::start().await;
    lab.applied(&[records("www.example.com", "A", &["192.0.2.1"])]).await;
    lab.declare(zone("example.com").with("names", json!({"exclude": ["www.example.com"]})));
    lab.plan().await.exits(1).says("- www A").says("HELD").says("NotAllowed");
    let plan = lab.plan_json().await;
    assert_eq!(plan["zones"][0]["changes"][0]["reason"], "Orphaned");
    assert_eq!(plan["zones"][0]["orphans"][0]["name"], "www.example.com");
    lab.apply().await;
    assert_eq!(lab.contents().len(), 1);
    lab.declare(
        zone("example.com")
            .with("names", json!({"exclude": ["www.example.com"]}))
            .with("prune", json!({"mode": "Never"})),
    );
    lab.folder.remove("records.yaml");
    lab.plan().await.exits(0).says("orphaned");
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 1);
    lab.declare(zone("example.com").with("names", json!({"exclude": ["www.example.com"]})));
    lab.approve().await.exits(0);
    assert!(lab.contents().is_empty(), "held orphans go by approval");
}
