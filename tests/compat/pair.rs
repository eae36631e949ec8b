//! Both programs on one API server, each with a zone of its own.

use std::path::PathBuf;

use control_plane::{ControlPlane, User};
use serde_json::{Value, json};
use zonekeeper_tests::cluster::{Lab, Manifest};

use crate::{peer::ExternalDns, place::Place};

/// The id under which both own records, so that their markers can be compared.
pub const OWNER: &str = "side-by-side";

/// ExternalDNS's sources, and what Zonekeeper calls them.
pub const SOURCES: &[(&str, &str)] = &[
    ("service", "Service"),
    ("ingress", "Ingress"),
    ("gateway-httproute", "HTTPRoute"),
    ("gateway-grpcroute", "GRPCRoute"),
    ("gateway-tlsroute", "TLSRoute"),
    ("gateway-tcproute", "TCPRoute"),
    ("gateway-udproute", "UDPRoute"),
    ("crd", "DNSEndpoint"),
    ("node", "Node"),
    ("pod", "Pod"),
];

/// Zonekeeper in its lab, and the zone of ExternalDNS.
pub struct Pair<'a> {
    pub lab: Lab<'a>,
    pub place: Place,
    kinds: Vec<&'static str>,
}

// === impl Pair ===

impl<'a> Pair<'a> {
    /// Neither runs yet; both will read these kinds, as Zonekeeper calls them.
    pub async fn on(plane: &'a ControlPlane, name: &str, kinds: &[&'static str]) -> Self {
        let lab = Lab::bare_on(plane, name).await;
        let place = Place::empty(&lab.domain).await;
        let pair = Self { lab, place, kinds: kinds.to_vec() };
        pair.lab.put_secret("cloudflare", &[("apiToken", &pair.lab.token)]).await;
        pair.lab.apply(&pair.provider(OWNER)).await;
        pair.lab.apply(&pair.zone()).await;
        pair
    }

    /// ExternalDNS on its own zone.
    pub fn external_dns(&self) -> ExternalDns {
        self.external_dns_through(self.lab.plane().kubeconfig(&User::admin()).expect("a kubeconfig"))
    }

    /// The same, with another kubeconfig.
    pub fn external_dns_through(&self, kubeconfig: PathBuf) -> ExternalDns {
        ExternalDns::new(self.lab.home.name(), &self.place, kubeconfig, OWNER, &self.sources())
    }

    /// What ExternalDNS calls the kinds.
    pub fn sources(&self) -> Vec<&'static str> {
        SOURCES.iter().filter(|(_, kind)| self.kinds.contains(kind)).map(|(source, _)| *source).collect()
    }

    /// The provider with ExternalDNS's markers.
    pub fn provider(&self, owner: &str) -> Manifest {
        self.lab.provider().with("registry", json!({"type": "TXT", "ownerID": owner}))
    }

    /// The zone, which takes everything from everywhere.
    pub fn zone(&self) -> Manifest {
        let types = ["A", "AAAA", "CNAME", "TXT", "SRV", "MX", "NS"];
        let grant: Value =
            json!([{"namespaces": {"from": "All"}, "names": ["*"], "types": types, "adoption": "Identical"}]);
        self.lab.dns_zone().with("sources", json!({"kinds": self.kinds})).with("allowedRecords", grant)
    }
}
