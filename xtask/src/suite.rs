//! All test programs, several at once, the slowest first; what passes takes one line, what fails is printed whole.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A program that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
const LOOK: Duration = Duration::from_millis(100);
/// Programs that run at once, if `TEST_JOBS` says nothing. Most of them wait: for a server, for a window, for a process.
const AT_ONCE: usize = 2;

/// A test program.
struct Program {
    /// The package, and the target if that is another word: `zonekeeper-tests cli`.
    name: String,
    path: PathBuf,
    /// The package's folder.
    folder: PathBuf,
}

/// What became of a program.
struct Run {
    name: String,
    has_passed: bool,
    output: String,
    took: Duration,
}

/// How long each program took the last time.
struct Times {
    by_name: BTreeMap<String, Duration>,
}

/// How many tests passed and failed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    passed: usize,
    failed: usize,
}

/// Builds and runs all tests of the workspace; the last line counts them.
pub fn run(root: &Path) -> Result<ExitCode> {
    let mut programs = build(root)?;
    let binary = build_binary(root)?;
    let times = Times::read();
    programs.sort_by_key(|program| std::cmp::Reverse(times.of(&program.name)));
    let (mut count, mut took, mut left_out, mut failed) =
        (Count::default(), BTreeMap::new(), Vec::new(), Vec::new());
    for run in at_once(programs, &binary) {
        let of_program = Count::of(&run.output);
        count.add(&of_program, run.has_passed);
        let seconds = run.took.as_secs_f32();
        println!("{}: {} passed, {} failed ({seconds:.1} s)", run.name, of_program.passed, of_program.failed);
        if !run.has_passed {
            println!("{}", run.output);
            failed.push(run.name.clone());
        }
        left_out.extend(run.output.lines().filter(|line| line.starts_with("left out:")).map(str::to_owned));
        took.insert(run.name, run.took);
    }
    Times::write(&took);
    let documented = document_tests(root)?;
    count.add(&Count::of(&documented.output), documented.has_passed);
    if !documented.has_passed {
        println!("{}", documented.output);
        failed.push(documented.name);
    }
    left_out.iter().for_each(|line| println!("{line}"));
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    println!("{} passed, {} failed", count.passed, count.failed);
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the tests, and says which programs they are.
fn build(root: &Path) -> Result<Vec<Program>> {
    let arguments = ["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
    let built =
        cargo(root).args(arguments).stderr(Stdio::inherit()).output().context("cargo test --no-run")?;
    ensure!(built.status.success(), "the tests do not build");
    let messages = String::from_utf8(built.stdout).context("cargo's messages")?;
    Ok(messages.lines().filter_map(|line| program(&serde_json::from_str(line).ok()?)).collect())
}

fn program(message: &Value) -> Option<Program> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let path = PathBuf::from(message["executable"].as_str().filter(|_| is_test)?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_string_lossy();
    let target = message["target"]["name"].as_str()?;
    Some(Program { name: format!("{package} {target}"), path, folder })
}

/// The binary that many tests run, so that none of them has to wait for its build.
fn build_binary(root: &Path) -> Result<PathBuf> {
    let arguments =
        ["build", "--workspace", "--bin", "zonekeeper", "--message-format=json-render-diagnostics"];
    let built = cargo(root).args(arguments).stderr(Stdio::inherit()).output().context("cargo build")?;
    ensure!(built.status.success(), "zonekeeper does not build");
    let messages = String::from_utf8(built.stdout).context("cargo's messages")?;
    let mut paths = messages.lines().rev().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    paths.next().context("cargo names no binary")
}

/// Runs programs beside each other; their results come as they end.
fn at_once(programs: Vec<Program>, binary: &Path) -> impl Iterator<Item = Run> {
    let jobs = env::var("TEST_JOBS").ok().and_then(|text| text.parse().ok()).unwrap_or(AT_ONCE).max(1);
    let (sender, receiver) = mpsc::channel();
    let waiting = std::sync::Arc::new(Mutex::new(programs.into_iter()));
    for _ in 0..jobs {
        let (waiting, sender, binary) = (waiting.clone(), sender.clone(), binary.to_owned());
        thread::spawn(move || {
            let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(program) = next() {
                // The receiver ends with the program.
                let _ = sender.send(run_program(&program, &binary));
            }
        });
    }
    receiver.into_iter()
}

fn run_program(program: &Program, binary: &Path) -> Run {
    let begun = Instant::now();
    let ended = output_of(program, binary);
    let (has_passed, output) = match ended {
        Ok(ended) => ended,
        Err(error) => (false, format!("{}: {error:#}", program.path.display())),
    };
    Run { name: program.name.clone(), has_passed, output, took: begun.elapsed() }
}

/// Whether a program passed, and what it printed on both streams.
fn output_of(program: &Program, binary: &Path) -> Result<(bool, String)> {
    let log = tempfile::NamedTempFile::new().context("a file for its output")?;
    let stream = fs::OpenOptions::new().append(true).open(log.path())?;
    let mut child = Command::new(&program.path)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("ZONEKEEPER_BINARY", binary)
        .stdin(Stdio::null())
        .stdout(stream.try_clone()?)
        .stderr(stream)
        .spawn()?;
    let latest = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if Instant::now() >= latest {
            child.kill()?;
            child.wait()?;
            break None;
        }
        thread::sleep(LOOK);
    };
    let mut output = String::from_utf8_lossy(&fs::read(log.path())?).into_owned();
    if status.is_none() {
        output.push_str(&format!("\nended after {} minutes\n", PATIENCE.as_secs() / 60));
    }
    Ok((status.is_some_and(|status| status.success()), output))
}

fn document_tests(root: &Path) -> Result<Run> {
    let begun = Instant::now();
    let ended =
        cargo(root).args(["test", "--workspace", "--doc", "--quiet"]).output().context("cargo test --doc")?;
    let output =
        [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Ok(Run {
        name: "examples in comments".into(),
        has_passed: ended.status.success(),
        output,
        took: begun.elapsed(),
    })
}

/// Cargo as a person would call it. What it tells the programs that it runs would be news to a build script that asks for
/// it (2026-11: ring's), and all that depends on that would be built once more.
fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| is_told_to_programs(name)) {
        command.env_remove(name);
    }
    command
}

fn is_told_to_programs(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"]
        .iter()
        .any(|prefix| variable.starts_with(prefix))
}

// === impl Count ===

impl Count {
    /// What a program says of its tests; one may run several times.
    fn of(output: &str) -> Self {
        let mut count = Self::default();
        for line in output.lines().filter(|line| line.starts_with("test result:")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            for pair in words.windows(2) {
                let number = pair[0].parse().unwrap_or(0);
                match pair[1].trim_end_matches(';') {
                    "passed" => count.passed += number,
                    "failed" => count.failed += number,
                    _other => {}
                }
            }
        }
        count
    }

    /// Adds those of a program; one that failed without a word of its tests counts as one that failed.
    fn add(&mut self, other: &Self, has_passed: bool) {
        self.passed += other.passed;
        self.failed += if has_passed { other.failed } else { other.failed.max(1) };
    }
}

// === impl Times ===

impl Times {
    fn read() -> Self {
        let text = Self::file().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        let time = |line: &str| {
            let (millis, name) = line.split_once(' ')?;
            Some((name.to_owned(), Duration::from_millis(millis.parse().ok()?)))
        };
        Self { by_name: text.lines().filter_map(time).collect() }
    }

    /// A program that never ran comes first: it may be the slowest.
    fn of(&self, name: &str) -> Duration {
        self.by_name.get(name).copied().unwrap_or(Duration::MAX)
    }

    /// Remembers them beside the tools; without that the order is another one, no more.
    fn write(took: &BTreeMap<String, Duration>) {
        let lines: Vec<String> =
            took.iter().map(|(name, took)| format!("{} {name}\n", took.as_millis())).collect();
        if let Some(file) = Self::file() {
            let _ = fs::write(file, lines.concat());
        }
    }

    fn file() -> Option<PathBuf> {
        let cache = env::var_os("ZONEKEEPER_CACHE").map(PathBuf::from).or_else(|| {
            let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            Some(
                caches
                    .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))?
                    .join("zonekeeper"),
            )
        });
        cache.map(|cache| cache.join("test-times"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_counted_over_all_lines() {
        let output = "running 3 tests\ntest a ... ok\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n\
            test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        assert_eq!(Count::of(output), Count { passed: 7, failed: 2 });
    }

    #[test]
    fn a_program_that_ends_without_a_word_counts_as_failed() {
        let mut count = Count::default();
        count.add(&Count::of("thread main panicked"), false);
        assert_eq!(count, Count { passed: 0, failed: 1 });
    }

    #[test]
    fn programs_are_those_that_cargo_built_for_tests() {
        let artifact = |test: bool, executable: Value| {
            json!({
                "reason": "compiler-artifact", "manifest_path": "/src/tests/Cargo.toml", "executable": executable,
                "target": {"name": "cli"}, "profile": {"test": test},
            })
        };
        let found = program(&artifact(true, json!("/target/debug/deps/cli-1"))).expect("a program");
        assert_eq!((found.name.as_str(), found.folder.as_path()), ("tests cli", Path::new("/src/tests")));
        assert!(program(&artifact(false, json!("/target/debug/zonekeeper"))).is_none());
        assert!(program(&artifact(true, Value::Null)).is_none());
    }
}
