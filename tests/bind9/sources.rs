//! Ingresses, Services and Gateways become records on a server.

use serde_json::{Value, json};

use crate::{site::Site, support::Manifest};

/// A site whose zone takes source objects of these kinds.
async fn site_with(name: &str, kinds: &[&str]) -> Site<'static> {
    let site = Site::ready_to_run(name).await;
    site.apply(&site.dns_zone().with("sources", json!({"kinds": kinds}))).await;
    site.run();
    site
}

fn object(version: &str, kind: &str, name: &str, spec: Value) -> Manifest {
    Manifest(json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}))
}

async fn balance(site: &Site<'_>, kind: &str, name: &str, addresses: &[&str]) {
    let ingress: Vec<Value> = addresses.iter().map(|address| json!({"ip": address})).collect();
    site.patch_status(kind, name, json!({"status": {"loadBalancer": {"ingress": ingress}}})).await;
}

/// Case 59.
#[tokio::test]
async fn a_host_that_is_removed_takes_its_record_along() {
    let site = site_with("host", &["Ingress"]).await;
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let ingress = |hosts: &[&str]| {
        let paths = json!([{"path": "/", "pathType": "Prefix", "backend": backend}]);
        let rules: Vec<Value> =
            hosts.iter().map(|host| json!({"host": site.at(host), "http": {"paths": paths}})).collect();
        object("networking.k8s.io/v1", "Ingress", "web", json!({"rules": rules}))
    };
    site.apply(&ingress(&["www", "shop"])).await;
    balance(&site, "Ingress", "web", &["192.0.2.1"]).await;
    site.wait_served("www", "A", &["192.0.2.1"]).await;
    site.wait_served("shop", "A", &["192.0.2.1"]).await;
    site.apply(&ingress(&["www"])).await;
    site.wait_served("shop", "A", &[]).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
}

/// Case 60.
#[tokio::test]
async fn a_gateway_that_moves_takes_its_routes_along() {
    let site = site_with("gateway", &["HTTPRoute"]).await;
    let definitions = control_plane::published_definitions().expect("the Gateway API's definitions");
    site.plane().install_crds(&definitions).await.expect("the API server takes them");
    let version = "gateway.networking.k8s.io/v1beta1";
    let listeners = json!([{"name": "http", "port": 80, "protocol": "HTTP"}]);
    let class = json!({"gatewayClassName": "test", "listeners": listeners});
    site.apply(&object(version, "Gateway", "edge", class)).await;
    let route = json!({"parentRefs": [{"name": "edge"}], "hostnames": [site.at("api")]});
    site.apply(&object(version, "HTTPRoute", "api", route)).await;
    let accepted = json!([{
        "type": "Accepted", "status": "True", "reason": "Accepted", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    let parent = json!({"parentRef": {"name": "edge"}, "controllerName": "example.net/gateway", "conditions": accepted});
    site.patch_status("HTTPRoute", "api", json!({"status": {"parents": [parent]}})).await;
    for address in ["192.0.2.7", "192.0.2.8"] {
        let addresses = json!([{"type": "IPAddress", "value": address}]);
        site.patch_status("Gateway", "edge", json!({"status": {"addresses": addresses}})).await;
        site.wait_served("api", "A", &[address]).await;
    }
}

/// Case 61.
#[tokio::test]
async fn a_load_balancer_with_two_families_has_both() {
    let site = site_with("families", &["Service"]).await;
    let spec = json!({"type": "LoadBalancer", "ports": [{"port": 80, "name": "http"}]});
    let mut service = object("v1", "Service", "web", spec);
    service.0["metadata"]["annotations"] = json!({"zonekeeper.dev/hostname": site.at("www")});
    site.apply(&service).await;
    balance(&site, "Service", "web", &["192.0.2.1", "2001:db8::1"]).await;
    site.wait_served("www", "A", &["192.0.2.1"]).await;
    site.wait_served("www", "AAAA", &["2001:db8::1"]).await;
}
