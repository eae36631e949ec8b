//! What each kind of object wishes.

pub mod cloudflare_operator;
mod dns_endpoint;
mod gateway;
mod headless;
mod hostname;
mod ingress;
mod listener;
mod node;
mod parent;
mod pod;
mod route;
mod service;

use crate::{
    object::{Body, Object},
    reader::{Host, Reader},
    wish::Wish,
};

/// What the object wishes, as ExternalDNS would read it.
pub(crate) fn wishes(reader: &mut Reader<'_>) -> Vec<Wish> {
    match &reader.object.body {
        Body::Service(service) => service::wishes(reader, service),
        Body::Ingress(ingress) => ingress::wishes(reader, ingress),
        Body::Gateway(gateway) => gateway::wishes(reader, gateway),
        Body::Route(route) => route::wishes(reader, route),
        Body::DnsEndpoint(endpoint) => dns_endpoint::wishes(reader, endpoint),
        Body::Node(node) => node::wishes(reader, node),
        Body::Pod(pod) => pod::wishes(reader, pod),
        Body::EndpointSlice(_) | Body::ListenerSet(_) | Body::Namespace => Vec::new(),
    }
}

/// The hosts that an Ingress or route serves, in its spec, and where they are written.
pub(crate) fn spec_hosts(object: &Object) -> Vec<Host> {
    let hosts: Vec<Host> = match &object.body {
        Body::Ingress(ingress) => ingress::rule_hosts(ingress),
        Body::Route(route) => route::defined_hosts(route),
        _ => Vec::new(),
    };
    hosts.into_iter().filter(|(host, _)| !host.is_empty()).collect()
}
