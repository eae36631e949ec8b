//! `zonekeeper apply`, killed at every message, or with a clock that is wrong: the next run ends as if nothing had been.

use std::process::{Child, Command, Output, Stdio};

use control_plane::{DEADLINE, eventually};
use dns_servers::Software;
use serde_json::json;
use tempfile::TempDir;
use zonekeeper_kernel::record::Record;
use zonekeeper_tests::{
    binary::binary,
    dns::{Fault, Kind, Relay},
    manifest::{Manifest, records, zone},
    stage::{AtServer, Marks},
};

use crate::support::{by_hand, serial, served};

/// A folder that can want one thing or the other: creates, changes, changes of type and deletes, in several messages.
struct Run {
    at: AtServer,
    relay: Relay,
    folder: TempDir,
}

impl Run {
    async fn new() -> Self {
        let at = AtServer::start(Software::Bind);
        by_hand(&at.server, "update add theirs.example.com 60 A 192.0.2.66");
        let relay = Relay::start(at.server.address()).await;
        Self { at, relay, folder: tempfile::tempdir().unwrap() }
    }

    /// Writes what is wanted.
    fn want(&self, is_first: bool) {
        let key = self.at.server.key();
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bind9"},
            "stringData": {"name": key.name, "algorithm": key.algorithm, "secret": key.secret},
        });
        let servers = json!({"servers": [self.relay.address], "tsigSecretRef": {"name": "bind9"}});
        let provider = json!({
            "apiVersion": "zonekeeper.dev/v1alpha1", "kind": "DNSProvider", "metadata": {"name": "bind9"},
            "spec": {"rfc2136": servers, "registry": {"ownerID": "folder"}},
        });
        let text = if is_first { "a" } else { "b" }.repeat(1_500);
        let mut wishes: Vec<Manifest> =
            (0..90).map(|i| records(&format!("text-{i}.example.com"), "TXT", &[&text])).collect();
        wishes.extend(match is_first {
            true => [
                records("www.example.com", "A", &["192.0.2.1"]),
                records("api.example.com", "A", &["192.0.2.1", "192.0.2.2"]),
                records("old.example.com", "A", &["192.0.2.1"]),
            ],
            false => [
                records("www.example.com", "A", &["192.0.2.2"]),
                records("api.example.com", "CNAME", &["www.example.com"]),
                records("new.example.com", "A", &["192.0.2.1"]),
            ],
        });
        let all = [Manifest(secret), Manifest(provider), zone("example.com")].into_iter().chain(wishes);
        let documents: Vec<String> = all.map(|manifest| manifest.0.to_string()).collect();
        std::fs::write(self.folder.path().join("all.yaml"), documents.join("\n---\n")).unwrap();
    }

    fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command.args(["apply", "-f"]).arg(self.folder.path());
        command
    }

    fn apply(&self) {
        let output = self.command().output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }

    async fn contents(&self) -> Vec<Record> {
        self.at.stage(Marks::Txt).await.records().await
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Waits for the message at which it is to be killed, or for its end.
async fn wait(run: &Run, child: &mut Child) {
    eventually("the message, or the end", DEADLINE, async || {
        let is_over = run.relay.is_reached() || child.try_wait().unwrap().is_some();
        if is_over { Ok(()) } else { Err(()) }
    })
    .await;
}

/// Case 63.
#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_message_it_ends_as_if_it_had_not_been() {
    let run = Run::new().await;
    let mut ends = Vec::new();
    for is_first in [true, false, true] {
        run.want(is_first);
        run.apply();
        ends.push(run.contents().await);
    }
    assert!(ends[0] == ends[2], "there and back is the same");
    let mut is_first = true;
    // Before the server has the message, and after it acted on it.
    for held in [Fault::LostRequest, Fault::LostAnswer] {
        let mut updates = 0;
        for number in 0.. {
            is_first = !is_first;
            run.want(is_first);
            let before = run.relay.requests();
            run.relay.fault(number, held);
            let mut child = run.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            wait(&run, &mut child).await;
            // It may have ended by itself, which is the end of the sweep.
            let _ = child.kill();
            child.wait().unwrap();
            let is_reached = run.relay.heal();
            run.apply();
            let label = format!("{held:?} at {number}");
            assert!(run.contents().await == ends[usize::from(!is_first)], "{label}");
            let quiet = serial(&run.at.server);
            run.apply();
            assert_eq!(serial(&run.at.server), quiet, "{label}");
            if !is_reached {
                break;
            }
            updates += usize::from(run.relay.since(before)[number] == Kind::Update);
        }
        assert!(updates >= 3, "killed at {updates} updates: {held:?}");
    }
    assert_eq!(served(&run.at.server, "theirs.example.com", "A"), ["192.0.2.66"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_wrong_changes_nothing_and_is_named() {
    let run = Run::new().await;
    run.want(true);
    run.apply();
    let (before, quiet) = (run.contents().await, serial(&run.at.server));
    run.want(false);
    for (skew, expected) in [("-1000s", "s ahead of ours"), ("+1000s", "s behind ours")] {
        let output = Command::new("faketime")
            .args(["-m", "--exclude-monotonic", "-f", skew])
            .arg(binary())
            .args(["apply", "-f"])
            .arg(run.folder.path())
            .output()
            .expect("faketime is installed");
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(expected), "{}", said(&output));
        assert!(run.contents().await == before && serial(&run.at.server) == quiet);
    }
    run.apply();
    assert_eq!(served(&run.at.server, "www.example.com", "A"), ["192.0.2.2"]);
}
