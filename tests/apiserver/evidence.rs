//! Evidence costs little: what was confirmed a moment ago is not read again by every pass.

use std::time::{Duration, Instant};

use control_plane::{DEADLINE, Options, eventually};
use futures::{StreamExt, stream};
use kube::core::request::Request;

use crate::support::{Lab, plane};

/// More holders than this are confirmed by a list.
const HELD: usize = 55;
const TOUCHES: usize = 20;
/// As long as evidence is used again.
const FRESH: Duration = Duration::from_secs(5);

/// Requests for RecordSets that the API server has answered so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reads {
    /// Lists of all of them.
    lists: u64,
    /// Reads of one of them.
    gets: u64,
}

async fn reads(lab: &Lab<'_>) -> Reads {
    let request = Request::new("").get("metrics", &Default::default()).expect("a request");
    let metrics = lab.home.client().request_text(request.map(Into::into)).await.expect("metrics");
    let answered = |verb: &str| {
        let of_verb = metrics.lines().filter(|line| {
            line.starts_with("apiserver_request_total{")
                && line.contains("resource=\"recordsets\"")
                && line.contains(&format!("verb=\"{verb}\""))
        });
        let count = |line: &str| line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok());
        of_verb.map(|line| count(line).expect("a count")).sum()
    };
    Reads { lists: answered("LIST"), gets: answered("GET") }
}

#[tokio::test]
async fn while_deletes_are_held_a_pass_does_not_read_every_holder_again() {
    // The API server counts requests of all its clients: there may be no others.
    let own = plane::own(Options::default()).await;
    let lab = Lab::bare_on(&own, "evidence").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.apply(&lab.provider()).await;
    lab.apply(&lab.dns_zone()).await;
    lab.run();
    let names: Vec<String> = (0..HELD).map(|number| format!("n{number:03}")).collect();
    stream::iter(&names)
        .for_each_concurrent(8, |name| async { drop(lab.apply(&lab.a(name, "192.0.2.1")).await) })
        .await;
    lab.wait("DNSZone", "zone", "all are there", |zone| zone["status"]["records"]["owned"] == HELD).await;
    stream::iter(&names).for_each_concurrent(8, |name| lab.delete("RecordSet", name)).await;
    lab.wait("DNSZone", "zone", "all are held", |zone| zone["status"]["plan"]["held"] == HELD).await;

    // Every pass looks at what is held. From here on, no RecordSet is read by the test itself.
    let (before, begun) = (reads(&lab).await, Instant::now());
    for number in 0..TOUCHES {
        lab.apply(&lab.a(&format!("touch{number}"), "192.0.2.2")).await;
        eventually("a pass", DEADLINE, async || match lab.contents().len() {
            length if length == HELD + number + 1 => Ok(()),
            length => Err(length),
        })
        .await;
    }
    let (after, took) = (reads(&lab).await, begun.elapsed());
    // What was read one after the other also becomes too old one after the other, and is then read singly.
    let rounds = took.as_secs() / FRESH.as_secs() + 2;
    let (lists, gets) = (after.lists - before.lists, after.gets - before.gets);
    assert!(lists <= rounds, "{lists} lists in {TOUCHES} passes and {took:?}");
    assert!(gets <= rounds * HELD as u64, "{gets} reads in {TOUCHES} passes and {took:?}");
    // Old evidence is not used: these reads are counted.
    let before = reads(&lab).await;
    eventually("the holders are read again", DEADLINE, async || {
        lab.scan().await;
        match reads(&lab).await {
            now if now != before => Ok(()),
            now => Err(now),
        }
    })
    .await;
    assert_eq!(lab.contents().len(), HELD + TOUCHES, "what is held stays");
}
