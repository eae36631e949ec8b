//! The real binary, built once.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Where the binary lies: `ZONEKEEPER_BINARY`, else built on the first call, so that `cargo test` alone suffices.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(given) = std::env::var_os("ZONEKEEPER_BINARY") {
            return given.into();
        }
        let own = std::env::current_exe().expect("its own path");
        // Tests lie in target/debug/deps, programs in target/release.
        let mut folders = own.ancestors().skip(1).skip_while(|folder| folder.ends_with("deps"));
        let folder = folders.next().expect("target/debug or target/release");
        let target = folders.next().expect("target");
        let mut build = Command::new(env!("CARGO"));
        build
            // Of the whole workspace, so that dependencies have the features that tests built them with.
            .args(["build", "--quiet", "--workspace", "--bin", "zonekeeper", "--target-dir"])
            .arg(target);
        // What cargo tells the tests that it runs would be news to build scripts (2026-11: ring's).
        for (name, _) in std::env::vars_os() {
            let is_told = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
            if name.to_str().is_some_and(is_told) {
                build.env_remove(name);
            }
        }
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo runs");
        assert!(built.success(), "zonekeeper does not build");
        folder.join("zonekeeper")
    })
}
