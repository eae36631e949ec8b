//! A folder in memory where there is room, which goes away when we do.

use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

use crate::spawner;

/// etcd alone allocates 128 MB of log in advance.
const ROOM: u64 = 1 << 30;

/// Waits until our end of the pipe closes, which even SIGKILL does, then removes the folder.
const REMOVE_AT_OUR_END: &str = r#"cat; until rm -rf "$0"; do sleep 0.1; done"#;

/// A folder that is removed when this is dropped, and when the test process ends in whatever way.
pub struct Scratch {
    path: PathBuf,
    remover: Child,
}

// === impl Scratch ===

impl Scratch {
    pub fn new() -> Result<Self> {
        let path = tempfile::Builder::new()
            .prefix("zonekeeper-control-plane-")
            .tempdir_in(parent())
            .context("creating a folder for the control plane")?
            .keep();
        let mut remover = Command::new("sh");
        remover.args(["-c", REMOVE_AT_OUR_END]).arg(&path);
        remover.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let remover = spawner::spawn(remover).context("starting a shell")?;
        Ok(Self { path, remover })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.remover.stdin.take());
        // The worst that failure means is a folder that stays.
        let _ = self.remover.wait();
    }
}

fn parent() -> PathBuf {
    let memory = Path::new("/dev/shm");
    match rustix::fs::statvfs(memory) {
        Ok(stat) if stat.f_bavail * stat.f_frsize >= ROOM => memory.into(),
        _ => std::env::temp_dir(),
    }
}
