//! `zonekeeper apply`: once, from CI.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::bail;
use clap::Args;
use zonekeeper_kernel::render;

use crate::{
    commands::{Ending, options::FolderOptions, progress::Bar, say},
    engine::Deletes,
    report::{shown_line, zone_line},
    session::{Approved, Report, Serving, Session},
};

/// Apply once, from CI.
#[derive(Debug, Args)]
pub struct Apply {
    /// The folder of manifests.
    #[arg(short, long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Apply only the plan with this hash, and release what it holds.
    #[arg(long, value_name = "HASH")]
    plan_hash: Option<String>,
    #[command(flatten)]
    options: FolderOptions,
}

// === impl Apply ===

impl Apply {
    pub async fn run(self) -> anyhow::Result<Ending> {
        let mut session = self.options.open(self.folder.as_ref(), Serving::Comparing).await?;
        refuse_builtin(&session)?;
        let mut approved = BTreeMap::new();
        let mut total = None;
        if let Some(expected) = &self.plan_hash {
            let planned = session.plan().await;
            let found = planned.hash();
            if found != *expected {
                say::result(planned.text());
                bail!(
                    "the plan has changed: its hash is {found}, not {expected}; run zonekeeper plan again, nothing was applied"
                );
            }
            total = Some(planned.zones.iter().map(|zone| zone.shown().len()).sum());
            approved = planned.zones.iter().map(|zone| (zone.key.clone(), Approved::from(zone))).collect();
        }
        let bar = Bar::new(total);
        let report = session.apply(&approved, Deletes::Complete, &|zone, done| bar.set(zone, done)).await;
        drop(bar);
        say::result(applied(&report));
        Ok(match (report.has_errors(), report.has_held()) {
            (true, _) => Ending::Failed,
            (false, true) => Ending::Pending,
            (false, false) => Ending::Done,
        })
    }
}

fn refuse_builtin(session: &Session) -> anyhow::Result<()> {
    if session.has_builtin() {
        bail!("apply has nothing to write to a built-in server: its zones live and end with `zonekeeper up`");
    }
    Ok(())
}

/// What was done, what failed and what waits, one line each.
fn applied(report: &Report) -> String {
    let mut text = String::new();
    for zone in &report.zones {
        let held = zone.shown().into_iter().filter(|shown| shown.held.is_some() || shown.is_observed);
        text.push_str(&format!(
            "zone {} ({}): {} applied, {} failed, {} held\n",
            zone.key,
            zone.domain,
            zone.pass.applied.len() + zone.pass.zone.applied.len(),
            zone.pass.failed.len() + zone.pass.zone.failed.len(),
            zone.held()
        ));
        if let Some(error) = &zone.error {
            text.push_str(&format!("  ! {}: {error}\n", error.reason()));
        }
        for change in &zone.pass.zone.applied {
            text.push_str(&format!("  {}\n", change.line()));
        }
        for failure in &zone.pass.zone.failed {
            let line = failure.change.line();
            text.push_str(&format!("  ! {line}   {}: {}\n", failure.error.reason(), failure.error));
        }
        for shown in zone.shown_zone() {
            text.push_str(&format!("  {}\n", zone_line(&shown)));
        }
        for change in &zone.pass.applied {
            text.push_str(&format!("  {}\n", render::line(change, &zone.domain)));
        }
        for failure in &zone.pass.failed {
            let line = render::line(&failure.change, &zone.domain);
            text.push_str(&format!("  ! {line}   {}: {}\n", failure.error.reason(), failure.error));
        }
        for shown in held {
            text.push_str(&format!("  {}\n", shown_line(&shown, &zone.domain)));
        }
    }
    for (_, rejection) in report.rejections() {
        text.push_str(&format!(
            "rejected: {}: {}: {}\n",
            rejection.holder, rejection.reason, rejection.message
        ));
    }
    if report.has_held() {
        text.push_str("held changes go with: zonekeeper plan, then zonekeeper apply --plan-hash HASH\n");
    }
    text
}
