//! What others do between our reading and our writing: it is seen, and what is theirs stays.

use std::time::Duration;

use control_plane::{DEADLINE, eventually};
use dns_servers::Software;
use zonekeeper_kernel::plan::Edit;
use zonekeeper_tests::{dns::Fault, stage::AtServer, wish::want};

use crate::support::{by_hand, counted, relayed, serial, served};

/// Case 33.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_changed_between_read_and_write_is_read_again() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, counter) = counted(&at).await;
    let www = |value: &str| want("A", "www", [value]);
    stage.sync(&[www("192.0.2.1"), want("A", "api", ["192.0.2.1"])]).await.unwrap();
    by_hand(&at.server, "update add www.example.com 300 A 192.0.2.66");
    counter.take("UPDATE");
    let before = serial(&at.server);
    let pass = stage.sync(&[www("192.0.2.2"), want("A", "api", ["192.0.2.2"])]).await.unwrap();
    assert!(pass.failed.is_empty(), "{pass:?}");
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.2"]);
    assert_eq!(served(&at.server, "api.example.com", "A"), ["192.0.2.2"]);
    assert_eq!(counter.take("UPDATE"), 3, "both, which is refused; the one that is as it was; the other");
    assert_eq!(serial(&at.server), before + 2, "what is refused changes nothing");
    let is_seen = |edit: &Edit| edit.before().is_some_and(|old| old.rdata.to_string() == "192.0.2.66");
    let seen = pass.applied.iter().flat_map(|change| &change.edits).filter(|edit| is_seen(edit));
    assert_eq!(seen.count(), 1, "it was read before it was overwritten: {pass:#?}");
    eventually("the refusal in the log", DEADLINE, async || {
        let log = at.server.log();
        let is_told = |line: &str| line.contains("www.example.com/A") && line.contains("(NXRRSET)");
        if log.lines().any(is_told) { Ok(()) } else { Err(log) }
    })
    .await;
}

/// Cases 5, 6 and 7: somebody else was faster, and keeps what is theirs.
#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_else_created_meanwhile_stays() {
    for theirs in ["A 192.0.2.66", "CNAME theirs.example.net.", "TXT \"theirs\""] {
        for ours in [want("A", "www", ["192.0.2.1"]), want("CNAME", "www", ["ours.example.net"])] {
            let at = AtServer::start(Software::Bind);
            let (mut stage, _) = counted(&at).await;
            stage.worker.observe().await.unwrap();
            by_hand(&at.server, &format!("update add www.example.com 60 {theirs}"));
            let pass = stage.sync(&[ours.clone(), want("A", "api", ["192.0.2.1"])]).await.unwrap();
            let (rtype, value) = theirs.split_once(' ').unwrap();
            assert_eq!(served(&at.server, "www.example.com", rtype), [value], "{ours:?}");
            assert_eq!(served(&at.server, "api.example.com", "A"), ["192.0.2.1"]);
            let is_beside = theirs.starts_with("TXT") && pass.applied.len() == 2;
            assert!(is_beside || pass.plan.rejections.len() == 1, "{theirs} {ours:?}: {pass:#?}");
            assert_eq!(pass.failed.len(), 0, "{:?}", pass.failed);
        }
    }
}

/// Law 3: what somebody adds while our own write to the name is on its way is theirs, for every later wish too.
#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_adds_beside_our_write_stays_theirs() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, relay) = relayed(&at, at.settings()).await;
    stage.worker.observe().await.unwrap();
    let (www, text) = (want("A", "www", ["192.0.2.1"]), want("TXT", "www", ["ours"]));
    relay.fault(0, Fault::Late(Duration::from_secs(2)));
    let wishes = [www.clone()];
    let (pass, ()) = tokio::join!(stage.sync(&wishes), async {
        eventually("our write", DEADLINE, async || {
            let found = served(&at.server, "www.example.com", "A");
            if found == ["192.0.2.1"] { Ok(()) } else { Err(found) }
        })
        .await;
        by_hand(&at.server, "update add www.example.com 300 TXT theirs");
    });
    assert!(relay.heal() && pass.unwrap().failed.is_empty());
    let pass = stage.sync(&[www, text]).await.unwrap();
    assert_eq!(pass.plan.rejections.len(), 1, "{pass:#?}");
    assert_eq!(served(&at.server, "www.example.com", "TXT"), ["\"theirs\""]);
    assert_eq!(served(&at.server, "txt-www.example.com", "TXT"), [""; 0], "nor is it marked as ours");
}

/// Law 3: what is adopted is what was seen, not what stands there by now.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_changed_before_it_was_adopted_is_not_claimed() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    by_hand(&at.server, "update add www.example.com 300 A 192.0.2.1");
    stage.worker.observe().await.unwrap();
    by_hand(&at.server, "update delete www.example.com A\nupdate add www.example.com 300 A 192.0.2.99");
    let pass = stage.sync(&[want("A", "www", ["192.0.2.1"]).ttl(300)]).await.unwrap();
    assert_eq!((pass.plan.rejections.len(), pass.failed.len()), (1, 0), "{pass:#?}");
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.99"]);
    assert_eq!(served(&at.server, "a-www.example.com", "TXT"), [""; 0], "nor is it marked as ours");
}

/// BIND ignores what would stand beside an alias, and would have kept the marker.
#[tokio::test(flavor = "multi_thread")]
async fn beside_an_alias_that_came_meanwhile_no_marker_is_left() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    by_hand(&at.server, "update add www.example.com 300 TXT theirs");
    stage.worker.observe().await.unwrap();
    by_hand(
        &at.server,
        "update delete www.example.com TXT\nupdate add www.example.com 300 CNAME x.example.net.",
    );
    let pass = stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap();
    assert_eq!((pass.plan.rejections.len(), pass.failed.len()), (1, 0), "{pass:#?}");
    assert_eq!(served(&at.server, "a-www.example.com", "TXT"), [""; 0]);
}

/// Law 3: a record that went, and that somebody makes again by hand, is theirs.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_again_by_another_hand_is_not_ours() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap();
    by_hand(&at.server, "update delete www.example.com\nupdate delete a-www.example.com");
    for _ in 0..2 {
        stage.worker.scan();
        assert!(stage.sync(&[]).await.unwrap().applied.is_empty());
        by_hand(&at.server, "update add www.example.com 300 A 192.0.2.1");
    }
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.1"]);
}
