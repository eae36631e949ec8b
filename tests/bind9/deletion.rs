//! Deletion: nothing is stranded, nothing is forgotten, and a zone that goes leaves its data.

use serde_json::json;

use crate::{site::Site, support::condition};

/// Case 53.
#[tokio::test]
async fn an_object_stays_until_its_record_is_gone_or_it_is_released() {
    let mut site = Site::new("unreachable").await;
    site.ready(&site.a("one", "192.0.2.1")).await;
    site.ready(&site.a("two", "192.0.2.2")).await;
    site.server.kill();
    for name in ["one", "two"] {
        site.delete("RecordSet", name).await;
        let object = site
            .wait("RecordSet", name, "why it stays", |object| {
                condition(object, "Ready").reason == "ProviderUnavailable"
            })
            .await;
        assert_eq!(object["metadata"]["finalizers"], json!(["zonekeeper.dev/record"]));
    }
    site.annotate("RecordSet", "two", "zonekeeper.dev/release", "true").await;
    site.wait_gone("RecordSet", "two").await;
    site.server.restart().expect("it starts again");
    site.wait_gone("RecordSet", "one").await;
    assert_eq!(site.served("one", "A"), [""; 0]);
    assert_eq!(site.served("a-one", "TXT"), [""; 0], "nor its marker");
    // What was let go stays, and is listed until a person approves that it goes.
    site.wait("DNSZone", "zone", "the orphan", |object| object["status"]["records"]["orphaned"] == 1).await;
    assert_eq!(site.served("two", "A"), ["192.0.2.2"]);
}

/// Case 54: the zone itself belongs to its server, so that only Retain concerns us.
#[tokio::test]
async fn a_zone_object_that_goes_leaves_its_data() {
    let site = Site::new("zone-gone").await;
    site.ready(&site.a("www", "192.0.2.1")).await;
    site.apply(&site.dns_zone().with("lifecycle", json!({"deletionPolicy": "Delete"}))).await;
    let message = site.wait_reason("DNSZone", "zone", "InvalidValue").await;
    assert!(message.contains("spec.lifecycle.deletionPolicy") && message.contains("Retain"), "{message}");
    let serial = site.serial();
    site.delete("DNSZone", "zone").await;
    site.wait("DNSZone", "zone", "why it stays", |object| !condition(object, "Ready").is("True")).await;
    site.annotate("DNSZone", "zone", "zonekeeper.dev/release", "true").await;
    site.wait_gone("DNSZone", "zone").await;
    assert_eq!((site.served("www", "A"), site.serial()), (vec!["192.0.2.1".to_owned()], serial));
    // And takes it up again where it left it.
    site.ready(&site.dns_zone()).await;
    site.wait_ready("RecordSet", "www").await;
    assert_eq!(site.serial(), serial);
}
