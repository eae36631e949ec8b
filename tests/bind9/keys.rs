//! TSIG keys in Secrets: wrong ones are named, rotated ones take effect without a restart.

use std::time::Duration;

use control_plane::eventually;
use dns_servers::Key;
use serde_json::json;
use zonekeeper_tests::dns::Fault;

use crate::{site::Site, support::lab::DEADLINE};

/// Cases 34 and 35: said in words, without a storm of tries, and healed by the Secret.
#[tokio::test]
async fn a_wrong_key_is_named_and_the_right_one_heals_it() {
    let site = Site::ready_to_run("wrong-key").await;
    let right = site.server.key().clone();
    site.by_hand("update add theirs.ZONE 300 A 192.0.2.66");
    site.run();
    site.ready(&site.a("kept", "192.0.2.1")).await;
    site.kill().await;
    let serial = site.serial();
    site.put_key(&Key { secret: "d3Jvbmctd3Jvbmctd3Jvbmc=".into(), ..right.clone() }).await;
    site.run();
    let provider = site.home.name().to_owned();
    let message = site.wait_reason("DNSProvider", &provider, "CredentialsInvalid").await;
    assert!(message.contains("another secret for TSIG key zonekeeper"), "{message}");
    assert!(!message.contains("d3Jvbmct") && !site.log().contains("d3Jvbmct"), "{message}");
    let message = site.not_ready(&site.a("www", "192.0.2.1"), "CredentialsInvalid").await;
    assert!(message.contains(&provider), "{message}");
    let seen = site.relay.requests();
    // Nothing to wait for: what must not happen would happen within this time.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let tries = site.relay.requests() - seen;
    assert!(tries < 10, "{tries} tries in two seconds");
    site.put_key(&Key { name: "nobody".into(), ..right.clone() }).await;
    site.wait("DNSProvider", &provider, "the other mistake", |object| {
        crate::support::condition(object, "Ready").message.contains("does not know TSIG key nobody")
    })
    .await;
    assert_eq!(site.serial(), serial, "nothing was written");
    site.put_key(&right).await;
    site.wait_ready("DNSProvider", &provider).await;
    site.wait_ready("RecordSet", "www").await;
    assert_eq!(site.served("www", "A"), ["192.0.2.1"]);
    assert_eq!(site.served("kept", "A"), ["192.0.2.1"]);
    assert_eq!(site.served("theirs", "A"), ["192.0.2.66"]);
}

/// Least privilege: one key reads and another one writes, and each is rotated by its own Secret.
#[tokio::test]
async fn transfers_may_have_a_key_of_their_own() {
    let (writer, reader, next) = (Key::new("writer"), Key::new("reader"), Key::new("next-reader"));
    let rules = |reader: &Key| {
        let readers = format!("allow-transfer {{ key {}; }};", reader.name);
        Some(format!("update-policy {{ grant writer zonesub ANY; }}; {readers}"))
    };
    let keys = vec![writer, reader.clone(), next.clone()];
    let mut site = Site::with("two-keys", |setup| (setup.keys, setup.rules) = (keys, rules(&reader))).await;
    let put_reader = async |key: &Key| {
        let data = [("name", &*key.name), ("algorithm", &*key.algorithm), ("secret", &*key.secret)];
        site.put_secret("reader", &data).await;
    };
    put_reader(&reader).await;
    let reference = json!({"name": "reader", "namespace": site.home.name()});
    site.apply(&site.provider().with("rfc2136.transferTsigSecretRef", reference)).await;
    site.run();
    site.ready(&site.a("www", "192.0.2.1")).await;
    put_reader(&next).await;
    site.server.reconfigure(|setup| setup.rules = rules(&next)).expect("named takes it");
    site.by_hand("update delete www.ZONE A");
    site.scan().await;
    site.wait_served("www", "A", &["192.0.2.1"]).await;
    site.wait_ready("RecordSet", "www").await;
}

/// Case 41: the Secret first, with the old key beside the new one; then the server; then the old key goes.
#[tokio::test]
async fn a_key_is_rotated_without_a_restart_and_without_a_gap() {
    let (old, new) = (Key::new("key-1"), Key::new("key-2"));
    let known = old.clone();
    let mut site = Site::with("rotated", |setup| setup.keys = vec![known]).await;
    site.run();
    site.wait_ready("DNSZone", "zone").await;
    site.ready(&site.a("www", "192.0.2.1")).await;
    let both = [
        ("name", &*new.name),
        ("algorithm", &*new.algorithm),
        ("secret", &*new.secret),
        ("previousName", &*old.name),
        ("previousAlgorithm", &*old.algorithm),
        ("previousSecret", &*old.secret),
    ];
    site.put_secret("bind9", &both).await;
    site.ready(&site.a("www", "192.0.2.2")).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.2"]);
    site.server.reconfigure(|setup| setup.keys = vec![new.clone()]).expect("named takes it");
    site.ready(&site.a("www", "192.0.2.3")).await;
    site.put_key(&new).await;
    site.ready(&site.a("www", "192.0.2.4")).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.4"]);
    site.wait_ready("DNSProvider", site.home.name()).await;
    let events = site.events("RecordSet", "www").await;
    let is_about_keys = |reason: &str| matches!(reason, "CredentialsInvalid" | "ProviderUnavailable");
    assert!(!events.iter().any(|event| is_about_keys(&event.reason)), "nobody noticed: {events:?}");
}

/// A pass that is under way with the old key, and fails with it, is followed by one with the new key.
#[tokio::test]
async fn a_key_that_is_rotated_during_a_pass_is_taken_up_after_it() {
    let (old, new) = (Key::new("key-1"), Key::new("key-2"));
    let known = old.clone();
    let mut site = Site::with("rotated-busy", |setup| setup.keys = vec![known]).await;
    site.run();
    site.ready(&site.a("www", "192.0.2.1")).await;
    // The next message gets no answer for a while.
    site.relay.fault(0, Fault::Late(Duration::from_secs(3)));
    site.apply(&site.a("www", "192.0.2.2")).await;
    eventually("a message", DEADLINE, async || if site.relay.is_reached() { Ok(()) } else { Err(()) }).await;
    site.server.reconfigure(|setup| setup.keys = vec![new.clone()]).expect("named takes it");
    let seen = site.relay.requests();
    site.put_key(&new).await;
    eventually("the new key is tried", DEADLINE, async || {
        let tries = site.relay.requests() - seen;
        if tries > 0 { Ok(()) } else { Err(()) }
    })
    .await;
    site.wait_ready("RecordSet", "www").await;
    site.ready(&site.a("www", "192.0.2.3")).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.3"]);
}

/// What is asked for while the zone is looked for with the new key does not go on with the old one.
#[tokio::test]
async fn a_key_that_is_rotated_just_before_a_change_is_taken_up() {
    let (old, new) = (Key::new("key-1"), Key::new("key-2"));
    let known = vec![old, new.clone()];
    let mut site = Site::with("rotated-before", |setup| setup.keys = known).await;
    site.run();
    site.ready(&site.a("www", "192.0.2.1")).await;
    // The first message tries the key, the second one looks for the zone.
    site.relay.fault(1, Fault::Late(Duration::from_secs(3)));
    site.put_key(&new).await;
    eventually("the zone is looked for", DEADLINE, async || {
        if site.relay.is_reached() { Ok(()) } else { Err(site.relay.requests()) }
    })
    .await;
    site.ready(&site.a("www", "192.0.2.2")).await;
    site.server.reconfigure(|setup| setup.keys = vec![new.clone()]).expect("named takes it");
    site.ready(&site.a("www", "192.0.2.3")).await;
    assert_eq!(site.served("www", "A"), ["192.0.2.3"]);
    let events = site.events("RecordSet", "www").await;
    assert!(!events.iter().any(|event| event.reason == "CredentialsInvalid"), "{events:?}");
}
