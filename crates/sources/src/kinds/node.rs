//! Nodes, under their own names, and the addresses of several of them.

use crate::{
    object::{Body, Object, workload::Node},
    reader::Reader,
    wish::{Targets, Wish},
};

pub(super) fn wishes(reader: &mut Reader<'_>, node: &Node) -> Vec<Wish> {
    if node.spec.unschedulable {
        return Vec::new();
    }
    let settings = reader.settings();
    let hosts = match reader.reading.template() {
        Some(_) => reader.templated(),
        None => vec![(reader.object.meta.name.clone(), "metadata.name".to_owned())],
    };
    let targets = match reader.target_of(reader.object) {
        Some(targets) => targets,
        None => targets(&[reader.object], None),
    };
    reader.wishes(hosts, &targets, &settings)
}

/// The addresses of those nodes that are not cordoned: external ones, else internal ones, or as `access` says.
pub(super) fn targets(nodes: &[&Object], access: Option<&str>) -> Targets {
    let open = nodes.iter().filter_map(|object| match &object.body {
        Body::Node(node) if !node.spec.unschedulable => Some(node),
        _ => None,
    });
    let open: Vec<&Node> = open.collect();
    let of_type = |kind: &str| open.iter().flat_map(|node| node.addresses(kind)).collect::<Vec<String>>();
    let (external, internal) = (of_type("ExternalIP"), of_type("InternalIP"));
    let addresses = match access {
        Some("public") => external,
        Some("private") => internal,
        _ if external.is_empty() => internal,
        _ => external,
    };
    Targets::of(addresses, || "no node has an address that can be published".to_owned())
}
