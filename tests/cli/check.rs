//! `check`: what can be known of a folder without credentials or network.

use serde_json::json;

use crate::support::{Folder, Manifest, Run, address_source, builtin, provider, records, zone, zonekeeper};

/// A folder with a zone at Cloudflare, where nothing listens, and no token.
fn folder(manifests: &[Manifest]) -> Folder {
    let folder = Folder::new();
    folder.put("zone.yaml", &[provider("http://127.0.0.1:9/client/v4"), zone("example.com")]);
    folder.put("records.yaml", manifests);
    folder
}

async fn check(folder: &Folder) -> Run {
    zonekeeper(["check", folder.arg()]).run().await
}

fn www() -> Manifest {
    records("www.example.com", "A", &["192.0.2.1"])
}

#[tokio::test]
async fn a_sound_folder_needs_no_credentials_and_no_network() {
    let mail = records("example.com", "MX", &["10 www.example.com"]);
    let run = check(&folder(&[www(), mail])).await.exits(0);
    run.says("zone default/example-com (example.com): 2 record sets").never_says("warning");
}

#[tokio::test]
async fn a_key_that_is_not_in_the_folder_is_not_missed() {
    let folder = Folder::new();
    let servers = Manifest(json!({
        "apiVersion": "zonekeeper.dev/v1alpha1", "kind": "DNSProvider", "metadata": {"name": "bind"},
        "spec": {"rfc2136": {"servers": ["127.0.0.1:9"], "tsigSecretRef": {"name": "elsewhere"}}},
    }));
    folder.put("all.yaml", &[servers, zone("example.com"), www()]);
    check(&folder).await.exits(0).says("1 record sets");
}

#[tokio::test]
async fn what_can_not_be_served_is_an_error() {
    let taken = www().named("other").in_namespace("other");
    check(&folder(&[www(), taken])).await.exits(1).says("rejected: recordset other/other: NotAllowed");
    let outside = records("www.example.net", "A", &["192.0.2.1"]);
    check(&folder(&[outside])).await.exits(1).says("NoMatchingZone");
    check(&folder(&[www().with("values", json!(["192.0.2"]))])).await.exits(1).says("192.0.2");
    check(&folder(&[www().with("vlaues", json!([]))])).await.exits(1).says("records.yaml:1");
    let alias = records("www.example.com", "CNAME", &["web.example.net"]);
    check(&folder(&[www(), alias])).await.exits(1).says("Conflict");
}

#[tokio::test]
async fn what_will_probably_not_work_is_a_warning() {
    let two = records("example.com", "TXT", &["v=spf1 -all", "v=spf1 mx -all"]);
    let nowhere = records("shop.example.com", "CNAME", &["missing.example.com"]);
    let folder = folder(&[two, nowhere]);
    check(&folder)
        .await
        .exits(0)
        .says("warning: example.com TXT: SeveralSpf")
        .says("warning: shop.example.com CNAME: DanglingTarget");
    let json = zonekeeper(["check", folder.arg(), "-o", "json"]).run().await.exits(0).json();
    assert_eq!(json["zones"][0]["sets"], 2);
    assert_eq!(json["zones"][0]["warnings"][0]["reason"], "SeveralSpf");
    assert_eq!(json["rejected"], json!([]));
}

#[tokio::test]
async fn addresses_that_are_asked_for_elsewhere_are_no_error() {
    let home = address_source("home", json!({"http": [{"url": "http://127.0.0.1:9/"}]}));
    let reference = json!([{"addressSourceRef": {"name": "home"}}]);
    let dynamic = www().without("values").with("valuesFrom", reference);
    check(&folder(&[home, dynamic])).await.exits(0);
}

#[tokio::test]
async fn the_built_in_server_is_not_started() {
    let folder = Folder::new();
    folder.put("all.yaml", &[builtin().with("builtin.listen", "192.0.2.1:1"), zone("example.com"), www()]);
    check(&folder).await.exits(0);
}

#[tokio::test]
async fn what_is_wanted_of_the_zone_itself_is_judged_by_what_its_provider_can_do() {
    let folder = Folder::new();
    let signed = zone("example.com").with("dnssec", json!({"mode": "On"}));
    folder.put("all.yaml", &[provider("http://127.0.0.1:9/client/v4"), signed.clone(), www()]);
    check(&folder).await.exits(0);
    folder.put("all.yaml", &[builtin(), signed, www()]);
    check(&folder).await.exits(1).says("spec.dnssec.mode: the provider of this zone can't do that");
}
