//! What a plan looks like, for people, for machines and for merge requests.

use serde_json::{Value, json};

use crate::support::{Lab, records};

/// A zone with one create, one update and four held deletes.
async fn mixed() -> Lab {
    let lab = Lab::start().await;
    let mut all: Vec<_> =
        (0..4).map(|n| records(&format!("gone{n}.example.com"), "A", &["192.0.2.1"])).collect();
    all.push(records("www.example.com", "A", &["192.0.2.1"]));
    lab.applied(&all).await;
    lab.want(&[
        records("www.example.com", "A", &["192.0.2.2"]).with("ttl", 300),
        records("new.example.com", "TXT", &["a|b"]),
    ]);
    lab
}

#[tokio::test]
async fn json_has_the_shape_of_the_contract() {
    let lab = mixed().await;
    let run = lab.call("plan").args(&["-o", "json"]).run().await.exits(2);
    let plan = run.json();
    assert!(plan["hash"].as_str().is_some_and(|hash| hash.len() >= 16), "{plan}");
    let zone = &plan["zones"][0];
    for (field, value) in [
        ("namespace", json!("default")),
        ("name", json!("example-com")),
        ("domain", json!("example.com")),
        ("creates", json!(1)),
        ("updates", json!(1)),
        ("deletes", json!(4)),
        ("held", json!(4)),
    ] {
        assert_eq!(zone[field], value, "{field} of {zone}");
    }
    assert!(zone["hash"].is_string());
    let changes = zone["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 6);
    for change in changes {
        let change = change.as_object().expect("an object");
        for key in ["operation", "name", "type", "before", "after", "held", "reason"] {
            assert!(change.contains_key(key), "{key} is missing from {change:?}");
        }
    }
    let find = |name: &str| changes.iter().find(|change| change["name"] == name).expect("the change");
    let update = find("www.example.com");
    assert_eq!(update["operation"], "Update");
    assert_eq!(update["before"]["values"], json!(["192.0.2.1"]));
    assert_eq!(update["after"]["values"], json!(["192.0.2.2"]));
    assert_eq!(update["after"]["ttl"], 300);
    assert_eq!(update["held"], false);
    assert_eq!(update["reason"], Value::Null);
    let create = find("new.example.com");
    assert_eq!((&create["operation"], &create["before"]), (&json!("Create"), &Value::Null));
    let delete = find("gone0.example.com");
    assert_eq!((&delete["operation"], &delete["after"]), (&json!("Delete"), &Value::Null));
    assert_eq!((&delete["held"], &delete["reason"]), (&json!(true), &json!("Held")));
}

#[tokio::test]
async fn an_empty_plan_has_all_keys_too() {
    let lab = Lab::start().await;
    let plan = lab.call("plan").args(&["-o", "json"]).run().await.exits(0).json();
    let zone = plan["zones"][0].as_object().expect("a zone");
    for key in ["namespace", "name", "domain", "hash", "creates", "updates", "deletes", "held", "changes"] {
        assert!(zone.contains_key(key), "{key} is missing from {zone:?}");
    }
    assert_eq!(zone["changes"], json!([]));
}

#[tokio::test]
async fn a_zone_that_can_not_be_read_keeps_its_place_in_json() {
    let lab = Lab::start().await;
    lab.declare(crate::support::zone("example.net"));
    let run = lab.call("plan").args(&["-o", "json"]).run().await.exits(1);
    let plan = run.json();
    assert_eq!(plan["zones"][0]["domain"], "example.net");
    assert_eq!(plan["zones"][0]["changes"], json!([]));
    assert_eq!(plan["zones"][0]["error"]["reason"], "ZoneNotFound");
}

#[tokio::test]
async fn text_tells_people_what_and_how_to_go_on() {
    let lab = mixed().await;
    let run = lab.plan().await.exits(2);
    assert!(
        run.stdout.contains(
            "zone default/example-com (example.com): 1 to create, 1 to update, 4 to delete, 4 held"
        ),
        "{run}"
    );
    assert!(run.stdout.contains("~ www A 192.0.2.1 -> 192.0.2.2 (ttl auto -> 300)"), "{run}");
    assert!(run.stdout.contains("- gone0 A 192.0.2.1"), "{run}");
    let hash = lab.plan_json().await["hash"].as_str().expect("a hash").to_owned();
    assert!(run.stdout.contains(&format!("--plan-hash {hash}")), "{run}");
}

#[tokio::test]
async fn markdown_is_a_table_that_values_can_not_break() {
    let lab = mixed().await;
    let run = lab.call("plan").args(&["-o", "markdown"]).run().await.exits(2);
    let hash = lab.plan_json().await["hash"].as_str().expect("a hash").to_owned();
    assert!(run.stdout.contains(&format!("`{hash}`")), "{run}");
    let rows: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 8, "{run}");
    let cells = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows.iter().all(|row| cells(row) == cells(rows[0])), "{run}");
    assert!(run.stdout.contains("a\\|b"), "{run}");
}

#[tokio::test]
async fn notes_and_logs_never_mix_with_json() {
    let lab = Lab::start().await;
    lab.folder.write("other.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n");
    let run = lab.call("plan").args(&["-o", "json"]).env("RUST_LOG", "trace").run().await.exits(0);
    run.json();
    assert!(run.stderr.contains("ConfigMap is skipped"), "{run}");
}

#[tokio::test]
async fn every_attribute_is_shown_in_every_format() {
    let lab = Lab::on(cloudflare_sim::Plan::Pro).await;
    let set =
        |cloudflare: Value| records("www.example.com", "A", &["192.0.2.1"]).with("cloudflare", cloudflare);
    lab.applied(&[set(json!({"comment": "first", "tags": ["team:web"]}))]).await;
    lab.want(&[set(
        json!({"comment": "second", "tags": ["team:dns"], "proxied": true, "settings": {"ipv4Only": true}}),
    )]);
    for (format, words) in [
        (
            "text",
            [
                "proxied false -> true",
                "tags team:web -> team:dns",
                "comment \"first\" -> \"second\"",
                "ipv4Only false -> true",
            ],
        ),
        ("markdown", ["proxied", "tags team:web", "comment \"second\"", "ipv4Only"]),
        ("json", ["\"proxied\": true", "team:dns", "\"comment\": \"second\"", "\"ipv4Only\": true"]),
    ] {
        let run = lab.call("plan").args(&["-o", format]).run().await.exits(2);
        for word in words {
            assert!(run.stdout.contains(word), "{format} lacks {word}: {run}");
        }
    }
    // Nothing but the comment: that is no marker.
    lab.want(&[set(json!({"comment": "second", "tags": ["team:web"]}))]);
    let run = lab.plan().await.exits(2);
    assert!(run.stdout.contains("~ www A 192.0.2.1 (comment \"first\" -> \"second\")"), "{run}");
    assert_eq!(lab.plan_json().await["zones"][0]["changes"][0]["markerOnly"], false);
}
