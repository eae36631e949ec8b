//! Spellings, sizes and bad weather: what must not make a difference.

use std::time::{Duration, Instant};

use cloudflare_sim::{Action, Fault, Plan};
use serde_json::json;

use crate::support::{Lab, Manifest, address_source, records, zone};

#[tokio::test]
async fn no_spelling_of_a_value_is_a_change() {
    let lab = Lab::on(Plan::Enterprise).await;
    let long = "x".repeat(700);
    lab.applied(&[
        records("V6.example.com", "AAAA", &["2001:DB8:0:0::0001"]),
        records(
            "txt.example.com",
            "TXT",
            &[&long, "\"two\" \"parts\"", "semi;colon", "back\\slash", "größer"],
        ),
        records("srv._tcp.example.com", "SRV", &["010 05 5060 SIP.example.net."]),
        records("example.com", "MX", &["10 Mail.Example.NET.", "20 mail2.example.net"]),
        records("example.com", "CAA", &["0 ISSUE ca.example.net", "128 iodef \"mailto:a@example.net\""]),
        records("web.example.com", "HTTPS", &["1 . alpn=\"h3,h2\" ipv4hint=192.0.2.1"]),
        records(
            "_443._tcp.example.com",
            "TLSA",
            &["3 1 1 E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"],
        ),
        records("*.wild.example.com", "CNAME", &["Web.Example.COM"]),
        records("twice.example.com", "A", &["192.0.2.1", "192.0.2.1"]),
        records("loc.example.com", "LOC", &["52 22 23 N 4 53 32 E -2m"]),
    ])
    .await;
    let writes = lab.sim.writes();
    lab.plan().await.exits(0);
    lab.apply().await.exits(0);
    assert_eq!(lab.sim.writes(), writes);
}

#[tokio::test]
async fn another_priority_of_mail_is_an_update_that_converges() {
    let lab = Lab::start().await;
    lab.applied(&[records("example.com", "MX", &["10 mail.example.net"])]).await;
    lab.applied(&[records("example.com", "MX", &["0 mail.example.net"])]).await;
    assert_eq!(lab.records("example.com", "MX")[0]["priority"], 0);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn many_unchanged_records_cost_a_listing_and_nothing_else() {
    let lab = Lab::on(Plan::Pro).await;
    let hosts: Vec<Manifest> =
        (0..1000).map(|n| records(&format!("n{n}.example.com"), "A", &["192.0.2.1"])).collect();
    lab.applied(&hosts).await;
    let requests = lab.sim.requests();
    lab.apply().await.exits(0);
    assert!(lab.sim.requests() - requests <= 3, "{} requests", lab.sim.requests() - requests);
}

#[tokio::test]
async fn one_new_record_among_many_is_one_write() {
    let lab = Lab::on(Plan::Pro).await;
    let mut hosts: Vec<Manifest> =
        (0..300).map(|n| records(&format!("n{n}.example.com"), "A", &["192.0.2.1"])).collect();
    lab.applied(&hosts).await;
    let writes = lab.sim.writes();
    hosts.push(records("new.example.com", "A", &["192.0.2.1"]));
    lab.applied(&hosts).await;
    assert_eq!(lab.sim.writes() - writes, 1);
}

#[tokio::test]
async fn a_rate_limit_is_waited_out() {
    let lab = Lab::start().await;
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.sim.faults(vec![Fault::nth_write(1, Action::RateLimited { retry_after: 2 })]);
    let begun = Instant::now();
    lab.apply().await.exits(0);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(lab.contents().len(), 1);
}

#[tokio::test]
async fn a_forbidden_listing_binds_and_creates_nothing() {
    let lab = Lab::start().await;
    lab.applied(&[records("www.example.com", "A", &["192.0.2.1"])]).await;
    let writes = lab.sim.writes();
    let listings = cloudflare_sim::Match { scope: cloudflare_sim::Scope::Listings, ..Default::default() };
    lab.sim.faults(vec![Fault::new(listings, Action::Json(403))]);
    lab.want(&[records("new.example.com", "A", &["192.0.2.1"])]);
    lab.apply().await.exits(1).says("CredentialsInvalid");
    assert_eq!(lab.sim.writes(), writes);
}

#[tokio::test]
async fn both_families_come_from_one_source() {
    let lab = Lab::start().await;
    let from = json!([{"addressSourceRef": {"name": "home"}}]);
    let set = |rtype: &str| {
        records("home.example.com", rtype, &[]).without("values").with("valuesFrom", from.clone())
    };
    let source =
        address_source("home", json!({"static": ["192.0.2.1", "2001:db8::1"], "families": ["IPv4", "IPv6"]}));
    lab.applied(&[source, set("A"), set("AAAA")]).await;
    assert_eq!(lab.contents(), ["home.example.com A 192.0.2.1", "home.example.com AAAA 2001:db8::1"]);
}

#[tokio::test]
async fn tags_and_settings_reach_a_paid_plan() {
    let lab = Lab::on(Plan::Pro).await;
    let www = records("www.example.com", "CNAME", &["web.example.net"])
        .with("cloudflare.tags", json!(["team:web", "env:prod"]))
        .with("cloudflare.settings", json!({"flattenCNAME": true}));
    lab.applied(&[www]).await;
    let record = lab.records("www.example.com", "CNAME").remove(0);
    assert_eq!(record["settings"]["flatten_cname"], true);
    assert_eq!(record["tags"].as_array().map(Vec::len), Some(2));
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn the_rename_of_an_object_to_a_longer_zone_cleans_up_without_approval() {
    let lab = Lab::start().await;
    let longer = lab.sim.zone("tst.example.com", Plan::Free);
    lab.folder.put("longer.yaml", &[zone("tst.example.com")]);
    lab.applied(&[records("www.example.com", "A", &["192.0.2.1"]).named("www")]).await;
    lab.applied(&[records("www.tst.example.com", "A", &["192.0.2.1"]).named("www")]).await;
    assert!(lab.contents().is_empty());
    assert_eq!(lab.contents_of(&longer), ["www.tst.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn several_mistakes_in_one_object_do_not_hide_each_other() {
    let lab = Lab::start().await;
    let bad = json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": "RecordSet", "metadata": {"name": "bad"}, "spec": {"name": "x.example.com", "type": "A", "values": ["192.0.2.1"], "ttl": "60", "adopt": "Force"}});
    lab.folder.write("bad.yaml", &bad.to_string());
    lab.plan().await.exits(1).says("spec.ttl").says("spec.adopt: unknown field; did you mean adoption?");
}
