//! The hash of a plan: what it depends on, and what `apply --plan-hash` does with it.

use crate::support::{Lab, Manifest, records, zone};

fn hosts(count: usize) -> Vec<Manifest> {
    (0..count).map(|n| records(&format!("n{n}.example.com"), "A", &["192.0.2.1"])).collect()
}

async fn hash(lab: &Lab) -> String {
    lab.plan_json().await["hash"].as_str().expect("a hash").to_owned()
}

#[tokio::test]
async fn the_hash_depends_on_the_plan_alone() {
    let lab = Lab::start().await;
    lab.want(&hosts(3));
    let first = hash(&lab).await;
    assert_eq!(hash(&lab).await, first, "between runs");

    lab.folder.remove("records.yaml");
    let mut reversed = hosts(3);
    reversed.reverse();
    lab.folder.put("a/b/other.json", &reversed[..1]);
    lab.folder.put("zz.yml", &reversed[1..]);
    assert_eq!(hash(&lab).await, first, "over files and their order");

    lab.folder.put("zz.yml", &[hosts(3)[0].clone(), records("n1.example.com", "A", &["192.0.2.9"])]);
    let other = hash(&lab).await;
    assert_ne!(other, first, "another value");
    lab.folder.put("zz.yml", &[hosts(3)[0].clone(), hosts(3)[1].clone().with("ttl", 300)]);
    assert_ne!(hash(&lab).await, first, "another ttl");
    assert_ne!(hash(&lab).await, other);
}

#[tokio::test]
async fn the_same_changes_in_another_zone_have_another_hash() {
    let lab = Lab::start().await;
    lab.sim.zone("example.net", cloudflare_sim::Plan::Free);
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    let first = hash(&lab).await;
    lab.declare(zone("example.net"));
    lab.want(&[records("www.example.net", "A", &["192.0.2.1"])]);
    assert_ne!(hash(&lab).await, first);
}

#[tokio::test]
async fn a_wrong_hash_applies_nothing() {
    let lab = Lab::start().await;
    lab.want(&hosts(2));
    let run = lab.call("apply").args(&["--plan-hash", "0123456789abcdef"]).run().await.exits(1);
    let run = run.says("nothing was applied").says(&hash(&lab).await);
    assert!(run.stdout.contains("+ n0 A"), "{run}");
    assert_eq!(lab.sim.writes(), 0);
}

#[tokio::test]
async fn a_hash_of_yesterday_is_a_wrong_hash() {
    let lab = Lab::start().await;
    lab.want(&hosts(2));
    let yesterday = hash(&lab).await;
    lab.seed("A", "n1", "192.0.2.1");
    lab.call("apply").args(&["--plan-hash", &yesterday]).run().await.exits(1);
    assert_eq!(lab.sim.writes(), 0);
}

#[tokio::test]
async fn the_right_hash_applies_the_plan_and_releases_what_it_holds() {
    let lab = Lab::start().await;
    lab.applied(&hosts(12)).await;
    lab.want(&[hosts(1), vec![records("new.example.com", "A", &["192.0.2.3"])]].concat());
    lab.apply().await.exits(2);
    assert_eq!(lab.contents().len(), 13, "the create goes on, eleven deletes are held");
    lab.approve().await.exits(0);
    assert_eq!(lab.contents(), ["n0.example.com A 192.0.2.1", "new.example.com A 192.0.2.3"]);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn the_right_hash_of_a_plan_that_holds_nothing_applies_it() {
    let lab = Lab::start().await;
    lab.want(&hosts(2));
    lab.approve().await.exits(0);
    assert_eq!(lab.contents().len(), 2);
}

#[tokio::test]
async fn one_hash_releases_several_zones() {
    let lab = Lab::start().await;
    let other = lab.sim.zone("example.net", cloudflare_sim::Plan::Free);
    lab.folder.put("other.yaml", &[zone("example.net")]);
    let also: Vec<_> = (0..5).map(|n| records(&format!("n{n}.example.net"), "A", &["192.0.2.1"])).collect();
    lab.applied(&[hosts(5), also].concat()).await;
    lab.want(&hosts(1));
    lab.apply().await.exits(2);
    assert_eq!((lab.contents().len(), lab.contents_of(&other).len()), (5, 5));
    lab.approve().await.exits(0);
    assert_eq!((lab.contents().len(), lab.contents_of(&other).len()), (1, 0));
}

/// What `apply --plan-hash` says to a hash that was shown under other flags or another registry.
async fn is_refused(lab: &Lab, reviewed: &str, flags: &[&str]) {
    let run = lab.call("apply").args(&["--plan-hash", reviewed]).args(flags).run().await;
    run.exits(1).says("the plan has changed");
    assert_eq!(lab.sim.writes(), 0);
}

#[tokio::test]
async fn a_plan_that_was_reviewed_under_one_owner_id_is_not_applied_under_another() {
    let lab = Lab::start().await;
    lab.want(&hosts(2));
    lab.folder.put("provider.yaml", &[lab.provider().with("registry", serde_json::json!({}))]);
    let plan = lab.call("plan").args(&["--owner-id", "one", "-o", "json"]).run().await.json();
    let reviewed = plan["hash"].as_str().expect("a hash").to_owned();
    is_refused(&lab, &reviewed, &["--owner-id", "two"]).await;
    // The same id from the manifest is the same plan.
    lab.folder.put("provider.yaml", &[lab.provider().with("registry.ownerID", "one")]);
    assert_eq!(hash(&lab).await, reviewed);
    lab.folder.put("provider.yaml", &[lab.provider().with("registry.ownerID", "three")]);
    is_refused(&lab, &reviewed, &[]).await;
    lab.folder.put("provider.yaml", &[lab.provider().with("registry.ownerID", "one")]);
    lab.call("apply").args(&["--plan-hash", &reviewed]).run().await.exits(0);
}

#[tokio::test]
async fn a_plan_that_was_reviewed_under_one_registry_is_not_applied_under_another() {
    let lab = Lab::start().await;
    lab.want(&hosts(2));
    let key = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(key.path(), "a key of some length").expect("a file");
    let flags = ["--marker-key-file", key.path().to_str().expect("UTF-8")];
    let registries = [
        serde_json::json!({"ownerID": "one"}),
        serde_json::json!({"ownerID": "one", "takeOverFrom": ["two"]}),
        serde_json::json!({"ownerID": "one", "type": "TXT"}),
        serde_json::json!({"ownerID": "one", "type": "TXT", "txt": {"prefix": "x-"}}),
        serde_json::json!({"ownerID": "one", "type": "TXT", "txt": {"suffix": "-x"}}),
        serde_json::json!({"ownerID": "one", "type": "TXT", "txt": {"wildcardReplacement": "any"}}),
        serde_json::json!({"ownerID": "one", "type": "TXT", "txt": {"signed": true}}),
    ];
    let mut hashes = std::collections::BTreeMap::new();
    for registry in &registries {
        lab.folder.put("provider.yaml", &[lab.provider().with("registry", registry.clone())]);
        let plan = lab.call("plan").args(&flags).args(&["-o", "json"]).run().await.json();
        let hash = plan["hash"].as_str().expect("a hash").to_owned();
        if let Some(other) = hashes.insert(hash, registry) {
            panic!("{registry} and {other} have the same hash");
        }
    }
    // Signed or not is another plan, too.
    lab.folder.put("provider.yaml", &[lab.provider().with("registry", registries[0].clone())]);
    assert!(!hashes.contains_key(&hash(&lab).await));
    is_refused(&lab, hashes.keys().next().expect("a hash"), &[]).await;
}
