//! Gateways: names of their own annotation; their addresses, which routes share.

use super::service::named_in_cluster;
use crate::{
    dialect::Setting,
    object::{Body, Object, gateway::Gateway},
    reader::Reader,
    wish::{Targets, Wish},
};

pub(super) fn wishes(reader: &mut Reader<'_>, _: &Gateway) -> Vec<Wish> {
    let settings = reader.settings();
    let hosts = reader.hosts(Setting::Hostname);
    let hosts = reader.or_templated(hosts);
    if hosts.is_empty() {
        return Vec::new();
    }
    let targets = targets(reader, reader.object);
    if reader.target_of(reader.object).is_none() {
        reader.note_left_out("status.addresses", &targets);
    }
    reader.wishes(hosts, &targets, &settings)
}

/// Where a Gateway is reached: its annotation, else the addresses in its status.
pub(super) fn targets(reader: &mut Reader<'_>, object: &Object) -> Targets {
    if let Some(targets) = reader.target_of(object) {
        return targets;
    }
    let Body::Gateway(gateway) = &object.body else {
        return Targets::unknown(format!("{} is no Gateway", object.reference()));
    };
    let mut all: Option<Targets> = None;
    for address in gateway.status.addresses.iter().filter(|address| !address.value.is_empty()) {
        let targets = named_in_cluster(reader, &address.value)
            .unwrap_or_else(|| Targets::Known([address.value.clone()].into()));
        all = Some(match all {
            Some(before) => before.and(targets),
            None => targets,
        });
    }
    all.unwrap_or_else(|| Targets::unknown(format!("{} has no addresses in its status", object.reference())))
}

/// Whether a Gateway or ListenerSet says that its names are not ours to publish.
pub(super) fn is_anothers(reader: &Reader<'_>, object: &Object) -> bool {
    let said = reader.reading.said(&object.meta.annotations, Setting::Controller);
    said.is_some_and(|said| said.value != "dns-controller")
}
