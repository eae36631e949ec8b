//! Services of every type.

use zonekeeper_api::SourceKind;
use zonekeeper_kernel::rdata::{Rdata, RecordType};

use super::{headless, ingress::BALANCER, node};
use crate::{
    dialect::Setting,
    object::{Body, Kind, Object, core::Service, workload::Pod},
    reader::{Host, Reader},
    settings::Settings,
    wish::{Targets, Wanted, Wish},
    world::Found,
};

/// Which address of a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Outside,
    Inside,
}

pub(super) fn wishes(reader: &mut Reader<'_>, service: &Service) -> Vec<Wish> {
    let settings = reader.settings();
    let (mut outside, inside) = (reader.hosts(Setting::Hostname), reader.hosts(Setting::InternalHostname));
    if inside.is_empty() {
        outside = reader.or_templated(outside);
    }
    let mut wishes = side(reader, service, outside, Side::Outside, &settings);
    wishes.extend(side(reader, service, inside, Side::Inside, &settings));
    wishes
}

/// Where a load balancer listens, by the Service that asks for it.
pub(super) fn balancer_targets(object: &Object, service: &Service) -> Targets {
    let external = service.spec.external_ips.iter().cloned();
    let targets: Vec<String> = match service.spec.external_ips.is_empty() {
        true => service.status.targets(),
        false => external.collect(),
    };
    Targets::of(targets, || format!("{} has no load-balancer address in its status", object.reference()))
}

fn side(
    reader: &mut Reader<'_>,
    service: &Service,
    hosts: Vec<Host>,
    side: Side,
    settings: &Settings,
) -> Vec<Wish> {
    if hosts.is_empty() {
        return Vec::new();
    }
    if let Some(targets) = reader.target_of(reader.object) {
        return reader.wishes(hosts, &targets, settings);
    }
    let spec = &service.spec;
    let is_headless = spec.cluster_ip == "None";
    let targets = match (spec.r#type.as_str(), side) {
        ("LoadBalancer", Side::Inside) if is_headless => return Vec::new(),
        ("LoadBalancer", Side::Outside) => {
            let targets = balancer_targets(reader.object, service);
            reader.note_left_out(BALANCER, &targets);
            targets
        }
        ("" | "ClusterIP", _) if is_headless => return headless::wishes(reader, service, hosts, settings),
        ("LoadBalancer" | "" | "ClusterIP", Side::Inside) => Targets::of([spec.cluster_ip.clone()], || {
            format!("{} has no cluster address yet", reader.object.reference())
        }),
        ("" | "ClusterIP", Side::Outside) => return Vec::new(),
        ("NodePort", _) => {
            let mut wishes = server_wishes(reader, service, &hosts, settings);
            let targets = node_targets(reader, service);
            wishes.extend(reader.wishes(hosts, &targets, settings));
            return wishes;
        }
        ("ExternalName", _) if !spec.external_ips.is_empty() => {
            Targets::Known(spec.external_ips.iter().cloned().collect())
        }
        ("ExternalName", _) => {
            Targets::of([spec.external_name.clone()], || "spec.externalName is empty".to_owned())
        }
        (other, _) => {
            let message = format!(
                "{other:?} is no type that names are published for; expected LoadBalancer, ClusterIP, NodePort or ExternalName"
            );
            reader.spoil("spec.type", message.as_str());
            Targets::unknown(message)
        }
    };
    reader.wishes(hosts, &targets, settings)
}

/// The nodes that a NodePort is reached at.
fn node_targets(reader: &mut Reader<'_>, service: &Service) -> Targets {
    let access = reader.word(Setting::Access, &["public", "private"]);
    let Some(nodes) = reader.nodes() else { return Targets::unknown("Nodes can't be read at the moment") };
    let nodes = if service.spec.external_traffic_policy == "Local" {
        let Some(pods) = reader.pods() else { return Targets::unknown("Pods can't be read at the moment") };
        let names = local_nodes(service, &pods);
        nodes.into_iter().filter(|node| names.contains(&node.meta.name.as_str())).collect()
    } else {
        nodes
    };
    node::targets(&nodes, access)
}

/// The nodes with the best Pods: ready ones, else ready ones that are going, else those that merely run.
fn local_nodes<'a>(service: &Service, pods: &[&'a Object]) -> Vec<&'a str> {
    let mut tiers: [Vec<&str>; 3] = Default::default();
    for object in pods {
        let Body::Pod(pod) = &object.body else { continue };
        if !has_labels(object, service) || pod.status.phase != "Running" {
            continue;
        }
        tiers[tier(object, pod)].push(&pod.spec.node_name);
    }
    tiers.into_iter().find(|tier| !tier.is_empty()).unwrap_or_default()
}

fn tier(object: &Object, pod: &Pod) -> usize {
    match (pod.is_ready(), object.meta.deletion_timestamp.is_some()) {
        (true, false) => 0,
        (true, true) => 1,
        (false, _) => 2,
    }
}

/// Whether a Pod is one of the Service's.
pub(super) fn has_labels(pod: &Object, service: &Service) -> bool {
    service.spec.selector.iter().all(|(key, value)| pod.meta.labels.get(key) == Some(value))
}

/// `_service._protocol.host` for each port of a NodePort.
fn server_wishes(reader: &Reader<'_>, service: &Service, hosts: &[Host], settings: &Settings) -> Vec<Wish> {
    let mut wishes = Vec::new();
    for (host, field) in hosts {
        let host = host.trim_end_matches('.');
        for port in service.spec.ports.iter().filter(|port| port.node_port > 0) {
            let protocol = if port.protocol.is_empty() { "tcp" } else { &port.protocol.to_ascii_lowercase() };
            // A host that is no name is told where its addresses are asked for.
            let Ok(value) = Rdata::parse(RecordType::SRV, &format!("0 50 {} {host}.", port.node_port)) else {
                continue;
            };
            wishes.push(Wish {
                host: format!("_{}._{protocol}.{host}", reader.object.meta.name),
                field: field.clone(),
                wanted: Wanted::Set(RecordType::SRV, Ok(vec![value])),
                settings: settings.clone(),
            });
        }
    }
    wishes
}

/// The load-balancer address of the Service that a name in the cluster stands for; none for other names.
pub(super) fn named_in_cluster(reader: &mut Reader<'_>, name: &str) -> Option<Targets> {
    let name = name.trim_end_matches('.');
    let inner = name.strip_suffix(".svc.cluster.local").or_else(|| name.strip_suffix(".svc"))?;
    let (service, namespace) = inner.split_once('.')?;
    Some(match reader.look(Kind::Source(SourceKind::Service), namespace, service) {
        Found::Here(object) => match &object.body {
            Body::Service(service) => balancer_targets(object, service),
            _ => Targets::unknown(format!("{name} is no Service")),
        },
        Found::NotThere | Found::Deleted => Targets::unknown(format!(
            "Service {namespace}/{service}, which stands behind {name}, does not exist"
        )),
        Found::NotKnown => Targets::unknown("Services can't be read at the moment"),
    })
}
