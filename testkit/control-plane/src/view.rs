//! One API server, as its clients see it.

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::time::{Instant, sleep, timeout};

use crate::{component, process::Process, user::User};

const READY_WITHIN: Duration = Duration::from_secs(120);

/// An API server that is ready, and ways to talk to it.
pub struct View {
    apiserver: Process,
    url: String,
    folder: PathBuf,
    admin: Config,
}

// === impl View ===

impl View {
    pub(crate) async fn open(name: &'static str, folder: &Path, etcd_port: u16) -> Result<Self> {
        let [port] = component::free_ports()?;
        let apiserver = component::apiserver(name, folder, etcd_port, port)?;
        let url = format!("https://127.0.0.1:{port}");
        let deadline = Instant::now() + READY_WITHIN;
        let admin = loop {
            match ready(&url, folder).await {
                Ok(admin) => break admin,
                Err(error) => {
                    apiserver.check()?;
                    ensure!(Instant::now() < deadline, "{name} did not become ready: {error:#}");
                }
            }
            sleep(Duration::from_millis(50)).await;
        };
        Ok(Self { apiserver, url, folder: folder.into(), admin })
    }

    /// The API server's process, to pause or kill.
    pub fn apiserver(&self) -> &Process {
        &self.apiserver
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A new client that may do everything. A client belongs to the runtime, and so to the test, that made it.
    pub fn client(&self) -> Client {
        self.client_as(&User::admin())
    }

    /// A new client for that user.
    pub fn client_as(&self, user: &User) -> Client {
        let mut config = self.admin.clone();
        config.auth_info.token = Some(user.token().into());
        Client::try_from(config).expect("a client of the same configuration has seen the server ready")
    }

    /// Writes a file that kubectl and others take as `KUBECONFIG`.
    pub fn kubeconfig(&self, user: &User) -> Result<PathBuf> {
        let path = self.folder.join(format!("{}-{}.kubeconfig", self.apiserver.name(), user.file_name()));
        // Others may be reading it: they see it as a whole.
        let mut file = NamedTempFile::new_in(&self.folder).context("writing a kubeconfig")?;
        file.write_all(document(&self.url, &self.folder, user).to_string().as_bytes())?;
        file.persist(&path).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }
}

/// The administrator's configuration, once the server says that it is ready.
async fn ready(url: &str, folder: &Path) -> Result<Config> {
    let admin: Kubeconfig = serde_json::from_value(document(url, folder, &User::admin()))?;
    let mut config = Config::from_custom_kubeconfig(admin, &KubeConfigOptions::default()).await?;
    config.proxy_url = None;
    let client = Client::try_from(config.clone())?;
    let request = kube::core::request::Request::new("").get("readyz", &Default::default())?;
    timeout(Duration::from_secs(5), client.request_text(request.map(Into::into))).await??;
    Ok(config)
}

/// JSON is YAML.
fn document(url: &str, folder: &Path, user: &User) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "control-plane",
            "cluster": {"server": url, "certificate-authority": folder.join("apiserver.crt")},
        }],
        "users": [{"name": user.name(), "user": {"token": user.token()}}],
        "contexts": [{
            "name": "control-plane",
            "context": {"cluster": "control-plane", "user": user.name()},
        }],
        "current-context": "control-plane",
    })
}
