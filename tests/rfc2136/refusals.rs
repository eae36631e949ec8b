//! What a server says no to: explained, and no more than what it concerns.

use std::time::Duration;

use dns_servers::{Key, Software};
use zonekeeper_providers::rfc2136;
use zonekeeper_tests::{
    stage::{AtServer, Marks},
    wish::{Wish, want},
};

use crate::support::{counted, served};

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
    let pass = stage.sync_once(&hosts(2)).await.unwrap();
    let error = &pass.failed[0].error;
    assert_eq!(error.reason(), "ProviderUnavailable");
    assert!(error.to_string().contains(&at.server.address()), "{error}");
    at.server.restart().unwrap();
    assert!(stage.sync(&hosts(2)).await.unwrap().failed.is_empty());
    assert_eq!(served(&at.server, "host-1.example.com", "A"), ["192.0.2.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_server_is_asked_where_the_first_is_down() {
    let at = AtServer::start(Software::Bind);
    let servers = vec!["127.0.0.1:1".into(), at.server.address()];
    let mut stage = AtServer::stage_of(rfc2136::Settings { servers, ..at.settings() }, Marks::Txt).await;
    assert!(stage.sync(&hosts(2)).await.unwrap().failed.is_empty());
    assert_eq!(served(&at.server, "host-1.example.com", "A"), ["192.0.2.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_is_given_up_in_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = AtServer::start(Software::Bind);
    let silent = listener.local_addr().unwrap().to_string();
    let settings =
        rfc2136::Settings { servers: vec![silent], timeout: Duration::from_millis(200), ..at.settings() };
    let provider = rfc2136::Rfc2136::new(settings).unwrap();
    let error = zonekeeper_providers::Provider::check(&provider).await.unwrap_err();
    assert_eq!(error.reason(), "ProviderUnavailable");
}
