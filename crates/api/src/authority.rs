//! What stands at the top of a zone whose SOA and NS records we write.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shape::DOMAIN_NAME;

/// What stands at the top of the zone.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Authority {
    /// Fields of the SOA; the serial is ours.
    #[serde(default)]
    pub soa: Soa,
    /// Names of the zone's name servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), inner(length(min = 1, max = 255), regex(pattern = DOMAIN_NAME)))]
    pub name_servers: Vec<String>,
}

/// Fields of the SOA record; what is absent gets the provider's default.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Soa {
    /// The primary name server; default: the first of nameServers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = DOMAIN_NAME))]
    pub mname: Option<String>,
    /// The mailbox of the person in charge, as a name or as an address; default: hostmaster of the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = DOMAIN_NAME))]
    pub rname: Option<String>,
    /// Seconds after which secondaries ask for changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub refresh: Option<u32>,
    /// Seconds after which secondaries ask again when that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub retry: Option<u32>,
    /// Seconds after which secondaries stop answering when nothing could be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub expire: Option<u32>,
    /// Seconds for which the absence of a name is remembered (RFC 2308).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub minimum: Option<u32>,
    /// TTL of the SOA and of the apex NS set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub ttl: Option<u32>,
}
