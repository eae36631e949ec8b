//! The four ways to reach a DNS server; a provider has exactly one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    references::{SecretReference, TokenSecretReference},
    shape::{HOST_PORT, HTTP_URL, NETWORK},
};

/// Zones at Cloudflare.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CloudflareBackend {
    /// The Secret with the API token.
    pub api_token_secret_ref: TokenSecretReference,
    /// The account in which zones are created; only needed for that.
    #[serde(default, rename = "accountID", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub account_id: String,
    /// Where the API is.
    #[serde(default = "cloudflare_api", rename = "baseURL")]
    #[schemars(length(max = 2048), regex(pattern = HTTP_URL))]
    pub base_url: String,
}

/// Zones on a server that takes dynamic updates (RFC 2136): BIND9, Knot, PowerDNS and others.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Rfc2136Backend {
    /// Servers as `host:port`; the first takes updates, the others are tried in order.
    #[schemars(length(min = 1, max = 16), inner(length(max = 260), regex(pattern = HOST_PORT)))]
    pub servers: Vec<String>,
    /// `TCP`, or `TLS` (RFC 9103).
    #[serde(default)]
    pub transport: Transport,
    /// The Secret with the TSIG key: `name`, `algorithm` and `secret`. While a key is rotated, the one before it may
    /// lie beside it as `previousName`, `previousAlgorithm` and `previousSecret`: whichever a server knows is used; name
    /// and algorithm may be left out where they stay the same. Absent: unsigned messages.
    #[serde(default, deserialize_with = "SecretReference::or_none", skip_serializing_if = "Option::is_none")]
    pub tsig_secret_ref: Option<SecretReference>,
    /// Secret with the TSIG key for zone transfers and queries, if it differs from `tsigSecretRef`. Same format.
    #[serde(default, deserialize_with = "SecretReference::or_none", skip_serializing_if = "Option::is_none")]
    pub transfer_tsig_secret_ref: Option<SecretReference>,
    /// `Transfer`, or `Names` for servers that refuse transfers: only requested names are read then. Records of source
    /// objects that were deleted while the operator was down are not found.
    #[serde(default)]
    pub reading: ZoneReading,
}

/// How zones are read.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ZoneReading {
    /// As a whole, by AXFR and IXFR.
    #[default]
    Transfer,
    /// Name by name, requested names only.
    Names,
}

/// How messages travel to a server.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Transport {
    /// Plain TCP.
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
    /// DNS over TLS.
    #[serde(rename = "TLS")]
    Tls,
}

/// Zones behind a webhook provider of ExternalDNS.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct WebhookBackend {
    /// Where the webhook listens.
    #[schemars(length(max = 2048), regex(pattern = HTTP_URL))]
    pub url: String,
}

/// Zones on an authoritative server inside the zonekeeper process.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct BuiltinBackend {
    /// Address and port on which it answers, over UDP and TCP.
    #[schemars(length(max = 260), regex(pattern = HOST_PORT))]
    pub listen: String,
    /// Addresses and networks that may transfer zones; none by default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(max = 64), regex(pattern = NETWORK)))]
    pub allow_transfer: Vec<String>,
}

// === impl BuiltinBackend ===

impl Default for BuiltinBackend {
    fn default() -> Self {
        Self { listen: "127.0.0.1:5300".into(), allow_transfer: Vec::new() }
    }
}

fn cloudflare_api() -> String {
    "https://api.cloudflare.com/client/v4".into()
}
