//! A record that was read a while ago is read again before it is written; time is paused, there is no socket.

use std::time::Duration;

use cloudflare_sim::Plan as SimPlan;
use serde_json::json;
use zonekeeper_kernel::{capability::Capabilities, desired::Adoption, rdata::Rdata};
use zonekeeper_providers::cloudflare;
use zonekeeper_tests::{
    outside::by_hand,
    stage::{AtCloudflare, Marks, Stage},
    wish::{Wish, want},
};

fn www(target: &str) -> Wish {
    want("CNAME", "www", [target]).ttl(300)
}

/// What the worker remembers of what it wrote.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    Kept,
    Lost,
}

/// Without a marker, a record with an id that we remember, at the name where we wrote it, is ours: that is drift.
const TAKEN: [(&str, Memory); 3] = [
    ("mine now", Memory::Lost),
    ("zk1:abcdefgh:ingress/shop/web:abcdefghijklmnop", Memory::Lost),
    ("zk1:abcdefgh:ingress/shop/web:abcdefghijklmnop", Memory::Kept),
];

/// A worker that has listed the zone, and a record that its new owner changed since.
async fn repurposed(comment: &str, memory: Memory) -> Stage {
    let mut stage = Stage::memory(Marks::Comment, Capabilities::standard()).await;
    stage.sync(&[www("ours.example.net")]).await.expect("a pass");
    if memory == Memory::Lost {
        stage.restart();
    }
    stage.worker.observe().await.expect("a listing");
    let taken = |record: &mut zonekeeper_kernel::record::Record| {
        record.rdata = Rdata::parse(record.rdata.rtype(), "theirs.example.net").expect("a value");
        record.comment = comment.into();
    };
    stage.alter("www", "CNAME", taken).await;
    stage
}

#[tokio::test(start_paused = true)]
async fn an_update_of_a_record_read_long_ago_is_preceded_by_a_read() {
    for (comment, memory) in TAKEN {
        let mut stage = repurposed(comment, memory).await;
        let before = stage.listing().await;
        tokio::time::advance(Duration::from_secs(6)).await;
        let pass = stage.sync(&[www("wanted.example.net")]).await.expect("a pass");
        assert!(pass.applied.is_empty(), "{:#?}", pass.applied);
        assert_eq!(pass.plan.rejections.len(), 1, "a record that somebody took over is foreign");
        assert_eq!(stage.listing().await, before);
    }
}

/// A TXT marker claims a set: beside one that somebody made meanwhile it would claim theirs.
#[tokio::test(start_paused = true)]
async fn a_new_set_is_preceded_by_a_read_where_its_marker_claims_it_whole() {
    let mut stage = Stage::memory(Marks::Txt, cloudflare::capabilities(60, 100)).await;
    stage.worker.observe().await.expect("a listing");
    stage.add(by_hand("A", "www", "203.0.113.1", 300)).await;
    let before = stage.listing().await;
    tokio::time::advance(Duration::from_secs(6)).await;
    let pass = stage.sync(&[want("A", "www", ["192.0.2.1"]).ttl(300)]).await.expect("a pass");
    assert_eq!((pass.plan.rejections.len(), pass.applied.len()), (1, 0), "{:#?}", pass.applied);
    assert_eq!(stage.listing().await, before);
}

#[tokio::test(start_paused = true)]
async fn a_delete_is_preceded_by_a_read_however_fresh_the_listing_is() {
    for (comment, memory) in TAKEN {
        let mut stage = repurposed(comment, memory).await;
        let before = stage.listing().await;
        let pass = stage.sync(&[]).await.expect("a pass");
        assert!(pass.applied.is_empty(), "{:#?}", pass.applied);
        assert_eq!(stage.listing().await, before);
    }
}

/// What is remembered is an id at a name and a type: a record that was renamed, or became another type, and lost its
/// marker is not ours any more, whatever is asked for.
#[tokio::test]
async fn a_record_that_was_renamed_and_kept_is_not_ours_by_its_id() {
    let changes = [
        json!({"name": "theirs.example.com", "comment": ""}),
        json!({"type": "TXT", "content": "\"theirs\"", "comment": ""}),
    ];
    for change in changes {
        for wishes in
            [vec![], vec![www("ours.example.net")], vec![www("new.example.net").adopting(Adoption::Never)]]
        {
            let at = AtCloudflare::start(SimPlan::Free).await;
            let mut stage = at.stage(Marks::Comment).await;
            stage.sync(&[www("ours.example.net")]).await.expect("a pass");
            let (_, record) = stage.only("www", "CNAME").await;
            at.sim.edit(&at.zone, &record.id.0, change.clone());
            let kept = || at.sim.records(&at.zone).into_iter().find(|found| found["id"] == *record.id.0);
            let theirs = kept();
            assert!(theirs.is_some());
            for _ in 0..2 {
                stage.worker.scan();
                stage.sync(&wishes).await.expect("a pass");
                assert_eq!(kept(), theirs, "{change}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_waited_for_where_nothing_goes_wrong() {
    let mut stage = Stage::memory(Marks::Txt, Capabilities::standard()).await;
    let begun = tokio::time::Instant::now();
    for target in ["one.example.net", "two.example.net", "three.example.net"] {
        stage.sync(&[www(target)]).await.expect("a pass");
    }
    stage.sync(&[]).await.expect("a pass");
    assert_eq!(begun.elapsed(), Duration::ZERO);
}
