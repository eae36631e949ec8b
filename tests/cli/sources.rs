//! Source objects in a folder are published as the operator would, if a zone reads them.

use cloudflare_sim::{Action, Fault, Match, Plan, Scope};
use serde_json::{Value, json};

use crate::support::{
    Lab, Manifest,
    lab::{changes, rejections},
    records,
    up::until,
    zone,
};

const TARGET: &str = "zonekeeper.dev/target";

/// An Ingress with a host, and no address.
fn ingress(name: &str, hosts: &[&str]) -> Manifest {
    let rules: Vec<Value> = hosts.iter().map(|host| json!({"host": host})).collect();
    Manifest(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name},
        "spec": {"rules": rules},
    }))
}

fn with_address(mut ingress: Manifest, address: &str) -> Manifest {
    ingress.0["status"] = json!({"loadBalancer": {"ingress": [{"ip": address}]}});
    ingress
}

/// A zone example.com that reads source objects.
async fn reading() -> Lab {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("sources", json!({})));
    lab
}

#[tokio::test]
async fn an_ingress_with_an_address_or_a_target_is_published() {
    let lab = reading().await;
    let web = with_address(ingress("web", &["www.example.com"]), "192.0.2.1");
    let shop = ingress("shop", &["shop.example.com"]).annotated(TARGET, "lb.example.net");
    lab.applied(&[web, shop]).await.never_says("skipped");
    assert_eq!(lab.contents(), ["shop.example.com CNAME lb.example.net", "www.example.com A 192.0.2.1"]);
    assert!(lab.comments("www.example.com", "A")[0].contains("ingress/default/web"));
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn an_ingress_without_an_address_says_so_and_keeps_its_record() {
    let lab = reading().await;
    lab.applied(&[with_address(ingress("web", &["www.example.com"]), "192.0.2.1")]).await;
    lab.want(&[ingress("web", &["www.example.com"])]);
    let plan = lab.plan_json().await;
    assert!(changes(&plan).is_empty(), "{plan}");
    assert_eq!(rejections(&plan), ["ingress/default/web: TargetsUnknown"]);
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1"]);
}

#[tokio::test]
async fn what_leaves_the_folder_goes_and_what_a_zone_reads_no_more_is_held() {
    let lab = reading().await;
    let both = [
        with_address(ingress("web", &["www.example.com", "old.example.com"]), "192.0.2.1"),
        with_address(ingress("api", &["api.example.com"]), "192.0.2.2"),
    ];
    lab.applied(&both).await;
    let web = with_address(ingress("web", &["www.example.com"]), "192.0.2.1");
    lab.applied(std::slice::from_ref(&web)).await;
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"], "a host and an object that are gone");
    for narrowed in
        [json!({"kinds": ["Service"]}), json!({"labelSelector": {"matchLabels": {"a": "b"}}}), Value::Null]
    {
        lab.declare(zone("example.com").with("sources", narrowed.clone()));
        lab.apply().await.exits(2).says("www A 192.0.2.1");
        assert_eq!(
            lab.values("www.example.com", "A"),
            ["192.0.2.1"],
            "{narrowed}: nobody deleted the Ingress"
        );
    }
    lab.approve().await.exits(0);
    assert!(lab.contents().is_empty(), "a person approved it");
}

#[tokio::test]
async fn a_longer_zone_that_reads_no_objects_takes_no_record_away() {
    let lab = reading().await;
    lab.applied(&[with_address(ingress("web", &["www.team.example.com"]), "192.0.2.1")]).await;
    lab.sim.zone("team.example.com", Plan::Free);
    lab.folder.put("longer.yaml", &[zone("team.example.com")]);
    lab.apply().await.exits(2).says("www.team A 192.0.2.1");
    assert_eq!(lab.contents(), ["www.team.example.com A 192.0.2.1"], "the Ingress still names its host");
}

#[tokio::test]
async fn without_sources_objects_are_skipped_with_a_note() {
    let lab = Lab::start().await;
    let www = records("www.example.com", "A", &["192.0.2.9"]);
    let run = lab.applied(&[www, with_address(ingress("web", &["web.example.com"]), "192.0.2.1")]).await;
    run.says("networking.k8s.io/v1 Ingress is skipped; no DNSZone has spec.sources");
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.9"]);
}

#[tokio::test]
async fn a_route_takes_the_addresses_of_its_gateway() {
    let lab = reading().await;
    let group = "gateway.networking.k8s.io/v1";
    let gateway = Manifest(json!({
        "apiVersion": group, "kind": "Gateway", "metadata": {"name": "edge"},
        "spec": {"gatewayClassName": "any", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
        "status": {"addresses": [{"type": "IPAddress", "value": "192.0.2.7"}]},
    }));
    let route = Manifest(json!({
        "apiVersion": group, "kind": "HTTPRoute", "metadata": {"name": "web"},
        "spec": {"hostnames": ["www.example.com"], "parentRefs": [{"name": "edge"}]},
        "status": {"parents": [{"parentRef": {"name": "edge"}, "conditions": [{"type": "Accepted", "status": "True"}]}]},
    }));
    lab.applied(&[gateway, route]).await;
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.7"]);
}

#[tokio::test]
async fn a_bad_annotation_is_named_with_its_place_and_stops_no_other_object() {
    let lab = reading().await;
    let web = with_address(ingress("web", &["www.example.com"]), "192.0.2.1");
    let api = with_address(ingress("api", &["api.example.com"]), "192.0.2.2")
        .annotated("zonekeeper.dev/ttl", "soon");
    lab.want(&[web, api]);
    lab.apply().await.exits(1).says("records.yaml:3: ").says("zonekeeper.dev/ttl");
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1"]);
}

#[tokio::test]
async fn an_object_that_is_there_twice_or_can_not_be_read_is_an_error() {
    let lab = reading().await;
    let web = with_address(ingress("web", &["www.example.com"]), "192.0.2.1");
    lab.want(&[web.clone(), web]);
    lab.apply().await.exits(1).says("Ingress default/web is declared a second time");
    lab.want(&[ingress("web", &[]).with("rules", "none")]);
    lab.apply().await.exits(1).says("records.yaml:1: ");
    assert_eq!(lab.sim.requests(), 0, "no call");
}

#[tokio::test]
async fn two_namespaces_do_not_share_a_name() {
    let lab = Lab::start().await;
    let grants = json!([{"namespaces": {"from": "All"}}]);
    lab.declare(zone("example.com").with("sources", json!({})).with("allowedRecords", grants));
    let web = with_address(ingress("web", &["www.example.com"]), "192.0.2.1");
    let taker = with_address(ingress("web", &["www.example.com"]), "192.0.2.66").in_namespace("other");
    lab.want(&[web, taker]);
    lab.apply().await.exits(1).says("ingress other/web: Conflict");
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1"]);
}

#[tokio::test]
async fn zones_are_worked_on_at_the_same_time() {
    let lab = Lab::start().await;
    let other = lab.sim.zone("example.org", Plan::Free);
    lab.folder.put("other.yaml", &[zone("example.org"), records("www.example.org", "A", &["192.0.2.2"])]);
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    let listings = Match { scope: Scope::Listings, ..Match::default() };
    lab.sim.faults(vec![Fault::new(listings, Action::Hold)]);
    let apply = lab.apply();
    let release = async {
        let held = || format!("{} requests wait", lab.sim.held());
        until("both zones are being listed", held, async || lab.sim.held() == 2).await;
        lab.sim.faults(Vec::new());
        lab.sim.release();
    };
    let (run, ()) = tokio::join!(apply, release);
    run.exits(0);
    assert_eq!(lab.contents_of(&other), ["www.example.org A 192.0.2.2"]);
}
