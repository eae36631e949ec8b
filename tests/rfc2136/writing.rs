//! How a zone is written: whole changes, compared before and read back after.

use std::time::{Duration, Instant};

use control_plane::{DEADLINE, eventually};
use dns_servers::Software;
use zonekeeper_providers::rfc2136;
use zonekeeper_tests::{
    dns::{Fault, Relay},
    stage::{AtServer, Marks},
    wish::{Wish, want, want_all},
};

use crate::support::{by_hand, counted, serial, served};

/// Case 25.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_records_take_few_messages() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, counter) = counted(&at).await;
    stage.listing().await;
    let wishes: Vec<Wish> = (0..10_000).map(|i| want("A", &format!("host-{i}"), ["192.0.2.1"])).collect();
    let begun = Instant::now();
    let pass = stage.sync(&wishes).await.unwrap();
    let took = begun.elapsed();
    assert!(pass.failed.is_empty() && pass.applied.len() == 10_000);
    let updates = counter.take("UPDATE");
    println!("10,000 sets with markers: {updates} updates, {took:?}, {} transfers", counter.take("TRANSFER"));
    assert!(updates < 60, "{updates} messages");
    assert_eq!(served(&at.server, "host-9999.example.com", "A"), ["192.0.2.1"]);
    let begun = Instant::now();
    assert!(stage.sync(&[]).await.unwrap().failed.is_empty());
    println!("deleted: {} updates, {:?}", counter.take("UPDATE"), begun.elapsed());
}

/// Cases 11, 12 and 27.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_where_nothing_changed() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, counter) = counted(&at).await;
    let spelled = [want("MX", "@", ["10 mail.example.net"]), want("AAAA", "www", ["2001:DB8:0::1"])];
    let otherwise = [want("MX", "@", ["10 MAIL.example.net."]), want("AAAA", "www", ["2001:db8::0:1"])];
    stage.sync(&spelled).await.unwrap();
    assert_eq!((counter.take("UPDATE"), serial(&at.server)), (1, 2));
    for _ in 0..3 {
        stage.worker.scan();
        assert!(stage.sync(&otherwise).await.unwrap().applied.is_empty());
    }
    assert_eq!((counter.take("UPDATE"), serial(&at.server)), (0, 2));
}

/// Case 19.
#[tokio::test(flavor = "multi_thread")]
async fn a_ttl_changes_for_a_whole_set_in_one_update() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, counter) = counted(&at).await;
    let www = |ttl| [want("A", "www", ["192.0.2.1", "192.0.2.2", "192.0.2.3"]).ttl(ttl)];
    stage.sync(&www(300)).await.unwrap();
    counter.take("UPDATE");
    let before = serial(&at.server);
    assert!(stage.sync(&www(60)).await.unwrap().failed.is_empty());
    assert_eq!((counter.take("UPDATE"), serial(&at.server)), (1, before + 1));
    let ttls: Vec<u32> = stage
        .records()
        .await
        .iter()
        .filter(|r| r.name.as_str() == "www.example.com")
        .map(|r| r.ttl.0)
        .collect();
    assert_eq!(ttls, [60, 60, 60]);
}

/// Cases 23 and 24.
#[tokio::test(flavor = "multi_thread")]
async fn a_mail_host_in_the_zone_comes_with_its_address() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, counter) = counted(&at).await;
    let mx = want("MX", "@", ["10 mail.example.com"]);
    let pass = stage.sync(&[mx.clone(), want("A", "www", ["192.0.2.1"])]).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (1, 1));
    let error = &pass.failed[0].error;
    assert_eq!(error.reason(), "ProviderRejected");
    assert!(error.to_string().contains("mail.example.com is in this zone and has no address"), "{error}");
    counter.take("UPDATE");
    let pass =
        stage.sync(&[mx, want("A", "www", ["192.0.2.1"]), want("A", "mail", ["192.0.2.25"])]).await.unwrap();
    assert!(pass.failed.is_empty() && pass.applied.len() == 2, "{pass:?}");
    assert_eq!(counter.take("UPDATE"), 1);
}

/// Case 14.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_is_too_large_is_explained_and_stops_nobody_else() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    let many = want_all("A", "many", (1..=101).map(|i| format!("192.0.2.{i}")));
    let pass = stage.sync(&[many, want("A", "www", ["192.0.2.1"])]).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (1, 1));
    let message = pass.failed[0].error.to_string();
    assert!(message.contains("101 values") && message.contains("max-records-per-type"), "{message}");
    assert!(served(&at.server, "many.example.com", "A").is_empty(), "nothing of it");
}

/// Case 33.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_changed_between_read_and_write_is_read_again() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    let www = |value: &str| want("A", "www", [value]);
    stage.sync(&[www("192.0.2.1"), want("A", "api", ["192.0.2.1"])]).await.unwrap();
    by_hand(&at.server, "update add www.example.com 300 A 192.0.2.66");
    let pass = stage.sync(&[www("192.0.2.2"), want("A", "api", ["192.0.2.2"])]).await.unwrap();
    assert!(pass.failed.is_empty(), "{pass:?}");
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.2"]);
    assert_eq!(served(&at.server, "api.example.com", "A"), ["192.0.2.2"]);
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
    let relay = Relay::start(at.server.address()).await;
    let settings = rfc2136::Settings { servers: vec![relay.address.clone()], ..at.settings() };
    let mut stage = AtServer::stage_of(settings, Marks::Txt).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_where_the_marker_goes_is_named() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    by_hand(&at.server, "update add a-www.example.com 300 CNAME x.example.net.");
    let pass = stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap();
    let message = pass.failed[0].error.to_string();
    assert!(message.contains("alias at a-www.example.com"), "{message}");
    assert_eq!(served(&at.server, "www.example.com", "A"), [""; 0]);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_marker_leaves_the_ttl_of_text_beside_it() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    by_hand(&at.server, "update add a-www.example.com 3600 TXT theirs");
    assert!(stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap().failed.is_empty());
    let texts: Vec<_> =
        stage.listing().await.into_iter().filter(|(name, _)| name.as_str().starts_with("a-www")).collect();
    assert_eq!(texts.len(), 2);
    assert!(texts.iter().all(|(_, record)| record.ttl.0 == 3600), "{texts:?}");
}

/// Law 6: a change of type leaves no moment without an answer, because it is one message.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_type_is_one_version() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, counter) = counted(&at).await;
    stage
        .sync(&[want("A", "www", ["192.0.2.1", "192.0.2.2"]), want("AAAA", "www", ["2001:db8::1"])])
        .await
        .unwrap();
    let before = serial(&at.server);
    counter.take("UPDATE");
    assert!(stage.sync(&[want("CNAME", "www", ["target.example.net"])]).await.unwrap().failed.is_empty());
    assert_eq!((counter.take("UPDATE"), serial(&at.server)), (1, before + 1));
    assert_eq!(served(&at.server, "www.example.com", "CNAME"), ["target.example.net."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_zones_own_name_servers_can_be_taken_over_and_changed() {
    use zonekeeper_kernel::desired::Adoption;
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    for servers in [["ns2.example.net", "ns3.example.net"], ["ns4.example.net", "ns5.example.net"]] {
        let ns = want("NS", "@", servers).adopting(Adoption::Force);
        assert!(stage.sync(&[ns]).await.unwrap().failed.is_empty());
        assert_eq!(served(&at.server, "example.com", "NS"), servers.map(|server| format!("{server}.")));
    }
    let pass = stage.sync(&[]).await.unwrap();
    let message = pass.failed[0].error.to_string();
    assert!(message.contains("needs a name server"), "{message}");
}
