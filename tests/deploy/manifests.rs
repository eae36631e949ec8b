//! What the manifests say among themselves; no cluster is needed to see it.

use serde_json::{Value, json};

use crate::kubectl::root;

fn manifest(file: &str) -> Value {
    serde_saphyr::from_str(&std::fs::read_to_string(root().join("deploy").join(file)).unwrap()).unwrap()
}

fn pod() -> Value {
    manifest("deployment.yaml")["spec"]["template"].clone()
}

#[test]
fn every_manifest_is_installed() {
    let listed = manifest("kustomization.yaml")["resources"].clone();
    let listed: Vec<&str> = listed.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let mut found = 0;
    for folder in ["", "crds/", "rbac/"] {
        for entry in std::fs::read_dir(root().join("deploy").join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("{folder}{name}");
            if name.ends_with(".yaml") && name != "kustomization.yaml" && name != "install.yaml" {
                assert!(listed.contains(&&*path), "kustomization.yaml does not list {path}");
                found += 1;
            }
        }
    }
    assert_eq!(found, listed.len());
}

#[test]
fn install_yaml_has_the_same_objects() {
    let read = |file: &str| std::fs::read_to_string(root().join("deploy").join(file)).unwrap();
    let documents = |text: &str| -> Vec<Value> {
        let documents = text.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap());
        documents.filter(|document: &Value| !document.is_null()).collect()
    };
    let listed = manifest("kustomization.yaml")["resources"].clone();
    let listed = listed.as_array().unwrap().iter().filter_map(Value::as_str);
    let wanted: Vec<Value> = listed.flat_map(|file| documents(&read(file))).collect();
    assert_eq!(wanted.len(), 17);
    assert_eq!(documents(&read("install.yaml")), wanted);
}

#[test]
fn the_image_has_the_version_of_the_program() {
    let image = pod()["spec"]["containers"][0]["image"].clone();
    assert_eq!(image, format!("zonekeeper/zonekeeper:{}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_container_has_no_more_than_it_needs() {
    let pod = pod()["spec"].clone();
    let container = &pod["containers"][0];
    assert_eq!(pod["securityContext"]["runAsUser"], 65532);
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    for kind in ["requests", "limits"] {
        for resource in ["cpu", "memory"] {
            assert!(container["resources"][kind][resource].is_string(), "{kind} {resource}");
        }
    }
}

#[test]
fn the_selectors_mean_our_pods() {
    let labels = pod()["metadata"]["labels"].clone();
    assert_eq!(
        labels,
        json!({"app.kubernetes.io/name": "zonekeeper", "app.kubernetes.io/instance": "zonekeeper"})
    );
    assert_eq!(manifest("deployment.yaml")["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(manifest("poddisruptionbudget.yaml")["spec"]["selector"]["matchLabels"], labels);
    assert_eq!(manifest("networkpolicy.yaml")["spec"]["podSelector"]["matchLabels"], labels);
    assert_eq!(manifest("service.yaml")["spec"]["selector"], labels);
}

#[test]
fn one_port_is_served_probed_and_let_in() {
    let pod = pod()["spec"].clone();
    let container = &pod["containers"][0];
    assert_eq!(container["ports"], json!([{"name": "http", "containerPort": 8080}]));
    for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
        assert_eq!(container[probe]["httpGet"], json!({"path": path, "port": "http"}));
    }
    let policy = manifest("networkpolicy.yaml");
    assert_eq!(policy["spec"]["ingress"], json!([{"ports": [{"protocol": "TCP", "port": 8080}]}]));
}
