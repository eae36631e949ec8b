//! What others change in the zone: undone, or reported, within the interval.

use std::time::{Duration, Instant};

use cloudflare_sim::{Action, Fault, Match, Scope};
use control_plane::eventually;
use serde_json::json;

use crate::support::{Lab, condition, looks::Told};

/// The zone's interval in these tests, and how long after it drift may last.
const INTERVAL: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_secs(2);

async fn scanning(name: &str) -> Lab<'static> {
    let lab = Lab::ready_to_run(name).await;
    lab.apply(&lab.dns_zone().with("interval", "1s")).await;
    lab.run();
    lab
}

/// Edits a record from outside and waits until it is as before.
async fn reverted(lab: &Lab<'_>, name: &str, rtype: &str, patch: serde_json::Value) {
    let before = lab.record(name, rtype);
    let id = before["id"].as_str().expect("an id");
    let begun = Instant::now();
    lab.sim.edit(&lab.zone, id, patch.clone());
    let relevant = |record: &serde_json::Value| {
        let fields = ["id", "content", "ttl", "proxied", "comment", "priority", "data", "tags", "settings"];
        fields.map(|field| record[field].clone())
    };
    eventually(&format!("{patch} is undone"), INTERVAL + GRACE, async || {
        let now = lab.record(name, rtype);
        if relevant(&now) == relevant(&before) { Ok(()) } else { Err(now) }
    })
    .await;
    assert!(begun.elapsed() < INTERVAL + GRACE);
}

#[tokio::test]
async fn case_15_and_k4_an_edit_of_any_field_is_reverted_within_the_interval() {
    let lab = scanning("revert").await;
    let cloudflare = json!({"comment": "ours", "tags": ["team:web"]});
    lab.ready(&lab.a("www", "192.0.2.1").with("ttl", 300).with("cloudflare", cloudflare)).await;
    lab.ready(&lab.records("mx", "MX", &["10 mail.example.net."])).await;
    lab.ready(&lab.records("_sip._tcp", "SRV", &["1 2 5060 sip.example.net."])).await;
    reverted(&lab, "www", "A", json!({"content": "192.0.2.66"})).await;
    reverted(&lab, "www", "A", json!({"ttl": 600})).await;
    reverted(&lab, "www", "A", json!({"proxied": true, "ttl": 1})).await;
    reverted(&lab, "www", "A", json!({"tags": ["team:other"]})).await;
    reverted(&lab, "mx", "MX", json!({"priority": 20})).await;
    let data = json!({"priority": 9, "weight": 9, "port": 9, "target": "other.example.net"});
    reverted(&lab, "_sip._tcp", "SRV", json!({"data": data})).await;
    // The comment, with our marker and without it; content and marker at once.
    let marked = lab.record("www", "A")["comment"].as_str().expect("a comment").replace("ours", "theirs");
    reverted(&lab, "www", "A", json!({"comment": marked})).await;
    reverted(&lab, "www", "A", json!({"comment": ""})).await;
    reverted(&lab, "www", "A", json!({"comment": "wiped", "content": "192.0.2.77"})).await;
    lab.wait_ready("RecordSet", "www").await;
}

#[tokio::test]
async fn k5_and_k6_drift_is_told_with_field_live_and_desired_value() {
    let lab = scanning("told").await;
    lab.ready(&lab.a("www", "192.0.2.1").with("ttl", 300)).await;
    reverted(&lab, "www", "A", json!({"content": "192.0.2.66", "ttl": 600})).await;
    // K5: ours says DriftReverted where the kopf operator says DriftDetected, then RecordSynced.
    let message = lab.wait_condition("RecordSet", "www", "DriftDetected", "False", "DriftReverted").await;
    for word in ["values", "192.0.2.66", "192.0.2.1", "ttl", "600", "300"] {
        assert!(message.contains(word), "{word}: {message}");
    }
    let first = reverts(&lab, 1, 1).await;
    assert!(first[0].note.contains("192.0.2.66") && first[0].note.contains("192.0.2.1"), "{first:?}");
    // Another edit is another Event; the same edit again is counted.
    reverted(&lab, "www", "A", json!({"content": "192.0.2.77"})).await;
    assert!(reverts(&lab, 2, 2).await[1].note.contains("192.0.2.77"));
    reverted(&lab, "www", "A", json!({"content": "192.0.2.77"})).await;
    assert_eq!(reverts(&lab, 2, 3).await[1].count, 2);
    assert_eq!(condition(&lab.wait_ready("RecordSet", "www").await, "Ready").reason, "Programmed");
}

#[tokio::test]
async fn drift_names_comment_tags_and_settings_and_is_not_called_a_marker() {
    let lab = scanning("fields").await;
    let cloudflare = json!({"comment": "ours", "tags": ["team:web"], "settings": {"ipv4Only": false}});
    lab.ready(&lab.a("www", "192.0.2.1").with("ttl", 300).with("cloudflare", cloudflare)).await;
    let marked = lab.record("www", "A")["comment"].as_str().expect("a comment").replace("ours", "theirs");
    reverted(&lab, "www", "A", json!({"comment": marked, "tags": ["team:other"]})).await;
    let message = lab.wait_condition("RecordSet", "www", "DriftDetected", "False", "DriftReverted").await;
    for word in ["comment", "theirs", "ours", "tags", "team:other", "team:web"] {
        assert!(message.contains(word), "{word}: {message}");
    }
    assert!(!message.contains("marker"), "{message}");
    // A comment alone, where drift is only reported.
    lab.apply(&lab.dns_zone().with("drift", "Report").with("interval", "1s")).await;
    lab.wait_ready("DNSZone", "zone").await;
    let marked = lab.record("www", "A")["comment"].as_str().expect("a comment").replace("ours", "theirs");
    lab.sim.edit(&lab.zone, &lab.id_of("www", "A"), json!({"comment": marked}));
    let message = lab.wait_condition("RecordSet", "www", "DriftDetected", "True", "DriftDetected").await;
    assert!(message.contains("comment: live \"theirs\", desired \"ours\""), "{message}");
    lab.wait_condition("DNSZone", "zone", "DriftDetected", "True", "DriftDetected").await;
}

/// The Events of reverts, when there are so many that were said so often.
async fn reverts(lab: &Lab<'_>, events: usize, times: u64) -> Vec<Told> {
    eventually("the Events", GRACE, async || {
        let mut told = lab.events("RecordSet", "www").await;
        told.retain(|event| event.reason == "DriftReverted");
        let said: u64 = told.iter().map(|event| event.count).sum();
        if (told.len(), said) == (events, times) { Ok(told) } else { Err(told) }
    })
    .await
}

#[tokio::test]
async fn case_47_a_deleted_record_is_created_again_within_the_interval() {
    let lab = scanning("recreate").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let id = lab.id_of("www", "A");
    lab.sim.remove(&lab.zone, &id);
    eventually("it is there again", INTERVAL + GRACE, async || {
        let contents = lab.contents();
        if contents == ["www A 192.0.2.1"] { Ok(()) } else { Err(contents) }
    })
    .await;
    // Status follows: the id is another.
    let new = lab.id_of("www", "A");
    assert_ne!(new, id);
    lab.wait("RecordSet", "www", "the new id", |object| {
        object["status"]["zones"][0]["records"][0]["id"] == *new
    })
    .await;
    let message = lab.wait_condition("RecordSet", "www", "DriftDetected", "False", "DriftReverted").await;
    assert!(message.contains("live none") && message.contains("192.0.2.1"), "{message}");
}

/// A record that a person renames in the dashboard and keeps is theirs, though this process, and after a restart the
/// status, remember its id.
#[tokio::test]
async fn a_record_that_is_renamed_from_outside_is_left_alone() {
    let lab = scanning("renamed").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let id = lab.id_of("www", "A");
    lab.sim.edit(&lab.zone, &id, json!({"name": lab.at("kept"), "comment": ""}));
    // Ours is created again, and the renamed one stays, now and after a restart.
    lab.wait_contents(&["kept A 192.0.2.1", "www A 192.0.2.1"]).await;
    lab.scan().await;
    lab.kill().await;
    lab.run();
    lab.scan().await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["kept A 192.0.2.1"]);
    assert_eq!(lab.id_of("kept", "A"), id);
}

#[tokio::test]
async fn a_foreign_record_of_the_same_name_stays_beside_ours() {
    let lab = scanning("beside").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let mark = lab.mark();
    lab.seed("www", "A", "192.0.2.66");
    lab.scan().await;
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
    assert_eq!(lab.contents(), ["www A 192.0.2.1", "www A 192.0.2.66"]);
    // It goes on being untouched when ours goes.
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    assert_eq!(lab.contents(), ["www A 192.0.2.66"]);
}

#[tokio::test]
async fn case_48_a_refused_read_keeps_the_binding_and_creates_nothing() {
    let lab = scanning("refused-read").await;
    let before = lab.ready(&lab.a("www", "192.0.2.1")).await;
    let mark = lab.mark();
    let reads = Match { scope: Scope::Reads, path_contains: Some("/dns_records".into()), ..Match::default() };
    lab.sim.faults(vec![Fault::new(reads, Action::Json(403))]);
    lab.wait("DNSZone", "zone", "not Ready", |object| condition(object, "Ready").is("False")).await;
    let after =
        lab.wait("RecordSet", "www", "not Ready", |object| condition(object, "Ready").is("False")).await;
    assert_eq!(after["status"]["zones"], before["status"]["zones"]);
    assert_eq!(lab.changes_since(mark), [""; 0]);
    lab.sim.faults(Vec::new());
    lab.wait_ready("RecordSet", "www").await;
    lab.wait_ready("DNSZone", "zone").await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
}

#[tokio::test]
async fn reported_drift_is_left_alone_until_somebody_edits_the_object() {
    let lab = Lab::ready_to_run("report").await;
    lab.apply(&lab.dns_zone().with("drift", "Report")).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1").with("ttl", 300)).await;
    lab.ready(&lab.a("other", "192.0.2.1")).await;
    let mark = lab.mark();
    lab.sim.edit(&lab.zone, &lab.id_of("www", "A"), json!({"content": "192.0.2.66"}));
    lab.scan().await;
    let message = lab.wait_condition("RecordSet", "www", "DriftDetected", "True", "DriftDetected").await;
    assert!(message.contains("192.0.2.66") && message.contains("192.0.2.1"), "{message}");
    lab.wait_reason("RecordSet", "www", "DriftDetected").await;
    lab.wait_condition("DNSZone", "zone", "DriftDetected", "True", "DriftDetected").await;
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
    lab.wait_ready("RecordSet", "other").await;
    lab.ready(&lab.a("www", "192.0.2.2").with("ttl", 300)).await;
    assert_eq!(lab.record("www", "A")["content"], "192.0.2.2");
    lab.wait_condition("DNSZone", "zone", "DriftDetected", "False", "Programmed").await;
}

#[tokio::test]
async fn a_listing_that_lags_behind_an_update_costs_no_second_write() {
    let lab = scanning("lagging").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.a("gone", "192.0.2.1")).await;
    // Longer than this test takes.
    lab.sim.lag(Duration::from_secs(3_600));
    let mark = lab.mark();
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    lab.ready(&lab.a("new", "192.0.2.1")).await;
    lab.delete("RecordSet", "gone").await;
    lab.wait_gone("RecordSet", "gone").await;
    for _ in 0..5 {
        lab.scan().await;
    }
    let changes = ["~ www A 192.0.2.1 -> 192.0.2.2", "+ new A 192.0.2.1", "- gone A 192.0.2.1"];
    assert_eq!(lab.changes_since(mark), changes);
    let www = lab.wait_ready("RecordSet", "www").await;
    assert!(!condition(&www, "DriftDetected").is("True"), "{www:#}");
    let drifted = |told: &Told| told.reason.starts_with("Drift");
    assert!(!lab.events("RecordSet", "www").await.iter().any(drifted));
}

/// What leaves and comes back as it was is wanted: nobody changed it from outside.
#[tokio::test]
async fn what_left_and_comes_back_unchanged_is_written_and_is_no_drift() {
    for drift in ["Report", "Revert"] {
        let lab = Lab::ready_to_run(&format!("back-{}", drift.to_lowercase())).await;
        let guard = json!({"settle": "0s", "maxDeletePercent": 100});
        lab.apply(&lab.dns_zone().with("drift", drift).with("guard", guard)).await;
        lab.run();
        let www = || lab.a("www", "192.0.2.1");
        lab.ready(&lab.a("other", "192.0.2.1")).await;
        lab.ready(&www()).await;
        lab.delete("RecordSet", "www").await;
        lab.wait_gone("RecordSet", "www").await;
        lab.ready(&www()).await;
        lab.wait_contents(&["other A 192.0.2.1", "www A 192.0.2.1"]).await;
        // Another type, another name, another value; and back.
        let aliased = lab.records("www", "CNAME", &["other.example.net."]);
        let renamed = lab.a("api", "192.0.2.1").named("www");
        for (change, contents) in [
            (aliased, ["other A 192.0.2.1", "www CNAME other.example.net"]),
            (renamed, ["api A 192.0.2.1", "other A 192.0.2.1"]),
            (lab.a("www", "192.0.2.2"), ["other A 192.0.2.1", "www A 192.0.2.2"]),
        ] {
            lab.ready(&change).await;
            lab.wait_contents(&contents).await;
            lab.ready(&www()).await;
            lab.wait_contents(&["other A 192.0.2.1", "www A 192.0.2.1"]).await;
        }
        let told = lab.events("RecordSet", "www").await;
        assert!(!told.iter().any(|event| event.reason.starts_with("Drift")), "{drift}: {told:?}");
        // What is changed from outside still is drift.
        lab.sim.edit(&lab.zone, &lab.id_of("www", "A"), json!({"content": "192.0.2.66"}));
        lab.scan().await;
        match drift {
            "Report" => drop(lab.wait_reason("RecordSet", "www", "DriftDetected").await),
            _revert => lab.wait_contents(&["other A 192.0.2.1", "www A 192.0.2.1"]).await,
        }
    }
}

/// A restart does not take a change from outside that was reported for a new wish.
#[tokio::test]
async fn reported_drift_outlives_a_restart() {
    let lab = Lab::ready_to_run("report-restart").await;
    lab.apply(&lab.dns_zone().with("drift", "Report")).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.wait_ready("DNSZone", "zone").await;
    lab.sim.edit(&lab.zone, &lab.id_of("www", "A"), json!({"content": "192.0.2.66"}));
    lab.scan().await;
    lab.wait_reason("RecordSet", "www", "DriftDetected").await;
    let mark = lab.mark();
    lab.kill().await;
    lab.run();
    lab.scan().await;
    lab.wait_reason("RecordSet", "www", "DriftDetected").await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
}
