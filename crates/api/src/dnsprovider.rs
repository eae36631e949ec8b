//! DNSProvider: where zones are, how to reach it, and who may use it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    backend::{BuiltinBackend, CloudflareBackend, Rfc2136Backend, WebhookBackend},
    duration::GoDuration,
    registry::Registry,
    selector::NamespaceSelection,
    wellknown::DEFAULT_CONTROLLER_NAME,
};

/// What is wanted: one backend, and the rules for all zones there.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq)]
#[kube(
    group = "zonekeeper.dev",
    version = "v1alpha1",
    kind = "DNSProvider",
    plural = "dnsproviders",
    shortname = "zkp",
    category = "zonekeeper",
    status = "DNSProviderStatus",
    derive = "PartialEq",
    doc = "A DNSProvider is a place where zones are kept: an account at Cloudflare, servers that take dynamic updates, a webhook, or the built-in server.",
    printcolumn = r#"{"name": "Zones", "type": "integer", "jsonPath": ".status.zoneCount", "description": "Zones that the credentials can see"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "description": "Whether it can be used"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason", "description": "Why"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "Time since creation"}"#,
    printcolumn = r#"{"name": "Owner ID", "type": "string", "jsonPath": ".status.ownerID", "description": "Who we are at the provider", "priority": 1}"#,
    printcolumn = r#"{"name": "Token Expires", "type": "string", "jsonPath": ".status.tokenExpires", "description": "When the credentials end", "priority": 1}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].message", "description": "What to do next", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("[has(self.cloudflare), has(self.rfc2136), has(self.webhook), has(self.builtin)].exists_one(set, set)")
        .message("set exactly one of cloudflare, rfc2136, webhook and builtin"),
    validation = Rule::new("!has(self.registry.type) || self.registry.type != 'Comment' || has(self.cloudflare)")
        .message("registry.type Comment works at Cloudflare only; use TXT or None here")
        .field_path(".registry.type")
)]
pub struct DNSProviderSpec {
    /// Zones at Cloudflare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloudflare: Option<CloudflareBackend>,
    /// Zones on a server that takes dynamic updates (RFC 2136): BIND9, Knot, PowerDNS and others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rfc2136: Option<Rfc2136Backend>,
    /// Zones behind a webhook provider of ExternalDNS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookBackend>,
    /// Zones on an authoritative server inside the zonekeeper process; nothing survives a restart but what the
    /// cluster declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builtin: Option<BuiltinBackend>,
    /// How ownership is kept at the provider.
    #[serde(default)]
    pub registry: Registry,
    /// The most requests that we send per credential, all zones together.
    #[serde(default)]
    pub rate_limit: RateLimit,
    /// Whose DNSZones may use this provider. Default: the namespace of the credentials' Secret, else the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<NamespaceSelection>,
    /// The release that takes care of this provider; several in one cluster each have their own
    /// (`--controller-name`).
    #[serde(default = "controller_name")]
    #[schemars(length(min = 1, max = 253))]
    pub controller_name: String,
}

/// A budget of requests.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct RateLimit {
    /// Requests per window.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests: u32,
    /// The window.
    pub window: GoDuration,
}

/// What Zonekeeper last saw and did.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct DNSProviderStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The owner id in use.
    #[serde(default, rename = "ownerID", skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// Zones that the credentials can see, at most 500 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 500))]
    pub zones: Vec<VisibleZone>,
    /// How many zones the credentials can see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_count: Option<u32>,
    /// When the credentials end, where the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_expires: Option<Time>,
    /// Ready, Reconciling, Stalled, CredentialsValid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// A zone at the provider.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub struct VisibleZone {
    /// Its domain.
    pub name: String,
    /// Its id at the provider.
    pub id: String,
}

// === impl DNSProviderSpec ===

impl Default for DNSProviderSpec {
    fn default() -> Self {
        Self {
            cloudflare: None,
            rfc2136: None,
            webhook: None,
            builtin: None,
            registry: Registry::default(),
            rate_limit: RateLimit::default(),
            allowed_namespaces: None,
            controller_name: controller_name(),
        }
    }
}

// === impl RateLimit ===

impl Default for RateLimit {
    fn default() -> Self {
        Self { requests: 1000, window: "5m".into() }
    }
}

fn controller_name() -> String {
    DEFAULT_CONTROLLER_NAME.into()
}
