//! Node, Pod and EndpointSlice, as far as addresses need them.

use serde::Deserialize;

/// A Node.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    /// What is asked for.
    pub spec: NodeSpec,
    /// What is there.
    pub status: NodeStatus,
}

/// The spec of a Node.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Cordoned.
    pub unschedulable: bool,
}

/// The status of a Node.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// Its addresses.
    pub addresses: Vec<NodeAddress>,
}

/// One address of a Node.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct NodeAddress {
    /// `ExternalIP`, `InternalIP` or another.
    pub r#type: String,
    /// The address.
    pub address: String,
}

/// A Pod.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// What is asked for.
    pub spec: PodSpec,
    /// What is there.
    pub status: PodStatus,
}

/// The spec of a Pod.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    /// Its own host name.
    pub hostname: String,
    /// Where it runs.
    pub node_name: String,
}

/// The status of a Pod.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    /// `Running` and so on.
    pub phase: String,
    /// The address of its node.
    #[serde(rename = "hostIP")]
    pub host_ip: String,
    /// Its address.
    #[serde(rename = "podIP")]
    pub pod_ip: String,
    /// All its addresses.
    #[serde(rename = "podIPs")]
    pub pod_ips: Vec<PodIp>,
    /// Whether it is ready, among others.
    pub conditions: Vec<Condition>,
}

/// One address of a Pod.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct PodIp {
    /// The address.
    pub ip: String,
}

/// A condition, as far as it is true or not.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Condition {
    /// What it is about.
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

/// An EndpointSlice.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct EndpointSlice {
    /// Its endpoints.
    pub endpoints: Vec<SliceEndpoint>,
}

/// One endpoint of an EndpointSlice.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SliceEndpoint {
    /// Its addresses, of which the first counts.
    pub addresses: Vec<String>,
    /// Whether it is ready.
    pub conditions: SliceConditions,
    /// What it is.
    pub target_ref: Option<TargetRef>,
}

/// Whether an endpoint is ready.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct SliceConditions {
    /// Absent means yes.
    pub ready: Option<bool>,
}

/// What an endpoint is.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct TargetRef {
    /// The kind.
    pub kind: String,
    /// The namespace; the slice's own where it is empty.
    pub namespace: String,
    /// The name.
    pub name: String,
}

// === impl Pod ===

impl Pod {
    /// Whether its condition Ready is true.
    pub fn is_ready(&self) -> bool {
        self.status.conditions.iter().any(|condition| condition.r#type == "Ready" && condition.is_true())
    }
}

// === impl Condition ===

impl Condition {
    /// Whether it is true.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

// === impl Node ===

impl Node {
    /// Its addresses of one type.
    pub fn addresses(&self, r#type: &str) -> Vec<String> {
        let of_type = self.status.addresses.iter().filter(|address| address.r#type == r#type);
        of_type.map(|address| address.address.clone()).collect()
    }
}
