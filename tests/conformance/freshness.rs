//! A record that was read a while ago is read again before it is written; time is paused, there is no socket.

use std::time::Duration;

use zonekeeper_kernel::{capability::Capabilities, rdata::Rdata};
use zonekeeper_tests::{
    outside::by_hand,
    stage::{Marks, Stage},
    wish::{Wish, want},
};

fn www(target: &str) -> Wish {
    want("CNAME", "www", [target]).ttl(300)
}

/// A fresh worker that has listed the zone, and a record that somebody took over since.
async fn repurposed(comment: &str) -> Stage {
    let mut stage = Stage::memory(Marks::Comment, Capabilities::standard()).await;
    stage.sync(&[www("ours.example.net")]).await.expect("a pass");
    stage.restart();
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
    for comment in ["mine now", "zk1:abcdefgh:ingress/shop/web:abcdefghijklmnop"] {
        let mut stage = repurposed(comment).await;
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
    let mut stage = Stage::memory(Marks::Txt, Capabilities::cloudflare(60)).await;
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
    for comment in ["mine now", "zk1:abcdefgh:ingress/shop/web:abcdefghijklmnop"] {
        let mut stage = repurposed(comment).await;
        let before = stage.listing().await;
        let pass = stage.sync(&[]).await.expect("a pass");
        assert!(pass.applied.is_empty(), "{:#?}", pass.applied);
        assert_eq!(stage.listing().await, before);
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
