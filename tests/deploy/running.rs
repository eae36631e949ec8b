//! The binary, with the arguments of the Deployment and the rights of its ServiceAccount.

use std::{
    net::TcpListener,
    process::{Command, Stdio},
};

use cloudflare_sim::{Config, Plan, Sim, TokenGrant};
use control_plane::{ControlPlane, DEADLINE, User, eventually};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use zonekeeper_tests::binary::binary;

use crate::kubectl::{Kubectl, eventually_is, installed, root};

const NAMESPACE: &str = "zonekeeper-system";

/// The operator; it ends with this.
struct Operator {
    child: tokio::process::Child,
    origin: String,
    log: NamedTempFile,
}

// === impl Operator ===

impl Operator {
    async fn start(plane: &ControlPlane, kubectl: &Kubectl) -> Self {
        let deployment = kubectl.get(&["deployment", "zonekeeper", "--namespace", NAMESPACE]).await;
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let arguments = container["args"].as_array().unwrap().iter().filter_map(Value::as_str);
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let log = NamedTempFile::new().unwrap();
        let child = tokio::process::Command::new(binary())
            .args(arguments)
            .args([
                "--namespace",
                NAMESPACE,
                "--listen",
                &address,
                "--api-listen",
                "127.0.0.1:0",
                "--kubeconfig",
            ])
            .arg(plane.kubeconfig(&User::zonekeeper()).unwrap())
            .env("POD_NAME", "zonekeeper-0")
            .env("RUST_LOG", "info,zonekeeper=debug")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.reopen().unwrap())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { child, origin: format!("http://{address}"), log }
    }

    async fn answers(&self, path: &str) -> Result<String, String> {
        let answer =
            reqwest::get(format!("{}{path}", self.origin)).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        let text = answer.text().await.map_err(|error| error.to_string())?;
        if status.is_success() { Ok(text) } else { Err(format!("{status}: {text}")) }
    }

    /// Asks it to end, as a kubelet does; returns its exit code and all that it logged.
    async fn end(mut self) -> (Option<i32>, String) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let status = tokio::time::timeout(DEADLINE, self.child.wait()).await.unwrap().unwrap();
        (status.code(), std::fs::read_to_string(self.log.path()).unwrap())
    }
}

/// The objects that the README shows, with the provider at the simulator.
fn readme(base_url: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let section = text.split("## Install in a cluster").nth(1).unwrap();
    let block = section.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let mut objects: Vec<Value> =
        block.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect();
    assert_eq!(objects.len(), 3);
    objects[0]["spec"]["cloudflare"]["baseURL"] = base_url.into();
    objects
}

fn ready(object: &Value) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|it| it["type"] == "Ready").cloned().unwrap_or_default()
}

/// Reasons of the Events about an object.
async fn told(kubectl: &Kubectl, namespace: &str, kind: &str, name: &str) -> Vec<String> {
    let events = kubectl.get(&["events.events.k8s.io", "--namespace", namespace]).await;
    let about = |event: &&Value| event["regarding"]["kind"] == kind && event["regarding"]["name"] == name;
    let events = events["items"].as_array().unwrap().iter().filter(about);
    events.map(|event| event["reason"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_does_its_work_with_these_rights_and_no_others() {
    let (plane, kubectl) = installed().await;
    let sim = Sim::start(Config::unlimited()).await.unwrap();
    let zone = sim.zone("example.com", Plan::Free);
    let token = sim.token(TokenGrant::full());
    let operator = Operator::start(plane, &kubectl).await;
    eventually("the operator is ready", DEADLINE, async || operator.answers("/readyz").await).await;
    eventually("the operator is healthy", DEADLINE, async || operator.answers("/healthz").await).await;

    // What the README says.
    let literal = format!("--from-literal=apiToken={token}");
    kubectl
        .run(&["create", "secret", "generic", "cloudflare", "--namespace", NAMESPACE, &literal])
        .await
        .succeeds();
    kubectl.apply(&readme(&sim.base_url())).await;
    kubectl.wait(&["dnsprovider", "cloudflare"], "Ready").await;
    kubectl.wait(&["dnszone", "example-com", "--namespace", NAMESPACE], "Ready").await;
    kubectl.wait(&["recordset", "www", "--namespace", "default"], "Ready").await;
    let records = sim.records(&zone);
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(
        (&records[0]["name"], &records[0]["content"]),
        (&json!("www.example.com"), &json!("192.0.2.10"))
    );
    let key = kubectl.get(&["secret", "zonekeeper-marker-key", "--namespace", NAMESPACE]).await;
    assert!(key["data"]["current"].is_string());
    for (namespace, kind, name) in [
        ("default", "RecordSet", "www"),
        ("default", "DNSProvider", "cloudflare"),
        (NAMESPACE, "DNSZone", "example-com"),
    ] {
        eventually(&format!("an Event about {kind} {name}"), DEADLINE, async || {
            let reasons = told(&kubectl, namespace, kind, name).await;
            if reasons.iter().any(|reason| reason == "Programmed") { Ok(()) } else { Err(reasons) }
        })
        .await;
    }
    assert!(operator.answers("/metrics").await.unwrap().contains("zonekeeper_leader 1"));

    // The other kind, and a delete with its finalizer.
    let metadata = json!({"name": "office", "namespace": "default"});
    let source = json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": "AddressSource", "metadata": metadata,
        "spec": {"static": ["192.0.2.1"]}});
    kubectl.apply(&[source]).await;
    kubectl.wait(&["addresssource", "office", "--namespace", "default"], "Ready").await;
    kubectl.run(&["delete", "recordset", "www", "--namespace", "default", "--timeout=60s"]).await.succeeds();
    assert_eq!(sim.records(&zone), Vec::<Value>::new());

    // A Secret elsewhere is read where its owner allows it, and the condition says how.
    kubectl.run(&["create", "namespace", "team"]).await.succeeds();
    kubectl.run(&["create", "secret", "generic", "token", "--namespace", "team", &literal]).await.succeeds();
    let reference = json!({"name": "token", "namespace": "team"});
    let provider = json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": "DNSProvider", "metadata": {"name": "team"},
        "spec": {"cloudflare": {"apiTokenSecretRef": reference, "baseURL": sim.base_url()}}});
    kubectl.apply(&[provider]).await;
    eventually_is("the provider's reason", json!("RefNotPermitted"), async || {
        ready(&kubectl.get(&["dnsprovider", "team"]).await)["reason"].clone()
    })
    .await;
    let message = ready(&kubectl.get(&["dnsprovider", "team"]).await)["message"].as_str().unwrap().to_owned();
    let command: Vec<&str> = message.split("kubectl ").nth(1).unwrap().split(' ').collect();
    kubectl.run(&command).await.succeeds();
    kubectl.wait(&["dnsprovider", "team"], "Ready").await;

    let (code, log) = operator.end().await;
    assert_eq!(code, Some(0), "{log}");
    let lease = kubectl.get(&["lease", "--namespace", NAMESPACE]).await;
    assert_eq!(lease["items"].as_array().unwrap().len(), 1);
    assert_eq!(lease["items"][0]["spec"]["holderIdentity"], Value::Null, "the lease is given back");
    // It asked for nothing that it may not have but that one Secret.
    let is_of_team = |line: &str| line.contains("secrets") && line.contains("team");
    let refused: Vec<&str> =
        log.lines().filter(|line| line.contains("is forbidden") && !is_of_team(line)).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(!log.contains(&token), "the token is in the log");
}
