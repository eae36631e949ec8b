//! Markers of another kind than our own: whoever wrote them owns the record all the same.

use serde_json::json;

use crate::support::{Lab, Manifest, records, zone};

const THEIRS: &str =
    "\"heritage=external-dns,external-dns/owner=their-id,external-dns/resource=ingress/shop/www\"";

/// Everything that one might ask to get hold of `www`.
fn attempts() -> [Manifest; 4] {
    let www = |value: &str| records("www.example.com", "A", &[value]);
    let forced = |wish: Manifest| wish.with("adoption", "Force");
    let cname = records("www.example.com", "CNAME", &["q.example.net"]);
    [www("192.0.2.1"), forced(www("192.0.2.1")), forced(www("192.0.2.5")), forced(cname)]
}

async fn refuses_all(lab: &Lab) {
    let before = lab.sim.records(&lab.zone);
    for wish in attempts() {
        lab.want(std::slice::from_ref(&wish));
        lab.apply().await.exits(1).says("AdoptionRefused");
        lab.approve().await.exits(1);
        assert_eq!(lab.sim.records(&lab.zone), before, "{wish:?}");
    }
    lab.folder.remove("records.yaml");
    lab.declare(zone("example.com").with("prune", json!({"mode": "All"})));
    lab.apply().await.exits(0);
    assert_eq!(lab.sim.records(&lab.zone), before);
}

#[tokio::test]
async fn a_folder_with_comments_respects_external_dns() {
    for marker in ["a-www", "www"] {
        let lab = Lab::start().await;
        lab.seed("A", "www", "192.0.2.1");
        lab.seed("TXT", marker, THEIRS);
        refuses_all(&lab).await;
    }
}

#[tokio::test]
async fn a_folder_with_txt_markers_respects_comments() {
    let lab = Lab::with_txt(json!({})).await;
    let theirs = json!({"type": "A", "name": "www", "content": "192.0.2.1", "comment": "by hand zk1:bbbbbbbb:recordset/d/x"});
    lab.sim.seed(&lab.zone, theirs);
    refuses_all(&lab).await;
}

#[tokio::test]
async fn another_folders_comments_hold_against_txt_markers() {
    let lab = Lab::start().await;
    lab.folder.put("provider.yaml", &[lab.provider().with("registry.ownerID", "another")]);
    lab.applied(&[records("www.example.com", "A", &["192.0.2.1"])]).await;
    lab.remember_in_txt(json!({}));
    refuses_all(&lab).await;
}
