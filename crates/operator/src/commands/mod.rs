//! What the `zonekeeper` binary can do.

mod apply;
mod check;
#[cfg(feature = "cluster")]
mod cluster;
mod export;
mod follow;
mod options;
mod plan;
mod progress;
pub mod say;
mod table;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::telemetry::Telemetry;

/// Makes DNS say what your manifests say.
#[derive(Debug, Parser)]
#[command(name = "zonekeeper", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve and maintain the zones of a folder, without a cluster.
    Up(up::Up),
    /// Show what would change. Exit code: 0 nothing, 2 changes, 1 an error or a rejected object.
    Plan(plan::Plan),
    /// Apply once, from CI. Exit code: 0 done, 2 something is held, 1 an error, a failure or a rejected object.
    Apply(apply::Apply),
    /// Check a folder without credentials or network. Exit code: 0 sound, 1 an error or a rejected object.
    Check(check::Check),
    /// Write a zone as an RFC 1035 zone file.
    Export(export::Export),
    /// Print the custom resource definitions.
    Crds,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    Cluster(cluster::Command),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All is as wanted.
    Done,
    /// An error, a failure or a rejected object.
    Failed,
    /// Something would change, or waits for a person.
    Pending,
}

// === impl Cli ===

impl Cli {
    /// How the command is watched.
    pub fn telemetry(&self) -> Telemetry {
        match &self.command {
            #[cfg(feature = "cluster")]
            Command::Cluster(command) => command.telemetry(),
            _once => Telemetry::default(),
        }
    }

    /// Runs the command.
    pub async fn run(self) -> anyhow::Result<Ending> {
        match self.command {
            Command::Up(up) => up.run().await,
            Command::Plan(plan) => plan.run().await,
            Command::Apply(apply) => apply.run().await,
            Command::Check(check) => check.run().await,
            Command::Export(export) => export.run().await,
            Command::Crds => {
                say::result(zonekeeper_api::crds_yaml());
                Ok(Ending::Done)
            }
            #[cfg(feature = "cluster")]
            Command::Cluster(command) => command.run().await,
        }
    }
}

// === impl Ending ===

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Done => Self::SUCCESS,
            Ending::Failed => Self::from(1),
            Ending::Pending => Self::from(2),
        }
    }
}
