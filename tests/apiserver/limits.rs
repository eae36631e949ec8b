//! The provider's limits: waited out, never stormed.

use cloudflare_sim::{Action, Fault, Match, Scope};
use serde_json::{Value, json};

use crate::support::{Lab, condition};

#[tokio::test]
async fn case_68_after_429_it_waits_as_long_as_it_is_told() {
    let lab = Lab::new("limited").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let writes = Match { scope: Scope::Writes, ..Match::default() };
    lab.sim.faults(vec![Fault::new(writes, Action::RateLimited { retry_after: 3 })]);
    let before = lab.sim.writes();
    for number in 0..10 {
        lab.apply(&lab.a(&format!("n{number}"), "192.0.2.1")).await;
    }
    let object = lab
        .wait("RecordSet", "n0", "RateLimited", |object| condition(object, "Ready").reason == "RateLimited")
        .await;
    assert_eq!(condition(&object, "Reconciling").status, "True");
    assert_eq!(condition(&object, "Stalled").status, "False");
    assert!(lab.sim.writes() - before <= 2, "{}", lab.sim.writes() - before);
    lab.sim.faults(Vec::new());
    lab.wait_ready("RecordSet", "n9").await;
    assert_eq!(lab.contents().len(), 11);
}

#[tokio::test]
async fn case_69_a_thousand_unchanged_records_cost_list_pages_only() {
    let lab = Lab::new("thousand").await;
    for number in 0..10 {
        let values: Vec<String> = (0..100).map(|last| format!("192.0.{number}.{last}")).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        lab.ready(&lab.records(&format!("n{number}"), "A", &values)).await;
    }
    lab.scan().await;
    assert_eq!(lab.contents().len(), 1_000);
    let mark = lab.mark();
    lab.scan().await;
    let asked = lab.sim.journal_since(mark);
    assert!(
        asked.iter().all(|entry| entry.method == "GET" && entry.path.ends_with("/dns_records")),
        "{asked:#?}"
    );
    assert!(asked.len() <= 2, "{}", asked.len());
}

#[tokio::test]
async fn one_bad_record_blocks_no_other() {
    let lab = Lab::new("bad-record").await;
    lab.wait_ready("DNSZone", "zone").await;
    // Cloudflare refuses it; everything beside it goes on.
    let bad = lab
        .records("bad", "A", &["192.0.2.1"])
        .with("cloudflare", json!({"tags": ["no spaces allowed:x y"]}));
    for number in 0..5 {
        lab.apply(&lab.a(&format!("n{number}"), "192.0.2.1")).await;
    }
    let message = lab.not_ready(&bad, "ProviderRejected").await;
    assert!(!message.is_empty());
    for number in 0..5 {
        lab.wait_ready("RecordSet", &format!("n{number}")).await;
    }
    assert_eq!(lab.contents().len(), 5);
}

#[tokio::test]
async fn a_zone_that_has_used_up_the_budget_says_so_and_keeps_no_other_zone_waiting() {
    const REQUESTS: usize = 24;
    let lab = Lab::ready_to_run("budget").await;
    lab.apply(&lab.provider().with("rateLimit", json!({"requests": REQUESTS, "window": "30s"}))).await;
    let domain = lab.at("quiet");
    lab.sim.zone(&domain, cloudflare_sim::Plan::Free);
    lab.apply(&lab.zone_of(&domain).named("quiet")).await;
    lab.run();
    for zone in ["zone", "quiet"] {
        lab.wait_ready("DNSZone", zone).await;
    }
    let is_decided = |object: &Value| {
        let ready = condition(object, "Ready");
        ready.is("True") || ready.reason == "RateLimited"
    };
    // One after the other: each costs a request at least.
    let mut limited = None;
    for number in 0..REQUESTS {
        let name = format!("n{number}");
        lab.apply(&lab.a(&name, "192.0.2.1")).await;
        let object = lab.wait("RecordSet", &name, "Ready or RateLimited", is_decided).await;
        if !condition(&object, "Ready").is("True") {
            limited = Some((name, object));
            break;
        }
    }
    let (name, object) = limited.expect("the budget ends");
    assert_eq!(condition(&object, "Reconciling").status, "True");
    assert_eq!(condition(&object, "Stalled").status, "False");
    let message = condition(&object, "Ready").message;
    assert!(message.contains("budget") && message.contains("goes on by itself"), "{message}");
    lab.wait_reason("DNSZone", "zone", "RateLimited").await;
    let mark = lab.mark();
    // The same credential: a part of the budget was kept for this zone.
    lab.apply(&lab.a("www.quiet", "192.0.2.9")).await;
    let quiet = lab.wait("RecordSet", "www-quiet", "Ready or RateLimited", is_decided).await;
    assert!(condition(&quiet, "Ready").is("True"), "{quiet:#}");
    lab.wait_ready("RecordSet", &name).await;
    lab.wait_ready("DNSZone", "zone").await;
    let first = ["+ www.quiet A 192.0.2.9".to_owned(), format!("+ {name} A 192.0.2.1")];
    assert_eq!(lab.changes_since(mark), first);
}
