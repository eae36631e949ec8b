//! The first steps of a user, on a control plane where nobody else is.

use control_plane::Options;
use serde_json::json;

use crate::support::{Lab, Manifest, address_source, objects, plane, records, secret, zone};

fn manifests(text: &str) -> Vec<Manifest> {
    let objects: Vec<serde_json::Value> = serde_saphyr::from_multiple(text).expect("YAML");
    objects.into_iter().map(Manifest).collect()
}

#[tokio::test]
async fn the_smallest_set_up_works_as_printed_and_cases_4_to_6() {
    let plane = plane::own(Options::default()).await;
    let lab = Lab::bare_on(&plane, "setup").await;
    let system = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "zonekeeper-system"}});
    objects::apply(plane.client(), &system).await.expect("a namespace");
    for object in plane::shipped("rbac/own-namespace.yaml") {
        objects::apply(plane.client(), &object).await.expect("the API server takes it");
    }
    lab.sim.zone("example.com", cloudflare_sim::Plan::Free);
    lab.run_plainly(&["--namespace", "zonekeeper-system"]);
    // Case 6: without a provider the zone says so, and is tried again.
    let without = zone("example.com").named("early").in_namespace("zonekeeper-system");
    let message = lab.not_ready(&without, "RefNotFound").await;
    assert!(message.contains("DNSProvider"), "{message}");
    lab.delete("DNSZone", "zonekeeper-system/early").await;
    lab.wait_gone("DNSZone", "zonekeeper-system/early").await;
    // As api.md prints it, but for where the API is and the token.
    let text = format!(
        "
apiVersion: v1
kind: Secret
metadata: {{name: cloudflare, namespace: zonekeeper-system}}
stringData: {{apiToken: {}}}
---
apiVersion: zonekeeper.dev/v1alpha1
kind: DNSProvider
metadata: {{name: cloudflare}}
spec: {{cloudflare: {{apiTokenSecretRef: {{name: cloudflare}}, baseURL: \"{}\"}}}}
---
apiVersion: zonekeeper.dev/v1alpha1
kind: DNSZone
metadata: {{name: example-com, namespace: zonekeeper-system}}
spec: {{domain: example.com, sources: {{}}, allowedRecords: [{{namespaces: {{from: All}}}}]}}
",
        lab.token,
        lab.sim.base_url()
    );
    for manifest in manifests(&text) {
        lab.apply(&manifest).await;
    }
    lab.wait_ready("DNSProvider", "cloudflare").await;
    // Case 4: the only provider is used where none is named.
    let ready = lab.wait_ready("DNSZone", "zonekeeper-system/example-com").await;
    assert_eq!(ready["status"]["provider"], "cloudflare");
    let www = records("www.example.com", "A", &["192.0.2.1"]);
    lab.ready(&www).await;
    // Case 5: with a second one, a new zone that names none asks for a name; what had the only one goes on.
    lab.apply(&secret("second", "apiToken", &lab.token).in_namespace("zonekeeper-system")).await;
    let second = lab.provider().named("second").without("controllerName");
    lab.ready(&second.with("cloudflare.apiTokenSecretRef", json!({"name": "second"}))).await;
    let late = zone("late.example.com").named("late").in_namespace("zonekeeper-system");
    let message = lab.not_ready(&late, "RefNotFound").await;
    assert!(message.contains("cloudflare, second") && message.contains("providerRef"), "{message}");
    lab.wait_ready("DNSZone", "zonekeeper-system/example-com").await;
    let mark = lab.mark();
    lab.patch(
        "DNSZone",
        "zonekeeper-system/example-com",
        json!({"spec": {"providerRef": {"name": "cloudflare"}}}),
    )
    .await;
    lab.wait_ready("DNSZone", "zonekeeper-system/example-com").await;
    lab.wait_ready("RecordSet", "www-example-com-a").await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
}

#[tokio::test]
async fn an_object_that_can_not_be_read_stops_nobody() {
    let plane = plane::own(Options::default()).await;
    let lab = Lab::bare_on(&plane, "unreadable").await;
    // Somebody has installed other definitions: the API server lets everything through.
    for kind in ["recordsets", "dnszones", "dnsproviders", "addresssources"] {
        let name = format!("{kind}.zonekeeper.dev");
        let definition = lab.get("CustomResourceDefinition", &name).await.expect("it is there");
        let mut versions = definition["spec"]["versions"].clone();
        let loose = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let schema = json!({"type": "object", "properties": {"spec": loose, "status": loose}});
        versions[0]["schema"]["openAPIV3Schema"] = schema;
        // A field that the schema does not have can't select.
        versions[0]["selectableFields"].take();
        lab.patch("CustomResourceDefinition", &name, json!({"spec": {"versions": versions}})).await;
    }
    let bad = |name: &str| lab.a(name, "192.0.2.1").with("values", json!({"not": "a list"}));
    control_plane::eventually("the definition is in force", control_plane::DEADLINE, async || {
        lab.try_apply(&bad("before")).await
    })
    .await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    lab.apply(&lab.dns_zone()).await;
    lab.run();
    // Listed with one, and watched with another: the good ones are served all the same.
    lab.ready(&lab.a("one", "192.0.2.1")).await;
    lab.apply(&bad("later")).await;
    lab.ready(&lab.a("two", "192.0.2.2")).await;
    // Each is reported on itself, whatever its kind.
    let zone = lab.dns_zone().named("later").with("interval", json!(["no text"]));
    let provider = lab.provider().named("later").with("rateLimit", "none");
    let source = address_source("later", json!({"static": {"not": "a list"}}));
    for other in [&zone, &provider, &source] {
        control_plane::eventually("the definition is in force", control_plane::DEADLINE, async || {
            lab.try_apply(other).await
        })
        .await;
    }
    let unreadable = [
        ("RecordSet", "before"),
        ("RecordSet", "later"),
        ("DNSZone", "later"),
        ("DNSProvider", "later"),
        ("AddressSource", "later"),
    ];
    for (kind, name) in unreadable {
        lab.wait(kind, name, "reported", |object| {
            let ready = crate::support::condition(object, "Ready");
            ready.is("False") && ready.reason == "InvalidValue" && ready.message.contains("can't be read")
        })
        .await;
    }
    // Once: what can't be read is not written again and again.
    let versions = async || {
        let mut versions = Vec::new();
        for (kind, name) in unreadable {
            let object = lab.get(kind, name).await.expect("it is there");
            versions.push(object["metadata"]["resourceVersion"].clone());
        }
        versions
    };
    let before = versions().await;
    lab.scan().await;
    lab.ready(&lab.a("two", "192.0.2.2").with("ttl", 300)).await;
    assert_eq!(versions().await, before);
    // One that was good keeps what it has.
    lab.apply(&bad("one")).await;
    lab.wait("RecordSet", "one", "reported", |object| {
        crate::support::condition(object, "Ready").reason == "InvalidValue"
    })
    .await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["one A 192.0.2.1", "two A 192.0.2.2"]);
    lab.ready(&lab.a("one", "192.0.2.3")).await;
    assert_eq!(lab.contents(), ["one A 192.0.2.3", "two A 192.0.2.2"]);
    // They can be deleted.
    for name in ["before", "later"] {
        lab.delete("RecordSet", name).await;
        lab.wait_gone("RecordSet", name).await;
    }
}
