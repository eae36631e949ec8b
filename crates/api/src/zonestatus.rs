//! What a DNSZone reports: the provider's zone, counts, the guard's window and the plan.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    duration::GoDuration,
    history::AppliedChange,
    plan::PlanStatus,
    zoneconfig::{DelegationStatus, DnssecStatus, ZoneStanding},
};

/// What Zonekeeper last saw and did.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct DNSZoneStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The DNSProvider in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The zone's id at the provider.
    #[serde(default, rename = "zoneID", skip_serializing_if = "Option::is_none")]
    pub zone_id: Option<String>,
    /// Name servers to which the domain must be delegated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub name_servers: Vec<String>,
    /// How many sets there are, by what they are to us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordCounts>,
    /// What the guard remembers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardStatus>,
    /// The interval in use, where the request budget stretches the one that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_interval: Option<GoDuration>,
    /// Changes that have not been carried out: held, or only observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanStatus>,
    /// The last changes that were made, the newest first: at most 50, and fewer where they are long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub history: Vec<AppliedChange>,
    /// The last write at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync_time: Option<Time>,
    /// The last value of the annotation `reconcile.fluxcd.io/requestedAt` that was acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// Where the zone itself stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneStanding>,
    /// How it is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dnssec: Option<DnssecStatus>,
    /// What the parent's servers answer for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<DelegationStatus>,
    /// Ready, Reconciling, Stalled, Accepted, Programmed, Held, DriftDetected, Delegated, Signed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// Sets of a zone, counted.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct RecordCounts {
    /// Requested by objects.
    #[serde(default)]
    pub desired: u32,
    /// At the provider.
    #[serde(default)]
    pub live: u32,
    /// At the provider, and ours.
    #[serde(default)]
    pub owned: u32,
    /// At the provider, and not ours.
    #[serde(default)]
    pub foreign: u32,
    /// Owned by this installation, but the objects that created them could not be confirmed as deleted.
    #[serde(default)]
    pub orphaned: u32,
}

/// What the guard remembers between runs.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct GuardStatus {
    /// When the current window began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_start: Option<Time>,
    /// Sets owned when it began.
    #[serde(default)]
    pub owned_at_start: u32,
    /// Owned sets deleted since.
    #[serde(default)]
    pub deletes: u32,
    /// Owned sets updated since.
    #[serde(default)]
    pub updates: u32,
    /// Unowned records pruned since.
    #[serde(default)]
    pub prunes: u32,
    /// The hash that was approved and is being carried out; a restart goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub pending_approval: Option<String>,
    /// Hashes that were approved and carried out; they do not work again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50), inner(length(max = 128)))]
    pub used_approvals: Vec<String>,
    /// A digest of spec.sources as it was when every record from source objects was last accounted for. While it differs,
    /// records that no source object requests any more are not deleted without approval.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 128))]
    pub reading: String,
    /// RecordSets that were let go while their records stayed in the zone, as `recordset/namespace/name`. Their records are
    /// orphaned: they go only by approval. `*` stands for all that had no room here. An entry goes with its last record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200), inner(length(max = 512)))]
    pub released: Vec<String>,
}
