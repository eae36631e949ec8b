//! Services of every type, Nodes, Pods and DNSEndpoints.

use serde_json::{Value, json};

use super::{accept, gateway, give_addresses, http_route, lab_with, read_as, service, told};
use crate::support::{Lab, Manifest, plane};

#[tokio::test]
async fn services_of_every_type_are_published() {
    let lab = lab_with("service-types", &["Service"]).await;
    let named = |key: &str, host: &str| json!({format!("external-dns.kubernetes.io/{key}"): lab.at(host)});
    let internal = service("internal", named("internal-hostname", "internal")).with("type", "ClusterIP");
    let address = lab.apply(&internal).await["spec"]["clusterIP"].as_str().expect("an address").to_owned();
    let alias = service("alias", named("hostname", "alias")).without("ports").with("type", "ExternalName");
    lab.apply(&alias.with("externalName", "elsewhere.example.net")).await;
    headless(&lab, "db", "10.1.0.1").await;
    lab.wait_contents(&[
        "alias CNAME elsewhere.example.net",
        "db A 10.1.0.1",
        "db-0.db A 10.1.0.1",
        &format!("internal A {address}"),
    ])
    .await;
}

#[tokio::test]
async fn a_restart_tells_nothing_new_of_what_looks_at_other_objects() {
    plane::with_published_definitions().await;
    let lab = lab_with("look-restart", &["Service", "HTTPRoute"]).await;
    lab.apply(&gateway("edge")).await;
    give_addresses(&lab, "edge", &["192.0.2.7"]).await;
    let route = async |name: &str| {
        lab.apply(&http_route(&lab, name, "edge", &[name])).await;
        accept(&lab, "HTTPRoute", name, true).await;
        told(&lab, "HTTPRoute", name, "Programmed").await;
    };
    let objects = [("Service", "db"), ("Service", "cache"), ("HTTPRoute", "api"), ("HTTPRoute", "web")];
    for (kind, name) in objects {
        match kind {
            "Service" => headless(&lab, name, "10.1.0.1").await,
            _route => route(name).await,
        }
    }
    lab.wait_contents(&[
        "api A 192.0.2.7",
        "cache A 10.1.0.1",
        "cache-0.cache A 10.1.0.1",
        "db A 10.1.0.1",
        "db-0.db A 10.1.0.1",
        "web A 192.0.2.7",
    ])
    .await;
    // Before the EndpointSlices came, a Service may have said that it waits for them.
    for name in ["db", "cache"] {
        told(&lab, "Service", name, "Programmed").await;
    }
    lab.scan().await;
    let all = async || {
        let mut all = Vec::new();
        for (kind, name) in objects {
            all.push((name, lab.events(kind, name).await));
        }
        all
    };
    for _ in 0..3 {
        let (before, mark) = (all().await, lab.mark());
        lab.kill().await;
        lab.run();
        // An Event of a new object comes after all that the restart says.
        let name = format!("new-{mark}");
        route(&name).await;
        lab.scan().await;
        assert_eq!(all().await, before);
        assert_eq!(lab.changes_since(mark), [format!("+ {name} A 192.0.2.7")]);
    }
}

#[tokio::test]
async fn node_ports_are_reached_at_nodes_and_named_by_srv_records() {
    // Nodes are everybody's: nobody else's may be here.
    let own = plane::own(control_plane::Options::default()).await;
    let lab = Lab::bare_on(&own, "nodes").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    let template = format!("{{{{.Name}}}}.nodes.{}", lab.domain);
    lab.apply(&read_as(&lab, json!({"kinds": ["Service", "Node"], "fqdnTemplate": template}))).await;
    lab.run();
    lab.apply(&Manifest(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}))).await;
    let addresses = json!([{"type": "ExternalIP", "address": "192.0.2.31"}, {"type": "InternalIP", "address": "10.0.0.1"}]);
    let ready =
        json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": null, "lastTransitionTime": null}]);
    lab.patch_status("Node", "n1", json!({"status": {"addresses": addresses, "conditions": ready}})).await;
    let annotations = json!({"external-dns.kubernetes.io/hostname": lab.at("ports")});
    let ports = json!([{"port": 80, "name": "http", "nodePort": 30080}]);
    lab.apply(&service("ports", annotations).with("type", "NodePort").with("ports", ports)).await;
    let target = lab.at("ports");
    lab.wait_contents(&[
        &format!("_ports._tcp.ports SRV 50 30080 {target}"),
        "n1.nodes A 192.0.2.31",
        "ports A 192.0.2.31",
    ])
    .await;
    // A Node that is deleted takes its own name with it, and the address that it lent.
    lab.delete("Node", "n1").await;
    control_plane::eventually("its name is gone", control_plane::DEADLINE, async || {
        let contents = lab.contents();
        if contents.contains(&"n1.nodes A 192.0.2.31".to_owned()) { Err(contents) } else { Ok(()) }
    })
    .await;
}

#[tokio::test]
async fn a_pod_with_a_hostname_is_published() {
    let lab = lab_with("pods", &["Pod"]).await;
    pod(&lab, "game", json!({}), "10.1.0.9").await;
    lab.annotate("Pod", "game", "external-dns.kubernetes.io/internal-hostname", &lab.at("game")).await;
    lab.wait_contents(&["game A 10.1.0.9"]).await;
    lab.delete("Pod", "game").await;
    lab.wait_contents(&[]).await;
}

#[tokio::test]
async fn a_dns_endpoint_asks_for_any_type_and_is_told_in_its_status() {
    plane::with_published_definitions().await;
    let lab = lab_with("endpoints", &["DNSEndpoint"]).await;
    let endpoint = |endpoints: Value| {
        Manifest(json!({
            "apiVersion": "externaldns.k8s.io/v1alpha1",
            "kind": "DNSEndpoint",
            "metadata": {"name": "all"},
            "spec": {"endpoints": endpoints},
        }))
    };
    let proxied = json!([{"name": "external-dns.alpha.kubernetes.io/cloudflare-proxied", "value": "true"}]);
    lab.apply(&endpoint(json!([
        {"dnsName": lab.at("a"), "recordType": "A", "targets": ["192.0.2.1"], "providerSpecific": proxied},
        {"dnsName": lab.at("mx"), "recordType": "MX", "targets": ["10 mail.example.net"], "recordTTL": 300},
        {"dnsName": lab.at("txt"), "recordType": "TXT", "targets": ["hello"]},
        {"dnsName": lab.at("srv"), "recordType": "SRV", "targets": ["0 5 443 web.example.net."]},
        {"dnsName": lab.at("caa"), "recordType": "CAA", "targets": ["0 issue letsencrypt.org"]},
    ])))
    .await;
    // As it is published, it has no conditions; Events say what became of it.
    told(&lab, "DNSEndpoint", "all", "Programmed").await;
    let observed = |object: &Value| object["status"]["observedGeneration"] == 1;
    let ready = lab.wait("DNSEndpoint", "all", "its generation", observed).await;
    assert_eq!(lab.contents().len(), 5, "{:?}", lab.contents());
    assert_eq!(lab.record("a", "A")["proxied"], true);
    assert_eq!(lab.record("mx", "MX")["ttl"], 300);
    // A restart says it again to nobody.
    lab.kill().await;
    lab.run();
    lab.scan().await;
    let again = lab.get("DNSEndpoint", "all").await.expect("the DNSEndpoint");
    assert_eq!(again["metadata"]["resourceVersion"], ready["metadata"]["resourceVersion"]);
    // A value that can't be read is named; the others and what was there stay.
    lab.apply(&endpoint(json!([
        {"dnsName": lab.at("a"), "recordType": "A", "targets": ["not an address"]},
        {"dnsName": lab.at("txt"), "recordType": "TXT", "targets": ["hello"]},
    ])))
    .await;
    let message = told(&lab, "DNSEndpoint", "all", "InvalidValue").await;
    assert!(message.contains("not an IPv4 address"), "{message}");
    assert!(lab.contents().contains(&"a A 192.0.2.1".to_owned()), "{:?}", lab.contents());
}

/// A Service without an address of its own, with one Pod and its EndpointSlice.
async fn headless(lab: &Lab<'_>, name: &str, address: &str) {
    let annotations = json!({"external-dns.kubernetes.io/hostname": lab.at(name)});
    let service = service(name, annotations).with("type", "ClusterIP").with("clusterIP", "None");
    lab.apply(&service.with("selector", json!({"app": name}))).await;
    let member = format!("{name}-0");
    pod(lab, &member, json!({"app": name}), address).await;
    lab.apply(&Manifest(json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": format!("{name}-1"), "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"port": 80}],
        "endpoints": [{
            "addresses": [address], "conditions": {"ready": true},
            "targetRef": {"kind": "Pod", "name": member, "namespace": lab.home.name()},
        }],
    })))
    .await;
}

async fn pod(lab: &Lab<'_>, name: &str, labels: Value, address: &str) {
    lab.apply(&Manifest(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"hostname": name, "containers": [{"name": "c", "image": "example.net/none"}]},
    })))
    .await;
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let status =
        json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": ready});
    lab.patch_status("Pod", name, json!({"status": status})).await;
}
