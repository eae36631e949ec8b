//! What is inside the binary, as a CycloneDX list, from what Cargo resolved.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

const PACKAGE: &str = "zonekeeper";

/// The list for one target, such as `x86_64-unknown-linux-musl`.
pub fn of(root: &Path, target: &str) -> Result<String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target])
        .current_dir(root)
        .output()
        .context("running cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let list = list(&serde_json::from_slice(&output.stdout)?)?;
    Ok(serde_json::to_string_pretty(&list)? + "\n")
}

/// Packages that are linked into the binary, and who needs whom. Build scripts and tests are not inside.
fn list(metadata: &Value) -> Result<Value> {
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        all(&metadata["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
    let needs: BTreeMap<String, Vec<String>> = all(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            let is_linked =
                |dependency: &&Value| all(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            let dependencies = all(&node["deps"]);
            let linked = dependencies.iter().filter(is_linked).map(|dependency| text(&dependency["pkg"]));
            (text(&node["id"]), linked.collect())
        })
        .collect();
    let root = packages.iter().find(|(_, package)| package["name"] == PACKAGE).map(|(id, _)| id.clone());
    let root = root.context("the workspace has no package zonekeeper")?;
    let mut inside = BTreeSet::new();
    let mut waiting = vec![root.clone()];
    while let Some(id) = waiting.pop() {
        if inside.insert(id.clone()) {
            waiting.extend(needs.get(&id).into_iter().flatten().cloned());
        }
    }
    let url =
        |id: &str| format!("pkg:cargo/{}@{}", text(&packages[id]["name"]), text(&packages[id]["version"]));
    let component = |id: &String, kind: &str| {
        let package = &packages[id];
        let mut component = json!({
            "type": kind, "bom-ref": url(id), "name": package["name"], "version": package["version"], "purl": url(id),
        });
        if let Some(license) = package["license"].as_str() {
            // The old way to write "or".
            component["licenses"] = json!([{"expression": license.replace('/', " OR ")}]);
        }
        component
    };
    let sorted = |ids: Vec<&String>| ids.into_iter().map(|id| url(id)).collect::<BTreeSet<String>>();
    let mut components: Vec<Value> =
        inside.iter().filter(|id| **id != root).map(|id| component(id, "library")).collect();
    components.sort_by_key(|component| text(&component["purl"]));
    let dependencies: BTreeMap<String, BTreeSet<String>> =
        inside.iter().map(|id| (url(id), sorted(needs.get(id).into_iter().flatten().collect()))).collect();
    let dependencies: Vec<Value> =
        dependencies.into_iter().map(|(id, on)| json!({"ref": id, "dependsOn": on})).collect();
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": component(&root, "application")},
        "components": components,
        "dependencies": dependencies,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_what_is_linked_and_no_build_or_test_dependency() {
        let package =
            |name: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0"});
        let needs = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let packages = ["zonekeeper", "a", "b", "cc", "proptest", "stranger"].map(package);
        let metadata = json!({
            "packages": packages,
            "resolve": {"nodes": [
                {"id": "zonekeeper", "deps": [needs("a", Value::Null), needs("proptest", json!("dev"))]},
                {"id": "a", "deps": [needs("cc", json!("build")), needs("b", Value::Null)]},
            ]},
        });
        let list = list(&metadata).unwrap();
        let names: Vec<&Value> =
            list["components"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(list["metadata"]["component"]["purl"], "pkg:cargo/zonekeeper@1.0.0");
        assert_eq!(list["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(
            list["dependencies"][0],
            json!({"ref": "pkg:cargo/a@1.0.0", "dependsOn": ["pkg:cargo/b@1.0.0"]})
        );
    }

    #[test]
    fn ours_names_the_crates_that_speak_to_providers() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let list = of(&root, "x86_64-unknown-linux-musl").unwrap();
        for name in ["pkg:cargo/reqwest@", "pkg:cargo/zonekeeper-kernel@", "pkg:cargo/ring@"] {
            assert!(list.contains(name), "{name}");
        }
        assert!(!list.contains("pkg:cargo/proptest@"));
    }
}
