//! `zonekeeper up` in the background, and `dig` to ask what it serves.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
};
use zonekeeper_tests::canary;

use super::binary::Call;

/// How long anything may take to come true.
const DEADLINE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Killed when it is dropped.
pub struct Up {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Up {
    pub fn start(call: &Call) -> Self {
        let mut child = call.command().spawn().expect("the binary runs");
        let said = Arc::new(Mutex::new(String::new()));
        collect(child.stdout.take().expect("piped"), &said);
        collect(child.stderr.take().expect("piped"), &said);
        Self { child, said }
    }

    /// Everything said so far, on both streams.
    pub fn said(&self) -> String {
        let said = self.said.lock().expect("no panic").clone();
        canary::assert_hidden("the output", &said);
        said
    }

    /// Waits until it says something.
    pub async fn says(&self, text: &str) {
        until(&format!("{text:?} is said"), || self.said(), async || self.said().contains(text)).await;
    }

    /// Where it answers, once it does.
    pub async fn address(&self) -> SocketAddr {
        self.says("answering on ").await;
        let said = self.said();
        let (_, rest) = said.split_once("answering on ").expect("just said");
        rest.split(';').next().expect("an address").parse().expect("an address")
    }

    /// Waits until a name has exactly these answers; returns how long that took.
    pub async fn answers(&self, name: &str, rtype: &str, values: &[&str]) -> Duration {
        let server = self.address().await;
        let begun = Instant::now();
        let found = async || dig(server, name, rtype).await == values;
        until(&format!("{name} {rtype} is {values:?}"), || self.said(), found).await;
        begun.elapsed()
    }

    /// Ends it as a service manager would, and returns its exit code.
    pub async fn terminate(mut self) -> Option<i32> {
        let id = self.child.id().expect("still running").to_string();
        Command::new("kill").args(["-TERM", &id]).status().await.expect("kill runs");
        self.exit_code().await
    }

    pub async fn exit_code(&mut self) -> Option<i32> {
        let ended = tokio::time::timeout(DEADLINE, self.child.wait()).await;
        ended
            .unwrap_or_else(|_| panic!("still running:\n{}", self.said()))
            .expect("it can be waited for")
            .code()
    }
}

/// An address whose port is not in use, and is not given to clients either.
pub fn free_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, dns_servers::free_port().expect("a free port")).into()
}

/// What a server answers, sorted.
pub async fn dig(server: SocketAddr, name: &str, rtype: &str) -> Vec<String> {
    let (at, port) = (format!("@{}", server.ip()), server.port().to_string());
    let arguments = [&at, "-p", &port, "+short", "+time=1", "+tries=1", "+norecurse", name, rtype];
    let output = Command::new("dig").args(arguments).output().await.expect("dig is installed");
    let mut values: Vec<String> =
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    values.sort();
    values
}

/// Waits until something is true; `context` explains if it never is.
pub async fn until(what: &str, context: impl Fn() -> String, is_true: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !is_true().await {
        assert!(begun.elapsed() < DEADLINE, "not within {DEADLINE:?}: {what}\n{}", context());
        tokio::time::sleep(PAUSE).await;
    }
}

fn collect(stream: impl AsyncRead + Unpin + Send + 'static, said: &Arc<Mutex<String>>) {
    let said = said.clone();
    tokio::spawn(async move {
        let mut lines = BufReader::new(stream).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let mut said = said.lock().expect("no panic");
            said.push_str(&line);
            said.push('\n');
        }
    });
}
