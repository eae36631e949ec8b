//! Service and Ingress, as far as names and addresses need them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A Service.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Service {
    /// What is asked for.
    pub spec: ServiceSpec,
    /// What is there.
    pub status: BalancedStatus,
}

/// The spec of a Service.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceSpec {
    /// ClusterIP where it is empty.
    pub r#type: String,
    /// `None` for a headless Service.
    #[serde(rename = "clusterIP")]
    pub cluster_ip: String,
    /// Addresses that are routed to the Service from outside.
    #[serde(rename = "externalIPs")]
    pub external_ips: Vec<String>,
    /// The name that an ExternalName stands for.
    pub external_name: String,
    /// `Local` sends traffic only to nodes with a Pod.
    pub external_traffic_policy: String,
    /// Whether Pods that are not ready count.
    pub publish_not_ready_addresses: bool,
    /// The labels of its Pods.
    pub selector: BTreeMap<String, String>,
    /// Its ports.
    pub ports: Vec<ServicePort>,
}

/// One port of a Service.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServicePort {
    /// TCP where it is empty.
    pub protocol: String,
    /// The port on every node.
    pub node_port: u16,
}

/// The status of whatever stands behind a load balancer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BalancedStatus {
    /// The load balancer.
    pub load_balancer: LoadBalancer,
}

/// A load balancer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct LoadBalancer {
    /// Where it listens.
    pub ingress: Vec<BalancerAddress>,
}

/// One place where a load balancer listens.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct BalancerAddress {
    /// Its address.
    pub ip: String,
    /// Its name.
    pub hostname: String,
}

/// An Ingress.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Ingress {
    /// What is asked for.
    pub spec: IngressSpec,
    /// What is there.
    pub status: BalancedStatus,
}

/// The spec of an Ingress.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IngressSpec {
    /// Its class.
    pub ingress_class_name: String,
    /// Its rules.
    pub rules: Vec<IngressRule>,
    /// Its certificates.
    pub tls: Vec<IngressTls>,
}

/// One rule of an Ingress.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct IngressRule {
    /// The host; empty for all.
    pub host: String,
}

/// One certificate of an Ingress.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct IngressTls {
    /// The hosts it is for.
    pub hosts: Vec<String>,
}

// === impl BalancedStatus ===

impl BalancedStatus {
    /// Addresses and names of the load balancer, each as it comes.
    pub fn targets(&self) -> Vec<String> {
        let places = self.load_balancer.ingress.iter();
        places
            .flat_map(|place| [&place.ip, &place.hostname])
            .filter(|text| !text.is_empty())
            .cloned()
            .collect()
    }
}
