//! Each fault does to a request what its name says, and nothing else.

mod rig;

use std::time::Duration;

use cloudflare_sim::{Action, Fault, Match, Scope, Shift, When, Which};
use reqwest::Method;
use rig::{Rig, a};
use serde_json::json;

#[tokio::test]
async fn a_write_cut_before_changes_nothing() {
    let rig = Rig::unlimited().await;
    rig.sim.faults(vec![Fault::cut_before_write(2)]);
    rig.create("one").await.unwrap();
    assert!(rig.create("two").await.is_err());
    rig.create("three").await.unwrap();
    assert_eq!(rig.names(), ["one", "three"]);
}

#[tokio::test]
async fn a_write_cut_after_took_effect() {
    let rig = Rig::unlimited().await;
    rig.create("zero").await.unwrap();
    rig.sim.faults(vec![Fault::cut_after_write(1)]);
    rig.get("/dns_records").await.unwrap();
    assert!(rig.create("one").await.is_err());
    assert_eq!(rig.names(), ["one", "zero"]);
    let last = rig.sim.journal().pop().unwrap();
    assert_eq!((last.status, last.effects.len()), (0, 1));
    assert_eq!(last.fault, Some(json!(["after", "cut"])));
}

#[tokio::test]
async fn a_cut_off_process_reaches_nothing_more() {
    for (when, expected) in [(When::Before, vec!["one"]), (When::After, vec!["one", "two"])] {
        let rig = Rig::unlimited().await;
        rig.sim.faults(vec![Fault::cut_from_write(2, when)]);
        rig.create("one").await.unwrap();
        assert!(rig.create("two").await.is_err());
        assert!(rig.get("/dns_records").await.is_err());
        assert!(rig.create("three").await.is_err());
        assert_eq!(rig.names(), expected);
        rig.sim.faults(vec![]);
        rig.create("four").await.unwrap();
    }
}

#[tokio::test]
async fn a_batch_cut_after_is_applied_whole() {
    let rig = Rig::unlimited().await;
    rig.sim.faults(vec![Fault::cut_after_write(1)]);
    let batch = json!({"posts": [a("one"), a("two")]});
    assert!(rig.send(Method::POST, "/dns_records/batch", Some(batch)).await.is_err());
    assert_eq!(rig.names(), ["one", "two"]);
}

#[tokio::test]
async fn a_held_write_waits_for_its_release_before_or_after_it_takes_effect() {
    for (when, meanwhile) in [(When::Before, vec!["one"]), (When::After, vec!["one", "two"])] {
        let rig = Rig::unlimited().await;
        rig.sim.faults(vec![Fault::hold_from_write(2, when)]);
        rig.create("one").await.unwrap();
        let look = async {
            while rig.sim.held() == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let seen = rig.names();
            rig.sim.release();
            seen
        };
        let (answer, seen) = tokio::join!(rig.create("two"), look);
        answer.unwrap();
        assert_eq!(seen, meanwhile);
        assert_eq!((rig.names(), rig.sim.held()), (vec!["one".to_owned(), "two".to_owned()], 0));
    }
}

#[tokio::test]
async fn a_held_write_whose_client_goes_away_never_takes_effect() {
    let rig = Rig::unlimited().await;
    rig.sim.faults(vec![Fault::hold_from_write(1, When::Before)]);
    let answer = tokio::time::timeout(Duration::from_millis(200), rig.create("one")).await;
    assert!(answer.is_err());
    while rig.sim.held() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    rig.sim.release();
    assert_eq!(rig.names(), [""; 0]);
}

#[tokio::test]
async fn replies_break_in_every_way() {
    let rig = Rig::unlimited().await;
    let answer = |act: Action| {
        rig.sim.faults(vec![Fault::every(act)]);
        rig.get("/dns_records")
    };
    let (status, body) = answer(Action::Json(500)).await.unwrap();
    assert_eq!((status.as_u16(), body["success"].as_bool()), (500, Some(false)));
    let (status, body) = answer(Action::Html(502)).await.unwrap();
    assert!(status == 502 && body.as_str().unwrap().contains("<html>"));
    let (status, body) = answer(Action::Empty(503)).await.unwrap();
    assert_eq!((status.as_u16(), body.as_str()), (503, Some("")));
    let (status, body) = answer(Action::Unsuccessful).await.unwrap();
    assert_eq!((status.as_u16(), body["success"].as_bool()), (200, Some(false)));
    let (status, body) = answer(Action::RateLimitedHtml).await.unwrap();
    assert!(status == 429 && body.as_str().unwrap().contains("1015"));
    assert!(answer(Action::Cut).await.is_err());
    assert!(answer(Action::CutMidBody).await.is_err());
}

#[tokio::test]
async fn a_reply_cut_in_the_middle_took_effect() {
    let rig = Rig::unlimited().await;
    rig.sim.faults(vec![Fault::nth_write(1, Action::CutMidBody)]);
    assert!(rig.create("one").await.is_err());
    assert_eq!(rig.names(), ["one"]);
}

#[tokio::test]
async fn a_rate_limit_says_when_to_return() {
    let rig = Rig::unlimited().await;
    rig.sim.faults(vec![Fault::nth(1, Action::RateLimited { retry_after: 7 })]);
    let response = rig.request(Method::GET, "/dns_records").send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()["retry-after"].as_bytes()), (429, &b"7"[..]));
    assert_eq!(rig.get("/dns_records").await.unwrap().0, 200);
}

#[tokio::test]
async fn a_matcher_picks_by_path_count_and_chance() {
    let rig = Rig::unlimited().await;
    let statuses = async |fault: Fault, count: usize| {
        rig.sim.faults(vec![fault]);
        let mut failed = Vec::new();
        for number in 1..=count {
            let (status, _) = rig.get("/dns_records").await.unwrap();
            failed.extend((status == 500).then_some(number));
        }
        failed
    };
    let on = |which| Match { which, ..Match::default() };
    assert_eq!(statuses(Fault::new(on(Which::EveryNth(2)), Action::Json(500)), 5).await, [2, 4]);
    assert_eq!(statuses(Fault::new(on(Which::From(3)), Action::Json(500)), 5).await, [3, 4, 5]);
    let elsewhere = Match { path_contains: Some("/batch".into()), ..Match::default() };
    assert!(statuses(Fault::new(elsewhere, Action::Json(500)), 3).await.is_empty());
    let writes = Match { scope: Scope::Writes, ..Match::default() };
    assert!(statuses(Fault::new(writes, Action::Json(500)), 3).await.is_empty());
    let first = statuses(Fault::fraction(0.3, 7, Action::Json(500)), 100).await;
    let second = statuses(Fault::fraction(0.3, 7, Action::Json(500)), 100).await;
    assert_eq!(first, second);
    assert!((15..=45).contains(&first.len()), "{} of 100", first.len());
}

#[tokio::test]
async fn latency_only_delays() {
    let rig = Rig::unlimited().await;
    rig.sim.faults(vec![Fault::every(Action::Latency(30))]);
    let start = std::time::Instant::now();
    rig.create("one").await.unwrap();
    assert!(start.elapsed().as_millis() >= 30);
    assert_eq!(rig.names(), ["one"]);
}

#[tokio::test]
async fn pages_shift_between_reads() {
    let rig = Rig::unlimited().await;
    for number in 10..20 {
        rig.sim.seed(&rig.zone, a(&format!("h{number}")));
    }
    let read = async || {
        let mut names = Vec::new();
        for page in 1..=4 {
            let (_, body) = rig.get(&format!("/dns_records?per_page=4&page={page}")).await.unwrap();
            let records = body["result"].as_array().unwrap();
            names.extend(records.iter().map(|record| record["name"].as_str().unwrap().to_owned()));
        }
        names
    };
    rig.sim.faults(vec![Fault::shift_pages(1, Shift::Insert(a("a")))]);
    let names = read().await;
    assert_eq!(names.len(), 11);
    assert_eq!(names.iter().filter(|name| *name == "h13.example.com").count(), 2);
    rig.sim.faults(vec![Fault::shift_pages(2, Shift::RemoveFirst)]);
    let names = read().await;
    assert_eq!(names.len(), 10);
    assert!(!names.contains(&"h17.example.com".to_owned()), "{names:?}");
    assert_eq!(read().await.len(), 10);
}
