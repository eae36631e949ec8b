//! The rate limit, the journal, rollback, knobs and speed: what callers of the library rely on.

mod rig;

use std::time::{Duration, Instant};

use cloudflare_sim::{Config, EntryKind, Knobs, Plan, Right, Sim, TokenGrant, knobs, token_hash};
use reqwest::Method;
use rig::{Rig, a};
use serde_json::json;

#[tokio::test]
async fn the_rate_limit_blocks_for_a_window() {
    let rig = Rig::start(Config { rate_limit: 3, ..Config::default() }).await;
    let send = async || rig.request(Method::GET, "/dns_records").send().await.unwrap();
    assert_eq!(send().await.headers()["ratelimit"], "\"default\";r=2;t=300");
    send().await;
    assert_eq!(send().await.headers()["ratelimit-policy"], "\"default\";q=3;w=300");
    let blocked = send().await;
    assert_eq!(
        (blocked.status().as_u16(), &blocked.headers()["retry-after"]),
        (429, &"300".parse().unwrap())
    );
    rig.sim.advance(Duration::from_secs(299));
    assert_eq!(send().await.status(), 429);
    rig.sim.advance(Duration::from_secs(1));
    assert_eq!(send().await.status(), 200);
}

#[tokio::test]
async fn listings_can_lag_and_a_record_by_its_id_never_does() {
    let rig = Rig::unlimited().await;
    let kept = rig.sim.seed(&rig.zone, a("kept"));
    let gone = rig.sim.seed(&rig.zone, a("gone"));
    rig.sim.lag(Duration::from_secs(10));
    rig.sim.edit(&rig.zone, &kept, json!({"content": "192.0.2.9"}));
    rig.sim.remove(&rig.zone, &gone);
    rig.create("new").await.unwrap();
    let listed = async |query: &str| {
        let (_, answer) = rig.get(&format!("/dns_records?{query}")).await.unwrap();
        let records = answer["result"].as_array().unwrap().clone();
        let mut lines: Vec<String> =
            records.iter().map(|record| format!("{} {}", record["name"], record["content"])).collect();
        lines.sort();
        lines.join(", ").replace('"', "").replace(".example.com", "")
    };
    assert_eq!(listed("per_page=100").await, "gone 192.0.2.1, kept 192.0.2.1");
    assert_eq!(listed("name=kept.example.com").await, "kept 192.0.2.1");
    let (_, record) = rig.get(&format!("/dns_records/{kept}")).await.unwrap();
    assert_eq!(record["result"]["content"], "192.0.2.9");
    assert_eq!(rig.get(&format!("/dns_records/{gone}")).await.unwrap().0, 404);
    rig.sim.advance(Duration::from_secs(11));
    assert_eq!(listed("per_page=100").await, "kept 192.0.2.9, new 192.0.2.1");
}

#[tokio::test]
async fn the_journal_tells_what_every_request_did() {
    let rig = Rig::unlimited().await;
    let id = rig.sim.seed(&rig.zone, a("seeded"));
    rig.create("made").await.unwrap();
    rig.sim.edit(&rig.zone, &id, json!({"content": "192.0.2.9"}));
    rig.sim.remove(&rig.zone, &id);
    rig.create("made").await.unwrap();
    rig.get("/dns_records?per_page=5").await.unwrap();
    let journal = rig.sim.journal();
    let kinds: Vec<EntryKind> = journal.iter().map(|entry| entry.kind).collect();
    use EntryKind::{Outside, Request, Seed};
    assert_eq!(kinds, [Seed, Request, Outside, Outside, Request, Request]);
    assert_eq!(journal.iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(journal[1].body, a("made"));
    assert_eq!(journal[1].token_hash.as_deref(), Some(token_hash(&rig.token).as_str()));
    assert!(!serde_json::to_string(&journal).unwrap().contains(&rig.token));
    assert_eq!(journal[2].effects[0].before.as_ref().unwrap()["content"], "192.0.2.1");
    assert_eq!(journal[2].effects[0].after.as_ref().unwrap()["content"], "192.0.2.9");
    assert!(journal[3].effects[0].after.is_none());
    assert_eq!((journal[4].status, journal[4].effects.len()), (400, 0));
    assert_eq!((journal[5].method.as_str(), journal[5].query.as_str()), ("GET", "per_page=5"));
    assert_eq!((rig.sim.requests(), rig.sim.writes()), (3, 2));
    assert_eq!(rig.sim.journal_since(4).len(), 2);
}

#[tokio::test]
async fn the_journal_file_holds_every_entry() {
    let path = std::env::temp_dir().join(format!("cloudflare-sim-journal-{}", std::process::id()));
    let config = Config { journal_file: Some(path.clone()), journal_capacity: 1, ..Config::unlimited() };
    let rig = Rig::start(config).await;
    for name in ["one", "two", "three"] {
        rig.create(name).await.unwrap();
    }
    assert_eq!(rig.sim.journal().iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [3]);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(text.lines().count(), 3);
    assert!(!text.contains(&rig.token));
}

#[tokio::test]
async fn a_failed_batch_leaves_no_trace() {
    let rig = Rig::unlimited().await;
    let kept = rig.sim.seed(&rig.zone, a("kept"));
    let moved = rig.sim.seed(&rig.zone, a("moved"));
    let before = rig.sim.records(&rig.zone);
    let batch = json!({
        "deletes": [{"id": kept}],
        "patches": [{"id": moved, "name": "kept", "content": "192.0.2.7"}],
        "posts": [a("new"), {"type": "A", "name": "bad", "content": "nonsense"}],
    });
    let (status, body) = rig.send(Method::POST, "/dns_records/batch", Some(batch)).await.unwrap();
    assert_eq!((status.as_u16(), body["errors"][0]["code"].as_u64()), (400, Some(9005)));
    assert_eq!(rig.names(), ["kept", "moved"]);
    assert_eq!(rig.sim.records(&rig.zone), before);
    assert!(rig.sim.journal().pop().unwrap().effects.is_empty());
    let (_, body) = rig.get("/dns_records?name.exact=kept.example.com").await.unwrap();
    assert_eq!(body["result"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_knob_changes_records_already_there() {
    let rig = Rig::unlimited().await;
    rig.sim.seed(&rig.zone, json!({"type": "TXT", "name": "t", "content": "x"}));
    assert!(rig.sim.records(&rig.zone)[0].get("settings").is_some());
    rig.sim.knobs(Knobs { settings_shown: knobs::SettingsShown::ProxiableOnly, ..Knobs::default() });
    assert!(rig.sim.records(&rig.zone)[0].get("settings").is_none());
}

#[tokio::test]
async fn a_token_does_what_it_was_granted() {
    let mut rig = Rig::unlimited().await;
    let other = rig.sim.zone("example.org", Plan::Free);
    rig.token = rig.sim.token(TokenGrant::of([Right::DnsWrite]).only([&rig.zone]));
    assert_eq!(rig.create("one").await.unwrap().0, 200);
    rig.zone = other;
    assert_eq!(rig.create("one").await.unwrap().0, 403);
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(60);
    rig.token = rig.sim.token(TokenGrant::full().expires_on(soon));
    assert_eq!(rig.create("one").await.unwrap().0, 200);
    rig.sim.advance(Duration::from_secs(61));
    assert_eq!(rig.create("two").await.unwrap().0, 403);
    assert!(rig.sim.token(TokenGrant::full().account_owned()).starts_with("cfat_"));
}

#[tokio::test]
async fn the_last_handle_stops_the_server() {
    let rig = Rig::unlimited().await;
    let second = rig.sim.clone();
    let url = rig.sim.base_url();
    let http = rig.http.clone();
    drop(rig);
    assert!(http.get(&url).send().await.is_ok());
    drop(second);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(http.get(&url).send().await.is_err());
}

#[tokio::test]
async fn the_same_seed_gives_the_same_ids() {
    let ids = async || {
        let sim = Sim::start(Config::unlimited()).await.unwrap();
        let zone = sim.zone("example.com", Plan::Free);
        (sim.token(TokenGrant::full()), sim.seed(&zone, a("www")), zone)
    };
    assert_eq!(ids().await, ids().await);
}

/// A generous bound, to notice a quadratic listing or seed, not a slow machine.
#[tokio::test(flavor = "multi_thread")]
async fn large_zones_are_listed_quickly() {
    let rig = Rig::unlimited().await;
    let start = Instant::now();
    for number in 0..100_000 {
        rig.sim.seed(&rig.zone, a(&format!("h{number}")));
    }
    let seeded = start.elapsed();
    let mut listed = 0;
    for page in 1..=20 {
        let path = format!("/dns_records?per_page=5000&page={page}");
        let text = rig.request(Method::GET, &path).send().await.unwrap().text().await.unwrap();
        listed += text.matches("\"proxiable\"").count();
    }
    println!("seeded in {seeded:?}, all done in {:?}", start.elapsed());
    assert_eq!(listed, 100_000);
    assert!(start.elapsed() < Duration::from_secs(60));
}
