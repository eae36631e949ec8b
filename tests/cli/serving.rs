//! `zonekeeper up` with the built-in server: what is saved is served.

use std::time::Duration;

use serde_json::json;

use crate::support::{
    Folder, Manifest, address_source, builtin, records,
    up::{Up, dig, free_address, until},
    web::{Answer, Web},
    zone, zonekeeper,
};

fn www(address: &str) -> Manifest {
    records("www.example.test", "A", &[address])
}

/// A folder with a built-in server on a free port, one zone and one record.
fn small() -> Folder {
    let folder = Folder::new();
    folder.put("provider.yaml", &[builtin()]);
    folder.put("zone.yaml", &[zone("example.test")]);
    folder.put("www.yaml", &[www("192.0.2.1")]);
    folder
}

fn up(folder: &Folder) -> Up {
    Up::start(&zonekeeper(["up", folder.arg()]))
}

#[tokio::test]
async fn the_quickstart_answers() {
    let folder = Folder::new();
    folder.put("provider.yaml", &[builtin()]);
    for file in ["zone.yaml", "records.yaml"] {
        let example = format!("{}/../examples/quickstart/{file}", env!("CARGO_MANIFEST_DIR"));
        folder.write(file, &std::fs::read_to_string(example).expect("an example"));
    }
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.10", "192.0.2.11"]).await;
    up.answers("www.example.test", "AAAA", &["2001:db8::10"]).await;
    up.answers("any.apps.example.test", "A", &["192.0.2.20"]).await;
    up.answers("example.test", "MX", &["10 mail.example.net."]).await;
    up.answers("example.test", "TXT", &["\"v=spf1 mx -all\""]).await;
    assert!(!dig(up.address().await, "example.test", "SOA").await.is_empty());
    up.says("www.example.test").await;
    assert_eq!(up.terminate().await, Some(0));
}

#[tokio::test]
async fn a_saved_file_is_served_at_once() {
    let folder = small();
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    let mut times = Vec::new();
    for n in 2..7 {
        let address = format!("192.0.2.{n}");
        folder.put("www.yaml", &[www(&address)]);
        times.push(up.answers("www.example.test", "A", &[&address]).await);
    }
    println!("served after {times:?}");
    assert!(times.iter().all(|time| *time < Duration::from_secs(5)), "{times:?}");
}

#[tokio::test]
async fn a_broken_file_keeps_the_old_answers_and_a_corrected_one_recovers() {
    let folder = small();
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    folder.write(
        "www.yaml",
        "apiVersion: zonekeeper.dev/v1alpha1\nkind: RecordSet\nmetadata: {name: www}\nspec: {nam: x}\n",
    );
    up.says("www.yaml:4: spec.nam: unknown field; did you mean name?").await;
    up.says("what was served stays").await;
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    folder.write("www.yaml", "a: [");
    up.says("is not valid YAML").await;
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    folder.put("www.yaml", &[www("192.0.2.2")]);
    up.answers("www.example.test", "A", &["192.0.2.2"]).await;
}

#[tokio::test]
async fn removed_files_remove_their_answers_and_new_ones_add_them() {
    let folder = small();
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    folder.put("new/deep.yaml", &[records("api.example.test", "A", &["192.0.2.2"])]);
    up.answers("api.example.test", "A", &["192.0.2.2"]).await;
    folder.remove("www.yaml");
    up.answers("www.example.test", "A", &[]).await;
    up.answers("api.example.test", "A", &["192.0.2.2"]).await;
}

#[tokio::test]
async fn editors_that_rename_are_followed() {
    let folder = small();
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    let written = folder.put("www.yaml.tmp", &[www("192.0.2.2")]);
    std::fs::rename(written, folder.path().join("www.yaml")).expect("a rename");
    up.answers("www.example.test", "A", &["192.0.2.2"]).await;
}

#[tokio::test]
async fn an_emptied_folder_takes_nothing_away() {
    let folder = small();
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    for file in ["www.yaml", "zone.yaml", "provider.yaml"] {
        folder.remove(file);
    }
    up.says("holds no manifest").await;
    assert_eq!(up.terminate().await, Some(0));
}

#[tokio::test]
async fn zones_come_and_go() {
    let folder = small();
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    folder.put("more.yaml", &[zone("example.net"), records("www.example.net", "A", &["192.0.2.7"])]);
    up.answers("www.example.net", "A", &["192.0.2.7"]).await;
    folder.put("zone.yaml", &[zone("example.test").with("defaults", json!({"ttl": 77}))]);
    folder.remove("more.yaml");
    up.answers("www.example.net", "A", &[]).await;
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error_that_names_it() {
    let taken = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let folder = small();
    folder.put("provider.yaml", &[builtin().with("builtin.listen", address.as_str())]);
    zonekeeper(["up", folder.arg()]).run().await.exits(1).says(&address).says("spec.builtin.listen");
}

#[tokio::test]
async fn a_port_that_is_taken_later_leaves_the_old_one_answering() {
    let taken = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let folder = small();
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    folder.put("provider.yaml", &[builtin().with("builtin.listen", address.as_str())]);
    up.says(&address).await;
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    folder.put("provider.yaml", &[builtin()]);
    folder.put("www.yaml", &[www("192.0.2.2")]);
    up.answers("www.example.test", "A", &["192.0.2.2"]).await;
}

#[tokio::test]
async fn a_server_that_moves_takes_its_records_along() {
    let folder = small();
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    let free = free_address();
    folder.put("provider.yaml", &[builtin().with("builtin.listen", free.to_string())]);
    let moved = async || dig(free, "www.example.test", "A").await == ["192.0.2.1"];
    until("the new port answers", || up.said(), moved).await;
}

#[tokio::test]
async fn a_refused_object_is_said_once_and_stops_no_other() {
    let folder = small();
    folder.put("bad.yaml", &[records("www.example.net", "A", &["192.0.2.1"])]);
    let up = up(&folder);
    up.answers("www.example.test", "A", &["192.0.2.1"]).await;
    up.says("NoMatchingZone").await;
    folder.put("www.yaml", &[www("192.0.2.2")]);
    up.answers("www.example.test", "A", &["192.0.2.2"]).await;
    assert_eq!(up.said().matches("NoMatchingZone").count(), 1, "{}", up.said());
}

#[tokio::test]
async fn an_address_source_is_followed_and_its_last_good_value_kept() {
    let web = Web::saying("192.0.2.1").await;
    let folder = small();
    let from = json!([{"addressSourceRef": {"name": "home"}}]);
    let home = records("home.example.test", "A", &[]).without("values").with("valuesFrom", from.clone());
    let fixed = records("fixed.example.test", "A", &[])
        .without("values")
        .with("valuesFrom", json!([{"addressSourceRef": {"name": "fixed"}}]));
    // Another question is asked at once, whatever the interval.
    let ask = |round: u8| {
        let url = format!("{}?{round}", web.url());
        folder
            .put("home.yaml", &[address_source("home", json!({"http": [{"url": url}], "interval": "10s"}))]);
    };
    ask(0);
    folder.put("users.yaml", &[home, address_source("fixed", json!({"static": ["192.0.2.77"]})), fixed]);
    let up = Up::start(&zonekeeper(["up", folder.arg(), "--allow-address-source", "127.0.0.0/8"]));
    up.answers("home.example.test", "A", &["192.0.2.1"]).await;
    up.answers("fixed.example.test", "A", &["192.0.2.77"]).await;
    web.answer(Answer::Text(200, "192.0.2.2".into()));
    // By itself, once its interval is over.
    up.answers("home.example.test", "A", &["192.0.2.2"]).await;
    web.answer(Answer::Text(500, String::new()));
    let asked = web.requests().len();
    ask(1);
    until("the failing source was asked again", || up.said(), async || web.requests().len() > asked).await;
    up.answers("home.example.test", "A", &["192.0.2.2"]).await;
    web.answer(Answer::Text(200, "192.0.2.3".into()));
    ask(2);
    up.answers("home.example.test", "A", &["192.0.2.3"]).await;
}

#[tokio::test]
async fn a_source_is_not_asked_more_often_than_its_interval() {
    let web = Web::saying("192.0.2.1").await;
    let folder = small();
    let home = records("home.example.test", "A", &[])
        .without("values")
        .with("valuesFrom", json!([{"addressSourceRef": {"name": "home"}}]));
    folder.put("home.yaml", &[address_source("home", json!({"http": [{"url": web.url()}]})), home]);
    let up = Up::start(&zonekeeper(["up", folder.arg(), "--allow-address-source", "127.0.0.0/8"]));
    up.answers("home.example.test", "A", &["192.0.2.1"]).await;
    for n in 2..6 {
        let address = format!("192.0.2.{n}");
        folder.put("www.yaml", &[www(&address)]);
        up.answers("www.example.test", "A", &[&address]).await;
    }
    assert_eq!(web.requests().len(), 1, "saving other files asks nobody");
}
