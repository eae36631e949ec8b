//! Helm, as users call it.

use std::path::PathBuf;

use control_plane::{ControlPlane, User};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::kubectl::{Answer, root};

pub const CHART: &str = "charts/zonekeeper";

/// Helm for one user of one control plane, or without any.
pub struct Helm {
    kubeconfig: PathBuf,
    home: TempDir,
}

/// Kind, namespace and name of an object.
pub type Identity = (String, String, String);

// === impl Helm ===

impl Helm {
    pub fn new(plane: &ControlPlane) -> Self {
        Self { kubeconfig: plane.kubeconfig(&User::admin()).unwrap(), home: tempfile::tempdir().unwrap() }
    }

    /// For what needs no cluster.
    pub fn offline() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self { kubeconfig: home.path().join("none"), home }
    }

    pub async fn run(&self, arguments: &[&str]) -> Answer {
        let output = Command::new(control_plane::program("helm").unwrap())
            .args(arguments)
            .current_dir(root())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HELM_CACHE_HOME", self.home.path())
            .env("HELM_CONFIG_HOME", self.home.path())
            .env("HELM_DATA_HOME", self.home.path())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        Answer {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The objects that a release would have, with hooks.
    pub async fn template(&self, release: &str, arguments: &[&str]) -> Vec<Value> {
        let answer = self.run(&[&["template", release, CHART], arguments].concat()).await.succeeds();
        documents(&answer.stdout)
    }
}

/// The documents of a YAML stream.
pub fn documents(text: &str) -> Vec<Value> {
    let documents = format!("\n{text}");
    let documents = documents.split("\n---\n").map(|document| serde_saphyr::from_str(document).unwrap());
    documents.filter(|document: &Value| !document.is_null()).collect()
}

pub fn identity(object: &Value) -> Identity {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&object["kind"]), text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]))
}
