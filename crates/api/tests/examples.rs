//! Objects as users write them: what is filled in, and that nothing is lost on the way through our types.

#![allow(clippy::unwrap_used)] // Also in the functions that the tests share.

use kube_cel::{Validator, apply_defaults};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use zonekeeper_api::{
    AddressSource, AddressSourceSpec, DNSProvider, DNSProviderSpec, DNSZone, DNSZoneSpec, RecordSet,
    RecordSetSpec, schema_of,
};

/// As the API server stores it: with defaults.
fn stored(object: &Value) -> Value {
    let schema = schema_of(object["kind"].as_str().unwrap()).unwrap();
    Validator::new().validate_with_defaults(&schema, object, None).unwrap();
    apply_defaults(&schema, object)
}

/// Reads what a user wrote, with and without the API server; both must mean the same and lose nothing.
fn read<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(object: &Value) -> T {
    let stored = stored(object);
    let mut written = object.clone();
    if let Some(status) = stored.get("status") {
        written["status"] = status.clone();
    }
    let from_folder: T = serde_json::from_value(written).unwrap();
    let from_cluster: T = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(from_folder, from_cluster);
    assert_eq!(serde_json::to_value(&from_cluster).unwrap(), stored);
    from_cluster
}

fn object(kind: &str, spec: Value, status: Option<Value>) -> Value {
    let mut object = json!({
        "apiVersion": "zonekeeper.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "example"},
        "spec": spec,
    });
    if let Some(status) = status {
        object["status"] = status;
    }
    object
}

fn conditions() -> Value {
    json!([{
        "type": "Ready",
        "status": "True",
        "reason": "Programmed",
        "message": "all is well",
        "observedGeneration": 3,
        "lastTransitionTime": "2026-11-15T12:00:00Z",
    }])
}

#[test]
fn the_smallest_set_up_is_enough() {
    let provider: DNSProvider = read(&object(
        "DNSProvider",
        json!({"cloudflare": {"apiTokenSecretRef": {"name": "cloudflare"}}}),
        None,
    ));
    let cloudflare = provider.spec.cloudflare.unwrap();
    assert_eq!(cloudflare.api_token_secret_ref.key, "apiToken");
    assert_eq!(cloudflare.api_token_secret_ref.namespace, None);
    assert_eq!(cloudflare.base_url, "https://api.cloudflare.com/client/v4");
    assert_eq!(provider.spec.registry.registry_type, None);

    let spec =
        json!({"domain": "example.com", "sources": {}, "allowedRecords": [{"namespaces": {"from": "All"}}]});
    let zone: DNSZone = read(&object("DNSZone", spec, None));
    assert_eq!(zone.spec.sources, Some(Default::default()));
    assert_eq!(zone.status.unwrap().observed_generation, Some(-1));
}

#[test]
fn schema_defaults_are_those_of_the_contract() {
    let spec = |kind: &str, spec: Value| stored(&object(kind, spec, None))["spec"].clone();
    assert_eq!(
        spec("DNSProvider", json!({"builtin": {}})),
        json!({
            "builtin": {"listen": "127.0.0.1:5300"},
            "registry": {"markerKeySecretRef": {"name": "zonekeeper-marker-key"}, "txt": {"signed": false}},
            "rateLimit": {"requests": 1000, "window": "5m"},
            "controllerName": "zonekeeper.dev/controller",
        })
    );
    assert_eq!(
        spec(
            "DNSZone",
            json!({"domain": "example.com", "sources": {}, "allowedRecords": [{"namespaces": {}}]})
        ),
        json!({
            "domain": "example.com",
            "providerRef": {"kind": "DNSProvider"},
            "selection": "Any",
            "policy": "Sync",
            "drift": "Revert",
            "interval": "60s",
            "suspend": false,
            "allowedRecords": [{"namespaces": {"from": "Same"}, "share": false, "adoption": "Never"}],
            "sources": {"kinds": ["Service", "Ingress", "HTTPRoute"], "dialects": ["zonekeeper", "external-dns"]},
            "defaults": {"cloudflare": {"proxied": false}},
            "guard": {"maxDeletePercent": 30, "maxUpdatePercent": 100, "minRecords": 10, "window": "10m", "settle": "2s"},
            "prune": {"mode": "Owned", "maxDeletes": 10, "ignore": [{"name": "_acme-challenge.*", "type": "TXT"}]},
            "lifecycle": {"create": false, "deletionPolicy": "Retain"},
            "delegation": {"manage": false},
            "dnssec": {"mode": "Unmanaged"},
            "reverse": false,
        })
    );
    assert_eq!(
        spec("RecordSet", json!({"name": "a.example.com", "type": "A", "values": ["192.0.2.1"]})),
        json!({
            "name": "a.example.com", "type": "A", "values": ["192.0.2.1"],
            "adoption": "Identical", "deletionPolicy": "Delete", "suspend": false, "resolveTargets": false,
        })
    );
    assert_eq!(
        spec("AddressSource", json!({"http": [{"url": "https://ip.example.net"}]})),
        json!({
            "http": [{"url": "https://ip.example.net", "method": "GET"}],
            "families": ["IPv4"], "interval": "5m", "allowedNamespaces": {"from": "Same"},
            "controllerName": "zonekeeper.dev/controller",
        })
    );
}

#[test]
fn defaults_in_rust_are_those_of_the_schema() {
    let spec = |kind: &str, spec: Value| stored(&object(kind, spec, None))["spec"].clone();
    let provider: DNSProviderSpec =
        serde_json::from_value(spec("DNSProvider", json!({"builtin": {}}))).unwrap();
    assert_eq!(provider, DNSProviderSpec { builtin: Some(Default::default()), ..Default::default() });
    let zone: DNSZoneSpec =
        serde_json::from_value(spec("DNSZone", json!({"domain": "example.com"}))).unwrap();
    assert_eq!(zone, DNSZoneSpec { domain: "example.com".into(), ..Default::default() });
    let written = json!({"name": "a.example.com", "type": "TXT", "values": ["a"]});
    let set: RecordSetSpec = serde_json::from_value(spec("RecordSet", written)).unwrap();
    let (name, values) = (Some("a.example.com".into()), vec!["a".into()]);
    assert_eq!(set, RecordSetSpec { name, rtype: "TXT".into(), values, ..Default::default() });
    let addresses: AddressSourceSpec =
        serde_json::from_value(spec("AddressSource", json!({"static": ["192.0.2.1"]}))).unwrap();
    assert_eq!(
        addresses,
        AddressSourceSpec { static_addresses: vec!["192.0.2.1".into()], ..Default::default() }
    );
}

#[test]
fn a_full_provider_loses_nothing() {
    let spec = json!({
        "rfc2136": {
            "servers": ["192.0.2.53:53", "[2001:db8::53]:853"],
            "transport": "TLS",
            "tsigSecretRef": {"namespace": "dns", "name": "tsig"},
            "transferTsigSecretRef": {"name": "axfr"},
        },
        "registry": {
            "type": "TXT",
            "ownerID": "cluster-a",
            "markerKeySecretRef": {"namespace": "dns", "name": "key"},
            "txt": {"prefix": "zk-", "wildcardReplacement": "any", "signed": true,
                    "encryptionKeySecretRef": {"name": "aes", "key": "k"}},
            "takeOverFrom": ["default"],
        },
        "rateLimit": {"requests": 500, "window": "1m"},
        "allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "a"}}},
        "controllerName": "example.com/other",
    });
    let status = json!({
        "observedGeneration": 3,
        "ownerID": "cluster-a",
        "zones": [{"name": "example.com", "id": "1"}],
        "zoneCount": 1,
        "tokenExpires": "2027-01-01T00:00:00Z",
        "conditions": conditions(),
    });
    read::<DNSProvider>(&object("DNSProvider", spec, Some(status)));
    let spec = json!({"cloudflare": {
        "apiTokenSecretRef": {"namespace": "dns", "name": "cloudflare", "key": "token"},
        "accountID": "1",
        "baseURL": "http://127.0.0.1:8080/client/v4",
    }});
    read::<DNSProvider>(&object("DNSProvider", spec, None));
    read::<DNSProvider>(&object("DNSProvider", json!({"webhook": {"url": "http://127.0.0.1:8888"}}), None));
    let spec = json!({"builtin": {"listen": "0.0.0.0:53", "allowTransfer": ["192.0.2.0/24"]}});
    read::<DNSProvider>(&object("DNSProvider", spec, None));
}

#[test]
fn a_full_zone_loses_nothing() {
    let selector = json!({"matchLabels": {"team": "a"}});
    let spec = json!({
        "domain": "example.com",
        "providerRef": {"kind": "DNSProvider", "name": "cloudflare"},
        "zoneID": "1",
        "selection": "Explicit",
        "policy": "UpsertOnly",
        "drift": "Report",
        "interval": "1h30m",
        "suspend": true,
        "names": {"include": ["*"], "exclude": ["x.example.com"]},
        "allowedRecords": [{
            "namespaces": {"from": "Selector", "selector": selector},
            "names": ["*.a.example.com"], "types": ["A", "TYPE65280"], "share": true, "adoption": "Force",
        }],
        "recordsFrom": [{"selector": selector}],
        "sources": {
            "kinds": ["Gateway", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "DNSEndpoint", "Node", "Pod"],
            "dialects": ["cloudflare-operator"],
            "annotationPrefixes": ["dns.example.com/"],
            "labelSelector": selector,
            "annotationSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
            "fqdnTemplate": "{{.Name}}.example.com",
        },
        "authority": {
            "soa": {"mname": "ns1.example.com", "rname": "hostmaster.example.com", "refresh": 3600, "retry": 600,
                    "expire": 604800, "minimum": 300, "ttl": 3600},
            "nameServers": ["ns1.example.com"],
        },
        "defaults": {"ttl": 600, "cloudflare": {"proxied": true}},
        "guard": {"maxDeletePercent": 0, "maxUpdatePercent": 50, "minRecords": 0, "window": "1h", "settle": "0s"},
        "prune": {"mode": "All", "maxDeletes": 1, "ignore": []},
        "lifecycle": {"create": true, "deletionPolicy": "Delete"},
    });
    let set = json!({"type": "A", "ttl": 300, "values": ["192.0.2.1"], "proxied": true, "comment": "a", "tags": ["b"],
                     "settings": {"flattenCNAME": false, "ipv4Only": true, "ipv6Only": false}});
    let status = json!({
        "observedGeneration": 3,
        "provider": "cloudflare",
        "zoneID": "1",
        "nameServers": ["ns1.example.net"],
        "records": {"desired": 1, "live": 2, "owned": 1, "foreign": 1, "orphaned": 0},
        "guard": {"windowStart": "2026-11-15T12:00:00Z", "ownedAtStart": 10, "deletes": 1, "updates": 2, "prunes": 3,
                  "usedApprovals": ["abc"]},
        "effectiveInterval": "2m",
        "plan": {"hash": "abc", "creates": 0, "updates": 1, "deletes": 1, "held": 1, "changes": [
            {"operation": "Update", "name": "www.example.com", "type": "A", "before": set, "after": set, "held": false},
            {"operation": "Delete", "name": "a.example.com", "type": "A", "before": set, "held": true,
             "reason": "Held", "message": "approve it"},
        ]},
        "lastSyncTime": "2026-11-15T12:00:00Z",
        "lastHandledReconcileAt": "now",
        "conditions": conditions(),
    });
    read::<DNSZone>(&object("DNSZone", spec, Some(status)));
}

#[test]
fn a_full_record_set_loses_nothing() {
    let spec = json!({
        "relativeName": "www",
        "type": "A",
        "values": ["192.0.2.10"],
        "valuesFrom": [{"addressSourceRef": {"name": "home", "namespace": "dns"}}],
        "ttl": 300,
        "zoneRefs": [{"namespace": "dns", "name": "example-com"}],
        "cloudflare": {"proxied": true, "comment": "", "tags": ["team:a"],
                       "settings": {"flattenCNAME": true, "ipv4Only": false, "ipv6Only": true}},
        "adoption": "Never",
        "deletionPolicy": "Retain",
        "suspend": true,
    });
    let status = json!({
        "observedGeneration": 3,
        "zones": [{"namespace": "dns", "name": "example-com", "id": "1", "records": [{"id": "2", "value": "192.0.2.10"}]}],
        "lastSyncTime": "2026-11-15T12:00:00Z",
        "lastHandledReconcileAt": "now",
        "conditions": conditions(),
    });
    let set: RecordSet = read(&object("RecordSet", spec, Some(status)));
    assert_eq!(set.spec.cloudflare.unwrap().comment.as_deref(), Some(""));
}

#[test]
fn a_full_address_source_loses_nothing() {
    let spec = json!({
        "http": [{"url": "https://ip.example.net", "method": "POST", "body": "a", "headers": {"accept": "text/plain"},
                  "headersSecretRef": {"name": "x"}, "jq": ".ip", "regex": "([0-9.]+)"}],
        "families": ["IPv4", "IPv6"],
        "interval": "10m",
        "allowedNamespaces": {"from": "All"},
    });
    let status = json!({
        "observedGeneration": 3,
        "addresses": ["192.0.2.1"],
        "lastHandledReconcileAt": "now",
        "conditions": conditions(),
    });
    read::<AddressSource>(&object("AddressSource", spec, Some(status)));
}

#[test]
fn empty_secret_references_are_none_and_unknown_fields_are_passed_over() {
    let spec = json!({
        "rfc2136": {"servers": ["192.0.2.53:53"], "tsigSecretRef": {}, "transferTsigSecretRef": {}, "more": 1},
        "registry": {"txt": {"encryptionKeySecretRef": {}}},
    });
    let spec: DNSProviderSpec = serde_json::from_value(spec).unwrap();
    let rfc2136 = spec.rfc2136.unwrap();
    assert_eq!((rfc2136.tsig_secret_ref, rfc2136.transfer_tsig_secret_ref), (None, None));
    assert_eq!(spec.registry.txt.encryption_key_secret_ref, None);
}
