//! Sets of values: created, changed, deleted, few and many.

use zonekeeper_kernel::{
    rdata::RecordType,
    record::{RecordId, Ttl},
};
use zonekeeper_tests::wish::{Wish, want, want_all};

use crate::ground::Ground;

pub async fn one_set_is_created_updated_and_deleted(ground: &mut Ground) {
    ground.settle(&[want("A", "www", ["192.0.2.1"])]).await;
    ground.holds("www", "A", ["192.0.2.1"]).await;
    let id = ground.set("www", RecordType::A).await[0].id.clone();
    ground.settle(&[want("A", "www", ["192.0.2.2"])]).await;
    ground.holds("www", "A", ["192.0.2.2"]).await;
    let after = ground.set("www", RecordType::A).await[0].id.clone();
    assert!(after == id || !ground.has_identities(), "changed in place");
    ground.clear().await;
}

pub async fn values_are_added_removed_and_replaced(ground: &mut Ground) {
    let steps: [&[&str]; 6] = [
        &["192.0.2.1"],
        &["192.0.2.1", "192.0.2.2", "192.0.2.3"],
        &["192.0.2.1", "192.0.2.3"],
        &["192.0.2.4", "192.0.2.5"],
        &["192.0.2.5", "192.0.2.6", "192.0.2.7"],
        &["192.0.2.6"],
    ];
    for step in steps {
        let values = || step.iter().map(|value| (*value).to_owned());
        ground.settle(&[want_all("A", "www", values())]).await;
        assert_eq!(ground.stage.values("www", "A").await, values().collect::<Vec<_>>());
    }
    ground.clear().await;
}

pub async fn a_ttl_changes_alone_and_in_place(ground: &mut Ground) {
    let wish = || want("A", "www", ["192.0.2.1", "192.0.2.2"]);
    let look = async |ground: &Ground| -> Vec<(RecordId, Ttl)> {
        ground.set("www", RecordType::A).await.into_iter().map(|record| (record.id, record.ttl)).collect()
    };
    ground.settle(&[wish().ttl(300)]).await;
    let before = look(ground).await;
    let pass = ground.settle(&[wish().ttl(600)]).await;
    assert_eq!(pass.applied.len(), 1, "one change of one set");
    let after: Vec<(RecordId, Ttl)> = before.into_iter().map(|(id, _)| (id, Ttl(600))).collect();
    assert_eq!(look(ground).await, after);
    ground.settle(&[wish()]).await;
    let default = ground.stage.access.traits().capabilities.default_ttl;
    assert!(look(ground).await.iter().all(|(_, ttl)| *ttl == default), "without a wish, the default");
    ground.clear().await;
}

pub async fn a_priority_changes_alone_and_in_place(ground: &mut Ground) {
    let wishes = |priority: u8| {
        [
            want("MX", "mail", [&format!("{priority} mx.example.net")]),
            want("SRV", "_sip._tcp", [&format!("{priority} 5 5060 sip.example.net")]),
            want("URI", "_http._tcp", [&format!("{priority} 1 \"https://www.example.net/\"")]),
            want("HTTPS", "svc", [&format!("{priority} svc.example.net port=8443")]),
        ]
    };
    ground.settle(&wishes(10)).await;
    let ids = async |ground: &Ground| -> Vec<RecordId> {
        let mut ids: Vec<RecordId> =
            ground.stage.listing().await.into_iter().map(|(_, record)| record.id).collect();
        ids.sort();
        ids
    };
    let before = ids(ground).await;
    ground.settle(&wishes(20)).await;
    ground.holds("mail", "MX", ["20 mx.example.net"]).await;
    ground.holds("_sip._tcp", "SRV", ["20 5 5060 sip.example.net"]).await;
    ground.holds("_http._tcp", "URI", ["20 1 \"https://www.example.net/\""]).await;
    ground.holds("svc", "HTTPS", ["20 svc.example.net port=8443"]).await;
    assert!(ids(ground).await == before || !ground.has_identities(), "changed in place");
    ground.clear().await;
}

pub async fn a_hundred_values_make_one_set(ground: &mut Ground) {
    let values = |from: usize| (from..from + 100).map(|i| format!("192.0.2.{i}"));
    ground.settle(&[want_all("A", "many", values(1))]).await;
    assert_eq!(ground.set("many", RecordType::A).await.len(), 100);
    // Half of the values are others now: the records of those that went become those that came.
    ground.settle(&[want_all("A", "many", values(51))]).await;
    let mut expected: Vec<String> = values(51).collect();
    let mut found = ground.stage.values("many", "A").await;
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    ground.clear().await;
}

pub async fn three_hundred_changes_at_once(ground: &mut Ground) {
    let sets = |names: std::ops::Range<usize>, value: &str| -> Vec<Wish> {
        names.map(|i| want("A", &format!("host-{i}"), [value])).collect()
    };
    let pass = ground.settle(&sets(0..300, "192.0.2.1")).await;
    assert_eq!(pass.applied.len(), 300);
    // 100 updates, 100 deletes, 100 creates.
    let mut wishes = sets(100..200, "192.0.2.1");
    wishes.extend(sets(200..300, "192.0.2.2"));
    wishes.extend(sets(300..400, "192.0.2.3"));
    let pass = ground.settle(&wishes).await;
    assert_eq!(pass.applied.len(), 300);
    ground.holds("host-0", "A", []).await;
    ground.holds("host-150", "A", ["192.0.2.1"]).await;
    ground.holds("host-250", "A", ["192.0.2.2"]).await;
    ground.holds("host-350", "A", ["192.0.2.3"]).await;
    ground.clear().await;
}

pub async fn several_types_share_a_name(ground: &mut Ground) {
    let all = [
        want("A", "www", ["192.0.2.1"]),
        want("AAAA", "www", ["2001:db8::1"]),
        want("MX", "www", ["10 mx.example.net", "20 mx.example.net"]),
        want("TXT", "www", ["one", "two"]),
        want("CAA", "www", ["0 issue \"ca.example.net\""]),
    ];
    ground.settle(&all).await;
    ground.settle(&all[1..4]).await;
    ground.holds("www", "A", []).await;
    ground.holds("www", "AAAA", ["2001:db8::1"]).await;
    ground.holds("www", "MX", ["10 mx.example.net", "20 mx.example.net"]).await;
    ground.holds("www", "TXT", ["one", "two"]).await;
    ground.holds("www", "CAA", []).await;
    ground.clear().await;
}
