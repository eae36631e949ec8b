//! Objects of others, from which records are made, and what their controllers say of them.

use serde_json::{Value, json};

use crate::cluster::{Lab, Manifest};

pub const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// An Ingress with these hosts.
pub fn ingress(lab: &Lab<'_>, name: &str, hosts: &[&str]) -> Manifest {
    let path = json!([{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]);
    let rules: Vec<Value> =
        hosts.iter().map(|host| json!({"host": lab.at(host), "http": {"paths": path}})).collect();
    Manifest(json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name},
        "spec": {"rules": rules},
    }))
}

/// A Service with a load balancer.
pub fn service(name: &str, annotations: Value) -> Manifest {
    Manifest(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "name": "http"}]},
    }))
}

/// Gives an Ingress or a Service its load balancer, or takes it away.
pub async fn balance(lab: &Lab<'_>, kind: &str, name: &str, addresses: &[&str]) {
    let ingress: Vec<Value> = addresses.iter().map(|address| json!({"ip": address})).collect();
    lab.patch_status(kind, name, json!({"status": {"loadBalancer": {"ingress": ingress}}})).await;
}

/// A Gateway with one HTTP listener that takes routes of all namespaces.
pub fn gateway(name: &str) -> Manifest {
    let listener = json!({"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}});
    Manifest(json!({
        "apiVersion": format!("{GATEWAY_API}/v1beta1"),
        "kind": "Gateway",
        "metadata": {"name": name},
        "spec": {"gatewayClassName": "edge", "listeners": [listener]},
    }))
}

/// Gives a Gateway its addresses, or takes them away.
pub async fn give_addresses(lab: &Lab<'_>, gateway: &str, addresses: &[&str]) {
    let addresses: Vec<Value> =
        addresses.iter().map(|address| json!({"type": "IPAddress", "value": address})).collect();
    lab.patch_status("Gateway", gateway, json!({"status": {"addresses": addresses}})).await;
}

/// A route of a kind under a Gateway.
pub fn route(kind: &str, name: &str, gateway: &str) -> Manifest {
    let version = if kind == "HTTPRoute" { "v1beta1" } else { "v1" };
    let rules = match kind {
        "HTTPRoute" | "GRPCRoute" => json!([{}]),
        _others => json!([{"backendRefs": [{"name": "backend", "port": 443}]}]),
    };
    Manifest(json!({
        "apiVersion": format!("{GATEWAY_API}/{version}"),
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"parentRefs": [{"name": gateway}], "rules": rules},
    }))
}

/// An HTTPRoute with these hosts.
pub fn http_route(lab: &Lab<'_>, name: &str, gateway: &str, hosts: &[&str]) -> Manifest {
    let hosts: Vec<String> = hosts.iter().map(|host| lab.at(host)).collect();
    route("HTTPRoute", name, gateway).with("hostnames", json!(hosts))
}

/// Says of a route whether its Gateway takes it, as the Gateway's controller does.
pub async fn accept(lab: &Lab<'_>, kind: &str, name: &str, is_accepted: bool) {
    let status = if is_accepted { "True" } else { "False" };
    let object = lab.get(kind, name).await.expect("the route");
    let condition = json!({
        "type": "Accepted", "status": status, "reason": "Test", "message": "",
        "observedGeneration": object["metadata"]["generation"], "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let parents: Vec<Value> = object["spec"]["parentRefs"]
        .as_array()
        .expect("parents")
        .iter()
        .map(|parent| json!({"parentRef": parent, "controllerName": "example.net/edge", "conditions": [condition]}))
        .collect();
    lab.patch_status(kind, name, json!({"status": {"parents": parents}})).await;
}
