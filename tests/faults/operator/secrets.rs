//! What is secret is shown nowhere, however loud the log, whatever goes wrong, whatever servers echo.

use cloudflare_sim::{TokenGrant, TokenStatus};
use control_plane::eventually;
use kube::api::ListParams;
use serde_json::{Value, json};
use zonekeeper_tests::web::{Answer, Web};

use crate::support::{Lab, address_source, lab::DEADLINE, objects};

const HEADER: &str = "canary-header-canary-header-canary";

async fn all_of(lab: &Lab<'_>, kind: &str, namespace: &str) -> Vec<Value> {
    let list = objects::api(lab.home.client(), kind, namespace).list(&ListParams::default()).await;
    list.expect("a list").items.iter().map(objects::json).collect()
}

#[tokio::test]
async fn secrets_are_shown_nowhere() {
    let lab = Lab::ready_to_run("canary-all").await;
    let provider = lab.home.name();
    lab.run_at("trace", &["--allow-address-source", "127.0.0.0/8"]);
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let mut secrets = vec![lab.token.clone()];

    // A header from a Secret, to a service that answers and then fails with an echo of it.
    lab.put_secret("header", &[("X-Canary", HEADER)]).await;
    secrets.push(HEADER.to_owned());
    let web = Web::saying("192.0.2.7").await;
    let http = json!([{"url": web.url(), "headersSecretRef": {"name": "header"}}]);
    lab.ready(&address_source("home", json!({"http": http, "interval": "10s"}))).await;
    let from = json!([{"addressSourceRef": {"name": "home"}}]);
    lab.ready(&lab.a("home", "192.0.2.1").named("follows").without("values").with("valuesFrom", from)).await;
    assert!(web.requests().iter().any(|request| request.contains(HEADER)), "it was sent");
    for answer in
        [Answer::Text(500, format!("bad header {HEADER}")), Answer::Text(200, format!("no IP: {HEADER}"))]
    {
        web.answer(answer);
        lab.annotate("AddressSource", "home", "reconcile.fluxcd.io/requestedAt", "again").await;
        lab.wait_reason("AddressSource", "home", "TargetsUnknown").await;
    }

    // Rotation: to a token that works, and to several that do not.
    let bad = "canary0canary0canary0canary0canary0canary";
    for (token, is_good) in [
        (lab.sim.token(TokenGrant::full()), true),
        (lab.sim.token(TokenGrant::full().status(TokenStatus::Expired)), false),
        (lab.sim.token(TokenGrant::full().status(TokenStatus::Disabled)), false),
        (lab.sim.token(TokenGrant::full().barred()), false),
        (bad.to_owned(), false),
        ("not a token at all: canary canary".to_owned(), false),
    ] {
        secrets.push(token.clone());
        lab.put_secret("cloudflare", &[("apiToken", &token)]).await;
        match is_good {
            true => drop(lab.ready(&lab.a("www", "192.0.2.2")).await),
            false => drop(lab.wait_reason("DNSProvider", provider, "CredentialsInvalid").await),
        }
    }

    // A server in Cloudflare's place that echoes what it was sent.
    let echo = Web::start(Answer::Text(403, format!("<html>go away, Bearer {bad}</html>"))).await;
    lab.put_secret("cloudflare", &[("apiToken", bad)]).await;
    lab.apply(&lab.provider().with("cloudflare.baseURL", echo.url())).await;
    eventually("it was asked", DEADLINE, async || {
        if echo.requests().iter().any(|request| request.contains(bad)) { Ok(()) } else { Err(()) }
    })
    .await;
    lab.wait("DNSProvider", provider, "the echo", |object| object["status"].to_string().contains("403"))
        .await;

    let key = lab.get("Secret", "zonekeeper-marker-key").await.expect("the operator made it");
    let key = key["data"]["current"].as_str().expect("a key").to_owned();
    let key = String::from_utf8(data_encoding::BASE64.decode(key.as_bytes()).expect("base64")).expect("text");
    assert!(key.len() > 30);
    secrets.push(key);

    let mut shown: Vec<(String, String)> =
        vec![("log".into(), lab.log()), ("metrics".into(), lab.metrics().await)];
    assert!(shown[0].1.len() > 100_000, "the log is on");
    for kind in ["DNSProvider", "DNSZone", "RecordSet", "AddressSource", "Event"] {
        for namespace in [provider, "default"] {
            for object in all_of(&lab, kind, namespace).await {
                shown.push((kind.into(), object.to_string()));
            }
        }
    }
    assert!(shown.iter().filter(|(kind, _)| kind == "Event").count() > 3);
    for (place, text) in &shown {
        for secret in &secrets {
            for form in [secret.clone(), data_encoding::BASE64.encode(secret.as_bytes())] {
                let Some(at) = text.find(&form) else { continue };
                let from = text[..at].char_indices().rev().nth(400).map_or(0, |(index, _)| index);
                panic!("{place} shows {secret}: ...{}", &text[from..at + form.len()]);
            }
        }
    }
}
