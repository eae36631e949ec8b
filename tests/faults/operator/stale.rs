//! An operator that sees an old state of the cluster deletes nothing that is still wanted, and ends the same.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cloudflare_sim::EntryKind;
use control_plane::{ControlPlane, Flow, Options, Relay, User, eventually};
use serde_json::Value;

use crate::support::{
    Lab,
    lab::DEADLINE,
    operator::{Operator, log_of},
    plane,
};

const LEVEL: &str = "zonekeeper=debug,info";

fn start(lab: &Lab<'_>, kubeconfig: &Path, log: &Path) -> Operator {
    let arguments = ["--namespace", lab.home.name(), "--controller-name", &lab.controller()];
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    Operator::start(kubeconfig, &arguments, LEVEL, log)
}

async fn lab_on<'a>(own: &'a ControlPlane, name: &str) -> Lab<'a> {
    let lab = Lab::bare_on(own, name).await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    // Scans come often: whoever acts on what is old acts soon.
    lab.apply(&lab.dns_zone().with("interval", "1s")).await;
    lab
}

/// Names that are wished before and after [`change`].
const LASTING: [&str; 3] = ["kept", "edited", "retyped"];
const BEFORE: [&str; 4] =
    ["edited A 192.0.2.1", "gone A 192.0.2.1", "kept A 192.0.2.1", "retyped A 192.0.2.1"];
const AFTER: [&str; 4] =
    ["edited A 192.0.2.2", "kept A 192.0.2.1", "new A 192.0.2.1", "retyped CNAME target.example.net"];

async fn wish(lab: &Lab<'_>) {
    for name in ["edited", "gone", "kept", "retyped"] {
        lab.ready(&lab.a(name, "192.0.2.1")).await;
    }
    lab.wait_contents(&BEFORE).await;
}

/// What happens while the operator can't see it.
async fn change(lab: &Lab<'_>) {
    lab.apply(&lab.a("edited", "192.0.2.2")).await;
    lab.apply(&lab.a("new", "192.0.2.1")).await;
    lab.apply(&lab.records("retyped", "CNAME", &["target.example.net"])).await;
    lab.delete("RecordSet", "gone").await;
}

/// Nothing that lasts was ever without a record, the end is as wished, and then nothing is written.
async fn assert_end(lab: &Lab<'_>, mark: u64) {
    lab.wait_contents(&AFTER).await;
    lab.wait_gone("RecordSet", "gone").await;
    for name in ["edited", "kept", "new", "retyped"] {
        lab.wait_ready("RecordSet", name).await;
    }
    let mut live: Vec<(String, String)> = Vec::new();
    for entry in lab.sim.journal() {
        for effect in &entry.effects {
            let name = |record: &Value| record["name"].as_str().unwrap_or_default().to_owned();
            live.retain(|(id, _)| *id != effect.id);
            live.extend(effect.after.as_ref().map(|record| (effect.id.clone(), name(record))));
        }
        if entry.sequence > mark && entry.kind == EntryKind::Request {
            for name in LASTING {
                let is_there = live.iter().any(|(_, other)| *other == lab.at(name));
                assert!(is_there, "{name} has no records after {entry:#?}");
            }
        }
    }
    lab.scan().await;
    let mark = lab.mark();
    lab.scan().await;
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
}

#[tokio::test]
async fn an_api_server_with_a_stale_view_costs_nothing() {
    let own = plane::own(Options::default()).await;
    let second = own.second_apiserver().await.expect("a second API server");
    let kubeconfig = second.kubeconfig(&User::zonekeeper()).expect("a kubeconfig");
    let lab = lab_on(&own, "stale").await;
    let operator = start(&lab, &kubeconfig, &log_of("stale-operator"));
    wish(&lab).await;
    let mark = lab.mark();
    second.freeze();
    change(&lab).await;
    // Scans go on by what it knows.
    let scanned = lab.mark();
    eventually("a scan", DEADLINE, async || if lab.mark() > scanned + 2 { Ok(()) } else { Err(lab.mark()) })
        .await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
    assert_eq!(lab.contents(), BEFORE);
    // Begun anew on the old view it does nothing until it has seen everything.
    operator.kill().await;
    let operator = start(&lab, &kubeconfig, &log_of("stale-operator-again"));
    eventually("it serves", DEADLINE, async || {
        operator.serves("/healthz").await.map_err(|error| error.to_string())
    })
    .await;
    assert!(operator.serves("/readyz").await.is_err(), "it has seen nothing yet");
    assert_eq!(lab.changes_since(mark), [""; 0]);
    second.thaw();
    assert_end(&lab, mark).await;
    drop(operator);
}

#[tokio::test]
async fn a_watch_that_was_held_back_and_is_then_gone_is_begun_again() {
    let own = plane::own(Options::default()).await;
    let port: u16 = own.url().rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let relay = Relay::start(port).expect("a relay");
    let direct =
        fs::read_to_string(own.kubeconfig(&User::zonekeeper()).expect("a kubeconfig")).expect("UTF-8");
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, direct.replace(own.url(), &format!("https://127.0.0.1:{}", relay.port())))
        .expect("written");
    let lab = lab_on(&own, "gone").await;
    let log: PathBuf = log_of("gone-operator");
    let operator = start(&lab, &kubeconfig, &log);
    wish(&lab).await;
    let mark = lab.mark();
    // Watches fall silent; what happens meanwhile is not told.
    relay.set(Flow::Held);
    change(&lab).await;
    // An API server that was started anew knows nothing older than itself: 410 Gone for whoever goes on from before.
    own.apiserver().restart().expect("it starts again");
    eventually("the API server is back", DEADLINE, async || {
        own.client().apiserver_version().await.map(drop).map_err(|error| error.to_string())
    })
    .await;
    let scanned = lab.mark();
    eventually("a scan", DEADLINE, async || if lab.mark() > scanned + 2 { Ok(()) } else { Err(lab.mark()) })
        .await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
    relay.set(Flow::Open);
    assert_end(&lab, mark).await;
    let log = fs::read_to_string(&log).expect("UTF-8");
    assert!(log.contains("too old resource version"), "{log}");
    drop(operator);
}
