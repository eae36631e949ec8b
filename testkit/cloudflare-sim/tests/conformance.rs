//! The official SDKs as judges: every case of both must pass, and together they cover the catalogue.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail, ensure};
use cloudflare_sim::{Config, Sim};
use serde::Deserialize;

/// The catalogue numbers its cases up to here, without these; those from 121 on are about zones as objects.
const LAST: u32 = 127;
const UNUSED: [u32; 20] = [7, 16, 23, 31, 37, 42, 49, 54, 59, 65, 71, 77, 83, 88, 94, 99, 104, 109, 113, 118];
const GO_CASES: usize = 40;

#[derive(Deserialize)]
struct Verdict {
    case: String,
    name: String,
    ok: bool,
    detail: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn official_clients_can_not_tell() -> anyhow::Result<()> {
    let python = judged("python", python_client).await?;
    let go = judged("go", go_client).await?;
    ensure!(go.len() >= GO_CASES, "go covers {} cases, not {GO_CASES}", go.len());
    let covered: BTreeSet<u32> = python.union(&go).copied().collect();
    println!("python {} cases, go {}, together {}", python.len(), go.len(), covered.len());
    let catalogue: BTreeSet<u32> = (1..=LAST).filter(|number| !UNUSED.contains(number)).collect();
    let difference: Vec<_> = catalogue.symmetric_difference(&covered).collect();
    ensure!(difference.is_empty(), "not covered, or not in the catalogue: {difference:?}");
    Ok(())
}

/// Runs a client against a simulator of its own and returns the numbers of its cases.
async fn judged(name: &str, command: fn(&Path) -> anyhow::Result<Command>) -> anyhow::Result<BTreeSet<u32>> {
    let sim = Sim::start(Config::unlimited()).await?;
    let mut client = command(&Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name))?;
    client.env("SIM_ORIGIN", sim.origin());
    let output = tokio::task::spawn_blocking(move || client.output())
        .await?
        .with_context(|| format!("running the {name} client"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the {name} client failed: {errors}");
    let lines = std::str::from_utf8(&output.stdout)?.lines();
    let verdicts: Vec<Verdict> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    let failures: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.ok).collect();
    for Verdict { case, name: title, detail, .. } in &failures {
        println!("{name} case {case}, {title}: {detail}");
    }
    ensure!(failures.is_empty(), "{} of {} {name} cases fail", failures.len(), verdicts.len());
    verdicts.iter().map(|verdict| verdict.case.parse().context("reading a case number")).collect()
}

fn python_client(folder: &Path) -> anyhow::Result<Command> {
    needs("python3", "--version", "Python 3.9 or newer with its venv module")?;
    let interpreter = printed(Command::new("sh").arg(folder.join("setup.sh")))?;
    let mut client = Command::new(interpreter.trim());
    client.arg(folder.join("conformance.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(client)
}

fn go_client(folder: &Path) -> anyhow::Result<Command> {
    needs("go", "version", "Go 1.26 or newer")?;
    let binary = cache()?.join("cloudflare-go-conformance");
    // The binary is thrown away, so it needs no version from the repository around it.
    let flags = ["build", "-buildvcs=false", "-o"];
    printed(Command::new("go").args(flags).arg(&binary).arg(".").current_dir(folder))?;
    Ok(Command::new(binary))
}

/// The same folder as `clients/python/setup.sh` uses.
fn cache() -> anyhow::Result<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = folder("ZONEKEEPER_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("zonekeeper")))
        .or_else(|| Some(folder("HOME")?.join(".cache/zonekeeper")))
        .context("set ZONEKEEPER_CACHE to a folder for build output")?;
    std::fs::create_dir_all(&cache).with_context(|| format!("creating {}", cache.display()))?;
    Ok(cache)
}

fn needs(program: &str, argument: &str, install: &str) -> anyhow::Result<()> {
    match Command::new(program).arg(argument).output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => bail!("{program} is missing: install {install}"),
    }
}

fn printed(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}
