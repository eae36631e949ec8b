//! What is released for one architecture: the image, the binary and the list of what is inside.

use std::{env, fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    image::{self, Archive, Image},
    sbom,
};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const SUMS: &str = "SHA256SUMS";

/// Writes the files of one target into a folder, from its binary.
pub fn build(root: &Path, target: &str, binary: &Path, folder: &Path) -> Result<()> {
    let architecture = match target.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        _ => bail!("{target}: there are images for x86_64 and aarch64"),
    };
    let license = fs::read_to_string(root.join("LICENSE")).context("reading LICENSE")?;
    let sbom = sbom::of(root, target)?;
    let (revision, epoch) = commit(root);
    let image = Image {
        binary,
        architecture,
        version: VERSION,
        revision: &revision,
        epoch,
        sbom: &sbom,
        license: &license,
    };
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let name = format!("zonekeeper-{VERSION}-linux-{architecture}");
    put(&image::path(folder, VERSION, architecture), &image.archive()?)?;
    put(&folder.join(format!("{name}.cdx.json")), sbom.as_bytes())?;
    let mut archive = Archive::new(epoch);
    let program = fs::read(binary).with_context(|| format!("reading {}", binary.display()))?;
    archive.file(&format!("{name}/zonekeeper"), 0o755, &program)?;
    archive.file(&format!("{name}/LICENSE"), 0o644, license.as_bytes())?;
    put(&folder.join(format!("{name}.tar.gz")), &image::gzip(&archive.finish()?)?)
}

/// Writes the sums of all files in a folder, in the format of `sha256sum --check`.
pub fn sums(folder: &Path) -> Result<()> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != SUMS && entry.file_type()?.is_file() {
            lines.push((name, image::sha256(&fs::read(entry.path())?)));
        }
    }
    lines.sort();
    let text: String = lines.into_iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    put(&folder.join(SUMS), text.as_bytes())
}

fn put(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| format!("writing {}", path.display()))?;
    println!("{} ({:.1} MB)", path.display(), content.len() as f64 / 1e6);
    Ok(())
}

/// The commit and its time; SOURCE_DATE_EPOCH goes first, and outside a repository there is neither.
fn commit(root: &Path) -> (String, u64) {
    let said = Command::new("git").args(["log", "-1", "--format=%H %ct"]).current_dir(root).output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let (revision, time) = said.trim().split_once(' ').unwrap_or_default();
    let set = env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| time.to_owned());
    (revision.to_owned(), set.parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_sorted_and_leave_themselves_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "").unwrap();
        fs::write(folder.path().join("a"), "abc").unwrap();
        sums(folder.path()).unwrap();
        sums(folder.path()).unwrap();
        assert_eq!(
            fs::read_to_string(folder.path().join(SUMS)).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n\
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
        );
    }

    #[test]
    fn the_same_binary_makes_the_same_files() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for folder in [&first, &second] {
            // Where the binary lies, and how old it is, must not show.
            let binary = folder.path().join("binary");
            fs::write(&binary, image::tests::elf(1)).unwrap();
            build(&root, "x86_64-unknown-linux-musl", &binary, folder.path()).unwrap();
            sums(folder.path()).unwrap();
        }
        let sums = fs::read_to_string(first.path().join(SUMS)).unwrap();
        assert_eq!(sums.lines().count(), 4, "{sums}");
        assert_eq!(sums, fs::read_to_string(second.path().join(SUMS)).unwrap());
    }

    #[test]
    fn other_architectures_are_refused() {
        let error = build(Path::new("."), "riscv64gc-unknown-linux-musl", Path::new("x"), Path::new("y"));
        assert!(error.unwrap_err().to_string().starts_with("riscv64gc-unknown-linux-musl:"));
    }
}
