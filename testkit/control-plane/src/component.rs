//! The command lines of the control plane's processes.

use std::{
    net::{Ipv4Addr, TcpListener},
    path::Path,
};

use anyhow::{Context, Result};

use crate::{process::Process, signing_key};

/// What etcd listens on: clients, peers.
pub struct EtcdPorts(pub u16, pub u16);

pub fn etcd(folder: &Path, EtcdPorts(clients, peers): &EtcdPorts) -> Result<Process> {
    let clients = format!("http://127.0.0.1:{clients}");
    let peers = format!("http://127.0.0.1:{peers}");
    let arguments = vec![
        "--name=default".into(),
        flag("--data-dir", folder.join("etcd")),
        "--unsafe-no-fsync".into(),
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls={peers}"),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster=default={peers}"),
    ];
    Process::start("etcd", "etcd", arguments, folder)
}

/// The API server makes its certificate itself, where the folder has none yet.
pub fn apiserver(name: &'static str, folder: &Path, etcd_port: u16, port: u16) -> Result<Process> {
    let arguments = vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        flag("--cert-dir", folder),
        flag("--token-auth-file", folder.join("tokens.csv")),
        flag("--service-account-key-file", folder.join(signing_key::PUBLIC)),
        flag("--service-account-signing-key-file", folder.join(signing_key::PRIVATE)),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        "--authorization-mode=RBAC".into(),
        "--disable-admission-plugins=ServiceAccount".into(),
        // The Endpoints of the Service "kubernetes" may not be on loopback.
        "--endpoint-reconciler-type=none".into(),
    ];
    Process::start(name, "kube-apiserver", arguments, folder)
}

pub fn controller_manager(folder: &Path, kubeconfig: &Path) -> Result<Process> {
    let arguments = vec![
        flag("--kubeconfig", kubeconfig),
        flag("--service-account-private-key-file", folder.join(signing_key::PRIVATE)),
        flag("--root-ca-file", folder.join("apiserver.crt")),
        "--leader-elect=false".into(),
        "--bind-address=127.0.0.1".into(),
        "--secure-port=0".into(),
        "--kube-api-qps=1000".into(),
        "--kube-api-burst=1000".into(),
    ];
    Process::start("kube-controller-manager", "kube-controller-manager", arguments, folder)
}

/// Ports that nobody listened on a moment ago.
pub fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut ports = [0; N];
    let mut held = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("looking for a free port")?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

fn flag(name: &str, path: impl AsRef<Path>) -> String {
    format!("{name}={}", path.as_ref().display())
}
