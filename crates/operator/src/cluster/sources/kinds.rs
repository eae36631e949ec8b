//! Where the kinds of source objects are served: a row per kind, and versions as the server has them.

use k8s_openapi::{
    api::core::v1::ObjectReference,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Api, Client, api::ApiResource};
use zonekeeper_api::SourceKind;
use zonekeeper_kernel::holder::Holder;
use zonekeeper_sources::object::{Kind, ObjectRef};

use crate::cluster::sources::follow::resource;

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

/// Finds a kind at the server; none where it is not installed.
pub async fn find(client: &Client, kind: Kind) -> kube::Result<Option<ApiResource>> {
    let row = row(kind);
    if let Some(version) = row.version {
        return Ok(Some(resource(&row, version)));
    }
    let groups = client.list_api_groups().await?.groups;
    let Some(group) = groups.into_iter().find(|group| group.name == row.group) else { return Ok(None) };
    // The server sorts its versions, the most stable first.
    for served in group.versions {
        let resources = client.list_api_group_resources(&served.group_version).await?.resources;
        if resources.iter().any(|found| found.name == row.plural) {
            return Ok(Some(resource(&row, &served.version)));
        }
    }
    Ok(None)
}

/// Whether a kind is there to stay: with its definition all objects of a kind go, and nobody has deleted one.
pub async fn is_staying(client: &Client, kind: Kind) -> kube::Result<bool> {
    let row = row(kind);
    if row.version.is_some() {
        return Ok(true);
    }
    is_defined(client, &format!("{}.{}", row.plural, row.group)).await
}

/// Whether a definition is there, and not going.
pub async fn is_defined(client: &Client, name: &str) -> kube::Result<bool> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let found = definitions.get_metadata_opt(name).await?;
    Ok(found.is_some_and(|definition| definition.metadata.deletion_timestamp.is_none()))
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
