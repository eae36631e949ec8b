//! Sets that change their type: the old one goes where it excludes the new one, in one change.

use zonekeeper_tests::wish::{Wish, want};

use crate::ground::Ground;

pub async fn an_address_becomes_an_alias_and_back(ground: &mut Ground) {
    let address = [want("A", "www", ["192.0.2.1"])];
    let alias = [want("CNAME", "www", ["target.example.net"])];
    there_and_back(ground, &address, &alias).await;
}

pub async fn two_families_become_an_alias_and_back(ground: &mut Ground) {
    let addresses = [want("A", "www", ["192.0.2.1"]), want("AAAA", "www", ["2001:db8::1"])];
    let alias = [want("CNAME", "www", ["target.example.net"])];
    there_and_back(ground, &addresses, &alias).await;
}

pub async fn several_values_become_an_alias_and_back(ground: &mut Ground) {
    let addresses = [
        want("A", "www", ["192.0.2.1", "192.0.2.2", "192.0.2.3"]),
        want("AAAA", "www", ["2001:db8::1", "2001:db8::2"]),
    ];
    let alias = [want("CNAME", "www", ["target.example.net"])];
    there_and_back(ground, &addresses, &alias).await;
}

pub async fn a_type_without_conflict_is_just_replaced(ground: &mut Ground) {
    ground.settle(&[want("A", "www", ["192.0.2.1"])]).await;
    ground.settle(&[want("AAAA", "www", ["2001:db8::1"])]).await;
    ground.holds("www", "A", []).await;
    ground.settle(&[want("MX", "www", ["10 mx.example.net"]), want("TXT", "www", ["text"])]).await;
    ground.holds("www", "AAAA", []).await;
    ground.clear().await;
}

async fn there_and_back(ground: &mut Ground, addresses: &[Wish], alias: &[Wish]) {
    ground.settle(addresses).await;
    let records = ground.stage.listing().await.len();
    let pass = ground.settle(alias).await;
    assert_eq!(
        pass.applied.len(),
        1,
        "one change, so that it is done whole or not at all: {:#?}",
        pass.applied
    );
    ground.holds("www", "CNAME", ["target.example.net"]).await;
    ground.holds("www", "A", []).await;
    ground.holds("www", "AAAA", []).await;
    let pass = ground.settle(addresses).await;
    assert_eq!(pass.applied.len(), 1, "{:#?}", pass.applied);
    ground.holds("www", "CNAME", []).await;
    assert_eq!(ground.stage.listing().await.len(), records);
    ground.clear().await;
}
