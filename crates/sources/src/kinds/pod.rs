//! Pods: their node's address under `hostname`, their own under `internal-hostname` and the template.

use zonekeeper_api::SourceKind;

use crate::{
    dialect::Setting,
    object::{Body, Kind, workload::Pod},
    reader::Reader,
    wish::{Targets, Wish},
    world::Found,
};

pub(super) fn wishes(reader: &mut Reader<'_>, pod: &Pod) -> Vec<Wish> {
    let settings = reader.settings();
    let (outside, inside) = (reader.hosts(Setting::Hostname), reader.hosts(Setting::InternalHostname));
    let templated = if outside.is_empty() && inside.is_empty() { reader.templated() } else { Vec::new() };
    let own_target = reader.target_of(reader.object);
    let why = format!("{} has no address yet", reader.object.reference());
    let mut wishes = Vec::new();
    if !outside.is_empty() {
        let targets = own_target.clone().unwrap_or_else(|| node_targets(reader, pod));
        wishes.extend(reader.wishes(outside, &targets, &settings));
    }
    let own =
        |addresses: Vec<String>| own_target.clone().unwrap_or_else(|| Targets::of(addresses, || why.clone()));
    wishes.extend(reader.wishes(inside, &own(vec![pod.status.pod_ip.clone()]), &settings));
    let all = pod.status.pod_ips.iter().map(|address| address.ip.clone()).collect();
    wishes.extend(reader.wishes(templated, &own(all), &settings));
    wishes
}

/// The external addresses of the Pod's node, and its internal IPv6 ones, which are as public.
fn node_targets(reader: &mut Reader<'_>, pod: &Pod) -> Targets {
    let name = &pod.spec.node_name;
    match reader.look(Kind::Source(SourceKind::Node), "", name) {
        Found::Here(object) => {
            let Body::Node(node) = &object.body else { return Targets::unknown("its node is not known") };
            let internal = node.addresses("InternalIP").into_iter().filter(|address| address.contains(':'));
            let addresses = node.addresses("ExternalIP").into_iter().chain(internal);
            Targets::of(addresses, || format!("Node {name} has no external address"))
        }
        Found::NotThere | Found::Deleted => Targets::unknown(format!("its Node {name:?} does not exist")),
        Found::NotKnown => Targets::unknown("Nodes can't be read at the moment"),
    }
}
