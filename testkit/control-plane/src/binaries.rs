//! Where the programs are, and which versions this crate pins.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};

const KUBERNETES: (&str, &str, &str) =
    ("kubernetes", "k8s.io/kubernetes", include_str!("../go/kubernetes/go.mod"));
const ETCD: (&str, &str, &str) = ("etcd", "go.etcd.io/etcd/server/v3", include_str!("../go/etcd/go.mod"));

/// The version of Kubernetes, such as `v1.36.4`.
pub fn kubernetes_version() -> &'static str {
    version(KUBERNETES.1, KUBERNETES.2)
}

/// The program of that name: from KUBEBUILDER_ASSETS, else as `make tools` built it.
pub fn find(program: &str) -> Result<PathBuf> {
    let (folder, module, go_mod) = if program == "etcd" { ETCD } else { KUBERNETES };
    let built = cache()?.join("tools").join(format!("{folder}-{}", version(module, go_mod)));
    let given = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    given
        .into_iter()
        .chain([built])
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .with_context(|| format!("{program} is missing: run `make tools`, or set KUBEBUILDER_ASSETS"))
}

/// The cache of scripts/setup.
fn cache() -> Result<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("ZONEKEEPER_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("zonekeeper")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/zonekeeper")))
        .context("HOME is not set")
}

fn version(module: &str, go_mod: &'static str) -> &'static str {
    go_mod
        .lines()
        .map(|line| line.trim().trim_start_matches("require "))
        .find_map(|line| line.strip_prefix(module)?.trim().split(' ').next().filter(|it| it.starts_with('v')))
        .expect("our own go.mod requires it; the test below reads it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_go_mod() {
        assert!(kubernetes_version().starts_with("v1."), "{}", kubernetes_version());
        assert!(version(ETCD.1, ETCD.2).starts_with("v3."), "{}", version(ETCD.1, ETCD.2));
    }
}
