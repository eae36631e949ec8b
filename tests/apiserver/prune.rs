//! Records that nobody wants: orphans, unmarked ones, and what pruning leaves alone.

use cloudflare_sim::{Action, Fault, Match, Scope};
use serde_json::json;

use crate::support::{Lab, condition};

#[tokio::test]
async fn case_43_unknown_records_are_untouched_by_default() {
    let lab = Lab::ready_to_run("prune-off").await;
    lab.seed("theirs", "A", "192.0.2.66");
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let mark = lab.mark();
    for mode in ["Never", "Owned"] {
        lab.ready(&lab.dns_zone().with("prune", json!({"mode": mode}))).await;
        lab.scan().await;
    }
    assert_eq!(lab.changes_since(mark), [""; 0]);
    let zone = lab.get("DNSZone", "zone").await.expect("it is there");
    assert_eq!(zone["status"]["records"]["foreign"], 1);
}

#[tokio::test]
async fn case_44_prune_all_removes_unmarked_records_but_the_ignored() {
    let lab = Lab::ready_to_run("prune-all").await;
    lab.seed("theirs", "A", "192.0.2.66");
    lab.seed("kept.keep", "A", "192.0.2.66");
    let mail = json!({"type": "MX", "name": lab.at("mail"), "content": "mail.example.net", "priority": 10});
    lab.sim.seed(&lab.zone, mail);
    lab.seed("_acme-challenge.www", "TXT", "\"token\"");
    lab.sim
        .seed_read_only(&lab.zone, json!({"type": "A", "name": lab.at("managed"), "content": "192.0.2.66"}));
    let ignore = json!([{"name": "*.keep.*"}, {"type": "MX"}, {"name": "_acme-challenge.*", "type": "TXT"}]);
    lab.apply(&lab.dns_zone().with("prune", json!({"mode": "All", "ignore": ignore}))).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.scan().await;
    let expected = [
        "_acme-challenge.www TXT \"token\"",
        "kept.keep A 192.0.2.66",
        "mail MX mail.example.net",
        "managed A 192.0.2.66",
        "www A 192.0.2.1",
    ];
    lab.wait_contents(&expected).await;
    lab.wait_ready("DNSZone", "zone").await;
}

#[tokio::test]
async fn case_55_a_bad_ignore_pattern_is_refused_and_nothing_is_pruned() {
    let lab = Lab::ready_to_run("bad-pattern").await;
    lab.seed("theirs", "A", "192.0.2.66");
    let with =
        |pattern: &str| lab.dns_zone().with("prune", json!({"mode": "All", "ignore": [{"name": pattern}]}));
    lab.refused(&with("with space")).await;
    lab.refused(&with("two..dots")).await;
    lab.refused(&with("")).await;
    // What the schema can't see is reported, and then nothing is pruned.
    lab.apply(&with(&"a".repeat(70))).await;
    lab.run();
    let message = lab.wait_reason("DNSZone", "zone", "InvalidValue").await;
    assert!(message.contains("ignore"), "{message}");
    lab.ready(&with("theirs.*")).await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["theirs A 192.0.2.66"]);
}

#[tokio::test]
async fn case_56_a_prune_that_fails_leaves_the_records_ready() {
    let lab = Lab::new("prune-fails").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.seed("theirs", "A", "192.0.2.66");
    let writes = Match { scope: Scope::Writes, ..Match::default() };
    lab.sim.faults(vec![Fault::new(writes, Action::Json(500))]);
    lab.apply(&lab.dns_zone().with("prune", json!({"mode": "All"}))).await;
    // We have no condition Pruned: the zone says what failed, and who was served stays so.
    lab.scan().await;
    lab.wait_reason("DNSZone", "zone", "ProviderUnavailable").await;
    lab.wait_ready("RecordSet", "www").await;
    lab.sim.faults(Vec::new());
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    lab.wait_ready("DNSZone", "zone").await;
}

#[tokio::test]
async fn case_57_prune_halts_above_its_cap_and_goes_on_by_approval() {
    let lab = Lab::ready_to_run("prune-cap").await;
    for number in 0..12 {
        lab.seed(&format!("theirs-{number:02}"), "A", "192.0.2.66");
    }
    lab.apply(&lab.dns_zone().with("prune", json!({"mode": "All"}))).await;
    lab.run();
    let message = lab.wait_reason("DNSZone", "zone", "Held").await;
    assert!(message.contains("maxDeletes") && message.contains("approve-plan"), "{message}");
    // Nobody wants anything, and still nothing goes.
    assert_eq!(lab.contents().len(), 12);
    let zone = lab.get("DNSZone", "zone").await.expect("it is there");
    assert_eq!(zone["status"]["plan"]["held"], 12);
    assert_eq!(condition(&zone, "Held").status, "True");
    assert_eq!(condition(&zone, "Stalled").status, "True");
    let hash = zone["status"]["plan"]["hash"].as_str().expect("a hash").to_owned();
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", "0000000000000000").await;
    lab.scan().await;
    assert_eq!(lab.contents().len(), 12);
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", &hash).await;
    lab.wait_contents(&[]).await;
    lab.wait_ready("DNSZone", "zone").await;
}

#[tokio::test]
async fn orphans_are_listed_held_and_go_by_approval() {
    let lab = Lab::ready_to_run("orphans").await;
    let granting = || lab.dns_zone().with("allowedRecords", json!([{"namespaces": {"from": "All"}}]));
    lab.apply(&granting()).await;
    lab.run();
    let tenant = lab.tenant(json!({})).await;
    lab.ready(&lab.a("www", "192.0.2.1").in_namespace(tenant.name())).await;
    lab.ready(&lab.a("own", "192.0.2.1")).await;
    // The grant goes: under Never the orphan is listed, under Owned it waits for approval.
    lab.apply(&lab.dns_zone().with("prune", json!({"mode": "Never"}))).await;
    lab.wait("DNSZone", "zone", "an orphan", |object| {
        object["status"]["records"]["orphaned"] == 1 && condition(object, "Held").is("False")
    })
    .await;
    lab.wait_ready("DNSZone", "zone").await;
    lab.apply(&lab.dns_zone()).await;
    lab.wait_reason("DNSZone", "zone", "Held").await;
    // Meanwhile everything else goes on.
    lab.ready(&lab.a("own", "192.0.2.2")).await;
    assert_eq!(lab.contents(), ["own A 192.0.2.2", "www A 192.0.2.1"]);
    // The grant returns: so does peace.
    lab.ready(&granting()).await;
    lab.wait_ready("RecordSet", &format!("{}/www", tenant.name())).await;
    lab.apply(&lab.dns_zone()).await;
    lab.wait_reason("DNSZone", "zone", "Held").await;
    let zone = lab.get("DNSZone", "zone").await.expect("it is there");
    let hash = zone["status"]["plan"]["hash"].as_str().expect("a hash").to_owned();
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", &hash).await;
    lab.wait_contents(&["own A 192.0.2.2"]).await;
}
