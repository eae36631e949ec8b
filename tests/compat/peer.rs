//! ExternalDNS itself, as a process.

use std::{
    fs::{self, OpenOptions},
    path::PathBuf,
    process::Stdio,
    time::Duration,
};

use control_plane::eventually;
use tokio::process::{Child, Command};
use zonekeeper_tests::cluster::operator::log_of;

use crate::place::Place;

/// One look at everything takes seconds; only a failing test waits that long.
const DEADLINE: Duration = Duration::from_secs(90);

/// ExternalDNS on a zone.
pub struct ExternalDns {
    flags: Vec<String>,
    base_url: String,
    token: String,
    log: PathBuf,
}

// === impl ExternalDns ===

impl ExternalDns {
    /// With these sources, as this owner; `name` is that of its log.
    pub fn new(name: &str, place: &Place, kubeconfig: PathBuf, owner: &str, sources: &[&str]) -> Self {
        let fixed = [
            "--provider=cloudflare",
            "--registry=txt",
            "--policy=sync",
            "--cloudflare-dns-records-per-page=5000",
            "--metrics-address=127.0.0.1:0",
            "--kube-api-qps=1000",
            "--kube-api-burst=1000",
        ];
        let mut flags: Vec<String> = fixed.iter().map(ToString::to_string).collect();
        flags.push(format!("--kubeconfig={}", kubeconfig.display()));
        flags.push(format!("--txt-owner-id={owner}"));
        flags.push(format!("--domain-filter={}", place.domain));
        flags.extend(sources.iter().map(|source| format!("--source={source}")));
        let log = log_of(&format!("external-dns-{name}"));
        Self { flags, base_url: place.sim.base_url(), token: place.token.clone(), log }
    }

    /// With more flags.
    pub fn with(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(ToString::to_string));
        self
    }

    /// Makes the zone as the cluster says, once.
    pub async fn once(&self) {
        if let Err(log) = self.attempt().await {
            panic!("ExternalDNS failed: {log}");
        }
    }

    /// The same; where it fails, what it said.
    pub async fn attempt(&self) -> Result<(), String> {
        let mut child = self.spawn(&["--once"]);
        let ended = tokio::time::timeout(DEADLINE, child.wait()).await;
        match ended.expect("ExternalDNS ends in time").expect("it can be waited for").success() {
            true => Ok(()),
            false => Err(self.last_words()),
        }
    }

    /// Runs until the child is dropped, and looks every second.
    pub fn run(&self) -> Child {
        self.spawn(&["--interval=1s", "--events", "--min-event-sync-interval=1s"])
    }

    /// Waits until it has said this.
    pub async fn says(&self, words: &str) {
        eventually(&format!("ExternalDNS says {words:?}"), DEADLINE, async || {
            let log = fs::read_to_string(&self.log).expect("a log");
            if log.contains(words) { Ok(()) } else { Err(self.last_words()) }
        })
        .await;
    }

    fn spawn(&self, more: &[&str]) -> Child {
        let program = control_plane::program("external-dns").expect("make tools has built it");
        let log = OpenOptions::new().create(true).append(true).open(&self.log).expect("a log");
        Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .args(&self.flags)
            .args(more)
            .env("CLOUDFLARE_BASE_URL", &self.base_url)
            .env("CF_API_TOKEN", &self.token)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .expect("ExternalDNS starts")
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(15).collect();
        last.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}
