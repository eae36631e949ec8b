//! A plan as people and programs read it, in status and on the command line.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::recordset::CloudflareSettings;

/// Changes that have not been carried out.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct PlanStatus {
    /// Identifies the held changes; the annotation `zonekeeper.dev/approve-plan` with this value releases them once.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// Sets that would be created.
    #[serde(default)]
    pub creates: u32,
    /// Sets that would be updated.
    #[serde(default)]
    pub updates: u32,
    /// Sets that would be deleted.
    #[serde(default)]
    pub deletes: u32,
    /// How many of all these wait for approval.
    #[serde(default)]
    pub held: u32,
    /// The changes, at most 100 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub changes: Vec<PlannedChange>,
}

/// A change to one set, or to a field of the zone itself.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PlannedChange {
    /// `Create`, `Update` or `Delete`.
    pub operation: Operation,
    /// The field of the zone itself, such as `dnssec` or `settings.ssl`; `zone` if the zone is created or deleted. Absent
    /// for sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The set's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The set's type; the new one where the type changes.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub rtype: Option<String>,
    /// The set, or the value of the field, as it is; absent for a create.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any")]
    pub before: Option<PlannedState>,
    /// The set, or the value of the field, as it would be; absent for a delete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any")]
    pub after: Option<PlannedState>,
    /// Whether it waits for approval.
    #[serde(default)]
    pub held: bool,
    /// Why it is held or not carried out: one of our reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same in a sentence, with the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What a change is about, before or after it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(untagged)]
pub enum PlannedState {
    /// A set.
    Set(PlannedSet),
    /// The value of a field.
    Value(Value),
}

/// What a change does to its set.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// The set is new.
    Create,
    /// The set, or its type, value or attributes change.
    Update,
    /// The set goes.
    Delete,
}

/// A set before or after a change.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct PlannedSet {
    /// The set's type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// TTL in seconds; 1 is automatic at Cloudflare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
    /// Values in presentation format, sorted.
    #[serde(default)]
    pub values: Vec<String>,
    /// Whether Cloudflare proxies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxied: Option<bool>,
    /// The comment at Cloudflare, without our marker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The tags at Cloudflare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The settings at Cloudflare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<CloudflareSettings>,
}

/// A set or a value: a structural schema has no other way to say so.
fn any(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}
