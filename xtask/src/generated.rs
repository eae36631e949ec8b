//! Which files are generated, and how they differ from what lies in the tree.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{reference, rights};

const CRDS: &str = "deploy/crds";
const RBAC: &str = "deploy/rbac";
/// All that lies here is generated; files of kinds and roles that are gone are removed.
const FOLDERS: [&str; 2] = [CRDS, RBAC];
const REFERENCE: &str = "docs/reference/api.md";
const RIGHTS: &str = "docs/reference/rbac.md";
const HEADER: &str = "# Generated from crates/api by `cargo run -p xtask -- gen`; do not edit.\n";

/// Brings all generated files up to date; returns those that were not.
pub fn write(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let files = files();
    let differing = differing(root)?;
    for path in &differing {
        let target = root.join(path);
        let Some(text) = files.get(path) else {
            fs::remove_file(&target).with_context(|| format!("removing {}", path.display()))?;
            continue;
        };
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("creating the folder of {}", path.display()))?;
        }
        fs::write(&target, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(differing)
}

/// Files that are missing, stale or left over.
pub fn differing(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let files = files();
    let mut differing = left_over(root, &files)?;
    for (path, wanted) in files {
        match fs::read_to_string(root.join(&path)) {
            Ok(found) if found == wanted => {}
            Ok(_) => {
                differing.insert(path);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                differing.insert(path);
            }
            Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }
    Ok(differing)
}

/// Every generated file, by its path from the root.
fn files() -> BTreeMap<PathBuf, String> {
    let crds = zonekeeper_api::crds();
    let mut files: BTreeMap<PathBuf, String> = crds
        .iter()
        .map(|crd| {
            let path = Path::new(CRDS).join(format!("{}.yaml", crd.spec.names.plural));
            (path, format!("{HEADER}{}", zonekeeper_api::yaml_of(crd)))
        })
        .collect();
    files.extend(
        zonekeeper_api::rbac::manifests()
            .into_iter()
            .map(|manifest| (Path::new(RBAC).join(manifest.file), format!("{HEADER}{}", manifest.yaml))),
    );
    files.insert(REFERENCE.into(), reference::markdown(&crds));
    files.insert(RIGHTS.into(), rights::markdown());
    files
}

fn left_over(root: &Path, files: &BTreeMap<PathBuf, String>) -> Result<BTreeSet<PathBuf>> {
    let mut left_over = BTreeSet::new();
    for folder in FOLDERS.into_iter().filter(|folder| root.join(folder).is_dir()) {
        let entries = fs::read_dir(root.join(folder)).with_context(|| format!("listing {folder}"))?;
        for entry in entries {
            let name = entry.with_context(|| format!("listing {folder}"))?.file_name();
            let path = Path::new(folder).join(&name);
            let is_yaml = path.extension().is_some_and(|extension| extension == "yaml");
            if is_yaml && !files.contains_key(&path) {
                left_over.insert(path);
            }
        }
    }
    Ok(left_over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_twice_changes_nothing_the_second_time() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(write(root.path()).unwrap().len(), 10);
        assert_eq!(write(root.path()).unwrap(), BTreeSet::new());
    }

    #[test]
    fn edited_missing_and_left_over_files_are_named_and_repaired() {
        let root = tempfile::tempdir().unwrap();
        write(root.path()).unwrap();
        fs::write(root.path().join("deploy/crds/dnszones.yaml"), "edited").unwrap();
        fs::remove_file(root.path().join(REFERENCE)).unwrap();
        fs::write(root.path().join("deploy/crds/gone.yaml"), "").unwrap();
        fs::write(root.path().join("deploy/rbac/gone.yaml"), "").unwrap();
        let named = differing(root.path()).unwrap();
        let named: Vec<_> = named.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(
            named,
            ["deploy/crds/dnszones.yaml", "deploy/crds/gone.yaml", "deploy/rbac/gone.yaml", REFERENCE]
        );
        write(root.path()).unwrap();
        assert_eq!(differing(root.path()).unwrap(), BTreeSet::new());
    }
}
