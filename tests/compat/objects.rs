//! Source objects with the statuses that controllers give them, one record of each.

use serde_json::{Value, json};
use zonekeeper_tests::cluster::Lab;

const GATEWAY_API: &str = "gateway.networking.k8s.io/v1";

/// An Ingress that is called like its host under the zone.
pub fn ingress(lab: &Lab<'_>, name: &str, address: &str) -> Value {
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let paths = json!([{"path": "/", "pathType": "Prefix", "backend": backend}]);
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": lab.home.name()},
        "spec": {"rules": [{"host": lab.at(name), "http": {"paths": paths}}]},
        "status": balanced(address),
    })
}

/// A load balancer that is called like its host under the zone, which an annotation of this prefix names.
pub fn service(lab: &Lab<'_>, name: &str, prefix: &str, address: &str) -> Value {
    let annotations = json!({format!("{prefix}hostname"): lab.at(name)});
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": lab.home.name(), "annotations": annotations},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
        "status": balanced(address),
    })
}

/// A Gateway, called `edge`.
pub fn gateway(lab: &Lab<'_>, address: &str) -> Value {
    let listener = json!({"name": "http", "port": 80, "protocol": "HTTP"});
    json!({
        "apiVersion": GATEWAY_API,
        "kind": "Gateway",
        "metadata": {"name": "edge", "namespace": lab.home.name()},
        "spec": {"gatewayClassName": "example", "listeners": [listener]},
        "status": {"addresses": [{"type": "IPAddress", "value": address}]},
    })
}

/// A route on that Gateway, which has accepted it.
pub fn route(lab: &Lab<'_>, name: &str) -> Value {
    json!({
        "apiVersion": GATEWAY_API,
        "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": lab.home.name()},
        "spec": {"parentRefs": [{"name": "edge"}], "hostnames": [lab.at(name)]},
        "status": parents("True", "Accepted"),
    })
}

/// What that Gateway says of a route.
pub fn parents(accepted: &str, reason: &str) -> Value {
    let condition = json!({
        "type": "Accepted", "status": accepted, "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let parent = json!({"parentRef": {"name": "edge"}, "controllerName": "example.net/gateway", "conditions": [condition]});
    json!({"parents": [parent]})
}

fn balanced(address: &str) -> Value {
    json!({"loadBalancer": {"ingress": [{"ip": address}]}})
}
