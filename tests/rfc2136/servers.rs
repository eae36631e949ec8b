//! Several servers, in their order: the first counts, and others step in where they know as much.

use control_plane::{DEADLINE, eventually};
use dns_servers::Software;
use zonekeeper::engine::Pass;
use zonekeeper_providers::{ProviderError, rfc2136::Settings};
use zonekeeper_tests::{
    stage::{AtServer, DOMAIN, Marks, Stage},
    wish::{Wish, want},
};

use crate::support::{serial, served};

fn www(value: &str) -> Wish {
    want("A", "www", [value])
}

/// A secondary, which looks for a new version only when it is told to, and takes no updates.
fn secondary(of: &AtServer) -> AtServer {
    let (key, port) = (of.server.key(), of.server.port());
    let name = &key.name;
    let zone = format!(
        "zone \"{DOMAIN}\" {{ type secondary; primaries {{ 127.0.0.1 port {port} key {name}; }}; \
         allow-transfer {{ key {name}; }}; }};"
    );
    AtServer::with(Software::Bind, |setup| setup.statements = Some(key.statement() + &zone))
}

/// Waits until the secondary has what the first has.
async fn follow(first: &AtServer, second: &AtServer) {
    second.server.rndc(&["refresh", DOMAIN]).unwrap();
    eventually("the secondary follows", DEADLINE, async || {
        let serials = (serial(&first.server), serial(&second.server));
        if serials.0 == serials.1 { Ok(()) } else { Err(serials) }
    })
    .await;
}

async fn in_order(first: &AtServer, second: &AtServer) -> Stage {
    let servers = vec![first.server.address(), second.server.address()];
    AtServer::stage_of(Settings { servers, ..first.settings() }, Marks::Txt).await
}

/// Why a pass that did nothing did not, whether or not it came to writing.
fn trouble(pass: Result<Pass, ProviderError>) -> ProviderError {
    pass.map_or_else(
        |error| error,
        |pass| {
            assert!(pass.applied.is_empty(), "{pass:#?}");
            pass.failed[0].error.clone()
        },
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_server_is_asked_where_the_first_is_down() {
    let at = AtServer::start(Software::Bind);
    let servers = vec!["127.0.0.1:1".into(), at.server.address()];
    let mut stage = AtServer::stage_of(Settings { servers, ..at.settings() }, Marks::Txt).await;
    assert!(stage.sync(&[www("192.0.2.1")]).await.unwrap().failed.is_empty());
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_goes_on_at_the_next_server_and_writing_when_the_first_is_back() {
    let mut first = AtServer::start(Software::Bind);
    let second = secondary(&first);
    let mut stage = in_order(&first, &second).await;
    assert!(stage.sync(&[www("192.0.2.1")]).await.unwrap().failed.is_empty());
    follow(&first, &second).await;
    first.server.kill();
    stage.worker.scan();
    let pass = stage.sync(&[www("192.0.2.1")]).await.unwrap();
    assert!(pass.applied.is_empty() && pass.failed.is_empty(), "{pass:#?}");
    assert_eq!(stage.values("www", "A").await, ["192.0.2.1"]);
    first.server.restart().unwrap();
    let pass = stage.sync(&[www("192.0.2.2")]).await.unwrap();
    assert_eq!((pass.applied.len(), pass.failed.len()), (1, 0), "{pass:#?}");
    assert_eq!(served(&first.server, "www.example.com", "A"), ["192.0.2.2"]);
    assert_eq!(served(&second.server, "www.example.com", "A"), ["192.0.2.1"], "it was not told yet");
}

/// What the first has and the next has not would look as if somebody had removed it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_behind_is_neither_believed_nor_written_to() {
    let mut first = AtServer::start(Software::Bind);
    let second = AtServer::start(Software::Bind);
    let mut stage = in_order(&first, &second).await;
    assert!(stage.sync(&[www("192.0.2.1")]).await.unwrap().failed.is_empty());
    first.server.kill();
    let before = serial(&second.server);
    let listed = stage.access.list().await.unwrap_err();
    let written = trouble(stage.sync_once(&[www("192.0.2.2")]).await);
    for error in [listed, written] {
        assert_eq!(error.reason(), "ProviderUnavailable", "{error}");
        let message = error.to_string();
        assert!(message.contains("behind") && message.contains(&second.server.address()), "{message}");
    }
    assert_eq!(serial(&second.server), before);
    first.server.restart().unwrap();
    assert!(stage.sync(&[www("192.0.2.2")]).await.unwrap().failed.is_empty());
    assert_eq!(served(&first.server, "www.example.com", "A"), ["192.0.2.2"]);
    assert_eq!(serial(&second.server), before);
}

/// A new name is new there, too: no prerequisite says how old the rest is.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_new_is_written_to_a_server_that_is_behind() {
    let mut first = AtServer::start(Software::Bind);
    let second = AtServer::start(Software::Bind);
    let mut stage = in_order(&first, &second).await;
    assert!(stage.sync(&[www("192.0.2.1")]).await.unwrap().failed.is_empty());
    first.server.kill();
    let before = serial(&second.server);
    let wishes = [www("192.0.2.1"), want("A", "new", ["192.0.2.1"])];
    assert_eq!(trouble(stage.sync_once(&wishes).await).reason(), "ProviderUnavailable");
    assert_eq!(serial(&second.server), before);
    first.server.restart().unwrap();
    assert!(stage.sync(&wishes).await.unwrap().failed.is_empty());
    assert_eq!(served(&first.server, "new.example.com", "A"), ["192.0.2.1"]);
}

/// That the others refuse is no wonder: the first is the one to look after.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_server_that_is_down_is_the_reason_where_a_secondary_takes_no_updates() {
    let mut first = AtServer::start(Software::Bind);
    let second = secondary(&first);
    let mut stage = in_order(&first, &second).await;
    stage.worker.observe().await.unwrap();
    first.server.kill();
    let error = trouble(stage.sync_once(&[www("192.0.2.1")]).await);
    assert_eq!(error.reason(), "ProviderUnavailable", "{error}");
    assert!(error.to_string().contains(&first.server.address()), "{error}");
}
