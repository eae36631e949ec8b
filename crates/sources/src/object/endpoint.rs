//! ExternalDNS's DNSEndpoint.

use serde::Deserialize;
use serde_json::Value;

/// ExternalDNS's DNSEndpoint.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct DnsEndpoint {
    /// What is asked for.
    pub spec: DnsEndpointSpec,
    /// What was said of it.
    pub status: DnsEndpointStatus,
}

/// The status of a DNSEndpoint.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DnsEndpointStatus {
    /// The generation that it is about.
    pub observed_generation: Option<i64>,
    /// Its conditions, of any writer.
    pub conditions: Vec<Value>,
}

/// The spec of a DNSEndpoint.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct DnsEndpointSpec {
    /// The sets.
    pub endpoints: Vec<Endpoint>,
}

/// One set of a DNSEndpoint.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Endpoint {
    /// The name.
    pub dns_name: String,
    /// The values.
    pub targets: Vec<String>,
    /// The type.
    pub record_type: String,
    /// The TTL in seconds; 0 means none.
    #[serde(rename = "recordTTL")]
    pub record_ttl: i64,
    /// Settings of providers.
    pub provider_specific: Vec<Property>,
}

/// One setting of a provider.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}
