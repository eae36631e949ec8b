//! `zonekeeper check`: whether a folder is sound, without credentials or network.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use zonekeeper_kernel::{
    lint::{Finding, Sets, lint},
    reason::{Reason, Rejection},
};

use crate::{
    commands::{
        Ending,
        options::{FolderOptions, listed, read},
        say,
    },
    session::{Report, Session, ZoneReport},
};

/// Check a folder.
#[derive(Debug, Args)]
pub struct Check {
    /// The folder of manifests.
    folder: PathBuf,
    /// How to print what was found.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// How to print what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    Text,
    Json,
}

/// A zone as the folder would have it.
struct Checked<'a> {
    zone: &'a ZoneReport,
    sets: Sets,
    warnings: Vec<Finding>,
}

// === impl Check ===

impl Check {
    pub async fn run(self) -> anyhow::Result<Ending> {
        let folder = read(&self.folder)?;
        for note in &folder.notes {
            say::aside(format_args!("note: {note}"));
        }
        let mut session = Session::open(folder.without_missing_secrets(), FolderOptions::offline())
            .await
            .map_err(|problems| anyhow::anyhow!(listed(&problems)))?;
        let report = session.plan().await;
        let zones: Vec<Checked<'_>> = report.zones.iter().map(Checked::of).collect();
        let rejections: Vec<&Rejection> = refused(&report).collect();
        match self.output {
            Output::Text => say::result(text(&zones, &rejections)),
            Output::Json => say::line(serde_json::to_string_pretty(&value(&zones, &rejections))?),
        }
        Ok(if rejections.is_empty() { Ending::Done } else { Ending::Failed })
    }
}

// === impl Checked ===

impl<'a> Checked<'a> {
    /// Against an empty zone, all that is wanted is created.
    fn of(zone: &'a ZoneReport) -> Self {
        let mut sets = Sets::new();
        for shown in zone.shown() {
            for state in shown.change.after() {
                let values = state.values.iter().cloned();
                sets.entry(shown.change.name.clone())
                    .or_default()
                    .entry(state.rtype)
                    .or_default()
                    .extend(values);
            }
        }
        let warnings = lint(&zone.domain, &sets);
        Self { zone, sets, warnings }
    }

    fn count(&self) -> usize {
        self.sets.values().map(std::collections::BTreeMap::len).sum()
    }
}

/// What can't be served as it is written. Addresses that are asked for elsewhere are not known here.
fn refused(report: &Report) -> impl Iterator<Item = &Rejection> {
    report.rejections().map(|(_, rejection)| rejection).filter(|it| it.reason != Reason::TargetsUnknown)
}

fn text(zones: &[Checked<'_>], rejections: &[&Rejection]) -> String {
    let mut text = String::new();
    for checked in zones {
        let ZoneReport { key, domain, .. } = checked.zone;
        text.push_str(&format!("zone {key} ({domain}): {} record sets\n", checked.count()));
        for warning in &checked.warnings {
            text.push_str(&format!("  warning: {warning}\n"));
        }
    }
    for rejection in rejections {
        text.push_str(&format!(
            "rejected: {}: {}: {}\n",
            rejection.holder, rejection.reason, rejection.message
        ));
    }
    text
}

fn value(zones: &[Checked<'_>], rejections: &[&Rejection]) -> Value {
    let warning = |finding: &Finding| {
        json!({
            "name": finding.name.as_str(),
            "type": finding.rtype.to_string(),
            "reason": finding.lint.as_str(),
            "message": finding.message,
        })
    };
    let zone = |checked: &Checked<'_>| {
        json!({
            "namespace": checked.zone.key.namespace,
            "name": checked.zone.key.name,
            "domain": checked.zone.domain.as_str(),
            "sets": checked.count(),
            "warnings": checked.warnings.iter().map(warning).collect::<Vec<_>>(),
        })
    };
    let rejected = |it: &&Rejection| {
        json!({
            "object": it.holder.as_str(),
            "name": it.name.as_ref().map(|name| name.as_str()),
            "type": it.rtype.to_string(),
            "reason": it.reason.as_str(),
            "message": it.message,
        })
    };
    json!({
        "zones": zones.iter().map(zone).collect::<Vec<_>>(),
        "rejected": rejections.iter().map(rejected).collect::<Vec<_>>(),
    })
}
