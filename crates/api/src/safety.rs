//! How much may change, what may be taken over, and what may go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    duration::GoDuration,
    shape::{DOMAIN_NAME, RECORD_TYPE},
};

/// How much may change before a person is asked. Counted in sets, against the sets owned when the window began.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct Guard {
    /// Largest share of owned sets that may be deleted within a window.
    #[schemars(range(min = 0, max = 100))]
    pub max_delete_percent: u32,
    /// Largest share of owned sets that may be updated within a window.
    #[schemars(range(min = 0, max = 100))]
    pub max_update_percent: u32,
    /// Below this many owned sets, up to 3 deletes per window pass instead of a percentage.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub min_records: u32,
    /// The window.
    pub window: GoDuration,
    /// Deletes are judged when no further delete came to the zone for this long, and after 5 times as long at the
    /// latest, so that objects that are deleted together are judged together. Creates and updates never wait; `0s`
    /// judges at once.
    #[schemars(schema_with = "GoDuration::or_zero")]
    pub settle: GoDuration,
}

/// What happens to records that no object requests.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct Prune {
    /// `Never` lists orphans, `Owned` holds them for approval, `All` also removes unmarked records that are not
    /// ignored.
    pub mode: PruneMode,
    /// Under `All`: above this many unmarked records per window, all of them are held.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub max_deletes: u32,
    /// Unmarked records that always stay.
    #[schemars(length(max = 100))]
    pub ignore: Vec<PruneIgnore>,
}

/// How far pruning goes.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PruneMode {
    /// Orphans are listed only.
    Never,
    /// Orphans are held for approval.
    #[default]
    Owned,
    /// Unmarked records are removed too.
    All,
}

/// Records that pruning leaves alone; what is absent matches all.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct PruneIgnore {
    /// Name pattern; `*` spans labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = DOMAIN_NAME))]
    pub name: Option<String>,
    /// Record type.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), regex(pattern = RECORD_TYPE))]
    pub rtype: Option<String>,
}

/// What to do with an unowned record that is already there.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Adoption {
    /// Leave it.
    Never,
    /// Take it over if value, TTL and proxied are equal.
    #[default]
    Identical,
    /// Take it over and make it what was asked for.
    Force,
}

/// What happens at the provider when the object is deleted.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// It goes too.
    Delete,
    /// It stays, without our marker.
    Retain,
}

// === impl Guard ===

impl Default for Guard {
    fn default() -> Self {
        Self {
            max_delete_percent: 30,
            max_update_percent: 100,
            min_records: 10,
            window: "10m".into(),
            settle: "2s".into(),
        }
    }
}

// === impl Prune ===

impl Default for Prune {
    fn default() -> Self {
        let challenges = PruneIgnore { name: Some("_acme-challenge.*".into()), rtype: Some("TXT".into()) };
        Self { mode: PruneMode::Owned, max_deletes: 10, ignore: vec![challenges] }
    }
}
