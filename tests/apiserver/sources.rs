//! Ingresses, Services, routes and DNSEndpoints become records, and no accident of theirs becomes an outage.

use serde_json::{Value, json};

use crate::support::{Lab, Manifest, objects, plane};

/// A lab whose zone takes source objects of these kinds from everywhere.
async fn lab_with(name: &str, kinds: &[&str]) -> Lab<'static> {
    let lab = Lab::ready_to_run(name).await;
    lab.apply(&reading(&lab, kinds)).await;
    lab.run();
    lab.wait_ready("DNSZone", "zone").await;
    lab
}

fn reading(lab: &Lab<'_>, kinds: &[&str]) -> Manifest {
    let grant = json!([{"namespaces": {"from": "All"}, "adoption": "Identical"}]);
    lab.dns_zone().with("sources", json!({"kinds": kinds})).with("allowedRecords", grant)
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

/// Waits for a Warning or a Normal Event of this reason.
async fn told(lab: &Lab<'_>, kind: &str, name: &str, reason: &str) -> String {
    control_plane::eventually(&format!("{kind} {name}: {reason}"), control_plane::DEADLINE, async || {
        let events = lab.events(kind, name).await;
        match events.iter().find(|event| event.reason == reason) {
            Some(event) => Ok(event.note.clone()),
            None => Err(events),
        }
    })
    .await
}

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
async fn an_empty_load_balancer_status_deletes_nothing() {
    let lab = lab_with("emptied", &["Service", "Ingress"]).await;
    let hostname = |host: &str| json!({"external-dns.kubernetes.io/hostname": lab.at(host)});
    lab.apply(&service("web", hostname("www"))).await;
    balance(&lab, "Service", "web", &["192.0.2.1"]).await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    balance(&lab, "Service", "web", &[]).await;
    told(&lab, "Service", "web", "TargetsUnknown").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    // Nor after a restart in that state.
    lab.kill().await;
    lab.run();
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    balance(&lab, "Service", "web", &["192.0.2.9"]).await;
    lab.wait_contents(&["www A 192.0.2.9"]).await;
    // A Service that is no load balancer any more wants nothing.
    lab.patch("Service", "web", json!({"spec": {"type": "ClusterIP"}})).await;
    lab.wait_contents(&[]).await;
}

#[tokio::test]
async fn without_a_grant_there_is_an_event_and_no_record() {
    let lab = Lab::ready_to_run("no-grant").await;
    lab.apply(&lab.dns_zone().with("sources", json!({}))).await;
    lab.run();
    let tenant = lab.tenant(json!({})).await;
    let stranger = ingress(&lab, "web", &["www"]).in_namespace(tenant.name());
    lab.apply(&stranger).await;
    balance(&lab, "Ingress", &format!("{}/web", tenant.name()), &["192.0.2.1"]).await;
    let note = told(&lab, "Ingress", &format!("{}/web", tenant.name()), "NotAllowed").await;
    assert!(note.contains("allowedRecords"), "{note}");
    // The zone's own namespace needs none.
    lab.apply(&ingress(&lab, "own", &["own"])).await;
    balance(&lab, "Ingress", "own", &["192.0.2.2"]).await;
    lab.wait_contents(&["own A 192.0.2.2"]).await;
}

#[tokio::test]
async fn a_kind_that_is_read_no_more_leaves_orphans() {
    let lab = lab_with("narrowed-kind", &["Service", "Ingress"]).await;
    lab.apply(&ingress(&lab, "web", &["www"])).await;
    balance(&lab, "Ingress", "web", &["192.0.2.1"]).await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    lab.apply(&reading(&lab, &["Service"])).await;
    lab.wait_reason("DNSZone", "zone", "Held").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    lab.apply(&reading(&lab, &["Service", "Ingress"])).await;
    lab.wait_ready("DNSZone", "zone").await;
}

#[tokio::test]
async fn a_bad_annotation_is_told_and_keeps_the_record() {
    let lab = lab_with("bad-annotation", &["Service"]).await;
    let annotated = |ttl: &str| json!({"zonekeeper.dev/hostname": lab.at("www"), "zonekeeper.dev/ttl": ttl});
    lab.apply(&service("web", annotated("120"))).await;
    balance(&lab, "Service", "web", &["192.0.2.1"]).await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    assert_eq!(lab.record("www", "A")["ttl"], 120);
    lab.apply(&service("web", annotated("soon"))).await;
    let note = told(&lab, "Service", "web", "InvalidValue").await;
    assert!(note.contains("zonekeeper.dev/ttl") && note.contains("seconds"), "{note}");
    lab.scan().await;
    assert_eq!(
        (lab.contents(), lab.record("www", "A")["ttl"].clone()),
        (vec!["www A 192.0.2.1".into()], json!(120))
    );
}

#[tokio::test]
async fn a_zone_annotation_that_names_nobody_deletes_nothing() {
    let lab = lab_with("zone-annotation", &["Service"]).await;
    let annotated =
        |zone: &str| json!({"zonekeeper.dev/hostname": lab.at("www"), "zonekeeper.dev/zone": zone});
    lab.apply(&service("web", annotated("zone"))).await;
    balance(&lab, "Service", "web", &["192.0.2.1"]).await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    lab.apply(&service("web", annotated("nowhere"))).await;
    told(&lab, "Service", "web", "RefNotFound").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
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
