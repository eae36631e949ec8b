//! Writes what is generated from the code: `gen` writes it, `check` says what differs. Builds what is released: `dist`, `sums`.
//! Runs all tests: `test`.

mod chart;
mod dist;
mod generated;
mod image;
mod reference;
mod render;
mod rights;
mod sbom;
mod schemas;
mod suite;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};

const USAGE: &str =
    "usage: cargo run -p xtask -- gen | check | test | dist TARGET BINARY FOLDER | sums FOLDER";

fn main() -> Result<ExitCode> {
    let root = root()?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["gen"] => {
            for path in generated::write(&root)? {
                println!("wrote {}", path.display());
            }
            Ok(ExitCode::SUCCESS)
        }
        ["check"] => {
            let differing = generated::differing(&root)?;
            for path in &differing {
                eprintln!("{} is not what the code says; run `make gen`", path.display());
            }
            Ok(if differing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        ["test"] => suite::run(&root),
        ["dist", target, binary, folder] => {
            dist::build(&root, target, Path::new(binary), Path::new(folder))?;
            Ok(ExitCode::SUCCESS)
        }
        ["sums", folder] => {
            dist::sums(Path::new(folder))?;
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprintln!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}

/// The repository, from this package's own place in it.
fn root() -> Result<PathBuf> {
    let package = env::var_os("CARGO_MANIFEST_DIR").context("run this through cargo")?;
    Ok(PathBuf::from(package).join(".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_what_the_code_says() {
        let differing = generated::differing_from_code(&root().unwrap()).unwrap();
        assert!(differing.is_empty(), "run `make gen`: {differing:?}");
    }
}
