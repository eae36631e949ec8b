//! What the documents say is there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod alerts;
mod argocd;
mod book;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use zonekeeper::folder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Paths of this project in backticks or links.
fn paths(text: &str) -> BTreeSet<String> {
    let is_path = |word: &&str| {
        let first = word.split('/').next().unwrap_or_default();
        matches!(
            first,
            "crates" | "testkit" | "tests" | "xtask" | "docs" | "examples" | "deploy" | "scripts" | "charts"
        ) && !word.contains(' ')
    };
    text.split(['`', '(', ')', '\n']).filter(is_path).map(str::to_owned).collect()
}

#[test]
fn every_path_in_the_documents_exists() {
    let mut seen = 0;
    for document in ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md", "docs/folder.md", "docs/install.md"] {
        for path in paths(&read(document)) {
            assert!(root().join(&path).exists(), "{document} names {path}");
            seen += 1;
        }
    }
    assert!(seen > 60, "the paths are found at all: {seen}");
}

#[test]
fn the_architecture_names_every_module_of_the_kernel_and_every_crate() {
    let text = read("ARCHITECTURE.md");
    for entry in std::fs::read_dir(root().join("crates/kernel/src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = match name.strip_suffix(".rs") {
            Some("lib") => continue,
            Some(_) => format!("crates/kernel/src/{name}"),
            None => format!("crates/kernel/src/{name}/"),
        };
        assert!(text.contains(&path), "ARCHITECTURE.md does not name {path}");
    }
    for member in
        read("Cargo.toml").lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","))
    {
        assert!(text.contains(&format!("`{member}`")), "ARCHITECTURE.md does not name {member}");
    }
}

#[test]
fn the_kernel_depends_on_no_io() {
    let manifest = read("crates/kernel/Cargo.toml");
    let dependencies =
        manifest.split("[dependencies]").nth(1).unwrap().split("[dev-dependencies]").next().unwrap();
    for banned in ["tokio", "kube", "reqwest", "tracing", "log", "rand", "k8s-openapi", "zonekeeper"] {
        assert!(!dependencies.lines().any(|line| line.starts_with(banned)), "the kernel depends on {banned}");
    }
}

#[test]
fn the_model_is_pure() {
    let manifest = read("crates/model/Cargo.toml");
    for banned in ["tokio", "reqwest", "getrandom", "rand", "zonekeeper-providers", "async-trait", "futures"]
    {
        assert!(!manifest.lines().any(|line| line.starts_with(banned)), "the model depends on {banned}");
    }
    // The kube crate has types here, and no client: that is a feature of its own.
    assert!(manifest.contains("\nkube.workspace = true\n"), "{manifest}");
    assert!(
        read("Cargo.toml")
            .contains("kube = { version = \"5.0\", default-features = false, features = [\"derive\"] }")
    );
    let mut files = vec![root().join("crates/model/src")];
    let mut seen = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        seen += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let is_test = path.ends_with("tests.rs");
        for banned in [
            "Instant::now",
            "SystemTime::now",
            "Timestamp::now",
            "std::env",
            "std::fs",
            "async fn",
            "async move",
        ] {
            assert!(is_test || !code.contains(banned), "{} uses {banned}", path.display());
        }
    }
    assert!(seen > 30, "the files are found at all: {seen}");
}

#[test]
fn the_architecture_names_every_file_of_the_model() {
    let text = read("ARCHITECTURE.md");
    for entry in std::fs::read_dir(root().join("crates/model/src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_detail = matches!(name.as_str(), "tests.rs" | "small_map.rs");
        assert!(
            is_detail || text.contains(&format!("crates/model/src/{name}")),
            "ARCHITECTURE.md does not name {name}"
        );
    }
}

#[test]
fn every_reason_of_the_kernel_and_the_providers_is_in_the_closed_list() {
    let closed: BTreeSet<&str> = zonekeeper_api::Reason::all().iter().map(|reason| reason.as_str()).collect();
    let words = |path: &str| -> Vec<String> {
        let text = read(path);
        let arms =
            text.lines().filter_map(|line| line.split_once("=> \"")?.1.split_once('"').map(|(word, _)| word));
        arms.filter(|word| word.chars().next().is_some_and(char::is_uppercase)).map(str::to_owned).collect()
    };
    for path in ["crates/kernel/src/reason.rs", "crates/kernel/src/provider.rs"] {
        let found = words(path);
        assert!(found.len() > 5, "{path}");
        for word in found {
            assert!(closed.contains(word.as_str()), "{path}: {word}");
        }
    }
}

#[test]
fn the_examples_are_valid_folders() {
    for example in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = example.unwrap().path();
        let folder = folder::read(&path).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(!folder.record_sets.is_empty() && folder.notes.is_empty(), "{}", path.display());
    }
}

#[test]
fn readme_leads_with_its_two_commands() {
    let commands: Vec<String> = read("README.md")
        .lines()
        .filter(|line| line.starts_with("    make "))
        .take(2)
        .map(str::to_owned)
        .collect();
    assert!(
        commands[0].trim_start().starts_with("make up") && commands[1].trim_start().starts_with("make test")
    );
    let makefile = read("Makefile");
    assert!(makefile.contains("\nup:") && makefile.contains("\ntest:"));
    assert!(read(".ci/run").contains("make test"));
}
