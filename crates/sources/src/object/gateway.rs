//! Gateway, ListenerSet and routes of every kind and version, as far as names and addresses need them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize;

use super::workload::Condition;

/// A Gateway.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Gateway {
    /// What is asked for.
    pub spec: GatewaySpec,
    /// What is there.
    pub status: GatewayStatus,
}

/// The spec of a Gateway.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GatewaySpec {
    /// Its listeners.
    pub listeners: Vec<Listener>,
    /// Whose ListenerSets it takes; none where it does not say.
    pub allowed_listeners: AllowedListeners,
}

/// Whose ListenerSets a Gateway takes.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct AllowedListeners {
    /// Their namespaces.
    pub namespaces: FromNamespaces,
}

/// Which namespaces; what no `from` means is up to the field.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct FromNamespaces {
    /// `All`, `Same`, `Selector` or `None`.
    pub from: String,
    /// Their labels.
    pub selector: Option<LabelSelector>,
}

/// The status of a Gateway.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct GatewayStatus {
    /// Where it listens.
    pub addresses: Vec<GatewayAddress>,
}

/// One place where a Gateway listens, of any type.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct GatewayAddress {
    /// An address or a name.
    pub value: String,
}

/// A listener of a Gateway or ListenerSet.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Listener {
    /// What routes call it in sectionName.
    pub name: String,
    /// The host names that it serves; empty means all.
    pub hostname: String,
    /// Its port.
    pub port: u16,
    /// Its protocol.
    pub protocol: String,
    /// Which routes it takes.
    pub allowed_routes: AllowedRoutes,
}

/// Which routes a listener takes.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct AllowedRoutes {
    /// From where; `Same` where it does not say.
    pub namespaces: FromNamespaces,
    /// Of which kinds; those of its protocol where it does not say.
    pub kinds: Vec<RouteGroupKind>,
}

/// A kind of route.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct RouteGroupKind {
    /// The Gateway API where it does not say.
    pub group: Option<String>,
    /// The kind.
    pub kind: String,
}

/// A ListenerSet.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct ListenerSet {
    /// What is asked for.
    pub spec: ListenerSetSpec,
    /// What is there.
    pub status: ListenerSetStatus,
}

/// The spec of a ListenerSet.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ListenerSetSpec {
    /// Its Gateway.
    pub parent_ref: ParentRef,
    /// Its listeners.
    pub listeners: Vec<Listener>,
}

/// The status of a ListenerSet.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct ListenerSetStatus {
    /// Whether it is Accepted.
    pub conditions: Vec<Condition>,
    /// Whether each listener is.
    pub listeners: Vec<ListenerStatus>,
}

/// The status of one listener.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct ListenerStatus {
    /// Which.
    pub name: String,
    /// Whether it is Accepted.
    pub conditions: Vec<Condition>,
}

/// A route of any kind.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Route {
    /// What is asked for.
    pub spec: RouteSpec,
    /// What is there.
    pub status: RouteStatus,
}

/// The spec of a route.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouteSpec {
    /// Its Gateways and ListenerSets.
    pub parent_refs: Vec<ParentRef>,
    /// Its host names; TCPRoute and UDPRoute have none.
    pub hostnames: Vec<String>,
}

/// What a route attaches to.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ParentRef {
    /// The Gateway API where it does not say.
    pub group: Option<String>,
    /// Gateway where it does not say.
    pub kind: Option<String>,
    /// The route's own where it does not say.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// One listener, where it says so.
    pub section_name: Option<String>,
    /// One port, where it says so.
    pub port: Option<u16>,
}

/// The status of a route.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct RouteStatus {
    /// What each parent says.
    pub parents: Vec<RouteParent>,
}

/// What a parent says of a route.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RouteParent {
    /// Which parent.
    pub parent_ref: ParentRef,
    /// Whether it is Accepted.
    pub conditions: Vec<Condition>,
}

/// Whether a condition Accepted is there and true.
pub fn is_accepted(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| condition.r#type == "Accepted" && condition.is_true())
}
