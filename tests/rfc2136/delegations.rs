//! Delegations where a zone is read name by name: the server answers for them with a referral.

use dns_servers::Software;
use zonekeeper_providers::rfc2136::{Reading, Settings};
use zonekeeper_tests::{
    stage::{AtServer, Marks},
    wish::want,
};

use crate::support::served;

#[tokio::test(flavor = "multi_thread")]
async fn a_delegation_is_read_and_what_lies_below_it_is_not_written() {
    let rules = "allow-update { key zonekeeper; }; allow-transfer { none; };";
    let at = AtServer::with(Software::Bind, |setup| setup.rules = Some(rules.into()));
    let settings = Settings { reading: Reading::Names, ..at.settings() };
    let mut stage = AtServer::stage_of(settings, Marks::Txt).await;
    let delegation = want("NS", "sub", ["ns1.example.net", "ns2.example.net"]);
    let pass = stage.sync(std::slice::from_ref(&delegation)).await.unwrap();
    assert!(pass.failed.is_empty() && pass.applied.len() == 1, "{pass:#?}");
    stage.restart();
    assert!(stage.sync(std::slice::from_ref(&delegation)).await.unwrap().applied.is_empty());
    // Nobody could say later whether it is still there.
    let below = want("A", "www.sub", ["192.0.2.1"]);
    let pass = stage.sync(&[delegation, below]).await.unwrap();
    let message = pass.failed[0].error.to_string();
    assert!(message.contains("below a delegation"), "{message}");
    assert!(stage.sync(&[]).await.unwrap().failed.is_empty());
    assert_eq!(served(&at.server, "sub.example.com", "NS"), [""; 0]);
    assert_eq!(served(&at.server, "ns-sub.example.com", "TXT"), [""; 0], "nor its marker");
}

/// What a server says of the zone itself is not data.
#[tokio::test(flavor = "multi_thread")]
async fn the_version_of_a_zone_is_not_listed() {
    let at = AtServer::start(Software::Bind);
    let settings = Settings { reading: Reading::Names, ..at.settings() };
    let mut stage = AtServer::stage_of(settings, Marks::Txt).await;
    stage.sync(&[want("MX", "@", ["10 mail.example.net"])]).await.unwrap();
    let types: Vec<String> =
        stage.records().await.iter().map(|record| record.rdata.rtype().to_string()).collect();
    assert!(types.contains(&"MX".into()) && !types.contains(&"SOA".into()), "{types:?}");
}
