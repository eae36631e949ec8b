//! The life of records: created, changed, renamed, deleted, and repaired after somebody else changed them.

use cloudflare_sim::{Action, Fault, Match, Scope};
use serde_json::json;

use crate::support::{Lab, Manifest, records};

fn www(address: &str) -> Manifest {
    records("www.example.com", "A", &[address]).named("www")
}

#[tokio::test]
async fn a_changed_value_is_an_update_in_place() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    let id = lab.records("www.example.com", "A")[0]["id"].clone();
    lab.applied(&[www("192.0.2.2").with("ttl", 120)]).await;
    let record = lab.records("www.example.com", "A").remove(0);
    assert_eq!((&record["id"], &record["content"], &record["ttl"]), (&id, &json!("192.0.2.2"), &json!(120)));
}

#[tokio::test]
async fn values_are_added_and_removed_without_touching_the_others() {
    let lab = Lab::start().await;
    let host = |values: &[&str]| records("www.example.com", "A", values);
    lab.applied(&[host(&["192.0.2.1", "192.0.2.2"])]).await;
    lab.applied(&[host(&["192.0.2.2", "192.0.2.3", "192.0.2.4"])]).await;
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.2", "192.0.2.3", "192.0.2.4"]);
    lab.applied(&[host(&["192.0.2.4"])]).await;
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.4"]);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_renamed_record_leaves_nothing_behind() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    lab.applied(&[records("web.example.com", "A", &["192.0.2.1"]).named("www")]).await;
    assert_eq!(lab.contents(), ["web.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn a_renamed_object_rewrites_the_marker_only() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    let id = lab.records("www.example.com", "A")[0]["id"].clone();
    lab.want(&[www("192.0.2.1").named("web")]);
    lab.plan().await.exits(2).says("ownership marker only").never_says("HELD");
    lab.apply().await.exits(0);
    assert_eq!(lab.records("www.example.com", "A")[0]["id"], id);
    assert!(lab.comments("www.example.com", "A")[0].contains("recordset/default/web"));
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_type_changes_without_a_moment_of_both_or_a_refusal() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    lab.applied(&[records("www.example.com", "CNAME", &["web.example.net"]).named("www")]).await;
    assert_eq!(lab.contents(), ["www.example.com CNAME web.example.net"]);
    lab.applied(&[www("192.0.2.1")]).await;
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn outside_edits_are_reverted_by_the_next_apply() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1").with("ttl", 300)]).await;
    let id = lab.records("www.example.com", "A")[0]["id"].as_str().expect("an id").to_owned();
    for patch in [json!({"content": "192.0.2.66"}), json!({"ttl": 60}), json!({"proxied": true})] {
        lab.sim.edit(&lab.zone, &id, patch.clone());
        lab.plan().await.exits(2).says("www A");
        lab.apply().await.exits(0);
        let record = lab.records("www.example.com", "A").remove(0);
        let found = (record["content"].clone(), record["ttl"].clone(), record["proxied"].clone());
        assert_eq!(found, (json!("192.0.2.1"), json!(300), json!(false)), "{patch}");
    }
    lab.sim.remove(&lab.zone, &id);
    lab.apply().await.exits(0);
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1"], "a deleted record comes back");
}

#[tokio::test]
async fn a_wiped_marker_is_written_again_by_adoption() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    let id = lab.records("www.example.com", "A")[0]["id"].as_str().expect("an id").to_owned();
    lab.sim.edit(&lab.zone, &id, json!({"comment": "a note by hand"}));
    lab.apply().await.exits(0);
    assert_eq!(lab.records("www.example.com", "A")[0]["id"], id.as_str());
    assert!(lab.comments("www.example.com", "A")[0].starts_with("a note by hand zk1:"));
}

#[tokio::test]
async fn the_folder_speaks_only_for_zones_that_it_declares() {
    let lab = Lab::start().await;
    let other = lab.sim.zone("example.net", cloudflare_sim::Plan::Free);
    lab.folder.put("other.yaml", &[crate::support::zone("example.net")]);
    lab.applied(&[www("192.0.2.1"), records("www.example.net", "A", &["192.0.2.1"])]).await;
    lab.folder.remove("other.yaml");
    lab.want(&[www("192.0.2.1")]);
    lab.plan().await.exits(0);
    lab.apply().await.exits(0);
    assert_eq!(lab.contents_of(&other).len(), 1);
}

#[tokio::test]
async fn a_proxied_record_has_automatic_ttl_whatever_was_asked() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1").with("ttl", 120).with("cloudflare.proxied", true)]).await;
    let record = lab.records("www.example.com", "A").remove(0);
    assert_eq!((&record["proxied"], &record["ttl"]), (&json!(true), &json!(1)));
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn defaults_of_the_zone_hold_where_a_record_says_nothing() {
    let lab = Lab::start().await;
    lab.declare(
        crate::support::zone("example.com")
            .with("defaults", json!({"ttl": 600, "cloudflare": {"proxied": true}})),
    );
    let plain = records("plain.example.com", "A", &["192.0.2.1"]).with("cloudflare.proxied", false);
    lab.applied(&[www("192.0.2.1"), plain, records("example.com", "TXT", &["x"])]).await;
    assert_eq!(lab.records("www.example.com", "A")[0]["proxied"], true);
    assert_eq!(lab.records("plain.example.com", "A")[0]["ttl"], 600);
    assert_eq!(
        lab.records("example.com", "TXT")[0]["proxied"],
        false,
        "TXT can't be proxied, and need not say so"
    );
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn one_change_that_cloudflare_refuses_stops_no_other() {
    let lab = Lab::start().await;
    lab.want(&[
        www("192.0.2.1"),
        records("api.example.com", "A", &["192.0.2.2"]).with("cloudflare.tags", json!(["team:a"])),
    ]);
    lab.apply().await.exits(1).says("ProviderRejected").says("tags");
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"], "tags need a paid plan");
}

#[tokio::test]
async fn a_lost_reply_is_no_second_record() {
    let lab = Lab::start().await;
    lab.want(&[www("192.0.2.1"), records("api.example.com", "A", &["192.0.2.2"])]);
    lab.sim.faults(vec![Fault::cut_after_write(1)]);
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 2);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn an_unreachable_provider_is_an_error_and_no_deletion() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    let listings = Match { scope: Scope::Listings, ..Match::default() };
    lab.sim.faults(vec![Fault::new(listings, Action::Json(500))]);
    let writes = lab.sim.writes();
    lab.want(&[records("api.example.com", "A", &["192.0.2.1"])]);
    lab.plan().await.exits(1).says("ProviderUnavailable");
    lab.apply().await.exits(1).says("ProviderUnavailable");
    assert_eq!(lab.sim.writes(), writes);
    lab.sim.faults(Vec::new());
    lab.apply().await.exits(0);
    assert_eq!(lab.contents(), ["api.example.com A 192.0.2.1"]);
}
