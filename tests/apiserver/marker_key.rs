//! The key that signs markers: made once, missed when it is gone.

use serde_json::json;

use crate::support::Lab;

const SECRET: &str = "zonekeeper-marker-key";

#[tokio::test]
async fn the_key_is_made_once() {
    let lab = Lab::new("made").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let made = lab.get("Secret", SECRET).await.expect("it was made");
    assert!(made["data"]["current"].as_str().is_some_and(|key| key.len() >= 40), "{made}");
    lab.kill().await;
    lab.run();
    lab.ready(&lab.a("two", "192.0.2.1")).await;
    let same = lab.get("Secret", SECRET).await.expect("it is there");
    assert_eq!(same["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn a_key_that_is_gone_is_missed_and_take_over_from_heals() {
    let lab = Lab::new("missed").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let owner =
        lab.get("DNSProvider", lab.home.name()).await.expect("it is there")["status"]["ownerID"].clone();
    lab.kill().await;
    lab.delete("Secret", SECRET).await;
    lab.run();
    let message = lab.wait_reason("DNSZone", "zone", "MarkerKeyMissing").await;
    assert!(message.contains(SECRET) && message.contains("takeOverFrom"), "{message}");
    let mark = lab.mark();
    lab.not_ready(&lab.a("www", "192.0.2.2"), "MarkerKeyMissing").await;
    lab.not_ready(&lab.a("new", "192.0.2.3"), "MarkerKeyMissing").await;
    assert_eq!(lab.changes_since(mark), [""; 0], "the zone is read-only");
    assert!(lab.get("Secret", SECRET).await.is_none());
    lab.apply(&lab.provider().with("registry", json!({"takeOverFrom": [owner]}))).await;
    lab.wait_ready("RecordSet", "www").await;
    lab.wait_ready("RecordSet", "new").await;
    assert_eq!(lab.contents(), ["new A 192.0.2.3", "www A 192.0.2.2"]);
    assert!(lab.get("Secret", SECRET).await.is_some());
}

#[tokio::test]
async fn a_key_is_rotated_and_scans_sign_again() {
    let lab = Lab::new("rotated-key").await;
    lab.put_secret(SECRET, &[("current", "the first key of this zone, long enough")]).await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let first = lab.record("www", "A")["comment"].clone();
    let (new, old) = ("the second key of this zone, long enough", "the first key of this zone, long enough");
    lab.put_secret(SECRET, &[("current", new), ("previous", old)]).await;
    control_plane::eventually("signed again", control_plane::DEADLINE, async || {
        let comment = lab.record("www", "A")["comment"].clone();
        if comment != first { Ok(()) } else { Err(comment) }
    })
    .await;
    lab.put_secret(SECRET, &[("current", new)]).await;
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.2"]);
}

#[tokio::test]
async fn a_key_deleted_while_it_runs_is_missed_too() {
    let lab = Lab::new("key-deleted").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let key = lab.get("Secret", SECRET).await.expect("it was made");
    lab.delete("Secret", SECRET).await;
    lab.wait_reason("DNSZone", "zone", "MarkerKeyMissing").await;
    // Restored, all is as before.
    let text = key["data"]["current"].as_str().expect("a key");
    let bytes = data_encoding::BASE64.decode(text.as_bytes()).expect("base64");
    lab.put_secret(SECRET, &[("current", std::str::from_utf8(&bytes).expect("text"))]).await;
    let mark = lab.mark();
    lab.wait_ready("DNSZone", "zone").await;
    lab.wait_ready("RecordSet", "www").await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
}

#[tokio::test]
async fn a_secret_without_a_key_is_said_and_never_used() {
    let lab = Lab::ready_to_run("empty-key").await;
    for data in [&[("previous", "the key before, long enough")][..], &[("current", "")], &[("current", "\n")]]
    {
        lab.put_secret(SECRET, data).await;
        lab.run();
        let message = lab.wait_reason("DNSProvider", lab.home.name(), "RefNotFound").await;
        assert!(message.contains(SECRET) && message.contains("`current`"), "{message}");
        lab.not_ready(&lab.a("www", "192.0.2.1"), "RefNotFound").await;
        assert_eq!(lab.contents(), [""; 0], "nothing is signed with nothing");
        lab.kill().await;
    }
    lab.run();
    lab.put_secret(SECRET, &[("current", "a key that is long enough")]).await;
    lab.wait_ready("RecordSet", "www").await;
    lab.wait_ready("DNSProvider", lab.home.name()).await;
    // A key that worked is not given up for one that is empty.
    let signed = lab.record("www", "A")["comment"].clone();
    lab.put_secret(SECRET, &[("current", "")]).await;
    let message = lab.wait_reason("DNSProvider", lab.home.name(), "RefNotFound").await;
    assert!(message.contains("before are used on"), "{message}");
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    assert_eq!(lab.record("www", "A")["comment"], signed);
}
