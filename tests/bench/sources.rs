//! Ingresses and Services beside ExternalDNS, one after the other on the same machine.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context;
use cloudflare_sim::{Config, Plan, Sim, TokenGrant};
use control_plane::{ControlPlane, Options, User, program};
use futures::{StreamExt, stream};
use k8s_openapi::api::{
    core::v1::{Namespace, Secret, Service},
    networking::v1::Ingress,
};
use kube::{Api, Client};
use serde_json::json;
use zonekeeper_api::{DNSProvider, DNSZone};
use zonekeeper_tests::binary::binary;

use crate::operator::{AT_ONCE, HOME, PATIENCE, Running, cpu_seconds, create, memory, object, print_times};

const BURST: usize = 1_000;
const MANY: usize = 5_000;
/// Zones, and records in each.
const WIDE: (usize, usize) = (50, 500);
/// Long enough for two intervals of both.
const QUIET: Duration = Duration::from_secs(120);
/// Services and Ingresses have what they need to be published: a target of their own.
const TARGET: &str = "external-dns.kubernetes.io/target";
const HOSTNAME: &str = "external-dns.kubernetes.io/hostname";

/// Who publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Zonekeeper,
    ExternalDns { events: bool },
}

/// A control plane, and zones at a simulator of their own.
struct Site {
    plane: ControlPlane,
    sim: Sim,
    token: String,
    zones: usize,
}

/// Prints the tables, or some of them: `single`, `burst`, `many`, `wide`.
pub async fn measure(parts: &[String]) -> anyhow::Result<()> {
    let is_asked = |part: &str| parts.is_empty() || parts.iter().any(|asked| asked == part);
    println!("## Sources, beside ExternalDNS 0.23.0\n");
    println!(
        "kube-apiserver {}, the simulator without added latency; ExternalDNS with its TXT registry and pages of 5,000, \
         Zonekeeper with its defaults; one after the other on one machine.\n",
        ControlPlane::version()
    );
    if is_asked("single") {
        println!(
            "| one Ingress at a time, API call to record present | p50 | p99 | worst |\n|---|---|---|---|"
        );
        for (tool, count) in [
            (Tool::Zonekeeper, 200),
            (Tool::ExternalDns { events: true }, 20),
            (Tool::ExternalDns { events: false }, 5),
        ] {
            single(tool, count).await?;
        }
        println!();
    }
    println!(
        "| job | by | time to all present | calls | RSS | CPU per hour | calls per hour | MB per hour |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for tool in [Tool::Zonekeeper, Tool::ExternalDns { events: true }] {
        if is_asked("burst") {
            burst(tool).await?;
        }
        if is_asked("many") {
            many(tool, 1, MANY).await?;
        }
        if is_asked("wide") {
            many(tool, WIDE.0, WIDE.0 * WIDE.1).await?;
        }
    }
    println!();
    Ok(())
}

/// One object after the other, with nothing else to do.
async fn single(tool: Tool, count: usize) -> anyhow::Result<()> {
    let site = Site::start(1).await?;
    let client = site.plane.client();
    let _running = site.run(tool)?;
    site.create(&client, 0).await?;
    site.wait(1).await?;
    let mut times = Vec::new();
    for index in 1..=count {
        // At no particular moment of anybody's interval.
        tokio::time::sleep(Duration::from_millis(index as u64 * 137 % 1_000)).await;
        let begun = Instant::now();
        // Even numbers are Ingresses.
        site.create(&client, 2 * index).await?;
        site.wait(1 + index).await?;
        times.push(begun.elapsed());
    }
    print_times(tool.as_str(), &mut times);
    Ok(())
}

/// Many at once, for somebody who runs already.
async fn burst(tool: Tool) -> anyhow::Result<()> {
    let site = Site::start(1).await?;
    let client = site.plane.client();
    let running = site.run(tool)?;
    site.create(&client, 2 * BURST).await?;
    site.wait(1).await?;
    let before = site.sim.requests();
    site.fill((0..BURST).map(|index| 2 * index)).await?;
    let begun = Instant::now();
    site.wait(1 + BURST).await?;
    let (took, calls) = (begun.elapsed().as_secs_f64(), site.sim.requests() - before);
    println!(
        "| {BURST} Ingresses at once, from the last API call | {} | {took:.2} s | {calls} | {} MiB | | | |",
        tool.as_str(),
        memory(&running)?
    );
    Ok(())
}

/// From cold, and then with nothing to do.
async fn many(tool: Tool, zones: usize, count: usize) -> anyhow::Result<()> {
    let site = Site::start(zones).await?;
    site.fill(0..count).await?;
    let (begun, running) = (Instant::now(), site.run(tool)?);
    site.wait(count).await?;
    let (took, calls) = (begun.elapsed().as_secs_f64(), site.sim.requests());
    // What is told about it settles.
    tokio::time::sleep(Duration::from_secs(20)).await;
    let (requests, bytes, cpu) = (site.sim.requests(), site.sim.bytes(), cpu_seconds(&running)?);
    tokio::time::sleep(QUIET).await;
    let hourly = 3600.0 / QUIET.as_secs_f64();
    println!(
        "| {count} Services and Ingresses in {zones} zones, from cold | {} | {took:.2} s | {calls} | {} MiB | {:.0} s | {:.0} | {:.0} |",
        tool.as_str(),
        memory(&running)?,
        (cpu_seconds(&running)? - cpu) * hourly,
        (site.sim.requests() - requests) as f64 * hourly,
        (site.sim.bytes() - bytes) as f64 * hourly / 1e6,
    );
    Ok(())
}

// === impl Tool ===

impl Tool {
    fn as_str(self) -> &'static str {
        match self {
            Self::Zonekeeper => "Zonekeeper",
            Self::ExternalDns { events: true } => "ExternalDNS --events",
            Self::ExternalDns { events: false } => "ExternalDNS",
        }
    }
}

// === impl Site ===

impl Site {
    async fn start(zones: usize) -> anyhow::Result<Self> {
        let plane = ControlPlane::start(Options { controller_manager: false }).await?;
        plane.install_crds(&zonekeeper_api::crds_yaml()).await?;
        let sim = Sim::start(Config::unlimited()).await?;
        let token = sim.token(TokenGrant::full());
        for zone in 0..zones {
            sim.zone(&domain(zone), Plan::Enterprise);
        }
        let site = Self { plane, sim, token, zones };
        let client = site.plane.client();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        create(&namespaces, json!({"metadata": {"name": HOME}})).await?;
        let secrets: Api<Secret> = Api::namespaced(client.clone(), HOME);
        create(&secrets, json!({"metadata": {"name": "cloudflare"}, "stringData": {"apiToken": site.token}}))
            .await?;
        let providers: Api<DNSProvider> = Api::all(client.clone());
        let cloudflare = json!({"baseURL": site.sim.base_url(), "apiTokenSecretRef": {"name": "cloudflare"}});
        let spec = json!({"cloudflare": cloudflare, "rateLimit": {"requests": 1_000_000}});
        create(&providers, object("DNSProvider", "cloudflare", spec)).await?;
        let dns_zones: Api<DNSZone> = Api::namespaced(client, HOME);
        for zone in 0..zones {
            let spec = json!({"domain": domain(zone), "sources": {"kinds": ["Ingress", "Service"]}});
            create(&dns_zones, object("DNSZone", &format!("zone-{zone}"), spec)).await?;
        }
        Ok(site)
    }

    fn run(&self, tool: Tool) -> anyhow::Result<Running> {
        let kubeconfig = self.plane.kubeconfig(&User::admin())?;
        let mut command = match tool {
            Tool::Zonekeeper => {
                let mut command = Command::new(binary());
                command.args(["run", "--namespace", HOME, "--listen", "127.0.0.1:0"]);
                command
            }
            Tool::ExternalDns { events } => {
                let mut command = Command::new(program("external-dns")?);
                command
                    .args([
                        "--provider=cloudflare",
                        "--registry=txt",
                        "--txt-owner-id=bench",
                        "--policy=sync",
                    ])
                    .args(["--source=ingress", "--source=service", "--cloudflare-dns-records-per-page=5000"])
                    .arg("--metrics-address=127.0.0.1:0")
                    .args(events.then_some("--events"))
                    .env("CLOUDFLARE_BASE_URL", self.sim.base_url())
                    .env("CF_API_TOKEN", &self.token);
                command
            }
        };
        let child = command
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", tool.as_str()))?;
        Ok(Running(child))
    }

    /// Creates an Ingress for an even number, else a Service.
    async fn create(&self, client: &Client, index: usize) -> anyhow::Result<()> {
        let (name, target) = (format!("host-{index}"), json!("192.0.2.1"));
        let host = format!("{name}.{}", domain(index / 2 % self.zones));
        match index % 2 {
            0 => {
                let api: Api<Ingress> = Api::namespaced(client.clone(), HOME);
                let service = json!({"name": "web", "port": {"number": 80}});
                let paths = json!([{"path": "/", "pathType": "Prefix", "backend": {"service": service}}]);
                let rules = json!([{"host": host, "http": {"paths": paths}}]);
                let metadata = json!({"name": name, "annotations": {TARGET: target}});
                create(&api, json!({"metadata": metadata, "spec": {"rules": rules}})).await
            }
            _ => {
                let api: Api<Service> = Api::namespaced(client.clone(), HOME);
                let metadata = json!({"name": name, "annotations": {TARGET: target, HOSTNAME: host}});
                // Addresses of Services are few; a target needs none.
                let spec = json!({"type": "ClusterIP", "clusterIP": "None", "ports": [{"port": 80}]});
                create(&api, json!({"metadata": metadata, "spec": spec})).await
            }
        }
    }

    /// Creates objects as fast as the API server takes them.
    async fn fill(&self, indices: impl Iterator<Item = usize>) -> anyhow::Result<()> {
        let client = self.plane.client();
        let mut created =
            stream::iter(indices).map(|index| self.create(&client, index)).buffer_unordered(AT_ONCE);
        while let Some(created) = created.next().await {
            created?;
        }
        Ok(())
    }

    /// Waits until so many addresses were created; markers do not count.
    async fn wait(&self, count: usize) -> anyhow::Result<()> {
        let (begun, mut seen, mut found) = (Instant::now(), 0, 0);
        loop {
            for entry in self.sim.journal_since(seen) {
                seen = entry.sequence;
                let new = entry.effects.into_iter().filter(|effect| effect.before.is_none());
                found += new.filter_map(|effect| effect.after).filter(|record| record["type"] == "A").count();
            }
            if found >= count {
                return Ok(());
            }
            anyhow::ensure!(begun.elapsed() < PATIENCE, "{found} of {count} records after {PATIENCE:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn domain(zone: usize) -> String {
    format!("zone-{zone}.example")
}
