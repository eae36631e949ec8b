//! Resolvers that never stop asking never hear that a wanted name is gone, whatever happens to us or to the server.

use std::time::Instant;

use futures::{StreamExt, stream};
use serde_json::json;
use zonekeeper_tests::dns::Watch;

use crate::{site::Site, support::Manifest};

const NAMES: usize = 20;
const ROUNDS: usize = 50;
/// How often each name is asked for.
const PER_SECOND: f64 = 50.0;
/// Objects that are written at the same time.
const AT_ONCE: usize = 5;

/// What a name is wished to be in a round: one address, two, or an alias, so that everything changes into everything.
fn wish(site: &Site<'_>, number: usize, round: usize) -> Manifest {
    let name = format!("name-{number}");
    let address = |last: usize| format!("192.0.2.{}", last % 250);
    match (number + round) % 4 {
        0 => site.records(&name, "CNAME", &["target.example.net"]),
        1 => site.records(&name, "A", &[&address(round), &address(round + 1)]),
        2 => site.records(&name, "A", &[&address(round + 1)]).with("ttl", 60 + round as u64),
        _ => site.records(&name, "CNAME", &[&format!("target-{round}.example.net")]),
    }
}

/// One object each for address and alias would conflict: it is one object that changes its type.
async fn wish_all(site: &Site<'_>, round: usize) {
    let all = stream::iter(0..NAMES);
    all.for_each_concurrent(AT_ONCE, |number| async move {
        site.apply(&wish(site, number, round)).await;
    })
    .await;
}

async fn wait_all(site: &Site<'_>) {
    for number in 0..NAMES {
        site.wait_ready("RecordSet", &format!("name-{number}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_wanted_always_resolve() {
    let mut site = Site::ready_to_run("resolution").await;
    site.apply(&site.dns_zone().with("guard", json!({"maxDeletePercent": 100}))).await;
    site.run();
    wish_all(&site, 0).await;
    wait_all(&site).await;
    let names: Vec<String> = (0..NAMES).map(|number| site.at(&format!("name-{number}"))).collect();
    let before = site.serial();
    let begun = Instant::now();
    let watch = Watch::start(site.server.address().parse().expect("an address"), &names);
    for round in 1..=ROUNDS {
        wish_all(&site, round).await;
        // In the middle of the work.
        match round {
            10 | 25 | 40 => site.server.restart().expect("it starts again"),
            18 | 33 | 48 => {
                site.kill().await;
                site.run();
            }
            _other => {}
        }
        wait_all(&site).await;
    }
    let answers = watch.end().await;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{} good answers, {} questions without one, {} versions of the zone",
        answers.good,
        answers.none,
        site.serial() - before
    );
    assert_eq!(answers.wrong, [""; 0]);
    let asked = (answers.good + answers.none) as f64;
    let wanted = seconds * PER_SECOND * NAMES as f64;
    assert!(asked > 0.8 * wanted, "each name was asked for all the time: {asked} of {wanted}");
    // named was killed three times, and is back within a second or two.
    assert!(answers.none < answers.good / 5, "{} questions without an answer", answers.none);
    let versions = site.serial() - before;
    assert!(versions >= ROUNDS as u32, "every round changed the zone: {versions}");
}
