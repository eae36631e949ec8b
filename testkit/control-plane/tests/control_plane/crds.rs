//! Zonekeeper's definitions on a real API server: taken as written, and the examples with them.

use std::{fs, path::Path};

use control_plane::{ControlPlane, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::Value;

/// A control plane that knows our kinds.
pub async fn plane() -> &'static ControlPlane {
    let plane = ControlPlane::shared().await;
    plane.install_crds(&documents("deploy/crds").join("\n---\n")).await.unwrap();
    plane
}

/// Objects of one of our kinds.
pub fn objects(namespace: &Namespace<'_>, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("zonekeeper.dev", "v1alpha1", kind));
    match kind {
        "DNSProvider" => Api::all_with(namespace.client(), &resource),
        _ => Api::namespaced_with(namespace.client(), namespace.name(), &resource),
    }
}

#[tokio::test]
async fn all_four_are_kept_as_written() {
    let plane = plane().await;
    // Not as the type, which would turn integers into floats.
    let kind = ApiResource::erase::<CustomResourceDefinition>(&());
    let stored: Api<DynamicObject> = Api::all_with(plane.client(), &kind);
    let written = documents("deploy/crds");
    assert_eq!(written.len(), 4);
    for text in written {
        let written: Value = serde_saphyr::from_str(&text).unwrap();
        let name = written["metadata"]["name"].as_str().unwrap();
        let DynamicObject { data: stored, .. } = stored.get(name).await.unwrap();
        assert_eq!(
            stored["spec"]["versions"][0]["schema"], written["spec"]["versions"][0]["schema"],
            "{name}"
        );
        let conditions = stored["status"]["conditions"].as_array().unwrap();
        assert!(conditions.iter().all(|it| it["type"] != "NonStructuralSchema"), "{name}: {conditions:?}");
    }
}

#[tokio::test]
async fn the_examples_are_taken() {
    let namespace = plane().await.namespace("examples").await;
    let tried = PostParams { dry_run: true, ..PostParams::default() };
    for folder in ["examples/quickstart", "examples/cloudflare"] {
        for text in documents(folder) {
            for mut object in serde_saphyr::from_multiple::<DynamicObject>(&text).unwrap() {
                let kind = object.types.as_ref().unwrap().kind.clone();
                object.metadata.namespace = None;
                let name = object.metadata.name.clone().unwrap();
                let answer = objects(&namespace, &kind).create(&tried, &object).await;
                assert!(answer.is_ok(), "{folder}: {kind} {name}: {answer:?}");
            }
        }
    }
}

/// The YAML files of a folder.
fn documents(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|it| it == "yaml"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}
