//! Every parser of outside bytes, given mutations of a kept corpus.
//!
//! Deterministic: a target's cases follow from its name and their number. `FUZZ_SECONDS` (`make fuzz`) runs each target
//! that long with a new seed, which is printed. A case that breaks a promise is kept in the target folder and named; one
//! that aborts the process (a stack overflow) is the last that was written there.

#![allow(clippy::panic, reason = "a test that can't go on says why")]

mod mutate;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc,
    time::{Duration, Instant},
};

use mutate::Mutator;
use zonekeeper_tests::fuzz::TARGETS;

/// As much as a thread of tokio's has.
const STACK: usize = 2 << 20;
/// No case may take longer; most take microseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// In `make test`, per target.
const TIME: Duration = Duration::from_millis(1500);
const CASES: u64 = 2000;

macro_rules! targets {
    ($($test:ident $name:literal)*) => {
        $(#[test] fn $test() { run($name); })*
        const TESTED: &[&str] = &[$($name),*];
    };
}

targets! {
    answers_of_address_services "address-answer"
    annotations_of_source_objects "annotations"
    answers_of_cloudflare "cloudflare"
    messages_to_the_builtin_server "dns-message"
    manifests_of_a_folder "manifests"
    markers_of_all_forms "markers"
    templates_for_names "template"
    signatures_of_answers "tsig"
    zone_transfers "zone-transfer"
}

#[test]
fn every_target_is_run_and_has_a_corpus() {
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, TESTED);
    for name in names {
        assert!(corpus(name).len() >= 2, "{name} needs examples");
    }
}

fn run(name: &str) {
    let (_, target) = *TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
    let longer: Option<u64> = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let seed = match longer {
        Some(_) => std::process::id().into(),
        None => 0,
    };
    let corpus = corpus(name);
    let last = folder().join(format!("{name}.last"));
    let begun = Instant::now();
    let time = longer.map_or(TIME, Duration::from_secs);
    let most = if longer.is_some() { u64::MAX } else { CASES };
    let (sender, cases) = mpsc::sync_channel::<Vec<u8>>(0);
    let (done, answers) = mpsc::channel();
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        for case in cases {
            let result = std::panic::catch_unwind(|| target(&case));
            let message = result.map_err(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
            });
            if done.send(message).is_err() {
                return;
            }
        }
    });
    let worker = worker.expect("a thread");
    let mut count = 0;
    for number in 0..most {
        // The corpus itself goes first, all of it, however slow the machine is.
        let case = match corpus.get(number as usize) {
            Some(kept) => kept.clone(),
            None if begun.elapsed() > time => break,
            None => Mutator::new(name, seed, number).mutate(&corpus),
        };
        fs::write(&last, &case).expect("a file");
        sender.send(case).expect("a worker");
        match answers.recv_timeout(PATIENCE) {
            Ok(Ok(())) => count += 1,
            Ok(Err(message)) => {
                panic!("{name}, case {number} of seed {seed}, kept in {}: {message}", last.display())
            }
            Err(_) => {
                panic!("{name}, case {number} of seed {seed}, kept in {}: takes too long", last.display())
            }
        }
    }
    drop(sender);
    worker.join().expect("it ended");
    println!("{name}: {count} cases, seed {seed}");
    assert!(count >= corpus.len() as u64);
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let files = fs::read_dir(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("a file")).collect()
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}
