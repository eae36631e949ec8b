//! Runs a control plane until it is interrupted, to look at with kubectl.

use anyhow::{Context, Result};
use clap::Parser;
use control_plane::{ControlPlane, Options, User};

/// A real Kubernetes control plane on loopback; prints the path of its kubeconfig.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Also start kube-controller-manager, which deletes namespaces and collects garbage.
    #[arg(long)]
    controller_manager: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let Arguments { controller_manager } = Arguments::parse();
    let plane = ControlPlane::start(Options { controller_manager }).await?;
    println!("{}", plane.kubeconfig(&User::admin())?.display());
    tokio::signal::ctrl_c().await.context("waiting for an interrupt")
}
