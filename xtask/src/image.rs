//! An OCI archive of one architecture, made without a container engine; the same binary makes the same bytes.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use data_encoding::{BASE64, HEXLOWER};
use flate2::{Compression, GzBuilder};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Not root, and known by number: Kubernetes can't check a name.
pub const USER: &str = "65532:65532";
const ROOTS: &str = "etc/ssl/certs/ca-certificates.crt";
const TYPE: &str = "application/vnd.oci.image";

/// What an image is made of.
pub struct Image<'a> {
    pub binary: &'a Path,
    /// As OCI spells it: amd64 or arm64.
    pub architecture: &'a str,
    pub version: &'a str,
    /// The commit, where it is known.
    pub revision: &'a str,
    /// Seconds since 1970; every file and the image have this time.
    pub epoch: u64,
    /// The list of what is inside, as CycloneDX.
    pub sbom: &'a str,
    pub license: &'a str,
}

/// A tar file with entries in the order in which they are given, and nothing of the machine in it.
pub struct Archive {
    builder: tar::Builder<Vec<u8>>,
    epoch: u64,
}

// === impl Archive ===

impl Archive {
    pub fn new(epoch: u64) -> Self {
        Self { builder: tar::Builder::new(Vec::new()), epoch }
    }

    fn folder(&mut self, path: &str) -> Result<()> {
        self.entry(tar::EntryType::Directory, path, 0o755, &[])
    }

    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<()> {
        self.entry(tar::EntryType::Regular, path, mode, content)
    }

    fn entry(&mut self, kind: tar::EntryType, path: &str, mode: u32, content: &[u8]) -> Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(self.epoch);
        header.set_size(content.len() as u64);
        self.builder.append_data(&mut header, path, content).with_context(|| format!("adding {path}"))
    }

    pub fn finish(self) -> Result<Vec<u8>> {
        Ok(self.builder.into_inner()?)
    }
}

/// Compressed, without a name or a time.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// SHA-256 in hex.
pub fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Mozilla's roots as a PEM file: the same on every machine, unlike the machine's own.
pub fn roots() -> String {
    let mut text = String::new();
    for certificate in webpki_root_certs::TLS_SERVER_ROOT_CERTS {
        let body = BASE64.encode(certificate);
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        let lines = body.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned() + "\n");
        text.extend(lines);
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text
}

// === impl Image ===

impl Image<'_> {
    /// The archive: an OCI layout with one manifest, one configuration and one layer.
    pub fn archive(&self) -> Result<Vec<u8>> {
        let layer = self.layer()?;
        let compressed = gzip(&layer)?;
        let config = serde_json::to_vec(&self.config(&layer)?)?;
        let manifest = serde_json::to_vec(&json!({
            "schemaVersion": 2,
            "mediaType": format!("{TYPE}.manifest.v1+json"),
            "config": descriptor("config.v1+json", &config),
            "layers": [descriptor("layer.v1.tar+gzip", &compressed)],
            "annotations": self.labels()?,
        }))?;
        let mut entry = descriptor("manifest.v1+json", &manifest);
        entry["platform"] = json!({"os": "linux", "architecture": self.architecture});
        entry["annotations"] = json!({"org.opencontainers.image.ref.name": self.version});
        let index =
            json!({"schemaVersion": 2, "mediaType": format!("{TYPE}.index.v1+json"), "manifests": [entry]});
        let mut archive = Archive::new(self.epoch);
        for folder in ["blobs/", "blobs/sha256/"] {
            archive.folder(folder)?;
        }
        let blobs: BTreeMap<String, Vec<u8>> =
            [compressed, config, manifest].into_iter().map(|blob| (sha256(&blob), blob)).collect();
        for (digest, blob) in &blobs {
            archive.file(&format!("blobs/sha256/{digest}"), 0o644, blob)?;
        }
        archive.file("index.json", 0o644, &serde_json::to_vec(&index)?)?;
        archive.file("oci-layout", 0o644, br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        archive.finish()
    }

    /// Nothing but what the program needs.
    fn layer(&self) -> Result<Vec<u8>> {
        let binary = fs::read(self.binary).with_context(|| format!("reading {}", self.binary.display()))?;
        ensure!(is_static(&binary), "{} is not a static binary", self.binary.display());
        let mut layer = Archive::new(self.epoch);
        for folder in ["etc/", "etc/ssl/", "etc/ssl/certs/"] {
            layer.folder(folder)?;
        }
        layer.file(ROOTS, 0o644, roots().as_bytes())?;
        for folder in ["usr/", "usr/bin/"] {
            layer.folder(folder)?;
        }
        layer.file("usr/bin/zonekeeper", 0o755, &binary)?;
        for folder in ["usr/share/", "usr/share/zonekeeper/"] {
            layer.folder(folder)?;
        }
        layer.file("usr/share/zonekeeper/LICENSE", 0o644, self.license.as_bytes())?;
        layer.file("usr/share/zonekeeper/sbom.cdx.json", 0o644, self.sbom.as_bytes())?;
        layer.finish()
    }

    fn config(&self, layer: &[u8]) -> Result<Value> {
        Ok(json!({
            "created": self.created()?,
            "architecture": self.architecture,
            "os": "linux",
            "config": {
                "User": USER,
                "ExposedPorts": {"8080/tcp": {}},
                "Env": [format!("SSL_CERT_FILE=/{ROOTS}")],
                "Entrypoint": ["/usr/bin/zonekeeper"],
                "WorkingDir": "/",
                "Labels": self.labels()?,
            },
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", sha256(layer))]},
            "history": [{"created": self.created()?, "created_by": "xtask image"}],
        }))
    }

    fn labels(&self) -> Result<Value> {
        let mut labels = json!({
            "org.opencontainers.image.title": "zonekeeper",
            "org.opencontainers.image.description": "Declarative DNS for Kubernetes",
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.version": self.version,
            "org.opencontainers.image.created": self.created()?,
        });
        if !self.revision.is_empty() {
            labels["org.opencontainers.image.revision"] = self.revision.into();
        }
        Ok(labels)
    }

    fn created(&self) -> Result<String> {
        Ok(Timestamp::from_second(i64::try_from(self.epoch)?)?.to_string())
    }
}

fn descriptor(kind: &str, blob: &[u8]) -> Value {
    json!({"mediaType": format!("{TYPE}.{kind}"), "digest": format!("sha256:{}", sha256(blob)), "size": blob.len()})
}

/// Whether an ELF file needs no loader: it has no PT_INTERP. The image has no libraries.
fn is_static(elf: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    let number = |at: usize, length: usize| -> Option<u64> {
        let bytes = elf.get(at..at + length)?;
        Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    // 64 bits, little-endian.
    if elf.get(..6) != Some(b"\x7fELF\x02\x01") {
        return false;
    }
    let (Some(table), Some(size), Some(count)) = (number(32, 8), number(54, 2), number(56, 2)) else {
        return false;
    };
    (0..count).all(|index| {
        let at = usize::try_from(table + index * size).unwrap_or(usize::MAX - 8);
        number(at, 4).is_some_and(|kind| kind != u64::from(INTERPRETER))
    })
}

/// Where an image of this architecture lies in a folder.
pub fn path(folder: &Path, version: &str, architecture: &str) -> PathBuf {
    folder.join(format!("zonekeeper-{version}-linux-{architecture}.oci.tar"))
}

#[cfg(test)]
pub mod tests {
    use std::io::Read;

    use super::*;

    /// An ELF header with one segment of this kind.
    pub fn elf(segment: u8) -> Vec<u8> {
        let mut elf = b"\x7fELF\x02\x01".to_vec();
        elf.resize(64 + 56, 0);
        (elf[32], elf[54], elf[56], elf[64]) = (64, 56, 1, segment);
        elf
    }

    fn image(binary: &Path) -> Image<'_> {
        Image {
            binary,
            architecture: "amd64",
            version: "1.2.3",
            revision: "abc",
            epoch: 1_700_000_000,
            sbom: "{}",
            license: "text",
        }
    }

    fn built(elf: &[u8]) -> Result<Vec<u8>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), elf).unwrap();
        image(file.path()).archive()
    }

    fn entries(bytes: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
        let mut archive = tar::Archive::new(bytes);
        let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
            let mut entry = entry.unwrap();
            assert_eq!(entry.header().mtime().unwrap(), 1_700_000_000);
            assert_eq!(entry.header().uid().unwrap(), 0);
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            let path = entry.path().unwrap().to_str().unwrap().to_owned();
            (path, (entry.header().mode().unwrap(), content))
        };
        archive.entries().unwrap().map(read).collect()
    }

    fn blob(archive: &BTreeMap<String, (u32, Vec<u8>)>, descriptor: &Value) -> Vec<u8> {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let content = archive[&format!("blobs/sha256/{digest}")].1.clone();
        assert_eq!(sha256(&content), digest);
        assert_eq!(descriptor["size"], content.len());
        content
    }

    #[test]
    fn the_same_binary_makes_the_same_bytes_and_another_one_others() {
        let first = built(&elf(1)).unwrap();
        assert!(first == built(&elf(1)).unwrap());
        assert!(first != built(&elf(2)).unwrap());
    }

    #[test]
    fn every_digest_leads_to_its_blob_and_the_layer_has_what_is_needed() {
        let archive = entries(&built(&elf(1)).unwrap());
        let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        assert_eq!(read(&archive["oci-layout"].1)["imageLayoutVersion"], "1.0.0");
        let index = read(&archive["index.json"].1);
        assert_eq!(index["manifests"][0]["platform"], json!({"os": "linux", "architecture": "amd64"}));
        let manifest = read(&blob(&archive, &index["manifests"][0]));
        let config = read(&blob(&archive, &manifest["config"]));
        assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
        let mut layer = Vec::new();
        flate2::read::GzDecoder::new(&*blob(&archive, &manifest["layers"][0]))
            .read_to_end(&mut layer)
            .unwrap();
        assert_eq!(config["rootfs"]["diff_ids"], json!([format!("sha256:{}", sha256(&layer))]));
        assert_eq!(config["config"]["User"], "65532:65532");
        assert_eq!(config["config"]["Labels"]["org.opencontainers.image.version"], "1.2.3");
        assert_eq!(config["created"], "2023-11-14T22:13:20Z");
        let layer = entries(&layer);
        assert_eq!(layer["usr/bin/zonekeeper"], (0o755, elf(1)));
        let roots = String::from_utf8(layer[ROOTS].1.clone()).unwrap();
        assert_eq!(config["config"]["Env"], json!([format!("SSL_CERT_FILE=/{ROOTS}")]));
        assert!(roots.matches("-----BEGIN CERTIFICATE-----\n").count() > 100);
        assert!(layer.contains_key("usr/share/zonekeeper/sbom.cdx.json"));
    }

    #[test]
    fn a_binary_that_needs_a_loader_is_refused() {
        assert!(built(&elf(3)).unwrap_err().to_string().ends_with("is not a static binary"));
        assert!(built(b"#!/bin/sh").is_err());
    }
}
