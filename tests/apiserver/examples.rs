//! What people copy works: examples/, applied to a real API server, becomes Ready.

use std::{fs, path::Path};

use control_plane::Options;
use serde_json::{Value, json};
use zonekeeper_tests::manifest::{Manifest, builtin};

use crate::support::{Lab, plane};

/// The manifests of one folder of examples.
fn example(folder: &str) -> Vec<Manifest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(folder);
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).expect("UTF-8"));
    texts.flat_map(|text| serde_saphyr::from_multiple::<Value>(&text).expect("YAML")).map(Manifest).collect()
}

#[tokio::test]
async fn the_cloudflare_example_becomes_ready() {
    let plane = plane::own(Options::default()).await;
    let lab = Lab::bare_on(&plane, "example-cloudflare").await;
    let zone = lab.sim.zone("example.com", cloudflare_sim::Plan::Free);
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.run_plainly(&["--namespace", lab.home.name()]);
    for manifest in example("cloudflare") {
        // Its only change: the simulator in place of Cloudflare.
        let manifest = match manifest.0["kind"].as_str() {
            Some("DNSProvider") => manifest.with("cloudflare.baseURL", lab.sim.base_url()),
            _ => manifest,
        };
        lab.ready(&manifest).await;
    }
    assert_eq!(lab.sim.records(&zone).len(), 6);
}

#[tokio::test]
async fn the_quickstart_becomes_ready_with_a_provider() {
    let plane = plane::own(Options::default()).await;
    let lab = Lab::bare_on(&plane, "example-quickstart").await;
    lab.run_plainly(&["--namespace", lab.home.name()]);
    // A folder has the built-in server by itself, a cluster is told so.
    lab.ready(&builtin().with("allowedNamespaces", json!({"from": "All"}))).await;
    let manifests = example("quickstart");
    for manifest in &manifests {
        lab.apply(manifest).await;
    }
    for manifest in &manifests {
        lab.ready(manifest).await;
    }
}
