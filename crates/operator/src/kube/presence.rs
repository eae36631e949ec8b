//! Where the operator that leads can be asked: its Lease says so.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PostParams},
};

const LABEL: &str = "zonekeeper.dev/serving";
const ADDRESS: &str = "zonekeeper.dev/address";
const POD: &str = "zonekeeper.dev/pod";

/// Where an operator serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    pub namespace: String,
    pub address: SocketAddr,
    /// The Pod it runs in, to which the API server forwards a port.
    pub pod: Option<String>,
}

// === impl Presence ===

impl Presence {
    /// Our own.
    pub fn own(namespace: &str, served: SocketAddr) -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let own = variable("POD_IP").and_then(|address| address.parse::<IpAddr>().ok());
        let ip = match served.ip() {
            ip if ip.is_unspecified() => own.unwrap_or(Ipv4Addr::LOCALHOST.into()),
            ip => ip,
        };
        let address = SocketAddr::new(ip, served.port());
        Self { namespace: namespace.to_owned(), address, pod: variable("POD_NAME") }
    }

    /// Says so in a Lease. Nothing but `zonekeeper status` needs it.
    ///
    /// Assumes: no one renews the Lease at the same time.
    pub async fn announce(&self, client: &Client, lease: &str) {
        let api: Api<Lease> = Api::namespaced(client.clone(), &self.namespace);
        if let Err(error) = self.write(&api, lease).await {
            tracing::warn!(%error, lease, "zonekeeper status will not find this operator by itself");
        }
    }

    async fn write(&self, api: &Api<Lease>, name: &str) -> kube::Result<()> {
        let pod = self.pod.iter().map(|pod| (POD, pod.clone()));
        let annotations = pod.chain([(ADDRESS, self.address.to_string())]);
        let found = api.get_opt(name).await?;
        let is_new = found.is_none();
        let mut lease = found.unwrap_or_default();
        lease.metadata.name = Some(name.to_owned());
        lease.labels_mut().insert(LABEL.into(), "true".into());
        lease.annotations_mut().extend(annotations.map(|(key, value)| (key.to_owned(), value)));
        match is_new {
            true => api.create(&PostParams::default(), &lease).await?,
            false => api.replace(name, &PostParams::default(), &lease).await?,
        };
        Ok(())
    }

    /// All that were announced: in every namespace where that may be read, else in this one.
    pub async fn all(client: &Client, namespace: &str) -> kube::Result<Vec<Self>> {
        let labelled = ListParams::default().labels(LABEL);
        let everywhere: Api<Lease> = Api::all(client.clone());
        let leases = match everywhere.list(&labelled).await {
            Err(kube::Error::Api(status)) if status.code == 403 => {
                Api::<Lease>::namespaced(client.clone(), namespace).list(&labelled).await?
            }
            other => other?,
        };
        Ok(leases.items.iter().filter_map(Self::read).collect())
    }

    fn read(lease: &Lease) -> Option<Self> {
        let annotations = lease.annotations();
        Some(Self {
            namespace: lease.namespace()?,
            address: annotations.get(ADDRESS)?.parse().ok()?,
            pod: annotations.get(POD).cloned(),
        })
    }
}
