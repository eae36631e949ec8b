//! DNSZone: one zone at a provider, who may write to it, and how carefully.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    authority::Authority,
    duration::GoDuration,
    grant::{AllowedRecords, NameLimits, RecordsFrom},
    references::ProviderReference,
    safety::{Guard, Prune},
    shape::DOMAIN_NAME,
    sources::Sources,
    zoneconfig::{CloudflareZone, Delegation, DnssecSpec, Lifecycle},
    zonestatus::DNSZoneStatus,
};

/// What is wanted of the zone.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq)]
#[kube(
    group = "zonekeeper.dev",
    version = "v1alpha1",
    kind = "DNSZone",
    plural = "dnszones",
    namespaced,
    shortname = "zkz",
    category = "zonekeeper",
    status = "DNSZoneStatus",
    derive = "PartialEq",
    selectable = ".spec.domain",
    selectable = ".spec.policy",
    doc = "A DNSZone is one zone at a provider: which names are ours there, who may ask for records, and how much may change at once.",
    printcolumn = r#"{"name": "Domain", "type": "string", "jsonPath": ".spec.domain", "description": "The zone's domain"}"#,
    printcolumn = r#"{"name": "Provider", "type": "string", "jsonPath": ".status.provider", "description": "The DNSProvider in use"}"#,
    printcolumn = r#"{"name": "Policy", "type": "string", "jsonPath": ".spec.policy", "description": "Which changes are carried out"}"#,
    printcolumn = r#"{"name": "Records", "type": "integer", "jsonPath": ".status.records.owned", "description": "Sets that are ours at the provider"}"#,
    printcolumn = r#"{"name": "Held", "type": "integer", "jsonPath": ".status.plan.held", "description": "Changes that wait for approval"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "description": "Whether the provider holds what is wanted"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason", "description": "Why"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "Time since creation"}"#,
    printcolumn = r#"{"name": "Zone ID", "type": "string", "jsonPath": ".status.zoneID", "description": "The zone's id at the provider", "priority": 1}"#,
    printcolumn = r#"{"name": "Last Sync", "type": "date", "jsonPath": ".status.lastSyncTime", "description": "Time since the last write at the provider", "priority": 1}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].message", "description": "What to do next", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(oldSelf.providerRef.name) || (has(self.providerRef.name) && self.providerRef.name == oldSelf.providerRef.name)")
        .message("providerRef can't change once it is set; create another DNSZone for the other provider")
        .field_path(".providerRef"),
    validation = Rule::new("!has(oldSelf.zoneID) || oldSelf.zoneID == '' || (has(self.zoneID) && self.zoneID == oldSelf.zoneID)")
        .message("zoneID can't change once it is set; create another DNSZone for the other zone")
)]
pub struct DNSZoneSpec {
    /// The zone's domain, such as `example.com`. It can't change.
    #[schemars(length(min = 1, max = 255), regex(pattern = DOMAIN_NAME))]
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("domain can't change; create another DNSZone for the other domain"))]
    pub domain: String,
    /// The provider that holds the zone. It can't change once it is set.
    #[serde(default)]
    pub provider_ref: ProviderReference,
    /// Pins the zone by its id at the provider; otherwise it is found by name. It can't change once it is set.
    #[serde(default, rename = "zoneID", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 255))]
    pub zone_id: String,
    /// `Any`: takes every object whose name falls into the domain. `Explicit`: only objects that name the zone in
    /// zoneRefs, or match its sources or recordsFrom.
    #[serde(default)]
    pub selection: Selection,
    /// `Sync`: create, update and delete. `UpsertOnly`: no deletes. `CreateOnly`: creates only. `Observe`: plan only.
    #[serde(default)]
    pub policy: Policy,
    /// What to do about changes made from outside: `Revert` undoes them, `Report` says so and leaves them.
    #[serde(default)]
    pub drift: Drift,
    /// How often the zone is compared with what is wanted, such as `60s` or `5m`.
    #[serde(default = "interval")]
    pub interval: GoDuration,
    /// Stops all writes and comparisons.
    #[serde(default)]
    pub suspend: bool,
    /// Names that are ours to write; outside them the zone is left alone.
    #[serde(default, skip_serializing_if = "is_unlimited")]
    pub names: NameLimits,
    /// Grants to other namespaces. The zone's own namespace always has all names and types, and adoption up to
    /// Force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub allowed_records: Vec<AllowedRecords>,
    /// RecordSets that this zone takes by label, from namespaces that it grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub records_from: Vec<RecordsFrom>,
    /// Kubernetes objects to publish names for. Absent: none; `{}`: Service, Ingress and HTTPRoute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Sources>,
    /// SOA and apex NS, for servers where we write them: the built-in one, and those that take updates. There, only what is
    /// listed is managed, and every change waits for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<Authority>,
    /// What records get that do not say otherwise.
    #[serde(default)]
    pub defaults: ZoneDefaults,
    /// How much may change before a person is asked.
    #[serde(default)]
    pub guard: Guard,
    /// What happens to records that no object requests.
    #[serde(default)]
    pub prune: Prune,
    /// Whether the zone itself comes and goes with this object.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// Whether the parent zone's delegation is managed.
    #[serde(default)]
    pub delegation: Delegation,
    /// Whether the zone is signed.
    #[serde(default)]
    pub dnssec: DnssecSpec,
    /// Whether PTR records are kept for A and AAAA records of this zone, in reverse DNSZones that grant them.
    #[serde(default)]
    pub reverse: bool,
    /// The zone at Cloudflare; only what is listed is managed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloudflare: Option<CloudflareZone>,
}

/// Which objects a zone takes.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Selection {
    /// Every object whose name falls into the domain.
    #[default]
    Any,
    /// The same, together with every other zone of the domain with `All`: one domain at several providers.
    All,
    /// Objects that name it or that it selects.
    Explicit,
}

/// Which changes are carried out.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    /// All.
    #[default]
    Sync,
    /// No deletes.
    UpsertOnly,
    /// Creates only.
    CreateOnly,
    /// None: plan only.
    Observe,
}

/// What to do about changes made from outside.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Drift {
    /// Undo them.
    #[default]
    Revert,
    /// Say so, and leave them.
    Report,
}

/// What records get that do not say otherwise.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ZoneDefaults {
    /// TTL in seconds; default: automatic at Cloudflare, else 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub ttl: Option<u32>,
    /// Defaults at Cloudflare.
    #[serde(default)]
    pub cloudflare: CloudflareDefaults,
}

/// Defaults at Cloudflare.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct CloudflareDefaults {
    /// Whether Cloudflare proxies A, AAAA and CNAME records.
    #[serde(default)]
    pub proxied: bool,
}

// === impl DNSZoneSpec ===

impl Default for DNSZoneSpec {
    fn default() -> Self {
        Self {
            domain: String::new(),
            provider_ref: ProviderReference::default(),
            zone_id: String::new(),
            selection: Selection::default(),
            policy: Policy::default(),
            drift: Drift::default(),
            interval: interval(),
            suspend: false,
            names: NameLimits::default(),
            allowed_records: Vec::new(),
            records_from: Vec::new(),
            sources: None,
            authority: None,
            defaults: ZoneDefaults::default(),
            guard: Guard::default(),
            prune: Prune::default(),
            lifecycle: Lifecycle::default(),
            delegation: Delegation::default(),
            dnssec: DnssecSpec::default(),
            reverse: false,
            cloudflare: None,
        }
    }
}

fn interval() -> GoDuration {
    "60s".into()
}

fn is_unlimited(names: &NameLimits) -> bool {
    *names == NameLimits::default()
}
