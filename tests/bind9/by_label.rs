//! RecordSets that zones take by their label, as users of bindy have them.

use std::{fs, path::Path};

use control_plane::Options;
use dns_servers::{DnsServer, Setup, Software};
use serde_json::{Value, json};
use zonekeeper_tests::dns;

use crate::{
    site::Site,
    support::{Lab, Manifest, plane},
};

/// Case 55: bindy calls this a conflict; here each zone serves it, under its own name.
#[tokio::test]
async fn a_record_set_that_two_zones_take_is_served_in_both() {
    let second = |domain: &str| format!("second-{domain}");
    let site = Site::with("both", |setup| setup.more_domains = vec![second(&setup.domain)]).await;
    let taken = json!([{"selector": {"matchLabels": {"dns": "public"}}}]);
    site.apply(&site.dns_zone().with("recordsFrom", taken.clone())).await;
    let other = second(&site.domain);
    site.apply(&site.zone_of(&other).named("second").with("recordsFrom", taken)).await;
    site.run();
    let www = |value: &str| {
        site.a("www", value).without("name").with("relativeName", "www").labelled("dns", "public")
    };
    let object = site.ready(&www("192.0.2.1")).await;
    assert_eq!(object["status"]["zones"].as_array().map(Vec::len), Some(2), "{object:#}");
    site.ready(&www("192.0.2.2")).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.2"]);
    assert_eq!(dns::served(&site.server, &format!("www.{other}"), "A"), ["192.0.2.2"]);
    site.delete("RecordSet", "www").await;
    site.wait_gone("RecordSet", "www").await;
    assert_eq!(site.served("www", "A"), [""; 0]);
    assert_eq!(dns::served(&site.server, &format!("www.{other}"), "A"), [""; 0]);
}

/// Case 56.
#[tokio::test]
async fn a_label_that_no_zone_takes_is_told_once() {
    let site = Site::ready_to_run("untaken").await;
    let taken = json!([{"selector": {"matchLabels": {"dns": "public"}}}]);
    site.apply(&site.dns_zone().with("recordsFrom", taken)).await;
    site.run();
    site.wait_ready("DNSZone", "zone").await;
    let www = site.a("www", "192.0.2.1").without("name").with("relativeName", "www");
    site.not_ready(&www.clone().labelled("dns", "private"), "NoMatchingZone").await;
    let before = site.get("RecordSet", "www").await.expect("it is there");
    let seen = site.relay.requests();
    site.scan().await;
    let after = site.get("RecordSet", "www").await.expect("it is there");
    assert_eq!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    assert!(site.relay.since(seen).iter().all(|kind| *kind == dns::Kind::Query));
    site.ready(&www.labelled("dns", "public")).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
}

fn example() -> Vec<Manifest> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/many-domains");
    let mut files: Vec<_> =
        fs::read_dir(path).expect("a folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).expect("UTF-8"));
    texts.flat_map(|text| serde_saphyr::from_multiple::<Value>(&text).expect("YAML")).map(Manifest).collect()
}

/// The same mail set-up for 20 domains, with the example that people copy.
#[tokio::test]
async fn the_many_domains_example_is_served_in_every_zone() {
    let plane = plane::own(Options::default()).await;
    let lab = Lab::bare_on(&plane, "many-domains").await;
    let manifests = example();
    let domains: Vec<String> = manifests
        .iter()
        .filter_map(|manifest| manifest.0["spec"]["domain"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(domains.len(), 20);
    let mut setup = Setup::new(Software::Bind, &domains[0]);
    setup.more_domains = domains[1..].to_vec();
    setup.keys[0].name = "zonekeeper".into();
    let server = DnsServer::start(setup).expect("the server starts");
    let key = server.key();
    lab.put_secret("bind9", &[("name", &key.name), ("algorithm", &key.algorithm), ("secret", &key.secret)])
        .await;
    lab.run_plainly(&["--namespace", lab.home.name()]);
    for manifest in manifests.iter().filter(|manifest| manifest.0["kind"] != "Secret") {
        // Its only change: where the server listens.
        let manifest = match manifest.0["kind"].as_str() {
            Some("DNSProvider") => manifest.clone().with("rfc2136.servers", json!([server.address()])),
            _ => manifest.clone(),
        };
        lab.apply(&manifest).await;
    }
    for name in ["mail", "spf", "dmarc"] {
        let object = lab.wait("RecordSet", name, "in 20 zones", |object| {
            object["status"]["zones"].as_array().is_some_and(|zones| zones.len() == 20)
                && crate::support::condition(object, "Ready").is("True")
        });
        object.await;
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
