//! What the chart renders; no cluster is needed to see it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zonekeeper_api::{
    SourceKind,
    rbac::{self, Scope},
};

use crate::{
    helm::{CHART, Helm, identity},
    kubectl::root,
};

/// Values that switch everything on.
pub const FULL: &str = "charts/zonekeeper/tests/values/full.yaml";

type Right = (String, String, String);

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The rights that a role has.
fn rights(role: &Value) -> BTreeSet<Right> {
    let words = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        for group in words(&rule["apiGroups"]) {
            for resource in words(&rule["resources"]) {
                rights.extend(
                    words(&rule["verbs"]).into_iter().map(|verb| (group.clone(), resource.clone(), verb)),
                );
            }
        }
    }
    rights
}

/// The rights in the list that these kinds need, and those that are always needed.
fn needed(kinds: &[SourceKind]) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for rule in rbac::operator_rules(Scope::Cluster) {
        for resource in rule.resources {
            let by = rbac::kinds_that_need(rule.group, resource);
            if by.is_empty() || by.iter().any(|kind| kinds.contains(kind)) {
                let right = |verb: &&str| (rule.group.into(), (*resource).into(), (*verb).into());
                rights.extend(rule.verbs.iter().map(right));
            }
        }
    }
    rights
}

#[test]
fn the_chart_has_the_version_of_the_program() {
    let chart: Value = serde_saphyr::from_str(&read("charts/zonekeeper/Chart.yaml")).unwrap();
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn helm_finds_no_fault_in_it() {
    let helm = Helm::offline();
    helm.run(&["lint", "--strict", CHART]).await.succeeds();
    helm.run(&["lint", "--strict", CHART, "--values", FULL]).await.succeeds();
}

#[tokio::test]
async fn its_own_suites_pass() {
    let program = control_plane::program("helm-unittest").unwrap();
    let output = tokio::process::Command::new(program)
        .args(["--color=false", "--strict", CHART])
        .current_dir(root())
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    let tests = text.lines().find_map(|line| line.trim().strip_prefix("Tests:")).unwrap().trim();
    let passed: usize = tests.split(' ').next().unwrap().parse().unwrap();
    assert!(passed >= 30, "{text}");
}

#[tokio::test]
async fn the_rights_are_those_of_the_enabled_kinds() {
    let helm = Helm::offline();
    let all = SourceKind::all();
    let mut tried: Vec<Vec<SourceKind>> = all.iter().map(|kind| vec![*kind]).collect();
    tried.extend([vec![], vec![SourceKind::Ingress, SourceKind::Pod], all.to_vec()]);
    for kinds in tried {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let set = format!("sources.kinds={}", json!(names));
        let only = ["--set-json", &set, "--show-only", "templates/rbac/operator.yaml"];
        let objects = helm.template("zonekeeper", &only).await;
        assert_eq!(rights(&objects[0]), needed(&kinds), "{names:?}");
    }
    let default = helm.template("zonekeeper", &["--show-only", "templates/rbac/operator.yaml"]).await;
    assert_eq!(rights(&default[0]), needed(all), "a DNSZone may name any kind by default");
}

#[tokio::test]
async fn two_releases_have_no_object_in_common() {
    let helm = Helm::offline();
    let off = ["--values", FULL, "--set", "crds.enabled=false,secrets=null,extraObjects=null"];
    let mut seen = BTreeSet::new();
    // The same namespace, which is the hardest case.
    for release in ["one", "two"] {
        let objects = helm.template(release, &[&off[..], &["--namespace", "dns"]].concat()).await;
        assert!(objects.len() > 18, "{}", objects.len());
        for object in objects {
            assert!(seen.insert(identity(&object)), "{:?}", identity(&object));
        }
    }
}

#[tokio::test]
async fn every_object_says_what_it_belongs_to() {
    for object in Helm::offline().template("dns", &["--values", FULL, "--set", "extraObjects=null"]).await {
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/instance"], "dns", "{:?}", identity(&object));
        assert_eq!(labels["team"], "net", "{:?}", identity(&object));
    }
}

#[tokio::test]
async fn mistakes_in_values_are_refused() {
    let helm = Helm::offline();
    for (mistake, said) in [
        ("replica=3", "replica"),
        ("image.tga=1", "tga"),
        ("sources.kinds={Ingres}", "kinds"),
        ("image.digest=sha256:abc", "digest"),
        ("zones.a.policy=Sync", "domain"),
        ("metrics.serviceMonitor.enabled=true,service.enabled=false", "service.enabled"),
    ] {
        let answer = helm.run(&["template", "x", CHART, "--set", mistake]).await;
        assert!(answer.code != 0 && answer.stderr.contains(said), "{mistake}: {answer}");
    }
}

/// Words that start with our prefix.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_part(letter));
    words.filter(|word| word.starts_with("zonekeeper_")).map(str::to_owned).collect()
}

#[test]
fn alerts_and_dashboard_use_metrics_that_exist() {
    let code = read("crates/operator/src/serve/mod.rs");
    let registered: Vec<&str> =
        code.split("registry.register(").skip(1).map(|call| call.split('"').nth(1).unwrap()).collect();
    assert!(registered.len() > 8, "{registered:?}");
    let exists = |metric: &String| {
        let name = metric.strip_prefix("zonekeeper_").unwrap();
        let suffixes = ["_total", "_count", "_bucket", "_sum", "_info"];
        let bare = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        registered.contains(&name) || registered.contains(&bare)
    };
    for (file, at_least) in [("files/alerts.yaml", 8), ("files/dashboard.json", 10)] {
        let used = metrics(&read(&format!("{CHART}/{file}")));
        assert!(used.len() >= at_least, "{file}: {used:?}");
        let unknown: Vec<&String> = used.iter().filter(|metric| !exists(metric)).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

#[test]
fn the_dashboard_names_no_data_source_of_one_grafana() {
    let dashboard: Value = serde_json::from_str(&read(&format!("{CHART}/files/dashboard.json"))).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 10);
    for panel in panels {
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
    }
}
