//! `zonekeeper up` with Cloudflare: what the folder says is kept true.

use cloudflare_sim::{Action, Fault, TokenGrant};
use serde_json::json;

use crate::support::{
    Lab, Manifest, provider, records, secret,
    up::{Up, until},
    web::{Answer, Web},
    zone, zonekeeper,
};

fn hosts(count: usize) -> Vec<Manifest> {
    (0..count).map(|n| records(&format!("n{n}.example.com"), "A", &["192.0.2.1"])).collect()
}

/// A zone that is scanned every second.
async fn quick(count: usize) -> Lab {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("interval", "1s"));
    lab.want(&hosts(count));
    lab
}

fn up(lab: &Lab) -> Up {
    Up::start(&zonekeeper(["up", lab.folder.arg()]))
}

async fn holds(lab: &Lab, up: &Up, contents: &[&str]) {
    until(
        &format!("the zone holds {contents:?}"),
        || format!("{:?}\n{}", lab.contents(), up.said()),
        async || lab.contents() == contents,
    )
    .await;
}

#[tokio::test]
async fn outside_changes_are_reverted_at_the_interval() {
    let lab = quick(1).await;
    let up = up(&lab);
    holds(&lab, &up, &["n0.example.com A 192.0.2.1"]).await;
    let id = |lab: &Lab| lab.records("n0.example.com", "A")[0]["id"].as_str().expect("an id").to_owned();
    lab.sim.edit(&lab.zone, &id(&lab), json!({"content": "192.0.2.66"}));
    holds(&lab, &up, &["n0.example.com A 192.0.2.1"]).await;
    lab.sim.edit(&lab.zone, &id(&lab), json!({"content": "192.0.2.66", "comment": ""}));
    holds(&lab, &up, &["n0.example.com A 192.0.2.1"]).await;
    lab.sim.remove(&lab.zone, &id(&lab));
    holds(&lab, &up, &["n0.example.com A 192.0.2.1"]).await;
    assert_eq!(up.terminate().await, Some(0));
}

#[tokio::test]
async fn a_saved_change_is_applied_without_waiting_for_the_interval() {
    let lab = Lab::start().await;
    lab.want(&hosts(1));
    let up = up(&lab);
    holds(&lab, &up, &["n0.example.com A 192.0.2.1"]).await;
    lab.want(&[records("n0.example.com", "A", &["192.0.2.2"])]);
    holds(&lab, &up, &["n0.example.com A 192.0.2.2"]).await;
}

#[tokio::test]
async fn a_saved_change_costs_one_write_and_no_listing() {
    let lab = Lab::start().await;
    lab.want(&hosts(3));
    let up = up(&lab);
    up.says("n2.example.com").await;
    let requests = lab.sim.requests();
    lab.want(&[hosts(3), vec![records("new.example.com", "A", &["192.0.2.9"])]].concat());
    until("the new record", || up.said(), async || lab.contents().len() == 4).await;
    up.says("new.example.com").await;
    assert_eq!(lab.sim.requests() - requests, 1, "{:?}", lab.sim.journal().last());
}

#[tokio::test]
async fn mass_deletes_are_held_and_said_once() {
    let lab = quick(6).await;
    let up = up(&lab);
    until("six records", || up.said(), async || lab.contents().len() == 6).await;
    lab.want(&hosts(1));
    up.says("HELD").await;
    up.says("5 of 6 owned sets would be deleted within the window").await;
    let requests = lab.sim.requests();
    until("three more scans", || up.said(), async || lab.sim.requests() > requests + 3).await;
    assert_eq!(lab.contents().len(), 6);
    assert_eq!(up.said().matches("- n1 A").count(), 1, "{}", up.said());
}

#[tokio::test]
async fn deletes_in_small_steps_are_held_too() {
    let lab = quick(8).await;
    lab.apply().await.exits(0);
    let up = up(&lab);
    up.says("n7.example.com").await;
    lab.want(&hosts(6));
    until("six records", || up.said(), async || lab.contents().len() == 6).await;
    lab.want(&hosts(4));
    up.says("4 of 8").await;
    assert_eq!(lab.contents().len(), 6, "the window counts what went before");
}

#[tokio::test]
async fn the_guards_window_ends_when_the_zone_says() {
    let lab = quick(8).await;
    lab.declare(zone("example.com").with("interval", "1s").with("guard", json!({"window": "1s"})));
    let up = up(&lab);
    until("eight records", || up.said(), async || lab.contents().len() == 8).await;
    for left in [5, 2] {
        lab.want(&hosts(left));
        until(&format!("{left} records"), || up.said(), async || lab.contents().len() == left).await;
    }
}

#[tokio::test]
async fn a_quiet_zone_gets_no_writes() {
    let lab = quick(2).await;
    let up = up(&lab);
    until("two records", || up.said(), async || lab.contents().len() == 2).await;
    let (writes, requests) = (lab.sim.writes(), lab.sim.requests());
    until("three scans", || up.said(), async || lab.sim.requests() >= requests + 3).await;
    assert_eq!(lab.sim.writes(), writes);
}

#[tokio::test]
async fn a_provider_that_was_down_at_the_start_is_tried_again() {
    let lab = quick(1).await;
    lab.sim.faults(vec![Fault::every(Action::Json(500))]);
    let up = up(&lab);
    up.says("ProviderUnavailable").await;
    lab.sim.faults(Vec::new());
    holds(&lab, &up, &["n0.example.com A 192.0.2.1"]).await;
}

#[tokio::test]
async fn a_corrected_token_is_taken_up() {
    let lab = quick(1).await;
    let wrong = "bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0";
    lab.folder.put("token.yaml", &[secret("cloudflare", "apiToken", wrong)]);
    let up = up(&lab);
    up.says("CredentialsInvalid").await;
    lab.folder.put("token.yaml", &[secret("cloudflare", "apiToken", &lab.sim.token(TokenGrant::full()))]);
    holds(&lab, &up, &["n0.example.com A 192.0.2.1"]).await;
    assert!(!up.said().contains(wrong));
}

#[tokio::test]
async fn a_termination_in_the_middle_of_a_pass_is_heard() {
    let lab = quick(1).await;
    let silent = Web::start(Answer::Silence).await;
    lab.folder.put("provider.yaml", &[provider(&silent.url())]);
    let up = up(&lab);
    until("a request is under way", || up.said(), async || !silent.requests().is_empty()).await;
    assert_eq!(up.terminate().await, Some(0));
}

#[tokio::test]
async fn drift_that_is_only_reported_stays() {
    let lab = quick(2).await;
    lab.declare(zone("example.com").with("interval", "1s").with("drift", "Report"));
    let up = up(&lab);
    until("two records", || up.said(), async || lab.contents().len() == 2).await;
    let requests = lab.sim.requests();
    until("another scan", || up.said(), async || lab.sim.requests() >= requests + 2).await;
    let id = lab.records("n0.example.com", "A")[0]["id"].as_str().expect("an id").to_owned();
    lab.sim.edit(&lab.zone, &id, json!({"content": "192.0.2.66"}));
    up.says("drift").await;
    lab.want(&[
        records("n0.example.com", "A", &["192.0.2.1"]),
        records("n1.example.com", "A", &["192.0.2.5"]),
    ]);
    until(
        "a wanted change is made",
        || up.said(),
        async || lab.values("n1.example.com", "A") == ["192.0.2.5"],
    )
    .await;
    assert_eq!(lab.values("n0.example.com", "A"), ["192.0.2.66"]);
}

/// What goes and comes back as it was is wanted, not changed from outside.
#[tokio::test]
async fn under_report_what_left_and_comes_back_unchanged_is_written() {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("interval", "1s").with("drift", "Report"));
    let api = || records("api.example.com", "A", &["192.0.2.1"]);
    let www = || records("www.example.com", "A", &["192.0.2.1"]);
    let alias = || records("www.example.com", "CNAME", &["api.example.com."]);
    let up = up(&lab);
    let both = ["api.example.com A 192.0.2.1", "www.example.com A 192.0.2.1"];
    lab.want(&[api(), www()]);
    holds(&lab, &up, &both).await;
    lab.want(&[api()]);
    holds(&lab, &up, &both[..1]).await;
    lab.want(&[api(), www()]);
    holds(&lab, &up, &both).await;
    // Another type, and back.
    lab.want(&[api(), alias()]);
    holds(&lab, &up, &["api.example.com A 192.0.2.1", "www.example.com CNAME api.example.com"]).await;
    lab.want(&[api(), www()]);
    holds(&lab, &up, &both).await;
    // Another value, and back.
    lab.want(&[api(), records("www.example.com", "A", &["192.0.2.2"])]);
    holds(&lab, &up, &["api.example.com A 192.0.2.1", "www.example.com A 192.0.2.2"]).await;
    lab.want(&[api(), www()]);
    holds(&lab, &up, &both).await;
    assert!(!up.said().contains("drift"), "{}", up.said());
}

/// Two deletes that come a moment apart are one mass delete, however the folder is saved.
#[tokio::test]
async fn deletes_that_come_shortly_after_each_other_are_judged_together() {
    let lab = quick(8).await;
    let guard = json!({"settle": "6s"});
    lab.declare(zone("example.com").with("interval", "1s").with("guard", guard));
    let up = up(&lab);
    until("eight records", || up.said(), async || lab.contents().len() == 8).await;
    lab.want(&hosts(6));
    let requests = lab.sim.requests();
    until("three scans", || up.said(), async || lab.sim.requests() >= requests + 3).await;
    assert_eq!(lab.contents().len(), 8, "they settle");
    // What is new does not wait for that.
    let mut more = hosts(4);
    more.push(records("new.example.com", "A", &["192.0.2.1"]));
    lab.want(&more);
    until("the new one", || up.said(), async || lab.contents().len() == 9).await;
    up.says("4 of 9 owned sets would be deleted within the window").await;
    assert_eq!(lab.contents().len(), 9);
}

#[tokio::test]
async fn a_lone_delete_is_gone_within_three_seconds() {
    let lab = quick(4).await;
    let up = up(&lab);
    until("four records", || up.said(), async || lab.contents().len() == 4).await;
    let begun = std::time::Instant::now();
    lab.want(&hosts(3));
    until("it is gone", || up.said(), async || lab.contents().len() == 3).await;
    let took = begun.elapsed();
    assert!((2_000..3_500).contains(&took.as_millis()), "{took:?}");
}
