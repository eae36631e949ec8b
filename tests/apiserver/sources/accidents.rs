//! What is merely not there deletes nothing (law 5).

use control_plane::{ControlPlane, Options};
use kube::api::DeleteParams;
use serde_json::json;

use super::{
    accept, balance, gateway, give_addresses, http_route, ingress, lab_with, read_as, reading, service,
    stays, told,
};
use crate::support::{Lab, objects, plane};

#[tokio::test]
async fn an_empty_load_balancer_status_deletes_nothing() {
    let lab = lab_with("emptied", &["Service", "Ingress"]).await;
    let hostname = |host: &str| json!({"external-dns.kubernetes.io/hostname": lab.at(host)});
    lab.apply(&service("web", hostname("www"))).await;
    balance(&lab, "Service", "web", &["192.0.2.1"]).await;
    lab.wait_contents(&["www A 192.0.2.1"]).await;
    balance(&lab, "Service", "web", &[]).await;
    told(&lab, "Service", "web", "TargetsUnknown").await;
    stays(&lab, &["www A 192.0.2.1"]).await;
    balance(&lab, "Service", "web", &["192.0.2.9"]).await;
    lab.wait_contents(&["www A 192.0.2.9"]).await;
    // A Service that is no load balancer any more wants nothing.
    lab.patch("Service", "web", json!({"spec": {"type": "ClusterIP"}})).await;
    lab.wait_contents(&[]).await;
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

#[tokio::test]
async fn a_gateway_without_addresses_and_a_route_that_is_not_accepted_delete_nothing() {
    let lab = lab_of_routes("route-accidents").await;
    for name in ["api", "web"] {
        lab.apply(&http_route(&lab, name, "edge", &[name])).await;
        accept(&lab, "HTTPRoute", name, true).await;
    }
    let both = ["api A 192.0.2.7", "web A 192.0.2.7"];
    lab.wait_contents(&both).await;
    accept(&lab, "HTTPRoute", "api", false).await;
    told(&lab, "HTTPRoute", "api", "TargetsUnknown").await;
    give_addresses(&lab, "edge", &[]).await;
    told(&lab, "HTTPRoute", "web", "TargetsUnknown").await;
    stays(&lab, &both).await;
    // The accepted one follows; the other one is as it was.
    give_addresses(&lab, "edge", &["192.0.2.8"]).await;
    lab.wait_contents(&["api A 192.0.2.7", "web A 192.0.2.8"]).await;
}

#[tokio::test]
async fn what_goes_with_its_definition_was_deleted_by_nobody() {
    let own = plane::own(Options::default()).await;
    let lab = lab_of_routes_on(&own, "no-definition").await;
    lab.apply(&http_route(&lab, "api", "edge", &["api"])).await;
    accept(&lab, "HTTPRoute", "api", true).await;
    lab.wait_contents(&["api A 192.0.2.7"]).await;
    delete_definition(&lab, "httproutes").await;
    lab.wait_gone("CustomResourceDefinition", &definition("httproutes")).await;
    stays(&lab, &["api A 192.0.2.7"]).await;
    // Nor when the definition is back and the route is not: a person says what becomes of its record.
    plane::install_published(&own).await;
    lab.wait_reason("DNSZone", "zone", "Held").await;
    assert_eq!(lab.contents(), ["api A 192.0.2.7"]);
    // With its Gateway gone the same way the route says nothing new either.
    lab.apply(&http_route(&lab, "api", "edge", &["api"])).await;
    accept(&lab, "HTTPRoute", "api", true).await;
    lab.wait_ready("DNSZone", "zone").await;
    delete_definition(&lab, "gateways").await;
    lab.wait_gone("CustomResourceDefinition", &definition("gateways")).await;
    stays(&lab, &["api A 192.0.2.7"]).await;
    // What somebody deletes is deleted.
    lab.delete("HTTPRoute", "api").await;
    lab.wait_contents(&[]).await;
}

#[tokio::test]
async fn a_kind_that_may_not_be_read_keeps_its_records_and_says_which_rule_is_missing() {
    let own = plane::own(Options::default()).await;
    let lab = Lab::bare_on(&own, "revoked").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    lab.apply(&reading(&lab, &["Service", "Ingress"])).await;
    lab.run();
    lab.apply(&ingress(&lab, "web", &["www"])).await;
    balance(&lab, "Ingress", "web", &["192.0.2.1"]).await;
    let annotated = json!({"zonekeeper.dev/hostname": lab.at("api")});
    lab.apply(&service("api", annotated)).await;
    balance(&lab, "Service", "api", &["192.0.2.2"]).await;
    lab.wait_contents(&["api A 192.0.2.2", "www A 192.0.2.1"]).await;
    let mut role = lab.get("ClusterRole", "zonekeeper").await.expect("the role that we ship");
    let rules = role["rules"].as_array_mut().expect("rules");
    let all = rules.clone();
    rules.retain(|rule| rule["resources"] != json!(["ingresses"]));
    assert!(rules.len() < all.len());
    lab.patch("ClusterRole", "zonekeeper", json!({"rules": rules})).await;
    // A watch that is under way goes on as long as the API server lets it.
    lab.kill().await;
    lab.delete("Ingress", "web").await;
    lab.run();
    let message = lab.wait_reason("DNSZone", "zone", "SourceForbidden").await;
    assert!(message.contains("ingresses.networking.k8s.io") && message.contains("list"), "{message}");
    stays(&lab, &["api A 192.0.2.2", "www A 192.0.2.1"]).await;
    // The others go on.
    balance(&lab, "Service", "api", &["192.0.2.3"]).await;
    lab.wait_contents(&["api A 192.0.2.3", "www A 192.0.2.1"]).await;
    lab.patch("ClusterRole", "zonekeeper", json!({"rules": all})).await;
    lab.wait_contents(&["api A 192.0.2.3"]).await;
    lab.wait_ready("DNSZone", "zone").await;
}

#[tokio::test]
async fn a_narrowed_reading_of_any_sort_leaves_orphans() {
    let lab = Lab::ready_to_run("narrowed").await;
    let wide = json!({
        "kinds": ["Ingress", "Service"],
        "annotationPrefixes": ["dns.example.net/"],
    });
    lab.apply(&read_as(&lab, wide.clone())).await;
    lab.run();
    lab.apply(&service("own", json!({"zonekeeper.dev/hostname": lab.at("own")}))).await;
    lab.apply(&service("theirs", json!({"external-dns.kubernetes.io/hostname": lab.at("theirs")}))).await;
    lab.apply(&service("further", json!({"dns.example.net/hostname": lab.at("further")}))).await;
    for name in ["own", "theirs", "further"] {
        balance(&lab, "Service", name, &["192.0.2.1"]).await;
    }
    let all = ["further A 192.0.2.1", "own A 192.0.2.1", "theirs A 192.0.2.1"];
    lab.wait_contents(&all).await;
    lab.wait_ready("DNSZone", "zone").await;
    let narrowed = |field: &str, value: serde_json::Value| {
        let mut sources = wide.clone();
        sources[field] = value;
        sources
    };
    for sources in [
        narrowed("kinds", json!(["Ingress"])),
        narrowed("dialects", json!(["zonekeeper"])),
        narrowed("dialects", json!(["cloudflare-operator"])),
        narrowed("annotationPrefixes", json!([])),
        narrowed("labelSelector", json!({"matchLabels": {"dns": "public"}})),
        narrowed("annotationSelector", json!({"matchLabels": {"dns": "public"}})),
    ] {
        let before = lab.mark();
        lab.apply(&read_as(&lab, sources.clone())).await;
        lab.wait_reason("DNSZone", "zone", "Held").await;
        stays(&lab, &all).await;
        lab.apply(&read_as(&lab, wide.clone())).await;
        lab.wait_ready("DNSZone", "zone").await;
        assert_eq!(lab.changes_since(before), [""; 0], "{sources}");
    }
}

#[tokio::test]
async fn names_of_another_template_go_by_approval() {
    let lab = Lab::ready_to_run("template").await;
    let templated = |under: &str| {
        let template = format!("{{{{.Name}}}}.{under}.{}", lab.domain);
        // Without a grant: the template would name everybody's Services.
        lab.dns_zone().with("sources", json!({"kinds": ["Service"], "fqdnTemplate": template}))
    };
    lab.apply(&templated("old")).await;
    lab.run();
    for name in ["one", "two"] {
        lab.apply(&service(name, json!({}))).await;
        balance(&lab, "Service", name, &["192.0.2.1"]).await;
    }
    lab.wait_contents(&["one.old A 192.0.2.1", "two.old A 192.0.2.1"]).await;
    lab.wait_ready("DNSZone", "zone").await;
    // A template that is gone by mistake.
    lab.apply(&lab.dns_zone().with("sources", json!({"kinds": ["Service"]}))).await;
    lab.wait_reason("DNSZone", "zone", "Held").await;
    stays(&lab, &["one.old A 192.0.2.1", "two.old A 192.0.2.1"]).await;
    // Another one: its names come beside the old ones.
    lab.apply(&templated("new")).await;
    let all = ["one.new A 192.0.2.1", "one.old A 192.0.2.1", "two.new A 192.0.2.1", "two.old A 192.0.2.1"];
    lab.wait_contents(&all).await;
    let zone = lab.wait("DNSZone", "zone", "its plan", |zone| zone["status"]["plan"]["held"] == 2).await;
    let hash = zone["status"]["plan"]["hash"].as_str().expect("a hash");
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", hash).await;
    lab.wait_contents(&["one.new A 192.0.2.1", "two.new A 192.0.2.1"]).await;
    lab.wait_ready("DNSZone", "zone").await;
    // From then on what an object asks for no more is its own word again.
    lab.apply(&service("one", json!({"zonekeeper.dev/hostname": lab.at("one")}))).await;
    lab.wait_contents(&["one A 192.0.2.1", "two.new A 192.0.2.1"]).await;
}

#[tokio::test]
async fn a_zone_that_is_created_again_deletes_nothing_that_it_reads_no_more() {
    let lab = Lab::ready_to_run("created-again").await;
    let template = format!("{{{{.Name}}}}.made.{}", lab.domain);
    lab.apply(&lab.dns_zone().with("sources", json!({"kinds": ["Service"], "fqdnTemplate": template}))).await;
    lab.run();
    for name in ["one", "two"] {
        lab.apply(&service(name, json!({}))).await;
        balance(&lab, "Service", name, &["192.0.2.1"]).await;
    }
    let both = ["one.made A 192.0.2.1", "two.made A 192.0.2.1"];
    lab.wait_contents(&both).await;
    lab.wait_ready("DNSZone", "zone").await;
    lab.kill().await;
    lab.patch("DNSZone", "zone", json!({"metadata": {"finalizers": null}})).await;
    lab.delete("DNSZone", "zone").await;
    lab.wait_gone("DNSZone", "zone").await;
    lab.apply(&lab.dns_zone().with("sources", json!({"kinds": ["Service"]}))).await;
    lab.run();
    lab.wait_reason("DNSZone", "zone", "Held").await;
    stays(&lab, &both).await;
    // An object that is deleted takes its record with it.
    lab.delete("Service", "two").await;
    lab.scan().await;
    lab.wait_contents(&["one.made A 192.0.2.1"]).await;
    // What the object itself gives up under this reading is its own word again once the rest is accounted for.
    let zone = lab.wait("DNSZone", "zone", "its plan", |zone| zone["status"]["plan"]["held"] == 1).await;
    let hash = zone["status"]["plan"]["hash"].as_str().expect("a hash");
    lab.annotate("DNSZone", "zone", "zonekeeper.dev/approve-plan", hash).await;
    lab.wait_contents(&[]).await;
    lab.wait_ready("DNSZone", "zone").await;
    lab.apply(&service("one", json!({"zonekeeper.dev/hostname": lab.at("own")}))).await;
    lab.wait_contents(&["own A 192.0.2.1"]).await;
    lab.apply(&service("one", json!({"zonekeeper.dev/hostname": lab.at("other")}))).await;
    lab.wait_contents(&["other A 192.0.2.1"]).await;
}

#[tokio::test]
async fn what_another_owner_published_from_an_object_is_not_the_objects_word() {
    let lab = Lab::ready_to_run("taken-over").await;
    let registry = json!({"type": "TXT", "ownerID": "us", "takeOverFrom": ["theirs"]});
    lab.apply(&lab.provider().with("registry", registry)).await;
    lab.apply(&reading(&lab, &["Service"])).await;
    let annotated = |host: &str| json!({"zonekeeper.dev/hostname": lab.at(host)});
    lab.apply(&service("web", annotated("www"))).await;
    balance(&lab, "Service", "web", &["192.0.2.1"]).await;
    // ExternalDNS read it with a template, and something else that is gone.
    for (name, object) in [("www", "web"), ("web.made", "web"), ("gone", "gone")] {
        lab.seed(name, "A", "192.0.2.1");
        let resource = format!("service/{}/{object}", lab.home.name());
        let text =
            format!("\"heritage=external-dns,external-dns/owner=theirs,external-dns/resource={resource}\"");
        lab.seed(&format!("a-{name}"), "TXT", &text);
    }
    let data =
        || -> Vec<String> { lab.contents().into_iter().filter(|line| !line.contains(" TXT ")).collect() };
    lab.run();
    lab.wait_reason("DNSZone", "zone", "Held").await;
    control_plane::eventually("what is left", control_plane::DEADLINE, async || match data() {
        found if found == ["web.made A 192.0.2.1", "www A 192.0.2.1"] => Ok(()),
        found => Err(found),
    })
    .await;
    lab.scan().await;
    lab.kill().await;
    lab.run();
    lab.scan().await;
    assert_eq!(data(), ["web.made A 192.0.2.1", "www A 192.0.2.1"]);
    // What we published ourselves follows its object at once, though the rest waits for a person.
    lab.apply(&service("web", annotated("new"))).await;
    control_plane::eventually("the new name", control_plane::DEADLINE, async || match data() {
        found if found == ["new A 192.0.2.1", "web.made A 192.0.2.1"] => Ok(()),
        found => Err(found),
    })
    .await;
}

#[tokio::test]
async fn a_hash_may_stand_for_a_kind_that_is_not_installed() {
    let own = plane::own(Options::default()).await;
    let lab = lab_of_routes_on(&own, "hashed").await;
    // Beside so long a comment there is room for a hash only.
    let comment = "x".repeat(450);
    let route = http_route(&lab, "api", "edge", &["api"]).annotated("zonekeeper.dev/comment", &comment);
    lab.apply(&route).await;
    accept(&lab, "HTTPRoute", "api", true).await;
    lab.wait_contents(&["api A 192.0.2.7"]).await;
    let marked = lab.record("api", "A")["comment"].as_str().expect("a comment").to_owned();
    assert!(marked.contains("zk1:") && !marked.contains("httproute"), "{marked}");
    lab.kill().await;
    delete_definition(&lab, "httproutes").await;
    lab.wait_gone("CustomResourceDefinition", &definition("httproutes")).await;
    lab.apply(&reading(&lab, &["Ingress", "Service"])).await;
    lab.apply(&ingress(&lab, "web", &["www"])).await;
    balance(&lab, "Ingress", "web", &["192.0.2.1"]).await;
    lab.run();
    lab.wait_reason("DNSZone", "zone", "Held").await;
    stays(&lab, &["api A 192.0.2.7", "www A 192.0.2.1"]).await;
}

async fn lab_of_routes(name: &str) -> Lab<'static> {
    let plane = plane::with_published_definitions().await;
    lab_of_routes_on(plane, name).await
}

/// A lab with a Gateway `edge`, whose zone reads HTTPRoutes.
async fn lab_of_routes_on<'a>(plane: &'a ControlPlane, name: &str) -> Lab<'a> {
    plane::install_published(plane).await;
    let lab = Lab::bare_on(plane, name).await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    lab.apply(&reading(&lab, &["HTTPRoute"])).await;
    lab.run();
    lab.apply(&gateway("edge")).await;
    give_addresses(&lab, "edge", &["192.0.2.7"]).await;
    lab
}

fn definition(plural: &str) -> String {
    format!("{plural}.{}", super::GATEWAY_API)
}

async fn delete_definition(lab: &Lab<'_>, plural: &str) {
    let api = objects::api(lab.home.client(), "CustomResourceDefinition", "");
    api.delete(&definition(plural), &DeleteParams::default()).await.expect("the API server deletes");
}
