//! Which zone a record goes to.

use cloudflare_sim::Plan;
use serde_json::json;

use crate::support::{Lab, Manifest, lab::rejections, provider, records, secret, zone};

fn relative(name: &str) -> Manifest {
    records("x", "A", &["192.0.2.1"]).without("name").with("relativeName", name).named("relative")
}

#[tokio::test]
async fn the_longest_domain_wins_on_label_boundaries() {
    let lab = Lab::start().await;
    let longer = lab.sim.zone("tst.example.com", Plan::Free);
    lab.folder.put("longer.yaml", &[zone("tst.example.com")]);
    lab.applied(
        &["a.tst.example.com", "tst.example.com", "atst.example.com", "a.example.com"]
            .map(|name| records(name, "A", &["192.0.2.1"])),
    )
    .await;
    assert_eq!(lab.contents(), ["a.example.com A 192.0.2.1", "atst.example.com A 192.0.2.1"]);
    assert_eq!(lab.contents_of(&longer), ["a.tst.example.com A 192.0.2.1", "tst.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn a_name_outside_every_zone_is_refused_without_a_write() {
    let lab = Lab::start().await;
    lab.want(&["www.example.net", "badexample.com"].map(|name| records(name, "A", &["192.0.2.1"])));
    let run = lab.apply().await.exits(1);
    assert_eq!(run.stdout.matches("NoMatchingZone").count(), 2, "{run}");
    assert_eq!(lab.sim.writes(), 0);
}

#[tokio::test]
async fn zone_refs_are_the_whole_list() {
    let lab = Lab::start().await;
    let longer = lab.sim.zone("tst.example.com", Plan::Free);
    lab.folder.put("longer.yaml", &[zone("tst.example.com")]);
    let pinned =
        |zones: serde_json::Value| records("a.tst.example.com", "A", &["192.0.2.1"]).with("zoneRefs", zones);
    lab.applied(&[pinned(json!([{"name": "example-com"}]))]).await;
    assert_eq!((lab.contents().len(), lab.contents_of(&longer).len()), (1, 0));
    lab.want(&[pinned(json!([{"name": "example-com"}, {"name": "missing"}]))]);
    lab.apply().await.exits(1).says("RefNotFound").says("missing");
    lab.want(&[
        records("www.example.net", "A", &["192.0.2.1"]).with("zoneRefs", json!([{"name": "example-com"}]))
    ]);
    lab.apply().await.exits(1).says("NoMatchingZone");
}

#[tokio::test]
async fn a_relative_name_is_completed_in_each_zone() {
    let lab = Lab::start().await;
    let other = lab.sim.zone("example.net", Plan::Free);
    lab.folder.put("other.yaml", &[zone("example.net")]);
    let both = json!([{"name": "example-com"}, {"namespace": "default", "name": "example-net"}]);
    lab.applied(&[
        relative("www").with("zoneRefs", both.clone()),
        relative("@").with("zoneRefs", both).named("apex"),
    ])
    .await;
    assert_eq!(lab.contents(), ["example.com A 192.0.2.1", "www.example.com A 192.0.2.1"]);
    assert_eq!(lab.contents_of(&other), ["example.net A 192.0.2.1", "www.example.net A 192.0.2.1"]);
    lab.want(&[relative("www")]);
    lab.apply().await.exits(1).says("NoMatchingZone").says("relativeName");
}

#[tokio::test]
async fn labels_bring_a_record_to_several_zones() {
    let lab = Lab::start().await;
    let other = lab.sim.zone("example.net", Plan::Free);
    let from = json!([{"selector": {"matchLabels": {"everywhere": "true"}}}]);
    lab.declare(zone("example.com").with("recordsFrom", from.clone()));
    lab.folder.put("other.yaml", &[zone("example.net").with("recordsFrom", from)]);
    lab.applied(&[relative("www").labelled("everywhere", "true")]).await;
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
    assert_eq!(lab.contents_of(&other), ["www.example.net A 192.0.2.1"]);
    lab.want(&[relative("www").labelled("everywhere", "false")]);
    lab.apply().await.exits(1).says("NoMatchingZone");
    assert_eq!(lab.contents().len(), 1, "refused, so it keeps what it has");
}

#[tokio::test]
async fn one_zones_refusal_stops_no_other_zone() {
    let lab = Lab::start().await;
    lab.sim.zone("example.net", Plan::Free);
    lab.folder
        .put("other.yaml", &[zone("example.net").with("names", json!({"include": ["only.example.net"]}))]);
    lab.want(&[relative("www").with("zoneRefs", json!([{"name": "example-com"}, {"name": "example-net"}]))]);
    lab.apply().await.exits(1).says("NotAllowed");
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn an_explicit_zone_takes_only_what_names_it() {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("selection", "Explicit"));
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.apply().await.exits(1).says("NoMatchingZone");
    lab.applied(&[
        records("www.example.com", "A", &["192.0.2.1"]).with("zoneRefs", json!([{"name": "example-com"}]))
    ])
    .await;
    assert_eq!(lab.contents().len(), 1);
}

/// Two providers that both have example.com.
async fn split_horizon() -> (Lab, Lab) {
    let (outside, inside) = (Lab::start().await, Lab::start().await);
    let second =
        provider(&inside.sim.base_url()).named("inside").with("cloudflare.apiTokenSecretRef.name", "inside");
    outside.folder.put("second.yaml", &[second, secret("inside", "apiToken", &inside.token)]);
    outside.declare(zone("example.com").with("providerRef", json!({"name": "cloudflare"})));
    (outside, inside)
}

#[tokio::test]
async fn two_zones_of_one_domain_at_two_providers_are_ambiguous() {
    let (lab, inside) = split_horizon().await;
    let other = |selection: &str| {
        zone("example.com")
            .named("inside")
            .with("providerRef", json!({"name": "inside"}))
            .with("selection", selection)
    };
    lab.folder.put("inside.yaml", &[other("Any")]);
    let internal = records("www.example.com", "A", &["192.0.2.9"])
        .named("internal")
        .with("zoneRefs", json!([{"name": "inside"}]));
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"]), internal]);
    lab.apply().await.exits(1).says("AmbiguousZone").says("default/example-com and default/inside");
    assert_eq!((lab.contents().len(), inside.contents().len()), (0, 1), "who names a zone goes on");
    lab.folder.put("inside.yaml", &[other("Explicit")]);
    lab.apply().await.exits(0);
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
    assert_eq!(inside.contents(), ["www.example.com A 192.0.2.9"]);
}

#[tokio::test]
async fn a_domain_at_two_providers_has_its_records_at_both_if_both_zones_say_all() {
    let (lab, second) = split_horizon().await;
    let both = |first: &str| {
        let zone = |name: &str, provider: &str, selection: &str| {
            let reference = json!({"name": provider});
            zone("example.com").named(name).with("providerRef", reference).with("selection", selection)
        };
        lab.folder.put("zone.yaml", &[zone("example-com", "cloudflare", first)]);
        lab.folder.put("inside.yaml", &[zone("inside", "inside", "All")]);
    };
    let www = records("www.example.com", "A", &["192.0.2.1"]);
    for first in ["Any", "All"] {
        both(first);
        lab.applied(std::slice::from_ref(&www)).await;
        for contents in [lab.contents(), second.contents()] {
            assert_eq!(contents, ["www.example.com A 192.0.2.1"], "{first}");
        }
    }
    lab.want(&[records("other.example.com", "A", &["192.0.2.1"])]);
    lab.apply().await.exits(0);
    assert_eq!(
        (lab.contents(), second.contents()),
        (vec!["other.example.com A 192.0.2.1".into()], lab.contents())
    );
}

#[tokio::test]
async fn the_second_zone_of_a_domain_is_a_duplicate_and_the_first_goes_on() {
    let lab = Lab::start().await;
    lab.folder.put("again.yaml", &[zone("Example.COM.").named("zz-again")]);
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.apply().await.exits(1).says("DuplicateZone").says("default/zz-again").says("default/example-com");
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
    let plan = lab.plan_json().await;
    assert_eq!(rejections(&plan), ["dnszone/default/zz-again: DuplicateZone"]);
    assert_eq!(plan["zones"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn several_providers_need_a_reference() {
    let lab = Lab::start().await;
    lab.folder.put("second.yaml", &[lab.provider().named("second")]);
    lab.plan().await.exits(1).says("spec.providerRef").says("cloudflare, second");
    lab.declare(zone("example.com").with("providerRef", json!({"name": "third"})));
    lab.plan().await.exits(1).says("RefNotFound").says("third");
    lab.declare(zone("example.com").with("providerRef", json!({"name": "second"})));
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_zone_that_is_not_at_the_provider_stops_no_other() {
    let lab = Lab::start().await;
    lab.folder.put("other.yaml", &[zone("example.net")]);
    lab.want(&[
        records("www.example.com", "A", &["192.0.2.1"]),
        records("www.example.net", "A", &["192.0.2.1"]),
    ]);
    lab.apply().await.exits(1).says("ZoneNotFound");
    assert_eq!(lab.contents().len(), 1);
    lab.sim.zone("example.net", Plan::Free);
    lab.apply().await.exits(0);
}

#[tokio::test]
async fn international_names_are_one_name_in_every_spelling() {
    let lab = Lab::start().await;
    lab.applied(&[records("bücher.example.com", "A", &["192.0.2.1"]).named("books")]).await;
    assert_eq!(lab.contents().len(), 1);
    lab.want(&[records("XN--BCHER-KVA.example.com.", "A", &["192.0.2.1"]).named("books")]);
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 1);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_record_moves_to_a_newer_longer_zone_only_by_approval() {
    let lab = Lab::start().await;
    lab.applied(&[records("a.tst.example.com", "A", &["192.0.2.1"])]).await;
    let longer = lab.sim.zone("tst.example.com", Plan::Free);
    lab.folder.put("longer.yaml", &[zone("tst.example.com")]);
    lab.apply().await.exits(2);
    assert_eq!(lab.contents(), ["a.tst.example.com A 192.0.2.1"], "the old zone keeps it");
    lab.approve().await.exits(0);
    assert!(lab.contents().is_empty());
    assert_eq!(lab.contents_of(&longer), ["a.tst.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn a_second_way_to_the_same_zone_is_a_duplicate_too() {
    let lab = Lab::start().await;
    let again = zone("example.com").named("zz-again").with("providerRef", json!({"name": "second"}));
    lab.folder.put("second.yaml", &[lab.provider().named("second"), again.with("selection", "Explicit")]);
    lab.declare(zone("example.com").with("providerRef", json!({"name": "cloudflare"})));
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.apply().await.exits(1).says("dnszone default/zz-again: DuplicateZone");
    lab.apply().await.exits(1);
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"], "two holders of one owner id would fight");
}
