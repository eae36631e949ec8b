//! What there is to see after a test has failed.

use std::{
    fs,
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, ListParams},
};
use tokio::{runtime, time::timeout};

use crate::plane::ControlPlane;

/// A paused API server never answers.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Writes the logs of all processes and the objects of the kinds in the namespace; returns the folder.
pub fn write(plane: &ControlPlane, namespace: &str, kinds: &[ApiResource]) -> Result<PathBuf> {
    let folder = target().join(format!("control-plane/{}-{namespace}", process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let folder = folder.canonicalize()?;
    for file in fs::read_dir(plane.folder())? {
        let file = file?;
        if file.path().extension().is_some_and(|extension| extension == "log") {
            fs::copy(file.path(), folder.join(file.file_name()))?;
        }
    }
    // A runtime can't wait inside another, and the failing test's own is busy with unwinding.
    let objects = || -> Result<()> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let listing =
            async { timeout(ANSWER_WITHIN, write_objects(plane, namespace, kinds, &folder)).await? };
        runtime.block_on(listing)
    };
    let written = thread::scope(|scope| scope.spawn(objects).join());
    written.map_err(|_| anyhow!("panicked"))?.with_context(|| format!("writing to {}", folder.display()))?;
    Ok(folder)
}

async fn write_objects(
    plane: &ControlPlane,
    namespace: &str,
    kinds: &[ApiResource],
    folder: &Path,
) -> Result<()> {
    let client = plane.client();
    for kind in kinds {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, kind);
        let objects =
            api.list(&ListParams::default()).await.with_context(|| format!("listing {}", kind.plural))?;
        fs::write(
            folder.join(format!("{}.yaml", kind.plural)),
            serde_saphyr::to_string_multiple(&objects.items)?,
        )?;
    }
    Ok(())
}

fn target() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(default, PathBuf::from)
}
