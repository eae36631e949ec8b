//! Ingresses: hosts of rules, certificates and annotations; the load balancer's address.

use crate::{
    dialect::Setting,
    object::core::Ingress,
    reader::{Host, Reader},
    wish::{Targets, Wish},
};

/// Where the addresses of a load balancer are written.
pub(super) const BALANCER: &str = "status.loadBalancer.ingress";

pub(super) fn wishes(reader: &mut Reader<'_>, ingress: &Ingress) -> Vec<Wish> {
    let settings = reader.settings();
    let source = reader.word(Setting::IngressHostnameSource, &["defined-hosts-only", "annotation-only"]);
    let mut hosts = Vec::new();
    if source != Some("annotation-only") {
        hosts.extend(defined(ingress));
    }
    if source != Some("defined-hosts-only") {
        hosts.extend(reader.hosts(Setting::Hostname));
    }
    let hosts = reader.or_templated(hosts);
    let targets = match reader.target_of(reader.object) {
        Some(targets) => targets,
        None => {
            let targets = Targets::of(ingress.status.targets(), || {
                format!("{} has no load-balancer address in its status", reader.object.reference())
            });
            if !hosts.is_empty() {
                reader.note_left_out(BALANCER, &targets);
            }
            targets
        }
    };
    reader.wishes(hosts, &targets, &settings)
}

/// The hosts of the rules.
pub(super) fn rule_hosts(ingress: &Ingress) -> Vec<Host> {
    ingress.spec.rules.iter().map(|rule| (rule.host.clone(), "spec.rules[].host".to_owned())).collect()
}

/// The hosts of the rules and of the certificates.
fn defined(ingress: &Ingress) -> Vec<Host> {
    let tls = ingress.spec.tls.iter().flat_map(|tls| &tls.hosts);
    let tls = tls.map(|host| (host.clone(), "spec.tls[].hosts".to_owned()));
    rule_hosts(ingress).into_iter().chain(tls).filter(|(host, _)| !host.is_empty()).collect()
}
