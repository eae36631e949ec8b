//! What a server says no to: explained, and no more than what it concerns.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use dns_servers::{Key, Software};
use zonekeeper_providers::{
    Provider,
    rfc2136::{Rfc2136, Settings},
};
use zonekeeper_tests::{
    stage::{AtServer, Marks},
    wish::{Wish, want},
};

use crate::support::{counted, serial, served};

fn hosts(count: usize) -> Vec<Wish> {
    (0..count).map(|i| want("A", &format!("host-{i}"), ["192.0.2.1"])).collect()
}

/// Case 37.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_the_policy_denies_stops_nobody_else() {
    let rules = "update-policy { deny zonekeeper name host-7.example.com. A; grant zonekeeper zonesub ANY; }; \
                 allow-transfer { key zonekeeper; };";
    let at = AtServer::with(Software::Bind, |setup| setup.rules = Some(rules.into()));
    let (mut stage, counter) = counted(&at).await;
    let pass = stage.sync(&hosts(50)).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (49, 1));
    let error = &pass.failed[0].error;
    assert_eq!(
        (error.reason(), &*pass.failed[0].change.name.to_string()),
        ("ProviderRejected", "host-7.example.com")
    );
    assert!(error.to_string().contains("update-policy"), "{error}");
    assert!(served(&at.server, "host-7.example.com", "A").is_empty());
    assert!(served(&at.server, "a-host-7.example.com", "TXT").is_empty(), "nor its marker");
    let updates = counter.take("UPDATE");
    assert!(updates < 20, "{updates} messages to find one of 50");
}

/// A server that refuses much is not asked about all of it at once, and what it takes does not wait for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_much_is_not_besieged() {
    let rules = "update-policy { grant zonekeeper name z.example.com. A; grant zonekeeper name a-z.example.com. TXT; }; \
                 allow-transfer { key zonekeeper; };";
    let at = AtServer::with(Software::Bind, |setup| setup.rules = Some(rules.into()));
    let (mut stage, counter) = counted(&at).await;
    let mut again = BTreeSet::new();
    for round in 0..=4 {
        let pass = stage.sync(&hosts(200)).await.unwrap();
        assert_eq!((pass.applied.len(), pass.failed.len()), (0, 200));
        assert!(pass.failed.iter().all(|failure| failure.error.reason() == "ProviderRejected"));
        let by_itself = pass.failed.iter().filter(|failure| !failure.error.to_string().contains("its turn"));
        let told: Vec<String> = by_itself.map(|failure| failure.change.name.to_string()).collect();
        let updates = counter.take("UPDATE");
        match round {
            // The first time everybody is told.
            0 => assert_eq!(told.len(), 200),
            _later => {
                assert!(updates < 200, "{updates} messages in round {round}");
                again.extend(told);
            }
        }
    }
    assert_eq!(again.len(), 200, "each had its turn");
    let mut wishes = hosts(200);
    wishes.push(want("A", "z", ["192.0.2.1"]));
    assert_eq!(stage.sync(&wishes).await.unwrap().applied.len(), 1);
    assert_eq!(served(&at.server, "z.example.com", "A"), ["192.0.2.1"]);
}

/// Case 38.
#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_zone_is_explained_and_goes_on_when_it_is_thawed() {
    let at = AtServer::start(Software::Bind);
    let (mut stage, counter) = counted(&at).await;
    stage.sync(&hosts(1)).await.unwrap();
    at.server.rndc(&["freeze", "example.com"]).unwrap();
    counter.take("UPDATE");
    let pass = stage.sync(&hosts(50)).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (0, 49));
    let message = pass.failed[0].error.to_string();
    assert!(message.contains("REFUSED") && message.contains("thaw"), "{message}");
    assert_eq!(counter.take("UPDATE"), 2, "the batch, and a question whether anything is taken at all");
    at.server.rndc(&["thaw", "example.com"]).unwrap();
    assert_eq!(stage.sync(&hosts(50)).await.unwrap().applied.len(), 49);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_only_read_is_told_apart() {
    let rules = "allow-update { key writer; }; allow-transfer { key zonekeeper; };";
    let at = AtServer::with(Software::Bind, |setup| {
        setup.keys.push(Key::new("writer"));
        setup.rules = Some(rules.into());
    });
    let (mut stage, _) = counted(&at).await;
    let pass = stage.sync(&hosts(3)).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (0, 3));
    assert_eq!(pass.failed[0].error.reason(), "CredentialsInvalid");
}

/// Case 40.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_comes_back_without_our_restart() {
    let mut at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    stage.sync(&hosts(1)).await.unwrap();
    at.server.kill();
    let begun = Instant::now();
    let pass = stage.sync_once(&hosts(2)).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "nobody learns of it before the pass ends");
    let error = &pass.failed[0].error;
    assert_eq!(error.reason(), "ProviderUnavailable");
    let message = error.to_string();
    assert!(message.contains(&at.server.address()) && message.contains("rfc2136.servers"), "{message}");
    at.server.restart().unwrap();
    assert!(stage.sync(&hosts(2)).await.unwrap().failed.is_empty());
    assert_eq!(served(&at.server, "host-1.example.com", "A"), ["192.0.2.1"]);
}

/// Case 39, for a zone that was there before.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_was_taken_from_the_server_is_not_found() {
    let mut at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    stage.sync(&hosts(1)).await.unwrap();
    at.server.reconfigure(|setup| setup.statements = Some(setup.keys[0].statement())).unwrap();
    let pass = stage.sync_once(&hosts(2)).await.unwrap();
    let error = &pass.failed[0].error;
    assert_eq!(error.reason(), "ZoneNotFound", "{error}");
    assert!(error.to_string().contains("updating zone example.com"), "{error}");
    assert!(error.to_string().contains("NOTAUTH"), "{error}");
    at.server.reconfigure(|setup| setup.statements = None).unwrap();
    assert_eq!(stage.sync(&hosts(2)).await.unwrap().applied.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_key_is_told_apart() {
    let rules = "allow-update { key zonekeeper; }; allow-transfer { 127.0.0.1; };";
    let at = AtServer::with(Software::Bind, |setup| setup.rules = Some(rules.into()));
    let before = serial(&at.server);
    let mut stage = AtServer::stage_of(Settings::new([at.server.address()]), Marks::Txt).await;
    let pass = stage.sync(&hosts(3)).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (0, 3));
    let error = &pass.failed[0].error;
    assert_eq!(error.reason(), "CredentialsInvalid", "{error}");
    assert!(error.to_string().contains("REFUSED"), "{error}");
    assert_eq!(serial(&at.server), before);
}

/// A zone file that named can't read leaves the zone without an answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_is_not_loaded_is_waited_for() {
    let mut at = AtServer::start(Software::Bind);
    let (mut stage, _) = counted(&at).await;
    stage.sync(&hosts(1)).await.unwrap();
    let broken = format!(
        "{}zone \"example.com\" {{ type primary; file \"named.conf\"; allow-update {{ key zonekeeper; }}; }};",
        at.server.key().statement()
    );
    at.server.reconfigure(|setup| setup.statements = Some(broken)).unwrap();
    let read = stage.access.list().await.unwrap_err();
    let pass = stage.sync_once(&hosts(2)).await.unwrap();
    for error in [&read, &pass.failed[0].error] {
        assert_eq!(error.reason(), "ProviderUnavailable", "{error}");
        let message = error.to_string();
        assert!(message.contains("SERVFAIL") && message.contains("loaded"), "{message}");
    }
    at.server.reconfigure(|setup| setup.statements = None).unwrap();
    assert!(stage.sync(&hosts(2)).await.unwrap().failed.is_empty());
    assert_eq!(served(&at.server, "host-1.example.com", "A"), ["192.0.2.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_is_given_up_in_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = AtServer::start(Software::Bind);
    let silent = listener.local_addr().unwrap().to_string();
    let settings = Settings { servers: vec![silent], timeout: Duration::from_millis(200), ..at.settings() };
    let error = Rfc2136::new(settings).unwrap().check().await.unwrap_err();
    assert_eq!(error.reason(), "ProviderUnavailable");
}
