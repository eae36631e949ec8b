//! RecordSets: created, changed, renamed, retyped and moved.

use serde_json::json;

use crate::support::{Lab, condition};

#[tokio::test]
async fn case_14_and_k1_a_new_record_is_created_and_its_id_stored() {
    let lab = Lab::new("create").await;
    let object = lab.ready(&lab.a("www", "192.0.2.1")).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    let zones = &object["status"]["zones"];
    assert_eq!(zones[0]["id"], lab.zone);
    assert_eq!(zones[0]["records"], json!([{"id": lab.id_of("www", "A"), "value": "192.0.2.1"}]));
    assert_eq!(object["metadata"]["finalizers"], json!(["zonekeeper.dev/record"]));
    assert_eq!(condition(&object, "Ready").reason, "Programmed");
    assert!(object["status"]["lastSyncTime"].is_string());
}

#[tokio::test]
async fn k2_an_edit_updates_the_record_by_its_id() {
    let lab = Lab::new("edit").await;
    lab.ready(&lab.a("www", "192.0.2.1").with("ttl", 300)).await;
    let (id, mark) = (lab.id_of("www", "A"), lab.mark());
    lab.ready(&lab.a("www", "192.0.2.2").with("ttl", 300)).await;
    assert_eq!(lab.changes_since(mark), ["~ www A 192.0.2.1 -> 192.0.2.2"]);
    lab.ready(&lab.a("www", "192.0.2.2").with("ttl", 600)).await;
    lab.ready(&lab.a("www", "192.0.2.2").with("cloudflare", json!({"proxied": true}))).await;
    let record = lab.record("www", "A");
    assert_eq!((&record["id"], &record["proxied"]), (&json!(id), &json!(true)));
    // The TTL that the edit took away is the zone's default again: automatic.
    assert_eq!(record["ttl"], 1);
}

#[tokio::test]
async fn case_16_and_k11_nothing_is_written_where_nothing_differs() {
    let lab = Lab::new("quiet").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.ready(&lab.records("txt", "TXT", &["v=spf1 -all"]).with("ttl", 120)).await;
    lab.scan().await;
    let versions = async || {
        let mut versions = Vec::new();
        for (kind, name) in [("RecordSet", "www"), ("RecordSet", "txt"), ("DNSProvider", lab.home.name())] {
            let object = lab.get(kind, name).await.expect("it is there");
            versions.push(object["metadata"]["resourceVersion"].clone());
        }
        versions
    };
    let (before, mark) = (versions().await, lab.mark());
    lab.scan().await;
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
    // K11: our own status writes lead to no further work.
    assert_eq!(versions().await, before);
}

#[tokio::test]
async fn case_17_an_identical_record_is_bound_and_not_doubled() {
    let lab = Lab::new("bind").await;
    let id = lab.seed("www", "A", "192.0.2.1");
    let object = lab.ready(&lab.a("www", "192.0.2.1")).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    assert_eq!(object["status"]["zones"][0]["records"][0]["id"], id);
}

#[tokio::test]
async fn case_18_proxied_records_have_automatic_ttl_whatever_was_asked() {
    let lab = Lab::new("proxied").await;
    let proxied = lab.a("www", "192.0.2.1").with("ttl", 120).with("cloudflare", json!({"proxied": true}));
    lab.ready(&proxied).await;
    let record = lab.record("www", "A");
    assert_eq!((&record["proxied"], &record["ttl"]), (&json!(true), &json!(1)));
    let mark = lab.mark();
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
}

#[tokio::test]
async fn case_19_and_k7_the_record_goes_before_the_finalizer() {
    let lab = Lab::new("delete").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    lab.delete("RecordSet", "www").await;
    lab.wait_gone("RecordSet", "www").await;
    // Once the object is gone, nothing of it is left.
    assert_eq!(lab.contents(), [""; 0]);
}

#[tokio::test]
async fn case_49_two_objects_of_one_name_make_two_records_and_case_54_each_goes_by_itself() {
    let lab = Lab::new("shared").await;
    lab.ready(&lab.a("www", "192.0.2.1").named("one")).await;
    lab.ready(&lab.a("www", "192.0.2.2").named("two")).await;
    // Both want this one.
    lab.ready(&lab.records("www", "A", &["192.0.2.1", "192.0.2.3"]).named("three")).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1", "www A 192.0.2.2", "www A 192.0.2.3"]);
    lab.delete("RecordSet", "one").await;
    lab.wait_gone("RecordSet", "one").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1", "www A 192.0.2.2", "www A 192.0.2.3"]);
    lab.delete("RecordSet", "three").await;
    lab.wait_gone("RecordSet", "three").await;
    lab.wait_contents(&["www A 192.0.2.2"]).await;
    lab.wait_ready("RecordSet", "two").await;
}

#[tokio::test]
async fn of_two_objects_that_disagree_the_loser_names_the_holder_and_takes_over_when_it_goes() {
    let lab = Lab::new("conflict").await;
    lab.ready(&lab.a("www", "192.0.2.1").named("first").with("ttl", 300)).await;
    let second = lab.a("www", "192.0.2.2").named("second").with("ttl", 600);
    let message = lab.not_ready(&second, "Conflict").await;
    assert!(message.contains(&format!("{}/first", lab.home.name())), "{message}");
    assert!(message.contains(&lab.at("www")), "{message}");
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    let object = lab.get("RecordSet", "second").await.expect("it is there");
    assert_eq!(condition(&object, "Accepted").status, "False");
    // A CNAME is never shared.
    lab.ready(&lab.records("alias", "CNAME", &["a.example.net"]).named("alias-first")).await;
    let other = lab.records("alias", "CNAME", &["b.example.net"]).named("alias-second");
    lab.not_ready(&other, "Conflict").await;
    lab.delete("RecordSet", "first").await;
    lab.wait_ready("RecordSet", "second").await;
    lab.wait_contents(&["alias CNAME a.example.net", "www A 192.0.2.2"]).await;
}

#[tokio::test]
async fn case_62_upper_case_and_a_final_dot_are_the_same_name() {
    let lab = Lab::new("case").await;
    let spelled = lab.a("www", "192.0.2.1").with("name", format!("WWW.{}.", lab.domain.to_uppercase()));
    lab.ready(&spelled).await;
    lab.ready(&lab.records("alias", "CNAME", &["Target.Example.NET."])).await;
    assert_eq!(lab.contents(), ["alias CNAME target.example.net", "www A 192.0.2.1"]);
    let mark = lab.mark();
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
}

#[tokio::test]
async fn case_64_an_mx_priority_that_changes_converges() {
    let lab = Lab::new("mx").await;
    lab.ready(&lab.records("@", "MX", &["10 mail.example.net."]).named("mx")).await;
    assert_eq!(lab.record("@", "MX")["priority"], 10);
    lab.ready(&lab.records("@", "MX", &["0 mail.example.net."]).named("mx")).await;
    assert_eq!(lab.record("@", "MX")["priority"], 0);
    let mark = lab.mark();
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
    // In our API the priority is part of the value: without it, the value says so.
    let message =
        lab.not_ready(&lab.records("@", "MX", &["mail.example.net."]).named("mx"), "InvalidValue").await;
    assert!(message.contains("mail.example.net"), "{message}");
    assert_eq!(lab.record("@", "MX")["priority"], 0);
}

#[tokio::test]
async fn case_65_a_type_that_can_not_be_proxied_is_accepted_under_a_zone_that_proxies() {
    let lab = Lab::new("text").await;
    lab.apply(&lab.dns_zone().with("defaults.cloudflare", json!({"proxied": true}))).await;
    lab.ready(&lab.records("txt", "TXT", &["hello world"])).await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    assert_eq!(lab.record("txt", "TXT")["proxied"], false);
    assert_eq!(lab.record("www", "A")["proxied"], true);
    let asked = lab.records("other", "TXT", &["x"]).with("cloudflare", json!({"proxied": true}));
    assert!(lab.refused(&asked).await.contains("proxies A, AAAA and CNAME only"));
}

#[tokio::test]
async fn k10_a_type_that_does_not_exist_is_refused_by_the_api_server() {
    let lab = Lab::bare("types").await;
    lab.refused(&lab.records("www", "a", &["192.0.2.1"])).await;
    lab.refused(&lab.records("www", "BOGUS", &["x"])).await;
    lab.refused(&lab.records("www", "A RECORD", &["192.0.2.1"])).await;
    lab.refused(&lab.records("www", "A", &["not an address"])).await;
    lab.refused(&lab.records("www", "A", &[])).await;
}

#[tokio::test]
async fn a_renamed_object_moves_without_a_gap() {
    let lab = Lab::new("rename").await;
    lab.ready(&lab.a("old", "192.0.2.1").named("it")).await;
    let mark = lab.mark();
    lab.ready(&lab.a("new", "192.0.2.1").named("it")).await;
    lab.wait_contents(&["new A 192.0.2.1"]).await;
    assert_eq!(lab.changes_since(mark), ["+ new A 192.0.2.1", "- old A 192.0.2.1"]);
    lab.delete("RecordSet", "it").await;
    lab.wait_gone("RecordSet", "it").await;
    assert_eq!(lab.contents(), [""; 0]);
}

#[tokio::test]
async fn an_object_moves_between_zones_by_its_zone_refs() {
    let lab = Lab::new("move").await;
    let other = format!("other.{}", lab.domain);
    let id = lab.sim.zone(&other, cloudflare_sim::Plan::Pro);
    lab.apply(&lab.zone_of(&other).named("other")).await;
    lab.wait_ready("DNSZone", "other").await;
    let it = |zone: &str| {
        let it = lab.a("www.other", "192.0.2.1").named("it");
        it.with("zoneRefs", json!([{"name": zone}]))
    };
    lab.ready(&it("zone")).await;
    assert_eq!(lab.contents(), ["www.other A 192.0.2.1"]);
    let object = lab.ready(&it("other")).await;
    lab.wait_contents(&[]).await;
    assert_eq!(lab.sim.records(&id).len(), 1);
    assert_eq!(object["status"]["zones"][0]["name"], "other");
    lab.wait("RecordSet", "it", "only in the other zone", |object| {
        object["status"]["zones"].as_array().is_some_and(|zones| zones.len() == 1)
    })
    .await;
    // Deleted afterwards, it goes from where it is.
    lab.delete("RecordSet", "it").await;
    lab.wait_gone("RecordSet", "it").await;
    assert!(lab.sim.records(&id).is_empty());
}

#[tokio::test]
async fn a_change_of_type_never_leaves_a_gap() {
    let lab = Lab::new("retype").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let mark = lab.mark();
    lab.ready(&lab.records("www", "CNAME", &["target.example.net"])).await;
    assert_eq!(lab.contents(), ["www CNAME target.example.net"]);
    // Cloudflare keeps no CNAME beside an A: the two changes are one request.
    let batches: Vec<usize> = lab.sim.journal_since(mark).iter().map(|entry| entry.effects.len()).collect();
    let written: Vec<usize> = batches.into_iter().filter(|count| *count > 0).collect();
    assert!(written == [1] || written == [2], "{:?}", lab.changes_since(mark));
    // A to AAAA, where both may stand together: the new one first, or in one request.
    lab.ready(&lab.records("six", "A", &["192.0.2.1"])).await;
    let mark = lab.mark();
    lab.ready(&lab.records("six", "AAAA", &["2001:db8::1"])).await;
    lab.wait_contents(&["six AAAA 2001:db8::1", "www CNAME target.example.net"]).await;
    let changes = lab.changes_since(mark);
    let one_request = lab.sim.journal_since(mark).iter().any(|entry| entry.effects.len() == 2);
    assert!(changes.first().is_some_and(|first| !first.starts_with('-')) || one_request, "{changes:?}");
}

#[tokio::test]
async fn comments_and_tags_are_kept_beside_the_marker() {
    let lab = Lab::new("comment").await;
    let cloudflare = json!({"comment": "the shop", "tags": ["team:web"]});
    lab.ready(&lab.a("www", "192.0.2.1").with("cloudflare", cloudflare)).await;
    let record = lab.record("www", "A");
    let comment = record["comment"].as_str().unwrap_or_default();
    assert!(comment.starts_with("the shop zk1:"), "{comment}");
    assert_eq!(record["tags"], json!(["team:web"]));
    // Absent keeps the live text; empty clears it.
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    assert!(lab.record("www", "A")["comment"].as_str().unwrap_or_default().starts_with("the shop zk1:"));
    lab.ready(&lab.a("www", "192.0.2.2").with("cloudflare", json!({"comment": ""}))).await;
    assert!(lab.record("www", "A")["comment"].as_str().unwrap_or_default().starts_with("zk1:"));
}

#[tokio::test]
async fn a_comment_that_is_too_long_is_cut_and_its_object_told_once() {
    let lab = Lab::new("long-comment").await;
    let comment = "ü".repeat(300);
    lab.ready(&lab.a("www", "192.0.2.1").with("cloudflare", json!({"comment": comment}))).await;
    let live = lab.record("www", "A")["comment"].as_str().unwrap_or_default().to_owned();
    assert!(live.len() <= 500 && live.contains("üü zk1:"), "{live}");
    lab.scan().await;
    let told = async || {
        let mut events = lab.events("RecordSet", "www").await;
        events.retain(|event| event.note.contains("cut"));
        events
    };
    let events =
        control_plane::eventually("an Event", control_plane::DEADLINE, async || match told().await {
            events if events.is_empty() => Err("none"),
            events => Ok(events),
        })
        .await;
    assert_eq!((events.len(), &*events[0].kind), (1, "Warning"), "{events:?}");
}

#[tokio::test]
async fn every_type_of_value_arrives_and_stays_quiet() {
    let lab = Lab::new("all-types").await;
    for (name, rtype, value) in [
        ("caa", "CAA", "0 issue \"letsencrypt.org\""),
        ("srv", "SRV", "10 20 443 target.example.net."),
        ("long", "TXT", &*"x".repeat(700)),
        ("https", "HTTPS", "1 . alpn=h2"),
        ("sshfp", "SSHFP", "4 2 123456789abcdef67890123456789abcdef67890123456789abcdef123456789"),
        ("ns", "NS", "ns1.example.net."),
        ("idn", "CNAME", "xn--bcher-kva.example.net."),
        ("*.wild", "A", "192.0.2.1"),
    ] {
        lab.ready(&lab.records(name, rtype, &[value])).await;
    }
    assert_eq!(lab.contents().len(), 8);
    let mark = lab.mark();
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
}
