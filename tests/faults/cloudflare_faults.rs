//! Cloudflare in trouble: lost replies, rate limits, and records that change between a listing and a write.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use cloudflare_sim::{Action, Fault, Match, Plan, Scope, When, Which};
use serde_json::{Value, json};
use zonekeeper_kernel::{desired::Adoption, guard::Limits, zone::PruneMode};
use zonekeeper_tests::{
    stage::{AtCloudflare, Marks, Stage},
    wish::{Wish, want},
};

fn hosts(count: usize) -> Vec<Wish> {
    (0..count).map(|i| want("A", &format!("host-{i}"), ["192.0.2.1"])).collect()
}

/// Passes, each other one by a fresh process, until nothing is left to do.
async fn until_done(stage: &mut Stage, wishes: &[Wish]) -> usize {
    for passes in 1..=60 {
        if let Ok(pass) = stage.sync_once(wishes).await
            && pass.failed.is_empty()
            && pass.verdict.cleared.changes().is_empty()
            && pass.retry.is_none()
        {
            return passes;
        }
        if passes % 2 == 0 {
            stage.restart();
        }
    }
    panic!("it never ends");
}

/// How often each record was posted.
fn posts(at: &AtCloudflare) -> BTreeMap<String, usize> {
    let mut posts = BTreeMap::new();
    for entry in at.sim.journal() {
        for post in entry.body["posts"].as_array().into_iter().flatten() {
            *posts.entry(format!("{} {} {}", post["name"], post["type"], post["content"])).or_default() += 1;
        }
    }
    posts
}

async fn one_reply_in_five_is_lost(marks: Marks, records: usize) {
    let mut at = AtCloudflare::start(Plan::Enterprise).await;
    at.batch_limit = Some(40);
    let lost =
        Match { scope: Scope::Writes, which: Which::Fraction { rate: 0.2, seed: 7 }, ..Match::default() };
    at.sim.faults(vec![Fault::new(lost, Action::Cut).after()]);
    let mut stage = at.stage(marks).await;
    until_done(&mut stage, &hosts(1_000)).await;
    let cut = at.sim.journal().iter().filter(|entry| entry.fault.is_some()).count();
    assert!(cut >= 3, "{cut} replies were lost");
    assert_eq!(at.sim.records(&at.zone).len(), records);
    let posts = posts(&at);
    assert_eq!(posts.len(), records);
    assert!(posts.values().all(|count| *count == 1), "nothing was sent twice");
    assert!(
        at.sim.journal().iter().all(|entry| entry.status < 400),
        "and nothing was refused as already there"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_whose_reply_is_lost_is_never_sent_twice_with_comment_markers() {
    one_reply_in_five_is_lost(Marks::Comment, 1_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_whose_reply_is_lost_is_never_sent_twice_with_txt_markers() {
    one_reply_in_five_is_lost(Marks::Txt, 2_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_goes_wrong_the_end_is_the_same() {
    let before: Vec<Wish> = hosts(40);
    let mut after: Vec<Wish> = hosts(60).split_off(10);
    after.extend((0..10).map(|i| want("CNAME", &format!("host-{i}"), ["target.example.net"])));
    let clean = AtCloudflare::start(Plan::Enterprise).await;
    clean.stage(Marks::Txt).await.sync(&after).await.unwrap();
    for seed in 0..4 {
        let mut at = AtCloudflare::start(Plan::Enterprise).await;
        at.batch_limit = Some(10);
        at.stage(Marks::Txt).await.sync(&before).await.unwrap();
        let some = |salt: u64| Match {
            which: Which::Fraction { rate: 0.06, seed: seed * 10 + salt },
            ..Match::default()
        };
        let mut stage = at.stage(Marks::Txt).await;
        at.sim.faults(vec![
            Fault::new(some(1), Action::Cut),
            Fault::new(some(2), Action::Cut).after(),
            Fault::new(some(3), Action::Html(502)).after(),
            Fault::new(some(4), Action::Json(500)),
            Fault::new(some(5), Action::Empty(503)).after(),
            Fault::new(some(6), Action::CutMidBody),
        ]);
        until_done(&mut stage, &after).await;
        assert_eq!(at.contents(), clean.contents(), "seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_was_repurposed_since_the_listing_is_not_deleted() {
    for marks in [Marks::Comment, Marks::Txt] {
        let at = AtCloudflare::start(Plan::Free).await;
        let mut stage = at.stage(marks).await;
        stage.sync(&hosts(3)).await.unwrap();
        // A fresh process lists the zone; then somebody takes one record over.
        stage.restart();
        stage.worker.observe().await.unwrap();
        match marks {
            Marks::Comment => {
                let taken = json!({"content": "192.0.2.99", "comment": "mine now"});
                at.sim.edit(&at.zone, &id_of(&at, "host-1.example.com", "A"), taken);
            }
            Marks::Txt => {
                let marker = "\"heritage=external-dns,external-dns/owner=somebody\"";
                at.sim.edit(&at.zone, &id_of(&at, "a-host-1.example.com", "TXT"), json!({"content": marker}));
                at.sim.edit(
                    &at.zone,
                    &id_of(&at, "host-1.example.com", "A"),
                    json!({"content": "192.0.2.99"}),
                );
            }
            Marks::None => unreachable!(),
        }
        let pass = stage.sync(&[]).await.unwrap();
        assert_eq!(pass.applied.len(), 2, "{marks:?}");
        let left: BTreeSet<String> = names(&at);
        assert!(left.contains("host-1.example.com A 192.0.2.99"), "{left:?}");
        assert!(
            !left.iter().any(|record| record.contains("host-0") || record.contains("host-2")),
            "{left:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_gone_already_is_no_error() {
    let at = AtCloudflare::start(Plan::Free).await;
    let mut stage = at.stage(Marks::Comment).await;
    stage.sync(&hosts(3)).await.unwrap();
    at.sim.remove(&at.zone, &id_of(&at, "host-0.example.com", "A"));
    at.sim.remove(&at.zone, &id_of(&at, "host-1.example.com", "A"));
    // One is wanted otherwise, one not at all; the cache still has both.
    let pass = stage.sync(&[want("A", "host-0", ["192.0.2.2"])]).await.unwrap();
    assert!(pass.failed.is_empty(), "{:?}", pass.failed);
    assert_eq!(names(&at), BTreeSet::from(["host-0.example.com A 192.0.2.2".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_somebody_added_meanwhile_is_met_with_a_fresh_look() {
    let at = AtCloudflare::start(Plan::Free).await;
    let mut stage = at.stage(Marks::Comment).await;
    stage.worker.observe().await.unwrap();
    let theirs =
        at.sim.seed(&at.zone, json!({"type": "A", "name": "host-0", "content": "192.0.2.1", "ttl": 300}));
    let pass = stage.sync(&hosts(2)).await.unwrap();
    assert!(pass.failed.is_empty(), "{:?}", pass.failed);
    assert_eq!(
        pass.plan.rejections.len(),
        1,
        "its ttl differs, so it is not adopted: {:?}",
        pass.plan.rejections
    );
    assert_eq!(id_of(&at, "host-0.example.com", "A"), theirs);
    assert!(names(&at).contains("host-1.example.com A 192.0.2.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_and_foreign_records_are_left_alone() {
    for marks in [Marks::Comment, Marks::Txt] {
        let at = AtCloudflare::start(Plan::Enterprise).await;
        let managed = json!({"type": "A", "name": "host-0", "content": "192.0.2.1", "ttl": 300});
        at.sim.seed_read_only(&at.zone, managed);
        at.sim.seed_read_only(
            &at.zone,
            json!({"type": "MX", "name": "@", "content": "mx.example.net", "priority": 1}),
        );
        at.sim.seed(
            &at.zone,
            json!({"type": "A", "name": "foreign", "content": "192.0.2.1",
            "comment": "zk1:abcdefgh:ingress/shop/web:abcdefghijklmnop"}),
        );
        let before = at.contents();
        let mut stage = at.stage(marks).await;
        for adoption in [Adoption::Never, Adoption::Identical, Adoption::Force] {
            let pass =
                stage.sync(&[want("A", "host-0", ["192.0.2.1"]).ttl(300).adopting(adoption)]).await.unwrap();
            let message = &pass.plan.rejections[0].message;
            assert!(message.contains("managed by the provider itself"), "{message}");
        }
        if marks == Marks::Comment {
            stage.rules.prune.mode = PruneMode::All;
            stage.restart();
            stage.sync(&[]).await.unwrap();
        }
        assert_eq!(at.contents(), before);
        assert_eq!(at.sim.writes(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn force_beside_a_value_that_cloudflare_manages_is_refused_and_says_so() {
    let at = AtCloudflare::start(Plan::Enterprise).await;
    at.sim.seed_read_only(&at.zone, json!({"type": "A", "name": "host-0", "content": "192.0.2.9"}));
    let mut stage = at.stage(Marks::Comment).await;
    for _ in 0..2 {
        let pass = stage.sync(&[want("A", "host-0", ["192.0.2.1"]).adopting(Adoption::Force)]).await.unwrap();
        let message = &pass.plan.rejections[0].message;
        assert!(message.contains("192.0.2.9 is managed by the provider itself"), "{message}");
        assert!(names(&at).contains("host-0.example.com A 192.0.2.9"));
    }
    // Without Force the provider's own value is no obstacle.
    let pass = stage.sync(&[want("A", "host-0", ["192.0.2.1"])]).await.unwrap();
    assert!(pass.plan.rejections.is_empty(), "{:?}", pass.plan.rejections);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limited_pass_goes_on_by_itself_and_asks_for_nothing_meanwhile() {
    let mut at = AtCloudflare::start(Plan::Enterprise).await;
    at.batch_limit = Some(10);
    let mut stage = at.stage(Marks::Comment).await;
    at.sim.faults(vec![Fault::nth_write(3, Action::RateLimited { retry_after: 1 })]);
    let begun = std::time::Instant::now();
    let pass = stage.sync(&hosts(50)).await.unwrap();
    assert!(pass.failed.is_empty() && begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(at.sim.records(&at.zone).len(), 50);
    // Five batches, one of them twice; the zone was listed once, since a 429 changes nothing.
    assert_eq!(at.sim.writes(), 6);
    let listings = at
        .sim
        .journal()
        .iter()
        .filter(|entry| entry.method == "GET" && entry.path.ends_with("/dns_records"))
        .count();
    assert_eq!(listings, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_may_not_wait_says_when_to_come_back() {
    let at = AtCloudflare::start(Plan::Enterprise).await;
    let mut stage = at.stage(Marks::Comment).await;
    at.sim.faults(vec![Fault::nth_write(1, Action::RateLimited { retry_after: 120 })]);
    let pass = stage.sync(&hosts(5)).await.unwrap();
    assert_eq!(pass.retry, Some(Duration::from_secs(120)));
    assert_eq!(pass.failed.len(), 5);
    assert!(pass.failed.iter().all(|failure| failure.error.reason() == "RateLimited"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_change_blocks_nothing_and_is_not_tried_for_ever() {
    for marks in [Marks::Comment, Marks::Txt] {
        let at = AtCloudflare::start(Plan::Enterprise).await;
        let mut stage = at.stage(marks).await;
        let mut wishes = hosts(20);
        wishes.push(want("CNAME", "loop", ["loop.example.com"]));
        let pass = stage.sync(&wishes).await.unwrap();
        assert_eq!((pass.applied.len(), pass.failed.len()), (20, 1));
        assert_eq!(pass.failed[0].error.reason(), "ProviderRejected");
        assert!(pass.failed[0].error.to_string().contains("loop.example.com CNAME"));
        assert!(!names(&at).iter().any(|record| record.contains("loop")), "no marker without its data");
        let writes = at.sim.writes();
        stage.sync(&wishes).await.unwrap();
        assert_eq!(at.sim.writes() - writes, 1, "the next pass asks once more");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_to_write_one_call_is_enough_to_know() {
    let mut at = AtCloudflare::start(Plan::Enterprise).await;
    at.token = at.sim.token(cloudflare_sim::TokenGrant::of([
        cloudflare_sim::Right::ZoneRead,
        cloudflare_sim::Right::DnsRead,
    ]));
    at.batch_limit = Some(10);
    let mut stage = at.stage(Marks::Comment).await;
    let pass = stage.sync(&hosts(50)).await.unwrap();
    assert_eq!(pass.failed.len(), 50);
    assert!(pass.failed.iter().all(|failure| failure.error.reason() == "CredentialsInvalid"));
    assert!(pass.failed[0].error.to_string().contains("DNS:Edit"));
    assert_eq!(at.sim.writes(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_before_everything_went_down_is_still_reported() {
    let mut at = AtCloudflare::start(Plan::Enterprise).await;
    at.batch_limit = Some(10);
    let mut stage = at.stage(Marks::Comment).await;
    at.sim.faults(vec![Fault::cut_from_write(3, When::After)]);
    let pass = stage.sync_once(&hosts(50)).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (20, 30), "two batches are known to be done");
    assert!(pass.failed.iter().all(|failure| failure.error.reason() == "ProviderUnavailable"));
    assert!(pass.retry.is_some());
}

/// Law 4: a delete that nobody answered for counts, unless it turns out that it was not made.
#[tokio::test(flavor = "multi_thread")]
async fn deletes_whose_reply_is_lost_count_in_the_guards_window() {
    for when in [When::After, When::Before] {
        let at = AtCloudflare::start(Plan::Enterprise).await;
        let mut stage = at.stage(Marks::Comment).await;
        stage.limits = Some(Limits::default());
        stage.restart();
        stage.sync(&hosts(100)).await.unwrap();
        let lost = Fault { when, ..Fault::nth_write(1, Action::Cut) };
        at.sim.faults(vec![lost]);
        stage.sync(&hosts(80)).await.unwrap();
        assert_eq!(at.sim.records(&at.zone).len(), 80);
        // 20 of 100 are gone, once, and 11 more are too many.
        stage.sync(&hosts(70)).await.unwrap();
        assert_eq!(at.sim.records(&at.zone).len(), 70);
        let pass = stage.sync(&hosts(69)).await.unwrap();
        assert_eq!((pass.verdict.held.len(), at.sim.records(&at.zone).len()), (1, 70));
    }
}

/// How far listings are behind in the tests of it: much longer than they run.
const LAG: Duration = Duration::from_secs(3_600);

/// Passes, with a reading of the whole zone before each, that must write nothing.
async fn is_quiet(at: &AtCloudflare, stage: &mut Stage, wishes: &[Wish]) {
    let (writes, contents) = (at.sim.writes(), at.contents());
    for _ in 0..5 {
        stage.worker.scan();
        let pass = stage.sync(wishes).await.unwrap();
        assert!(pass.failed.is_empty() && pass.plan.rejections.is_empty(), "{pass:?}");
    }
    assert_eq!((at.sim.writes(), at.contents()), (writes, contents));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_lags_behind_our_own_writes_is_not_drift() {
    for marks in [Marks::Comment, Marks::Txt] {
        let at = AtCloudflare::start(Plan::Enterprise).await;
        let mut stage = at.stage(marks).await;
        stage.sync(&hosts(3)).await.unwrap();
        at.sim.lag(LAG);
        // One is updated, one is deleted, one is retyped, one is new.
        let wishes = [
            want("A", "host-0", ["192.0.2.2"]),
            want("CNAME", "host-1", ["target.example.net"]),
            want("A", "new", ["192.0.2.1"]),
        ];
        stage.sync(&wishes).await.unwrap();
        let expected = BTreeSet::from([
            "host-0.example.com A 192.0.2.2".to_owned(),
            "host-1.example.com CNAME target.example.net".to_owned(),
            "new.example.com A 192.0.2.1".to_owned(),
        ]);
        let data = |at: &AtCloudflare| -> BTreeSet<String> {
            names(at).into_iter().filter(|record| !record.contains(" TXT ")).collect()
        };
        assert_eq!(data(&at), expected, "{marks:?}");
        is_quiet(&at, &mut stage, &wishes).await;
        // A record of which no listing knows yet is deleted all the same: it is read by its id.
        stage.sync(&wishes[..1]).await.unwrap();
        assert_eq!(data(&at), BTreeSet::from(["host-0.example.com A 192.0.2.2".to_owned()]), "{marks:?}");
        is_quiet(&at, &mut stage, &wishes[..1]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_lags_hides_no_change_from_outside() {
    let at = AtCloudflare::start(Plan::Enterprise).await;
    let mut stage = at.stage(Marks::Comment).await;
    stage.sync(&hosts(2)).await.unwrap();
    at.sim.lag(LAG);
    let wishes = [want("A", "host-0", ["192.0.2.2"]), want("A", "host-1", ["192.0.2.2"])];
    stage.sync(&wishes).await.unwrap();
    // Right after our write one record is edited from outside and the other one is deleted; the listing shows neither.
    at.sim.edit(&at.zone, &id_of(&at, "host-0.example.com", "A"), json!({"content": "192.0.2.66"}));
    at.sim.remove(&at.zone, &id_of(&at, "host-1.example.com", "A"));
    stage.worker.scan();
    stage.sync(&wishes).await.unwrap();
    let expected = ["host-0.example.com A 192.0.2.2", "host-1.example.com A 192.0.2.2"];
    assert_eq!(names(&at), expected.map(str::to_owned).into());
    is_quiet(&at, &mut stage, &wishes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_writes_that_a_listing_does_not_show_cost_few_calls() {
    let at = AtCloudflare::start(Plan::Enterprise).await;
    let mut stage = at.stage(Marks::Comment).await;
    at.sim.lag(LAG);
    stage.sync(&hosts(2_000)).await.unwrap();
    let requests = at.sim.requests();
    stage.worker.scan();
    stage.sync(&hosts(2_000)).await.unwrap();
    assert!(at.sim.requests() - requests < 150, "{}", at.sim.requests() - requests);
    assert_eq!(at.sim.records(&at.zone).len(), 2_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_is_undone_each_time_waits_and_says_so() {
    let at = AtCloudflare::start(Plan::Enterprise).await;
    let mut stage = at.stage(Marks::Comment).await;
    let wishes = [want("A", "host-0", ["192.0.2.1"]), want("A", "host-1", ["192.0.2.1"])];
    stage.sync(&wishes).await.unwrap();
    let (id, mut reverted) = (id_of(&at, "host-0.example.com", "A"), 0);
    for _ in 0..10 {
        at.sim.edit(&at.zone, &id, json!({"content": "192.0.2.66"}));
        stage.worker.scan();
        let pass = stage.sync(&wishes).await.unwrap();
        reverted += pass.applied.len();
        if let [failure] = &pass.failed[..] {
            assert_eq!(failure.error.reason(), "DriftDetected");
            assert!(
                failure.error.to_string().contains("something undid that each time"),
                "{}",
                failure.error
            );
            assert!(pass.retry.is_some_and(|retry| retry > Duration::from_secs(20)), "{:?}", pass.retry);
        }
    }
    assert_eq!(reverted, 3);
    // Other changes do not wait for it, and neither does another value.
    stage.sync(&[wishes[0].clone(), want("A", "host-1", ["192.0.2.2"])]).await.unwrap();
    stage.sync(&[want("A", "host-0", ["192.0.2.3"]), want("A", "host-1", ["192.0.2.2"])]).await.unwrap();
    let expected = ["host-0.example.com A 192.0.2.3", "host-1.example.com A 192.0.2.2"];
    assert_eq!(names(&at), expected.map(str::to_owned).into());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_its_own_object_changes_back_and_forth_never_waits() {
    let at = AtCloudflare::start(Plan::Enterprise).await;
    let mut stage = at.stage(Marks::Comment).await;
    for round in 0..12 {
        let value = if round % 2 == 0 { "192.0.2.1" } else { "192.0.2.2" };
        let pass = stage.sync(&[want("A", "www", [value])]).await.unwrap();
        assert_eq!((pass.applied.len(), pass.failed.len()), (1, 0), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_was_removed_is_not_found_while_its_token_works() {
    let at = AtCloudflare::start(Plan::Enterprise).await;
    let mut stage = at.stage(Marks::Comment).await;
    stage.sync(&hosts(2)).await.unwrap();
    at.sim.remove_zone(&at.zone);
    let pass = stage.sync_once(&hosts(3)).await.unwrap();
    assert!(pass.failed.iter().all(|failure| failure.error.reason() == "ZoneNotFound"), "{:?}", pass.failed);
    stage.worker.scan();
    assert_eq!(stage.sync_once(&hosts(3)).await.unwrap_err().reason(), "ZoneNotFound");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_fails_changes_nothing() {
    let at = AtCloudflare::start(Plan::Enterprise).await;
    let mut stage = at.stage(Marks::Comment).await;
    stage.sync(&hosts(5)).await.unwrap();
    stage.restart();
    let before = (at.contents(), at.sim.writes());
    for action in [Action::Html(502), Action::Unsuccessful, Action::Cut, Action::Json(403)] {
        let listings = Match { scope: Scope::Listings, which: Which::Every, ..Match::default() };
        at.sim.faults(vec![Fault { when: When::Before, ..Fault::new(listings, action) }]);
        stage.sync_once(&[]).await.unwrap_err();
        assert_eq!((at.contents(), at.sim.writes()), before);
    }
}

fn id_of(at: &AtCloudflare, name: &str, rtype: &str) -> String {
    let records = at.sim.records(&at.zone);
    let found = records.iter().find(|record| record["name"] == name && record["type"] == rtype);
    found.and_then(|record| record["id"].as_str()).expect("such a record").to_owned()
}

fn names(at: &AtCloudflare) -> BTreeSet<String> {
    let text = |record: &Value, field: &str| record[field].as_str().unwrap_or_default().to_owned();
    let records = at.sim.records(&at.zone);
    records
        .iter()
        .map(|record| {
            format!("{} {} {}", text(record, "name"), text(record, "type"), text(record, "content"))
        })
        .collect()
}
