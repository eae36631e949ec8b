//! `zonekeeper approve`: releases the held changes of a zone, exactly those that were shown.

use anyhow::{Context, bail, ensure};
use clap::Args;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::{Api, Client, api::PostParams};
use serde_json::json;
use zonekeeper_api::{
    DNSZone, Operation, PlannedChange, PlannedState,
    wellknown::{APPROVE_PLAN, APPROVED_BY},
};

use crate::commands::{Ending, cluster::objects::ObjectOptions, say};

/// Approve the held changes of a DNSZone, by the hash that its status shows.
#[derive(Debug, Args)]
pub struct Approve {
    #[command(flatten)]
    options: ObjectOptions,
    /// The DNSZone, as NAME or NAMESPACE/NAME.
    zone: String,
    /// The hash in status.plan of the DNSZone.
    hash: String,
}

// === impl Approve ===

impl Approve {
    pub async fn run(self) -> anyhow::Result<Ending> {
        let cluster = self.options.connect().await?;
        let reference = cluster.zone(&self.zone)?;
        let zone: DNSZone = cluster.get_as(&reference).await?;
        let held = held(&zone, &self.hash).with_context(|| reference.to_string())?;
        let approver = whoami(cluster.client()).await;
        let by = approver.map(|name| format!("{} {name}", self.hash));
        let annotations = json!({ APPROVE_PLAN: self.hash, APPROVED_BY: by });
        cluster.patch(&reference, &json!({ "metadata": { "annotations": annotations } })).await?;
        say::line(format_args!("approved {} held changes of {reference}:", count(&zone)));
        held.iter().for_each(|change| say::line(line(change)));
        let unlisted = count(&zone) - held.len();
        if unlisted > 0 {
            say::line(format_args!("  and {unlisted} more that the status has no room for"));
        }
        Ok(Ending::Done)
    }
}

fn count(zone: &DNSZone) -> usize {
    let plan = zone.status.as_ref().and_then(|status| status.plan.as_ref());
    plan.map_or(0, |plan| plan.held as usize)
}

/// The changes that this hash releases, as far as the status lists them.
fn held<'a>(zone: &'a DNSZone, hash: &str) -> anyhow::Result<Vec<&'a PlannedChange>> {
    let status = zone.status.as_ref();
    let plan = status.and_then(|status| status.plan.as_ref()).filter(|plan| plan.held > 0);
    let used = status.and_then(|status| status.guard.as_ref());
    let Some(plan) = plan else {
        if used.is_some_and(|guard| guard.used_approvals.iter().any(|used| used == hash)) {
            bail!("the hash {hash} was approved and carried out before; nothing is held now");
        }
        bail!("nothing is held; there is nothing to approve");
    };
    ensure!(
        plan.hash == hash,
        "it shows the hash {}, not {hash}, so nothing was approved: the held changes may have changed since you looked. Look at status.plan again",
        plan.hash
    );
    if zone.spec.suspend {
        bail!("it is suspended; resume it first, then approve what its status shows");
    }
    Ok(plan.changes.iter().filter(|change| change.held).collect())
}

/// How the API server calls the person who asks; nothing where it does not say.
async fn whoami(client: &Client) -> Option<String> {
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await.ok()?;
    review.status?.user_info?.username
}

fn line(change: &PlannedChange) -> String {
    let state = |state: &Option<PlannedState>| match state {
        Some(PlannedState::Set(set)) => set.values.join(", "),
        Some(PlannedState::Value(value)) => value.to_string(),
        None => String::new(),
    };
    let (before, after) = (state(&change.before), state(&change.after));
    let place = match &change.field {
        Some(field) if field == "zone" => "the zone, with all its records".to_owned(),
        Some(field) => format!("zone {field}"),
        None => {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            format!("{} {}", text(&change.name), text(&change.rtype))
        }
    };
    let what = match change.operation {
        Operation::Create => format!("+ {place} {after}"),
        Operation::Delete => format!("- {place} {before}"),
        Operation::Update => format!("~ {place} {before} -> {after}"),
    };
    match &change.message {
        Some(message) => format!("  {what}   ({message})"),
        None => format!("  {what}"),
    }
}
