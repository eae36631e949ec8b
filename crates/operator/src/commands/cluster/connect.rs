//! The way to a cluster.

use std::{path::PathBuf, time::Duration};

use anyhow::Context;
use clap::Args;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

/// How long the API server may take for one answer.
const TIMEOUT: Duration = Duration::from_secs(30);
const IN_POD: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Which cluster is meant.
#[derive(Debug, Args)]
pub struct KubeconfigOptions {
    /// A kubeconfig; default: KUBECONFIG, else ~/.kube/config, else the service account of the Pod.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; default: its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// Flags that every command on a cluster takes.
#[derive(Debug, Args)]
pub struct ClusterOptions {
    #[command(flatten)]
    kubeconfig: KubeconfigOptions,
    /// The operator's own namespace; default: the pod's, else the kubeconfig context's, else `default`.
    #[arg(long)]
    namespace: Option<String>,
}

// === impl ClusterOptions ===

impl ClusterOptions {
    /// A client, and the operator's own namespace.
    pub async fn connect(&self) -> anyhow::Result<(Client, String)> {
        let (config, namespace) = self.config().await?;
        Ok((client(config)?, namespace))
    }

    /// How the API server is reached, and the operator's own namespace.
    pub async fn config(&self) -> anyhow::Result<(Config, String)> {
        let config = self.kubeconfig.config().await?;
        let in_pod = std::fs::read_to_string(IN_POD).ok().map(|text| text.trim().to_owned());
        let namespace = self.namespace.clone().or(in_pod).unwrap_or(config.default_namespace.clone());
        Ok((config, namespace))
    }
}

// === impl KubeconfigOptions ===

impl KubeconfigOptions {
    /// How the API server is reached.
    pub async fn config(&self) -> anyhow::Result<Config> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let named = || format!("using the context {:?}", self.context.as_deref().unwrap_or("current"));
        let mut config = match (&self.kubeconfig, &self.context) {
            (Some(file), _) => {
                let kubeconfig = Kubeconfig::read_from(file)
                    .with_context(|| format!("reading the kubeconfig {}", file.display()))?;
                Config::from_custom_kubeconfig(kubeconfig, &options).await.with_context(named)?
            }
            (None, Some(_)) => Config::from_kubeconfig(&options).await.with_context(named)?,
            (None, None) => Config::infer().await.context("finding a cluster; give --kubeconfig")?,
        };
        config.connect_timeout = Some(TIMEOUT);
        Ok(config)
    }
}

pub fn client(config: Config) -> anyhow::Result<Client> {
    Client::try_from(config).context("setting up the Kubernetes client")
}
