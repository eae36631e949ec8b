//! Which files are generated, and how they differ from what lies in the tree.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    chart::{self, Values},
    reference, render, rights, schemas,
};

const CHART: &str = "charts/zonekeeper";
const DEFINITIONS: &str = "charts/zonekeeper/templates/crds";
/// All that lies here is generated; files of kinds and roles that are gone are removed.
const FOLDERS: [&str; 3] = [DEFINITIONS, "deploy/crds", "deploy/rbac"];
const REFERENCE: &str = "docs/reference/api.md";
const RIGHTS: &str = "docs/reference/rbac.md";
const SCHEMAS: &str = "docs/schemas";
const VALUES: &str = include_str!("../../charts/zonekeeper/values.yaml");

type Files = BTreeMap<PathBuf, String>;

/// Brings all generated files up to date; returns those that were not.
pub fn write(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut written = bring(root, &from_code()?, &FOLDERS[..1])?;
    // The chart is as it should be from here on.
    written.extend(bring(root, &render::files(root)?, &FOLDERS[1..])?);
    Ok(written)
}

/// Files that are missing, stale or left over.
pub fn differing(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = compared(root, &from_code()?, &FOLDERS[..1])?;
    if found.is_empty() {
        found.extend(compared(root, &render::files(root)?, &FOLDERS[1..])?);
    }
    Ok(found)
}

/// Those that need nothing but the code.
#[cfg(test)]
pub fn differing_from_code(root: &Path) -> Result<BTreeSet<PathBuf>> {
    compared(root, &from_code()?, &FOLDERS[..1])
}

fn bring(root: &Path, files: &Files, folders: &[&str]) -> Result<BTreeSet<PathBuf>> {
    let differing = compared(root, files, folders)?;
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

fn compared(root: &Path, files: &Files, folders: &[&str]) -> Result<BTreeSet<PathBuf>> {
    let mut differing = left_over(root, files, folders)?;
    for (path, wanted) in files {
        match fs::read_to_string(root.join(path)) {
            Ok(found) if found == *wanted => {}
            Ok(_) => {
                differing.insert(path.clone());
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                differing.insert(path.clone());
            }
            Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }
    Ok(differing)
}

/// Every file that is written from the code alone, by its path from the root.
fn from_code() -> Result<Files> {
    let crds = zonekeeper_api::crds();
    let values = Values::read(VALUES)?;
    let mut files: Files = crds
        .iter()
        .map(|crd| {
            let path = Path::new(DEFINITIONS).join(format!("{}.yaml", crd.spec.names.plural));
            (path, chart::definition(crd))
        })
        .collect();
    files.insert(Path::new(CHART).join("templates/_rules.tpl"), chart::rules());
    files.insert(Path::new(CHART).join("values.schema.json"), values.schema()?);
    files.insert(Path::new(CHART).join("README.md"), values.readme());
    files.insert(REFERENCE.into(), reference::markdown(&crds));
    files.insert(RIGHTS.into(), rights::markdown());
    for crd in &crds {
        files.insert(Path::new(SCHEMAS).join(schemas::file_of(&crd.spec.names.kind)), schemas::schema(crd));
    }
    files.insert(Path::new(SCHEMAS).join("all.json"), schemas::any_of(&crds));
    Ok(files)
}

fn left_over(root: &Path, files: &Files, folders: &[&str]) -> Result<BTreeSet<PathBuf>> {
    let mut left_over = BTreeSet::new();
    for folder in folders.iter().copied().filter(|folder| root.join(folder).is_dir()) {
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
        let (files, folders) = (from_code().unwrap(), &FOLDERS[..1]);
        assert_eq!(bring(root.path(), &files, folders).unwrap().len(), 14);
        assert_eq!(bring(root.path(), &files, folders).unwrap(), BTreeSet::new());
    }

    #[test]
    fn edited_missing_and_left_over_files_are_named_and_repaired() {
        let root = tempfile::tempdir().unwrap();
        let files: Files = ["deploy/crds/a.yaml", "deploy/crds/b.yaml", "docs/c.md"]
            .map(|path| (path.into(), "text".to_owned()))
            .into();
        bring(root.path(), &files, &FOLDERS).unwrap();
        fs::write(root.path().join("deploy/crds/a.yaml"), "edited").unwrap();
        fs::remove_file(root.path().join("docs/c.md")).unwrap();
        fs::write(root.path().join("deploy/crds/gone.yaml"), "").unwrap();
        let named = compared(root.path(), &files, &FOLDERS).unwrap();
        let named: Vec<_> = named.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(named, ["deploy/crds/a.yaml", "deploy/crds/gone.yaml", "docs/c.md"]);
        bring(root.path(), &files, &FOLDERS).unwrap();
        assert_eq!(compared(root.path(), &files, &FOLDERS).unwrap(), BTreeSet::new());
    }
}
