//! The zone itself as a DNSZone declares it: whether it comes and goes with the object, how it is delegated, signed and
//! configured at its provider.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{references::LocalSecretReference, safety::DeletionPolicy};

/// Whether the zone itself comes and goes with the object.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct Lifecycle {
    /// Creates the zone at the provider if it does not exist there.
    pub create: bool,
    /// Whether the zone at the provider goes with the object: `Delete` or `Retain`. A zone is deleted only after a
    /// person has approved it.
    pub deletion_policy: DeletionPolicy,
}

/// Whether the parent zone's delegation is managed.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Delegation {
    /// Keeps NS, glue and DS records of this zone in its parent DNSZone, through that zone's grants.
    pub manage: bool,
}

/// How the zone is signed.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct DnssecSpec {
    /// `Unmanaged`: left as it is. `On`: signed. `Off`: not signed; refused while the parent zone has a DS record.
    pub mode: DnssecMode,
    /// The signing policy by its name in the server; absent: its default.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 255))]
    pub policy: String,
}

/// Whether a zone is signed.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DnssecMode {
    /// As it is.
    #[default]
    Unmanaged,
    /// It is.
    On,
    /// It is not.
    Off,
}

/// The zone at Cloudflare. Only what is listed is managed.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(has(self.type) && self.type == 'secondary') || !(has(self.primaries) || has(self.transferTsigSecretRef))")
        .message("primaries and transferTsigSecretRef are for zones of type secondary; remove them, or set type: secondary"),
    validation = Rule::new("!has(self.type) || self.type != 'secondary' || has(self.primaries)")
        .message("a zone of type secondary needs primaries: list the servers that it is transferred from")
)]
pub struct CloudflareZone {
    /// `full`: Cloudflare's name servers answer. `partial`: by CNAME. `secondary`: transferred from elsewhere.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<CloudflareZoneType>,
    /// The servers that a secondary zone is transferred from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 10))]
    pub primaries: Vec<Primary>,
    /// Secret in the DNSZone's namespace with the TSIG key for transfers: `name`, `algorithm` and `secret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_tsig_secret_ref: Option<LocalSecretReference>,
    /// Whether Cloudflare only answers DNS queries for the zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Whether other accounts can add the zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<CloudflareHold>,
    /// Cloudflare's DNS settings of the zone, such as `{nsTTL: 86400, multiProvider: true, soa: {refresh: 10000}}`; names
    /// as in its API, in camel case or with underscores.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "any_object")]
    pub dns_settings: BTreeMap<String, Value>,
    /// Cloudflare's settings of the zone by their id in its API, such as `{ssl: strict, min_tls_version: "1.2"}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "any_object")]
    pub settings: BTreeMap<String, Value>,
}

/// How a zone is set up at Cloudflare.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum CloudflareZoneType {
    /// Cloudflare's name servers answer for the domain.
    Full,
    /// Single names lead to Cloudflare by CNAME.
    Partial,
    /// Cloudflare transfers the zone from other servers.
    Secondary,
}

/// A server that a secondary zone is transferred from.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Primary {
    /// Its IPv4 or IPv6 address.
    #[schemars(length(min = 2, max = 45))]
    #[x_kube(validation = Rule::new("isIP(self)").message("write an IPv4 or IPv6 address, such as 192.0.2.53"))]
    pub address: String,
    /// Its port.
    #[serde(default = "dns_port")]
    #[schemars(range(min = 1, max = 65_535))]
    pub port: u16,
}

/// The hold on a zone's name at Cloudflare.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CloudflareHold {
    /// Keeps other accounts from adding a zone of this name.
    pub enabled: bool,
    /// And zones below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_subdomains: Option<bool>,
}

/// Where the zone itself stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ZoneStanding {
    /// `pending`, `active` or `moved`.
    #[serde(default)]
    pub status: String,
    /// When the provider gives the zone up if it is not delegated by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation_deadline: Option<String>,
    /// The values that managed fields had before they were managed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub initial: BTreeMap<String, String>,
}

/// How the zone is signed, as its provider says.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct DnssecStatus {
    /// The provider's word, such as `pending` or `active`.
    #[serde(default)]
    pub state: String,
    /// DS records that the parent zone must have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub ds: Vec<DsRecord>,
}

/// A DS record.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct DsRecord {
    /// The tag of the key.
    pub key_tag: u16,
    /// The key's algorithm.
    pub algorithm: u8,
    /// How the digest is made; 2 is SHA-256.
    pub digest_type: u8,
    /// The digest.
    pub digest: String,
}

/// What the parent's servers answer for the zone.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct DelegationStatus {
    /// The name servers that they name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub name_servers: Vec<String>,
    /// The DS records that they have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub ds: Vec<DsRecord>,
    /// How many seconds resolvers remember those.
    #[serde(default, rename = "dsTTL", skip_serializing_if = "Option::is_none")]
    pub ds_ttl: Option<u32>,
    /// Until when resolvers may remember DS records that are gone: the zone stays signed until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ds_remembered_until: Option<Time>,
    /// Name servers that they name and that do not answer for the zone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub lame: Vec<String>,
}

// === impl Lifecycle ===

impl Default for Lifecycle {
    fn default() -> Self {
        Self { create: false, deletion_policy: DeletionPolicy::Retain }
    }
}

// === impl CloudflareZoneType ===

impl CloudflareZoneType {
    /// Its word at Cloudflare.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::Secondary => "secondary",
        }
    }
}

fn dns_port() -> u16 {
    53
}

/// An object whose fields are those of another API.
fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "maxProperties": 200 })
}
