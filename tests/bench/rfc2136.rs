//! The operator on a real API server and a real BIND: how soon a change is answered, what many and large cost.

use std::{
    io::Write,
    net::UdpSocket,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context;
use control_plane::{ControlPlane, Options, User};
use dns_servers::{DnsServer, Setup, Software};
use domain::{
    base::{Message, MessageBuilder, Name as WireName, Rtype},
    rdata::A,
};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;
use zonekeeper_api::{DNSProvider, DNSZone, RecordSet};
use zonekeeper_tests::{binary::binary, dns::Relay};

use crate::operator::{
    AT_ONCE, HOME, MANY, PATIENCE, Running, SINGLE, cpu_seconds, create, memory, object, print_times,
};

const DOMAIN: &str = "example.com";
const LARGE: usize = 100_000;
/// How often the burst is measured: no two are alike.
const RUNS: usize = 3;
/// What fits in one message of nsupdate, data and markers.
const PER_MESSAGE: usize = 250;

/// named with one zone, and a control plane that knows of both.
struct Site {
    plane: ControlPlane,
    server: DnsServer,
    relay: Relay,
    kubeconfig: PathBuf,
    /// Where the operator shows its metrics.
    listen: String,
}

/// Asks named by UDP, one question after the other.
struct Resolver(UdpSocket);

/// Prints the tables, or some of them: `single`, `many`, `large`.
pub async fn measure(parts: &[String]) -> anyhow::Result<()> {
    let is_asked = |part: &str| parts.is_empty() || parts.iter().any(|asked| asked == part);
    println!("## BIND\n");
    println!("kube-apiserver {}, named 9.18, all on one machine.\n", ControlPlane::version());
    if is_asked("single") {
        single().await?;
    }
    println!("| job | time | UPDATE messages | RSS |\n|---|---|---|---|");
    if is_asked("many") {
        by_nsupdate()?;
        many().await?;
    }
    if is_asked("large") {
        large().await?;
    }
    println!();
    Ok(())
}

/// One change after the other, with nothing else to do.
async fn single() -> anyhow::Result<()> {
    let site = Site::start(Setup::new(Software::Bind, DOMAIN)).await?;
    let _running = site.operator()?;
    let (client, resolver) = (site.plane.client(), site.resolver()?);
    site.create(&client, 0).await?;
    resolver.wait("host-0", [192, 0, 2, 1]).await?;
    println!("| one object at a time, API call to DNS answer | p50 | p99 | worst |\n|---|---|---|---|");
    let mut times = Vec::new();
    for index in 1..=SINGLE {
        let begun = Instant::now();
        site.create(&client, index).await?;
        resolver.wait(&format!("host-{index}"), [192, 0, 2, 1]).await?;
        times.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    print_times("create", &mut times);
    let api: Api<RecordSet> = Api::namespaced(client, HOME);
    for index in 1..=SINGLE {
        let begun = Instant::now();
        let patch = json!({"spec": {"values": ["192.0.2.2"]}});
        api.patch(&format!("host-{index}"), &PatchParams::default(), &Patch::Merge(&patch)).await?;
        resolver.wait(&format!("host-{index}"), [192, 0, 2, 2]).await?;
        times.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    print_times("update", &mut times);
    println!();
    Ok(())
}

/// What the server itself takes for the same records and markers, with nothing in between.
fn by_nsupdate() -> anyhow::Result<()> {
    let server = DnsServer::start(Setup::new(Software::Bind, DOMAIN))?;
    let mut script = format!("server 127.0.0.1 {}\nzone {DOMAIN}\n", server.port());
    let marker = "heritage=external-dns,external-dns/owner=0123456789abcdef0123456789abcdef,external-dns/resource=recordset/a/b";
    for index in 0..MANY {
        script += &format!("update add host-{index}.{DOMAIN} 300 A 192.0.2.1\n");
        script += &format!("update add a-host-{index}.{DOMAIN} 300 TXT \"{marker}\"\n");
        if index % PER_MESSAGE == PER_MESSAGE - 1 {
            script += "send\n";
        }
    }
    let key = server.key();
    let begun = Instant::now();
    let mut child = Command::new("nsupdate")
        .args(["-v", "-y", &format!("{}:{}:{}", key.algorithm, key.name, key.secret)])
        .stdin(Stdio::piped())
        .spawn()
        .context("starting nsupdate")?;
    child.stdin.take().context("it is piped")?.write_all(script.as_bytes())?;
    anyhow::ensure!(child.wait()?.success(), "nsupdate fails");
    println!(
        "| {MANY} records and their markers by nsupdate, the physical reference | {:.2} s | {} | |",
        begun.elapsed().as_secs_f64(),
        MANY / PER_MESSAGE
    );
    Ok(())
}

async fn many() -> anyhow::Result<()> {
    let (mut times, mut messages, mut most) = (Vec::new(), Vec::new(), 0);
    for _ in 0..RUNS {
        let site = Site::start(Setup::new(Software::Bind, DOMAIN)).await?;
        let running = site.operator()?;
        let client = site.plane.client();
        site.create(&client, MANY).await?;
        site.resolver()?.wait(&format!("host-{MANY}"), [192, 0, 2, 1]).await?;
        let before = site.updates().await?;
        let (filled, served) = tokio::join!(site.fill(), site.all_served());
        times.push(format!("{:.2} s", served?.saturating_duration_since(filled?).as_secs_f64()));
        messages.push((site.updates().await? - before).to_string());
        most = most.max(memory(&running)?);
    }
    println!(
        "| {MANY} RecordSets at once, from the last API call until all are served ({RUNS} runs) | {} | {} | {most} MiB |",
        times.join(", "),
        messages.join(", "),
    );
    let site = Site::start(Setup::new(Software::Bind, DOMAIN)).await?;
    site.fill().await?;
    let (begun, running) = (Instant::now(), site.operator()?);
    let served = site.all_served().await?;
    println!(
        "| {MANY} RecordSets that are there when the operator starts, until all are served | {:.2} s | {} | {} MiB |",
        served.duration_since(begun).as_secs_f64(),
        site.updates().await?,
        memory(&running)?
    );
    Ok(())
}

async fn large() -> anyhow::Result<()> {
    let mut setup = Setup::new(Software::Bind, DOMAIN);
    setup.zone.extend((0..LARGE).map(|index| format!("foreign-{index} A 192.0.2.1\n")));
    let site = Site::start(setup).await?;
    let (begun, running) = (Instant::now(), site.operator()?);
    let zones: Api<DNSZone> = Api::namespaced(site.plane.client(), HOME);
    loop {
        let zone = zones.get("zone").await?;
        let mut conditions = zone.status.iter().flat_map(|status| &status.conditions);
        if conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True") {
            break;
        }
        anyhow::ensure!(begun.elapsed() < PATIENCE, "the zone is not Ready: {:?}", zone.status);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = begun.elapsed().as_secs_f64();
    println!(
        "| a zone of {LARGE} records, start until Ready | {took:.2} s | 0 | {} MiB |",
        memory(&running)?
    );
    let (client, resolver) = (site.plane.client(), site.resolver()?);
    let begun = Instant::now();
    site.create(&client, 0).await?;
    resolver.wait("host-0", [192, 0, 2, 1]).await?;
    println!(
        "| one more record there | {:.3} s | 1 | {} MiB |",
        begun.elapsed().as_secs_f64(),
        memory(&running)?
    );
    // Statuses settle.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (requests, octets, cpu) = (site.relay.requests(), site.relay.octets(), cpu_seconds(&running)?);
    let quiet = Duration::from_secs(60);
    tokio::time::sleep(quiet).await;
    let hourly = 3600.0 / quiet.as_secs_f64();
    println!(
        "\nA quiet hour of that zone, from one minute of it: {:.0} messages, {:.0} octets both ways, {:.0} s of CPU.",
        (site.relay.requests() - requests) as f64 * hourly,
        (site.relay.octets() - octets) as f64 * hourly,
        (cpu_seconds(&running)? - cpu) * hourly,
    );
    Ok(())
}

// === impl Site ===

impl Site {
    async fn start(setup: Setup) -> anyhow::Result<Self> {
        let plane = ControlPlane::start(Options { controller_manager: false }).await?;
        plane.install_crds(&zonekeeper_api::crds_yaml()).await?;
        let server = DnsServer::start(setup)?;
        let relay = Relay::start(server.address()).await;
        let (client, kubeconfig) = (plane.client(), plane.kubeconfig(&User::admin())?);
        let namespaces: Api<Namespace> = Api::all(client.clone());
        create(&namespaces, json!({"metadata": {"name": HOME}})).await?;
        let secrets: Api<Secret> = Api::namespaced(client.clone(), HOME);
        let key = server.key();
        let data = json!({"name": key.name, "algorithm": key.algorithm, "secret": key.secret});
        create(&secrets, json!({"metadata": {"name": "bind9"}, "stringData": data})).await?;
        let providers: Api<DNSProvider> = Api::all(client.clone());
        let spec = json!({"rfc2136": {"servers": [relay.address], "tsigSecretRef": {"name": "bind9"}}});
        create(&providers, object("DNSProvider", "bind9", spec)).await?;
        let zones: Api<DNSZone> = Api::namespaced(client, HOME);
        create(&zones, object("DNSZone", "zone", json!({"domain": DOMAIN}))).await?;
        let listen = format!("127.0.0.1:{}", dns_servers::free_port()?);
        Ok(Self { plane, server, relay, kubeconfig, listen })
    }

    fn operator(&self) -> anyhow::Result<Running> {
        let child = Command::new(binary())
            .arg("run")
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--namespace", HOME, "--listen", &self.listen])
            .stderr(Stdio::null())
            .spawn()
            .context("starting zonekeeper run")?;
        Ok(Running(child))
    }

    fn resolver(&self) -> anyhow::Result<Resolver> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(self.server.address())?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        Ok(Resolver(socket))
    }

    async fn create(&self, client: &Client, index: usize) -> anyhow::Result<()> {
        let api: Api<RecordSet> = Api::namespaced(client.clone(), HOME);
        let spec = json!({"name": format!("host-{index}.{DOMAIN}"), "type": "A", "values": ["192.0.2.1"]});
        create(&api, object("RecordSet", &format!("host-{index}"), spec)).await
    }

    /// Creates objects as fast as the API server takes them, and says when the last one was there.
    async fn fill(&self) -> anyhow::Result<Instant> {
        let client = self.plane.client();
        let mut created =
            stream::iter(0..MANY).map(|index| self.create(&client, index)).buffer_unordered(AT_ONCE);
        while let Some(created) = created.next().await {
            created?;
        }
        Ok(Instant::now())
    }

    /// Asks for one name after the other, and says when the last one was answered.
    async fn all_served(&self) -> anyhow::Result<Instant> {
        let resolver = self.resolver()?;
        for index in 0..MANY {
            resolver.wait(&format!("host-{index}"), [192, 0, 2, 1]).await?;
        }
        Ok(Instant::now())
    }

    /// How many updates the operator sent.
    async fn updates(&self) -> anyhow::Result<usize> {
        let metrics = reqwest::get(format!("http://{}/metrics", self.listen)).await?.text().await?;
        let counts = metrics.lines().filter(|line| {
            line.starts_with("zonekeeper_provider_request_duration_seconds_count")
                && line.contains("\"UPDATE\"")
        });
        counts.map(|line| Ok(line.rsplit(' ').next().context("a figure")?.parse::<usize>()?)).sum()
    }
}

// === impl Resolver ===

impl Resolver {
    /// Waits until a name has this address and no other.
    async fn wait(&self, name: &str, address: [u8; 4]) -> anyhow::Result<()> {
        let begun = Instant::now();
        while self.ask(name)? != Some(address) {
            anyhow::ensure!(begun.elapsed() < PATIENCE, "{name} is not served");
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
        Ok(())
    }

    /// The one address of a name.
    fn ask(&self, name: &str) -> anyhow::Result<Option<[u8; 4]>> {
        let name: WireName<Vec<u8>> = format!("{name}.{DOMAIN}").parse()?;
        let mut question = MessageBuilder::new_vec().question();
        question.push((name, Rtype::A))?;
        self.0.send(&question.finish())?;
        let mut buffer = [0; 512];
        let length = self.0.recv(&mut buffer)?;
        let answer = Message::from_octets(&buffer[..length])?;
        let mut records = answer.answer()?.limit_to::<A>();
        match (records.next(), records.next()) {
            (Some(record), None) => Ok(Some(record?.data().addr().octets())),
            _none_or_several => Ok(None),
        }
    }
}
