//! The built-in server never serves what is not known yet: until a zone's first pass is through, it is no answer at all.

use std::{net::SocketAddr, time::Duration};

use serde_json::json;
use tokio::{net::UdpSocket, process::Command, time::timeout};

use crate::support::{
    Folder, Manifest, address_source, builtin, records,
    up::{Up, free_address, until},
    web::{Answer, Web},
    zone, zonekeeper,
};

fn www(domain: &str) -> Manifest {
    records(&format!("www.{domain}"), "A", &["192.0.2.1"])
}

/// The response code and everything else that `dig` prints.
async fn asked(server: SocketAddr, question: &[&str]) -> (String, String) {
    let (at, port) = (format!("@{}", server.ip()), server.port().to_string());
    let options = [&at, "-p", &port, "+time=2", "+tries=1", "+norecurse"];
    let output = Command::new("dig").args(options).args(question).output().await.expect("dig is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let status = text.split_once("status: ").and_then(|(_, rest)| rest.split(',').next());
    (status.unwrap_or_default().to_owned(), text)
}

async fn status(server: SocketAddr, question: &[&str]) -> String {
    asked(server, question).await.0
}

/// A folder whose first pass waits for an address that does not come.
async fn waiting(secondary: SocketAddr) -> (Folder, Web) {
    let web = Web::start(Answer::Silence).await;
    let folder = Folder::new();
    let transfer = json!(["127.0.0.1", format!("127.0.0.1:{}", secondary.port())]);
    folder.put("provider.yaml", &[builtin().with("builtin.allowTransfer", transfer)]);
    folder.put("zone.yaml", &[zone("example.test"), zone("sub.example.test"), zone("example.net")]);
    folder.put("www.yaml", &[www("example.test"), www("sub.example.test"), www("example.net")]);
    let home = records("home.example.test", "A", &[])
        .without("values")
        .with("valuesFrom", json!([{"addressSourceRef": {"name": "home"}}]));
    folder.put("home.yaml", &[address_source("home", json!({"http": [{"url": web.url()}]})), home]);
    (folder, web)
}

fn up(folder: &Folder) -> Up {
    Up::start(&zonekeeper(["up", folder.arg(), "--allow-address-source", "127.0.0.0/8"]))
}

#[tokio::test]
async fn until_the_first_pass_nothing_is_answered_transferred_or_notified() {
    let secondary = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let (folder, web) = waiting(secondary.local_addr().expect("an address")).await;
    let up = up(&folder);
    let server = up.address().await;
    until("the first pass waits", || up.said(), async || !web.requests().is_empty()).await;
    let questions: &[&[&str]] = &[
        &["www.example.test", "A"],
        &["nothing.example.test", "A"],
        &["example.test", "SOA"],
        &["example.test", "NS"],
        &["www.sub.example.test", "A"],
        &["sub.example.test", "DS"],
        &["www.example.net", "A", "+tcp"],
        &["example.net", "ANY"],
    ];
    for question in questions {
        let (status, text) = asked(server, question).await;
        assert_eq!(status, "SERVFAIL", "{question:?}: {text}\n{}", up.said());
    }
    for kind in ["AXFR", "IXFR=1"] {
        let (_, transfer) = asked(server, &["example.test", kind]).await;
        assert!(transfer.contains("Transfer failed"), "{transfer}");
    }
    let mut message = [0; 512];
    let told = timeout(Duration::from_millis(300), secondary.recv(&mut message)).await;
    assert!(told.is_err(), "a secondary was told of a zone that is not known yet");

    // The address does not come; what else is wanted is served after that, and secondaries learn of it once.
    let is_served = async || status(server, &["www.example.test", "A"]).await == "NOERROR";
    let begun = std::time::Instant::now();
    while !is_served().await {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", up.said());
    }
    for domain in ["example.test", "sub.example.test", "example.net"] {
        let (_, transfer) = asked(server, &[domain, "AXFR"]).await;
        assert!(transfer.contains("192.0.2.1"), "{transfer}");
    }
    assert_eq!(status(server, &["nothing.example.test", "A"]).await, "NXDOMAIN");
    timeout(Duration::from_secs(5), secondary.recv(&mut message))
        .await
        .expect("a NOTIFY")
        .expect("a message");
}

#[tokio::test]
async fn a_server_that_starts_says_nothing_else_than_that_it_does_not_know_yet() {
    let server = free_address();
    let folder = Folder::new();
    folder.put("provider.yaml", &[builtin().with("builtin.listen", server.to_string())]);
    folder.put("zone.yaml", &[zone("example.test")]);
    let hosts = (0..500).map(|n| records(&format!("n{n}.example.test"), "A", &["192.0.2.1"]));
    folder.put("www.yaml", &hosts.chain([www("example.test")]).collect::<Vec<_>>());
    let up = up(&folder);
    let mut seen = Vec::new();
    let begun = std::time::Instant::now();
    loop {
        let status = status(server, &["www.example.test", "A"]).await;
        if status == "NOERROR" {
            break;
        }
        if !status.is_empty() {
            seen.push(status);
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", up.said());
    }
    assert!(seen.iter().all(|status| status == "SERVFAIL"), "{seen:?}");
}

#[tokio::test]
async fn zones_of_one_server_are_known_each_on_their_own() {
    let folder = Folder::new();
    folder.put("provider.yaml", &[builtin()]);
    let suspended = zone("example.net").with("suspend", true);
    folder.put("zone.yaml", &[zone("example.test"), suspended]);
    let alias = records("alias.example.test", "CNAME", &["www.example.net."]);
    folder.put("www.yaml", &[www("example.test"), www("example.net"), alias]);
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    let server = up.address().await;
    assert_eq!(status(server, &["www.example.net", "A"]).await, "SERVFAIL", "never passed over");
    assert_eq!(status(server, &["www.example.org", "A"]).await, "REFUSED", "not ours");
    let (status_of_alias, text) = asked(server, &["alias.example.test", "A"]).await;
    assert_eq!(status_of_alias, "NOERROR");
    assert!(text.contains("www.example.net.") && !text.contains("192.0.2.1"), "{text}");
    folder.put("zone.yaml", &[zone("example.test"), zone("example.net")]);
    up.answers("www.example.net", "A", &["192.0.2.1"]).await;
    // Suspended from now on: what is known is served on.
    folder.put("zone.yaml", &[zone("example.test").with("suspend", true), zone("example.net")]);
    folder.put("new.yaml", &[records("new.example.net", "A", &["192.0.2.7"])]);
    up.answers("new.example.net", "A", &["192.0.2.7"]).await;
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
}

#[tokio::test]
async fn a_zone_that_was_known_is_served_on_while_the_folder_does_not_parse() {
    let folder = Folder::new();
    folder.put("provider.yaml", &[builtin()]);
    folder.put("zone.yaml", &[zone("example.test")]);
    folder.put("www.yaml", &[www("example.test")]);
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    let server = up.address().await;
    folder.write("www.yaml", "# gone\n");
    up.says("what was served stays").await;
    assert_eq!(status(server, &["www.example.test", "A"]).await, "NOERROR");
    assert_eq!(status(server, &["nothing.example.test", "A"]).await, "NXDOMAIN");
}

#[tokio::test]
async fn drift_that_is_only_reported_does_not_empty_a_server_that_moves() {
    let folder = Folder::new();
    folder.put("provider.yaml", &[builtin()]);
    folder.put("zone.yaml", &[zone("example.test").with("drift", "Report")]);
    folder.put("www.yaml", &[www("example.test")]);
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    let moved = free_address();
    folder.put("provider.yaml", &[builtin().with("builtin.listen", moved.to_string())]);
    let answers = async || status(moved, &["www.example.test", "A"]).await == "NOERROR";
    until("the new port answers", || up.said(), answers).await;
}
