//! Connections are kept for what comes next, and nothing is sent twice because one was closed.

use dns_servers::Software;
use zonekeeper_tests::{
    dns::{Fault, Kind},
    stage::AtServer,
    wish::{Wish, want},
};

use crate::support::{relayed, serial, served};

fn www(last: u8) -> [Wish; 1] {
    [want("A", "www", [&format!("192.0.2.{last}")])]
}

/// How many updates there are among requests; after each the zone is read before the next.
fn updates(kinds: &[Kind]) -> usize {
    assert!(!kinds.windows(2).any(|pair| pair == [Kind::Update, Kind::Update]), "{kinds:?}");
    kinds.iter().filter(|kind| **kind == Kind::Update).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_changes_share_one_connection() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, relay) = relayed(&at, at.settings()).await;
    for last in 1..=10 {
        let pass = stage.sync(&www(last)).await.unwrap();
        assert_eq!((pass.applied.len(), pass.failed.len()), (1, 0), "{pass:?}");
    }
    assert_eq!((updates(&relay.since(0)), relay.connections()), (10, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_goes_over_a_new_connection_where_the_kept_one_is_closed() {
    let mut at = AtServer::start(Software::Bind);
    let (stage, relay) = relayed(&at, at.settings()).await;
    stage.listing().await;
    // While the question is on its way, which nobody can see before.
    relay.fault(0, Fault::Request);
    stage.listing().await;
    assert!(relay.heal());
    assert_eq!(relay.connections(), 2);
    at.server.restart().unwrap();
    stage.listing().await;
    assert_eq!(relay.connections(), 3);
}

/// Prerequisites would stop a second one, but for what somebody undid in between.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_on_a_connection_that_is_closed_is_not_repeated_unread() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, relay) = relayed(&at, at.settings()).await;
    stage.worker.observe().await.unwrap();
    // It never arrived, or it arrived and only its answer did not.
    for (last, fault, expected) in [(1, Fault::Request, 2), (2, Fault::Answer, 1)] {
        let (before, seen) = (serial(&at.server), relay.requests());
        relay.fault(0, fault);
        let pass = stage.sync(&www(last)).await.unwrap();
        assert!(relay.heal() && pass.failed.is_empty(), "{fault:?}: {:?}", pass.failed);
        assert_eq!(updates(&relay.since(seen)), expected, "{fault:?}");
        assert_eq!(serial(&at.server), before + 1, "{fault:?}");
        assert_eq!(served(&at.server, "www.example.com", "A"), [format!("192.0.2.{last}")]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_after_a_restart_of_the_server_happens_once() {
    let mut at = AtServer::start(Software::Bind);
    let (mut stage, relay) = relayed(&at, at.settings()).await;
    stage.sync(&www(1)).await.unwrap();
    at.server.restart().unwrap();
    let (before, seen) = (serial(&at.server), relay.requests());
    let pass = stage.sync(&www(2)).await.unwrap();
    assert!(pass.failed.is_empty(), "{:?}", pass.failed);
    assert!(updates(&relay.since(seen)) >= 1);
    assert_eq!((serial(&at.server), relay.connections()), (before + 1, 2));
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.2"]);
}
