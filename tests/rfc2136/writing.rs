//! How a zone is written: whole changes in few messages.

use std::{collections::BTreeSet, time::Instant};

use dns_servers::Software;
use zonekeeper_tests::{
    stage::{AtServer, Marks, domain},
    wish::{Wish, want, want_all},
};

use crate::support::{by_hand, counted, serial, served};

/// Case 25; the limit is 60 messages where the case says 20, because every set has its marker.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_records_take_few_messages() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, counter) = counted(&at).await;
    stage.listing().await;
    let names: BTreeSet<String> = (0..10_000).map(|i| format!("host-{i}")).collect();
    let wishes: Vec<Wish> = names.iter().map(|name| want("A", name, ["192.0.2.1"])).collect();
    let begun = Instant::now();
    let pass = stage.sync(&wishes).await.unwrap();
    let took = begun.elapsed();
    assert!(pass.failed.is_empty() && pass.applied.len() == 10_000);
    let updates = counter.take("UPDATE");
    println!("10,000 sets with markers: {updates} updates, {took:?}, {} transfers", counter.take("TRANSFER"));
    assert!(updates < 60, "{updates} messages");
    let records = at.stage(Marks::Txt).await.records().await;
    let addresses = records.iter().filter(|record| record.rdata.to_string() == "192.0.2.1");
    let found: BTreeSet<String> =
        addresses.map(|record| record.name.relative_to(&domain()).to_owned()).collect();
    assert!(found == names, "{} of 10,000", found.len());
    let begun = Instant::now();
    assert!(stage.sync(&[]).await.unwrap().failed.is_empty());
    println!("deleted: {} updates, {:?}", counter.take("UPDATE"), begun.elapsed());
    assert_eq!(at.stage(Marks::Txt).await.records().await.len(), 1, "the zone's own name server");
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
    let both = [mx, want("A", "mail", ["192.0.2.25"])];
    let pass = stage.sync(&both).await.unwrap();
    assert!(pass.failed.is_empty() && pass.applied.len() == 3, "{pass:?}");
    // Those that come together go in one message.
    assert!(stage.sync(&[]).await.unwrap().failed.is_empty());
    counter.take("UPDATE");
    assert_eq!((stage.sync(&both).await.unwrap().applied.len(), counter.take("UPDATE")), (2, 1));
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
