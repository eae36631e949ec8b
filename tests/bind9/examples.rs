//! What users copy, on a cluster: the examples for BIND, unchanged but for where the server listens.

use std::{fs, path::PathBuf};

use control_plane::{ControlPlane, Options};
use dns_servers::{DnsServer, Setup, Software};
use serde_json::{Value, json};
use zonekeeper_tests::dns;

use crate::support::{Lab, Manifest, condition, plane};

fn folder(example: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples").join(example)
}

fn manifests(example: &str) -> Vec<Manifest> {
    let files = fs::read_dir(folder(example)).expect("a folder").map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|it| it == "yaml")).collect();
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).expect("UTF-8"));
    texts.flat_map(|text| serde_saphyr::from_multiple::<Value>(&text).expect("YAML")).map(Manifest).collect()
}

/// An operator on its own cluster that was given an example.
async fn applied<'a>(
    plane: &'a ControlPlane,
    name: &str,
    manifests: &[Manifest],
    server: &DnsServer,
) -> Lab<'a> {
    let lab = Lab::bare_on(plane, name).await;
    lab.run_plainly(&["--namespace", lab.home.name()]);
    for manifest in manifests {
        let manifest = match manifest.0["kind"].as_str() {
            Some("DNSProvider") => manifest.clone().with("rfc2136.servers", json!([server.address()])),
            _ => manifest.clone(),
        };
        lab.apply(&manifest).await;
    }
    lab
}

/// With the named.conf that lies in it: its key may do all that is needed.
#[tokio::test]
async fn the_bind9_example_is_served() {
    let text = |file: &str| fs::read_to_string(folder("bind9").join(file)).expect("UTF-8");
    let setup = Setup {
        statements: Some(text("named.conf")),
        zone: text("zone.db"),
        ..Setup::new(Software::Bind, "example.com")
    };
    let server = DnsServer::start(setup).expect("the server starts");
    let plane = plane::own(Options::default()).await;
    let manifests = manifests("bind9");
    let lab = applied(&plane, "bind9-example", &manifests, &server).await;
    for manifest in manifests.iter().filter(|manifest| manifest.0["kind"] != "Secret") {
        let text = |pointer: &str| manifest.0.pointer(pointer).and_then(Value::as_str).expect("text");
        lab.wait_ready(text("/kind"), text("/metadata/name")).await;
    }
    assert_eq!(dns::served(&server, "www.example.com", "A"), ["192.0.2.10", "192.0.2.11"]);
    assert_eq!(dns::served(&server, "example.com", "MX"), ["10 mail1.example.net.", "20 mail2.example.net."]);
    assert_eq!(dns::served(&server, "www.example.com", "HTTPS"), ["1 . alpn=\"h2,h3\""]);
}

/// The same mail set-up for 20 domains.
#[tokio::test]
async fn the_many_domains_example_is_served_in_every_zone() {
    let mut manifests = manifests("many-domains");
    let domains = manifests.iter().filter_map(|manifest| manifest.0["spec"]["domain"].as_str());
    let domains: Vec<String> = domains.map(str::to_owned).collect();
    assert_eq!(domains.len(), 20);
    let mut setup = Setup::new(Software::Bind, &domains[0]);
    setup.more_domains = domains[1..].to_vec();
    let server = DnsServer::start(setup).expect("the server starts");
    let key = server.key();
    let data = json!({"name": key.name, "algorithm": key.algorithm, "secret": key.secret});
    for secret in manifests.iter_mut().filter(|manifest| manifest.0["kind"] == "Secret") {
        secret.0["stringData"] = data.clone();
    }
    let plane = plane::own(Options::default()).await;
    let lab = applied(&plane, "many-domains", &manifests, &server).await;
    for name in ["mail", "spf", "dmarc"] {
        let is_everywhere = |object: &Value| {
            object["status"]["zones"].as_array().is_some_and(|zones| zones.len() == 20)
                && condition(object, "Ready").is("True")
        };
        lab.wait("RecordSet", name, "in 20 zones", is_everywhere).await;
    }
    for domain in &domains {
        assert_eq!(
            dns::served(&server, domain, "MX"),
            ["10 mx1.example.net.", "20 mx2.example.net."],
            "{domain}"
        );
        assert_eq!(dns::served(&server, domain, "TXT"), ["\"v=spf1 mx -all\""], "{domain}");
        assert_eq!(dns::served(&server, &format!("_dmarc.{domain}"), "TXT").len(), 1, "{domain}");
    }
}
