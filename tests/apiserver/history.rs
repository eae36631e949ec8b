//! What was done to a zone can be read afterwards: its history, Events, and who approved what.

use control_plane::{User, eventually};
use serde_json::{Value, json};
use tokio::process::Command;
use zonekeeper_tests::binary::binary;

use crate::support::{Lab, condition, lab::DEADLINE};

/// Runs a command on an object as the administrator, and returns what it prints.
async fn run(lab: &Lab<'_>, arguments: &[&str]) -> String {
    let output = Command::new(binary())
        .args(arguments)
        .args(["--namespace", lab.home.name()])
        .arg("--kubeconfig")
        .arg(lab.plane().kubeconfig(&User::admin()).expect("a kubeconfig"))
        .output()
        .await
        .expect("the binary runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The history as `operation name` with its cause, the newest first.
fn told(zone: &Value, lab: &Lab<'_>) -> Vec<String> {
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let line = |entry: &Value| {
        let name = text(entry, "name").replace(&format!(".{}", lab.domain), "");
        format!("{} {name} {}", text(entry, "operation"), text(entry, "cause"))
    };
    zone["status"]["history"].as_array().into_iter().flatten().map(line).collect()
}

#[tokio::test]
async fn the_history_of_a_zone_outlives_a_restart_and_stays_as_it_is_while_nothing_changes() {
    let lab = Lab::new("history").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    let wanted = ["Delete www Released", "Update www Wanted", "Create www Wanted"];
    let zone = lab.wait("DNSZone", "zone", "its history", |zone| told(zone, &lab) == wanted).await;
    let update = &zone["status"]["history"][1];
    assert!(update["before"].as_str().is_some_and(|text| text.starts_with("192.0.2.1 (")), "{update}");
    assert!(update["after"].as_str().is_some_and(|text| text.starts_with("192.0.2.2 (")), "{update}");
    assert_eq!(update["object"], format!("recordset {}/www", lab.home.name()));
    lab.kill().await;
    lab.run();
    lab.scan().await;
    lab.scan().await;
    let again = lab.get("DNSZone", "zone").await.expect("it is there");
    assert_eq!(told(&again, &lab), wanted);
    // A zone in which nothing changes says the same as before, the request for a look aside.
    let said = |zone: &Value| {
        let mut status = zone["status"].clone();
        status["lastHandledReconcileAt"].take();
        status
    };
    lab.scan().await;
    lab.scan().await;
    let quiet = lab.get("DNSZone", "zone").await.expect("it is there");
    assert_eq!(said(&quiet), said(&again));
    lab.ready(&lab.a("mail", "192.0.2.3")).await;
    let longer = lab.wait("DNSZone", "zone", "one more", |zone| told(zone, &lab).len() == 4).await;
    assert_eq!(told(&longer, &lab)[0], "Create mail Wanted");
    let shown = run(&lab, &["history", "zone"]).await;
    assert_eq!(shown.lines().count(), 5, "{shown}");
}

#[tokio::test]
async fn approve_releases_what_is_held_and_the_history_names_the_approver() {
    let lab = Lab::new("approve").await;
    let names: Vec<String> = (0..6).map(|number| format!("n{number}")).collect();
    for name in &names {
        lab.ready(&lab.a(name, "192.0.2.1")).await;
    }
    for name in &names {
        lab.delete("RecordSet", name).await;
    }
    let zone = lab.wait("DNSZone", "zone", "all are held", |zone| zone["status"]["plan"]["held"] == 6).await;
    let hash = zone["status"]["plan"]["hash"].as_str().expect("a hash").to_owned();
    let shown = run(&lab, &["approve", "zone", &hash]).await;
    assert!(shown.contains("approved 6 held changes") && shown.contains(&lab.at("n3")), "{shown}");
    for name in &names {
        lab.wait_gone("RecordSet", name).await;
    }
    let is_told = |zone: &Value| {
        let entries = zone["status"]["history"].as_array().into_iter().flatten();
        entries.filter(|entry| entry["operation"] == "Delete" && entry["approval"] == *hash).count() == 6
    };
    let zone = lab.wait("DNSZone", "zone", "the approval", is_told).await;
    let approver = zone["status"]["history"][0]["approver"].as_str().unwrap_or_default().to_owned();
    assert!(!approver.is_empty(), "{zone:#}");
    assert!(run(&lab, &["history", "zone"]).await.contains(&approver));
}

#[tokio::test]
async fn reconcile_comes_back_when_the_zone_was_looked_at() {
    let lab = Lab::new("asked").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.sim.edit(&lab.zone, &lab.id_of("www", "A"), json!({"content": "192.0.2.66"}));
    let shown = run(&lab, &["reconcile", "dnszone/zone"]).await;
    assert!(shown.contains("Ready=True"), "{shown}");
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    run(&lab, &["suspend", "dnszone/zone"]).await;
    lab.wait("DNSZone", "zone", "suspended", |zone| condition(zone, "Ready").reason == "Suspended").await;
    run(&lab, &["resume", "dnszone/zone"]).await;
    lab.wait("DNSZone", "zone", "resumed", |zone| condition(zone, "Ready").reason == "Programmed").await;
}

#[tokio::test]
async fn every_change_is_told_once_and_nothing_that_lasts_a_moment() {
    let lab = Lab::new("told-changes").await;
    lab.wait_ready("DNSZone", "zone").await;
    lab.ready(&lab.a("www", "192.0.2.1").with("ttl", 300)).await;
    lab.ready(&lab.a("www", "192.0.2.2").with("ttl", 300)).await;
    let notes = eventually("two Events", DEADLINE, async || {
        let events = lab.events("RecordSet", "www").await;
        if events.len() == 2 { Ok(events) } else { Err(events) }
    })
    .await;
    assert!(
        notes[0].note.starts_with(&format!("created {} A 192.0.2.1 (ttl 300)", lab.at("www"))),
        "{notes:?}"
    );
    let changed = format!("changed {} A 192.0.2.1 (ttl 300) to 192.0.2.2 (ttl 300)", lab.at("www"));
    assert!(notes[1].note.starts_with(&changed), "{notes:?}");
    for (kind, name) in [("DNSZone", "zone"), ("RecordSet", "www")] {
        let events = lab.events(kind, name).await;
        assert!(events.iter().all(|event| event.reason != "Pending"), "{events:?}");
    }
}
