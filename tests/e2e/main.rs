//! The chart on a real node: etcd, an API server, its controllers, a kubelet and containerd run in namespaces of their own, the image
//! is imported, and Helm installs, upgrades and removes it.
//!
//! Without root or a tool it runs nothing, and says so in a line that begins with `left out:`, which `make test` repeats at its end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod image;
mod isolation;
mod node;
mod scenarios;
mod site;

use std::{
    env, fs,
    future::Future,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    pin::Pin,
    process::ExitCode,
    time::Instant,
};

use crate::site::Site;

type Scenario = (&'static str, for<'a> fn(&'a Site) -> Pin<Box<dyn Future<Output = ()> + 'a>>);

/// In this order: each begins with the release and the records that the one before has left.
const SCENARIOS: [Scenario; 7] = [
    ("the_smallest_setup_becomes_ready_under_restricted_pod_security", |site| {
        Box::pin(scenarios::smallest_setup(site))
    }),
    ("a_killed_leader_is_replaced_and_no_record_is_written_twice", |site| {
        Box::pin(scenarios::killed_leader(site))
    }),
    ("an_upgrade_rolls_while_records_change_and_none_is_missed", |site| {
        Box::pin(scenarios::rolling_upgrade(site))
    }),
    ("a_drain_leaves_one_replica_until_another_is_ready", |site| Box::pin(scenarios::drained_node(site))),
    ("an_uninstall_before_the_objects_ends_and_loses_no_record", |site| {
        Box::pin(scenarios::early_uninstall(site))
    }),
    ("the_same_release_again_goes_on_with_what_stayed", |site| Box::pin(scenarios::installed_again(site))),
    ("an_uninstall_in_the_documented_order_removes_everything", |site| {
        Box::pin(scenarios::documented_uninstall(site))
    }),
];

fn main() -> ExitCode {
    if env::args().any(|argument| argument == "--list") {
        SCENARIOS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    // A filter that names none of ours, as in `cargo test some_name`, is meant for other tests.
    let filters: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_meant = |(name, _): &Scenario| filters.iter().any(|filter| name.contains(filter.as_str()));
    if !filters.is_empty() && !SCENARIOS.iter().any(is_meant) {
        println!("\ntest result: ok. 0 passed; 0 failed; {} filtered out", SCENARIOS.len());
        return ExitCode::SUCCESS;
    }
    if isolation::is_inside() {
        return run();
    }
    if let Err(reason) = isolation::is_possible() {
        SCENARIOS.iter().for_each(|(name, _)| println!("test {name} ... ignored, {reason}"));
        println!("left out: tests/e2e, {} tests on a real node: {reason}", SCENARIOS.len());
        println!("\ntest result: ok. 0 passed; 0 failed; {} ignored", SCENARIOS.len());
        return ExitCode::SUCCESS;
    }
    // Built before, as it is outside.
    let image = image::operator();
    isolation::enter(image.path())
}

/// One after the other, up to the first that fails: the others need what it leaves.
fn run() -> ExitCode {
    println!("\nrunning {} tests", SCENARIOS.len());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let start = Instant::now();
    let site = catch_unwind(AssertUnwindSafe(|| runtime.block_on(Site::start())));
    let Ok(site) = site else {
        let folder = keep_logs();
        println!("test node ... FAILED\nlogs are in {}", folder.display());
        println!("\ntest result: FAILED. 0 passed; 1 failed");
        return ExitCode::FAILURE;
    };
    println!("the node is ready after {:.1} s", start.elapsed().as_secs_f32());
    let mut passed = 0;
    for (name, scenario) in SCENARIOS {
        let start = Instant::now();
        print!("test {name} ... ");
        let _ = std::io::stdout().flush();
        if catch_unwind(AssertUnwindSafe(|| runtime.block_on(scenario(&site)))).is_err() {
            runtime.block_on(site.describe());
            let folder = keep_logs();
            println!("FAILED\nlogs and objects are in {}", folder.display());
            let skipped = SCENARIOS.len() - passed - 1;
            println!("\ntest result: FAILED. {passed} passed; 1 failed; {skipped} ignored");
            return ExitCode::FAILURE;
        }
        passed += 1;
        println!("ok ({:.1} s)", start.elapsed().as_secs_f32());
    }
    println!(
        "\ntest result: ok. {passed} passed; 0 failed; finished in {:.1}s",
        start.elapsed().as_secs_f32()
    );
    ExitCode::SUCCESS
}

/// Copies the logs to where they outlive the node.
fn keep_logs() -> PathBuf {
    let target = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let folder = env::var_os("CARGO_TARGET_DIR").map_or_else(target, PathBuf::from).join("e2e");
    fs::create_dir_all(&folder).unwrap();
    for file in fs::read_dir(node::FOLDER).into_iter().flatten().flatten() {
        if file.path().extension().is_some_and(|extension| extension == "log") {
            let _ = fs::copy(file.path(), folder.join(file.file_name()));
        }
    }
    folder
}
