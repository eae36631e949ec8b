//! The operator as a process.

use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};

use crate::binary::binary;
use tokio::process::{Child, Command};

use super::lab::DEADLINE;

/// Ends when this is dropped, and with the thread of its test.
pub struct Operator {
    child: Child,
    port: u16,
}

impl Operator {
    /// Starts `zonekeeper run`; what it prints is added to the log.
    pub fn start(kubeconfig: &Path, arguments: &[String], level: &str, log: &Path) -> Self {
        Self::start_with(kubeconfig, arguments, level, log, &[])
    }

    /// The same in an environment.
    pub fn start_with(
        kubeconfig: &Path,
        arguments: &[String],
        level: &str,
        log: &Path,
        environment: &[(&str, &Path)],
    ) -> Self {
        let port = free_port();
        let has_api = arguments.iter().any(|argument| argument == "--api-listen");
        let file: File = OpenOptions::new().create(true).append(true).open(log).expect("a log");
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(binary())
            .args(["run", "--kubeconfig"])
            .arg(kubeconfig)
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(if has_api { &[][..] } else { &["--api-listen", "127.0.0.1:0"] })
            .args(arguments)
            .env_remove("POD_NAME")
            .env("RUST_LOG", level)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a log"))
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .expect("the operator starts");
        Self { child, port }
    }

    /// Ends it at once.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it runs");
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Sends a signal, such as `STOP`.
    pub fn signal(&self, signal: &str) {
        let sent =
            std::process::Command::new("kill").args([&format!("-{signal}"), &self.id().to_string()]).status();
        assert!(sent.expect("kill runs").success(), "{signal}");
    }

    /// Waits until it has ended by itself, and returns how.
    pub async fn ended(&mut self) -> ExitStatus {
        let ended = tokio::time::timeout(DEADLINE, self.child.wait()).await;
        ended.expect("it ends in time").expect("it can be waited for")
    }

    /// What it serves under a path.
    pub async fn serves(&self, path: &str) -> reqwest::Result<String> {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        reqwest::get(url).await?.error_for_status()?.text().await
    }
}

/// Where a lab's log goes.
pub fn log_of(lab: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let target = test.ancestors().nth(3).expect("target/debug/deps");
    let folder = target.join("tmp/operator");
    fs::create_dir_all(&folder).expect("a folder");
    let log = folder.join(format!("{lab}.log"));
    // What an earlier run left; there may be nothing.
    let _ = fs::remove_file(&log);
    log
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    dns_servers::free_port().expect("a free port")
}
