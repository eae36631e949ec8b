//! Credentials: read, tried for real, rotated without a restart, and never shown.

use cloudflare_sim::{Right, TokenGrant, TokenStatus, token_hash};
use control_plane::eventually;
use serde_json::json;

use crate::support::{Lab, condition, lab::DEADLINE};

#[tokio::test]
async fn case_01_a_secret_without_the_key_is_named() {
    let lab = Lab::bare("key").await;
    lab.put_secret("cloudflare", &[("other", "x")]).await;
    lab.run();
    let message = lab.not_ready(&lab.provider(), "RefNotFound").await;
    assert!(message.contains("apiToken"), "{message}");
    let provider = lab.get("DNSProvider", lab.home.name()).await.expect("it is there");
    assert_eq!(condition(&provider, "CredentialsValid").status, "False");
    assert_eq!(condition(&provider, "Stalled").status, "True");
    assert_eq!(lab.sim.requests(), 0);
    lab.put_secret("cloudflare", &[("apiKey", &lab.token)]).await;
    lab.wait_ready("DNSProvider", lab.home.name()).await;
}

#[tokio::test]
async fn case_02_a_secret_that_comes_later_makes_all_ready_without_edits() {
    let lab = Lab::bare("later").await;
    lab.run();
    let message = lab.not_ready(&lab.provider(), "RefNotFound").await;
    assert!(message.contains(&format!("{}/cloudflare", lab.home.name())), "{message}");
    lab.not_ready(&lab.dns_zone(), "RefNotFound").await;
    lab.not_ready(&lab.a("www", "192.0.2.1"), "RefNotFound").await;
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.wait_ready("RecordSet", "www").await;
    lab.wait_ready("DNSZone", "zone").await;
    let provider = lab.wait_ready("DNSProvider", lab.home.name()).await;
    assert_eq!(condition(&provider, "CredentialsValid").status, "True");
}

#[tokio::test]
async fn case_03_a_rotated_token_is_used_at_once() {
    let lab = Lab::new("rotate").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let (mark, new) = (lab.mark(), lab.sim.token(TokenGrant::full()));
    lab.put_secret("cloudflare", &[("apiToken", &new)]).await;
    let hash = token_hash(&new);
    eventually("the zone is read with the new token", DEADLINE, async || {
        let entries = lab.sim.journal_since(mark);
        let is_it = entries
            .iter()
            .any(|entry| entry.token_hash.as_deref() == Some(&hash) && entry.path.ends_with("/dns_records"));
        if is_it { Ok(()) } else { Err(entries.len()) }
    })
    .await;
    // The old one may go now.
    lab.sim.accept_token(&lab.token, TokenGrant::full().status(TokenStatus::Disabled));
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    lab.wait_ready("DNSProvider", lab.home.name()).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.2"]);
}

#[tokio::test]
async fn a_new_token_that_does_not_work_replaces_nothing() {
    let lab = Lab::new("bad-rotation").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let disabled = lab.sim.token(TokenGrant::full().status(TokenStatus::Disabled));
    lab.put_secret("cloudflare", &[("apiToken", &disabled)]).await;
    lab.wait_reason("DNSProvider", lab.home.name(), "CredentialsInvalid").await;
    // The old one is used on.
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    assert_eq!(lab.contents(), ["www A 192.0.2.2"]);
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.wait_ready("DNSProvider", lab.home.name()).await;
}

#[tokio::test]
async fn a_new_token_that_does_not_see_a_zone_is_used_as_soon_as_it_does() {
    let lab = Lab::new("blind-rotation").await;
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let other = lab.sim.zone(&format!("other.{}", lab.domain), cloudflare_sim::Plan::Free);
    let new = lab.sim.token(TokenGrant::full().only([other]));
    lab.put_secret("cloudflare", &[("apiToken", &new)]).await;
    lab.wait_reason("DNSZone", "zone", "ZoneNotFound").await;
    lab.sim.accept_token(&lab.token, TokenGrant::full().status(TokenStatus::Disabled));
    lab.sim.accept_token(&new, TokenGrant::full());
    lab.ready(&lab.a("www", "192.0.2.2")).await;
    lab.wait_ready("DNSZone", "zone").await;
    assert_eq!(lab.contents(), ["www A 192.0.2.2"]);
}

#[tokio::test]
async fn a_token_that_does_not_work_says_what_to_do() {
    let lab = Lab::ready_to_run("tokens").await;
    let expired = lab.sim.token(TokenGrant::full().status(TokenStatus::Expired));
    lab.put_secret("cloudflare", &[("apiToken", &expired)]).await;
    lab.run();
    let provider = lab.home.name();
    let message = lab.wait_reason("DNSProvider", provider, "CredentialsInvalid").await;
    assert!(message.contains("expired") && message.contains("Secret"), "{message}");
    lab.wait_reason("DNSZone", "zone", "CredentialsInvalid").await;
    let message = lab.not_ready(&lab.a("www", "192.0.2.1"), "CredentialsInvalid").await;
    assert!(message.contains(provider), "names the provider: {message}");
    for (token, word) in [
        (lab.sim.token(TokenGrant::full().status(TokenStatus::Disabled)), "disabled"),
        (lab.sim.token(TokenGrant::full().barred()), "address"),
        ("unknown0unknown0unknown0unknown0unknown0".to_owned(), "token"),
    ] {
        lab.put_secret("cloudflare", &[("apiToken", &token)]).await;
        lab.wait("DNSProvider", provider, word, |object| {
            let ready = condition(object, "Ready");
            ready.reason == "CredentialsInvalid" && ready.message.to_lowercase().contains(word)
        })
        .await;
    }
    assert_eq!(lab.sim.writes(), 0);
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.wait_ready("RecordSet", "www").await;
}

#[tokio::test]
async fn a_token_that_may_not_edit_dns_is_named_as_such() {
    let lab = Lab::ready_to_run("reader").await;
    let reader = lab.sim.token(TokenGrant::of([Right::ZoneRead, Right::DnsRead]));
    lab.put_secret("cloudflare", &[("apiToken", &reader)]).await;
    lab.run();
    let message = lab.not_ready(&lab.a("www", "192.0.2.1"), "CredentialsInvalid").await;
    assert!(message.contains("DNS:Edit"), "{message}");
    let message = lab.wait_reason("DNSZone", "zone", "CredentialsInvalid").await;
    assert!(message.contains("DNS:Edit"), "{message}");
    assert_eq!(lab.contents(), [""; 0]);
    lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
    lab.wait_ready("RecordSet", "www").await;
}

#[tokio::test]
async fn tokens_of_an_account_and_for_one_zone_work_and_status_tells_of_them() {
    let lab = Lab::ready_to_run("account").await;
    lab.sim.zone(&format!("second.{}", lab.domain), cloudflare_sim::Plan::Free);
    let ends = "2031-01-02T03:04:05Z".parse().expect("a time");
    let grant = TokenGrant::full().account_owned().only([lab.zone.clone()]).expires_on(ends);
    lab.put_secret("cloudflare", &[("apiToken", &lab.sim.token(grant))]).await;
    lab.run();
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let provider = lab.wait_ready("DNSProvider", lab.home.name()).await;
    let status = &provider["status"];
    assert_eq!(status["zones"], json!([{"name": lab.domain, "id": lab.zone}]));
    assert_eq!(status["zoneCount"], 1);
    assert_eq!(status["tokenExpires"], "2031-01-02T03:04:05Z");
    let system = lab.get("Namespace", "kube-system").await.expect("it is there");
    assert_eq!(status["ownerID"], system["metadata"]["uid"]);
}

#[tokio::test]
async fn a_secret_in_another_namespace_needs_the_shipped_role_there() {
    let lab = Lab::bare("elsewhere").await;
    let other = lab.tenant(json!({})).await;
    lab.put_secret(&format!("{}/cloudflare", other.name()), &[("apiToken", &lab.token)]).await;
    let reference = json!({"name": "cloudflare", "namespace": other.name()});
    let provider = lab.provider().with("cloudflare.apiTokenSecretRef", reference);
    lab.run();
    let message = lab.not_ready(&provider, "RefNotPermitted").await;
    assert!(message.contains("kubectl create rolebinding") && message.contains(other.name()), "{message}");
    lab.let_read_secrets(other.name()).await;
    lab.wait_ready("DNSProvider", lab.home.name()).await;
    // DNSZones of the Secret's namespace may use it; those of others may not.
    lab.ready(&lab.dns_zone().in_namespace(other.name())).await;
    lab.not_ready(&lab.dns_zone(), "RefNotPermitted").await;
}

#[tokio::test]
async fn the_token_is_shown_nowhere_however_loud_the_log() {
    let lab = Lab::ready_to_run("canary").await;
    lab.run_at("trace", &[]);
    lab.ready(&lab.a("www", "192.0.2.1")).await;
    let bad = "canary0canary0canary0canary0canary0canary";
    lab.put_secret("cloudflare", &[("apiToken", bad)]).await;
    lab.wait_reason("DNSProvider", lab.home.name(), "CredentialsInvalid").await;
    let mut shown = vec![lab.log(), lab.metrics().await];
    assert!(shown[0].len() > 10_000, "the log is on");
    for (kind, name) in [("DNSProvider", lab.home.name()), ("DNSZone", "zone"), ("RecordSet", "www")] {
        shown.push(lab.get(kind, name).await.expect("it is there").to_string());
        shown.push(format!("{:?}", lab.events(kind, name).await));
    }
    for text in shown {
        for token in [&*lab.token, bad] {
            assert!(!text.contains(token), "{}", &text[text.find(token).unwrap_or(0).saturating_sub(500)..]);
            let encoded = data_encoding::BASE64.encode(token.as_bytes());
            assert!(
                !text.contains(&encoded),
                "{}",
                &text[text.find(&encoded).unwrap_or(0).saturating_sub(500)..]
            );
        }
    }
}
