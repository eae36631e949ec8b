//! NOERROR is not success: what was written is read back, and what was ignored is said.

use dns_servers::Software;
use zonekeeper_providers::rfc2136::Settings;
use zonekeeper_tests::{
    dns::{Fault, Relay},
    stage::{AtServer, Stage},
    wish::{Wish, want},
};

use crate::support::{DNSKEY, counted, relayed, serial, served};

/// A server whose updates are not signed, so that one can be emptied on its way.
async fn unsigned() -> (AtServer, Stage, Relay) {
    let rules = "allow-update { 127.0.0.1; }; allow-transfer { 127.0.0.1; };";
    let at = AtServer::with(Software::Bind, |setup| setup.rules = Some(rules.into()));
    let (mut stage, relay) = relayed(&at, Settings::new([""; 0])).await;
    stage.worker.observe().await.unwrap();
    (at, stage, relay)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_ignores_is_reported() {
    let (at, mut stage, relay) = unsigned().await;
    let before = serial(&at.server);
    // Each fills a message.
    let wishes = ["text-0", "text-1", "text-2"].map(|name| want("TXT", name, [&"a".repeat(40_000)]));
    relay.fault(1, Fault::Hollow);
    let pass = stage.sync(&wishes).await.unwrap();
    assert!(relay.heal());
    assert_eq!((pass.applied.len(), pass.failed.len()), (2, 1), "{:?}", pass.failed);
    let failure = &pass.failed[0];
    assert_eq!(
        (failure.error.reason(), failure.change.name.as_str()),
        ("ProviderRejected", "text-1.example.com")
    );
    assert!(failure.error.to_string().contains("NOERROR"), "{}", failure.error);
    assert_eq!(serial(&at.server), before + 2);
    let pass = stage.sync(&wishes).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (1, 0), "{:?}", pass.failed);
    assert_eq!(served(&at.server, "text-1.example.com", "TXT").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_and_a_removal_that_are_ignored_are_reported_too() {
    let (at, mut stage, relay) = unsigned().await;
    let www = |value: &str| want("A", "www", [value]);
    stage.sync(&[www("192.0.2.1")]).await.unwrap();
    // Before a removal its names are read again.
    let steps: [(usize, &[Wish], &[&str]); 2] = [(0, &[www("192.0.2.2")], &["192.0.2.2"]), (1, &[], &[])];
    for (number, wishes, end) in steps {
        let before = serial(&at.server);
        relay.fault(number, Fault::Hollow);
        let pass = stage.sync(wishes).await.unwrap();
        assert!(relay.heal());
        assert_eq!((pass.applied.len(), pass.failed.len()), (0, 1), "{pass:#?}");
        let error = &pass.failed[0].error;
        assert_eq!(error.reason(), "ProviderRejected");
        assert!(error.to_string().contains("NOERROR"), "{error}");
        assert_eq!(serial(&at.server), before);
        assert!(stage.sync(wishes).await.unwrap().failed.is_empty());
        assert_eq!(served(&at.server, "www.example.com", "A"), end);
    }
}

/// PowerDNS 4.7 says NOERROR to a DNSKEY and ignores it (2026-11).
#[tokio::test(flavor = "multi_thread")]
async fn what_powerdns_ignores_is_reported() {
    let at = AtServer::start(Software::PowerDns);
    let (mut stage, _) = counted(&at).await;
    let api = want("A", "api", ["192.0.2.1"]);
    let pass = stage.sync(&[want("DNSKEY", "www", [DNSKEY]), api.clone()]).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (1, 1), "{pass:#?}");
    let error = &pass.failed[0].error;
    assert_eq!(error.reason(), "ProviderRejected", "{error}");
    assert!(error.to_string().contains("NOERROR"), "{error}");
    // It took the marker, which goes with the wish.
    assert!(stage.sync(&[api]).await.unwrap().failed.is_empty());
    assert_eq!(served(&at.server, "dnskey-www.example.com", "TXT"), [""; 0]);
}
