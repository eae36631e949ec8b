//! `zonekeeper plan` from cold on a zone of 100,000 records, beside the official Python SDK merely listing it.

use std::{path::PathBuf, process::Command, time::Instant};

use anyhow::Context;
use cloudflare_sim::{Config, Plan, Sim, TokenGrant};
use serde_json::json;

const RECORDS: usize = 100_000;

/// Lists a zone with the SDK, and prints seconds and records.
const LISTING: &str = "
import os, sys, time
from cloudflare import Cloudflare
client = Cloudflare(api_token=os.environ['TOKEN'], base_url=os.environ['BASE'])
begun = time.monotonic()
size = int(sys.argv[1])
count = sum(1 for _ in client.dns.records.list(zone_id=os.environ['ZONE'], per_page=size))
print(f'{time.monotonic() - begun:.2f} {count}')
";

/// Prints the table.
pub async fn measure() -> anyhow::Result<()> {
    let sim = Sim::start(Config::unlimited()).await?;
    let (zone, token) = (sim.zone("example.com", Plan::Enterprise), sim.token(TokenGrant::full()));
    for index in 0..RECORDS {
        let name = format!("host-{index}.example.com");
        sim.seed(&zone, json!({"type": "A", "name": name, "content": "192.0.2.1", "ttl": 300}));
    }
    println!("## A cold plan beside a peer\n");
    println!("A zone of {RECORDS} records at the simulator, one wanted record, everything on one machine.\n");
    println!("| who | what | time | calls |\n|---|---|---|---|");
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("zone.yaml"), manifests(&sim.base_url()))?;
    let before = sim.requests();
    let begun = Instant::now();
    let output = Command::new(binary()?)
        .args(["plan", "-f"])
        .arg(folder.path())
        .env("CLOUDFLARE_API_TOKEN", &token)
        .output()?;
    anyhow::ensure!(output.status.code() == Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    let seconds = begun.elapsed().as_secs_f64();
    println!("| zonekeeper plan | list, compare, print | {seconds:.2} s | {} |", sim.requests() - before);
    for size in [5_000, 100] {
        let before = sim.requests();
        let output = Command::new(python()?)
            .args(["-c", LISTING, &size.to_string()])
            .env("TOKEN", &token)
            .env("BASE", sim.base_url())
            .env("ZONE", &zone)
            .output()?;
        anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        let (seconds, count) = text.trim().split_once(' ').context("seconds and count")?;
        anyhow::ensure!(count == RECORDS.to_string(), "the SDK lists the whole zone");
        let calls = sim.requests() - before;
        println!("| Python SDK 5.9.0 | list only, {size} per page | {seconds} s | {calls} |");
    }
    Ok(())
}

fn manifests(base_url: &str) -> String {
    format!(
        "apiVersion: zonekeeper.dev/v1alpha1\nkind: DNSProvider\nmetadata: {{name: cloudflare}}\n\
         spec: {{cloudflare: {{baseURL: {base_url}, apiTokenSecretRef: {{name: x}}}}, registry: {{ownerID: bench}}}}\n---\n\
         apiVersion: zonekeeper.dev/v1alpha1\nkind: DNSZone\nmetadata: {{name: zone}}\nspec: {{domain: example.com}}\n---\n\
         apiVersion: zonekeeper.dev/v1alpha1\nkind: RecordSet\nmetadata: {{name: new}}\n\
         spec: {{name: new.example.com, type: A, values: [192.0.2.2]}}\n"
    )
}

/// The program, built beside this one.
fn binary() -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("zonekeeper");
    anyhow::ensure!(path.exists(), "build the program first: cargo build --release -p zonekeeper");
    Ok(path)
}

/// The interpreter with the SDK in it, made by the simulator's own set-up script.
fn python() -> anyhow::Result<PathBuf> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/cloudflare-sim/clients/python/setup.sh");
    let output = Command::new("bash").arg(script).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout)?;
    let last = printed.trim().lines().last().context("the script prints where the interpreter is")?;
    Ok(PathBuf::from(last))
}
