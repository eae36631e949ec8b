//! etcd, an API server and what else a test asks for.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use kube::Client;
use tokio::sync::OnceCell;

use crate::{
    binaries,
    component::{self, EtcdPorts},
    crds,
    namespace::Namespace,
    process::Process,
    scratch::Scratch,
    second::SecondView,
    signing_key,
    user::{User, token_file},
    view::View,
};

/// Between looking for a free port and listening on it, another process may take it.
const ATTEMPTS: usize = 3;

static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();

/// What to start besides etcd and one API server.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// kube-controller-manager, which deletes namespaces and collects garbage.
    pub controller_manager: bool,
}

/// A running control plane; it ends when this is dropped. Fields end in this order.
pub struct ControlPlane {
    controller_manager: Option<Process>,
    view: View,
    etcd: Process,
    etcd_port: u16,
    scratch: Scratch,
}

// === impl ControlPlane ===

impl ControlPlane {
    /// Starts one and waits until it is ready.
    pub async fn start(options: Options) -> Result<Self> {
        for _ in 1..ATTEMPTS {
            match Self::attempt(&options).await {
                Err(error) if format!("{error:#}").contains("address already in use") => {}
                answer => return answer,
            }
        }
        Self::attempt(&options).await
    }

    /// The one of this test process, without kube-controller-manager; started when first asked for.
    #[allow(clippy::panic, reason = "without a control plane no test can go on")]
    pub async fn shared() -> &'static Self {
        match SHARED.get_or_try_init(|| Self::start(Options::default())).await {
            Ok(plane) => plane,
            Err(error) => panic!("starting the control plane: {error:#}"),
        }
    }

    /// The version that `go/kubernetes/go.mod` pins, such as `v1.36.4`.
    pub fn version() -> &'static str {
        binaries::kubernetes_version()
    }

    /// The first API server.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Where the API server listens.
    pub fn url(&self) -> &str {
        self.view.url()
    }

    /// A new client that may do everything; see [`View::client`].
    pub fn client(&self) -> Client {
        self.view.client()
    }

    /// A new client for that user.
    pub fn client_as(&self, user: &User) -> Client {
        self.view.client_as(user)
    }

    /// Writes a file that kubectl and others take as `KUBECONFIG`.
    pub fn kubeconfig(&self, user: &User) -> Result<PathBuf> {
        self.view.kubeconfig(user)
    }

    /// etcd's process, to pause or kill.
    pub fn etcd(&self) -> &Process {
        &self.etcd
    }

    /// The API server's process, to pause or kill.
    pub fn apiserver(&self) -> &Process {
        self.view.apiserver()
    }

    /// kube-controller-manager's process, where it was asked for.
    pub fn controller_manager(&self) -> Option<&Process> {
        self.controller_manager.as_ref()
    }

    /// Starts another API server on the same etcd; it can be frozen.
    pub async fn second_apiserver(&self) -> Result<SecondView> {
        SecondView::open(self.folder(), self.etcd_port).await
    }

    /// Creates a namespace of which nobody else has the name.
    pub async fn namespace(&self, prefix: &str) -> Namespace<'_> {
        Namespace::create(self, prefix).await
    }

    /// Applies CustomResourceDefinitions (YAML, one or several) and waits until they are established.
    pub async fn install_crds(&self, manifests: &str) -> Result<()> {
        crds::install(self.client(), manifests).await
    }

    /// Where its files and logs are, as long as it lives.
    pub(crate) fn folder(&self) -> &Path {
        self.scratch.path()
    }

    async fn attempt(options: &Options) -> Result<Self> {
        let scratch = Scratch::new()?;
        let folder = scratch.path();
        fs::write(folder.join("tokens.csv"), token_file())?;
        signing_key::write(folder)?;
        let [etcd_port, peer_port] = component::free_ports()?;
        let etcd = component::etcd(folder, &EtcdPorts(etcd_port, peer_port))?;
        let view = match View::open("kube-apiserver", folder, etcd_port).await {
            Ok(view) => view,
            // Without etcd no API server lives long: etcd's own words are the better ones.
            Err(error) => return etcd.check().and(Err(error)),
        };
        let controller_manager = if options.controller_manager {
            Some(component::controller_manager(folder, &view.kubeconfig(&User::admin())?)?)
        } else {
            None
        };
        Ok(Self { controller_manager, view, etcd, etcd_port, scratch })
    }
}
