//! Changes that were made at a provider, as people and programs read them in a status.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change that was made to one set.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AppliedChange {
    /// When it was made.
    pub time: Time,
    /// `Create`, `Update`, `Delete` or `Adopt`.
    pub operation: AppliedOperation,
    /// The field of the zone itself that changed; absent for sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The set's name; the domain if the zone itself changed.
    pub name: String,
    /// The set's type; the new one where the type changed. Absent if the zone itself changed.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub rtype: String,
    /// The set before the change; absent for a create. Long texts are cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// The set after the change; absent for a delete. Long texts are cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// The objects that ask for the set, or asked for it, as `kind namespace/name`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Why it was made.
    pub cause: ChangeCause,
    /// The hash that released the change, where it was held before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// The person who approved it, as `zonekeeper approve` wrote it down. Nothing proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
}

/// What a change did to its set.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AppliedOperation {
    /// The set is new.
    Create,
    /// Its type, values or attributes changed.
    Update,
    /// It is gone.
    Delete,
    /// It was there already, and is ours now.
    Adopt,
}

/// Why a change was made.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeCause {
    /// An object asks for it.
    Wanted,
    /// It was changed from outside.
    Drift,
    /// The object that asked for it is gone, or asks for something else.
    Released,
    /// No object was known to ask for it, and a person approved its deletion.
    Orphaned,
    /// It was not ours, and spec.prune removes such records.
    Pruned,
}

// === impl AppliedOperation ===

impl AppliedOperation {
    /// Its word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Update => "Update",
            Self::Delete => "Delete",
            Self::Adopt => "Adopt",
        }
    }
}

impl fmt::Display for AppliedOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

// === impl ChangeCause ===

impl ChangeCause {
    /// Its word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wanted => "Wanted",
            Self::Drift => "Drift",
            Self::Released => "Released",
            Self::Orphaned => "Orphaned",
            Self::Pruned => "Pruned",
        }
    }
}

impl fmt::Display for ChangeCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
