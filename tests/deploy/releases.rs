//! `helm install`, `upgrade` and `uninstall` on a real control plane.

use std::time::Duration;

use control_plane::{ControlPlane, Options, User};
use serde_json::{Value, json};

use crate::{
    chart::FULL,
    helm::{CHART, Helm, documents, identity},
    kubectl::{Answer, Kubectl, eventually_is},
};

const NAMESPACE: &str = "dns";
/// The smallest set-up, as docs/install.md shows it.
const SMALL: &str = "charts/zonekeeper/tests/values/small.yaml";

struct Site {
    // The last owner ends it.
    _plane: ControlPlane,
    helm: Helm,
    kubectl: Kubectl,
}

// === impl Site ===

impl Site {
    async fn start() -> Self {
        let plane = ControlPlane::start(Options { controller_manager: false }).await.unwrap();
        let (helm, kubectl) = (Helm::new(&plane), Kubectl::new(&plane, &User::admin()));
        Self { _plane: plane, helm, kubectl }
    }

    async fn helm(&self, arguments: &[&str]) -> Answer {
        let arguments = [arguments, &["--namespace", NAMESPACE]].concat();
        let call = self.helm.run(&arguments);
        tokio::time::timeout(Duration::from_secs(120), call).await.expect("helm hangs")
    }

    async fn install(&self, release: &str, arguments: &[&str]) -> Answer {
        self.helm(&[&["install", release, CHART, "--create-namespace"], arguments].concat()).await
    }

    async fn names(&self, what: &[&str]) -> Vec<String> {
        let found = self.kubectl.get(&[what, &["--all-namespaces"]].concat()).await;
        found["items"].as_array().unwrap().iter().map(|item| identity(item).2).collect()
    }

    async fn ours(&self) -> Vec<String> {
        let mut names = self.names(&["crd"]).await;
        names.retain(|name| name.ends_with(".zonekeeper.dev"));
        names
    }

    /// As the operator does it, so that a delete waits.
    async fn hold(&self, object: &[&str]) {
        let patch = json!({"metadata": {"finalizers": ["zonekeeper.dev/record"]}}).to_string();
        let arguments = [&["patch"], object, &["--type=merge", "--patch", &patch]].concat();
        self.kubectl.run(&arguments).await.succeeds();
    }
}

#[tokio::test]
async fn a_release_is_installed_upgraded_and_uninstalled_and_loses_nothing() {
    let site = Site::start().await;

    // The kinds are new: zones wait for the next upgrade, and the notes say so.
    let first = site.install("zonekeeper", &["--values", SMALL]).await.succeeds();
    assert!(first.stdout.contains("Run the same command once more"), "{first}");
    assert_eq!(site.ours().await.len(), 4);
    site.kubectl.established().await;
    let second = site.helm(&["upgrade", "zonekeeper", CHART, "--values", SMALL]).await.succeeds();
    assert!(second.stdout.contains("are created"), "{second}");
    assert_eq!(site.names(&["dnszones"]).await, ["example-com"]);
    assert_eq!(site.names(&["dnsproviders"]).await, ["cloudflare"]);
    let secret = site.kubectl.get(&["secret", "cloudflare", "--namespace", NAMESPACE]).await;
    assert_eq!(secret["data"]["apiToken"], "eA==");

    // A zone that leaves the values stays in the cluster: absence never deletes.
    site.helm(&["upgrade", "zonekeeper", CHART, "--set-json", r#"sources.kinds=["Ingress"]"#])
        .await
        .succeeds();
    assert_eq!(site.names(&["dnszones"]).await, ["example-com"]);
    let role = site.kubectl.get(&["clusterrole", "zonekeeper"]).await;
    let rules = role["rules"].as_array().unwrap();
    let reads = |resource: &str| {
        rules.iter().any(|rule| rule["resources"].as_array().unwrap().contains(&resource.into()))
    };
    assert!(reads("ingresses") && !reads("services") && !reads("httproutes"), "{role:#}");

    // Uninstalled while an object is held: it ends at once, and objects and definitions stay.
    let zone = ["dnszone", "example-com", "--namespace", NAMESPACE];
    site.hold(&zone).await;
    site.helm(&["uninstall", "zonekeeper"]).await.succeeds();
    assert_eq!(site.ours().await.len(), 4);
    let kept = site.kubectl.get(&zone).await;
    assert_eq!(kept["metadata"]["deletionTimestamp"], Value::Null);
    assert_eq!(kept["metadata"]["finalizers"], json!(["zonekeeper.dev/record"]));
    assert_eq!(site.names(&["deployments", "-l", "app.kubernetes.io/name=zonekeeper"]).await, [""; 0]);
    assert_eq!(site.names(&["clusterroles", "-l", "app.kubernetes.io/name=zonekeeper"]).await, [""; 0]);

    // The same release again takes over what stayed.
    site.install("zonekeeper", &["--values", SMALL]).await.succeeds();
    assert_eq!(site.kubectl.get(&zone).await["metadata"]["uid"], kept["metadata"]["uid"]);
}

#[tokio::test]
async fn without_keep_an_uninstall_ends_but_held_objects_stay_until_they_are_released() {
    let site = Site::start().await;
    site.install("zonekeeper", &["--set", "crds.keep=false"]).await.succeeds();
    site.kubectl.established().await;
    let metadata = json!({"name": "www", "namespace": "default"});
    let record = json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": "RecordSet", "metadata": metadata,
        "spec": {"name": "www.example.com", "type": "A", "values": ["192.0.2.10"]}});
    site.kubectl.apply(&[record]).await;
    let record = ["recordset", "www", "--namespace", "default"];
    site.hold(&record).await;
    site.helm(&["uninstall", "zonekeeper"]).await.succeeds();
    eventually_is("the definition without objects goes", false, async || {
        site.ours().await.contains(&"addresssources.zonekeeper.dev".to_owned())
    })
    .await;
    let held = site.kubectl.get(&record).await;
    assert!(held["metadata"]["deletionTimestamp"].is_string(), "{held:#}");
    // What docs/install.md says of objects that hang.
    let release =
        [&["patch"], &record[..], &["--type=merge", "--patch", r#"{"metadata":{"finalizers":null}}"#]]
            .concat();
    site.kubectl.run(&release).await.succeeds();
    eventually_is("all definitions are gone", 0, async || site.ours().await.len()).await;
}

#[tokio::test]
async fn two_releases_live_in_one_cluster() {
    let site = Site::start().await;
    site.install("zonekeeper", &[]).await.succeeds();
    let second = ["--set", "crds.enabled=false,controllerName=example.com/internal"];
    let notes = site.install("internal", &second).await.succeeds();
    assert!(notes.stdout.contains("controllerName: example.com/internal"), "{notes}");
    let deployments = site.names(&["deployments"]).await;
    assert_eq!(deployments, ["internal-zonekeeper", "zonekeeper"]);
    site.helm(&["uninstall", "internal"]).await.succeeds();
    assert_eq!(site.names(&["deployments"]).await, ["zonekeeper"]);
    site.kubectl.get(&["clusterrole", "zonekeeper"]).await;
}

/// Stronger than a check against schemas: the API server itself takes every object that the chart can render.
#[tokio::test]
async fn the_api_server_takes_everything_that_the_chart_can_render() {
    let site = Site::start().await;
    site.install("zonekeeper", &[]).await.succeeds();
    site.kubectl.established().await;
    for (level, role) in [("restricted", "enforce"), ("restricted", "warn")] {
        let label = format!("pod-security.kubernetes.io/{role}={level}");
        site.kubectl.run(&["label", "namespace", NAMESPACE, &label]).await.succeeds();
    }
    // The Prometheus operator's kinds are not here.
    let off = "metrics.serviceMonitor.enabled=false,metrics.podMonitor.enabled=false,metrics.prometheusRule.enabled=false";
    let kinds = "zonekeeper.dev/v1alpha1/DNSZone,zonekeeper.dev/v1alpha1/DNSProvider";
    let arguments = [
        "template",
        "full",
        CHART,
        "--namespace",
        NAMESPACE,
        "--values",
        FULL,
        "--set",
        off,
        "--api-versions",
        kinds,
    ];
    let rendered = site.helm.run(&arguments).await.succeeds().stdout;
    let found: Vec<String> = documents(&rendered).iter().map(|object| identity(object).0).collect();
    for kind in
        ["DNSZone", "DNSProvider", "Secret", "NetworkPolicy", "PodDisruptionBudget", "ConfigMap", "Pod"]
    {
        assert!(found.iter().any(|one| one == kind), "{kind} is not in {found:?}");
    }
    let dry_run = [
        "apply",
        "--server-side",
        "--dry-run=server",
        "--validate=strict",
        "--force-conflicts",
        "--namespace",
        NAMESPACE,
        "-f",
        "-",
    ];
    let answer = site.kubectl.feed(&dry_run, &rendered).await.succeeds();
    assert!(!answer.stderr.contains("Warning"), "{answer}");
    assert_eq!(answer.stdout.lines().count(), found.len(), "{answer}");
}
