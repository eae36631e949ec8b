//! What the `zonekeeper` binary can do.

mod apply;
mod approve;
mod connect;
mod export;
mod follow;
mod history;
mod objects;
mod options;
mod plan;
mod progress;
mod reconcile;
mod run;
pub mod say;
mod status;
mod suspend;
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
    /// Run the operator in, or against, a cluster.
    Run(run::Run),
    /// Serve and maintain the zones of a folder, without a cluster.
    Up(up::Up),
    /// Show what would change. Exit code: 0 nothing, 2 changes, 1 an error or a rejected object.
    Plan(plan::Plan),
    /// Apply once, from CI. Exit code: 0 done, 2 something is held, 1 an error, a failure or a rejected object.
    Apply(apply::Apply),
    /// Show who asks for which records, and what became of them.
    Status(status::Status),
    /// Approve the held changes of a DNSZone, by the hash that its status shows.
    Approve(approve::Approve),
    /// Have the operator look at an object now, and wait until it has.
    Reconcile(reconcile::Reconcile),
    /// Stop all writes for a DNSZone or a RecordSet.
    Suspend(suspend::Suspend),
    /// Go on with what was suspended.
    Resume(suspend::Resume),
    /// Show the last changes that were made in a zone.
    History(history::History),
    /// Write a zone as an RFC 1035 zone file.
    Export(export::Export),
    /// Print the custom resource definitions.
    Crds,
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
            Command::Run(run) => run.telemetry(),
            _once => Telemetry::default(),
        }
    }

    /// Runs the command.
    pub async fn run(self) -> anyhow::Result<Ending> {
        match self.command {
            Command::Run(run) => run.run().await,
            Command::Up(up) => up.run().await,
            Command::Plan(plan) => plan.run().await,
            Command::Apply(apply) => apply.run().await,
            Command::Status(status) => status.run().await,
            Command::Approve(approve) => approve.run().await,
            Command::Reconcile(reconcile) => reconcile.run().await,
            Command::Suspend(suspend) => suspend.run().await,
            Command::Resume(resume) => resume.run().await,
            Command::History(history) => history.run().await,
            Command::Export(export) => export.run().await,
            Command::Crds => {
                say::result(zonekeeper_api::crds_yaml());
                Ok(Ending::Done)
            }
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
