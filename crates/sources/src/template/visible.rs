//! What templates see of an object: its metadata and a documented list of fields, never the rest.
//!
//! Names are public, and the owner of a zone reads objects of all namespaces through its template: containers,
//! their environment, header values of routes and the like stay out of reach.

use serde_json::{Map, Value};
use zonekeeper_api::SourceKind;

use crate::object::Kind;

/// Metadata that templates see.
const METADATA: &[&str] = &[
    "annotations",
    "creationTimestamp",
    "generateName",
    "generation",
    "labels",
    "name",
    "namespace",
    "resourceVersion",
    "uid",
];

/// The fields of a kind's spec and of its status that templates see; docs/sources.md has the same list.
pub(super) const fn parts(kind: Kind) -> (&'static [&'static str], &'static [&'static str]) {
    let Kind::Source(kind) = kind else { return (&[], &[]) };
    match kind {
        SourceKind::Service => (
            &[
                "clusterIP",
                "clusterIPs",
                "externalIPs",
                "externalName",
                "externalTrafficPolicy",
                "internalTrafficPolicy",
                "ipFamilies",
                "ipFamilyPolicy",
                "loadBalancerClass",
                "loadBalancerIP",
                "ports",
                "publishNotReadyAddresses",
                "selector",
                "type",
            ],
            &["loadBalancer"],
        ),
        SourceKind::Ingress => (&["defaultBackend", "ingressClassName", "rules", "tls"], &["loadBalancer"]),
        SourceKind::Gateway => (&["addresses", "gatewayClassName", "listeners"], &["addresses"]),
        SourceKind::HttpRoute
        | SourceKind::GrpcRoute
        | SourceKind::TlsRoute
        | SourceKind::TcpRoute
        | SourceKind::UdpRoute => (&["hostnames", "parentRefs"], &["parents"]),
        SourceKind::DnsEndpoint => (&["endpoints"], &[]),
        SourceKind::Node => {
            (&["podCIDR", "podCIDRs", "providerID", "unschedulable"], &["addresses", "nodeInfo"])
        }
        SourceKind::Pod => (
            &["hostNetwork", "hostname", "nodeName", "subdomain"],
            &["hostIP", "hostIPs", "phase", "podIP", "podIPs"],
        ),
    }
}

/// An object with nothing but what templates see.
pub(crate) fn visible(kind: Kind, json: &Value) -> Value {
    let (spec, status) = parts(kind);
    let mut seen = Map::new();
    for field in ["apiVersion", "kind"] {
        if let Some(value) = json.get(field) {
            seen.insert(field.into(), value.clone());
        }
    }
    for (part, fields) in [("metadata", METADATA), ("spec", spec), ("status", status)] {
        if let Some(Value::Object(all)) = json.get(part) {
            let kept = all.iter().filter(|(field, _)| fields.contains(&field.as_str()));
            let kept = kept.map(|(field, value)| (field.clone(), value.clone()));
            seen.insert(part.into(), Value::Object(kept.collect()));
        }
    }
    Value::Object(seen)
}

/// Whether a template may ask for a field of a part such as `Spec`; other parts have no list.
pub(super) fn is_open(kind: Kind, part: &str, field: &str) -> bool {
    let (spec, status) = parts(kind);
    let fields = match part.to_ascii_lowercase().as_str() {
        "spec" => spec,
        "status" => status,
        "metadata" | "objectmeta" => METADATA,
        _ => return true,
    };
    fields.iter().any(|open| open.eq_ignore_ascii_case(field))
}
