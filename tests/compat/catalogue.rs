//! The manifests that both programs read, with the statuses that controllers would write.

use std::{
    fs,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use control_plane::{DEADLINE, eventually};
use futures::{StreamExt, stream};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::place::DOMAIN;

/// ExternalDNS's prefix, as the manifests are written.
pub const PREFIX: &str = "external-dns.kubernetes.io/";
/// Its prefix before 0.22.
pub const OLD_PREFIX: &str = "external-dns.alpha.kubernetes.io/";

/// What others refer to: Namespaces, Nodes, Gateways. No cases of their own.
pub const SURROUNDINGS: &str = "surroundings";
/// What both programs make the same records of.
pub const EQUAL: &[&str] =
    &["service", "headless", "node-port", "ingress", "http-route", "routes", "dns-endpoint", "node"];
/// What is written under both prefixes, whatever prefix the others have.
pub const BOTH_PREFIXES: &str = "both-prefixes";
/// What Zonekeeper deliberately reads in another way.
pub const DIFFERENT: &str = "differences";

/// The objects of a file under `manifests`, for a zone and an annotation prefix.
pub fn read(file: &str, domain: &str, prefix: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("compat/manifests/{file}.yaml"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = text.replace(DOMAIN, domain).replace(PREFIX, prefix);
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Creates objects, first the surroundings, then those that are to be older than others.
pub async fn install(client: &Client, surroundings: &[Value], cases: &[Value]) {
    for object in surroundings {
        put(client, object).await;
    }
    let (older, cases): (Vec<&Value>, Vec<&Value>) =
        cases.iter().partition(|object| !object["metadata"]["labels"]["older"].is_null());
    for object in &older {
        put(client, object).await;
    }
    if !older.is_empty() {
        age().await;
    }
    stream::iter(cases).for_each_concurrent(8, |object| put(client, object)).await;
}

/// Waits until what is created next is younger: Kubernetes counts age in seconds.
async fn age() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let created = now();
    eventually("the next second", DEADLINE, async || if now() > created { Ok(()) } else { Err(()) }).await;
}

/// Applies an object, then its status as its controller would.
pub async fn put(client: &Client, object: &Value) {
    let mut object = object.clone();
    let status =
        object.as_object_mut().and_then(|fields| fields.remove("status")).or_else(|| accepted(&object));
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (name, api) = (text("/metadata/name"), api_of(client, &object));
    let parameters = PatchParams::apply("manifests").force();
    let applied = api.patch(name, &parameters, &Patch::Apply(&object)).await;
    applied.unwrap_or_else(|error| panic!("{object}: {error}"));
    if let Some(status) = status {
        let patched =
            api.patch_status(name, &PatchParams::default(), &Patch::Merge(json!({"status": status}))).await;
        patched.unwrap_or_else(|error| panic!("the status of {name}: {error}"));
    }
}

/// The status of a route whose manifest has none: every Gateway that it names has accepted it.
fn accepted(object: &Value) -> Option<Value> {
    let parents = object.pointer("/spec/parentRefs")?.as_array()?;
    let accepted = json!([{
        "type": "Accepted", "status": "True", "reason": "Accepted", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]);
    let entry = |parent: &Value| json!({"parentRef": parent, "controllerName": "example.net/gateway", "conditions": accepted});
    Some(json!({"parents": parents.iter().map(entry).collect::<Vec<_>>()}))
}

fn api_of(client: &Client, object: &Value) -> Api<DynamicObject> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("/kind")));
    match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    }
}
