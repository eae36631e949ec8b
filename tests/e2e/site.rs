//! The node, a Cloudflare simulator beside it, and the commands that a user has.

use std::{
    collections::BTreeMap,
    fmt, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
};

use cloudflare_sim::{Config, Plan, Sim};
use control_plane::{eventually, program};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};
use zonekeeper_tests::canary;

use crate::node::{self, ADDRESS, DEADLINE, FOLDER};

/// As docs/install.md has them.
pub const NAMESPACE: &str = "zonekeeper-system";
pub const RELEASE: &str = "zonekeeper";
const CHART: &str = "charts/zonekeeper";

pub struct Site {
    pub sim: Sim,
    pub zone: String,
    kubeconfig: PathBuf,
    values: PathBuf,
}

/// What a command did.
pub struct Answer {
    pub is_ok: bool,
    pub stdout: String,
    pub stderr: String,
}

/// What happened to a name at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    Created,
    Updated,
    Deleted,
}

// === impl Site ===

impl Site {
    pub async fn start() -> Self {
        let kubeconfig = node::start().await;
        let listen: SocketAddr = format!("{ADDRESS}:0").parse().unwrap();
        let config = Config { listen, journal_capacity: 100_000, ..Config::unlimited() };
        let sim = Sim::start(config).await.unwrap();
        let zone = sim.zone("example.com", Plan::Free);
        let token = canary::token(&sim);
        // The smallest set-up of docs/install.md, with the provider at the simulator.
        let values = json!({
            "secrets": {"cloudflare": {"apiToken": token}},
            "providers": {"cloudflare": {"cloudflare": {
                "apiTokenSecretRef": {"name": "cloudflare"}, "baseURL": sim.base_url(),
            }}},
            "zones": {"example-com": {
                "domain": "example.com", "sources": {}, "allowedRecords": [{"namespaces": {"from": "All"}}],
            }},
        });
        let path = Path::new(FOLDER).join("values.json");
        fs::write(&path, values.to_string()).unwrap();
        let site = Self { sim, zone, kubeconfig, values: path };
        eventually("the node is ready", DEADLINE, async || {
            let nodes = site.kubectl(&["get", "nodes"]).await;
            if nodes.stdout.contains(" Ready") { Ok(()) } else { Err(nodes.to_string()) }
        })
        .await;
        site
    }

    pub async fn kubectl(&self, arguments: &[&str]) -> Answer {
        self.run("kubectl", arguments, "").await
    }

    pub async fn helm(&self, arguments: &[&str]) -> Answer {
        self.run("helm", &[arguments, &["--namespace", NAMESPACE]].concat(), "").await
    }

    /// `install` or `upgrade`, with the values of this site.
    pub async fn release(&self, verb: &str, more: &[&str]) -> Answer {
        let values = ["--values", self.values.to_str().unwrap()];
        self.helm(&[&[verb, RELEASE, CHART], &values[..], more].concat()).await.succeeds()
    }

    /// One command, as a user types it.
    pub async fn run(&self, tool: &str, arguments: &[&str], input: &str) -> Answer {
        let mut child = Command::new(program(tool).unwrap())
            .args(arguments)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", Path::new(FOLDER).join("kubectl-cache"))
            .env("HOME", FOLDER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
        let output = timeout(DEADLINE, child.wait_with_output()).await;
        let output = output.unwrap_or_else(|_| panic!("{tool} {arguments:?} hangs")).unwrap();
        Answer {
            is_ok: output.status.success(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub async fn get(&self, arguments: &[&str]) -> Value {
        let answer = self.kubectl(&[&["get", "-o", "json"], arguments].concat()).await.succeeds();
        serde_json::from_str(&answer.stdout).unwrap()
    }

    pub async fn rolled_out(&self) {
        self.kubectl(&[
            "rollout",
            "status",
            "deployment/zonekeeper",
            "--namespace",
            NAMESPACE,
            "--timeout=200s",
        ])
        .await
        .succeeds();
    }

    /// Applies RecordSets of type A in `default`: name and address.
    pub async fn apply(&self, records: &[(String, String)]) {
        let list: Vec<Value> = records
            .iter()
            .map(|(name, address)| {
                json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": "RecordSet",
                    "metadata": {"name": name, "namespace": "default"},
                    "spec": {"name": format!("{name}.example.com"), "type": "A", "values": [address]}})
            })
            .collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": list}).to_string();
        self.run("kubectl", &["apply", "-f", "-"], &list).await.succeeds();
    }

    /// Waits until a condition Ready holds for an object.
    pub async fn ready(&self, object: &[&str]) {
        let answer =
            self.kubectl(&[&["wait", "--for=condition=Ready", "--timeout=200s"], object].concat()).await;
        if !answer.is_ok {
            panic!("{answer}\n{:#}", self.get(object).await);
        }
    }

    /// Waits until the provider has exactly this address for every name.
    pub async fn served(&self, records: &[(String, String)]) {
        eventually("the records are at the provider", DEADLINE, async || {
            let all = self.addresses();
            let wrong = |(name, address): &&(String, String)| all.get(name) != Some(&vec![address.clone()]);
            let missing: Vec<_> = records.iter().filter(wrong).collect();
            if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?} of {all:?}")) }
        })
        .await;
    }

    /// Addresses by name, without the domain.
    pub fn addresses(&self) -> BTreeMap<String, Vec<String>> {
        let mut all = BTreeMap::<String, Vec<String>>::new();
        for record in self.sim.records(&self.zone) {
            all.entry(short(&record)).or_default().push(record["content"].as_str().unwrap().to_owned());
        }
        all
    }

    /// Every write since then, in order.
    pub fn writes_since(&self, sequence: u64) -> Vec<(String, Write)> {
        let entries = self.sim.journal_since(sequence);
        let changes = entries.into_iter().flat_map(|entry| entry.effects);
        changes
            .filter_map(|change| match (change.before, change.after) {
                (None, Some(after)) => Some((short(&after), Write::Created)),
                (Some(_), Some(after)) => Some((short(&after), Write::Updated)),
                (Some(before), None) => Some((short(&before), Write::Deleted)),
                (None, None) => None,
            })
            .collect()
    }

    /// Names of the operator's pods that are not being deleted.
    pub async fn pods(&self) -> Vec<String> {
        let pods = self
            .get(&["pods", "--namespace", NAMESPACE, "--selector", "app.kubernetes.io/name=zonekeeper"])
            .await;
        let stays = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null();
        let pods = pods["items"].as_array().unwrap().iter().filter(stays);
        pods.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The pod that leads; waits until there is one among these.
    pub async fn leader(&self, among: impl Fn(&str) -> bool) -> String {
        eventually("a pod leads", DEADLINE, async || {
            let leases = self.get(&["leases", "--namespace", NAMESPACE]).await;
            let holders: Vec<String> = leases["items"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|lease| lease["spec"]["holderIdentity"].as_str().map(str::to_owned))
                .collect();
            let pods = self.pods().await;
            let leads = |pod: &&String| holders.iter().any(|holder| holder.starts_with(pod.as_str()));
            pods.iter().find(|pod| leads(pod) && among(pod)).cloned().ok_or((holders, pods))
        })
        .await
    }

    /// Writes down what there is, after a failure.
    pub async fn describe(&self) {
        for (file, arguments) in [
            (
                "objects.log",
                ["get", "all,recordsets,dnszones,dnsproviders,events", "-A", "-o", "yaml"].as_slice(),
            ),
            (
                "pods.log",
                [
                    "logs",
                    "--namespace",
                    NAMESPACE,
                    "--selector",
                    "app.kubernetes.io/name=zonekeeper",
                    "--tail=-1",
                    "--prefix",
                ]
                .as_slice(),
            ),
        ] {
            let _ = fs::write(Path::new(FOLDER).join(file), self.kubectl(arguments).await.to_string());
        }
    }
}

fn short(record: &Value) -> String {
    record["name"].as_str().unwrap().trim_end_matches(".example.com").to_owned()
}

// === impl Answer ===

impl Answer {
    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert!(self.is_ok, "{self}");
        self
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}
