//! The provider is cut off after call n, before and after the write applies, for every n: the end is the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use cloudflare_sim::{Fault, Plan, When, ZoneState};
use serde_json::{Value, json};
use zonekeeper_tests::{
    stage::{AtCloudflare, Marks},
    wish::{Wish, want},
};

const FOREIGN: usize = 1_000;

/// What the zone holds before: 100 sets that are updated, retyped or deleted by [`after`].
fn before() -> Vec<Wish> {
    let mut wishes = Vec::new();
    for i in 0..50 {
        wishes.push(want("A", &format!("update-{i}"), [&format!("192.0.2.{i}")]));
    }
    for i in 0..20 {
        wishes.push(want("A", &format!("retype-{i}"), [&format!("192.0.2.{i}"), "192.0.2.254"]));
        wishes.push(want("AAAA", &format!("retype-{i}"), ["2001:db8::1"]));
        wishes.push(want("CNAME", &format!("alias-{i}"), ["target.example.net"]));
    }
    for i in 0..50 {
        wishes.push(want("TXT", &format!("delete-{i}"), [&format!("text {i}")]));
    }
    wishes
}

/// 200 changes: 60 creates, 50 updates, 40 changes of type, 50 deletes.
fn after() -> Vec<Wish> {
    let mut wishes = Vec::new();
    for i in 0..50 {
        wishes.push(want("A", &format!("update-{i}"), [&format!("192.0.2.{}", 100 + i)]).ttl(600));
    }
    for i in 0..20 {
        wishes.push(want("CNAME", &format!("retype-{i}"), ["target.example.net"]));
        wishes.push(want("A", &format!("alias-{i}"), ["192.0.2.1", "192.0.2.2"]));
    }
    for i in 0..50 {
        wishes.push(want("AAAA", &format!("create-{i}"), ["2001:db8::2"]));
    }
    for i in 50..60 {
        wishes.push(want("MX", &format!("create-{i}"), ["10 mail.example.net", "20 mail.example.net"]));
    }
    wishes
}

fn seed_foreign(at: &AtCloudflare) -> BTreeSet<String> {
    for i in 0..FOREIGN {
        at.sim.seed(
            &at.zone,
            json!({"type": "A", "name": format!("foreign-{i}"), "content": "192.0.2.77", "ttl": 300}),
        );
    }
    foreign(at)
}

/// The foreign records as they are, ids and times included.
fn foreign(at: &AtCloudflare) -> BTreeSet<String> {
    let is_foreign =
        |record: &&Value| record["name"].as_str().is_some_and(|name| name.starts_with("foreign-"));
    at.sim.records(&at.zone).iter().filter(is_foreign).map(Value::to_string).collect()
}

async fn prepared(marks: Marks, batch_limit: Option<usize>) -> (AtCloudflare, BTreeSet<String>) {
    let mut at = AtCloudflare::start(Plan::Enterprise).await;
    let foreign = seed_foreign(&at);
    let pass = at.stage(marks).await.sync(&before()).await.unwrap();
    assert!(pass.failed.is_empty());
    at.batch_limit = batch_limit;
    (at, foreign)
}

/// What one run does, write by write.
struct CleanRun {
    /// The zone before it, and after each of its writes.
    states: Vec<ZoneState>,
    end: Vec<Value>,
}

impl CleanRun {
    async fn of(at: &AtCloudflare, marks: Marks) -> Self {
        let start = at.sim.state(&at.zone).unwrap();
        let writes_before = at.sim.writes();
        at.sim.keep_states(&at.zone);
        let pass = at.stage(marks).await.sync(&after()).await.unwrap();
        assert_eq!(pass.applied.len(), 200, "a plan of 200 changes");
        let states: Vec<ZoneState> = std::iter::once(start).chain(at.sim.kept_states()).collect();
        assert_eq!(states.len(), at.sim.writes() - writes_before + 1, "a state for each write");
        Self { states, end: at.contents() }
    }

    fn writes(&self) -> usize {
        self.states.len() - 1
    }
}

/// A run that was cut off before write n, or after write n - 1, leaves the same: the state after n - 1 writes of a clean run.
/// So a new process starts from each of those states, and a real cut proves for some that they are what it leaves.
async fn sweep(marks: Marks, batch_limit: Option<usize>) {
    let (at, foreign_before) = prepared(marks, batch_limit).await;
    let clean = CleanRun::of(&at, marks).await;
    for (written, state) in clean.states.iter().enumerate() {
        at.sim.restore(&at.zone, state);
        recovers(&at, marks, &clean, &foreign_before, &format!("{written} of {} writes", clean.writes()))
            .await;
    }
    let last = clean.writes();
    for n in BTreeSet::from([1, 2, last / 2, last - 1, last]).into_iter().filter(|n| (1..=last).contains(n)) {
        for when in [When::Before, When::After] {
            let label = format!("cut {when:?} write {n} of {last}");
            at.sim.restore(&at.zone, &clean.states[0]);
            at.sim.faults(vec![Fault::cut_from_write(n as u64, when)]);
            let cut_off = at.stage(marks).await.sync_once(&after()).await;
            assert!(cut_off.is_err() || !cut_off.unwrap().failed.is_empty(), "{label}: nothing was cut off");
            at.sim.faults(Vec::new());
            let left = at.contents();
            at.sim.restore(&at.zone, &clean.states[if when == When::Before { n - 1 } else { n }]);
            assert_eq!(left, at.contents(), "{label} leaves what a clean run shows at that write");
        }
    }
    let mut whole = at.clone();
    whole.batch_limit = None;
    let start = {
        at.sim.restore(&at.zone, &clean.states[0]);
        at.contents()
    };
    at.sim.restore(&at.zone, &clean.states[last]);
    whole.stage(marks).await.sync(&before()).await.unwrap();
    assert_eq!(at.contents(), start, "and back");
}

/// A new process comes to the same end, and then has nothing to do.
async fn recovers(
    at: &AtCloudflare,
    marks: Marks,
    clean: &CleanRun,
    foreign_before: &BTreeSet<String>,
    label: &str,
) {
    let mut stage = at.stage(marks).await;
    let pass = stage.sync(&after()).await.unwrap();
    assert!(pass.failed.is_empty() && pass.verdict.held.is_empty(), "{label}: {:?}", pass.failed);
    assert_eq!(at.contents(), clean.end, "{label}");
    assert_eq!(foreign(at), *foreign_before, "foreign records, {label}");
    let quiet = at.sim.writes();
    stage.restart();
    stage.sync(&after()).await.unwrap();
    assert_eq!(at.sim.writes(), quiet, "a second run writes nothing, {label}");
}

#[tokio::test(flavor = "multi_thread")]
async fn full_batches_with_comment_markers() {
    sweep(Marks::Comment, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn full_batches_with_txt_markers() {
    sweep(Marks::Txt, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn single_writes_with_comment_markers() {
    sweep(Marks::Comment, Some(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn single_writes_with_txt_markers() {
    sweep(Marks::Txt, Some(1)).await;
}
