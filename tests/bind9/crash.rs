//! The operator, killed at every message to the server: the end is that of an undisturbed run.

use control_plane::eventually;
use serde_json::json;
use zonekeeper_tests::dns::{Fault, Kind};

use crate::{
    site::Site,
    support::{Manifest, lab::DEADLINE},
};

/// Two states; from either to the other something is created, changed, retyped and deleted.
fn wishes(site: &Site<'_>, is_first: bool) -> Vec<Manifest> {
    match is_first {
        true => vec![
            site.a("www", "192.0.2.1"),
            site.records("api", "A", &["192.0.2.1", "192.0.2.2"]),
            site.a("old", "192.0.2.1"),
        ],
        false => vec![
            site.a("www", "192.0.2.2"),
            site.records("api", "CNAME", &["www.example.net"]),
            site.a("new", "192.0.2.1"),
        ],
    }
}

/// What is served then, name by name.
fn end(site: &Site<'_>) -> Vec<Vec<String>> {
    let names = [("www", "A"), ("api", "A"), ("api", "CNAME"), ("old", "A"), ("new", "A"), ("theirs", "A")];
    let markers = ["a-www", "a-api", "cname-api", "a-old", "a-new"].map(|name| site.served(name, "TXT"));
    names.map(|(name, rtype)| site.served(name, rtype)).into_iter().chain(markers).collect()
}

async fn wish(site: &Site<'_>, is_first: bool) {
    for manifest in wishes(site, is_first) {
        site.apply(&manifest).await;
    }
    site.delete("RecordSet", if is_first { "new" } else { "old" }).await;
}

async fn wait_done(site: &Site<'_>, is_first: bool) {
    for manifest in wishes(site, is_first) {
        site.wait_ready("RecordSet", manifest.0["metadata"]["name"].as_str().expect("a name")).await;
    }
    site.wait_gone("RecordSet", if is_first { "new" } else { "old" }).await;
    site.scan().await;
}

/// Case 63.
#[tokio::test]
async fn killed_at_every_message_it_ends_as_if_it_had_not_been() {
    let site = Site::ready_to_run("killed").await;
    site.apply(&site.dns_zone().with("guard", json!({"maxDeletePercent": 100}))).await;
    site.by_hand("update add theirs.ZONE 300 A 192.0.2.66");
    site.run();
    for manifest in wishes(&site, true) {
        site.ready(&manifest).await;
    }
    let first = end(&site);
    wish(&site, false).await;
    wait_done(&site, false).await;
    let second = end(&site);
    site.kill().await;
    let mut is_first = false;
    for held in [Fault::LostRequest, Fault::LostAnswer] {
        let mut updates = 0;
        for number in 0.. {
            is_first = !is_first;
            wish(&site, is_first).await;
            let seen = site.relay.requests();
            site.relay.fault(number, held);
            site.run();
            let expected = if is_first { &first } else { &second };
            eventually("the message, or the end", DEADLINE, async || match site.relay.is_reached() {
                true => Ok(()),
                false if end(&site) == *expected && site.relay.requests() - seen >= number => Ok(()),
                false => Err(site.relay.requests() - seen),
            })
            .await;
            site.kill().await;
            let (is_reached, kinds) = (site.relay.heal(), site.relay.since(seen));
            site.run();
            wait_done(&site, is_first).await;
            let quiet = site.serial();
            site.scan().await;
            assert_eq!((end(&site), site.serial()), (expected.clone(), quiet), "{held:?} at {number}");
            site.kill().await;
            let is_update = is_reached && kinds[number] == Kind::Update;
            updates += usize::from(is_update);
            // After the last update there is nothing left that could go wrong but reading.
            if updates > 0 && !is_update {
                break;
            }
        }
        assert!(updates > 0, "{held:?}");
    }
}
