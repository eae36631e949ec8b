//! What a zone's worker owes: it reads before it deletes, repeats nothing blindly, counts, and writes down first. Each
//! scenario is run with the deliberate faults that it must catch.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod adapting;
mod leaving;
mod server;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::Duration,
};

use server::Server;
use zonekeeper::engine::GuardRecord;
use zonekeeper_kernel::{
    desired::Adoption,
    guard::{Approval, Limits},
    mutant::{self, MUTANTS, Part},
    name::Name,
    plan::Evidence,
    rdata::{Rdata, RecordType},
};
use zonekeeper_tests::{
    stage::{Marks, Stage},
    wish::{Wish, want},
};

/// What was saved, and how many writes the server had seen then.
type Saved = Arc<Mutex<Vec<(GuardRecord, usize)>>>;

/// Saves what the guard must not forget.
fn save_into(stage: &mut Stage, server: &Arc<Server>) -> Saved {
    let (saved, server) = (Saved::default(), server.clone());
    let entries = saved.clone();
    stage.store = Some(Arc::new(move |record: &GuardRecord| {
        let writes = server.state().writes;
        entries.lock().unwrap().push((record.clone(), writes));
    }));
    saved
}

fn sets(range: std::ops::Range<usize>) -> Vec<Wish> {
    range.map(|i| want("A", &format!("w{i}"), ["192.0.2.1"])).collect()
}

/// A zone with these sets, and a worker that starts after they came.
async fn zone_with(wishes: &[Wish], limits: Option<Limits>) -> (Arc<Server>, Stage) {
    let server = Arc::new(Server::default());
    let mut stage = Stage::new(server.clone(), Marks::Comment);
    assert!(stage.sync(wishes).await.unwrap().failed.is_empty());
    stage.limits = limits;
    stage.restart();
    server.state().writes = 0;
    (server, stage)
}

/// Somebody else makes a record their own.
fn repurpose(server: &Server, name: &str) {
    for (at, record) in &mut server.state().records {
        if at.first_label() == name {
            record.rdata = Rdata::parse(RecordType::A, "198.51.100.7").unwrap();
            record.comment = "mine now".into();
        }
    }
}

async fn a_delete_is_read_first() {
    let (server, mut stage) = zone_with(&sets(0..2), None).await;
    stage.sync(&sets(0..2)).await.unwrap();
    repurpose(&server, "w1");
    stage.sync(&sets(0..1)).await.unwrap();
    assert!(server.contents().iter().any(|line| line.contains("198.51.100.7")), "{:?}", server.contents());
    // What is known to be as it was goes.
    stage.sync(&[]).await.unwrap();
    assert_eq!(server.contents().len(), 1);
}

async fn a_stale_update_is_read_first() {
    let (server, mut stage) = zone_with(&sets(0..1), None).await;
    stage.sync(&sets(0..1)).await.unwrap();
    for (_, record) in &mut server.state().records {
        record.comment = "mine now zk1:aaaaaaaa:recordset/x/y:aaaaaaaaaaaaaaaa".into();
    }
    tokio::time::advance(Duration::from_secs(6)).await;
    let wish = want("A", "w0", ["192.0.2.9"]).adopting(Adoption::Never);
    stage.sync(&[wish]).await.unwrap();
    let values = stage.values("w0", "A").await;
    assert!(values.contains(&"192.0.2.1".into()), "another owner's value stays beside ours: {values:?}");
}

async fn a_lost_reply_is_not_repeated() {
    let (server, mut stage) = zone_with(&[], None).await;
    server.state().lost_replies = 1;
    let pass = stage.sync(&sets(0..3)).await.unwrap();
    assert!(pass.failed.is_empty(), "{:?}", pass.failed);
    assert_eq!(server.contents().len(), 3, "{:?}", server.contents());
    assert_eq!(server.state().writes, 1, "what was written is found, not written again");
}

async fn deletes_add_up_within_a_window() {
    // Of few sets, three may go within a window.
    let (server, mut stage) = zone_with(&sets(0..6), Some(Limits::default())).await;
    stage.sync(&sets(0..4)).await.unwrap();
    assert_eq!(server.contents().len(), 4);
    let pass = stage.sync(&sets(0..2)).await.unwrap();
    assert_eq!((server.contents().len(), pass.verdict.held.len()), (4, 2));
    tokio::time::advance(Duration::from_secs(601)).await;
    stage.sync(&sets(0..2)).await.unwrap();
    assert_eq!(server.contents().len(), 2, "in the next window they may");
}

async fn a_lost_delete_counts() {
    let (server, mut stage) = zone_with(&sets(0..6), Some(Limits::default())).await;
    server.state().lost_replies = 1;
    stage.sync(&sets(0..3)).await.unwrap();
    assert_eq!(server.contents().len(), 3);
    let pass = stage.sync(&sets(0..2)).await.unwrap();
    assert_eq!((server.contents().len(), pass.verdict.held.len()), (3, 1));
}

async fn an_approval_is_written_down_first() {
    let (server, mut stage) = zone_with(&sets(0..6), Some(Limits::default())).await;
    let saved = save_into(&mut stage, &server);
    let held = stage.sync(&sets(0..1)).await.unwrap().verdict;
    assert_eq!((server.contents().len(), held.held.len()), (6, 5));
    stage.sync_approved(&sets(0..1), &Approval::Held(held.hash.clone())).await.unwrap();
    assert_eq!(server.contents().len(), 1);
    let saved = saved.lock().unwrap();
    let used: Vec<_> =
        saved.iter().filter_map(|(record, writes)| Some((record.used.clone()?, *writes))).collect();
    assert_eq!(used, [(held.hash, 0)], "once, before anything was sent");
}

async fn an_approval_of_what_does_not_count_is_written_down_once() {
    let (server, mut stage) = zone_with(&sets(0..6), Some(Limits::default())).await;
    let saved = save_into(&mut stage, &server);
    // Nothing was seen of the objects that are missing: their records are orphans, which the window does not count.
    stage.evidence = Evidence::seen([]);
    let held = stage.sync(&sets(0..1)).await.unwrap().verdict;
    stage.sync_approved(&sets(0..1), &Approval::Held(held.hash.clone())).await.unwrap();
    assert_eq!((server.contents().len(), saved.lock().unwrap().len()), (1, 1));
}

async fn the_window_is_written_down_first() {
    let (server, mut stage) = zone_with(&sets(0..6), Some(Limits::default())).await;
    let saved = save_into(&mut stage, &server);
    stage.sync(&sets(0..4)).await.unwrap();
    let saved = saved.lock().unwrap();
    let first = saved.first().map(|(record, writes)| (record.window.deletes, *writes));
    assert_eq!(first, Some((2, 0)), "with what is about to go, before it goes");
}

async fn what_was_read_before_saving_is_not_read_again() {
    let (server, mut stage) = zone_with(&sets(0..6), Some(Limits::default())).await;
    stage.sync(&sets(0..6)).await.unwrap();
    let reads = || server.state().reads;
    let (before, _saved) = (reads(), save_into(&mut stage, &server));
    stage.sync(&sets(0..5)).await.unwrap();
    assert_eq!((server.contents().len(), reads() - before), (5, 1), "one read before the delete");
}

async fn a_wiped_marker_is_put_back() {
    let server = Arc::new(Server::default());
    let mut stage = Stage::new(server.clone(), Marks::Comment);
    let wish = || [want("A", "www", ["192.0.2.1"]).adopting(Adoption::Never)];
    stage.sync(&wish()).await.unwrap();
    server.state().records[0].1.comment = "".into();
    stage.worker.forget();
    let pass = stage.sync(&wish()).await.unwrap();
    assert!(pass.plan.rejections.is_empty(), "{:?}", pass.plan.rejections);
    assert!(server.state().records[0].1.comment.contains("zk1:"));
}

async fn what_was_seen_with_our_marker_stays_ours_at_its_place() {
    // Nothing but the marker says so, and this worker only read it.
    let (server, mut stage) = zone_with(&sets(0..2), None).await;
    let wishes = || sets(0..2).into_iter().map(|wish| wish.adopting(Adoption::Never)).collect::<Vec<_>>();
    stage.sync(&wishes()).await.unwrap();
    for (name, record) in &mut server.state().records {
        record.comment = "".into();
        if name.first_label() == "w1" {
            *name = Name::parse("theirs.example.com").unwrap();
        }
    }
    stage.worker.forget();
    let pass = stage.sync(&wishes()).await.unwrap();
    assert!(pass.plan.rejections.is_empty(), "{:?}", pass.plan.rejections);
    let state = server.state();
    let comment_of = |label: &str| {
        let mut found = state.records.iter().filter(|(name, _)| name.first_label() == label);
        found.next().map(|(_, record)| record.comment.to_string()).unwrap_or_default()
    };
    assert!(comment_of("w0").contains("zk1:"), "a wiped marker is drift");
    assert_eq!(comment_of("theirs"), "", "what was renamed is theirs");
}

/// The line is cut after every single write, in the middle of sets and of changes of type, and a new worker goes on.
async fn a_crash_at_every_write_ends_the_same() {
    let before = || {
        let mut wishes = sets(0..3);
        wishes.push(want("A", "pair", ["192.0.2.1", "192.0.2.2"]));
        wishes
    };
    let after = || {
        let mut wishes = sets(1..5);
        wishes.push(want("CNAME", "pair", ["target.example.net"]));
        wishes
    };
    let (clean, mut stage) = zone_with(&before(), None).await;
    stage.sync(&after()).await.unwrap();
    for writes in 0..8 {
        let (server, mut stage) = zone_with(&before(), None).await;
        server.state().edits_left = Some(writes);
        // It does not matter what a worker says that is cut off.
        let _ = stage.sync_once(&after()).await;
        server.state().edits_left = None;
        stage.restart();
        stage.sync(&after()).await.unwrap();
        assert_eq!(server.contents(), clean.contents(), "cut after {writes} writes");
    }
}

/// Runs a scenario in virtual time, in this thread, where a fault is switched on.
fn run(name: &str) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        match name {
            "a_delete_is_read_first" => a_delete_is_read_first().await,
            "a_stale_update_is_read_first" => a_stale_update_is_read_first().await,
            "a_lost_reply_is_not_repeated" => a_lost_reply_is_not_repeated().await,
            "deletes_add_up_within_a_window" => deletes_add_up_within_a_window().await,
            "a_lost_delete_counts" => a_lost_delete_counts().await,
            "an_approval_is_written_down_first" => an_approval_is_written_down_first().await,
            "an_approval_of_what_does_not_count_is_written_down_once" => {
                an_approval_of_what_does_not_count_is_written_down_once().await
            }
            "the_window_is_written_down_first" => the_window_is_written_down_first().await,
            "what_was_read_before_saving_is_not_read_again" => {
                what_was_read_before_saving_is_not_read_again().await
            }
            "a_wiped_marker_is_put_back" => a_wiped_marker_is_put_back().await,
            "what_was_seen_with_our_marker_stays_ours_at_its_place" => {
                what_was_seen_with_our_marker_stays_ours_at_its_place().await
            }
            "a_crash_at_every_write_ends_the_same" => a_crash_at_every_write_ends_the_same().await,
            other => panic!("no scenario is called {other}"),
        }
    });
}

macro_rules! scenarios {
    ($($name:ident)*) => { mod holds { $(#[test] fn $name() { super::run(stringify!($name)); })* } };
}

scenarios! {
    a_delete_is_read_first
    a_stale_update_is_read_first
    a_lost_reply_is_not_repeated
    deletes_add_up_within_a_window
    a_lost_delete_counts
    an_approval_is_written_down_first
    an_approval_of_what_does_not_count_is_written_down_once
    the_window_is_written_down_first
    what_was_read_before_saving_is_not_read_again
    a_wiped_marker_is_put_back
    what_was_seen_with_our_marker_stays_ours_at_its_place
    a_crash_at_every_write_ends_the_same
}

#[test]
fn every_mutant_is_caught_by_its_scenario() {
    let zones = MUTANTS.iter().filter(|mutant| mutant.part == Part::Zone);
    let missed: Vec<_> = zones
        .filter(|mutant| {
            mutant::with(mutant.name, || catch_unwind(AssertUnwindSafe(|| run(mutant.caught_by)))).is_ok()
        })
        .map(|mutant| format!("{} is not caught by {}", mutant.name, mutant.caught_by))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
