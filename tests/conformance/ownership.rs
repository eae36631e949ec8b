//! What is not ours, what becomes ours, and what stays ours.

use zonekeeper_kernel::{desired::Adoption, name::Name, rdata::RecordType, record::LiveRecord};
use zonekeeper_tests::{
    outside::by_hand,
    stage::Marks,
    wish::{Wish, want},
};

use crate::ground::Ground;

pub async fn foreign_records_are_never_touched(ground: &mut Ground) {
    let foreign = [
        by_hand("A", "foreign", "192.0.2.77", 300),
        by_hand("A", "@", "192.0.2.78", 300),
        by_hand("TXT", "www", "somebody's text", 300),
        by_hand("MX", "www", "10 mx.example.net", 300),
        by_hand("TXT", "_acme-challenge", "token", 120),
        by_hand("CNAME", "other", "target.example.net", 300),
        by_hand("NS", "sub", "ns1.example.net", 300),
    ];
    for record in foreign {
        ground.stage.add(record).await;
    }
    let before = ground.stage.listing().await;
    ground.settle(&[want("A", "www", ["192.0.2.1"]), want("AAAA", "foreign", ["2001:db8::1"])]).await;
    assert_contains(&ground.stage.listing().await, &before);
    ground.settle(&[want("A", "www", ["192.0.2.2"])]).await;
    assert_contains(&ground.stage.listing().await, &before);
    ground.settle(&[]).await;
    assert_eq!(ground.stage.listing().await, before, "only ours went");
    let message = ground.refuses(&[want("A", "other", ["192.0.2.1"])]).await;
    assert!(message.starts_with("AdoptionRefused") && message.contains("target.example.net"), "{message}");
}

pub async fn adoption_never_refuses_what_is_there(ground: &mut Ground) {
    ground.stage.add(by_hand("CNAME", "www", "target.example.net", 300)).await;
    let message = ground.refuses(&[www().adopting(Adoption::Never)]).await;
    assert!(message.contains("adoption is Never") && message.contains("Force"), "{message}");
}

pub async fn adoption_identical_writes_nothing_but_the_marker(ground: &mut Ground) {
    ground.stage.add(by_hand("CNAME", "www", "target.example.net", 300)).await;
    let (_, before) = ground.stage.only("www", "CNAME").await;
    let pass = ground.settle(&[www()]).await;
    assert_eq!(pass.applied.len(), 1);
    assert!(pass.applied[0].is_marker_only(), "{:#?}", pass.applied);
    let (_, after) = ground.stage.only("www", "CNAME").await;
    assert_eq!(LiveRecord { comment: before.comment.clone(), ..after }, before, "nothing else changed");
    ground.clear().await;
}

pub async fn adoption_identical_refuses_another_value(ground: &mut Ground) {
    ground.stage.add(by_hand("CNAME", "www", "mine.example.net", 300)).await;
    let message = ground.refuses(&[www()]).await;
    assert!(
        message.starts_with("AdoptionRefused") && message.contains("its value is mine.example.net"),
        "{message}"
    );
}

pub async fn adoption_identical_refuses_another_ttl(ground: &mut Ground) {
    ground.stage.add(by_hand("CNAME", "www", "target.example.net", 600)).await;
    let message = ground.refuses(&[www()]).await;
    assert!(
        message.starts_with("AdoptionRefused") && message.contains("its ttl is 600, not 300"),
        "{message}"
    );
}

pub async fn adoption_identical_refuses_another_proxied(ground: &mut Ground) {
    ground.stage.add(by_hand("CNAME", "www", "target.example.net", 300)).await;
    let message = ground.refuses(&[www().proxied()]).await;
    assert!(message.starts_with("AdoptionRefused") && message.contains("its proxied is false"), "{message}");
}

pub async fn adoption_force_changes_in_place_and_claims(ground: &mut Ground) {
    ground.stage.add(by_hand("CNAME", "www", "mine.example.net", 600)).await;
    ground.stage.add(by_hand("A", "api", "192.0.2.9", 600)).await;
    let ids = async |ground: &Ground| {
        let (_, www) = ground.stage.only("www", "CNAME").await;
        let (_, api) = ground.stage.only("api", "A").await;
        (www.id, api.id)
    };
    let before = ids(ground).await;
    let api = want("A", "api", ["192.0.2.1"]).ttl(300);
    ground.settle(&[www().adopting(Adoption::Force), api.adopting(Adoption::Force)]).await;
    ground.holds("www", "CNAME", ["target.example.net"]).await;
    ground.holds("api", "A", ["192.0.2.1"]).await;
    assert!(ids(ground).await == before || !ground.has_identities(), "changed in place");
    ground.clear().await;
}

pub async fn a_value_beside_ours_stays(ground: &mut Ground) {
    let beside = async |ground: &Ground| -> Vec<LiveRecord> {
        let records = ground.set("www", RecordType::A).await;
        records.into_iter().filter(|record| record.rdata.to_string() == "192.0.2.99").collect()
    };
    ground.settle(&[want("A", "www", ["192.0.2.1"])]).await;
    ground.stage.add(by_hand("A", "www", "192.0.2.99", 600)).await;
    let before = beside(ground).await;
    ground.settle(&[want("A", "www", ["192.0.2.2", "192.0.2.3"])]).await;
    ground.holds("www", "A", ["192.0.2.2", "192.0.2.3", "192.0.2.99"]).await;
    ground.settle(&[]).await;
    ground.holds("www", "A", ["192.0.2.99"]).await;
    assert_eq!(beside(ground).await, before);
}

pub async fn a_value_added_to_our_set_goes(ground: &mut Ground) {
    let wishes = [want("A", "www", ["192.0.2.1"]).ttl(300)];
    ground.settle(&wishes).await;
    ground.stage.add(by_hand("A", "www", "192.0.2.99", 300)).await;
    ground.stage.worker.forget();
    ground.settle(&wishes).await;
    ground.holds("www", "A", ["192.0.2.1"]).await;
    ground.clear().await;
}

pub async fn a_wiped_marker_is_drift_and_not_a_loss(ground: &mut Ground) {
    let wishes = [www()];
    let pass = ground.stage.sync(&wishes).await.expect("a pass");
    assert!(pass.failed.is_empty());
    wipe_marker(ground).await;
    let unmarked = ground.stage.listing().await;
    ground.stage.worker.forget();
    let pass = ground.stage.sync(&[www().ttl(600)]).await.expect("a pass");
    assert_eq!(pass.plan.rejections, []);
    assert_eq!(pass.applied.len(), 1);
    assert_ne!(ground.stage.listing().await, unmarked);
    // A process that knows nothing but the zone agrees that it is ours again.
    ground.stage.restart();
    ground.is_quiet(&[www().ttl(600)]).await;
    ground.clear().await;
}

pub async fn a_wiped_marker_is_a_loss_to_another_process(ground: &mut Ground) {
    ground.stage.sync(&[www()]).await.expect("a pass");
    wipe_marker(ground).await;
    ground.stage.restart();
    let message = ground.refuses(&[www().ttl(600)]).await;
    assert!(message.starts_with("AdoptionRefused"), "{message}");
}

async fn wipe_marker(ground: &Ground) {
    match ground.stage.marks {
        Marks::Comment => ground.stage.alter("www", "CNAME", |record| record.comment = "".into()).await,
        Marks::Txt => ground.stage.drop_record("cname-www", "TXT").await,
        Marks::None => unreachable!("the rung needs markers"),
    }
}

fn www() -> Wish {
    want("CNAME", "www", ["target.example.net"]).ttl(300)
}

fn assert_contains(records: &[(Name, LiveRecord)], expected: &[(Name, LiveRecord)]) {
    for record in expected {
        assert!(records.contains(record), "{record:?} is untouched");
    }
}
