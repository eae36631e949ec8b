//! It starts, and nothing of it stays.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use control_plane::{ControlPlane, DEADLINE, Options, User, eventually};

#[tokio::test]
async fn it_is_ready_and_has_the_pinned_version() {
    let plane = ControlPlane::shared().await;
    let version = plane.client().apiserver_version().await.unwrap();
    assert!(
        version.git_version.starts_with(&format!("v{}.{}.", version.major, version.minor)),
        "{version:?}"
    );
    if env::var_os("KUBEBUILDER_ASSETS").is_none() {
        assert_eq!(version.git_version, ControlPlane::version());
    }
}

#[tokio::test]
async fn nothing_outlives_its_drop() {
    let plane = ControlPlane::start(Options { controller_manager: true }).await.unwrap();
    let kubeconfig = plane.kubeconfig(&User::admin()).unwrap();
    let folder = kubeconfig.parent().unwrap();
    // A process has no command line in the instant in which setpriv becomes it.
    eventually("three processes and the shell", DEADLINE, async || match running(folder) {
        processes if processes.len() == 4 => Ok(()),
        others => Err(others),
    })
    .await;
    drop(plane);
    assert_eq!(running(folder), Vec::<String>::new());
    assert!(!folder.exists());
}

#[tokio::test]
async fn nothing_outlives_a_killed_test_process() {
    let mut program =
        Command::new(env!("CARGO_BIN_EXE_control-plane")).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let folder = Path::new(line.trim()).parent().unwrap();
    assert!(!running(folder).is_empty());
    program.kill().unwrap();
    program.wait().unwrap();
    eventually("no process and no folder", DEADLINE, async || match (running(folder), folder.exists()) {
        (processes, false) if processes.is_empty() => Ok(()),
        seen => Err(seen),
    })
    .await;
}

/// Command lines that name the folder; those of processes that have ended are empty.
fn running(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok())
        .map(|words| words.replace('\0', " "))
        .filter(|words| words.contains(folder))
        .collect()
}
