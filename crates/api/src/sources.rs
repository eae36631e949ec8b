//! Which Kubernetes objects a zone publishes names for.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source objects of a zone; `{}` means these defaults.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub struct Sources {
    /// Kinds to read.
    #[schemars(length(max = 20))]
    pub kinds: Vec<SourceKind>,
    /// Whose annotations to read.
    #[schemars(length(max = 10))]
    pub dialects: Vec<Dialect>,
    /// Further annotation prefixes that are read like ExternalDNS's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), inner(length(min = 1, max = 253)))]
    pub annotation_prefixes: Vec<String>,
    /// Labels that an object must have; none means all objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Annotations that an object must have, written like a label selector; for example one ingress class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotation_selector: Option<LabelSelector>,
    /// A template for names of objects that ask for none, in ExternalDNS's syntax, such as
    /// `{{.Name}}.example.com`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub fqdn_template: String,
}

/// A kind that names are published for.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// core/v1 Service.
    Service,
    /// networking.k8s.io/v1 Ingress.
    Ingress,
    /// Gateway API HTTPRoute.
    #[serde(rename = "HTTPRoute")]
    HttpRoute,
    /// Gateway API Gateway.
    Gateway,
    /// Gateway API GRPCRoute.
    #[serde(rename = "GRPCRoute")]
    GrpcRoute,
    /// Gateway API TLSRoute.
    #[serde(rename = "TLSRoute")]
    TlsRoute,
    /// Gateway API TCPRoute.
    #[serde(rename = "TCPRoute")]
    TcpRoute,
    /// Gateway API UDPRoute.
    #[serde(rename = "UDPRoute")]
    UdpRoute,
    /// ExternalDNS's DNSEndpoint.
    #[serde(rename = "DNSEndpoint")]
    DnsEndpoint,
    /// core/v1 Node.
    Node,
    /// core/v1 Pod.
    Pod,
}

/// A set of annotations.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Our own, under `zonekeeper.dev/`.
    Zonekeeper,
    /// ExternalDNS's, under both of its prefixes.
    ExternalDns,
    /// cloudflare-operator's, under `cloudflare-operator.io/`.
    CloudflareOperator,
}

// === impl Sources ===

impl Default for Sources {
    fn default() -> Self {
        Self {
            kinds: vec![SourceKind::Service, SourceKind::Ingress, SourceKind::HttpRoute],
            dialects: vec![Dialect::Zonekeeper, Dialect::ExternalDns],
            annotation_prefixes: Vec::new(),
            label_selector: None,
            annotation_selector: None,
            fqdn_template: String::new(),
        }
    }
}

// === impl Dialect ===

impl Dialect {
    /// The dialect as `spec.sources.dialects` spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Zonekeeper => "zonekeeper",
            Self::ExternalDns => "external-dns",
            Self::CloudflareOperator => "cloudflare-operator",
        }
    }
}

// === impl SourceKind ===

impl SourceKind {
    /// Every kind.
    pub const fn all() -> &'static [Self] {
        &[
            Self::Service,
            Self::Ingress,
            Self::HttpRoute,
            Self::Gateway,
            Self::GrpcRoute,
            Self::TlsRoute,
            Self::TcpRoute,
            Self::UdpRoute,
            Self::DnsEndpoint,
            Self::Node,
            Self::Pod,
        ]
    }

    /// The kind as Kubernetes spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::Ingress => "Ingress",
            Self::HttpRoute => "HTTPRoute",
            Self::Gateway => "Gateway",
            Self::GrpcRoute => "GRPCRoute",
            Self::TlsRoute => "TLSRoute",
            Self::TcpRoute => "TCPRoute",
            Self::UdpRoute => "UDPRoute",
            Self::DnsEndpoint => "DNSEndpoint",
            Self::Node => "Node",
            Self::Pod => "Pod",
        }
    }
}
