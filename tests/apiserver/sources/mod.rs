//! Ingresses, Services, routes and others become records, and no accident of theirs becomes an outage.

mod accidents;
mod cloudflare_operator;
mod gateway;
mod kinds;
mod published;
mod status;
mod tenancy;

use control_plane::{DEADLINE, eventually};
use serde_json::{Value, json};

use crate::support::{Lab, Manifest};

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// A lab whose zone takes source objects of these kinds from everywhere.
async fn lab_with(name: &str, kinds: &[&str]) -> Lab<'static> {
    let lab = Lab::ready_to_run(name).await;
    lab.apply(&reading(&lab, kinds)).await;
    lab.run();
    lab.wait_ready("DNSZone", "zone").await;
    lab
}

/// The zone, reading these kinds in its namespace and others.
fn reading(lab: &Lab<'_>, kinds: &[&str]) -> Manifest {
    read_as(lab, json!({"kinds": kinds}))
}

fn read_as(lab: &Lab<'_>, sources: Value) -> Manifest {
    let grant = json!([{"namespaces": {"from": "All"}, "adoption": "Identical"}]);
    lab.dns_zone().with("sources", sources).with("allowedRecords", grant)
}

fn ingress(lab: &Lab<'_>, name: &str, hosts: &[&str]) -> Manifest {
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

fn service(name: &str, annotations: Value) -> Manifest {
    Manifest(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "name": "http"}]},
    }))
}

/// Gives an Ingress or a Service its load balancer, or takes it away.
async fn balance(lab: &Lab<'_>, kind: &str, name: &str, addresses: &[&str]) {
    let ingress: Vec<Value> = addresses.iter().map(|address| json!({"ip": address})).collect();
    lab.patch_status(kind, name, json!({"status": {"loadBalancer": {"ingress": ingress}}})).await;
}

/// A Gateway with one HTTP listener that takes routes of all namespaces.
fn gateway(name: &str) -> Manifest {
    let listener = json!({"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}});
    Manifest(json!({
        "apiVersion": format!("{GATEWAY_API}/v1beta1"),
        "kind": "Gateway",
        "metadata": {"name": name},
        "spec": {"gatewayClassName": "edge", "listeners": [listener]},
    }))
}

/// Gives a Gateway its addresses, or takes them away.
async fn give_addresses(lab: &Lab<'_>, gateway: &str, addresses: &[&str]) {
    let addresses: Vec<Value> =
        addresses.iter().map(|address| json!({"type": "IPAddress", "value": address})).collect();
    lab.patch_status("Gateway", gateway, json!({"status": {"addresses": addresses}})).await;
}

/// A route of a kind under a Gateway.
fn route(kind: &str, name: &str, gateway: &str) -> Manifest {
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

fn http_route(lab: &Lab<'_>, name: &str, gateway: &str, hosts: &[&str]) -> Manifest {
    let hosts: Vec<String> = hosts.iter().map(|host| lab.at(host)).collect();
    route("HTTPRoute", name, gateway).with("hostnames", json!(hosts))
}

/// Says of a route whether its Gateway takes it, as the Gateway's controller does.
async fn accept(lab: &Lab<'_>, kind: &str, name: &str, is_accepted: bool) {
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

/// Waits for an Event of this reason, and returns what it says.
async fn told(lab: &Lab<'_>, kind: &str, name: &str, reason: &str) -> String {
    eventually(&format!("{kind} {name}: {reason}"), DEADLINE, async || {
        let events = lab.events(kind, name).await;
        match events.iter().find(|event| event.reason == reason) {
            Some(event) => Ok(event.note.clone()),
            None => Err(events),
        }
    })
    .await
}

/// Has the zone read twice, before and after a restart of the operator: it must look like this both times.
async fn stays(lab: &Lab<'_>, expected: &[&str]) {
    lab.scan().await;
    assert_eq!(lab.contents(), expected);
    lab.kill().await;
    lab.run();
    lab.scan().await;
    assert_eq!(lab.contents(), expected, "after a restart");
}
