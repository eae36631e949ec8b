//! `deploy`, as Helm renders it from the chart.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use zonekeeper_api::rbac::NAMESPACE;

const CHART: &str = "charts/zonekeeper";
const RELEASE: &str = "zonekeeper";
const DEPLOY: &str = "deploy";
/// Everything in one file.
const INSTALL: &str = "deploy/install.yaml";
const HEADER: &str = "# Generated from charts/zonekeeper by `make gen`; do not edit.\n";
const SOURCE: &str = "# Source: zonekeeper/templates/";
/// Labels that are true only of what Helm itself installs.
const OF_HELM: [&str; 2] = ["helm.sh/chart:", "app.kubernetes.io/managed-by:"];

/// Every rendered file, by its path from the root.
pub fn files(root: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let output = Command::new(helm(root)?)
        .args([
            "template",
            RELEASE,
            CHART,
            "--namespace",
            NAMESPACE,
            "--skip-tests",
            "--set",
            "crds.keep=false",
        ])
        .current_dir(root)
        .output()
        .context("running helm")?;
    ensure!(output.status.success(), "helm template: {}", String::from_utf8_lossy(&output.stderr));
    let mut files = split(&String::from_utf8(output.stdout)?)?;
    let install = install(root, &files)?;
    files.insert(INSTALL.into(), install);
    Ok(files)
}

/// Documents, by the template that each is from.
fn split(rendered: &str) -> Result<BTreeMap<PathBuf, String>> {
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    for document in rendered.split("---\n").filter(|document| !document.trim().is_empty()) {
        let Some((source, body)) = document.strip_prefix(SOURCE).and_then(|rest| rest.split_once('\n'))
        else {
            bail!("a document without its template: {}", &document[..document.len().min(80)]);
        };
        let is_ours = |line: &&str| !OF_HELM.iter().any(|label| line.trim_start().starts_with(label));
        let body: Vec<&str> = body.trim().lines().filter(is_ours).collect();
        let body = body.join("\n") + "\n";
        files
            .entry(Path::new(DEPLOY).join(source))
            .and_modify(|file| file.push_str(&format!("---\n{body}")))
            .or_insert_with(|| format!("{HEADER}{body}"));
    }
    Ok(files)
}

/// All that kustomization.yaml lists, in its order.
fn install(root: &Path, rendered: &BTreeMap<PathBuf, String>) -> Result<String> {
    let path = Path::new(DEPLOY).join("kustomization.yaml");
    let list = fs::read_to_string(root.join(&path)).with_context(|| format!("reading {}", path.display()))?;
    let mut text = format!("{HEADER}# kubectl apply --server-side -f install.yaml\n");
    for resource in list.lines().filter_map(|line| line.strip_prefix("- ")) {
        let path = Path::new(DEPLOY).join(resource);
        let file = match rendered.get(&path) {
            Some(file) => file.clone(),
            None => {
                fs::read_to_string(root.join(&path)).with_context(|| format!("reading {}", path.display()))?
            }
        };
        text.push_str(&format!("---\n{}", file.strip_prefix(HEADER).unwrap_or(&file)));
    }
    Ok(text)
}

/// Helm, as `scripts/tools` built it.
fn helm(root: &Path) -> Result<PathBuf> {
    const MODULE: &str = "helm.sh/helm/v4 ";
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("ZONEKEEPER_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("zonekeeper")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/zonekeeper")))
        .context("HOME is not set")?;
    let modules = fs::read_to_string(root.join("testkit/control-plane/go/helm/go.mod"))?;
    let version = modules.lines().find_map(|line| line.trim().strip_prefix(MODULE)?.split(' ').next());
    let version = version.context("go.mod does not name Helm's version")?;
    let helm = cache.join("tools").join(format!("helm-{version}")).join("helm");
    ensure!(helm.is_file(), "helm is missing: run `scripts/setup gen`");
    Ok(helm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_a_template_make_one_file_without_what_only_helm_means() {
        let rendered = "---\n# Source: zonekeeper/templates/rbac/a.yaml\nkind: A\nmetadata:\n  labels:\n    app.kubernetes.io/managed-by: Helm\n    \
                        helm.sh/chart: zonekeeper-1\n    x: y\n---\n# Source: zonekeeper/templates/b.yaml\nkind: B\n---\n# Source: \
                        zonekeeper/templates/rbac/a.yaml\nkind: C\n";
        let files = split(rendered).unwrap();
        let text = |path: &str| files[Path::new(path)].strip_prefix(HEADER).unwrap().to_owned();
        assert_eq!(files.len(), 2);
        assert_eq!(text("deploy/rbac/a.yaml"), "kind: A\nmetadata:\n  labels:\n    x: y\n---\nkind: C\n");
        assert_eq!(text("deploy/b.yaml"), "kind: B\n");
    }
}
