//! Images made of files of this machine.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use data_encoding::HEXLOWER;
use serde_json::json;
use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempPath};
use zonekeeper_tests::binary::binary;

use crate::isolation::IMAGE;

pub const NAME: &str = "docker.io/zonekeeper/zonekeeper";
const ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";
pub const PAUSE: &str = "docker.io/library/pause:e2e";

/// An archive to import.
pub enum Archive {
    Given(PathBuf),
    Made(TempPath),
}

// === impl Archive ===

impl Archive {
    pub fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Made(path) => path,
        }
    }
}

/// The operator: the archive that ZONEKEEPER_IMAGE names, as `make image` writes it, else one with the binary that the other tests
/// run and the libraries that it needs.
pub fn operator() -> Archive {
    if let Some(given) = std::env::var_os(IMAGE) {
        // cargo runs tests in their package's folder.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let path = root.join(given);
        assert!(path.exists(), "{IMAGE} names {}, which is not there", path.display());
        return Archive::Given(path.canonicalize().unwrap());
    }
    let stripped = NamedTempFile::new().unwrap().into_temp_path();
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(binary()).status().unwrap();
    assert!(status.success(), "strip {}", binary().display());
    let name = format!("{NAME}:{}", env!("CARGO_PKG_VERSION"));
    let entrypoint = "/usr/bin/zonekeeper";
    Archive::Made(docker_archive(&name, &stripped, entrypoint, &[]))
}

/// What holds a pod's namespaces: it sleeps.
pub fn pause() -> TempPath {
    docker_archive(PAUSE, Path::new("/bin/sleep"), "/bin/sleep", &["infinity"])
}

fn docker_archive(name: &str, program: &Path, place: &str, arguments: &[&str]) -> TempPath {
    let mut layer = tar::Builder::new(Vec::new());
    let mut put =
        |path: &str, content: &[u8]| append(&mut layer, path.trim_start_matches('/'), 0o755, content);
    put(place, &fs::read(program).unwrap());
    for library in libraries(program) {
        put(&library, &fs::read(&library).unwrap());
    }
    // Without roots the operator can't set up HTTPS.
    if let Ok(roots) = fs::read(ROOTS) {
        put(ROOTS, &roots);
    }
    let layer = layer.into_inner().unwrap();
    let config = json!({
        "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
        "os": "linux",
        "config": {"User": "65532:65532", "Entrypoint": [place], "Cmd": arguments, "Env": [format!("SSL_CERT_FILE={ROOTS}")]},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&layer)))]},
    });
    let manifest = json!([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
    let mut archive = tar::Builder::new(Vec::new());
    append(&mut archive, "manifest.json", 0o644, manifest.to_string().as_bytes());
    append(&mut archive, "config.json", 0o644, config.to_string().as_bytes());
    append(&mut archive, "layer.tar", 0o644, &layer);
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), archive.into_inner().unwrap()).unwrap();
    file.into_temp_path()
}

fn append(archive: &mut tar::Builder<Vec<u8>>, path: &str, mode: u32, content: &[u8]) {
    let mut header = tar::Header::new_gnu();
    header.set_mode(mode);
    header.set_size(content.len() as u64);
    archive.append_data(&mut header, path, content).unwrap();
}

/// The loader and the libraries of a program, by their paths; none for a static one.
fn libraries(program: &Path) -> Vec<String> {
    let said = Command::new("ldd").arg(program).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    said.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned).collect()
}
