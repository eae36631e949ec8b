//! How far a zone may go: policies, drift, suspension.

use serde_json::json;

use crate::support::{Lab, records, zone};

/// A zone with one record to create, one to update and one to delete.
async fn under(policy: &str) -> Lab {
    let lab = Lab::start().await;
    lab.applied(&[
        records("old.example.com", "A", &["192.0.2.1"]),
        records("www.example.com", "A", &["192.0.2.1"]),
    ])
    .await;
    lab.declare(zone("example.com").with("policy", policy));
    lab.want(&[
        records("www.example.com", "A", &["192.0.2.2"]),
        records("new.example.com", "A", &["192.0.2.1"]),
    ]);
    lab
}

#[tokio::test]
async fn sync_does_all() {
    let lab = under("Sync").await;
    lab.apply().await.exits(0);
    assert_eq!(lab.contents(), ["new.example.com A 192.0.2.1", "www.example.com A 192.0.2.2"]);
}

#[tokio::test]
async fn upsert_only_deletes_nothing() {
    let lab = under("UpsertOnly").await;
    lab.apply().await.exits(0);
    assert_eq!(
        lab.contents(),
        ["new.example.com A 192.0.2.1", "old.example.com A 192.0.2.1", "www.example.com A 192.0.2.2"]
    );
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn create_only_changes_nothing_that_is_there() {
    let lab = under("CreateOnly").await;
    lab.apply().await.exits(0);
    assert_eq!(
        lab.contents(),
        ["new.example.com A 192.0.2.1", "old.example.com A 192.0.2.1", "www.example.com A 192.0.2.1"]
    );
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn observe_plans_and_writes_nothing() {
    let lab = under("Observe").await;
    let writes = lab.sim.writes();
    lab.plan().await.exits(2).says("observed only").says("+ new A");
    assert_eq!(lab.plan_json().await["zones"][0]["changes"][0]["reason"], "Observed");
    lab.apply().await.exits(0);
    lab.approve().await.exits(0);
    assert_eq!(lab.sim.writes(), writes);
}

#[tokio::test]
async fn a_suspended_zone_is_left_alone() {
    let lab = under("Sync").await;
    lab.declare(zone("example.com").with("suspend", true));
    let writes = lab.sim.writes();
    lab.plan().await.exits(0).says("suspended");
    lab.apply().await.exits(0);
    assert_eq!(lab.sim.writes(), writes);
}

#[tokio::test]
async fn a_suspended_record_set_keeps_what_is_live() {
    let lab = under("Sync").await;
    let suspended = records("www.example.com", "A", &["192.0.2.2"]).with("suspend", true);
    lab.want(&[suspended, records("new.example.com", "A", &["192.0.2.1"])]);
    lab.apply().await.exits(0);
    assert_eq!(lab.contents(), ["new.example.com A 192.0.2.1", "www.example.com A 192.0.2.1"]);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_pinned_zone_id_must_be_the_zone() {
    let lab = Lab::start().await;
    let other = lab.sim.zone("example.net", cloudflare_sim::Plan::Free);
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.declare(zone("example.com").with("zoneID", lab.zone.as_str()));
    lab.apply().await.exits(0);
    lab.declare(zone("example.com").with("zoneID", other.as_str()));
    lab.apply().await.exits(1).says("zoneID");
    lab.declare(zone("example.com").with("zoneID", "0123456789abcdef0123456789abcdef"));
    lab.apply().await.exits(1);
    assert!(lab.contents_of(&other).is_empty());
}

#[tokio::test]
async fn names_outside_the_zones_limits_are_not_allowed() {
    let lab = Lab::start().await;
    lab.declare(
        zone("example.com")
            .with("names", json!({"include": ["*.apps.example.com"], "exclude": ["x.apps.example.com"]})),
    );
    lab.want(
        &["www.example.com", "www.apps.example.com", "x.apps.example.com"]
            .map(|name| records(name, "A", &["192.0.2.1"])),
    );
    let run = lab.apply().await.exits(1);
    assert_eq!(run.stdout.matches("NotAllowed").count(), 2, "{run}");
    assert_eq!(lab.contents(), ["www.apps.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn a_single_run_takes_drift_for_a_change_of_the_manifest() {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("drift", "Report"));
    lab.applied(&[records("www.example.com", "A", &["192.0.2.1"])]).await;
    let id = lab.records("www.example.com", "A")[0]["id"].as_str().expect("an id").to_owned();
    lab.sim.edit(&lab.zone, &id, json!({"content": "192.0.2.66"}));
    lab.apply().await.exits(0);
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1"]);
}
