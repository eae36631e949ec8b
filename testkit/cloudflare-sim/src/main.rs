//! Runs the simulator as a program, for clients that no Rust test starts.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::{Context, ensure};
use clap::Parser;
use cloudflare_sim::{Config, Plan, Sim, TokenGrant};

/// A simulator of Cloudflare's v4 DNS API; prints its base URL and, as NAME=ID, its zones.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[arg(long, default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// A zone to create, with its plan: free, pro, business or enterprise.
    #[arg(long = "zone", value_name = "NAME[:PLAN]")]
    zones: Vec<String>,
    /// A token of 40 characters that may do everything.
    #[arg(long = "token", value_name = "TOKEN")]
    tokens: Vec<String>,
    /// Requests per token in 5 minutes.
    #[arg(long, default_value_t = 1_200)]
    rate_limit: u32,
    /// Appends every request and its effects here, as JSON lines.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let sim = Sim::start(Config {
        listen: arguments.listen,
        rate_limit: arguments.rate_limit,
        journal_file: arguments.journal,
        ..Config::default()
    })
    .await?;
    for token in &arguments.tokens {
        ensure!(sim.accept_token(token, TokenGrant::full()), "a token has 40 letters and digits");
    }
    let mut line = sim.base_url();
    for zone in &arguments.zones {
        let (name, plan) = zone.split_once(':').unwrap_or((zone, "free"));
        let plan: Plan = plan.parse()?;
        line.push_str(&format!(" {name}={}", sim.zone(name, plan)));
    }
    println!("{line}");
    tokio::signal::ctrl_c().await.context("waiting for an interrupt")?;
    sim.shutdown();
    Ok(())
}
