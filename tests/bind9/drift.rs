//! What others change with nsupdate: undone or reported within the interval, and foreign data untouched.

use zonekeeper_tests::dns::Kind;

use crate::{site::Site, support::condition};

/// Cases 4 and 28, and 29 beside them.
#[tokio::test]
async fn what_was_changed_by_hand_is_undone_and_told() {
    // Scanned when asked: what a pass says of drift stands until the next one.
    let site = Site::new("revert").await;
    site.ready(&site.a("www", "192.0.2.1")).await;
    for (lines, told) in [
        ("update add www.ZONE 300 A 192.0.2.66", "192.0.2.66"),
        ("update delete www.ZONE A 192.0.2.1\nupdate add www.ZONE 300 A 192.0.2.77", "192.0.2.77"),
        ("update delete www.ZONE A", "none"),
        ("update add www.ZONE 60 A 192.0.2.1", "ttl"),
    ] {
        site.by_hand(&format!("update add theirs.ZONE 300 TXT \"{told}\"\n{lines}"));
        site.scan().await;
        site.wait_served("www", "A", &["192.0.2.1"]).await;
        site.wait("RecordSet", "www", told, |object| {
            let drift = condition(object, "DriftDetected");
            drift.reason == "DriftReverted" && drift.message.contains(told)
        })
        .await;
        site.told("RecordSet", "www", "DriftReverted", told).await;
    }
    assert_eq!(site.served("theirs", "TXT").len(), 4, "what is theirs stays");
    // All of it was read in differences: one transfer of the whole zone, at the start.
    assert_eq!(site.server.log().matches("AXFR started").count(), 1, "{}", site.server.log());
}

/// Case 4, the other way.
#[tokio::test]
async fn where_drift_is_only_reported_a_value_by_hand_is_kept() {
    let site = Site::ready_to_run("report").await;
    site.apply(&site.dns_zone().with("interval", "1s").with("drift", "Report")).await;
    site.run();
    site.ready(&site.a("www", "192.0.2.1")).await;
    site.by_hand("update add www.ZONE 300 A 192.0.2.66");
    let message = site.wait_condition("RecordSet", "www", "DriftDetected", "True", "DriftDetected").await;
    assert!(message.contains("192.0.2.66"), "{message}");
    let seen = site.relay.requests();
    site.scan().await;
    assert!(!site.relay.since(seen).contains(&Kind::Update));
    assert_eq!(site.served("www", "A"), ["192.0.2.1", "192.0.2.66"]);
    // A wish of our own goes on beside it, and then the set is ours again as a whole.
    site.apply(&site.a("www", "192.0.2.2")).await;
    site.wait_served("www", "A", &["192.0.2.2"]).await;
}

/// Case 28, without anybody asking for it.
#[tokio::test]
async fn what_was_changed_by_hand_is_undone_within_the_interval() {
    let site = Site::scanning("interval").await;
    site.ready(&site.a("www", "192.0.2.1")).await;
    site.by_hand("update delete www.ZONE A\nupdate add www.ZONE 300 A 192.0.2.66");
    site.wait_served("www", "A", &["192.0.2.1"]).await;
    site.told("RecordSet", "www", "DriftReverted", "192.0.2.66").await;
}

#[tokio::test]
async fn a_marker_that_is_gone_is_written_again() {
    let site = Site::scanning("marker").await;
    site.ready(&site.a("www", "192.0.2.1")).await;
    let marker = site.served("a-www", "TXT");
    assert_eq!(marker.len(), 1, "{marker:?}");
    site.by_hand("update delete a-www.ZONE TXT");
    let marker: Vec<&str> = marker.iter().map(String::as_str).collect();
    site.wait_served("a-www", "TXT", &marker).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
}
