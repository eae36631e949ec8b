//! Writes what is generated from the code: `gen` writes it, `check` says what differs.

mod generated;
mod reference;
mod rights;

use std::{env, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};

const USAGE: &str = "usage: cargo run -p xtask -- gen | check";

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
                eprintln!("{} is not what the code says; run `cargo run -p xtask -- gen`", path.display());
            }
            Ok(if differing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
        let differing = generated::differing(&root().unwrap()).unwrap();
        assert!(differing.is_empty(), "run `cargo run -p xtask -- gen`: {differing:?}");
    }
}
