//! What fails by a fault of our own is counted, said, and begun again.

use std::{fs, path::Path};

use control_plane::eventually;
use serde_json::json;

use crate::support::{Lab, address_source, lab::DEADLINE};

/// Has the next work of a kind panic.
fn fail(folder: &Path, task: &str) {
    fs::write(folder.join(task), "").expect("a file");
}

async fn struck(folder: &Path, task: &str) {
    eventually(&format!("{task} has failed"), DEADLINE, async || {
        if folder.join(task).exists() { Err("not yet") } else { Ok(()) }
    })
    .await;
}

async fn counted(lab: &Lab<'_>, task: &str, count: u32) {
    let metrics = lab.metrics().await;
    let line = format!("zonekeeper_task_failures_total{{task=\"{task}\"}} {count}");
    assert!(metrics.contains(&line), "no {line} in {metrics}");
}

#[tokio::test]
async fn a_pass_that_panics_is_said_counted_and_begun_again() {
    let lab = Lab::ready_to_run("panic-pass").await;
    let folder = tempfile::tempdir().expect("a folder");
    lab.apply(&lab.dns_zone().with("interval", "1s")).await;
    lab.run_failing(folder.path());
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    for count in 1..=2 {
        fail(folder.path(), "pass");
        let message = lab.wait_reason("DNSZone", "zone", "InternalError").await;
        assert!(message.contains("report it"), "{message}");
        for (kind, name) in [("DNSZone", "zone"), ("RecordSet", "www")] {
            eventually("it is told", DEADLINE, async || {
                let told = lab.events(kind, name).await;
                let is_told =
                    told.iter().any(|told| told.reason == "InternalError" && told.kind == "Warning");
                if is_told { Ok(()) } else { Err(told) }
            })
            .await;
            lab.wait_ready(kind, name).await;
        }
        counted(&lab, "pass", count).await;
    }
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    lab.wait_contents(&["www A 192.0.2.2"]).await;
    lab.wait_ready("DNSZone", "zone").await;
}

#[tokio::test]
async fn whatever_else_panics_is_begun_again() {
    let lab = Lab::ready_to_run("panic-all").await;
    let folder = tempfile::tempdir().expect("a folder");
    // At the start everything fails once.
    for task in ["opening", "check", "watch", "write", "event", "addresses"] {
        fail(folder.path(), task);
    }
    lab.apply(&address_source("fixed", json!({"static": ["192.0.2.7"]}))).await;
    lab.run_failing(folder.path());
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.wait_ready("DNSProvider", lab.home.name()).await;
    lab.wait_ready("DNSZone", "zone").await;
    for task in ["opening", "check", "watch", "write", "event", "addresses"] {
        struck(folder.path(), task).await;
        counted(&lab, task, 1).await;
    }
    lab.wait_ready("AddressSource", "fixed").await;
    // A watch that fails while it runs begins with a list.
    lab.ready(&lab.a("www", "192.0.2.2")).await;
}
