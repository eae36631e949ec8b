//! A control plane and one node. Its processes are in namespaces of their own and end with them.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use control_plane::{eventually, program};
use serde_json::json;

use crate::{
    image,
    isolation::{self, IMAGE},
};

/// In memory, and gone with the namespaces.
pub const FOLDER: &str = "/dev/shm/node";
/// The node, as its pods see it.
pub const ADDRESS: &str = "10.88.0.1";
/// The Service `kubernetes`.
pub const API: &str = "10.96.0.1";
/// Only a failing test waits that long.
pub const DEADLINE: Duration = Duration::from_secs(240);

const CONTAINERD: &str = "/run/containerd/containerd.sock";

/// Starts everything, and imports the images; returns a kubeconfig that may do everything.
pub async fn start() -> PathBuf {
    fs::create_dir_all(FOLDER).unwrap();
    containerd();
    let kubeconfig = control_plane().await;
    eventually("containerd answers", DEADLINE, async || ctr(&["version"])).await;
    ctr(&["images", "import", image::pause().to_str().unwrap()]).unwrap();
    ctr(&["images", "import", "--base-name", image::NAME, &std::env::var(IMAGE).unwrap()]).unwrap();
    kubelet(&kubeconfig);
    kubeconfig
}

/// Calls containerd.
pub fn ctr(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("ctr")
        .args(["--address", CONTAINERD, "--namespace", "k8s.io"])
        .args(arguments)
        .output()
        .map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[allow(clippy::zombie_processes, reason = "it runs until the namespaces end, and this process with them")]
fn spawn(name: &str, program: &Path, arguments: &[String]) {
    let log = File::create(file(&format!("{name}.log"))).unwrap();
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("starting {name}: {error}"));
}

fn file(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

fn flag(name: &str, path: impl AsRef<Path>) -> String {
    format!("{name}={}", path.as_ref().display())
}

fn containerd() {
    let cni = json!({"cniVersion": "0.4.0", "name": "pods", "plugins": [{
        "type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.88.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }]});
    fs::create_dir_all("/etc/cni/net.d").unwrap();
    fs::write("/etc/cni/net.d/10-pods.conflist", cni.to_string()).unwrap();
    // Without CAP_SYS_RESOURCE, runc may not lower the score of a container.
    let config = format!(
        r#"version = 2
[grpc]
address = "{CONTAINERD}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{}"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/etc/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"#,
        image::PAUSE
    );
    fs::write(file("containerd.toml"), config).unwrap();
    spawn("containerd", Path::new("containerd"), &[flag("--config", file("containerd.toml"))]);
}

/// etcd, the API server, its controllers and the scheduler.
async fn control_plane() -> PathBuf {
    for arguments in [
        ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "signing.key"].as_slice(),
        ["ec", "-in", "signing.key", "-pubout", "-out", "signing.pub"].as_slice(),
    ] {
        let output = Command::new("openssl").args(arguments).current_dir(FOLDER).output().unwrap();
        assert!(output.status.success(), "openssl {arguments:?}");
    }
    fs::write(file("tokens.csv"), "admin-of-this-node,admin,admin,\"system:masters\"\n").unwrap();
    let etcd = [flag("--data-dir", file("etcd")), "--unsafe-no-fsync".into()];
    spawn("etcd", &program("etcd").unwrap(), &etcd);
    let apiserver = [
        "--etcd-servers=http://127.0.0.1:2379".into(),
        "--bind-address=0.0.0.0".into(),
        format!("--advertise-address={ADDRESS}"),
        "--secure-port=443".into(),
        flag("--cert-dir", FOLDER),
        flag("--token-auth-file", file("tokens.csv")),
        flag("--service-account-key-file", file("signing.pub")),
        flag("--service-account-signing-key-file", file("signing.key")),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        "--authorization-mode=RBAC".into(),
        "--endpoint-reconciler-type=none".into(),
        "--kubelet-preferred-address-types=InternalIP".into(),
    ];
    spawn("kube-apiserver", &program("kube-apiserver").unwrap(), &apiserver);
    let kubeconfig = file("kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "node",
        "clusters": [{"name": "node", "cluster": {
            "server": format!("https://{API}:443"), "certificate-authority": file("apiserver.crt"),
        }}],
        "users": [{"name": "admin", "user": {"token": "admin-of-this-node"}}],
        "contexts": [{"name": "node", "context": {"cluster": "node", "user": "admin"}}],
    });
    fs::write(&kubeconfig, config.to_string()).unwrap();
    let kubectl = program("kubectl").unwrap();
    eventually("the API server is ready", DEADLINE, async || {
        let asked = Command::new(&kubectl)
            .args(["get", "--raw", "/readyz", "--request-timeout=5s"])
            .env("KUBECONFIG", &kubeconfig)
            .output()
            .unwrap();
        if asked.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&asked.stderr).into_owned()) }
    })
    .await;
    let common = [flag("--kubeconfig", &kubeconfig), "--leader-elect=false".into(), "--secure-port=0".into()];
    let keys = [
        flag("--service-account-private-key-file", file("signing.key")),
        flag("--root-ca-file", file("apiserver.crt")),
    ];
    let manager = "kube-controller-manager";
    spawn(manager, &program(manager).unwrap(), &[common.as_slice(), &keys].concat());
    spawn("kube-scheduler", &program("kube-scheduler").unwrap(), &common);
    kubeconfig
}

fn kubelet(kubeconfig: &Path) {
    let config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": ADDRESS, "healthzPort": 0,
        "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs", "cgroupRoot": isolation::cgroup(), "failCgroupV1": false,
        "containerRuntimeEndpoint": format!("unix://{CONTAINERD}"),
        "enforceNodeAllocatable": [], "localStorageCapacityIsolation": false, "failSwapOn": false,
        // The machine belongs to others: neither a full disk nor its kernel is this node's business.
        "evictionHard": {"memory.available": "0%"}, "imageGCHighThresholdPercent": 100,
        "makeIPTablesUtilChains": false, "protectKernelDefaults": true,
        "resolvConf": "",
    });
    fs::write(file("kubelet.json"), config.to_string()).unwrap();
    let arguments = [
        flag("--config", file("kubelet.json")),
        flag("--kubeconfig", kubeconfig),
        "--hostname-override=node".into(),
        format!("--node-ip={ADDRESS}"),
    ];
    spawn("kubelet", &program("kubelet").unwrap(), &arguments);
}
