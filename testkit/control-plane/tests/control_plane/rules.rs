//! Manifests that the API server must refuse, and the words with which it does.
//!
//! `crates/api/tests/rules.rs` tries every rule in-process; this is the proof that a real server agrees.

use kube::{
    Error,
    api::{DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::crds::{objects, plane};

#[tokio::test]
async fn bad_manifests_are_refused_with_a_clear_message() {
    let set =
        |more: Value| merged(json!({"name": "www.example.com", "type": "A", "values": ["192.0.2.10"]}), more);
    let cases = [
        ("DNSProvider", json!({}), "set exactly one of cloudflare, rfc2136, webhook and builtin"),
        (
            "DNSProvider",
            json!({"builtin": {}, "webhook": {"url": "http://127.0.0.1:8888"}}),
            "set exactly one of cloudflare, rfc2136, webhook and builtin",
        ),
        (
            "DNSProvider",
            json!({"builtin": {}, "registry": {"type": "Comment"}}),
            "registry.type Comment works at Cloudflare only; use TXT or None here",
        ),
        (
            "DNSProvider",
            json!({"builtin": {}, "registry": {"txt": {"prefix": "a-", "suffix": "-a"}}}),
            "set either prefix or suffix, not both",
        ),
        (
            "DNSProvider",
            json!({"builtin": {}, "allowedNamespaces": {"from": "Selector"}}),
            "set selector together with from: Selector, and leave it out otherwise",
        ),
        (
            "DNSProvider",
            json!({"rfc2136": {"servers": ["192.0.2.53:53"], "tsigSecretRef": {"namespace": "a"}}}),
            "set the name of the Secret too, or leave the whole reference out",
        ),
        ("DNSProvider", json!({"webhook": {"url": "ftp://a"}}), "spec.webhook.url in body should match"),
        ("DNSZone", json!({"domain": "a..b"}), "spec.domain in body should match"),
        (
            "DNSZone",
            json!({"domain": "example.com", "interval": "0s"}),
            "write a duration above zero, such as 60s, 5m or 1h30m",
        ),
        (
            "DNSZone",
            json!({"domain": "example.com", "guard": {"window": "0h0m"}}),
            "write a duration above zero, such as 60s, 5m or 1h30m",
        ),
        (
            "RecordSet",
            set(json!({"relativeName": "www"})),
            "set either name (absolute) or relativeName (under each zone that takes it), not both",
        ),
        ("RecordSet", set(json!({"values": []})), "set values, valuesFrom or both"),
        (
            "RecordSet",
            set(json!({"type": "TXT", "valuesFrom": [{"addressSourceRef": {"name": "home"}}]})),
            "valuesFrom gives addresses: use it with type A or AAAA",
        ),
        (
            "RecordSet",
            set(json!({"type": "CNAME", "values": ["a.example.com", "b.example.com"]})),
            "a CNAME or DNAME set has one value; remove the others",
        ),
        (
            "RecordSet",
            set(json!({"values": ["2001:db8::10"]})),
            "values of type A are IPv4 addresses such as 192.0.2.10; use type AAAA for IPv6",
        ),
        (
            "RecordSet",
            set(json!({"type": "AAAA"})),
            "values of type AAAA are IPv6 addresses such as 2001:db8::10; use type A for IPv4",
        ),
        (
            "RecordSet",
            set(json!({"type": "TXT", "cloudflare": {"proxied": true}})),
            "Cloudflare proxies A, AAAA and CNAME only; remove cloudflare.proxied",
        ),
        ("AddressSource", json!({}), "set either static or http"),
        (
            "AddressSource",
            json!({"static": ["home"]}),
            "write IPv4 or IPv6 addresses, such as 192.0.2.1 or 2001:db8::1",
        ),
    ];
    let namespace = plane().await.namespace("refused").await;
    for (kind, spec, message) in cases {
        let answer = objects(&namespace, kind).create(&PostParams::default(), &object(kind, &spec)).await;
        assert_refused(answer, message, &spec);
    }
}

#[tokio::test]
async fn what_can_not_change_is_refused_once_it_is_set() {
    let cases = [
        (
            json!({"domain": "example.net"}),
            "domain can't change; create another DNSZone for the other domain",
        ),
        (
            json!({"providerRef": {"name": "b"}}),
            "providerRef can't change once it is set; create another DNSZone for the other provider",
        ),
        (
            json!({"zoneID": "2"}),
            "zoneID can't change once it is set; create another DNSZone for the other zone",
        ),
    ];
    let namespace = plane().await.namespace("unchangeable").await;
    let zones = objects(&namespace, "DNSZone");
    let first = json!({"domain": "example.com", "zoneID": "1", "providerRef": {"name": "a"}});
    zones.create(&PostParams::default(), &object("DNSZone", &first)).await.unwrap();
    for (change, message) in cases {
        let patch = Patch::Merge(json!({"spec": change}));
        let answer = zones.patch("example", &PatchParams::default(), &patch).await;
        assert_refused(answer, message, &change);
    }
    let harmless = Patch::Merge(json!({"spec": {"suspend": true}}));
    zones.patch("example", &PatchParams::default(), &harmless).await.unwrap();
}

fn assert_refused(answer: kube::Result<DynamicObject>, message: &str, spec: &Value) {
    let Err(Error::Api(status)) = answer else { panic!("{spec}: {answer:?}") };
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"), "{spec}: {status:?}");
    assert!(status.message.contains(message), "{spec}: {}", status.message);
}

fn object(kind: &str, spec: &Value) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "zonekeeper.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "example"},
        "spec": spec,
    }))
    .unwrap()
}

fn merged(mut spec: Value, more: Value) -> Value {
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}
