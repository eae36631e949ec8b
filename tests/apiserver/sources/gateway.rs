//! Routes under the Gateway API's own definitions.

use serde_json::json;

use super::{accept, gateway, give_addresses, http_route, read_as, route, told};
use crate::support::{Lab, Manifest, plane};

const ROUTES: [&str; 5] = ["HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"];

/// A lab with a Gateway `edge` that has an address, whose zone reads these kinds.
async fn lab_with(name: &str, kinds: &[&str]) -> Lab<'static> {
    plane::with_published_definitions().await;
    let lab = Lab::ready_to_run(name).await;
    lab.apply(&read_as(&lab, json!({"kinds": kinds}))).await;
    lab.run();
    lab.apply(&gateway("edge")).await;
    give_addresses(&lab, "edge", &["192.0.2.7", "2001:db8::7"]).await;
    lab
}

#[tokio::test]
async fn routes_of_every_kind_are_published_and_cleaned_up() {
    let lab = lab_with("routes", &ROUTES).await;
    let mut edge = gateway("edge").0;
    let protocols = [("http", "HTTP"), ("tls", "TLS"), ("tcp", "TCP"), ("udp", "UDP")];
    let listeners = protocols.iter().enumerate().map(|(number, (name, protocol))| {
        let mut listener = json!({"name": name, "port": 8000 + number, "protocol": protocol});
        if *protocol == "TLS" {
            listener["tls"] = json!({"mode": "Passthrough"});
        }
        listener
    });
    edge["spec"]["listeners"] = listeners.collect();
    lab.apply(&Manifest(edge)).await;
    for kind in ROUTES {
        let host = lab.at(&kind.to_lowercase());
        let of_kind = route(kind, "one", "edge");
        let of_kind = match kind {
            // These have no hostnames of their own.
            "TCPRoute" | "UDPRoute" => of_kind.annotated("external-dns.kubernetes.io/hostname", &host),
            _others => of_kind.with("hostnames", json!([host])),
        };
        lab.apply(&of_kind).await;
        accept(&lab, kind, "one", true).await;
    }
    let mut expected: Vec<String> = ROUTES
        .iter()
        .flat_map(|kind| {
            ["A 192.0.2.7", "AAAA 2001:db8::7"].map(|value| format!("{} {value}", kind.to_lowercase()))
        })
        .collect();
    expected.sort();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    lab.wait_contents(&expected).await;
    give_addresses(&lab, "edge", &["192.0.2.8"]).await;
    let mut expected: Vec<String> =
        ROUTES.iter().map(|kind| format!("{} A 192.0.2.8", kind.to_lowercase())).collect();
    expected.sort();
    // Five of ten sets would be too many for the guard: it holds them, and a person lets them go.
    let zone = lab.wait("DNSZone", "zone", "its plan", |zone| zone["status"]["plan"]["held"] == 5).await;
    let hash = zone["status"]["plan"]["hash"].as_str().expect("a hash");
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", hash).await;
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    lab.wait_contents(&expected).await;
}

#[tokio::test]
async fn hosts_are_those_that_route_and_listener_share() {
    let lab = lab_with("listeners", &["HTTPRoute"]).await;
    let mut edge = gateway("edge").0;
    edge["spec"]["listeners"] = json!([
        {"name": "wild", "port": 80, "protocol": "HTTP", "hostname": lab.at("*.apps")},
        {"name": "one", "port": 81, "protocol": "HTTP", "hostname": lab.at("one")},
        {"name": "strangers", "port": 82, "protocol": "HTTP", "hostname": lab.at("strangers"),
         "allowedRoutes": {"namespaces": {"from": "All"}}},
    ]);
    lab.apply(&Manifest(edge)).await;
    give_addresses(&lab, "edge", &["192.0.2.7"]).await;
    lab.apply(&http_route(&lab, "both", "edge", &["web.apps", "elsewhere"])).await;
    let section = json!([{"name": "edge", "sectionName": "one"}]);
    lab.apply(&http_route(&lab, "section", "edge", &[]).with("parentRefs", section)).await;
    for name in ["both", "section"] {
        accept(&lab, "HTTPRoute", name, true).await;
    }
    let tenant = lab.tenant(json!({})).await;
    let parents = json!([{"name": "edge", "namespace": lab.home.name()}]);
    let theirs = http_route(&lab, "theirs", "edge", &["strangers", "one"]).with("parentRefs", parents);
    lab.apply(&theirs.in_namespace(tenant.name())).await;
    accept(&lab, "HTTPRoute", &format!("{}/theirs", tenant.name()), true).await;
    lab.wait_contents(&["one A 192.0.2.7", "strangers A 192.0.2.7", "web.apps A 192.0.2.7"]).await;
}

#[tokio::test]
async fn a_route_may_say_where_it_goes_and_inherits_what_its_gateway_says() {
    let lab = lab_with("inheriting", &["HTTPRoute", "Gateway"]).await;
    let edge = gateway("edge").annotated("zonekeeper.dev/ttl", "120");
    lab.apply(&edge.annotated("zonekeeper.dev/hostname", &lab.at("edge"))).await;
    give_addresses(&lab, "edge", &["192.0.2.7"]).await;
    lab.apply(&http_route(&lab, "plain", "edge", &["plain"])).await;
    let aimed = http_route(&lab, "aimed", "edge", &["aimed"]);
    lab.apply(&aimed.annotated("zonekeeper.dev/target", "192.0.2.9")).await;
    for name in ["plain", "aimed"] {
        accept(&lab, "HTTPRoute", name, true).await;
    }
    lab.wait_contents(&["aimed A 192.0.2.9", "edge A 192.0.2.7", "plain A 192.0.2.7"]).await;
    assert_eq!(lab.record("plain", "A")["ttl"], 120);
}

#[tokio::test]
async fn a_gateway_behind_a_service_has_the_address_of_its_load_balancer() {
    let lab = lab_with("behind", &["HTTPRoute"]).await;
    lab.apply(&super::service("proxy", json!({}))).await;
    let address =
        json!({"type": "Hostname", "value": format!("proxy.{}.svc.cluster.local", lab.home.name())});
    lab.patch_status("Gateway", "edge", json!({"status": {"addresses": [address]}})).await;
    lab.apply(&http_route(&lab, "api", "edge", &["api"])).await;
    accept(&lab, "HTTPRoute", "api", true).await;
    told(&lab, "HTTPRoute", "api", "TargetsUnknown").await;
    super::balance(&lab, "Service", "proxy", &["192.0.2.5"]).await;
    lab.wait_contents(&["api A 192.0.2.5"]).await;
    super::balance(&lab, "Service", "proxy", &["192.0.2.6"]).await;
    lab.wait_contents(&["api A 192.0.2.6"]).await;
}

#[tokio::test]
async fn a_listener_set_adds_hosts_to_its_gateway() {
    let lab = lab_with("listener-set", &["HTTPRoute"]).await;
    let mut edge = gateway("edge").0;
    edge["spec"]["allowedListeners"] = json!({"namespaces": {"from": "Same"}});
    lab.apply(&Manifest(edge)).await;
    give_addresses(&lab, "edge", &["192.0.2.7"]).await;
    lab.apply(&Manifest(json!({
        "apiVersion": format!("{}/v1", super::GATEWAY_API),
        "kind": "ListenerSet",
        "metadata": {"name": "more"},
        "spec": {
            "parentRef": {"name": "edge"},
            "listeners": [{"name": "extra", "port": 80, "protocol": "HTTP", "hostname": lab.at("extra")}],
        },
    })))
    .await;
    let parents = json!([{"group": super::GATEWAY_API, "kind": "ListenerSet", "name": "more"}]);
    lab.apply(&http_route(&lab, "extra", "edge", &[]).with("parentRefs", parents)).await;
    accept(&lab, "HTTPRoute", "extra", true).await;
    accept_listener(&lab, true).await;
    lab.wait_contents(&["extra A 192.0.2.7"]).await;
    // A listener that loses its Gateway's consent takes no record with it.
    accept_listener(&lab, false).await;
    told(&lab, "HTTPRoute", "extra", "TargetsUnknown").await;
    super::stays(&lab, &["extra A 192.0.2.7"]).await;
}

/// Says of the ListenerSet's one listener whether its Gateway takes it.
async fn accept_listener(lab: &Lab<'_>, is_accepted: bool) {
    let condition = |is_true: bool| {
        let status = if is_true { "True" } else { "False" };
        json!([{"type": "Accepted", "status": status, "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}])
    };
    let listener = json!({
        "name": "extra", "attachedRoutes": 1, "supportedKinds": [], "conditions": condition(is_accepted),
    });
    let status = json!({"conditions": condition(true), "listeners": [listener]});
    lab.patch_status("ListenerSet", "more", json!({"status": status})).await;
}

#[tokio::test]
async fn no_team_loses_a_record_to_an_edit_of_the_shared_gateway() {
    let lab = lab_with("narrowing", &["HTTPRoute"]).await;
    let tenant = lab.tenant(json!({"team": "a"})).await;
    let parents = json!([{"name": "edge", "namespace": lab.home.name(), "sectionName": "http"}]);
    for name in ["one", "two"] {
        let theirs = http_route(&lab, name, "edge", &[name]).with("parentRefs", parents.clone());
        lab.apply(&theirs.in_namespace(tenant.name())).await;
        accept(&lab, "HTTPRoute", &format!("{}/{name}", tenant.name()), true).await;
    }
    give_addresses(&lab, "edge", &["192.0.2.7"]).await;
    let both = ["one A 192.0.2.7", "two A 192.0.2.7"];
    lab.wait_contents(&both).await;
    let mark = lab.mark();
    let listener = |changes: serde_json::Value| {
        let mut edge = gateway("edge").0;
        for (field, value) in changes.as_object().expect("fields") {
            edge["spec"]["listeners"][0][field] = value.clone();
        }
        Manifest(edge)
    };
    let selected = json!({"from": "Selector", "selector": {"matchLabels": {"team": "b"}}});
    for narrowed in [
        listener(json!({"hostname": lab.at("shop")})),
        listener(json!({"name": "renamed"})),
        listener(json!({"allowedRoutes": {"namespaces": {"from": "Same"}}})),
        listener(json!({"allowedRoutes": {"namespaces": selected}})),
        gateway("edge").annotated("external-dns.kubernetes.io/controller", "another"),
    ] {
        lab.apply(&narrowed).await;
        for name in ["one", "two"] {
            told(&lab, "HTTPRoute", &format!("{}/{name}", tenant.name()), "TargetsUnknown").await;
        }
        lab.scan().await;
        assert_eq!(lab.contents(), both, "{:#}", narrowed.0);
    }
    super::stays(&lab, &both).await;
    assert_eq!(lab.changes_since(mark), [""; 0], "what nobody gave up is not touched");
    // What the route itself gives up goes, whatever its Gateway says.
    let one = format!("{}/one", tenant.name());
    lab.patch("HTTPRoute", &one, json!({"spec": {"hostnames": [lab.at("other")]}})).await;
    lab.wait_contents(&["two A 192.0.2.7"]).await;
    // And with the route.
    lab.delete("HTTPRoute", &format!("{}/two", tenant.name())).await;
    lab.wait_contents(&[]).await;
}

#[tokio::test]
async fn a_restart_tells_nothing_new_of_routes() {
    let lab = lab_with("routes-restart", &["HTTPRoute"]).await;
    give_addresses(&lab, "edge", &["192.0.2.7"]).await;
    let names = ["one", "two", "three"];
    for name in names {
        lab.apply(&http_route(&lab, name, "edge", &[name])).await;
        accept(&lab, "HTTPRoute", name, true).await;
        told(&lab, "HTTPRoute", name, "Programmed").await;
    }
    let mut before = Vec::new();
    for name in names {
        before.push(lab.events("HTTPRoute", name).await);
    }
    lab.kill().await;
    lab.run();
    // Whatever the restart says is said before what is said of a new route.
    lab.apply(&http_route(&lab, "new", "edge", &["new"])).await;
    accept(&lab, "HTTPRoute", "new", true).await;
    told(&lab, "HTTPRoute", "new", "Programmed").await;
    lab.scan().await;
    for (name, before) in names.iter().zip(before) {
        assert_eq!(lab.events("HTTPRoute", name).await, before);
    }
}
