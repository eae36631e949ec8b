//! From ExternalDNS to Zonekeeper and back: markers change hands, records are not written.

use control_plane::{DEADLINE, User, eventually};
use serde_json::json;
use zonekeeper_tests::cluster::plane;

use crate::{
    catalogue::{self, EQUAL, PREFIX, SURROUNDINGS},
    pair::{Pair, SOURCES},
    peer::ExternalDns,
    place::{Place, is_marker},
    records::ALL_TYPES,
};

const OURS: &str = "zonekeeper";
const THEIRS: &str = "external-dns";

#[tokio::test]
async fn records_change_hands_and_back_without_a_write() {
    let plane = plane::with_published_definitions().await;
    let kinds: Vec<&str> = SOURCES.iter().map(|(_, kind)| *kind).collect();
    let pair = Pair::on(plane, "moving", &kinds).await;
    let read = |file: &str| catalogue::read(file, &pair.lab.domain, PREFIX);
    let cases: Vec<_> = EQUAL.iter().flat_map(|file| read(file)).collect();
    catalogue::install(&plane.client(), &read(SURROUNDINGS), &cases).await;
    let place = Place::of(&pair.lab);
    let external_dns = |log: &str, owner: &str| {
        let kubeconfig = plane.kubeconfig(&User::admin()).unwrap();
        ExternalDns::new(&format!("moving-{log}"), &place, kubeconfig, owner, &pair.sources()).with(ALL_TYPES)
    };
    external_dns("first", THEIRS).once().await;
    let (data, mark) = (place.data(), place.mark());
    assert!(data.len() > 100, "{data:#?}");
    external_dns("quiet", THEIRS).once().await;
    assert_eq!(place.changes_since(mark), [""; 0], "ExternalDNS itself writes nothing here any more");

    // There.
    let mark = place.mark();
    let registry = json!({"type": "TXT", "ownerID": OURS, "takeOverFrom": [THEIRS]});
    pair.lab.apply(&pair.lab.provider().with("registry", registry)).await;
    pair.lab.run();
    all_owned_by(&place, OURS).await;
    pair.lab.scan().await;
    let changes = place.changes_since(mark);
    let others: Vec<&String> =
        changes.iter().filter(|change| !change.starts_with("~ ") || !is_marker(change)).collect();
    assert!(others.is_empty(), "only markers are written, and none is deleted: {others:#?}");
    assert_eq!(place.data(), data);
    pair.lab.kill().await;

    // And back, under our id: not even markers.
    let mark = place.mark();
    external_dns("same-owner", OURS).once().await;
    assert_eq!(place.changes_since(mark), [""; 0]);

    // Or under its own id again.
    external_dns("after", THEIRS).with(&[&format!("--migrate-from-txt-owner={OURS}")]).once().await;
    all_owned_by(&place, THEIRS).await;
    // It writes every record again, as it is: nothing comes or goes.
    let changes = place.changes_since(mark);
    let others: Vec<&String> =
        changes.iter().filter(|change| !change.starts_with("~ ") && !is_marker(change)).collect();
    assert!(others.is_empty(), "no record is created or deleted: {others:#?}");
    assert_eq!(place.data(), data);
}

/// Waits until every marker names this owner.
async fn all_owned_by(place: &Place, owner: &str) {
    let label = format!("external-dns/owner={owner},");
    eventually(&format!("markers of {owner}"), DEADLINE, async || {
        let mut markers = place.lines().into_iter().filter(|line| is_marker(line));
        match markers.find(|line| !line.contains(&label)) {
            None => Ok(()),
            Some(other) => Err(other),
        }
    })
    .await;
}
