//! AddressSources: what they ask, what they refuse, and what happens when nobody answers.

use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::support::{
    Folder, Lab, Manifest, Run, address_source, builtin, records, secret,
    web::{Answer, Web},
    zone, zonekeeper,
};

const LOOPBACK: [&str; 2] = ["--allow-address-source", "127.0.0.0/8"];

fn sourced(rtype: &str) -> Manifest {
    let from = json!([{"addressSourceRef": {"name": "home"}}]);
    records("home.example.test", rtype, &[]).without("values").with("valuesFrom", from)
}

/// A plan of one record that follows this source.
async fn planned(source: Value, allowed: &[&str]) -> Run {
    let folder = Folder::new();
    let headers = secret("headers", "x-canary", "canary0123");
    folder.put(
        "all.yaml",
        &[builtin(), zone("example.test"), address_source("home", source), sourced("A"), headers],
    );
    zonekeeper(["plan", "-f", folder.arg(), "-o", "json"]).args(allowed).run().await
}

async fn found(source: Value) -> Value {
    let run = planned(source, &LOOPBACK).await.exits(2);
    run.json()["zones"][0]["changes"][0]["after"]["values"].clone()
}

#[track_caller]
fn unknown(run: Run) -> Run {
    let run = run.exits(1).says("TargetsUnknown");
    assert_eq!(run.json()["zones"][0]["changes"], json!([]));
    run
}

#[tokio::test]
async fn static_addresses_are_taken_by_family() {
    assert_eq!(
        found(json!({"static": ["192.0.2.7", "2001:db8::7", "192.0.2.8"]})).await,
        json!(["192.0.2.7", "192.0.2.8"])
    );
}

#[tokio::test]
async fn values_and_sources_are_united() {
    let folder = Folder::new();
    let wish = sourced("A").with("values", json!(["192.0.2.1", "192.0.2.7"]));
    folder.put(
        "all.yaml",
        &[builtin(), zone("example.test"), address_source("home", json!({"static": ["192.0.2.7"]})), wish],
    );
    let plan = zonekeeper(["plan", "-f", folder.arg(), "-o", "json"]).run().await.exits(2).json();
    assert_eq!(plan["zones"][0]["changes"][0]["after"]["values"], json!(["192.0.2.1", "192.0.2.7"]));
}

#[tokio::test]
async fn a_plain_answer_jq_and_regex_find_the_address() {
    let web = Web::saying(" 192.0.2.1\n").await;
    assert_eq!(found(json!({"http": [{"url": web.url()}]})).await, json!(["192.0.2.1"]));
    web.answer(Answer::Text(200, r#"{"addresses": [{"ip": "192.0.2.2"}, {"ip": "192.0.2.3"}]}"#.into()));
    assert_eq!(
        found(json!({"http": [{"url": web.url(), "jq": ".addresses[].ip"}]})).await,
        json!(["192.0.2.2"]),
        "the first result counts"
    );
    web.answer(Answer::Text(200, "Current IP: 192.0.2.4, seen from 192.0.2.5".into()));
    assert_eq!(
        found(json!({"http": [{"url": web.url(), "regex": "IP: ([0-9.]+)"}]})).await,
        json!(["192.0.2.4"])
    );
    web.answer(Answer::Text(200, r#"{"text": "ip=192.0.2.6;"}"#.into()));
    assert_eq!(
        found(json!({"http": [{"url": web.url(), "jq": ".text", "regex": "ip=([^;]+)"}]})).await,
        json!(["192.0.2.6"])
    );
}

#[tokio::test]
async fn method_body_and_headers_are_sent() {
    let web = Web::saying("192.0.2.1").await;
    let source = json!({"url": web.url(), "method": "POST", "body": "{\"q\":1}", "headers": {"X-Plain": "yes"}, "headersSecretRef": {"name": "headers"}});
    let run = planned(json!({"http": [source]}), &LOOPBACK).await.exits(2).never_says("canary0123");
    let request = web.requests().remove(0);
    assert!(request.starts_with("POST / HTTP/1.1"), "{request}");
    assert!(request.ends_with("{\"q\":1}"), "{request}");
    let lower = request.to_lowercase();
    assert!(lower.contains("x-plain: yes") && lower.contains("x-canary: canary0123"), "{request}\n{run}");
}

#[tokio::test]
async fn a_missing_header_secret_asks_nobody() {
    let web = Web::saying("192.0.2.1").await;
    let run =
        planned(json!({"http": [{"url": web.url(), "headersSecretRef": {"name": "missing"}}]}), &LOOPBACK)
            .await;
    unknown(run).says("Secret default/missing does not exist");
    assert!(web.requests().is_empty());
}

#[tokio::test]
async fn an_answer_that_is_no_address_is_no_address() {
    let web = Web::start(Answer::Text(500, "192.0.2.1".into())).await;
    unknown(planned(json!({"http": [{"url": web.url()}]}), &LOOPBACK).await).says("HTTP 500");
    web.answer(Answer::Text(200, "canary-answer".into()));
    unknown(planned(json!({"http": [{"url": web.url()}]}), &LOOPBACK).await)
        .says("no IP address")
        .never_says("canary-answer");
    web.answer(Answer::Text(200, "192.0.2.1 ".repeat(10_000)));
    unknown(planned(json!({"http": [{"url": web.url(), "regex": "([0-9.]+)"}]}), &LOOPBACK).await)
        .says("64 KiB");
    web.answer(Answer::Text(200, "2001:db8::1".into()));
    unknown(planned(json!({"http": [{"url": web.url()}]}), &LOOPBACK).await).says("another family");
    unknown(planned(json!({"http": [{"url": web.url(), "jq": ".ip"}]}), &LOOPBACK).await).says("JSON");
    web.answer(Answer::Text(200, "{}".into()));
    unknown(planned(json!({"http": [{"url": web.url(), "jq": ".ip |"}]}), &LOOPBACK).await)
        .says("not a filter");
    unknown(planned(json!({"http": [{"url": web.url(), "regex": "("}]}), &LOOPBACK).await)
        .says("regular expression");
}

#[tokio::test]
async fn a_jq_filter_sees_no_environment_and_ends_no_program() {
    let web = Web::saying("{}").await;
    for filter in ["env.HOME", "$ENV.HOME", "input_filename", "halt", "stderr"] {
        unknown(planned(json!({"http": [{"url": web.url(), "jq": filter}]}), &LOOPBACK).await)
            .says("not a filter");
    }
}

/// A folder with one bad source, a record that follows it, and another record.
async fn beside(source: Value) -> (Run, Vec<String>) {
    let lab = Lab::start().await;
    lab.want(&[
        address_source("home", source),
        sourced("A").with("name", "home.example.com"),
        records("good.example.com", "A", &["192.0.2.1"]),
    ]);
    let run = lab.call("apply").args(&LOOPBACK).run().await;
    (run, lab.contents())
}

#[tokio::test]
async fn a_filter_can_not_end_fill_or_stop_the_program() {
    let web = Web::saying(r#"{"ip": "192.0.2.2"}"#).await;
    let filters = [
        "def f: f+1; f",
        "def f: f; f",
        "def f: [f]; f",
        "last(repeat(.))",
        "[range(1e12)]",
        "reduce range(1e9) as $i (.; [.])",
        "last(range(1e12))",
        "[limit(1e12; repeat(.))]",
        "\"x\" * 1e10",
        "[\"a\" | until(false; . + .)]",
    ];
    let applied = filters.map(|jq| {
        let (source, begun) = (json!({"http": [{"url": web.url(), "jq": jq}]}), Instant::now());
        async move { (jq, beside(source).await, begun.elapsed()) }
    });
    let applied: Vec<_> = stream::iter(applied).buffer_unordered(4).collect().await;
    for (jq, (run, contents), took) in applied {
        let run = run.exits(1).says("TargetsUnknown");
        let is_told = run.stdout.contains("was stopped") || run.stdout.contains("finds nothing");
        assert!(is_told, "{jq}: {run}");
        assert_eq!(contents, ["good.example.com A 192.0.2.1"], "{jq}: the others are applied");
        assert!(took < Duration::from_secs(90), "{jq}: {took:?}");
    }
    let large = json!({"http": [{"url": web.url(), "regex": "((a{1000}){1000}){1000}"}]});
    let (run, contents) = beside(large).await;
    run.exits(1).says("regular expression");
    assert_eq!(contents, ["good.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn an_answer_can_not_end_the_program() {
    let web = Web::saying("").await;
    for answer in ["[".repeat(32_000), "{\"a\":".repeat(9_000), "[[[".repeat(100) + "1" + &"]]]".repeat(100)]
    {
        web.answer(Answer::Text(200, answer));
        let (run, contents) = beside(json!({"http": [{"url": web.url(), "jq": ".ip"}]})).await;
        run.exits(1).says("TargetsUnknown").says("deeper than 128 levels");
        assert_eq!(contents, ["good.example.com A 192.0.2.1"]);
    }
}

#[tokio::test]
async fn headers_and_bodies_go_to_no_other_host() {
    let other = Web::at("127.0.0.2", Answer::Text(200, "192.0.2.9".into())).await;
    let secret = json!({"name": "headers"});
    let other_port = Web::saying("192.0.2.9").await;
    for (target, web) in [(other.url_at("127.0.0.2"), &other), (other_port.url(), &other_port)] {
        let home = Web::start(Answer::Redirect(target)).await;
        let source = json!({
            "url": home.url(), "headersSecretRef": secret,
            "headers": {"X-Plain": "canary-plain", "Accept": "text/plain"},
        });
        assert_eq!(found(json!({"http": [source]})).await, json!(["192.0.2.9"]), "the redirect is followed");
        let first = home.requests().remove(0).to_lowercase();
        assert!(first.contains("canary0123") && first.contains("canary-plain"), "{first}");
        let second = web.requests().remove(0).to_lowercase();
        assert!(!second.contains("canary"), "{second}");
        assert!(second.contains("accept: text/plain"), "{second}");
    }
    let asked = other.requests().len();
    let home = Web::start(Answer::MovedWithBody(other.url_at("127.0.0.2"))).await;
    let source = json!({"url": home.url(), "method": "POST", "body": "canary-body"});
    unknown(planned(json!({"http": [source]}), &LOOPBACK).await).says("another host");
    assert_eq!(other.requests().len(), asked, "no body goes elsewhere");
    // Within one host they stay.
    let home = Web::saying("192.0.2.9").await;
    home.answer(Answer::RedirectOnce(format!("{}next", home.url()), "192.0.2.8".into()));
    let source = json!({"url": home.url(), "headersSecretRef": secret});
    assert_eq!(found(json!({"http": [source]})).await, json!(["192.0.2.8"]));
    assert!(home.requests().iter().all(|request| request.to_lowercase().contains("canary0123")));
}

#[tokio::test]
async fn messages_show_no_part_of_a_url_that_may_be_secret() {
    let web = Web::start(Answer::Text(500, String::new())).await;
    let url = web.url().replace("http://", "http://user:canary-password@") + "canary-path?key=canary-query";
    unknown(planned(json!({"http": [{"url": url}]}), &LOOPBACK).await).says("HTTP 500").never_says("canary");
}

#[tokio::test]
async fn services_of_clouds_are_not_public() {
    for host in ["168.63.129.16", "100.100.100.200", "192.0.0.192", "[fd00:ec2::254]", "[64:ff9b::a83f:8110]"]
    {
        let url = format!("http://{host}/latest");
        unknown(planned(json!({"http": [{"url": url}]}), &[]).await).says("--allow-address-source");
    }
}

#[tokio::test]
async fn an_interval_below_ten_seconds_is_refused() {
    for interval in ["1ms", "9s"] {
        planned(json!({"static": ["192.0.2.1"], "interval": interval}), &[])
            .await
            .exits(1)
            .says("at least 10s");
    }
    planned(json!({"static": ["192.0.2.1"], "interval": "10s"}), &[]).await.exits(2);
}

#[tokio::test]
async fn a_silent_server_is_not_waited_for_for_ever() {
    let (silent, second) = (Web::start(Answer::Silence).await, Web::saying("192.0.2.2").await);
    let run =
        planned(json!({"http": [{"url": silent.url()}, {"url": second.url()}]}), &LOOPBACK).await.exits(2);
    assert_eq!(run.json()["zones"][0]["changes"][0]["after"]["values"], json!(["192.0.2.2"]));
}

#[tokio::test]
async fn the_second_source_is_asked_only_when_the_first_fails() {
    let (first, second) = (Web::saying("192.0.2.1").await, Web::saying("192.0.2.2").await);
    let both = json!({"http": [{"url": first.url()}, {"url": second.url()}]});
    assert_eq!(found(both.clone()).await, json!(["192.0.2.1"]));
    assert!(second.requests().is_empty());
    first.answer(Answer::Text(503, String::new()));
    assert_eq!(found(both).await, json!(["192.0.2.2"]));
}

#[tokio::test]
async fn nothing_inside_is_asked_unless_the_command_line_allows_it() {
    let web = Web::saying("192.0.2.1").await;
    for host in
        ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f000001", "127.1", "0.0.0.0"]
    {
        let run = planned(json!({"http": [{"url": web.url_at(host)}]}), &[]).await;
        unknown(run).says("--allow-address-source");
    }
    let elsewhere = ["--allow-address-source", "10.0.0.0/8"];
    unknown(planned(json!({"http": [{"url": web.url()}]}), &elsewhere).await);
    assert!(web.requests().is_empty());
    let both = ["--allow-address-source", "10.0.0.0/8", "--allow-address-source", "127.0.0.1/32"];
    planned(json!({"http": [{"url": web.url()}]}), &both).await.exits(2);
    let localhost = planned(json!({"http": [{"url": web.url_at("localhost")}]}), &LOOPBACK).await;
    localhost.exits(2);
}

#[tokio::test]
async fn a_redirect_leads_nowhere_that_is_not_allowed() {
    let inside = Web::at("127.0.0.2", Answer::Text(200, "192.0.2.1".into())).await;
    for target in
        [inside.url_at("127.0.0.2"), inside.url_at("[::ffff:127.0.0.2]"), "file:///etc/hostname".into()]
    {
        let outside = Web::start(Answer::Redirect(target.clone())).await;
        let run =
            planned(json!({"http": [{"url": outside.url()}]}), &["--allow-address-source", "127.0.0.1/32"])
                .await;
        unknown(run);
        assert_eq!(outside.requests().len(), 1, "{target}");
    }
    assert!(inside.requests().is_empty());
    let outside = Web::start(Answer::Redirect(inside.url_at("127.0.0.2"))).await;
    assert_eq!(found(json!({"http": [{"url": outside.url()}]})).await, json!(["192.0.2.1"]));
    let circle = Web::saying("").await;
    circle.answer(Answer::Redirect(circle.url()));
    unknown(planned(json!({"http": [{"url": circle.url()}]}), &LOOPBACK).await);
    assert!(circle.requests().len() < 10);
}

#[tokio::test]
async fn only_http_is_spoken() {
    for url in ["ftp://192.0.2.1/", "/relative", "file:///etc/hostname"] {
        let run = planned(json!({"http": [{"url": url}]}), &LOOPBACK).await.exits(1);
        assert!(run.stderr.contains("url"), "{run}");
    }
}

#[tokio::test]
async fn static_and_http_exclude_each_other() {
    planned(json!({}), &[]).await.exits(1).says("set either static or http");
    planned(json!({"static": ["192.0.2.1"], "http": [{"url": "http://192.0.2.1/"}]}), &[])
        .await
        .exits(1)
        .says("set either static or http");
    planned(json!({"static": ["not an address"]}), &[]).await.exits(1).says("spec.static");
    planned(json!({"static": []}), &[]).await.exits(1);
}

#[tokio::test]
async fn an_address_that_is_nobodys_is_no_answer() {
    let web = Web::saying("").await;
    for answer in
        ["0.0.0.0", "0.1.2.3", "127.0.0.1", "127.9.9.9", "169.254.1.1", "224.0.0.1", "255.255.255.255"]
    {
        web.answer(Answer::Text(200, answer.into()));
        unknown(planned(json!({"http": [{"url": web.url()}]}), &LOOPBACK).await)
            .says("no client could reach");
    }
    for answer in ["::", "::1", "fe80::1", "ff02::1", "::ffff:127.0.0.1"] {
        web.answer(Answer::Text(200, answer.into()));
        let source = json!({"http": [{"url": web.url()}], "families": ["IPv6"]});
        unknown(planned(source, &LOOPBACK).await).says("no client could reach");
    }
    let second = Web::saying("10.1.2.3").await;
    web.answer(Answer::Text(200, "0.0.0.0".into()));
    assert_eq!(
        found(json!({"http": [{"url": web.url()}, {"url": second.url()}]})).await,
        json!(["10.1.2.3"]),
        "the next is asked, and private addresses are taken"
    );
}

#[tokio::test]
async fn a_static_address_may_be_any_but_nobodys() {
    assert_eq!(
        found(json!({"static": ["127.0.0.1", "169.254.1.1"]})).await,
        json!(["127.0.0.1", "169.254.1.1"])
    );
    unknown(planned(json!({"static": ["0.0.0.0"]}), &[]).await).says("0.0.0.0 is not the address of a host");
}

#[tokio::test]
async fn silent_sources_are_waited_for_together() {
    let folder = Folder::new();
    let silent = Web::start(Answer::Silence).await;
    let sources = (0..4).map(|n| address_source(&format!("s{n}"), json!({"http": [{"url": silent.url()}]})));
    let wishes = (0..4).map(|n| {
        records(&format!("n{n}.example.test"), "A", &[])
            .without("values")
            .with("valuesFrom", json!([{"addressSourceRef": {"name": format!("s{n}")}}]))
    });
    let objects: Vec<Manifest> =
        [builtin(), zone("example.test")].into_iter().chain(sources).chain(wishes).collect();
    folder.put("all.yaml", &objects);
    let begun = Instant::now();
    let run = zonekeeper(["plan", "-f", folder.arg()]).args(&LOOPBACK).run().await.exits(1);
    assert_eq!(run.stdout.matches("did not answer within 10 s").count(), 4, "{run}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
