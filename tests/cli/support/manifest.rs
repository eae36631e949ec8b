//! Folders of manifests.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
pub use zonekeeper_tests::manifest::{
    Manifest, address_source, builtin, namespace, provider, records, secret, zone,
};

/// A folder of manifests that goes when the test ends.
pub struct Folder {
    directory: TempDir,
}

impl Folder {
    pub fn new() -> Self {
        Self { directory: TempDir::new().expect("a temporary folder") }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path as an argument.
    pub fn arg(&self) -> &str {
        self.path().to_str().expect("UTF-8")
    }

    /// Writes a file of manifests, one document each.
    pub fn put(&self, file: &str, manifests: &[Manifest]) -> PathBuf {
        let documents: Vec<String> = manifests.iter().map(|manifest| manifest.0.to_string()).collect();
        self.write(file, &documents.join("\n---\n"))
    }

    pub fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path
    }

    pub fn remove(&self, file: &str) {
        std::fs::remove_file(self.path().join(file)).expect("the file is there");
    }
}
