//! `zonekeeper plan`: what would change.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::{
    commands::{Ending, options::FolderOptions, progress::spinner, say},
    session::Serving,
};

/// Show what would change.
#[derive(Debug, Args)]
pub struct Plan {
    /// The folder of manifests.
    #[arg(short, long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// How to print the plan.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    options: FolderOptions,
}

/// How to print a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    Text,
    Json,
    Markdown,
}

// === impl Plan ===

impl Plan {
    pub async fn run(self) -> anyhow::Result<Ending> {
        let reading = spinner("reading zones");
        let mut session = self.options.open(self.folder.as_ref(), Serving::Comparing).await?;
        let report = session.plan().await;
        drop(reading);
        match self.output {
            Output::Json => say::line(serde_json::to_string_pretty(&report.json())?),
            Output::Markdown => say::result(report.markdown()),
            Output::Text => {
                say::result(report.text());
                if report.has_changes() {
                    let folder =
                        self.folder.as_deref().unwrap_or(std::path::Path::new("DIR")).display().to_string();
                    let hash = report.hash();
                    if report.has_held() {
                        say::line("Passing this hash also applies the changes marked HELD:");
                    }
                    say::line(format_args!("plan {hash}: zonekeeper apply -f {folder} --plan-hash {hash}"));
                }
            }
        }
        Ok(match (report.has_errors(), report.has_changes()) {
            (true, _) => Ending::Failed,
            (false, true) => Ending::Pending,
            (false, false) => Ending::Done,
        })
    }
}
