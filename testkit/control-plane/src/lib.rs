//! A real Kubernetes control plane as local processes, for tests.
//!
//! `make tools` builds etcd, Kubernetes's programs, Helm and ExternalDNS once, in the versions
//! that the go.mod of each folder of `go` pins; what the folder `KUBEBUILDER_ASSETS` holds is
//! taken from there. Nothing is downloaded when tests run, and nothing but loopback is used.
//!
//! ```no_run
//! # use control_plane::{ControlPlane, wait_for};
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! # async fn example(manifests: &str) {
//! let plane = ControlPlane::shared().await;
//! plane.install_crds(manifests).await.expect("the API server takes them");
//! let namespace = plane.namespace("records").await.dumping::<ConfigMap>();
//! let settings = namespace.api::<ConfigMap>();
//! wait_for(&settings, "settings", |it: Option<&ConfigMap>| it.is_some()).await;
//! # }
//! ```
//!
//! - [`ControlPlane::shared`] is one per test process, without kube-controller-manager: nothing there
//!   deletes namespaces or collects garbage. [`ControlPlane::start`] is one of your own, to be paused,
//!   killed ([`Process`]). A [`ControlPlane::second_apiserver`] can be frozen: a stale view of the same etcd.
//! - [`ControlPlane::namespace`] keeps tests apart: each gets a name of its own. A test that panics leaves
//!   the objects that it named and the logs of all processes in `target/control-plane`; so let tests fail
//!   by `unwrap`, not by `?`.
//! - [`User`]s have tokens and files: [`ControlPlane::client_as`], [`ControlPlane::kubeconfig`].
//! - [`eventually`] and [`wait_for`] wait with a deadline and say what they last saw; no test sleeps.
//!
//! Guarantees: dropping a control plane ends its processes and removes its files; so does the end of the
//! test process, whichever way it ends (`setpriv --pdeathsig`, and a shell that waits for our end).
//!
//! `cargo run -p zonekeeper-control-plane` starts one to look at with kubectl.

mod binaries;
mod component;
mod crds;
mod dump;
mod namespace;
mod plane;
mod process;
mod relay;
mod scratch;
mod second;
mod signing_key;
mod spawner;
mod user;
mod view;
mod wait;

pub use crate::{
    binaries::{find as program, published_definitions},
    namespace::Namespace,
    plane::{ControlPlane, Options},
    process::Process,
    relay::{Flow, Relay},
    second::SecondView,
    user::User,
    view::View,
    wait::{DEADLINE, eventually, wait_for},
};
