//! Objects that are refused: they keep what they have, others go on, and the exit code says so.

use serde_json::json;

use crate::support::{Lab, Manifest, address_source, lab::rejections, records};

fn www(address: &str) -> Manifest {
    records("www.example.com", "A", &[address]).named("www")
}

/// Applies a good version of `www`, then this one beside a new record.
async fn after(changed: Manifest, more: &[Manifest]) -> Lab {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    let new = records("new.example.com", "A", &["192.0.2.7"]);
    lab.want(&[&[changed, new], more].concat());
    lab
}

async fn keeps_its_record(lab: &Lab, reason: &str) {
    lab.plan().await.exits(1).says(reason);
    lab.apply().await.exits(1).says(reason);
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1"], "the refused object keeps what it has");
    assert_eq!(lab.values("new.example.com", "A"), ["192.0.2.7"], "the other goes on");
}

#[tokio::test]
async fn a_bad_value_keeps_the_record() {
    let bad = records("www.example.com", "MX", &["not a number"]).named("www");
    let lab = after(bad, &[]).await;
    keeps_its_record(&lab, "InvalidValue").await;
    lab.plan().await.says("spec.values[0]").says("records.yaml:1");
}

#[tokio::test]
async fn a_name_without_a_zone_keeps_the_record() {
    let lab = after(records("www.example.net", "A", &["192.0.2.1"]).named("www"), &[]).await;
    keeps_its_record(&lab, "NoMatchingZone").await;
}

#[tokio::test]
async fn an_address_source_that_is_not_there_keeps_the_record() {
    let sourced =
        www("x").without("values").with("valuesFrom", json!([{"addressSourceRef": {"name": "home"}}]));
    let lab = after(sourced, &[]).await;
    keeps_its_record(&lab, "RefNotFound").await;
}

#[tokio::test]
async fn an_address_source_without_the_right_family_keeps_the_record() {
    let sourced =
        www("x").without("values").with("valuesFrom", json!([{"addressSourceRef": {"name": "home"}}]));
    let lab = after(sourced, &[address_source("home", json!({"static": ["2001:db8::1"]}))]).await;
    keeps_its_record(&lab, "TargetsUnknown").await;
}

#[tokio::test]
async fn a_ttl_that_cloudflare_does_not_allow_keeps_the_record() {
    let lab = after(www("192.0.2.2").with("ttl", 5), &[]).await;
    keeps_its_record(&lab, "InvalidValue").await;
}

#[tokio::test]
async fn two_that_disagree_conflict_and_the_second_learns_who_was_first() {
    let lab = Lab::start().await;
    let first = records("www.example.com", "A", &["192.0.2.1"]).named("a").with("ttl", 300);
    let second = records("www.example.com", "A", &["192.0.2.2"]).named("b").with("ttl", 600);
    lab.want(&[second.clone(), first]);
    lab.apply()
        .await
        .exits(1)
        .says("recordset default/b: Conflict")
        .says("held by recordset default/a")
        .says("another ttl");
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1"]);
    lab.applied(&[second]).await;
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.2"], "the place is free again");
}

#[tokio::test]
async fn the_holder_of_a_name_keeps_it_against_an_earlier_name() {
    let lab = Lab::start().await;
    let holder = records("www.example.com", "A", &["192.0.2.2"]).named("z").with("ttl", 300);
    lab.applied(std::slice::from_ref(&holder)).await;
    let late = records("www.example.com", "A", &["192.0.2.1"]).named("a").with("ttl", 600);
    lab.want(&[late, holder]);
    lab.apply().await.exits(1).says("recordset default/a: Conflict");
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.2"]);
}

#[tokio::test]
async fn several_that_agree_form_one_set_and_leave_it_one_by_one() {
    let lab = Lab::start().await;
    let part = |name: &str, value: &str| records("www.example.com", "A", &[value]).named(name);
    lab.applied(&[part("a", "192.0.2.1"), part("b", "192.0.2.2"), part("c", "192.0.2.1")]).await;
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1", "192.0.2.2"]);
    lab.applied(&[part("c", "192.0.2.1")]).await;
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1"], "shared values stay while one wants them");
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_cname_beside_other_types_is_a_conflict() {
    let lab = Lab::start().await;
    lab.want(&[
        www("192.0.2.1").named("a"),
        records("www.example.com", "CNAME", &["x.example.net"]).named("b"),
    ]);
    lab.apply().await.exits(1).says("recordset default/b: Conflict").says("exclude each other");
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn two_different_cnames_conflict_and_equal_ones_do_not() {
    let lab = Lab::start().await;
    let cname = |name: &str, target: &str| records("www.example.com", "CNAME", &[target]).named(name);
    lab.applied(&[cname("a", "x.example.net"), cname("b", "X.example.net.")]).await;
    lab.want(&[cname("a", "x.example.net"), cname("b", "y.example.net")]);
    lab.apply().await.exits(1).says("recordset default/b: Conflict").says("another value");
    assert_eq!(lab.contents(), ["www.example.com CNAME x.example.net"]);
}

#[tokio::test]
async fn types_that_a_provider_lacks_are_refused_by_name() {
    let lab = Lab::start().await;
    lab.want(&[
        records("a.example.com", "DNAME", &["example.net"]),
        records("b.example.com", "TYPE65280", &["\\# 1 00"]),
    ]);
    let plan = lab.plan_json().await;
    let mut found = rejections(&plan);
    found.sort();
    assert_eq!(
        found,
        [
            "recordset/default/a-example-com-dname: InvalidValue",
            "recordset/default/b-example-com-type65280: InvalidValue"
        ]
    );
    lab.apply().await.exits(1);
    assert_eq!(lab.sim.writes(), 0);
}

#[tokio::test]
async fn each_refusal_is_reported_once() {
    let lab = Lab::start().await;
    lab.want(&[records("www.example.net", "A", &["192.0.2.1"])]);
    let run = lab.plan().await.exits(1);
    assert_eq!(run.stdout.matches("NoMatchingZone").count(), 1, "{run}");
    assert_eq!(rejections(&lab.plan_json().await).len(), 1);
}
