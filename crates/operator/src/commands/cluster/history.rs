//! `zonekeeper history`: the last changes that were made in a zone.

use clap::{Args, ValueEnum};
use serde_json::json;
use zonekeeper_api::{AppliedChange, AppliedOperation, DNSZone};

use crate::commands::{
    Ending,
    cluster::objects::ObjectOptions,
    say,
    table::{aligned, shortened},
};

/// Show the last changes that were made in a zone, the newest first.
#[derive(Debug, Args)]
pub struct History {
    #[command(flatten)]
    options: ObjectOptions,
    /// The DNSZone, as NAME or NAMESPACE/NAME.
    zone: String,
    /// How to print it.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// How to print a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

// === impl History ===

impl History {
    pub async fn run(self) -> anyhow::Result<Ending> {
        let cluster = self.options.connect().await?;
        let reference = cluster.zone(&self.zone)?;
        let zone: DNSZone = cluster.get_as(&reference).await?;
        let changes = zone.status.map(|status| status.history).unwrap_or_default();
        match self.output {
            Output::Json => {
                let (namespace, name) = (&reference.namespace, &reference.name);
                let domain = &zone.spec.domain;
                let history =
                    json!({ "namespace": namespace, "name": name, "domain": domain, "changes": changes });
                say::line(serde_json::to_string_pretty(&history)?);
            }
            Output::Text if changes.is_empty() => {
                say::line(format_args!("No changes were made in {reference} yet."));
            }
            Output::Text => say::result(text(&changes)),
        }
        Ok(Ending::Done)
    }
}

fn text(changes: &[AppliedChange]) -> String {
    let heading = ["TIME", "OPERATION", "NAME", "TYPE OR FIELD", "CHANGE", "OBJECT", "CAUSE", "APPROVED BY"];
    let rows: Vec<_> = [heading.map(str::to_owned)].into_iter().chain(changes.iter().map(cells)).collect();
    aligned(&rows).join("\n") + "\n"
}

fn cells(change: &AppliedChange) -> [String; 8] {
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let what = match change.operation {
        AppliedOperation::Create | AppliedOperation::Adopt => change.after.clone(),
        AppliedOperation::Delete => change.before.clone(),
        AppliedOperation::Update => format!("{} -> {}", change.before, change.after),
    };
    let approver = match (&change.approver, &change.approval) {
        (Some(name), _) => name.clone(),
        (None, Some(hash)) => hash.clone(),
        (None, None) => "-".to_owned(),
    };
    [
        change.time.0.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        change.operation.to_string(),
        change.name.clone(),
        // Of a change of the zone itself, its field.
        change.field.clone().unwrap_or_else(|| change.rtype.clone()),
        or_dash(&shortened(&what)),
        or_dash(&change.object),
        change.cause.to_string(),
        approver,
    ]
}
