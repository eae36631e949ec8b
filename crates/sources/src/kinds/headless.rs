//! Headless Services: the addresses of their endpoints, and a name for each Pod that has a host name.

use std::collections::BTreeMap;

use zonekeeper_api::SourceKind;
use zonekeeper_kernel::reason::Reason;

use super::service::has_labels;
use crate::{
    dialect::Setting,
    object::{
        Body, Kind, Object,
        core::Service,
        workload::{EndpointSlice, Pod, SliceEndpoint},
    },
    reader::{Host, Reader},
    settings::Settings,
    wish::{Targets, Wish},
    world::Found,
};

/// What one endpoint stands for.
struct Endpoint<'a> {
    pod: &'a Pod,
    /// None where its node is known and has no external address.
    targets: Option<Targets>,
    is_ready: bool,
}

pub(super) fn wishes(
    reader: &mut Reader<'_>,
    service: &Service,
    hosts: Vec<Host>,
    settings: &Settings,
) -> Vec<Wish> {
    let endpoints = match endpoints(reader, service) {
        Ok(endpoints) => endpoints,
        Err(why) => {
            // Whatever names the Pods have, they stay.
            reader.unclear.get_or_insert((Reason::TargetsUnknown, why.clone()));
            return reader.wishes(hosts, &Targets::unknown(why), settings);
        }
    };
    let mut wishes = Vec::new();
    for (host, field) in hosts {
        for (name, targets) in names(&host, &endpoints) {
            wishes.extend(reader.wishes(vec![(name, field.clone())], &targets, settings));
        }
    }
    wishes
}

/// The endpoints that are Pods of the Service, at least one of them ready; or why there are none.
fn endpoints<'a>(reader: &mut Reader<'a>, service: &Service) -> Result<Vec<Endpoint<'a>>, String> {
    let kind = reader.word(Setting::EndpointsType, &["NodeExternalIP", "HostIP"]);
    let slices = reader.slices().ok_or("EndpointSlices can't be read at the moment")?;
    let mut endpoints = Vec::new();
    for slice in slices {
        let Body::EndpointSlice(EndpointSlice { endpoints: listed }) = &slice.body else { continue };
        for endpoint in listed {
            let Some((object, pod)) = pod_of(reader, slice, endpoint)? else { continue };
            if !has_labels(object, service) {
                continue;
            }
            let is_ready =
                endpoint.conditions.ready.unwrap_or(true) || service.spec.publish_not_ready_addresses;
            let targets = targets(reader, object, pod, endpoint, kind);
            endpoints.push(Endpoint { pod, targets, is_ready });
        }
    }
    match endpoints.iter().any(|endpoint| endpoint.is_ready) {
        true => Ok(endpoints),
        false => Err(format!("{} has no ready endpoints", reader.object.reference())),
    }
}

/// The Pod that an endpoint is; none for an endpoint that is something else, or whose Pod is gone.
fn pod_of<'a>(
    reader: &mut Reader<'a>,
    slice: &Object,
    endpoint: &SliceEndpoint,
) -> Result<Option<(&'a Object, &'a Pod)>, String> {
    let Some(target) = endpoint.target_ref.as_ref().filter(|target| target.kind == "Pod") else {
        return Ok(None);
    };
    let namespace =
        if target.namespace.is_empty() { slice.meta.namespace.as_str() } else { &target.namespace };
    match reader.look(Kind::Source(SourceKind::Pod), namespace, &target.name) {
        Found::Here(object) => match &object.body {
            Body::Pod(pod) => Ok(Some((object, pod))),
            _ => Ok(None),
        },
        Found::NotThere | Found::Deleted => Ok(None),
        Found::NotKnown => Err("Pods can't be read at the moment".into()),
    }
}

/// The addresses of one endpoint: its Pod's annotation, its node's, its host's, its own.
fn targets(
    reader: &mut Reader<'_>,
    object: &Object,
    pod: &Pod,
    endpoint: &SliceEndpoint,
    kind: Option<&str>,
) -> Option<Targets> {
    if let Some(targets) = reader.target_of(object) {
        return Some(targets);
    }
    let why = |what: &str| format!("{} has no {what} yet", object.reference());
    Some(match kind {
        Some("NodeExternalIP") => {
            match reader.look(Kind::Source(SourceKind::Node), "", &pod.spec.node_name) {
                Found::Here(Object { body: Body::Node(node), .. }) => {
                    let addresses = node.addresses("ExternalIP");
                    return (!addresses.is_empty()).then(|| Targets::Known(addresses.into_iter().collect()));
                }
                Found::Here(_) | Found::NotThere | Found::Deleted | Found::NotKnown => {
                    Targets::unknown(format!("Node {} is not known", pod.spec.node_name))
                }
            }
        }
        Some("HostIP") => Targets::of([pod.status.host_ip.clone()], || why("host address")),
        _ => Targets::of(endpoint.addresses.first().cloned(), || why("address")),
    })
}

/// The host with all addresses, and each Pod's own name below it; a Pod that is not ready keeps what it has.
fn names(host: &str, endpoints: &[Endpoint<'_>]) -> BTreeMap<String, Targets> {
    let mut names: BTreeMap<String, Targets> = BTreeMap::new();
    let mut add = |name: String, targets: Targets| {
        let targets = match names.remove(&name) {
            Some(before) => before.and(targets),
            None => targets,
        };
        names.insert(name, targets);
    };
    for endpoint in endpoints {
        let own = &endpoint.pod.spec.hostname;
        let own_name = (!own.is_empty()).then(|| format!("{own}.{host}"));
        match (&endpoint.targets, endpoint.is_ready, own_name) {
            (_, false, None) | (None, true, None) => {}
            // What becomes of a node takes no name from a Pod.
            (None, _, Some(name)) => {
                add(name, Targets::unknown(format!("the node of Pod {own} has no external address")))
            }
            (Some(targets), true, own_name) => {
                add(host.to_owned(), targets.clone());
                own_name.into_iter().for_each(|name| add(name, targets.clone()));
            }
            (Some(_), false, Some(name)) => {
                add(name, Targets::unknown(format!("the Pod {own} is not ready")));
            }
        }
    }
    names
        .entry(host.to_owned())
        .or_insert_with(|| Targets::unknown("no endpoint has an address that can be published"));
    names
}
