//! Where the kinds of source objects are served: a row per kind, and versions as the server has them.

use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::core::{ApiResource, GroupVersionKind};
use zonekeeper_api::SourceKind;
use zonekeeper_kernel::holder::Holder;
use zonekeeper_sources::object::{Kind, ObjectRef};

/// How a kind is served.
pub struct Row {
    pub group: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    /// The version, where every server has the same; else those that it has are asked for.
    pub version: Option<&'static str>,
}

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// How a kind is served.
pub fn row(kind: Kind) -> Row {
    let (group, plural, version) = match kind {
        Kind::Source(SourceKind::Service) => ("", "services", Some("v1")),
        Kind::Source(SourceKind::Ingress) => ("networking.k8s.io", "ingresses", Some("v1")),
        Kind::Source(SourceKind::HttpRoute) => (GATEWAY_API, "httproutes", None),
        Kind::Source(SourceKind::Gateway) => (GATEWAY_API, "gateways", None),
        Kind::Source(SourceKind::GrpcRoute) => (GATEWAY_API, "grpcroutes", None),
        Kind::Source(SourceKind::TlsRoute) => (GATEWAY_API, "tlsroutes", None),
        Kind::Source(SourceKind::TcpRoute) => (GATEWAY_API, "tcproutes", None),
        Kind::Source(SourceKind::UdpRoute) => (GATEWAY_API, "udproutes", None),
        Kind::Source(SourceKind::DnsEndpoint) => ("externaldns.k8s.io", "dnsendpoints", None),
        Kind::Source(SourceKind::Node) => ("", "nodes", Some("v1")),
        Kind::Source(SourceKind::Pod) => ("", "pods", Some("v1")),
        Kind::EndpointSlice => ("discovery.k8s.io", "endpointslices", Some("v1")),
        Kind::ListenerSet => (GATEWAY_API, "listenersets", None),
        Kind::Namespace => ("", "namespaces", Some("v1")),
    };
    Row { group, kind: kind.as_str(), plural, version }
}

/// A kind as the API server serves it.
pub fn resource(row: &Row, version: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk(row.group, version, row.kind);
    ApiResource::from_gvk_with_plural(&kind, row.plural)
}

/// How Events name a source object.
pub fn reference(object: &ObjectRef, uid: Option<String>) -> ObjectReference {
    let row = row(object.kind);
    let api_version = match (row.group, row.version.unwrap_or("v1")) {
        ("", version) => version.to_owned(),
        (group, version) => format!("{group}/{version}"),
    };
    ObjectReference {
        api_version: Some(api_version),
        kind: Some(row.kind.into()),
        name: Some(object.name.clone()),
        namespace: Some(object.namespace.clone()).filter(|namespace| !namespace.is_empty()),
        uid,
        ..ObjectReference::default()
    }
}

/// A source object as the owner of what is made for it; none for one of the whole cluster, which has no namespace to put
/// it in.
pub fn owner(object: &ObjectRef, resource: &ApiResource, uid: Option<String>) -> Option<OwnerReference> {
    let uid = uid.filter(|_| !object.namespace.is_empty())?;
    Some(OwnerReference {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        name: object.name.clone(),
        uid,
        controller: Some(true),
        block_owner_deletion: None,
    })
}

/// The source object that a holder names, as ExternalDNS writes it.
pub fn source_of(holder: &Holder) -> Option<ObjectRef> {
    let mut parts = holder.as_str().splitn(3, '/');
    let word = parts.next()?;
    let kind = match word {
        "crd" => SourceKind::DnsEndpoint,
        word => *SourceKind::all().iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word))?,
    };
    let kind = Kind::Source(kind);
    match (parts.next()?, parts.next()) {
        (namespace, Some(name)) => Some(ObjectRef::new(kind, namespace, name)),
        (name, None) => Some(ObjectRef::new(kind, "", name)),
    }
}
