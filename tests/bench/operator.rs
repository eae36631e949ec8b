//! The operator on a real API server and the simulator: how soon a record is there, and what many cost.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context;
use cloudflare_sim::{Config, Plan, Sim, TokenGrant};
use control_plane::{ControlPlane, Options, User};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use zonekeeper_api::{DNSProvider, DNSZone, RecordSet};
use zonekeeper_tests::binary::binary;

pub const HOME: &str = "zonekeeper-system";
pub const SINGLE: usize = 200;
const BURST: usize = 1_000;
pub const MANY: usize = 10_000;
pub const AT_ONCE: usize = 24;
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A control plane with one provider, and an operator that can be started and ended.
struct Site {
    plane: ControlPlane,
    sim: Sim,
    token: String,
    kubeconfig: PathBuf,
}

/// The operator, ended with this.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prints the tables, or some of them: `single`, `burst`, `100`, `1000`.
pub async fn measure(parts: &[String]) -> anyhow::Result<()> {
    let is_asked = |part: &str| parts.is_empty() || parts.iter().any(|asked| asked == part);
    println!("## The operator\n");
    println!(
        "kube-apiserver {}, the simulator without added latency, all on one machine.\n",
        ControlPlane::version()
    );
    if is_asked("single") {
        single().await?;
    }
    println!(
        "| job | time to all present | calls | calls per hour when nothing changes | RSS | CPU per hour |"
    );
    println!("|---|---|---|---|---|---|");
    if is_asked("burst") {
        burst().await?;
    }
    for zones in [100, 1_000] {
        if is_asked(&zones.to_string()) {
            many(zones).await?;
        }
    }
    println!();
    Ok(())
}

/// One object after the other, with nothing else to do.
async fn single() -> anyhow::Result<()> {
    let site = Site::start().await?;
    site.zones(1).await?;
    let _running = site.operator()?;
    let client = site.client();
    site.create(&client, 0, 0).await?;
    site.wait(1).await?;
    println!("| one object at a time, API call to record present | p50 | p99 | worst |\n|---|---|---|---|");
    let mut times = Vec::new();
    for index in 1..=SINGLE {
        let (begun, present) = (Instant::now(), site.sim.last_sequence());
        site.create(&client, 0, index).await?;
        site.wait_for_write(present).await?;
        times.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    print_times("create", &mut times);
    for index in 1..=SINGLE {
        let (begun, present) = (Instant::now(), site.sim.last_sequence());
        let api: Api<RecordSet> = Api::namespaced(client.clone(), HOME);
        let patch = json!({"spec": {"values": ["192.0.2.2"]}});
        api.patch(&name(0, index), &PatchParams::default(), &Patch::Merge(&patch)).await?;
        site.wait_for_write(present).await?;
        times.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    print_times("update", &mut times);
    println!();
    Ok(())
}

async fn burst() -> anyhow::Result<()> {
    let site = Site::start().await?;
    site.zones(1).await?;
    let running = site.operator()?;
    let client = site.client();
    site.create(&client, 0, BURST).await?;
    site.wait(1).await?;
    let before = site.sim.requests();
    site.fill(1, BURST).await?;
    let begun = Instant::now();
    site.wait(BURST + 1).await?;
    let (took, calls) = (begun.elapsed(), site.sim.requests() - before);
    println!(
        "| {BURST} RecordSets at once, from the last API call | {:.2} s | {calls} | | {} MiB | |",
        took.as_secs_f64(),
        memory(&running)?
    );
    Ok(())
}

async fn many(zones: usize) -> anyhow::Result<()> {
    let site = Site::start().await?;
    site.zones(zones).await?;
    site.fill(zones, MANY).await?;
    let (begun, running) = (Instant::now(), site.operator()?);
    site.wait(MANY).await?;
    let calls = site.sim.requests();
    println!(
        "| {MANY} RecordSets in {zones} zones, all new, from cold | {:.2} s | {calls} | | {} MiB | |",
        begun.elapsed().as_secs_f64(),
        memory(&running)?
    );
    site.wait_until_ready(MANY).await?;
    drop(running);
    let before = site.sim.requests();
    let (begun, running) = (Instant::now(), site.operator()?);
    site.wait_until_listed(before, zones).await?;
    let (took, calls) = (begun.elapsed(), site.sim.requests() - before);
    // Statuses settle.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let (requests, cpu, quiet) = (site.sim.requests(), cpu_seconds(&running)?, Duration::from_secs(60));
    tokio::time::sleep(quiet).await;
    let hourly = 3600.0 / quiet.as_secs_f64();
    println!(
        "| the same, all there already, from cold to all zones read | {:.2} s | {calls} | {:.0} | {} MiB | {:.0} s |",
        took.as_secs_f64(),
        (site.sim.requests() - requests) as f64 * hourly,
        memory(&running)?,
        (cpu_seconds(&running)? - cpu) * hourly,
    );
    Ok(())
}

// === impl Site ===

impl Site {
    async fn start() -> anyhow::Result<Self> {
        let plane = ControlPlane::start(Options { controller_manager: false }).await?;
        plane.install_crds(&zonekeeper_api::crds_yaml()).await?;
        let sim = Sim::start(Config::unlimited()).await?;
        let token = sim.token(TokenGrant::full());
        let kubeconfig = plane.kubeconfig(&User::admin())?;
        let site = Self { plane, sim, token, kubeconfig };
        let client = site.client();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        create(&namespaces, json!({"metadata": {"name": HOME}})).await?;
        let secrets: Api<Secret> = Api::namespaced(client.clone(), HOME);
        create(&secrets, json!({"metadata": {"name": "cloudflare"}, "stringData": {"apiToken": site.token}}))
            .await?;
        let providers: Api<DNSProvider> = Api::all(client);
        let cloudflare = json!({"baseURL": site.sim.base_url(), "apiTokenSecretRef": {"name": "cloudflare"}});
        let spec = json!({"cloudflare": cloudflare, "rateLimit": {"requests": 1_000_000}});
        create(&providers, object("DNSProvider", "cloudflare", spec)).await?;
        Ok(site)
    }

    /// A client of the calling runtime.
    fn client(&self) -> Client {
        self.plane.client()
    }

    fn operator(&self) -> anyhow::Result<Running> {
        let child = Command::new(binary())
            .arg("run")
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--namespace", HOME, "--listen", "127.0.0.1:0"])
            .stderr(Stdio::null())
            .spawn()
            .context("starting zonekeeper run")?;
        Ok(Running(child))
    }

    async fn zones(&self, count: usize) -> anyhow::Result<()> {
        let api: Api<DNSZone> = Api::namespaced(self.client(), HOME);
        for zone in 0..count {
            self.sim.zone(&domain(zone), Plan::Enterprise);
            create(&api, object("DNSZone", &format!("zone-{zone}"), json!({"domain": domain(zone)}))).await?;
        }
        Ok(())
    }

    async fn create(&self, client: &Client, zone: usize, index: usize) -> anyhow::Result<()> {
        let api: Api<RecordSet> = Api::namespaced(client.clone(), HOME);
        let host = format!("host-{index}.{}", domain(zone));
        let spec = json!({"name": host, "type": "A", "values": ["192.0.2.1"]});
        create(&api, object("RecordSet", &name(zone, index), spec)).await
    }

    /// Creates objects, spread over the zones, as fast as the API server takes them.
    async fn fill(&self, zones: usize, count: usize) -> anyhow::Result<()> {
        let client = self.client();
        let mut created = stream::iter(0..count)
            .map(|index| self.create(&client, index % zones, index / zones))
            .buffer_unordered(AT_ONCE);
        while let Some(created) = created.next().await {
            created?;
        }
        Ok(())
    }

    /// Waits until so many records were created at the simulator.
    async fn wait(&self, count: usize) -> anyhow::Result<()> {
        let begun = Instant::now();
        let (mut seen, mut created) = (0, BTreeSet::new());
        while created.len() < count {
            anyhow::ensure!(
                begun.elapsed() < PATIENCE,
                "{} of {count} records after {PATIENCE:?}",
                created.len()
            );
            for entry in self.sim.journal_since(seen) {
                seen = entry.sequence;
                let new = entry.effects.into_iter().filter(|effect| effect.before.is_none());
                created.extend(new.map(|effect| effect.id));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Waits until something was written after `sequence`.
    async fn wait_for_write(&self, sequence: u64) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            if self.sim.journal_since(sequence).iter().any(|entry| !entry.effects.is_empty()) {
                return Ok(());
            }
            anyhow::ensure!(begun.elapsed() < PATIENCE, "nothing is written");
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }

    async fn wait_until_ready(&self, count: usize) -> anyhow::Result<()> {
        let api: Api<RecordSet> = Api::namespaced(self.client(), HOME);
        let begun = Instant::now();
        loop {
            let all = api.list(&Default::default()).await?;
            let is_ready = |object: &&RecordSet| {
                let status = object.status.iter().flat_map(|status| &status.conditions);
                status.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
            };
            if all.items.iter().filter(is_ready).count() == count {
                return Ok(());
            }
            let other = || all.items.iter().find(|object| !is_ready(object)).map(|object| &object.status);
            anyhow::ensure!(begun.elapsed() < PATIENCE, "not all RecordSets become Ready: {:?}", other());
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    async fn wait_until_listed(&self, before: usize, zones: usize) -> anyhow::Result<()> {
        let begun = Instant::now();
        while self.sim.requests() < before + zones {
            anyhow::ensure!(begun.elapsed() < PATIENCE, "not all zones are read");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

pub async fn create<K>(api: &Api<K>, object: Value) -> anyhow::Result<()>
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

pub fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": zonekeeper_api::API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn domain(zone: usize) -> String {
    format!("zone-{zone}.example")
}

fn name(zone: usize, index: usize) -> String {
    format!("host-{index}-{zone}")
}

pub fn print_times(job: &str, times: &mut Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1_000.0;
    println!("| {job} | {:.1} ms | {:.1} ms | {:.1} ms |", at(0.5), at(0.99), at(1.0));
    times.clear();
}

pub fn memory(running: &Running) -> anyhow::Result<usize> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.0.id()))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let kibibytes: usize = line.split_whitespace().nth(1).context("no figure")?.parse()?;
    Ok(kibibytes / 1024)
}

pub fn cpu_seconds(running: &Running) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.0.id()))?;
    let fields: Vec<&str> = stat.rsplit(')').next().context("no fields")?.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    // Linux counts in hundredths of a second everywhere that matters.
    Ok(ticks / 100.0)
}
