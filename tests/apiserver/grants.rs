//! What a zone grants to other namespaces.

use serde_json::json;

use crate::support::{Lab, condition};

#[tokio::test]
async fn case_72_a_namespace_without_a_grant_gets_nothing_and_makes_no_call() {
    let lab = Lab::new("not-allowed").await;
    lab.wait_ready("DNSZone", "zone").await;
    let tenant = lab.tenant(json!({"team": "a"})).await;
    let writes = lab.sim.writes();
    let wish = lab.a("www", "192.0.2.1").in_namespace(tenant.name());
    let message = lab.not_ready(&wish, "NotAllowed").await;
    assert!(message.contains(tenant.name()) && message.contains("allowedRecords"), "{message}");
    let name = format!("{}/www", tenant.name());
    let object = lab.get("RecordSet", &name).await.expect("it is there");
    assert_eq!(condition(&object, "Accepted").status, "False");
    assert_eq!(lab.sim.writes(), writes);
    // A grant by the namespace's labels, and a label that comes later.
    let grant = json!([{"namespaces": {"from": "Selector", "selector": {"matchLabels": {"dns": "yes"}}}}]);
    lab.apply(&lab.dns_zone().with("allowedRecords", grant)).await;
    lab.scan().await;
    lab.wait_reason("RecordSet", &name, "NotAllowed").await;
    lab.patch("Namespace", tenant.name(), json!({"metadata": {"labels": {"dns": "yes"}}})).await;
    lab.wait_ready("RecordSet", &name).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    // Taken away again: that is no evidence. It is held as an orphan, not deleted.
    lab.patch("Namespace", tenant.name(), json!({"metadata": {"labels": {"dns": "no"}}})).await;
    lab.wait_reason("RecordSet", &name, "NotAllowed").await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    let zone =
        lab.wait("DNSZone", "zone", "an orphan", |object| object["status"]["records"]["orphaned"] == 1).await;
    assert_eq!(zone["status"]["plan"]["changes"][0]["reason"], "Orphaned");
}

#[tokio::test]
async fn a_grant_has_careful_defaults() {
    let lab = Lab::ready_to_run("defaults").await;
    lab.apply(&lab.dns_zone().with("allowedRecords", json!([{"namespaces": {"from": "All"}}]))).await;
    lab.run();
    let tenant = lab.tenant(json!({})).await;
    let tenants =
        |name: &str, rtype: &str, value: &str| lab.records(name, rtype, &[value]).in_namespace(tenant.name());
    for name in ["@", "*", "*.wild", "_acme-challenge.www", "_dmarc", "selector._domainkey"] {
        lab.not_ready(&tenants(name, "TXT", "x"), "NotAllowed").await;
    }
    lab.not_ready(&tenants("ns", "NS", "ns.example.net."), "NotAllowed").await;
    lab.not_ready(&tenants("mx", "MX", "10 mail.example.net."), "NotAllowed").await;
    lab.ready(&tenants("a", "A", "192.0.2.1")).await;
    lab.ready(&tenants("aaaa", "AAAA", "2001:db8::1")).await;
    lab.ready(&tenants("_sip._tcp", "SRV", "1 1 5060 sip.example.net.")).await;
    // The zone's own namespace has all of them.
    lab.ready(&lab.records("@", "MX", &["10 mail.example.net."])).await;
    lab.ready(&lab.records("*", "TXT", &["x"])).await;
    assert_eq!(lab.contents().len(), 5);
    // Adoption is Never, whatever an object asks for.
    lab.seed("there", "A", "192.0.2.9");
    lab.scan().await;
    lab.not_ready(&tenants("there", "A", "192.0.2.9").with("adoption", "Force"), "AdoptionRefused").await;
}

#[tokio::test]
async fn a_grant_names_names_types_and_adoption() {
    let lab = Lab::ready_to_run("granted").await;
    let grant = json!([{
        "namespaces": {"from": "All"},
        "names": [format!("*.a.{}", lab.domain)],
        "types": ["A", "MX"],
        "adoption": "Force",
    }]);
    lab.apply(&lab.dns_zone().with("allowedRecords", grant)).await;
    lab.seed("there.a", "A", "192.0.2.9");
    lab.run();
    let tenant = lab.tenant(json!({})).await;
    lab.ready(&lab.a("www.a", "192.0.2.1").in_namespace(tenant.name())).await;
    lab.ready(&lab.records("mail.a", "MX", &["10 mail.example.net."]).in_namespace(tenant.name())).await;
    lab.not_ready(&lab.a("www", "192.0.2.1").in_namespace(tenant.name()), "NotAllowed").await;
    lab.not_ready(&lab.records("txt.a", "TXT", &["x"]).in_namespace(tenant.name()), "NotAllowed").await;
    lab.ready(&lab.a("there.a", "192.0.2.1").in_namespace(tenant.name()).with("adoption", "Force")).await;
    assert_eq!(lab.record("there.a", "A")["content"], "192.0.2.1");
}

#[tokio::test]
async fn namespaces_share_a_set_only_where_the_grant_says_so() {
    let lab = Lab::ready_to_run("share").await;
    lab.apply(&lab.dns_zone().with("allowedRecords", json!([{"namespaces": {"from": "All"}}]))).await;
    lab.run();
    let (one, two) = (lab.tenant(json!({})).await, lab.tenant(json!({})).await);
    lab.ready(&lab.a("www", "192.0.2.1").in_namespace(one.name())).await;
    let message = lab.not_ready(&lab.a("www", "192.0.2.2").in_namespace(two.name()), "Conflict").await;
    assert!(message.contains(&format!("{}/www", one.name())), "{message}");
    let sharing = json!([{"namespaces": {"from": "All"}, "share": true}]);
    lab.apply(&lab.dns_zone().with("allowedRecords", sharing)).await;
    lab.wait_ready("RecordSet", &format!("{}/www", two.name())).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1", "www A 192.0.2.2"]);
}

/// A name belongs to one namespace, under all its types, also while its holder changes the type.
#[tokio::test]
async fn a_name_belongs_to_one_namespace() {
    let lab = Lab::ready_to_run("one-namespace").await;
    let grants = json!([{"namespaces": {"from": "All"}, "types": ["A", "AAAA", "CNAME", "HTTPS", "TXT"]}]);
    lab.apply(&lab.dns_zone().with("allowedRecords", grants)).await;
    let (one, two) = (lab.tenant(json!({})).await, lab.tenant(json!({})).await);
    // The older claim of the second namespace waits: the first one's stands in the zone already.
    let theirs = lab.a("www", "192.0.2.1").in_namespace(one.name());
    lab.run();
    lab.ready(&theirs).await;
    let wishes =
        [("AAAA", "2001:db8::2"), ("HTTPS", "1 . alpn=h2"), ("TXT", "x"), ("CNAME", "two.example.net.")];
    for (rtype, value) in wishes {
        let wish = lab.records("www", rtype, &[value]).in_namespace(two.name()).named(&rtype.to_lowercase());
        let message = lab.not_ready(&wish, "Conflict").await;
        assert!(message.contains(&format!("{}/www", one.name())), "{message}");
    }
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
    // The holder changes the type: the name stays its own.
    let changed = lab.records("www", "CNAME", &["one.example.net."]).in_namespace(one.name());
    lab.ready(&changed).await;
    lab.scan().await;
    assert_eq!(lab.contents(), ["www CNAME one.example.net"]);
    for (rtype, _) in wishes {
        let name = format!("{}/{}", two.name(), rtype.to_lowercase());
        lab.wait_reason("RecordSet", &name, "Conflict").await;
    }
    // When it gives the name up, the other namespace gets it; a CNAME of the same age might come first there.
    lab.delete("RecordSet", &format!("{}/cname", two.name())).await;
    lab.wait_gone("RecordSet", &format!("{}/cname", two.name())).await;
    lab.delete("RecordSet", &format!("{}/www", one.name())).await;
    lab.wait_gone("RecordSet", &format!("{}/www", one.name())).await;
    lab.wait_ready("RecordSet", &format!("{}/aaaa", two.name())).await;
}

/// A status names what was written for its object, not what another one's wish has put there.
#[tokio::test]
async fn an_object_in_conflict_names_no_record_and_no_time() {
    let lab = Lab::ready_to_run("conflict-status").await;
    lab.apply(&lab.dns_zone().with("allowedRecords", json!([{"namespaces": {"from": "All"}}]))).await;
    lab.run();
    let (one, two) = (lab.tenant(json!({})).await, lab.tenant(json!({})).await);
    lab.ready(&lab.a("www", "192.0.2.1").in_namespace(one.name())).await;
    lab.not_ready(&lab.a("www", "192.0.2.1").in_namespace(two.name()), "Conflict").await;
    // What is written for the holder later is no write for the other one either.
    lab.ready(&lab.a("www", "192.0.2.1").in_namespace(one.name()).with("ttl", 600)).await;
    lab.scan().await;
    let name = format!("{}/www", two.name());
    lab.wait_reason("RecordSet", &name, "Conflict").await;
    let status = lab.get("RecordSet", &name).await.expect("it is there")["status"].clone();
    assert!(status.get("lastSyncTime").is_none(), "{status}");
    let zones = status["zones"].as_array().cloned().unwrap_or_default();
    assert!(zones.iter().all(|zone| zone.get("records").is_none()), "{status}");
}
