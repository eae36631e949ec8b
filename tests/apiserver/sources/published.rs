//! What objects ask for is published, followed and cleaned up.

use serde_json::{Value, json};

use super::{balance, ingress, lab_with, reading, service, told};
use crate::support::{Lab, Manifest, objects, plane};

#[tokio::test]
async fn an_ingress_is_published_followed_and_cleaned_up() {
    let lab = lab_with("ingress", &["Ingress"]).await;
    lab.apply(&ingress(&lab, "web", &["www", "shop"])).await;
    balance(&lab, "Ingress", "web", &["192.0.2.1", "192.0.2.2"]).await;
    lab.wait_contents(&["shop A 192.0.2.1", "shop A 192.0.2.2", "www A 192.0.2.1", "www A 192.0.2.2"]).await;
    let note = told(&lab, "Ingress", "web", "Programmed").await;
    assert!(note.contains(&lab.at("www")), "{note}");
    // A host that goes is the object's own word.
    lab.apply(&ingress(&lab, "web", &["www"])).await;
    lab.wait_contents(&["www A 192.0.2.1", "www A 192.0.2.2"]).await;
    balance(&lab, "Ingress", "web", &["192.0.2.3"]).await;
    lab.wait_contents(&["www A 192.0.2.3"]).await;
    let comment = lab.record("www", "A")["comment"].clone();
    assert!(comment.as_str().unwrap_or_default().contains(":ingress/"), "{comment}");
    lab.delete("Ingress", "web").await;
    lab.wait_contents(&[]).await;
}

#[tokio::test]
async fn what_was_deleted_while_it_was_down_is_cleaned_up() {
    let lab = lab_with("ingress-down", &["Ingress"]).await;
    for name in ["one", "two"] {
        lab.apply(&ingress(&lab, name, &[name])).await;
        balance(&lab, "Ingress", name, &["192.0.2.1"]).await;
    }
    lab.wait_contents(&["one A 192.0.2.1", "two A 192.0.2.1"]).await;
    lab.kill().await;
    lab.delete("Ingress", "one").await;
    lab.run();
    lab.wait_contents(&["two A 192.0.2.1"]).await;
}

#[tokio::test]
async fn an_object_whose_marker_has_room_for_its_hash_only_is_cleaned_up_too() {
    let lab = lab_with("hashed", &["Ingress"]).await;
    let long = |name: &str| format!("{name}-{}", "x".repeat(200));
    for name in ["one", "two", "three"] {
        let wordy = ingress(&lab, &long(name), &[name]).annotated("zonekeeper.dev/comment", &"y".repeat(300));
        lab.apply(&wordy).await;
        balance(&lab, "Ingress", &long(name), &["192.0.2.1"]).await;
    }
    lab.wait_contents(&["one A 192.0.2.1", "three A 192.0.2.1", "two A 192.0.2.1"]).await;
    let comment = lab.record("one", "A")["comment"].clone();
    assert!(!comment.as_str().unwrap_or_default().contains("ingress/"), "{comment}");
    lab.delete("Ingress", &long("one")).await;
    lab.wait_contents(&["three A 192.0.2.1", "two A 192.0.2.1"]).await;
    lab.kill().await;
    lab.delete("Ingress", &long("two")).await;
    lab.run();
    lab.wait_contents(&["three A 192.0.2.1"]).await;
}

/// A definition as loose as can be: what we read of it is our own business.
fn definition(group: &str, version: &str, kind: &str, plural: &str) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{
                "name": version, "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
            }],
        },
    })
}

#[tokio::test]
async fn kinds_that_are_installed_later_are_picked_up_and_missing_ones_stop_nobody() {
    let own = plane::own(control_plane::Options::default()).await;
    let lab = Lab::bare_on(&own, "later-kinds").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    lab.apply(&reading(&lab, &["Ingress", "HTTPRoute", "DNSEndpoint"])).await;
    lab.run();
    lab.apply(&ingress(&lab, "web", &["www"])).await;
    balance(&lab, "Ingress", "web", &["192.0.2.1"]).await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    let gateway_api = "gateway.networking.k8s.io";
    for (group, version, kind, plural) in [
        (gateway_api, "v1beta1", "Gateway", "gateways"),
        (gateway_api, "v1beta1", "HTTPRoute", "httproutes"),
        ("externaldns.k8s.io", "v1alpha1", "DNSEndpoint", "dnsendpoints"),
    ] {
        let definition = definition(group, version, kind, plural);
        objects::apply(lab.home.client(), &definition).await.expect("the API server takes it");
    }
    let api_version = format!("{gateway_api}/v1beta1");
    let gateway = json!({
        "apiVersion": api_version, "kind": "Gateway", "metadata": {"name": "edge"},
        "spec": {"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    });
    let route = json!({
        "apiVersion": api_version, "kind": "HTTPRoute", "metadata": {"name": "api"},
        "spec": {"parentRefs": [{"name": "edge"}], "hostnames": [lab.at("api")]},
    });
    let endpoint = json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint", "metadata": {"name": "mail"},
        "spec": {"endpoints": [{"dnsName": lab.at("mail"), "recordType": "MX", "targets": ["10 mx.example.net"]}]},
    });
    for object in [gateway, route, endpoint] {
        let object = Manifest(object);
        control_plane::eventually("the kind is served", control_plane::DEADLINE, async || {
            lab.try_apply(&object).await
        })
        .await;
    }
    lab.patch_status(
        "Gateway",
        "edge",
        json!({"status": {"addresses": [{"type": "IPAddress", "value": "192.0.2.7"}]}}),
    )
    .await;
    let accepted = json!([{"type": "Accepted", "status": "True", "reason": "Accepted", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let parents = json!([{"parentRef": {"name": "edge"}, "controllerName": "example.net/gateway", "conditions": accepted}]);
    lab.patch_status("HTTPRoute", "api", json!({"status": {"parents": parents}})).await;
    lab.wait_contents(&["api A 192.0.2.7", "mail MX mx.example.net", "www A 192.0.2.1"]).await;
    lab.wait("DNSEndpoint", "mail", "its conditions", |object| {
        crate::support::condition(object, "Ready").is("True") && object["status"]["observedGeneration"] == 1
    })
    .await;
    // A Gateway that loses its addresses takes nothing with it.
    lab.patch_status("Gateway", "edge", json!({"status": {"addresses": null}})).await;
    told(&lab, "HTTPRoute", "api", "TargetsUnknown").await;
    lab.scan().await;
    assert_eq!(lab.contents().len(), 3);
}

#[tokio::test]
async fn a_load_balancer_with_addresses_and_a_name_says_that_the_name_is_left_out() {
    let lab = lab_with("left-out", &["Ingress", "Service"]).await;
    lab.apply(&ingress(&lab, "web", &["www"])).await;
    lab.apply(&service("api", json!({"zonekeeper.dev/hostname": lab.at("api")}))).await;
    for (kind, name) in [("Ingress", "web"), ("Service", "api")] {
        let both = json!([{"ip": "192.0.2.1", "hostname": "lb.example.net"}]);
        lab.patch_status(kind, name, json!({"status": {"loadBalancer": {"ingress": both}}})).await;
    }
    lab.wait_contents(&["api A 192.0.2.1", "www A 192.0.2.1"]).await;
    for (kind, name) in [("Ingress", "web"), ("Service", "api")] {
        let note = told(&lab, kind, name, "InvalidValue").await;
        assert!(note.contains("lb.example.net is left out"), "{note}");
    }
}
