//! Which listeners take a route: by protocol, section, port, namespace and kind. One row per kind of route.

use zonekeeper_api::SourceKind;

use crate::{
    object::{
        Kind,
        gateway::{FromNamespaces, Listener, ParentRef},
    },
    reader::Reader,
    reading::label_selector,
    world::Found,
};

pub(super) const GROUP: &str = "gateway.networking.k8s.io";

/// The protocols of the listeners that each kind of route can attach to.
const PROTOCOLS: &[(SourceKind, &[&str])] = &[
    (SourceKind::HttpRoute, &["HTTP", "HTTPS"]),
    (SourceKind::GrpcRoute, &["HTTP", "HTTPS"]),
    (SourceKind::TlsRoute, &["TLS"]),
    (SourceKind::TcpRoute, &["TCP", "TLS"]),
    (SourceKind::UdpRoute, &["UDP"]),
];

/// Why something can't be said at the moment.
pub(super) type NotKnown = String;

/// Whether a listener of a parent in `namespace` takes the route being read, which attaches by `parent`.
pub(super) fn takes(
    reader: &mut Reader<'_>,
    listener: &Listener,
    namespace: &str,
    parent: &ParentRef,
) -> Result<bool, NotKnown> {
    let Kind::Source(kind) = reader.object.kind else { return Ok(false) };
    let row = PROTOCOLS.iter().find(|row| row.0 == kind);
    let is_spoken = row.is_some_and(|row| row.1.contains(&listener.protocol.as_str()));
    let is_section = parent.section_name.as_ref().is_none_or(|section| *section == listener.name);
    let is_port = parent.port.is_none_or(|port| port == listener.port);
    let kinds = &listener.allowed_routes.kinds;
    let is_kind = kinds.is_empty()
        || kinds.iter().any(|allowed| {
            allowed.kind == kind.as_str() && allowed.group.as_deref().unwrap_or(GROUP) == GROUP
        });
    if !(is_spoken && is_section && is_port && is_kind) {
        return Ok(false);
    }
    let from = &listener.allowed_routes.namespaces;
    let route_namespace = reader.object.meta.namespace.clone();
    admits(reader, from, "Same", namespace, &route_namespace)
}

/// Whether a namespace is one of those that an object in `own` admits; `default` counts where it does not say.
pub(super) fn admits(
    reader: &mut Reader<'_>,
    from: &FromNamespaces,
    default: &str,
    own: &str,
    namespace: &str,
) -> Result<bool, NotKnown> {
    match if from.from.is_empty() { default } else { &from.from } {
        "All" => Ok(true),
        "Same" => Ok(own == namespace),
        "Selector" => {
            let selector = from.selector.clone().unwrap_or_default();
            let selector = label_selector("selector", &selector).map_err(|error| error.to_string())?;
            match reader.look(Kind::Namespace, "", namespace) {
                Found::Here(object) => Ok(selector.matches(&object.meta.labels)),
                Found::NotThere | Found::Deleted | Found::NotKnown => {
                    Err(format!("the labels of Namespace {namespace} are not known"))
                }
            }
        }
        _ => Ok(false),
    }
}
