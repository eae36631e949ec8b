//! Annotations of cloudflare-operator, as its users know them.

use serde_json::{Value, json};

use super::{accept, gateway, http_route, ingress, read_as, route, stays, told};
use crate::support::{Lab, Manifest, address_source, plane};

const PREFIX: &str = "cloudflare-operator.io/";

async fn lab_with(name: &str, kinds: &[&str]) -> Lab<'static> {
    plane::with_published_definitions().await;
    let lab = Lab::ready_to_run(name).await;
    lab.apply(&read_as(&lab, json!({"kinds": kinds, "dialects": ["cloudflare-operator"]}))).await;
    lab.run();
    lab.wait_ready("DNSZone", "zone").await;
    lab
}

fn annotated(manifest: Manifest, annotations: &[(&str, &str)]) -> Manifest {
    annotations
        .iter()
        .fold(manifest, |manifest, (key, value)| manifest.annotated(&format!("{PREFIX}{key}"), value))
}

#[tokio::test]
async fn cases_33_to_36_an_annotated_ingress_is_published_until_its_annotations_go() {
    let lab = lab_with("co-ingress", &["Ingress"]).await;
    let web = || ingress(&lab, "web", &["www", "shop"]);
    // 34: without content and ip-ref it is nobody's business.
    lab.apply(&annotated(web(), &[("proxied", "false")])).await;
    lab.scan().await;
    assert_eq!(lab.contents(), [""; 0]);
    lab.apply(&annotated(web(), &[("content", "192.0.2.1"), ("proxied", "false")])).await;
    lab.wait_contents(&["shop A 192.0.2.1", "www A 192.0.2.1"]).await;
    stays(&lab, &["shop A 192.0.2.1", "www A 192.0.2.1"]).await;
    lab.apply(&web()).await;
    lab.wait_contents(&[]).await;
}

#[tokio::test]
async fn cases_37_38_and_40_what_is_changed_by_hand_is_restored() {
    let lab = lab_with("co-drift", &["Ingress"]).await;
    // 40: proxied is its default, and has an automatic TTL.
    lab.apply(&annotated(ingress(&lab, "web", &["www"]), &[("content", "192.0.2.1"), ("ttl", "120")])).await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    let record = lab.record("www", "A");
    assert_eq!((&record["proxied"], &record["ttl"]), (&json!(true), &json!(1)));
    lab.sim.edit(&lab.zone, &lab.id_of("www", "A"), json!({"content": "203.0.113.9"}));
    lab.scan().await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    told(&lab, "Ingress", "web", "DriftReverted").await;
    lab.sim.remove(&lab.zone, &lab.id_of("www", "A"));
    lab.scan().await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
}

#[tokio::test]
async fn ip_ref_is_an_address_source_of_that_name() {
    let lab = lab_with("co-ip", &["Ingress"]).await;
    lab.apply(&address_source("home", json!({"static": ["192.0.2.4"]}))).await;
    lab.apply(&annotated(ingress(&lab, "web", &["www"]), &[("ip-ref", "home")])).await;
    lab.wait_contents(&["www A 192.0.2.4"]).await;
    lab.patch("AddressSource", "home", json!({"spec": {"static": ["192.0.2.5"]}})).await;
    lab.wait_contents(&["www A 192.0.2.5"]).await;
}

#[tokio::test]
async fn cases_41_and_42_routes_like_ingresses_whatever_else_is_missing() {
    let lab = lab_with("co-routes", &["HTTPRoute", "TLSRoute", "GRPCRoute", "Ingress"]).await;
    lab.apply(&gateway("edge")).await;
    let content: &[(&str, &str)] = &[("content", "lb.example.net"), ("proxied", "false")];
    let hosts = |host: &str| -> Value { json!([lab.at(host)]) };
    for (kind, host) in [("HTTPRoute", "http"), ("GRPCRoute", "grpc"), ("TLSRoute", "tls")] {
        lab.apply(&annotated(route(kind, "one", "edge").with("hostnames", hosts(host)), content)).await;
    }
    lab.apply(&http_route(&lab, "plain", "edge", &["plain"])).await;
    accept(&lab, "HTTPRoute", "plain", true).await;
    lab.wait_contents(&[
        "grpc CNAME lb.example.net",
        "http CNAME lb.example.net",
        "tls CNAME lb.example.net",
    ])
    .await;
    lab.apply(&route("TLSRoute", "one", "edge").with("hostnames", hosts("tls"))).await;
    lab.wait_contents(&["grpc CNAME lb.example.net", "http CNAME lb.example.net"]).await;
}
