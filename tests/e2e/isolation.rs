//! Namespaces for the whole node: processes, mounts and network. All of it ends with the first process inside, however that ends.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use control_plane::program;

use crate::node::{ADDRESS, API};

const INSIDE: &str = "ZONEKEEPER_E2E_CGROUP";
pub const IMAGE: &str = "ZONEKEEPER_IMAGE";

/// Fresh folders over those that a node writes to, the address of the node on the bridge of its pods, and the address of the Service
/// `kubernetes` on loopback, so that no kube-proxy is needed. A kubelet would change settings of the whole machine: it finds files with
/// the values that it wants.
const PREPARE: &str = r#"
set -eu
mount --make-rprivate /
for folder in /dev/shm /run /var/lib/kubelet /var/lib/containerd /var/lib/cni /var/log/pods /var/log/containers /etc/cni; do
    if mkdir -p "$folder"; then mount -t tmpfs tmpfs "$folder"; fi
done
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    file=/run/$(echo "${setting%=*}" | tr / -)
    echo "${setting#*=}" > "$file"
    mount --bind "$file" "/proc/sys/${setting%=*}"
done
ip link set lo up
ip address add "$API/32" dev lo
ip link add pods type bridge
ip address add "$ADDRESS/16" dev pods
ip link set pods up
"$@"
"#;

/// Everything that it runs, and where each comes from.
const SYSTEM: [(&str, &str); 10] = [
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("unshare", "util-linux"),
    ("setpriv", "util-linux"),
    ("ip", "iproute2"),
    ("mount", "mount"),
    ("ldd", "libc-bin"),
    ("strip", "binutils"),
    ("openssl", "openssl"),
];
const BUILT: [&str; 7] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "helm"];

pub fn is_inside() -> bool {
    env::var_os(INSIDE).is_some()
}

/// The cgroup below which all pods are.
pub fn cgroup() -> String {
    env::var(INSIDE).unwrap()
}

/// What is missing, and how to run it.
pub fn is_possible() -> Result<(), String> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root {
        return Err("it needs root; run `sudo make e2e`".into());
    }
    for (tool, package) in SYSTEM {
        if !is_installed(tool) {
            return Err(format!(
                "{tool} is missing; install the Debian package {package}, or run `make e2e`"
            ));
        }
    }
    if !Path::new("/usr/lib/cni/bridge").exists() {
        return Err("the CNI plugins are missing; install the Debian package containernetworking-plugins, or run `make e2e`".into());
    }
    for tool in BUILT {
        program(tool).map_err(|_| format!("{tool} is missing; run `make e2e`, which builds it"))?;
    }
    let tried = unshare().args(["ip", "link", "add", "pods", "type", "bridge"]).output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "namespaces with a bridge can't be made here ({}); run `make e2e` where root may do that",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => Err(format!("unshare does not run: {error}")),
    }
}

fn is_installed(tool: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(tool)).any(|file| file.is_file())
}

fn unshare() -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"])
        .arg("--mount-proc");
    command
}

/// Runs this program again inside; its exit code is ours.
pub fn enter(image: &Path) -> ExitCode {
    let cgroup = Cgroup::new();
    let status = unshare()
        .args(["sh", "-c", PREPARE, "sh"])
        .arg(env::current_exe().unwrap())
        .args(env::args_os().skip(1))
        .env(INSIDE, format!("/{}", cgroup.name))
        .env(IMAGE, image)
        .env("ADDRESS", ADDRESS)
        .env("API", API)
        .status()
        .unwrap();
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The one thing that is not in a namespace.
struct Cgroup {
    name: String,
}

// === impl Cgroup ===

impl Cgroup {
    fn new() -> Self {
        let cgroup = Self { name: format!("zonekeeper-e2e-{}", std::process::id()) };
        cgroup.folders().iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        cgroup
    }

    /// In version 1, one for each controller.
    fn folders(&self) -> Vec<PathBuf> {
        let root = Path::new("/sys/fs/cgroup");
        if root.join("cgroup.controllers").exists() {
            return vec![root.join(&self.name)];
        }
        let controllers = fs::read_dir(root).unwrap().flatten().map(|entry| entry.path());
        controllers
            .filter(|path| path.is_dir() && !path.is_symlink())
            .map(|path| path.join(&self.name))
            .collect()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.folders().iter().for_each(|folder| remove(folder));
    }
}

/// A cgroup is removed from its leaves up, and its files with it.
fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}
