//! PTR records and resolved targets from a folder, as the operator makes them.

use serde_json::json;

use crate::support::{Folder, builtin, records, up::Up, zone, zonekeeper};

const REVERSE: &str = "2.0.192.in-addr.arpa";

#[tokio::test]
async fn addresses_have_their_names_and_an_apex_the_addresses_of_its_target() {
    // What is asked for targets is a server of its own.
    let elsewhere = Folder::new();
    elsewhere
        .put("all.yaml", &[builtin(), zone("example.net"), records("host.example.net", "A", &["192.0.2.7"])]);
    let resolver = Up::start(&zonekeeper(["up", elsewhere.arg()]));
    resolver.answers("host.example.net", "A", &["192.0.2.7"]).await;
    let resolver_address = resolver.address().await.to_string();

    let folder = Folder::new();
    folder.put("provider.yaml", &[builtin()]);
    let grants = json!([{"namespaces": {"from": "All"}, "types": ["PTR"]}]);
    folder.put(
        "zones.yaml",
        &[zone("example.test").with("reverse", true), zone(REVERSE).with("allowedRecords", grants)],
    );
    let apex = records("example.test", "CNAME", &["host.example.net"]).with("resolveTargets", true);
    folder.put("apex.yaml", &[apex]);
    folder.put("www.yaml", &[records("www.example.test", "A", &["192.0.2.1"])]);
    let up = Up::start(&zonekeeper(["up", folder.arg(), "--resolver", &resolver_address]));
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    up.answers("example.test", "A", &["192.0.2.7"]).await;
    up.answers(&format!("1.{REVERSE}"), "PTR", &["www.example.test."]).await;
    up.answers(&format!("7.{REVERSE}"), "PTR", &["example.test."]).await;

    folder.put("www.yaml", &[records("www.example.test", "A", &["192.0.2.2"])]);
    up.answers(&format!("2.{REVERSE}"), "PTR", &["www.example.test."]).await;
    up.answers(&format!("1.{REVERSE}"), "PTR", &[]).await;

    // A target that can't be asked for says so, and what is there stays.
    drop(resolver);
    let apex = records("example.test", "CNAME", &["gone.example.net"]).with("resolveTargets", true);
    folder.put("apex.yaml", &[apex]);
    up.says("TargetsUnknown").await;
    up.answers("example.test", "A", &["192.0.2.7"]).await;
}
