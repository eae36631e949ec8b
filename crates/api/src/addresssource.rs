//! AddressSource: addresses that are written down, or asked for over HTTP.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    duration::GoDuration, references::LocalSecretReference, selector::NamespaceSelection, shape::HTTP_URL,
    wellknown::DEFAULT_CONTROLLER_NAME,
};

/// What is wanted: where addresses come from.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq)]
#[kube(
    group = "zonekeeper.dev",
    version = "v1alpha1",
    kind = "AddressSource",
    plural = "addresssources",
    namespaced,
    shortname = "zka",
    category = "zonekeeper",
    status = "AddressSourceStatus",
    derive = "PartialEq",
    doc = "An AddressSource gives addresses to RecordSets: a fixed list, or what a service on the net says our address is.",
    printcolumn = r#"{"name": "Addresses", "type": "string", "jsonPath": ".status.addresses", "description": "The last good addresses"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "description": "Whether the addresses are current"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason", "description": "Why"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "Time since creation"}"#,
    printcolumn = r#"{"name": "Interval", "type": "string", "jsonPath": ".spec.interval", "description": "How often it asks", "priority": 1}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].message", "description": "What to do next", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.static) != has(self.http)").message("set either static or http"))]
pub struct AddressSourceSpec {
    /// Addresses that never change. Excludes `http`.
    #[serde(default, rename = "static", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), inner(length(min = 1, max = 45)))]
    #[x_kube(validation = Rule::new("self.all(address, isIP(address))")
        .message("write IPv4 or IPv6 addresses, such as 192.0.2.1 or 2001:db8::1"))]
    pub static_addresses: Vec<String>,
    /// Services that say our address, tried in order until one answers. Excludes `static`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 20))]
    pub http: Vec<HttpSource>,
    /// Address families to look for: `IPv4`, `IPv6` or both.
    #[serde(default = "ipv4")]
    #[schemars(length(min = 1, max = 2))]
    pub families: Vec<AddressFamily>,
    /// How often to ask: at least `10s`.
    #[serde(default = "interval")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('10s')").message("write at least 10s, such as 10s or 5m"))]
    pub interval: GoDuration,
    /// The release that asks; several in one cluster each have their own (`--controller-name`). The others use the
    /// addresses in its status.
    #[serde(default = "controller_name")]
    #[schemars(length(min = 1, max = 253))]
    pub controller_name: String,
    /// Whose RecordSets may use it.
    #[serde(default)]
    pub allowed_namespaces: NamespaceSelection,
}

/// A service that says our address.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct HttpSource {
    /// Where to ask.
    #[schemars(length(max = 2048), regex(pattern = HTTP_URL))]
    pub url: String,
    /// The request's method.
    #[serde(default)]
    pub method: HttpMethod,
    /// The request's body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 16384))]
    pub body: String,
    /// Headers of the request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 50))]
    pub headers: BTreeMap<String, String>,
    /// A Secret in the same namespace whose keys are further headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers_secret_ref: Option<LocalSecretReference>,
    /// A jq filter that finds the address in a JSON answer, such as `.ip`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub jq: Option<String>,
    /// A regular expression that finds the address in the answer, or in what jq found; the first group counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub regex: Option<String>,
}

/// A method of HTTP.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// The usual one.
    #[default]
    Get,
    /// With a body.
    Post,
    /// With a body.
    Put,
    /// With a body.
    Patch,
    /// Without one.
    Delete,
}

/// A family of addresses.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressFamily {
    /// For A records.
    #[serde(rename = "IPv4")]
    V4,
    /// For AAAA records.
    #[serde(rename = "IPv6")]
    V6,
}

/// What Zonekeeper last saw and did.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct AddressSourceStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The last good addresses; they are kept when every source fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    pub addresses: Vec<String>,
    /// The last value of the annotation `reconcile.fluxcd.io/requestedAt` that was acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// Ready, Reconciling, Stalled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

// === impl AddressSourceSpec ===

impl Default for AddressSourceSpec {
    fn default() -> Self {
        Self {
            static_addresses: Vec::new(),
            http: Vec::new(),
            families: ipv4(),
            interval: interval(),
            controller_name: controller_name(),
            allowed_namespaces: NamespaceSelection::default(),
        }
    }
}

fn ipv4() -> Vec<AddressFamily> {
    vec![AddressFamily::V4]
}

fn interval() -> GoDuration {
    "5m".into()
}

fn controller_name() -> String {
    DEFAULT_CONTROLLER_NAME.into()
}
