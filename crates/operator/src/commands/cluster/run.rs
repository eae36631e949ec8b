//! `zonekeeper run`: the operator.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use clap::Args;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use tokio::sync::Notify;
use zonekeeper_api::{GoDuration, wellknown::DEFAULT_CONTROLLER_NAME};
use zonekeeper_providers::fence::{Fence, Unfenced};

use crate::{
    address_source::Reachable,
    commands::{
        Ending,
        cluster::connect::{self, ClusterOptions},
        options::resolver,
        up::ended,
    },
    kube::{lease::Election, presence::Presence},
    runner,
    serve::{self, Ear, Health, Metrics},
    telemetry::Telemetry,
};

/// How long what was begun may take when the program is told to end.
const GRACE: Duration = Duration::from_secs(15);

/// Run the operator in, or against, a cluster.
#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    cluster: ClusterOptions,
    /// Where /metrics, /healthz and /readyz are served.
    #[arg(long, default_value = "0.0.0.0:8080", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Where /api/v1 is served, which `zonekeeper status` reads. Any other than a loopback address asks for a bearer
    /// token of the cluster, and shows what its user may list.
    #[arg(long, default_value = "127.0.0.1:8081", value_name = "ADDRESS:PORT")]
    api_listen: SocketAddr,
    /// Let one of several replicas lead.
    #[arg(long)]
    leader_elect: bool,
    /// Lease duration: how long standby replicas wait before they take over.
    #[arg(long, default_value = "15s", value_name = "DURATION", value_parser = duration)]
    lease_duration: Duration,
    /// Take care of DNSProviders and AddressSources whose spec.controllerName is this.
    #[arg(long, default_value = DEFAULT_CONTROLLER_NAME, value_name = "NAME")]
    controller_name: String,
    /// A network that AddressSources may ask though it is not public; may be given several times.
    #[arg(long, value_name = "CIDR")]
    allow_address_source: Vec<IpNet>,
    /// A DNS server that is asked about delegations, in place of those of this machine; may be given several times.
    #[arg(long, value_name = "ADDRESS:PORT")]
    resolver: Vec<SocketAddr>,
    /// An OpenTelemetry collector that takes traces over HTTP, such as http://collector:4318.
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
}

// === impl Run ===

impl Run {
    /// How it is watched.
    pub fn telemetry(&self) -> Telemetry {
        Telemetry { is_service: true, traces: self.otlp_endpoint.clone() }
    }

    pub async fn run(self) -> anyhow::Result<Ending> {
        let (config, namespace) = self.cluster.config().await?;
        // A watch must know at once when the server does not answer.
        let mut impatient = config.clone();
        impatient.default_retry = false;
        let watching = connect::client(impatient)?;
        let client = connect::client(config)?;
        let (health, metrics) = (Arc::new(Health::default()), Arc::new(Metrics::default()));
        let ear = Arc::new(Ear::default());
        serve::serve(self.listen, health.clone(), metrics.clone()).await?;
        let served = serve::api::serve(self.api_listen, ear.clone(), client.clone()).await?;
        let lease = format!("zonekeeper-{}", self.controller_name.replace('/', "-"));
        let mut election = self.leader_elect.then(|| {
            let identity =
                std::env::var("POD_NAME").unwrap_or_else(|_| format!("zonekeeper-{}", std::process::id()));
            Election::new(client.clone(), &namespace, &lease, identity, self.lease_duration)
        });
        if let Some(election) = &mut election {
            tokio::select! {
                () = election.win() => tracing::info!("this replica leads"),
                () = ended() => return Ok(Ending::Done),
            }
        }
        health.set_leading();
        metrics.set_leading();
        let fence: Arc<dyn Fence> = match &election {
            Some(election) => election.term(),
            None => Arc::new(Unfenced),
        };
        let owner = cluster_id(&client).await?;
        Presence::own(&namespace, served).announce(&client, &lease).await;
        let ending = Arc::new(Notify::new());
        let options = runner::Options {
            client,
            watching,
            namespace,
            controller_name: self.controller_name.clone(),
            reachable: Reachable { allowed: self.allow_address_source.clone(), ..Reachable::default() },
            resolver: resolver(&self.resolver),
            fence,
            metrics,
            health,
            ear,
            ending: ending.clone(),
        };
        let operator = async {
            let running = runner::run(options, owner);
            tokio::pin!(running);
            tokio::select! {
                () = &mut running => return,
                () = ended() => ending.notify_one(),
            }
            // What is not done by then is harmless: the next leader reads the zone first.
            let _ = tokio::time::timeout(GRACE, running).await;
        };
        let Some(election) = &mut election else {
            operator.await;
            return Ok(Ending::Done);
        };
        tokio::select! {
            () = operator => {
                election.release().await;
                Ok(Ending::Done)
            }
            () = election.keep() => {
                tracing::error!("the lease is lost; another replica leads");
                Ok(Ending::Failed)
            }
        }
    }
}

/// What identifies a cluster: the UID of its kube-system namespace.
async fn cluster_id(client: &Client) -> anyhow::Result<String> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let system = namespaces
        .get("kube-system")
        .await
        .context("reading namespace kube-system, whose UID is the owner id")?;
    system.metadata.uid.context("namespace kube-system has no UID")
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = GoDuration::from(text).to_std().map_err(|error| error.to_string())?;
    match duration < Duration::from_secs(1) {
        true => Err("at least one second is needed".into()),
        false => Ok(duration),
    }
}
