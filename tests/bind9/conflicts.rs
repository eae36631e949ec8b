//! What is somebody else's stays, and who asks for it is told.

use serde_json::json;

use crate::site::Site;

/// Case 5; the answer of the API is AdoptionRefused where the case says Conflict.
#[tokio::test]
async fn a_set_without_our_mark_is_taken_over_only_on_request() {
    let site = Site::ready_to_run("unowned").await;
    site.by_hand("update add www.ZONE 300 A 192.0.2.66\nupdate add same.ZONE 300 A 192.0.2.1");
    site.run();
    let message = site.not_ready(&site.a("www", "192.0.2.1"), "AdoptionRefused").await;
    assert!(message.contains("192.0.2.66"), "{message}");
    assert_eq!(site.served("www", "A"), ["192.0.2.66"]);
    // What is equal is adopted with a marker, and nothing else is written.
    let serial = site.serial();
    site.ready(&site.a("same", "192.0.2.1")).await;
    assert_eq!((site.served("a-same", "TXT").len(), site.serial()), (1, serial + 1));
    site.ready(&site.a("www", "192.0.2.1").with("adoption", "Force")).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
}

/// Cases 6 and 7: BIND says NOERROR to both, and does nothing. The answer of the API is AdoptionRefused where they say
/// Conflict, because what is there is nobody's.
#[tokio::test]
async fn an_alias_and_an_address_never_meet() {
    let site = Site::ready_to_run("alias").await;
    site.by_hand(
        "update add address.ZONE 300 A 192.0.2.66\nupdate add alias.ZONE 300 CNAME theirs.example.net.",
    );
    site.run();
    let alias = site.records("address", "CNAME", &["ours.example.net"]);
    let address = site.a("alias", "192.0.2.1");
    for wish in [alias, address] {
        site.not_ready(&wish, "AdoptionRefused").await;
        let name = wish.0["metadata"]["name"].as_str().expect("a name");
        site.wait_condition("RecordSet", name, "Programmed", "False", "AdoptionRefused").await;
    }
    assert_eq!(site.served("address", "A"), ["192.0.2.66"]);
    assert_eq!(site.served("alias", "CNAME"), ["theirs.example.net."]);
    // Between two objects of our own the first one stays.
    site.ready(&site.a("ours", "192.0.2.1")).await;
    let message =
        site.not_ready(&site.records("ours", "CNAME", &["x.example.net"]).named("later"), "Conflict").await;
    assert!(message.contains("ours"), "{message}");
    assert_eq!(site.served("ours", "A"), ["192.0.2.1"]);
}

/// Case 57.
#[tokio::test]
async fn another_namespace_needs_a_grant() {
    let site = Site::new("granted").await;
    let tenant = site.tenant(json!({"team": "a"})).await;
    let wish = site.a("www", "192.0.2.1").in_namespace(tenant.name());
    let message = site.not_ready(&wish, "NotAllowed").await;
    assert!(message.contains("allowedRecords"), "{message}");
    assert_eq!(site.served("www", "A"), [""; 0]);
    let grant = json!([{"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "a"}}}}]);
    site.apply(&site.dns_zone().with("allowedRecords", grant)).await;
    site.wait_ready("RecordSet", &format!("{}/www", tenant.name())).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
}
