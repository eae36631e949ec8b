//! What the binary can do in, or against, a cluster.

mod approve;
mod connect;
mod history;
mod objects;
mod reconcile;
mod run;
mod status;
mod suspend;

use clap::Subcommand;

use crate::{commands::Ending, telemetry::Telemetry};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator in, or against, a cluster.
    Run(run::Run),
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
}

// === impl Command ===

impl Command {
    /// How the command is watched.
    pub fn telemetry(&self) -> Telemetry {
        match self {
            Self::Run(run) => run.telemetry(),
            _once => Telemetry::default(),
        }
    }

    /// Runs the command.
    pub async fn run(self) -> anyhow::Result<Ending> {
        match self {
            Self::Run(run) => run.run().await,
            Self::Status(status) => status.run().await,
            Self::Approve(approve) => approve.run().await,
            Self::Reconcile(reconcile) => reconcile.run().await,
            Self::Suspend(suspend) => suspend.run().await,
            Self::Resume(resume) => resume.run().await,
            Self::History(history) => history.run().await,
        }
    }
}
