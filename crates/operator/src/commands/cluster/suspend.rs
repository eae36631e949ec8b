//! `zonekeeper suspend` and `resume`: stop and go on with all writes for an object.

use anyhow::bail;
use clap::Args;
use serde_json::json;

use crate::commands::{
    Ending,
    cluster::objects::{Named, ObjectOptions, Reference},
    say,
};

/// Stop all writes for a DNSZone or a RecordSet.
#[derive(Debug, Args)]
pub struct Suspend {
    #[command(flatten)]
    target: Target,
}

/// Go on with what was suspended.
#[derive(Debug, Args)]
pub struct Resume {
    #[command(flatten)]
    target: Target,
}

/// What is suspended or resumed.
#[derive(Debug, Args)]
struct Target {
    #[command(flatten)]
    options: ObjectOptions,
    /// The object, as KIND/NAME or KIND/NAMESPACE/NAME, such as dnszone/example-com.
    object: String,
}

/// Whether writes are to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    Stop,
    GoOn,
}

// === impl Suspend ===

impl Suspend {
    pub async fn run(self) -> anyhow::Result<Ending> {
        self.target.set(Writes::Stop).await
    }
}

// === impl Resume ===

impl Resume {
    pub async fn run(self) -> anyhow::Result<Ending> {
        self.target.set(Writes::GoOn).await
    }
}

// === impl Target ===

impl Target {
    async fn set(&self, writes: Writes) -> anyhow::Result<Ending> {
        let cluster = self.options.connect().await?;
        let reference = cluster.object(&self.object)?;
        check(&reference)?;
        let is_suspended = cluster.get(&reference).await?.data["spec"]["suspend"] == true;
        let (wanted, state) = match writes {
            Writes::Stop => (true, "suspended: its records stay as they are"),
            Writes::GoOn => (false, "resumed"),
        };
        if is_suspended == wanted {
            let state = if wanted { "suspended" } else { "not suspended" };
            say::line(format_args!("{reference} is {state} already"));
            return Ok(Ending::Done);
        }
        cluster.patch(&reference, &json!({ "spec": { "suspend": wanted } })).await?;
        say::line(format_args!("{reference} is {state}"));
        Ok(Ending::Done)
    }
}

fn check(reference: &Reference) -> anyhow::Result<()> {
    match reference.kind {
        Named::Zone | Named::RecordSet => Ok(()),
        Named::Provider | Named::AddressSource => {
            bail!("{reference} can't be suspended; suspend the DNSZones or RecordSets that use it")
        }
    }
}
