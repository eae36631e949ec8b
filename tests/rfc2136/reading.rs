//! How a zone is read: all of it once, then one question, then what changed.

use std::sync::Arc;

use dns_servers::Software;
use zonekeeper_providers::{
    Provider,
    rfc2136::{self, Reading, Rfc2136},
};
use zonekeeper_tests::{
    dns::{Fault, Relay},
    stage::{AtServer, Marks, domain},
    wish::want,
};

use crate::support::{Counter, by_hand, counted, serial, served};

/// Case 30.
#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_zone_costs_one_question() {
    let at = AtServer::start(Software::Bind);
    let (stage, counter) = counted(&at).await;
    stage.listing().await;
    counter.take("QUERY");
    assert_eq!(counter.take("TRANSFER"), 1);
    stage.listing().await;
    assert_eq!((counter.take("QUERY"), counter.take("TRANSFER"), counter.take("UPDATE")), (1, 0, 0));
}

/// Case 31.
#[tokio::test(flavor = "multi_thread")]
async fn what_changed_is_read_in_differences() {
    let at = AtServer::start(Software::Bind);
    let (stage, counter) = counted(&at).await;
    stage.listing().await;
    by_hand(&at.server, "update add www.example.com 60 A 192.0.2.1\nupdate add b.example.com 60 A 192.0.2.1");
    by_hand(&at.server, "update add www.example.com 60 A 192.0.2.2\nupdate delete b.example.com A");
    counter.take("TRANSFER");
    assert_eq!(stage.values("www", "A").await, ["192.0.2.1", "192.0.2.2"]);
    assert_eq!(stage.values("b", "A").await, [""; 0]);
    assert_eq!(counter.take("TRANSFER"), 1);
    // It is logged when all of it was sent, which we may have read already.
    for _ in 0..100 {
        if at.server.log().contains("IXFR ended") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("no IXFR: {}", at.server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_differences_sends_all() {
    for options in ["provide-ixfr no;", "max-ixfr-ratio 1%;"] {
        let at = AtServer::with(Software::Bind, |setup| setup.options = options.into());
        let (stage, _) = counted(&at).await;
        stage.listing().await;
        by_hand(&at.server, "update add www.example.com 60 A 192.0.2.1");
        assert_eq!(stage.values("www", "A").await, ["192.0.2.1"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_went_back_is_read_again() {
    let mut at = AtServer::start(Software::Bind);
    let (stage, _) = counted(&at).await;
    by_hand(&at.server, "update add www.example.com 60 A 192.0.2.1");
    by_hand(&at.server, "update add www.example.com 60 A 192.0.2.2");
    assert_eq!((stage.values("www", "A").await.len(), serial(&at.server)), (2, 3));
    at.server.forget().unwrap();
    assert_eq!((stage.values("www", "A").await.len(), serial(&at.server)), (0, 1));
}

/// A backup that others went on with before we looked again: differences would fit, and hide what was lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_went_back_and_on_again_is_read_as_a_whole() {
    let hosts: String = (0..100).map(|i| format!("host-{i} A 192.0.2.1\n")).collect();
    let mut at = AtServer::with(Software::Bind, |setup| setup.zone += &hosts);
    let (stage, _) = counted(&at).await;
    by_hand(&at.server, "update add www.example.com 60 A 192.0.2.1");
    assert_eq!((stage.values("www", "A").await.len(), serial(&at.server)), (1, 2));
    at.server.kill();
    stage.access.list().await.unwrap_err();
    at.server.forget().unwrap();
    for name in ["one", "two", "three"] {
        by_hand(&at.server, &format!("update add {name}.example.com 60 A 192.0.2.1"));
    }
    assert_eq!((stage.values("www", "A").await.len(), serial(&at.server)), (0, 4));
}

/// A zone that was loaded anew under the serial that it had.
fn edit_behind_its_serial(at: &mut AtServer) {
    at.server.reconfigure(|setup| setup.zone.push_str("www 300 A 203.0.113.1\n")).unwrap();
    at.server.forget().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_server_knows_better_all_of_the_zone_is_read_again() {
    let mut at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    stage.worker.observe().await.unwrap();
    edit_behind_its_serial(&mut at);
    let wishes = [want("A", "www", ["192.0.2.1"]), want("A", "api", ["192.0.2.1"])];
    let pass = stage.sync(&wishes).await.unwrap();
    assert_eq!((pass.plan.rejections.len(), pass.failed.len()), (1, 0), "{pass:#?}");
    assert_eq!(served(&at.server, "www.example.com", "A"), ["203.0.113.1"]);
    assert_eq!(served(&at.server, "api.example.com", "A"), ["192.0.2.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serial_is_not_believed_for_ever() {
    let mut at = AtServer::start(Software::Bind);
    let settings = rfc2136::Settings { reread_after: std::time::Duration::from_secs(1), ..at.settings() };
    let stage = AtServer::stage_of(settings, Marks::Txt).await;
    assert_eq!(stage.values("www", "A").await, [""; 0]);
    edit_behind_its_serial(&mut at);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(stage.values("www", "A").await, ["203.0.113.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_that_is_cut_off_is_an_error_and_never_a_short_zone() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    let many: Vec<_> = (0..3_000).map(|i| want("A", &format!("host-{i}"), ["192.0.2.1"])).collect();
    assert!(stage.sync(&many).await.unwrap().failed.is_empty());
    // The requests are: two to open the zone, one for its version, one for the transfer.
    for octets in [0, 1, 100, 16_000, 40_000, 100_000] {
        let relay = Relay::start(at.server.address()).await;
        relay.fault(3, Fault::Rest(octets));
        let settings = rfc2136::Settings { servers: vec![relay.address.clone()], ..at.settings() };
        let stage = AtServer::stage_of(settings, Marks::Txt).await;
        match stage.access.list().await {
            Err(error) => assert_eq!(error.reason(), "ProviderUnavailable", "{error}"),
            // Nothing of the answer was seen on a connection that was kept: it was asked again on a new one.
            Ok(records) => assert!(records.len() == 6_001 && octets < 40_000, "{octets}: {}", records.len()),
        }
        assert_eq!(stage.access.list().await.unwrap().len(), 6_001, "and then it goes on");
        assert!(relay.heal(), "it was cut off");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_transfer_says_what_to_allow() {
    let rules = "allow-update { key zonekeeper; }; allow-transfer { none; };";
    let at = AtServer::with(Software::Bind, |setup| setup.rules = Some(rules.into()));
    let (stage, _) = counted(&at).await;
    let error = stage.access.list().await.unwrap_err();
    assert_eq!(error.reason(), "CredentialsInvalid");
    assert!(error.to_string().contains("by AXFR") && error.to_string().contains("allow-transfer"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_transfers_nothing_can_be_read_name_by_name() {
    let rules = "allow-update { key zonekeeper; }; allow-transfer { none; };";
    let at = AtServer::with(Software::Bind, |setup| {
        setup.rules = Some(rules.into());
        setup.zone += "old A 203.0.113.1\nbeside A 203.0.113.2\n*.apps A 203.0.113.3\n";
    });
    let counter = Arc::new(Counter::default());
    let settings = rfc2136::Settings { meter: counter.clone(), reading: Reading::Names, ..at.settings() };
    let mut stage = AtServer::stage_of(settings, Marks::Txt).await;
    // What the wildcard makes up is not there; what is there stays.
    let wishes = [
        want("A", "www", ["192.0.2.1"]),
        want("A", "x.apps", ["192.0.2.2"]),
        want("A", "old", ["192.0.2.3"]),
    ];
    let pass = stage.sync(&wishes).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (2, 0), "{pass:?}");
    assert_eq!(served(&at.server, "x.apps.example.com", "A"), ["192.0.2.2"]);
    assert_eq!(served(&at.server, "y.apps.example.com", "A"), ["203.0.113.3"]);
    assert_eq!(served(&at.server, "old.example.com", "A"), ["203.0.113.1"]);
    // A quiet zone costs one question.
    stage.listing().await;
    counter.take("QUERY");
    stage.listing().await;
    assert_eq!((counter.take("QUERY"), counter.take("TRANSFER")), (1, 0));
    // What somebody changed is seen, after a restart too; a type is changed, and what is wished no more goes.
    by_hand(&at.server, "update add www.example.com. 300 A 203.0.113.9");
    stage.restart();
    stage.sync(&wishes).await.unwrap();
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.1"]);
    stage.sync(&[want("CNAME", "www", ["elsewhere.example.net"])]).await.unwrap();
    assert_eq!(served(&at.server, "www.example.com", "CNAME"), ["elsewhere.example.net."]);
    assert_eq!(served(&at.server, "x.apps.example.com", "A"), ["203.0.113.3"], "the wildcard's again");
    assert_eq!(served(&at.server, "beside.example.com", "A"), ["203.0.113.2"]);
    assert_eq!(served(&at.server, "a-www.example.com", "TXT"), [""; 0], "nor is a marker left");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_signing_server_writes_is_not_ours_to_touch() {
    signing("no").await;
}

/// The zone that is written to and the one that is shown are two; the second follows the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_signs_a_copy_is_waited_for() {
    signing("yes").await;
}

async fn signing(inline: &str) {
    let rules = format!(
        "allow-update {{ key zonekeeper; }}; allow-transfer {{ key zonekeeper; }}; dnssec-policy default; \
         inline-signing {inline};"
    );
    let at = AtServer::with(Software::Bind, |setup| setup.rules = Some(rules));
    let (mut stage, _) = counted(&at).await;
    let begun = std::time::Instant::now();
    while !stage.listing().await.iter().any(|(_, record)| record.read_only) {
        assert!(begun.elapsed().as_secs() < 20, "{}", at.server.log());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let records = stage.listing().await;
    let types: Vec<String> = records.iter().map(|(_, record)| record.rdata.rtype().to_string()).collect();
    assert!(types.contains(&"DNSKEY".into()) && !types.contains(&"TYPE46".into()), "{types:?}");
    assert!(records.iter().all(|(_, record)| record.read_only == (record.rdata.rtype().to_string() != "NS")));
    let wishes = [want("A", "www", ["192.0.2.1"]), want("CNAME", "alias", ["www.example.com"])];
    let pass = stage.sync(&wishes).await.unwrap();
    assert!(pass.failed.is_empty() && pass.applied.len() == 2, "{pass:?}");
    stage.restart();
    let pass = stage.sync(&[]).await.unwrap();
    assert!(pass.failed.is_empty() && pass.applied.len() == 2, "{pass:?}");
}

/// Case 39.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_the_server_does_not_have_is_not_found() {
    let at = AtServer::start(Software::Bind);
    let provider = Rfc2136::new(at.settings()).unwrap();
    let other = zonekeeper_kernel::name::Name::parse("example.org").unwrap();
    let error = provider.open(&other, None).await.unwrap_err();
    assert_eq!(error.reason(), "ZoneNotFound");
    assert!(error.to_string().contains(&at.server.address()), "{error}");
    let below = zonekeeper_kernel::name::Name::parse("www.example.com").unwrap();
    assert_eq!(provider.open(&below, None).await.unwrap_err().reason(), "ZoneNotFound");
    assert_eq!(provider.open(&domain(), None).await.unwrap().traits().name_servers, ["ns1.example.net"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_zone_is_read_once() {
    let hosts: String = (0..100_000).map(|i| format!("host-{i} A 192.0.2.1\n")).collect();
    let at = AtServer::with(Software::Bind, |setup| setup.zone += &hosts);
    let (stage, counter) = counted(&at).await;
    let begun = std::time::Instant::now();
    assert_eq!(stage.access.list().await.unwrap().len(), 100_001);
    let whole = begun.elapsed();
    counter.take("TRANSFER");
    let begun = std::time::Instant::now();
    assert_eq!(stage.access.list().await.unwrap().len(), 100_001);
    println!("100,000 records: {whole:?}, then {:?}", begun.elapsed());
    assert_eq!(counter.take("TRANSFER"), 0);
}
