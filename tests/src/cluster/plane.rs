//! A control plane that knows our kinds and grants the operator the rights that we ship, and no others.

use std::{
    fs,
    path::{Path, PathBuf},
};

use control_plane::{ControlPlane, Options};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::objects;

static PREPARED: OnceCell<()> = OnceCell::const_new();
static WITH_DEFINITIONS: OnceCell<()> = OnceCell::const_new();

/// The one of this test process.
pub async fn shared() -> &'static ControlPlane {
    let plane = ControlPlane::shared().await;
    PREPARED.get_or_init(|| prepare(plane)).await;
    plane
}

/// The same, where the kinds of the Gateway API and DNSEndpoint are installed.
pub async fn with_published_definitions() -> &'static ControlPlane {
    let plane = shared().await;
    WITH_DEFINITIONS.get_or_init(|| install_published(plane)).await;
    plane
}

/// Installs the Gateway API and DNSEndpoint, as their projects publish them.
pub async fn install_published(plane: &ControlPlane) {
    let definitions = control_plane::published_definitions().expect("make tools");
    plane.install_crds(&definitions).await.expect("the API server takes them");
}

/// One of your own: nobody else's objects are there.
pub async fn own(options: Options) -> ControlPlane {
    let plane = ControlPlane::start(options).await.expect("a control plane");
    prepare(&plane).await;
    plane
}

/// What `deploy/` has in a file, as objects.
pub fn shipped(file: &str) -> Vec<Value> {
    let path = deploy().join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_multiple(&text).expect("YAML")
}

async fn prepare(plane: &ControlPlane) {
    let mut files: Vec<PathBuf> = fs::read_dir(deploy().join("crds"))
        .expect("deploy/crds")
        .map(|file| file.expect("a file").path())
        .collect();
    files.sort();
    for file in files {
        plane.install_crds(&fs::read_to_string(file).expect("UTF-8")).await.expect("the API server takes it");
    }
    for file in ["rbac/operator.yaml", "rbac/secret-reader.yaml"] {
        for object in shipped(file) {
            objects::apply(plane.client(), &object).await.expect("the API server takes it");
        }
    }
}

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}
