//! AddressSources, and the records that follow them.

use std::time::{Duration, Instant};

use control_plane::eventually;
use serde_json::{Value, json};
use zonekeeper_tests::web::{Answer, Web};

use crate::support::{Lab, Manifest, address_source, condition};

/// How long after a change its records may take.
const FOLLOW: Duration = Duration::from_secs(1);

fn following(lab: &Lab<'_>, name: &str, source: &str) -> Manifest {
    let from = json!([{"addressSourceRef": {"name": source}}]);
    lab.a(name, "192.0.2.1").without("values").with("valuesFrom", from)
}

fn http(source: Value) -> Manifest {
    address_source("home", json!({"http": [source], "interval": "10s"}))
}

/// Has the source asked now, rather than after its interval.
async fn ask(lab: &Lab<'_>, web: &Web) {
    let asked = web.requests().len().to_string();
    lab.annotate("AddressSource", "home", "reconcile.fluxcd.io/requestedAt", &asked).await;
}

async fn follows(lab: &Lab<'_>, within: Duration, expected: &[&str]) {
    eventually("the records follow", within, async || {
        let found = lab.contents();
        if found == expected { Ok(()) } else { Err(found) }
    })
    .await;
}

#[tokio::test]
async fn case_22_a_static_address_is_mirrored_and_followed_within_a_second() {
    let lab = Lab::new("static").await;
    let source = |address: &str| address_source("home", json!({"static": [address]}));
    let object = lab.ready(&source("192.0.2.1")).await;
    assert_eq!(object["status"]["addresses"], json!(["192.0.2.1"]));
    lab.ready(&following(&lab, "one", "home")).await;
    // Case 32: an address of a source is united with the values, it does not replace them.
    lab.ready(&following(&lab, "two", "home").with("values", json!(["192.0.2.9"]))).await;
    assert_eq!(lab.contents(), ["one A 192.0.2.1", "two A 192.0.2.1", "two A 192.0.2.9"]);
    let begun = Instant::now();
    lab.apply(&source("192.0.2.2")).await;
    follows(&lab, FOLLOW, &["one A 192.0.2.2", "two A 192.0.2.2", "two A 192.0.2.9"]).await;
    assert!(begun.elapsed() < FOLLOW + Duration::from_millis(500));
    lab.wait_ready("RecordSet", "one").await;
}

#[tokio::test]
async fn case_23_and_31_what_can_not_be_an_address_or_a_url_is_refused() {
    let lab = Lab::bare("bad-address").await;
    lab.refused(&address_source("home", json!({"static": []}))).await;
    lab.refused(&address_source("home", json!({"static": ["somewhere"]}))).await;
    lab.refused(&address_source("home", json!({}))).await;
    lab.refused(&address_source("home", json!({"static": ["192.0.2.1"], "http": [{"url": "http://x"}]})))
        .await;
    for url in ["/ip", "ftp://example.net/ip", "ip.example.net", "file:///etc/passwd"] {
        lab.refused(&address_source("home", json!({"http": [{"url": url}]}))).await;
    }
    for interval in ["0s", "1ms", "9s", "9.999s"] {
        let source = address_source("home", json!({"static": ["192.0.2.1"], "interval": interval}));
        let error = lab.refused(&source).await;
        assert!(error.contains("interval"), "{interval}: {error}");
    }
}

#[tokio::test]
async fn a_filter_without_end_spoils_its_own_source_only() {
    let lab = Lab::new("boxed").await;
    let web = Web::saying(r#"{"ip": "192.0.2.7"}"#).await;
    let tenant = lab.tenant(json!({})).await;
    for (name, jq) in [("deep", "def f: f+1; f"), ("endless", "def f: f; f"), ("large", "[range(1e12)]")] {
        let source = address_source(name, json!({"http": [{"url": web.url(), "jq": jq}]}));
        lab.apply(&source.in_namespace(tenant.name())).await;
    }
    lab.ready(&http(json!({"url": web.url(), "jq": ".ip"}))).await;
    lab.ready(&following(&lab, "good", "home")).await;
    for name in ["deep", "endless", "large"] {
        let of_tenant = format!("{}/{name}", tenant.name());
        let message = lab.wait_reason("AddressSource", &of_tenant, "TargetsUnknown").await;
        assert!(message.contains("was stopped"), "{name}: {message}");
    }
    lab.ready(&lab.a("other", "192.0.2.1")).await;
    assert_eq!(lab.contents(), ["good A 192.0.2.7", "other A 192.0.2.1"]);
}

#[tokio::test]
async fn answers_that_keep_changing_take_effect_ten_times_and_then_once_a_minute() {
    let lab = Lab::new("flapping").await;
    let web = Web::saying("192.0.2.1").await;
    lab.ready(&http(json!({"url": web.url()}))).await;
    lab.ready(&following(&lab, "www", "home")).await;
    let mark = lab.mark();
    let limited = eventually("the source is limited", Duration::from_secs(60), async || {
        let asked = web.requests().len();
        web.answer(Answer::Text(200, format!("192.0.2.{}", asked % 250 + 2)));
        ask(&lab, &web).await;
        let object = lab.get("AddressSource", "home").await.expect("it is there");
        let shown = condition(&object, "Ready");
        if shown.reason == "RateLimited" { Ok(object) } else { Err(shown.reason) }
    })
    .await;
    assert_eq!(condition(&limited, "Reconciling").status, "True");
    let writes = lab.changes_since(mark).len();
    let asked = web.requests().len();
    assert!(writes < asked, "{writes} writes for {asked} answers");
    lab.wait_ready("RecordSet", "www").await;
}

#[tokio::test]
async fn one_release_asks_and_the_others_use_what_it_found() {
    let lab = Lab::new("asked-once").await;
    let web = Web::saying("192.0.2.1").await;
    let theirs = http(json!({"url": web.url()})).with("controllerName", "zonekeeper.dev/another");
    lab.apply(&theirs).await;
    lab.not_ready(&following(&lab, "www", "home"), "TargetsUnknown").await;
    assert_eq!(web.requests().len(), 0);
    let found = json!({"status": {"addresses": ["192.0.2.5"]}});
    lab.patch_status("AddressSource", "home", found).await;
    lab.wait_ready("RecordSet", "www").await;
    assert_eq!((lab.contents(), web.requests().len()), (vec!["www A 192.0.2.5".to_owned()], 0));
}

#[tokio::test]
async fn case_24_a_dynamic_address_is_followed_by_every_record() {
    let lab = Lab::new("dynamic").await;
    let web = Web::saying("192.0.2.1\n").await;
    lab.ready(&http(json!({"url": web.url()}))).await;
    lab.ready(&following(&lab, "one", "home")).await;
    lab.ready(&following(&lab, "two", "home")).await;
    web.answer(Answer::Text(200, "192.0.2.2".into()));
    // Its own interval of ten seconds, and one more to follow.
    follows(&lab, FOLLOW * 12, &["one A 192.0.2.2", "two A 192.0.2.2"]).await;
    // Case 30, and all sources failing: the last good address is kept.
    web.answer(Answer::Text(503, "192.0.2.66".into()));
    ask(&lab, &web).await;
    let message = lab.wait_reason("AddressSource", "home", "TargetsUnknown").await;
    assert!(message.contains("503"), "{message}");
    let object = lab.get("AddressSource", "home").await.expect("it is there");
    assert_eq!(object["status"]["addresses"], json!(["192.0.2.2"]));
    lab.scan().await;
    assert_eq!(lab.contents(), ["one A 192.0.2.2", "two A 192.0.2.2"]);
    lab.wait_ready("RecordSet", "one").await;
    // A restart remembers it too.
    lab.kill().await;
    lab.run();
    lab.scan().await;
    assert_eq!(lab.contents(), ["one A 192.0.2.2", "two A 192.0.2.2"]);
}

#[tokio::test]
async fn case_25_27_28_29_sources_are_tried_in_order_filtered_and_given_headers() {
    let lab = Lab::new("filters").await;
    let (bad, good) = (Web::start(Answer::Text(500, "no".into())).await, Web::saying("").await);
    good.answer(Answer::Text(
        200,
        r#"{"seen": [{"ip": "addr=192.0.2.7;"}, {"ip": "addr=192.0.2.8;"}]}"#.into(),
    ));
    lab.put_secret("headers", &[("X-Key", "hush"), ("X-Other", "two")]).await;
    let second = json!({
        "url": good.url(),
        "jq": ".seen[].ip",
        "regex": "addr=([0-9.]+);",
        "headers": {"X-Plain": "one"},
        "headersSecretRef": {"name": "headers"},
    });
    let object = lab.ready(&address_source("home", json!({"http": [{"url": bad.url()}, second]}))).await;
    assert_eq!(object["status"]["addresses"], json!(["192.0.2.7"]));
    let asked = good.requests().join("\n").to_lowercase();
    for header in ["x-key: hush", "x-other: two", "x-plain: one"] {
        assert!(asked.contains(header), "{header}: {asked}");
    }
    assert_eq!(bad.requests().len(), good.requests().len());
    assert!(!object.to_string().contains("hush"));
}

#[tokio::test]
async fn a_header_secret_that_may_not_be_read_says_how_to_permit_it() {
    let lab = Lab::new("hidden-headers").await;
    let tenant = lab.tenant(json!({})).await;
    let web = Web::saying("192.0.2.7").await;
    let http = json!({"url": web.url(), "headersSecretRef": {"name": "headers"}});
    let source = address_source("home", json!({"http": [http]})).in_namespace(tenant.name());
    let message = lab.not_ready(&source, "RefNotPermitted").await;
    assert!(message.contains("kubectl create rolebinding"), "{message}");
    assert_eq!(web.requests().len(), 0, "nothing is asked without what it needs");
    lab.let_read_secrets(tenant.name()).await;
    lab.wait_reason("AddressSource", &format!("{}/home", tenant.name()), "RefNotFound").await;
    lab.put_secret(&format!("{}/headers", tenant.name()), &[("X-Key", "hush")]).await;
    lab.wait_ready("AddressSource", &format!("{}/home", tenant.name())).await;
}

#[tokio::test]
async fn private_networks_are_asked_only_where_allowed() {
    let lab = Lab::new("private").await;
    // Labs may ask 127.0.0.0/8 and no other private network.
    let message = lab.not_ready(&http(json!({"url": "http://10.1.2.3/"})), "TargetsUnknown").await;
    assert!(message.contains("--allow-address-source"), "{message}");
    // Who waits for it says so, and nothing is created.
    let message = lab.not_ready(&following(&lab, "www", "home"), "TargetsUnknown").await;
    assert!(message.contains("home"), "{message}");
    lab.not_ready(&following(&lab, "other", "missing"), "RefNotFound").await;
    assert_eq!(lab.contents(), [""; 0]);
    lab.apply(&address_source("missing", json!({"static": ["192.0.2.5"]}))).await;
    lab.wait_ready("RecordSet", "other").await;
}

#[tokio::test]
async fn other_namespaces_use_a_source_only_where_it_allows_them() {
    let lab = Lab::ready_to_run("foreign-source").await;
    lab.apply(&lab.dns_zone().with("allowedRecords", json!([{"namespaces": {"from": "All"}}]))).await;
    lab.run();
    let tenant = lab.tenant(json!({"dyn": "yes"})).await;
    let source = address_source("home", json!({"static": ["192.0.2.1"]}));
    lab.ready(&source).await;
    let from = json!([{"addressSourceRef": {"name": "home", "namespace": lab.home.name()}}]);
    let wish =
        lab.a("www", "192.0.2.1").without("values").with("valuesFrom", from).in_namespace(tenant.name());
    let message = lab.not_ready(&wish, "RefNotPermitted").await;
    assert!(message.contains("allowedNamespaces"), "{message}");
    assert_eq!(lab.contents(), [""; 0]);
    let allowed = json!({"from": "Selector", "selector": {"matchLabels": {"dyn": "yes"}}});
    lab.ready(&source.with("allowedNamespaces", allowed)).await;
    lab.wait_ready("RecordSet", &format!("{}/www", tenant.name())).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.1"]);
}

#[tokio::test]
async fn a_source_that_goes_leaves_the_record_as_it_is() {
    let lab = Lab::new("source-gone").await;
    lab.ready(&address_source("home", json!({"static": ["192.0.2.1", "2001:db8::1"]}))).await;
    lab.ready(&following(&lab, "www", "home")).await;
    lab.ready(&following(&lab, "six", "home").with("type", "AAAA")).await;
    assert_eq!(lab.contents(), ["six AAAA 2001:db8::1", "www A 192.0.2.1"]);
    let mark = lab.mark();
    lab.delete("AddressSource", "home").await;
    let message = lab.wait_reason("RecordSet", "www", "RefNotFound").await;
    assert!(message.contains("home"), "{message}");
    lab.scan().await;
    assert_eq!(lab.changes_since(mark), [""; 0]);
    // An address of the other family only: the record asks for one that is not there.
    lab.ready(&address_source("home", json!({"static": ["192.0.2.2"]}))).await;
    lab.wait_ready("RecordSet", "www").await;
    lab.wait_reason("RecordSet", "six", "TargetsUnknown").await;
    assert_eq!(lab.contents(), ["six AAAA 2001:db8::1", "www A 192.0.2.2"]);
    let object = lab.get("RecordSet", "six").await.expect("it is there");
    assert_eq!(condition(&object, "Reconciling").status, "True");
}
