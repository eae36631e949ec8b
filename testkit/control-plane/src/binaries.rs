//! Where the programs are, and which versions this crate pins.

use std::{env, fs, path::PathBuf};

use anyhow::{Context, Result};

/// A folder of `make tools`, the module that it is built from, and the go.mod that pins its version.
type Origin = (&'static str, &'static str, &'static str);

const KUBERNETES: Origin = ("kubernetes", "k8s.io/kubernetes", include_str!("../go/kubernetes/go.mod"));
const ETCD: Origin = ("etcd", "go.etcd.io/etcd/server/v3", include_str!("../go/etcd/go.mod"));
const EXTERNAL_DNS: Origin =
    ("external-dns", "sigs.k8s.io/external-dns", include_str!("../go/external-dns/go.mod"));
const HELM: Origin = ("helm", "helm.sh/helm/v4", include_str!("../go/helm/go.mod"));
const HELM_UNITTEST: Origin =
    ("helm-unittest", "github.com/helm-unittest/helm-unittest", include_str!("../go/helm-unittest/go.mod"));

/// The version of Kubernetes, such as `v1.36.4`.
pub fn kubernetes_version() -> &'static str {
    version(KUBERNETES.1, KUBERNETES.2)
}

/// The program of that name: from KUBEBUILDER_ASSETS, else as `make tools` built it.
pub fn find(program: &str) -> Result<PathBuf> {
    let origin = match program {
        "etcd" => ETCD,
        "external-dns" => EXTERNAL_DNS,
        "helm" => HELM,
        "helm-unittest" => HELM_UNITTEST,
        _ => KUBERNETES,
    };
    let built = built(origin)?;
    let given = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    given
        .into_iter()
        .chain([built])
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .with_context(|| format!("{program} is missing: run `make tools`, or set KUBEBUILDER_ASSETS"))
}

/// The CustomResourceDefinitions of the Gateway API and of DNSEndpoint, as their projects publish them.
pub fn published_definitions() -> Result<String> {
    let folder = built(EXTERNAL_DNS)?.join("definitions");
    let missing = || format!("{} is missing: run `make tools`", folder.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).with_context(missing)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    let texts: Vec<String> = files.iter().map(fs::read_to_string).collect::<Result<_, _>>()?;
    Ok(texts.join("\n---\n"))
}

fn built((folder, module, go_mod): Origin) -> Result<PathBuf> {
    Ok(cache()?.join("tools").join(format!("{folder}-{}", version(module, go_mod))))
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
        assert!(version(HELM.1, HELM.2).starts_with("v4."), "{}", version(HELM.1, HELM.2));
        assert!(version(HELM_UNITTEST.1, HELM_UNITTEST.2).starts_with("v1."), "helm-unittest");
    }
}
