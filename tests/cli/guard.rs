//! How much may change at once, and what waits for a person.

use serde_json::json;

use crate::support::{Lab, Manifest, lab::changes, records, zone};

fn hosts(range: std::ops::Range<usize>) -> Vec<Manifest> {
    range.map(|n| records(&format!("n{n:02}.example.com"), "A", &["192.0.2.1"])).collect()
}

#[tokio::test]
async fn a_small_zone_may_lose_three_sets_and_no_more() {
    let lab = Lab::start().await;
    lab.applied(&hosts(0..9)).await;
    lab.want(&hosts(3..9));
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 6);
    lab.want(&hosts(7..9));
    let held = lab.apply().await.exits(2);
    assert!(held.stdout.contains("4 of 6 owned sets"), "{held}");
    assert_eq!(lab.contents().len(), 6, "all deletes of the plan are held");
}

#[tokio::test]
async fn a_larger_zone_may_lose_its_percentage() {
    let lab = Lab::start().await;
    lab.applied(&hosts(0..20)).await;
    lab.want(&hosts(7..20));
    lab.apply().await.exits(2).says("7 of 20");
    assert_eq!(lab.contents().len(), 20);
    lab.want(&hosts(6..20));
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 14, "six of twenty are 30 percent");
}

#[tokio::test]
async fn everything_but_the_deletes_goes_on() {
    let lab = Lab::start().await;
    lab.applied(&hosts(0..12)).await;
    let changed = records("n00.example.com", "A", &["192.0.2.9"]);
    lab.want(&[changed, records("new.example.com", "A", &["192.0.2.1"])]);
    lab.apply().await.exits(2);
    assert_eq!(lab.contents().len(), 13);
    assert_eq!(lab.values("n00.example.com", "A"), ["192.0.2.9"]);
    let plan = lab.plan_json().await;
    assert_eq!(plan["zones"][0]["held"], 11);
    assert!(changes(&plan).iter().all(|change| change.starts_with("Delete")));
}

#[tokio::test]
async fn an_empty_wish_is_the_largest_deletion_of_all() {
    let lab = Lab::start().await;
    lab.applied(&hosts(0..5)).await;
    lab.folder.remove("records.yaml");
    lab.apply().await.exits(2);
    assert_eq!(lab.contents().len(), 5);
    lab.approve().await.exits(0);
    assert!(lab.contents().is_empty());
}

#[tokio::test]
async fn the_zone_sets_its_own_limits() {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("guard", json!({"maxDeletePercent": 100})));
    lab.applied(&hosts(0..6)).await;
    lab.want(&hosts(0..1));
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 1);
    lab.declare(zone("example.com").with("guard", json!({"maxDeletePercent": 0, "minRecords": 0})));
    lab.folder.remove("records.yaml");
    lab.apply().await.exits(2);
    assert_eq!(lab.contents().len(), 1);
}

#[tokio::test]
async fn updates_have_a_limit_too_where_the_zone_sets_one() {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("guard", json!({"maxUpdatePercent": 20})));
    lab.applied(&hosts(0..10)).await;
    let changed: Vec<_> =
        (0..10).map(|n| records(&format!("n{n:02}.example.com"), "A", &["192.0.2.2"])).collect();
    lab.want(&changed);
    lab.apply().await.exits(2).says("10 of 10 owned sets would be updated");
    assert!(lab.contents().iter().all(|line| line.ends_with("192.0.2.1")));
    lab.approve().await.exits(0);
    assert!(lab.contents().iter().all(|line| line.ends_with("192.0.2.2")));
}

#[tokio::test]
async fn marker_writes_never_count() {
    let lab = Lab::start().await;
    lab.declare(
        zone("example.com")
            .with("guard", json!({"maxUpdatePercent": 0, "maxDeletePercent": 0, "minRecords": 0})),
    );
    lab.applied(&hosts(0..5)).await;
    let renamed: Vec<_> =
        hosts(0..5).into_iter().enumerate().map(|(n, host)| host.named(&format!("x{n}"))).collect();
    lab.applied(&renamed).await;
}

#[tokio::test]
async fn name_servers_of_the_zone_itself_change_only_by_approval() {
    let lab = Lab::start().await;
    let apex = |server: &str| records("example.com", "NS", &[server]);
    lab.applied(&[apex("ns1.example.net")]).await;
    lab.want(&[apex("ns2.example.net")]);
    lab.apply().await.exits(2).says("NS and SOA");
    assert_eq!(lab.values("example.com", "NS"), ["ns1.example.net"]);
    lab.approve().await.exits(0);
    assert_eq!(lab.values("example.com", "NS"), ["ns2.example.net"]);
}

#[tokio::test]
async fn names_that_the_zone_gave_up_are_orphans_that_wait() {
    let lab = Lab::start().await;
    lab.applied(&[
        records("www.example.com", "A", &["192.0.2.1"]),
        records("www.lab.example.com", "A", &["192.0.2.1"]),
    ])
    .await;
    lab.declare(zone("example.com").with("names", json!({"exclude": ["*.lab.example.com"]})));
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    let plan = lab.plan().await;
    assert_ne!(plan.code, 1, "{plan}");
    let json = lab.plan_json().await;
    assert_eq!(json["zones"][0]["orphans"][0]["name"], "www.lab.example.com", "{json}");
    lab.apply().await;
    assert_eq!(lab.contents().len(), 2, "it is listed and stays");
}
