//! `zonekeeper run`: the operator.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use clap::Args;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::sync::Notify;
use zonekeeper_api::{GoDuration, wellknown::DEFAULT_CONTROLLER_NAME};
use zonekeeper_providers::fence::{Fence, Unfenced};

use crate::{
    address_source::Reachable,
    cluster::{self, Election, Health, Metrics},
    commands::{Ending, up::ended},
    telemetry::Telemetry,
};

/// How long the API server may take for one answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long what was begun may take when the program is told to end.
const GRACE: Duration = Duration::from_secs(15);
const IN_POD: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Run the operator in, or against, a cluster.
#[derive(Debug, Args)]
pub struct Run {
    /// A kubeconfig; default: the pod's service account, else the usual places.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The operator's own namespace; default: the pod's, else the kubeconfig context's, else `default`.
    #[arg(long)]
    namespace: Option<String>,
    /// Where /metrics, /healthz and /readyz are served.
    #[arg(long, default_value = "0.0.0.0:8080", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Let one of several replicas lead.
    #[arg(long)]
    leader_elect: bool,
    /// How long a leader that was lost keeps the others waiting.
    #[arg(long, default_value = "15s", value_name = "DURATION", value_parser = duration)]
    lease_duration: Duration,
    /// Take care of DNSProviders whose spec.controllerName is this.
    #[arg(long, default_value = DEFAULT_CONTROLLER_NAME, value_name = "NAME")]
    controller_name: String,
    /// A network that AddressSources may ask though it is not public; may be given several times.
    #[arg(long, value_name = "CIDR")]
    allow_address_source: Vec<IpNet>,
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
        let (client, context_namespace) = self.connect().await?;
        let in_pod = std::fs::read_to_string(IN_POD).ok().map(|text| text.trim().to_owned());
        let namespace = self.namespace.clone().or(in_pod).unwrap_or(context_namespace);
        let (health, metrics) = (Arc::new(Health::default()), Arc::new(Metrics::default()));
        cluster::serve(self.listen, health.clone(), metrics.clone()).await?;
        let mut election = self.leader_elect.then(|| {
            let name = format!("zonekeeper-{}", self.controller_name.replace('/', "-"));
            let identity =
                std::env::var("POD_NAME").unwrap_or_else(|_| format!("zonekeeper-{}", std::process::id()));
            Election::new(client.clone(), &namespace, &name, identity, self.lease_duration)
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
        let ending = Arc::new(Notify::new());
        let options = cluster::Options {
            client,
            namespace,
            controller_name: self.controller_name.clone(),
            reachable: Reachable { allowed: self.allow_address_source.clone() },
            fence,
            metrics,
            health,
            ending: ending.clone(),
        };
        let operator = async {
            let running = cluster::run(options, owner);
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

    /// A client, and the namespace of its context.
    async fn connect(&self) -> anyhow::Result<(Client, String)> {
        let mut config = match &self.kubeconfig {
            Some(file) => {
                let kubeconfig = Kubeconfig::read_from(file)
                    .with_context(|| format!("reading the kubeconfig {}", file.display()))?;
                Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?
            }
            None => Config::infer().await.context("finding a cluster; give --kubeconfig")?,
        };
        config.connect_timeout = Some(TIMEOUT);
        let namespace = config.default_namespace.clone();
        Ok((Client::try_from(config).context("setting up the Kubernetes client")?, namespace))
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
