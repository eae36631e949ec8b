//! Records that are not ours: never touched, unless a RecordSet asks for them by name.

use serde_json::{Value, json};

use crate::support::{Lab, Manifest, records, zone};

fn www(address: &str) -> Manifest {
    records("www.example.com", "A", &[address])
}

#[tokio::test]
async fn what_nobody_claimed_is_never_touched() {
    let lab = Lab::start().await;
    lab.seed("A", "hand", "192.0.2.50");
    lab.seed("TXT", "_acme-challenge", "\"token\"");
    lab.seed("CNAME", "mail", "mx.example.net");
    let before = lab.sim.records(&lab.zone);
    lab.applied(&[www("192.0.2.1")]).await;
    lab.folder.remove("records.yaml");
    lab.apply().await.exits(0);
    assert_eq!(lab.sim.records(&lab.zone), before);
}

#[tokio::test]
async fn an_identical_record_is_adopted_and_not_duplicated() {
    let lab = Lab::start().await;
    let id = lab.seed("A", "www", "192.0.2.1");
    lab.applied(&[www("192.0.2.1")]).await;
    let found = lab.records("www.example.com", "A");
    assert_eq!((found.len(), &found[0]["id"]), (1, &json!(id)));
    lab.folder.remove("records.yaml");
    lab.apply().await.exits(0);
    assert!(lab.contents().is_empty(), "adopted is ours");
}

#[tokio::test]
async fn identical_means_ttl_and_proxied_too() {
    let lab = Lab::start().await;
    lab.seed("A", "www", "192.0.2.1");
    lab.want(&[www("192.0.2.1").with("ttl", 300)]);
    lab.apply().await.exits(1).says("AdoptionRefused").says("ttl");
    lab.want(&[www("192.0.2.1").with("cloudflare.proxied", true)]);
    lab.apply().await.exits(1).says("AdoptionRefused").says("proxied");
    assert_eq!(lab.sim.writes(), 0);
}

#[tokio::test]
async fn a_foreign_value_stays_beside_ours() {
    let lab = Lab::start().await;
    lab.seed("A", "www", "192.0.2.50");
    lab.applied(&[www("192.0.2.1")]).await;
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1", "192.0.2.50"]);
    lab.folder.remove("records.yaml");
    lab.apply().await.exits(0);
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.50"]);
}

#[tokio::test]
async fn never_means_never() {
    let lab = Lab::start().await;
    lab.seed("A", "www", "192.0.2.1");
    lab.want(&[www("192.0.2.1").with("adoption", "Never")]);
    lab.apply().await.exits(1).says("AdoptionRefused").says("Never");
    assert_eq!(lab.sim.writes(), 0);
}

#[tokio::test]
async fn force_claims_the_set_and_names_no_other() {
    let lab = Lab::start().await;
    lab.seed("A", "www", "192.0.2.50");
    lab.seed("A", "hand", "192.0.2.51");
    lab.applied(&[www("192.0.2.1").with("adoption", "Force")]).await;
    assert_eq!(lab.contents(), ["hand.example.com A 192.0.2.51", "www.example.com A 192.0.2.1"]);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_foreign_cname_is_refused_and_forced_only_when_asked() {
    let lab = Lab::start().await;
    lab.seed("CNAME", "www", "web.example.net");
    let cname = records("www.example.com", "CNAME", &["other.example.net"]);
    lab.want(std::slice::from_ref(&cname));
    lab.apply().await.exits(1).says("AdoptionRefused");
    lab.want(&[www("192.0.2.1")]);
    lab.apply().await.exits(1).says("AdoptionRefused");
    assert_eq!(lab.contents(), ["www.example.com CNAME web.example.net"]);
    lab.applied(&[cname.with("adoption", "Force")]).await;
    assert_eq!(lab.contents(), ["www.example.com CNAME other.example.net"]);
}

#[tokio::test]
async fn another_owners_records_are_safe_from_everything() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    lab.folder.put("provider.yaml", &[lab.provider().with("registry.ownerID", "another")]);
    let before: Vec<Value> = lab.sim.records(&lab.zone);
    let writes = lab.sim.writes();
    lab.want(&[www("192.0.2.1").with("adoption", "Force")]);
    lab.apply().await.exits(1).says("AdoptionRefused");
    lab.folder.remove("records.yaml");
    lab.declare(
        zone("example.com")
            .with("prune", json!({"mode": "All"}))
            .with("guard", json!({"maxDeletePercent": 100})),
    );
    lab.apply().await.exits(0);
    assert_eq!((lab.sim.records(&lab.zone), lab.sim.writes()), (before, writes));
}

#[tokio::test]
async fn what_was_another_owners_is_ours_once_it_is_taken_over() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    let registry = json!({"ownerID": "another", "takeOverFrom": ["folder"]});
    lab.folder.put("provider.yaml", &[lab.provider().with("registry", registry)]);
    lab.apply().await.exits(0).says("ownership marker only");
    lab.folder.put("provider.yaml", &[lab.provider().with("registry", json!({"ownerID": "another"}))]);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn records_that_cloudflare_manages_are_left_alone() {
    let lab = Lab::start().await;
    lab.sim.seed_read_only(&lab.zone, json!({"type": "A", "name": "www", "content": "192.0.2.1"}));
    lab.want(&[www("192.0.2.1").with("adoption", "Force"), records("api.example.com", "A", &["192.0.2.1"])]);
    lab.apply().await.exits(1).says("AdoptionRefused");
    assert_eq!(lab.comments("www.example.com", "A"), [""]);
    assert_eq!(lab.contents().len(), 2);
}
