//! How ownership is remembered at the provider: comments, signed or not, and ExternalDNS's TXT records.

use serde_json::{Value, json};

use crate::support::{Lab, Manifest, records, secret, zone};

fn www(address: &str) -> Manifest {
    records("www.example.com", "A", &[address]).named("www")
}

/// The part of a comment that is ours, split at its colons.
fn marker(comment: &str) -> Vec<String> {
    let word = comment
        .split(' ')
        .find(|word| word.starts_with("zk1:"))
        .unwrap_or_else(|| panic!("no marker in {comment:?}"));
    word.split(':').map(str::to_owned).collect()
}

#[tokio::test]
async fn markers_are_unsigned_without_a_key_and_signed_with_one() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    let unsigned = marker(&lab.comments("www.example.com", "A")[0]);
    assert_eq!(unsigned.len(), 3, "{unsigned:?}");
    assert_eq!(unsigned[2], "recordset/default/www");

    let lab = Lab::start().await;
    let key = lab.folder.write(".key", "a long random text\n");
    lab.want(&[www("192.0.2.1")]);
    lab.call("apply").arg("--marker-key-file").arg(&key).run().await.exits(0);
    let signed = marker(&lab.comments("www.example.com", "A")[0]);
    assert_eq!(signed.len(), 4, "{signed:?}");
    assert_eq!(signed[3].len(), 16);
    lab.call("plan").arg("--marker-key-file").arg(&key).run().await.exits(0);
    let bare = lab.folder.write(".bare", "a long random text");
    lab.call("plan").arg("--marker-key-file").arg(&bare).run().await.exits(0);
    let other = lab.folder.write(".other", "another text");
    lab.call("plan").arg("--marker-key-file").arg(&other).run().await.exits(1).says("AdoptionRefused");
    lab.plan().await.exits(1);
}

#[tokio::test]
async fn unsigned_markers_are_foreign_once_a_key_is_set_until_they_are_taken_over() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1")]).await;
    lab.folder.put("key.yaml", &[secret("zonekeeper-marker-key", "current", "a long random text")]);
    lab.want(&[www("192.0.2.2")]);
    lab.plan().await.exits(2).says("+ www A 192.0.2.2");
    lab.folder.put("provider.yaml", &[lab.provider().with("registry.takeOverFrom", json!(["folder"]))]);
    lab.apply().await.exits(0);
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.2"]);
    assert_eq!(marker(&lab.comments("www.example.com", "A")[0]).len(), 4);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn the_key_secret_goes_before_the_key_file_and_may_be_rotated() {
    let lab = Lab::start().await;
    let file = lab.folder.write(".key", "the key of the file");
    lab.folder.put("key.yaml", &[secret("zonekeeper-marker-key", "current", "the first key\n")]);
    lab.want(&[www("192.0.2.1")]);
    lab.call("apply").arg("--marker-key-file").arg(&file).run().await.exits(0);
    lab.plan().await.exits(0);
    let keys = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "zonekeeper-marker-key"}, "stringData": {"current": "the second key", "previous": "the first key"}});
    lab.folder.put("key.yaml", &[Manifest(keys)]);
    lab.apply().await.exits(0).says("ownership marker only");
    lab.folder.put("key.yaml", &[secret("zonekeeper-marker-key", "current", "the second key")]);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_key_secret_without_a_key_is_an_error_before_any_call() {
    let lab = Lab::start().await;
    lab.want(&[www("192.0.2.1")]);
    for (key, value) in [("previous", "the key before"), ("current", ""), ("current", "\n")] {
        lab.folder.put("key.yaml", &[secret("zonekeeper-marker-key", key, value)]);
        for command in ["plan", "apply"] {
            lab.call(command).run().await.exits(1).says("spec.registry.markerKeySecretRef").says("`current`");
        }
    }
    assert_eq!(lab.sim.requests(), 0);
}

#[tokio::test]
async fn an_empty_or_missing_key_file_is_an_error_before_any_call() {
    let lab = Lab::start().await;
    let empty = lab.folder.write(".key", "\n");
    lab.call("plan").arg("--marker-key-file").arg(&empty).run().await.exits(1).says("is empty");
    lab.call("plan").args(&["--marker-key-file", "/nowhere/key"]).run().await.exits(1).says("/nowhere/key");
    assert_eq!(lab.sim.requests(), 0);
}

#[tokio::test]
async fn a_copied_marker_proves_nothing_where_markers_are_signed() {
    let lab = Lab::start().await;
    lab.folder.put("key.yaml", &[secret("zonekeeper-marker-key", "current", "a long random text")]);
    lab.applied(&[www("192.0.2.1")]).await;
    let copied = lab.comments("www.example.com", "A")[0].clone();
    lab.sim.seed(&lab.zone, json!({"type": "A", "name": "bait", "content": "192.0.2.9", "comment": copied}));
    lab.apply().await.exits(0);
    assert_eq!(lab.values("bait.example.com", "A"), ["192.0.2.9"]);
}

#[tokio::test]
async fn the_users_comment_is_kept_set_cleared_and_cut() {
    let lab = Lab::start().await;
    lab.applied(&[www("192.0.2.1").with("cloudflare.comment", "web servers")]).await;
    assert!(lab.comments("www.example.com", "A")[0].starts_with("web servers zk1:"));
    lab.applied(&[www("192.0.2.1")]).await;
    assert!(
        lab.comments("www.example.com", "A")[0].starts_with("web servers zk1:"),
        "absent keeps the live text"
    );
    lab.applied(&[www("192.0.2.2")]).await;
    assert!(lab.comments("www.example.com", "A")[0].starts_with("web servers zk1:"));
    lab.applied(&[www("192.0.2.2").with("cloudflare.comment", "")]).await;
    assert!(lab.comments("www.example.com", "A")[0].starts_with("zk1:"), "empty clears it");
    let long = "ü".repeat(100);
    lab.applied(&[www("192.0.2.2").with("cloudflare.comment", long.as_str())]).await;
    let comment = lab.comments("www.example.com", "A")[0].clone();
    assert!(comment.len() <= 100 && comment.starts_with("üü"), "{comment}");
    marker(&comment);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn txt_markers_are_external_dns_own() {
    let lab = Lab::with_txt(json!({})).await;
    lab.applied(&[www("192.0.2.1")]).await;
    assert_eq!(
        lab.contents(),
        [
            "a-www.example.com TXT \"heritage=external-dns,external-dns/owner=folder,external-dns/resource=recordset/default/www\"",
            "www.example.com A 192.0.2.1",
        ]
    );
    assert_eq!(lab.comments("www.example.com", "A"), [""]);
    lab.plan().await.exits(0);
    lab.want(&[records("api.example.com", "A", &["192.0.2.2"])]);
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 2, "{:?}", lab.contents());
}

#[tokio::test]
async fn txt_markers_follow_prefix_and_wildcard_replacement() {
    let lab = Lab::with_txt(json!({"txt": {"prefix": "own-", "wildcardReplacement": "any"}})).await;
    lab.applied(&[www("192.0.2.1"), records("*.example.com", "A", &["192.0.2.3"])]).await;
    let names: Vec<String> =
        lab.contents().iter().map(|line| line.split(' ').next().expect("a name").to_owned()).collect();
    assert!(names.contains(&"own-a-www.example.com".to_owned()), "{names:?}");
    assert!(names.contains(&"own-a-any.example.com".to_owned()), "{names:?}");
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn txt_markers_may_be_encrypted() {
    let lab = Lab::with_txt(json!({"txt": {"encryptionKeySecretRef": {"name": "encryption"}}})).await;
    lab.want(&[www("192.0.2.1")]);
    lab.plan().await.exits(1).says("spec.registry.txt.encryptionKeySecretRef");
    assert_eq!(lab.sim.requests(), 0);
    lab.folder.put("key.yaml", &[secret("encryption", "key", "too short")]);
    lab.plan().await.exits(1).says("spec.registry.txt.encryptionKeySecretRef");
    let key = "0123456789abcdef0123456789abcdef";
    let keys = ["key", "encryptionKey", "aes-key"].map(|name| (name.to_owned(), Value::from(key)));
    let keys: serde_json::Map<String, Value> = keys.into_iter().collect();
    lab.folder.put("key.yaml", &[Manifest(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "encryption"}, "stringData": keys}))]);
    lab.apply().await.exits(0).never_says(key);
    let marker = lab.values("a-www.example.com", "TXT").remove(0);
    assert!(!marker.contains("heritage"), "{marker}");
    let writes = lab.sim.writes();
    lab.apply().await.exits(0);
    assert_eq!(lab.sim.writes(), writes);
}

/// The text of a marker fits every name: where markers are encrypted or signed, one without a type proves nothing, and
/// no object may ask for such a text.
#[tokio::test]
async fn the_text_of_a_marker_claims_nothing_at_another_name() {
    let sealed = [
        json!({"encryptionKeySecretRef": {"name": "encryption"}}),
        json!({"signed": true}),
        json!({"signed": true, "encryptionKeySecretRef": {"name": "encryption"}}),
    ];
    for txt in sealed {
        let lab = Lab::with_txt(json!({"txt": txt})).await;
        let key = "0123456789abcdef0123456789abcdef";
        lab.folder.put("encryption.yaml", &[secret("encryption", "encryptionKey", key)]);
        lab.folder.put("key.yaml", &[secret("zonekeeper-marker-key", "current", "a long random text")]);
        lab.declare(zone("example.com").with("allowedRecords", json!([{"namespaces": {"from": "All"}}])));
        let own = records("own.example.com", "A", &["192.0.2.1"]).in_namespace("shop").named("own");
        lab.applied(std::slice::from_ref(&own)).await;
        let text = lab.values("a-own.example.com", "TXT").remove(0);
        lab.sim.seed(&lab.zone, json!({"type": "A", "name": "victim", "content": "203.0.113.1"}));

        // Asked for, it is refused.
        let copy = records("victim.example.com", "TXT", &[&*text]).in_namespace("shop").named("copy");
        lab.want(&[own.clone(), copy]);
        lab.apply().await.exits(1).says("ReservedName");
        assert_eq!(lab.values("victim.example.com", "TXT"), [""; 0]);

        // Written there by other means, it says nothing of the record beside it.
        lab.sim.seed(&lab.zone, json!({"type": "TXT", "name": "victim", "content": text}));
        let theft = records("victim.example.com", "A", &["192.0.2.66"]).in_namespace("shop").named("theft");
        lab.want(&[own.clone(), theft.with("adoption", "Never")]);
        lab.apply().await.exits(1).says("AdoptionRefused");
        assert_eq!(lab.values("victim.example.com", "A"), ["203.0.113.1"], "{txt}");
        // And nothing goes with it.
        lab.want(&[own]);
        lab.apply().await.exits(0);
        assert_eq!(lab.values("victim.example.com", "A"), ["203.0.113.1"], "{txt}");
    }
}

/// Long names are stored as a hash: of 80 bits today, of 50 before.
#[tokio::test]
async fn a_short_hash_of_before_is_read_and_written_again() {
    let lab = Lab::start().await;
    let name = "a-name-of-an-object-that-leaves-no-room-for-itself-in-a-comment-of-one-hundred-bytes-at-all";
    let wish = records("www.example.com", "A", &["192.0.2.1"]).named(name);
    lab.applied(std::slice::from_ref(&wish)).await;
    let long = marker(&lab.comments("www.example.com", "A")[0]);
    assert_eq!(long[2].len(), 16, "{long:?}");
    let record = lab.sim.records(&lab.zone).remove(0);
    let short = format!("{}:{}:{}", long[0], long[1], &long[2][..10]);
    lab.sim.edit(&lab.zone, record["id"].as_str().expect("an id"), json!({"comment": short}));
    // Still ours: the marker alone is written again.
    lab.want(std::slice::from_ref(&wish));
    lab.apply().await.exits(0).says("ownership marker only");
    assert_eq!(marker(&lab.comments("www.example.com", "A")[0]), long);
    lab.sim.edit(&lab.zone, record["id"].as_str().expect("an id"), json!({"comment": short}));
    lab.want(&[records("other.example.com", "A", &["192.0.2.2"])]);
    lab.apply().await.exits(0);
    assert_eq!(lab.contents(), ["other.example.com A 192.0.2.2"]);
}

#[tokio::test]
async fn signed_txt_markers_need_a_key() {
    let lab = Lab::with_txt(json!({"txt": {"signed": true}})).await;
    lab.want(&[www("192.0.2.1")]);
    lab.plan().await.exits(1).says("spec.registry.txt.signed").says("--marker-key-file");
    assert_eq!(lab.sim.requests(), 0);
    lab.folder.put("key.yaml", &[secret("zonekeeper-marker-key", "current", "a long random text")]);
    lab.apply().await.exits(0);
    assert!(lab.values("a-www.example.com", "TXT")[0].contains("external-dns/zk="), "{:?}", lab.contents());
}

#[tokio::test]
async fn taking_over_from_external_dns_writes_markers_only() {
    let lab = Lab::with_txt(json!({"takeOverFrom": ["their-id"]})).await;
    let heritage = |name: &str| {
        format!(
            "\"heritage=external-dns,external-dns/owner=their-id,external-dns/resource=ingress/shop/{name}\""
        )
    };
    let ids = [lab.seed("A", "www", "192.0.2.1"), lab.seed("CNAME", "shop", "www.example.com")];
    lab.seed("TXT", "a-www", &heritage("www"));
    lab.seed("TXT", "cname-shop", &heritage("shop"));
    let before = lab.sim.last_sequence();
    lab.want(&[www("192.0.2.1"), records("shop.example.com", "CNAME", &["www.example.com"])]);
    lab.apply().await.exits(0);
    for (before, after) in lab.effects_since(before) {
        for record in [before, after].into_iter().flatten() {
            assert_eq!(record["type"], "TXT", "only markers are written: {record}");
        }
    }
    let live: Vec<Value> =
        lab.sim.records(&lab.zone).into_iter().map(|record| record["id"].clone()).collect();
    assert!(ids.iter().all(|id| live.contains(&json!(id))));
    assert!(lab.contents().iter().all(|line| !line.contains("their-id")), "{:?}", lab.contents());
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn records_of_an_external_dns_that_is_not_taken_over_stay_its_own() {
    let lab = Lab::with_txt(json!({})).await;
    lab.seed("A", "www", "192.0.2.1");
    lab.seed(
        "TXT",
        "a-www",
        "\"heritage=external-dns,external-dns/owner=their-id,external-dns/resource=ingress/shop/www\"",
    );
    lab.want(&[www("192.0.2.2").with("adoption", "Force")]);
    lab.apply().await.exits(1).says("AdoptionRefused").says("their-id");
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1"]);
    assert_eq!(lab.sim.writes(), 0);
}

#[tokio::test]
async fn names_and_texts_of_markers_are_reserved() {
    let lab = Lab::with_txt(json!({})).await;
    let forged = "heritage=external-dns,external-dns/owner=folder";
    lab.want(&[records("x.example.com", "TXT", &[forged]), www("192.0.2.1")]);
    lab.apply().await.exits(1).says("ReservedName");
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1"]);
    assert!(lab.values("x.example.com", "TXT").is_empty());
    let lab = Lab::start().await;
    lab.want(&[www("192.0.2.1").with("cloudflare.comment", "zk1:aaaaaaaa:recordset/default/www")]);
    lab.apply().await.exits(1).says("ReservedName");
    assert_eq!(lab.sim.writes(), 0);
}
