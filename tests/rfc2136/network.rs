//! A network that does its worst to one message, whichever it is: nothing is lost, nothing foreign is touched.

use std::time::Duration;

use control_plane::{DEADLINE, eventually};
use dns_servers::Software;
use zonekeeper_kernel::record::Record;
use zonekeeper_providers::{
    Provider,
    rfc2136::{Rfc2136, Settings},
};
use zonekeeper_tests::{
    dns::{Fault, Kind, Relay},
    stage::{AtServer, Marks, Stage, domain},
    wish::{Wish, want},
};

use crate::support::{by_hand, relayed, serial, served};

/// How long a server may take in these tests.
const PATIENCE: Duration = Duration::from_millis(250);
const FAULTS: [Fault; 9] = [
    Fault::Request,
    Fault::Answer,
    Fault::Rest(1),
    Fault::Rest(40),
    Fault::LostRequest,
    Fault::LostAnswer,
    Fault::Late(Duration::from_millis(400)),
    Fault::BentRequest,
    Fault::BentAnswer,
];

/// Sets are created, changed, retyped and deleted from one wish to the other and back; texts fill several messages.
fn wishes(texts: usize, length: usize) -> [Vec<Wish>; 2] {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for i in 0..texts {
        let text = |letter: &str| letter.repeat(length);
        one.push(want("TXT", &format!("text-{i}"), [&text("a")]));
        other.push(want("TXT", &format!("text-{i}"), [&text("b")]));
    }
    one.extend([
        want("A", "www", ["192.0.2.1"]),
        want("A", "api", ["192.0.2.1", "192.0.2.2"]),
        want("A", "old", ["192.0.2.1"]),
    ]);
    other.extend([
        want("A", "www", ["192.0.2.2"]),
        want("CNAME", "api", ["www.example.com"]),
        want("A", "new", ["192.0.2.1"]),
    ]);
    [one, other]
}

/// As a process that ends at the first trouble.
async fn run_through(relay: &Relay, at: &AtServer, wishes: &[Wish]) {
    let servers = vec![relay.address.clone()];
    let provider = Rfc2136::new(Settings { servers, timeout: PATIENCE, ..at.settings() }).unwrap();
    if let Ok(access) = provider.open(&domain(), None).await {
        // Whether it noticed is not the question here.
        let _ = Stage::new(access, Marks::Txt).sync_once(wishes).await;
    }
}

/// What the zone holds in each state where nothing bad happens; it is in the first one then.
async fn ends(at: &AtServer, states: &[Vec<Wish>; 2]) -> Vec<Vec<Record>> {
    by_hand(&at.server, "update add theirs.example.com 60 A 192.0.2.66");
    let mut ends = Vec::new();
    for state in [0, 1, 0] {
        let pass = at.stage(Marks::Txt).await.sync(&states[state]).await.unwrap();
        assert!(pass.failed.is_empty());
        ends.push(at.stage(Marks::Txt).await.records().await);
    }
    assert!(ends[0] == ends[2], "there and back is the same");
    ends
}

/// Case 63, and every other accident on the way.
#[tokio::test(flavor = "multi_thread")]
async fn no_accident_of_one_message_loses_a_record() {
    let at = AtServer::start(Software::Bind);
    let relay = Relay::start(at.server.address()).await;
    let states = wishes(90, 1_500);
    let ends = ends(&at, &states).await;
    let mut now = 0;
    for fault in FAULTS {
        let mut updates = 0;
        for cut in 0.. {
            let label = format!("{fault:?} at {cut}");
            now = 1 - now;
            let before = relay.requests();
            relay.fault(cut, fault);
            run_through(&relay, &at, &states[now]).await;
            let (is_reached, kinds) = (relay.heal(), relay.since(before));
            let mut stage = at.stage(Marks::Txt).await;
            let pass = stage.sync(&states[now]).await.unwrap();
            assert!(pass.failed.is_empty() && pass.plan.rejections.is_empty(), "{label}: {:?}", pass.failed);
            assert!(stage.records().await == ends[now], "{label}");
            let quiet = serial(&at.server);
            stage.restart();
            assert!(stage.sync(&states[now]).await.unwrap().applied.is_empty(), "{label}");
            assert_eq!(serial(&at.server), quiet, "{label}");
            if !is_reached {
                break;
            }
            updates += usize::from(kinds[cut] == Kind::Update);
        }
        assert!(updates >= 3, "it happened to {updates} updates: {fault:?}");
    }
    assert_eq!(served(&at.server, "theirs.example.com", "A"), ["192.0.2.66"]);
}

/// The same with one process: what it knows of the zone and the connections that it keeps outlive every accident.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_lives_through_every_accident_knows_the_zone() {
    // The texts are most of the zone, and are to come in differences all the same.
    let at = AtServer::with(Software::Bind, |setup| setup.options = "max-ixfr-ratio unlimited;".into());
    let states = wishes(6, 14_000);
    let ends = ends(&at, &states).await;
    let (mut stage, relay) = relayed(&at, Settings { timeout: PATIENCE, ..at.settings() }).await;
    let mut now = 0;
    for fault in FAULTS {
        let mut updates = 0;
        for cut in 0.. {
            let label = format!("{fault:?} at {cut}");
            now = 1 - now;
            let before = relay.requests();
            relay.fault(cut, fault);
            let pass = stage.sync_once(&states[now]).await;
            let (is_reached, kinds) = (relay.heal(), relay.since(before));
            if pass.is_ok_and(|pass| pass.failed.is_empty()) {
                let records = at.stage(Marks::Txt).await.records().await;
                assert!(records == ends[now], "{label}: what counts as done is done");
            }
            let pass = stage.sync(&states[now]).await.unwrap();
            assert!(pass.failed.is_empty() && pass.plan.rejections.is_empty(), "{label}: {:?}", pass.failed);
            assert!(at.stage(Marks::Txt).await.records().await == ends[now], "{label}");
            let quiet = serial(&at.server);
            stage.worker.scan();
            assert!(stage.sync(&states[now]).await.unwrap().applied.is_empty(), "{label}");
            assert_eq!(serial(&at.server), quiet, "{label}");
            // A busy machine may need more patience than this process has.
            let known = eventually("its view", DEADLINE, async || stage.access.list().await).await;
            let mut known: Vec<Record> = known.into_iter().map(|(name, record)| record.at(&name)).collect();
            known.sort();
            assert!(known == ends[now], "{label}: it knows the zone");
            if !is_reached {
                break;
            }
            updates += usize::from(kinds[cut] == Kind::Update);
        }
        assert!(updates >= 3, "it happened to {updates} updates: {fault:?}");
    }
    assert_eq!(served(&at.server, "theirs.example.com", "A"), ["192.0.2.66"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_slow_is_waited_for() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, relay) = relayed(&at, at.settings()).await;
    stage.listing().await;
    let before = relay.requests();
    // The update itself: after one question about the version there is nothing else to ask.
    relay.fault(0, Fault::Late(Duration::from_millis(1_500)));
    let pass = stage.sync_once(&[want("A", "www", ["192.0.2.1"])]).await.unwrap();
    assert!(relay.heal() && pass.failed.is_empty() && pass.applied.len() == 1, "{pass:?}");
    let updates = relay.since(before).iter().filter(|kind| **kind == Kind::Update).count();
    assert_eq!(updates, 1, "it is not sent twice");
}

/// A rename that takes several messages: while each of them is on its way, one of the two names is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_rename_in_two_messages_writes_the_new_name_first() {
    let at = AtServer::start(Software::Bind);
    let texts = |letter: &str| -> Vec<Wish> {
        (0..60).map(|i| want("TXT", &format!("text-{i}"), [&letter.repeat(1_500)])).collect()
    };
    let before = [vec![want("A", "a-old", ["192.0.2.1"])], texts("a")].concat();
    let after = [vec![want("A", "z-new", ["192.0.2.1"])], texts("b")].concat();
    let mut updates = 0;
    for number in 0.. {
        at.stage(Marks::Txt).await.sync(&before).await.unwrap();
        let relay = Relay::start(at.server.address()).await;
        relay.fault(number, Fault::LostRequest);
        let servers = vec![relay.address.clone()];
        let provider =
            Rfc2136::new(Settings { servers, timeout: DEADLINE, ..at.settings() }).expect("valid settings");
        let wishes = after.clone();
        let run = tokio::spawn(async move {
            if let Ok(access) = provider.open(&domain(), None).await {
                let _ = Stage::new(access, Marks::Txt).sync_once(&wishes).await;
            }
        });
        eventually("the message, or the end", DEADLINE, async || {
            if relay.is_reached() || run.is_finished() { Ok(()) } else { Err(relay.requests()) }
        })
        .await;
        let is_reached = relay.is_reached();
        let there = ["a-old", "z-new"].map(|name| served(&at.server, &format!("{name}.example.com"), "A"));
        run.abort();
        assert!(there.iter().any(|values| !values.is_empty()), "neither name is there at message {number}");
        updates += usize::from(relay.since(0).last() == Some(&Kind::Update));
        if !is_reached {
            break;
        }
    }
    assert!(updates > 2, "{updates} updates");
}
