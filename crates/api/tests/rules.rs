//! Every CEL rule, with an object that keeps it and one that breaks it.

#![allow(clippy::unwrap_used)] // Also in the functions that the tests share.

use kube_cel::Validator;
use serde_json::{Value, json};
use zonekeeper_api::schema_of;

/// The messages of the rules that an object breaks, after defaults are filled in as at admission.
fn broken(kind: &str, spec: Value, old: Option<Value>) -> Vec<String> {
    let schema = schema_of(kind).unwrap();
    let object = |spec: Value| json!({"metadata": {"name": "x"}, "spec": spec});
    let result = Validator::new().validate_with_defaults(&schema, &object(spec), old.map(object).as_ref());
    match result {
        Ok(()) => Vec::new(),
        Err(errors) => errors.into_vec().into_iter().map(|error| error.message).collect(),
    }
}

fn keeps(kind: &str, spec: Value) {
    assert_eq!(broken(kind, spec.clone(), None), Vec::<String>::new(), "{spec}");
}

fn breaks(kind: &str, spec: Value, message: &str) {
    assert_eq!(broken(kind, spec.clone(), None), [message], "{spec}");
}

fn keeps_when_it_was(kind: &str, old: Value, spec: Value) {
    assert_eq!(broken(kind, spec.clone(), Some(old)), Vec::<String>::new(), "{spec}");
}

fn breaks_when_it_was(kind: &str, old: Value, spec: Value, message: &str) {
    assert_eq!(broken(kind, spec.clone(), Some(old)), [message], "{spec}");
}

#[test]
fn every_rule_compiles_and_has_a_message() {
    fn walk(schema: &Value, rules: &mut usize) {
        match schema {
            Value::Object(fields) => {
                for rule in
                    fields.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten()
                {
                    *rules += 1;
                    assert!(rule["message"].as_str().is_some_and(|message| message.len() > 10), "{rule}");
                }
                fields.values().for_each(|value| walk(value, rules));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, rules)),
            _ => {}
        }
    }
    for kind in ["DNSProvider", "DNSZone", "RecordSet", "AddressSource"] {
        let schema = schema_of(kind).unwrap();
        let compiled = kube_cel::compile_schema(&schema);
        assert!(!compiled.has_errors(), "{kind}: {:?}", compiled.compilation_errors());
        let mut rules = 0;
        walk(&schema, &mut rules);
        assert!(rules > 0, "{kind}");
    }
}

// === DNSProvider ===

fn cloudflare() -> Value {
    json!({"apiTokenSecretRef": {"name": "cloudflare"}})
}

#[test]
fn a_provider_has_exactly_one_backend() {
    let message = "set exactly one of cloudflare, rfc2136, webhook and builtin";
    keeps("DNSProvider", json!({"cloudflare": cloudflare()}));
    keeps("DNSProvider", json!({"rfc2136": {"servers": ["192.0.2.53:53"]}}));
    keeps("DNSProvider", json!({"webhook": {"url": "http://127.0.0.1:8888"}}));
    keeps("DNSProvider", json!({"builtin": {}}));
    breaks("DNSProvider", json!({}), message);
    breaks("DNSProvider", json!({"cloudflare": cloudflare(), "builtin": {}}), message);
    breaks(
        "DNSProvider",
        json!({"cloudflare": cloudflare(), "builtin": {}, "webhook": {"url": "http://x"}}),
        message,
    );
}

#[test]
fn the_comment_registry_is_for_cloudflare() {
    keeps("DNSProvider", json!({"cloudflare": cloudflare(), "registry": {"type": "Comment"}}));
    keeps("DNSProvider", json!({"builtin": {}, "registry": {"type": "TXT"}}));
    breaks(
        "DNSProvider",
        json!({"builtin": {}, "registry": {"type": "Comment"}}),
        "registry.type Comment works at Cloudflare only; use TXT or None here",
    );
}

#[test]
fn a_marker_has_a_prefix_or_a_suffix() {
    let with = |txt: Value| json!({"builtin": {}, "registry": {"txt": txt}});
    keeps("DNSProvider", with(json!({"prefix": "a-"})));
    keeps("DNSProvider", with(json!({"prefix": "", "suffix": "-a"})));
    breaks(
        "DNSProvider",
        with(json!({"prefix": "a-", "suffix": "-a"})),
        "set either prefix or suffix, not both",
    );
}

#[test]
fn a_selector_belongs_to_from_selector() {
    let message = "set selector together with from: Selector, and leave it out otherwise";
    let with = |namespaces: Value| json!({"builtin": {}, "allowedNamespaces": namespaces});
    let selector = json!({"matchLabels": {"team": "a"}});
    keeps("DNSProvider", with(json!({"from": "All"})));
    keeps("DNSProvider", with(json!({"from": "Selector", "selector": selector})));
    breaks("DNSProvider", with(json!({"from": "Selector"})), message);
    breaks("DNSProvider", with(json!({"selector": selector})), message);
    breaks(
        "DNSZone",
        json!({"domain": "example.com", "allowedRecords": [{"namespaces": {"from": "Selector"}}]}),
        message,
    );
    breaks(
        "AddressSource",
        json!({"static": ["192.0.2.1"], "allowedNamespaces": {"from": "Selector"}}),
        message,
    );
}

#[test]
fn a_secret_reference_is_whole_or_empty() {
    let message = "set the name of the Secret too, or leave the whole reference out";
    let tsig =
        |reference: Value| json!({"rfc2136": {"servers": ["192.0.2.53:53"], "tsigSecretRef": reference}});
    keeps("DNSProvider", tsig(json!({})));
    keeps("DNSProvider", tsig(json!({"namespace": "a", "name": "b"})));
    breaks("DNSProvider", tsig(json!({"namespace": "a"})), message);
    let encrypted =
        |reference: Value| json!({"builtin": {}, "registry": {"txt": {"encryptionKeySecretRef": reference}}});
    keeps("DNSProvider", encrypted(json!({})));
    breaks("DNSProvider", encrypted(json!({"namespace": "a"})), message);
}

// === DNSZone ===

fn zone(more: Value) -> Value {
    let mut spec = json!({"domain": "example.com"});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

#[test]
fn a_domain_never_changes() {
    keeps_when_it_was("DNSZone", zone(json!({})), zone(json!({"policy": "Observe"})));
    breaks_when_it_was(
        "DNSZone",
        zone(json!({})),
        zone(json!({"domain": "example.net"})),
        "domain can't change; create another DNSZone for the other domain",
    );
}

#[test]
fn a_provider_never_changes_once_it_is_set() {
    let message = "providerRef can't change once it is set; create another DNSZone for the other provider";
    let a = || zone(json!({"providerRef": {"name": "a"}}));
    // Where a second provider appears, "the only one" must be spelled out: unset to set is allowed.
    keeps_when_it_was("DNSZone", zone(json!({})), a());
    keeps_when_it_was("DNSZone", a(), zone(json!({"providerRef": {"kind": "DNSProvider", "name": "a"}})));
    breaks_when_it_was("DNSZone", a(), zone(json!({"providerRef": {"name": "b"}})), message);
    breaks_when_it_was("DNSZone", a(), zone(json!({})), message);
}

#[test]
fn a_zone_id_never_changes_once_it_is_set() {
    let message = "zoneID can't change once it is set; create another DNSZone for the other zone";
    keeps_when_it_was("DNSZone", zone(json!({})), zone(json!({"zoneID": "1"})));
    keeps_when_it_was("DNSZone", zone(json!({"zoneID": ""})), zone(json!({"zoneID": "1"})));
    keeps_when_it_was("DNSZone", zone(json!({"zoneID": ""})), zone(json!({})));
    keeps_when_it_was("DNSZone", zone(json!({"zoneID": "1"})), zone(json!({"zoneID": "1", "suspend": true})));
    breaks_when_it_was("DNSZone", zone(json!({"zoneID": "1"})), zone(json!({"zoneID": "2"})), message);
    breaks_when_it_was("DNSZone", zone(json!({"zoneID": "1"})), zone(json!({})), message);
}

#[test]
fn durations_are_above_zero() {
    let message = "write a duration above zero, such as 60s, 5m or 1h30m";
    keeps("DNSZone", zone(json!({"interval": "1h30m", "guard": {"window": "500ms"}})));
    breaks("DNSZone", zone(json!({"interval": "0s"})), message);
    breaks("DNSZone", zone(json!({"guard": {"window": "0h0m"}})), message);
    breaks("DNSProvider", json!({"builtin": {}, "rateLimit": {"window": "0s"}}), message);
    for interval in ["1ms", "9s", "9.999s"] {
        let source = json!({"static": ["192.0.2.1"], "interval": interval});
        breaks("AddressSource", source, "write at least 10s, such as 10s or 5m");
    }
    keeps("AddressSource", json!({"static": ["192.0.2.1"], "interval": "10s"}));
}

#[test]
fn a_secondary_zone_has_primaries_and_no_other_has() {
    let zone = |cloudflare: Value| json!({"domain": "example.com", "cloudflare": cloudflare});
    let primaries = json!([{"address": "192.0.2.53"}, {"address": "2001:db8::53", "port": 5353}]);
    keeps("DNSZone", zone(json!({"type": "secondary", "primaries": primaries})));
    let key = json!({"name": "transfer"});
    keeps(
        "DNSZone",
        zone(json!({"type": "secondary", "primaries": primaries, "transferTsigSecretRef": key})),
    );
    keeps("DNSZone", zone(json!({"type": "full"})));
    let alone = "primaries and transferTsigSecretRef are for zones of type secondary; remove them, or set type: secondary";
    breaks("DNSZone", zone(json!({"primaries": primaries})), alone);
    breaks("DNSZone", zone(json!({"type": "full", "primaries": primaries})), alone);
    breaks("DNSZone", zone(json!({"transferTsigSecretRef": key})), alone);
    breaks(
        "DNSZone",
        zone(json!({"type": "secondary"})),
        "a zone of type secondary needs primaries: list the servers that it is transferred from",
    );
    breaks(
        "DNSZone",
        zone(json!({"type": "secondary", "primaries": [{"address": "ns.example.com"}]})),
        "write an IPv4 or IPv6 address, such as 192.0.2.53",
    );
}

// === RecordSet ===

fn set(more: Value) -> Value {
    let mut spec = json!({"name": "www.example.com", "type": "A", "values": ["192.0.2.10"]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

#[test]
fn a_set_has_one_kind_of_name() {
    let message = "set either name (absolute) or relativeName (under each zone that takes it), not both";
    keeps("RecordSet", set(json!({})));
    keeps("RecordSet", json!({"relativeName": "@", "type": "A", "values": ["192.0.2.10"]}));
    breaks("RecordSet", set(json!({"relativeName": "www"})), message);
    breaks("RecordSet", json!({"type": "A", "values": ["192.0.2.10"]}), message);
}

#[test]
fn a_set_has_values_from_somewhere() {
    let from = json!([{"addressSourceRef": {"name": "home"}}]);
    keeps("RecordSet", json!({"name": "a.example.com", "type": "A", "valuesFrom": from}));
    keeps("RecordSet", set(json!({"values": [], "valuesFrom": from})));
    keeps("RecordSet", set(json!({"valuesFrom": from})));
    breaks("RecordSet", json!({"name": "a.example.com", "type": "A"}), "set values, valuesFrom or both");
    breaks("RecordSet", set(json!({"values": []})), "set values, valuesFrom or both");
    breaks(
        "RecordSet",
        set(json!({"type": "TXT", "valuesFrom": from})),
        "valuesFrom gives addresses: use it with type A or AAAA",
    );
}

#[test]
fn an_alias_has_one_value() {
    let message = "a CNAME or DNAME set has one value; remove the others";
    for rtype in ["CNAME", "DNAME"] {
        keeps("RecordSet", set(json!({"type": rtype, "values": ["a.example.com"]})));
        breaks(
            "RecordSet",
            set(json!({"type": rtype, "values": ["a.example.com", "b.example.com"]})),
            message,
        );
    }
    keeps("RecordSet", set(json!({"type": "NS", "values": ["a.example.com", "b.example.com"]})));
}

#[test]
fn addresses_are_of_their_type() {
    let four = "values of type A are IPv4 addresses such as 192.0.2.10; use type AAAA for IPv6";
    let six = "values of type AAAA are IPv6 addresses such as 2001:db8::10; use type A for IPv4";
    keeps("RecordSet", set(json!({"values": ["192.0.2.10", "192.0.2.11"]})));
    keeps("RecordSet", set(json!({"type": "AAAA", "values": ["2001:db8::10", "2001:DB8:0::1"]})));
    for bad in ["2001:db8::10", "www.example.com", "192.0.2", "192.0.2.256", "192.0.2.0/24"] {
        breaks("RecordSet", set(json!({"values": ["192.0.2.10", bad]})), four);
    }
    for bad in ["192.0.2.10", "www.example.com", "2001:db8::g"] {
        breaks("RecordSet", set(json!({"type": "AAAA", "values": [bad]})), six);
    }
    keeps("RecordSet", set(json!({"type": "TXT", "values": ["anything"]})));
}

#[test]
fn only_some_types_are_proxied() {
    let proxied = |rtype: &str, value: &str, proxied: bool| {
        set(json!({"type": rtype, "values": [value], "cloudflare": {"proxied": proxied}}))
    };
    keeps("RecordSet", proxied("A", "192.0.2.10", true));
    keeps("RecordSet", proxied("AAAA", "2001:db8::10", true));
    keeps("RecordSet", proxied("CNAME", "a.example.com", true));
    keeps("RecordSet", proxied("TXT", "text", false));
    keeps("RecordSet", set(json!({"type": "TXT", "cloudflare": {"comment": "a"}})));
    breaks(
        "RecordSet",
        proxied("TXT", "text", true),
        "Cloudflare proxies A, AAAA and CNAME only; remove cloudflare.proxied",
    );
}

// === AddressSource ===

#[test]
fn addresses_are_written_down_or_asked_for() {
    let http = json!([{"url": "https://ip.example.net"}]);
    keeps("AddressSource", json!({"static": ["192.0.2.1", "2001:db8::1"]}));
    keeps("AddressSource", json!({"http": http}));
    breaks("AddressSource", json!({}), "set either static or http");
    breaks("AddressSource", json!({"static": ["192.0.2.1"], "http": http}), "set either static or http");
    breaks(
        "AddressSource",
        json!({"static": ["192.0.2.1", "home"]}),
        "write IPv4 or IPv6 addresses, such as 192.0.2.1 or 2001:db8::1",
    );
}
