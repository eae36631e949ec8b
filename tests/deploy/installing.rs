//! `kubectl apply -k deploy`.

use control_plane::{ControlPlane, Options, User};
use serde_json::{Value, json};

use crate::kubectl::{Kubectl, eventually_is, installed};

/// Which version of each object there is.
async fn versions(kubectl: &Kubectl) -> Vec<(String, String)> {
    let all = kubectl.get(&["-k", "deploy"]).await;
    let items = all["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| {
            let metadata = &item["metadata"];
            (format!("{} {}", item["kind"], metadata["name"]), metadata["resourceVersion"].to_string())
        })
        .collect()
}

#[tokio::test]
async fn installing_twice_changes_nothing_the_second_time() {
    let (_, kubectl) = installed().await;
    let before = versions(&kubectl).await;
    assert_eq!(before.len(), 17, "{before:?}");
    let answer = kubectl.run(&["apply", "--server-side", "-k", "deploy"]).await.succeeds();
    assert!(!answer.stderr.contains("Warning"), "{answer}");
    assert_eq!(versions(&kubectl).await, before);
}

#[tokio::test]
async fn the_pods_are_restricted_and_come_up_from_a_plain_apply() {
    let plane = ControlPlane::start(Options { controller_manager: true }).await.unwrap();
    let kubectl = Kubectl::new(&plane, &User::admin());
    let first = kubectl.run(&["apply", "-k", "deploy"]).await.succeeds();
    assert!(!first.stderr.contains("Warning"), "{first}");
    kubectl.established().await;
    let second = kubectl.run(&["apply", "-k", "deploy"]).await.succeeds();
    // kubectl says "configured" of every PodDisruptionBudget: its selector is replaced, not merged.
    let is_news = |line: &&str| !line.ends_with(" unchanged") && !line.starts_with("poddisruptionbudget");
    let changed: Vec<&str> = second.stdout.lines().filter(is_news).collect();
    assert!(changed.is_empty(), "{changed:?}");
    let budget =
        kubectl.get(&["poddisruptionbudget", "zonekeeper", "--namespace", "zonekeeper-system"]).await;
    assert_eq!(budget["metadata"]["generation"], 1);
    eventually_is("two pods are made", 2, async || {
        let pods = kubectl.get(&["pods", "--namespace", "zonekeeper-system"]).await;
        pods["items"].as_array().unwrap().len()
    })
    .await;
}

#[tokio::test]
async fn the_pod_passes_the_restricted_level_and_a_privileged_one_does_not() {
    let (_, kubectl) = installed().await;
    let deployment = kubectl.get(&["deployment", "zonekeeper", "--namespace", "zonekeeper-system"]).await;
    let pod = |spec: &Value| {
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "try", "namespace": "zonekeeper-system"},
            "spec": spec,
        })
    };
    let dry_run = ["create", "--dry-run=server", "-f", "-"];
    let mut spec = deployment["spec"]["template"]["spec"].clone();
    let answer = kubectl.feed(&dry_run, &pod(&spec).to_string()).await.succeeds();
    assert!(!answer.stderr.contains("Warning"), "{answer}");
    spec["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = true.into();
    let answer = kubectl.feed(&dry_run, &pod(&spec).to_string()).await;
    assert!(answer.code != 0 && answer.stderr.contains("violates PodSecurity \"restricted"), "{answer}");
}
