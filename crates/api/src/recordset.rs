//! RecordSet: one name and type, the values that it should have, and who holds them now.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    references::{AddressSourceReference, ZoneReference},
    safety::{Adoption, DeletionPolicy},
    shape::{DOMAIN_NAME, ONE_LINE, RELATIVE_NAME},
};

/// What is wanted: a set of values under one name and type.
#[derive(CustomResource, Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq)]
#[kube(
    group = "zonekeeper.dev",
    version = "v1alpha1",
    kind = "RecordSet",
    plural = "recordsets",
    namespaced,
    shortname = "rrset",
    category = "zonekeeper",
    status = "RecordSetStatus",
    derive = "PartialEq",
    selectable = ".spec.name",
    selectable = ".spec.type",
    doc = "A RecordSet is one DNS name and type with all its values.",
    printcolumn = r#"{"name": "Name", "type": "string", "jsonPath": ".spec['name','relativeName']", "description": "The DNS name"}"#,
    printcolumn = r#"{"name": "Type", "type": "string", "jsonPath": ".spec.type", "description": "The record type"}"#,
    printcolumn = r#"{"name": "Values", "type": "string", "jsonPath": ".status.summary.values", "description": "The values, those of AddressSources included"}"#,
    printcolumn = r#"{"name": "TTL", "type": "string", "jsonPath": ".status.summary.ttl", "description": "The TTL in seconds, or auto"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "description": "Whether the provider holds it"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason", "description": "Why"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "Time since creation"}"#,
    printcolumn = r#"{"name": "Proxied", "type": "boolean", "jsonPath": ".spec.cloudflare.proxied", "description": "Whether Cloudflare proxies it", "priority": 1}"#,
    printcolumn = r#"{"name": "Zone", "type": "string", "jsonPath": ".status.zones[*].name", "description": "The first zone that took it", "priority": 1}"#,
    printcolumn = r#"{"name": "Zone ID", "type": "string", "jsonPath": ".status.zones[*].id", "description": "That zone's id at the provider", "priority": 1}"#,
    printcolumn = r#"{"name": "Record ID", "type": "string", "jsonPath": ".status.zones[*].records[*].id", "description": "The first record's id at the provider", "priority": 1}"#,
    printcolumn = r#"{"name": "Last Sync", "type": "date", "jsonPath": ".status.lastSyncTime", "description": "Time since the last write at the provider", "priority": 1}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].message", "description": "What to do next", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.name) != has(self.relativeName)")
        .message("set either name (absolute) or relativeName (under each zone that takes it), not both"),
    validation = Rule::new("(has(self.values) && size(self.values) > 0) || (has(self.valuesFrom) && size(self.valuesFrom) > 0)")
        .message("set values, valuesFrom or both"),
    validation = Rule::new("!has(self.valuesFrom) || size(self.valuesFrom) == 0 || self.type in ['A', 'AAAA']")
        .message("valuesFrom gives addresses: use it with type A or AAAA")
        .field_path(".valuesFrom"),
    validation = Rule::new("!(self.type in ['CNAME', 'DNAME']) || !has(self.values) || size(self.values) <= 1")
        .message("a CNAME or DNAME set has one value; remove the others")
        .field_path(".values"),
    validation = Rule::new("self.type != 'A' || !has(self.values) || self.values.all(value, isIP(value) && ip(value).family() == 4)")
        .message("values of type A are IPv4 addresses such as 192.0.2.10; use type AAAA for IPv6")
        .field_path(".values"),
    validation = Rule::new("self.type != 'AAAA' || !has(self.values) || self.values.all(value, isIP(value) && ip(value).family() == 6)")
        .message("values of type AAAA are IPv6 addresses such as 2001:db8::10; use type A for IPv4")
        .field_path(".values"),
    validation = Rule::new("!has(self.reverse) || !self.reverse || self.type in ['A', 'AAAA']")
        .message("reverse keeps PTR records for addresses: use it with type A or AAAA")
        .field_path(".reverse"),
    validation = Rule::new("!has(self.resolveTargets) || !self.resolveTargets || self.type == 'CNAME'")
        .message("resolveTargets publishes the addresses of an alias' target: use it with type CNAME")
        .field_path(".resolveTargets"),
    validation = Rule::new("!has(self.cloudflare) || !has(self.cloudflare.proxied) || !self.cloudflare.proxied || self.type in ['A', 'AAAA', 'CNAME']")
        .message("Cloudflare proxies A, AAAA and CNAME only; remove cloudflare.proxied")
        .field_path(".cloudflare.proxied")
)]
pub struct RecordSetSpec {
    /// The absolute name, such as `www.example.com`; the final dot is optional. Excludes `relativeName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = DOMAIN_NAME))]
    pub name: Option<String>,
    /// A name under each zone that takes the object by zoneRefs or recordsFrom, such as `www`; `@` is the zone itself.
    /// Excludes `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = RELATIVE_NAME))]
    pub relative_name: Option<String>,
    /// The record type in upper case, such as `A`, `CNAME` or `TXT`; types without a name of their own by RFC 3597, such as `TYPE65280`.
    #[serde(rename = "type")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new("self in ['A', 'AAAA', 'CNAME', 'DNAME', 'MX', 'NS', 'TXT', 'SRV', 'CAA', 'HTTPS', 'SVCB', 'TLSA', 'SMIMEA', 'SSHFP', 'DS', 'DNSKEY', 'NAPTR', 'LOC', 'URI', 'PTR', 'CERT', 'OPENPGPKEY'] || self.matches('^TYPE[0-9]{1,5}$')")
        .message("write a record type in upper case: A, AAAA, CNAME, DNAME, MX, NS, TXT, SRV, CAA, HTTPS, SVCB, TLSA, SMIMEA, SSHFP, DS, DNSKEY, NAPTR, LOC, URI, PTR, CERT, OPENPGPKEY, or TYPE65280 and so on for others"))]
    pub rtype: String,
    /// Values in presentation format, up to 100, such as `192.0.2.10` (A), `10 mail.example.com.` (MX) or `v=spf1 -all`
    /// (TXT). A TXT value without a leading quote is one literal string.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 65535)))]
    pub values: Vec<String>,
    /// Further values, from AddressSources; with type A or AAAA only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub values_from: Vec<ValuesFrom>,
    /// TTL in seconds, such as `300`; default: the zone's. At Cloudflare 1 means automatic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub ttl: Option<u32>,
    /// Whether PTR records are kept for the addresses of an A or AAAA set, in a reverse DNSZone that grants them; default:
    /// the zone's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<bool>,
    /// Publishes the addresses of a CNAME's target in its place, where an alias can't stand, and follows them at their TTL.
    #[serde(default)]
    pub resolve_targets: bool,
    /// The zones that take the object. Default: the zone with the longest domain that matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub zone_refs: Vec<ZoneReference>,
    /// What only Cloudflare has; other providers ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloudflare: Option<CloudflareRecord>,
    /// What to do with an unowned record that is already there: `Never` leaves it, `Identical` takes it over if it is
    /// equal, `Force` takes it over.
    #[serde(default)]
    pub adoption: Adoption,
    /// Whether the record goes with the object: `Delete` or `Retain`.
    #[serde(default = "delete")]
    pub deletion_policy: DeletionPolicy,
    /// Stops all writes for this object.
    #[serde(default)]
    pub suspend: bool,
}

/// Where further values come from.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ValuesFrom {
    /// An AddressSource.
    pub address_source_ref: AddressSourceReference,
}

/// What only Cloudflare has.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct CloudflareRecord {
    /// Whether Cloudflare proxies the record; default: the zone's. Proxied records have automatic TTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxied: Option<bool>,
    /// A comment of one line; absent keeps the live text, empty clears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500), regex(pattern = ONE_LINE))]
    pub comment: Option<String>,
    /// Tags, `name:value` or `name`, such as `team:web`. They need a paid plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), inner(length(min = 1, max = 133)))]
    pub tags: Vec<String>,
    /// Settings of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<CloudflareSettings>,
}

/// Settings that Cloudflare keeps per record.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct CloudflareSettings {
    /// Answers with the target's addresses in place of the CNAME.
    #[serde(default, rename = "flattenCNAME")]
    pub flatten_cname: bool,
    /// A proxied name answers with IPv4 addresses only.
    #[serde(default)]
    pub ipv4_only: bool,
    /// A proxied name answers with IPv6 addresses only.
    #[serde(default)]
    pub ipv6_only: bool,
}

/// What Zonekeeper last saw and did.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct RecordSetStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The zones that took the object, with the records there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub zones: Vec<WrittenZone>,
    /// What the object comes to, as the columns of `kubectl get` show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<RecordSummary>,
    /// The last write at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sync_time: Option<Time>,
    /// The last value of the annotation `reconcile.fluxcd.io/requestedAt` that was acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// Ready, Accepted, Programmed, Reconciling, Stalled, DriftDetected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// What an object comes to, as people write it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct RecordSummary {
    /// The values, separated by commas; long lists are cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values: String,
    /// The TTL in seconds, or `auto`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ttl: String,
}

/// A zone that took the object.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[serde(rename_all = "camelCase")]
pub struct WrittenZone {
    /// Namespace of the DNSZone.
    pub namespace: String,
    /// Name of the DNSZone.
    pub name: String,
    /// The zone's id at the provider.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Name under which the records were written: at another name they are not this object's any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_name: Option<String>,
    /// Type under which the records were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_type: Option<String>,
    /// Records that were written there for the object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 200))]
    pub records: Vec<WrittenRecord>,
}

/// A record that was written for the object.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[serde(rename_all = "camelCase")]
pub struct WrittenRecord {
    /// Its id at the provider; absent where records have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Its value in presentation format.
    pub value: String,
}

// === impl RecordSetSpec ===

impl Default for RecordSetSpec {
    fn default() -> Self {
        Self {
            name: None,
            relative_name: None,
            rtype: String::new(),
            values: Vec::new(),
            values_from: Vec::new(),
            ttl: None,
            reverse: None,
            resolve_targets: false,
            zone_refs: Vec::new(),
            cloudflare: None,
            adoption: Adoption::default(),
            deletion_policy: delete(),
            suspend: false,
        }
    }
}

fn delete() -> DeletionPolicy {
    DeletionPolicy::Delete
}
