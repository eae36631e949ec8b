//! `zonekeeper reconcile`: has the operator look at an object now, and waits until it has.

use std::time::Duration;

use anyhow::{bail, ensure};
use clap::Args;
use kube::{
    api::DynamicObject,
    runtime::{conditions::Condition, wait::await_condition},
};
use serde_json::{Value, json};
use zonekeeper_api::{GoDuration, wellknown::RECONCILE_REQUESTED_AT};

use crate::commands::{
    Ending,
    cluster::objects::{Named, ObjectOptions},
    say,
};

/// Have the operator look at an object now, and wait until it has.
#[derive(Debug, Args)]
pub struct Reconcile {
    #[command(flatten)]
    options: ObjectOptions,
    /// The object, as KIND/NAME or KIND/NAMESPACE/NAME, such as dnszone/example-com.
    object: String,
    /// How long to wait until that is done; 0s: not at all.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    timeout: Duration,
}

// === impl Reconcile ===

impl Reconcile {
    pub async fn run(self) -> anyhow::Result<Ending> {
        let cluster = self.options.connect().await?;
        let reference = cluster.object(&self.object)?;
        let before = cluster.get(&reference).await?;
        if before.data["spec"]["suspend"] == true {
            bail!("{reference} is suspended; run `zonekeeper resume {}` first", self.object);
        }
        let stamp = jiff::Timestamp::now().to_string();
        let annotations = json!({ RECONCILE_REQUESTED_AT: stamp });
        cluster.patch(&reference, &json!({ "metadata": { "annotations": annotations } })).await?;
        // A DNSProvider does not say which request it has answered.
        if self.timeout.is_zero() || reference.kind == Named::Provider {
            say::line(format_args!("asked for a look at {reference}"));
            return Ok(Ending::Done);
        }
        let waiting = await_condition(cluster.api(&reference), &reference.name, is_handled(&stamp));
        let Ok(done) = tokio::time::timeout(self.timeout, waiting).await else {
            bail!(
                "{reference} was not looked at within {}s; is the operator running, and does it lead? `kubectl describe` it for its conditions",
                self.timeout.as_secs()
            );
        };
        let object = done?;
        ensure!(object.is_some(), "{reference} was deleted meanwhile");
        say::line(format_args!("{reference} was looked at: {}", ready(object.as_ref())));
        Ok(Ending::Done)
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    GoDuration::from(text).to_std_or_zero().map_err(|error| error.to_string())
}

fn is_handled(stamp: &str) -> impl Condition<DynamicObject> {
    let stamp = stamp.to_owned();
    move |object: Option<&DynamicObject>| {
        object.is_none_or(|object| object.data["status"]["lastHandledReconcileAt"] == *stamp)
    }
}

/// The Ready condition in a line.
fn ready(object: Option<&DynamicObject>) -> String {
    let conditions = object.and_then(|object| object.data["status"]["conditions"].as_array());
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
    let text = |field: &str| ready.and_then(|ready| ready[field].as_str()).unwrap_or_default();
    match ready {
        Some(ready) if *ready != Value::Null => {
            format!("Ready={} {}: {}", text("status"), text("reason"), text("message"))
        }
        _none => "it has no Ready condition yet".into(),
    }
}
