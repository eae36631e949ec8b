//! Where the token and the owner id come from, what happens without them, and that nobody ever sees a token.

use cloudflare_sim::{Config, Plan, Right, Sim, TokenGrant, TokenStatus};
use serde_json::json;

use crate::support::{Lab, Manifest, builtin, provider, records, secret, zone};

fn encoded(name: &str, key: &str, value: &str) -> Manifest {
    let data = data_encoding::BASE64.encode(value.as_bytes());
    Manifest(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {key: data}}))
}

/// A folder with one wanted record and no token.
async fn without_token() -> Lab {
    let lab = Lab::start().await;
    lab.folder.remove("token.yaml");
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab
}

async fn works_with(manifest: impl Fn(&str) -> Manifest) {
    let lab = without_token().await;
    lab.folder.put("token.yaml", &[manifest(&lab.token)]);
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 1);
}

#[tokio::test]
async fn the_token_comes_from_a_secret_in_any_spelling() {
    works_with(|token| secret("cloudflare", "apiToken", token)).await;
    works_with(|token| secret("cloudflare", "apiToken", &format!(" {token}\n"))).await;
    works_with(|token| secret("cloudflare", "apiToken", token).in_namespace("zonekeeper-system")).await;
    works_with(|token| encoded("cloudflare", "apiToken", token)).await;
    works_with(|token| encoded("cloudflare", "apiToken", &format!("{token}\n"))).await;
    works_with(|token| secret("cloudflare", "apiKey", token)).await;
}

#[tokio::test]
async fn a_named_namespace_and_key_are_taken_at_their_word() {
    let lab = without_token().await;
    let reference = json!({"name": "cloudflare", "namespace": "infra", "key": "token"});
    lab.folder.put("provider.yaml", &[lab.provider().with("cloudflare.apiTokenSecretRef", reference)]);
    lab.folder.put("token.yaml", &[secret("cloudflare", "token", &lab.token)]);
    lab.apply().await.exits(1).says("spec.cloudflare.apiTokenSecretRef");
    lab.folder.put("token.yaml", &[secret("cloudflare", "token", &lab.token).in_namespace("infra")]);
    lab.apply().await.exits(0);
}

#[tokio::test]
async fn the_environment_stands_in_for_a_missing_secret() {
    let lab = without_token().await;
    lab.call("apply").env("CF_API_TOKEN", &lab.token).run().await.exits(0);
    lab.want(&[records("www.example.com", "A", &["192.0.2.2"])]);
    lab.call("apply")
        .env("CLOUDFLARE_API_TOKEN", &format!("{}\n", lab.token))
        .env("CF_API_TOKEN", "wrong")
        .run()
        .await
        .exits(0);
    lab.call("plan").env("CLOUDFLARE_API_TOKEN", " ").env("CF_API_TOKEN", &lab.token).run().await.exits(0);
    lab.folder
        .put("provider.yaml", &[lab.provider().with("cloudflare", json!({"baseURL": lab.sim.base_url()}))]);
    lab.call("plan").env("CLOUDFLARE_API_TOKEN", &lab.token).run().await.exits(0);
}

#[tokio::test]
async fn a_secret_goes_before_the_environment() {
    let lab = Lab::start().await;
    lab.call("plan").env("CLOUDFLARE_API_TOKEN", "wrong").run().await.exits(0);
}

#[tokio::test]
async fn without_a_token_nothing_is_called() {
    let lab = without_token().await;
    lab.plan().await.exits(1).says("spec.cloudflare.apiTokenSecretRef").says("CLOUDFLARE_API_TOKEN");
    lab.folder.put("token.yaml", &[secret("cloudflare", "apiToken", "")]);
    lab.apply().await.exits(1);
    lab.folder.put("token.yaml", &[secret("cloudflare", "other", "x")]);
    lab.apply().await.exits(1).says("apiToken");
    assert_eq!(lab.sim.requests(), 0);
}

#[tokio::test]
async fn without_an_owner_id_nothing_is_called() {
    let lab = Lab::start().await;
    lab.folder.put("provider.yaml", &[lab.provider().without("registry")]);
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.plan().await.exits(1).says("spec.registry.ownerID").says("--owner-id");
    lab.call("apply").args(&["--owner-id", ""]).run().await.exits(1);
    lab.call("apply")
        .args(&["--owner-id", "a,external-dns/resource=x"])
        .run()
        .await
        .exits(1)
        .says("--owner-id");
    assert_eq!(lab.sim.requests(), 0);
    lab.call("apply").args(&["--owner-id", "mine"]).run().await.exits(0);
    lab.call("plan").args(&["--owner-id", "mine"]).run().await.exits(0);
    lab.call("plan").args(&["--owner-id", "other"]).run().await.exits(1).says("AdoptionRefused");
}

#[tokio::test]
async fn the_owner_id_of_the_manifest_goes_before_the_flag() {
    let lab = Lab::start().await;
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.call("apply").args(&["--owner-id", "flag"]).run().await.exits(0);
    lab.plan().await.exits(0);
    lab.call("plan").args(&["--owner-id", "another"]).run().await.exits(0);
}

#[tokio::test]
async fn a_bad_token_says_what_to_do_and_stops_no_other_provider() {
    let lab = Lab::start().await;
    let other = Sim::start(Config::unlimited()).await.expect("a second simulator");
    let id = other.zone("example.net", Plan::Free);
    let good = other.token(TokenGrant::full());
    let bad = "bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0";
    lab.folder
        .put("token.yaml", &[secret("cloudflare", "apiToken", bad), secret("second", "apiToken", &good)]);
    let second =
        provider(&other.base_url()).named("second").with("cloudflare.apiTokenSecretRef.name", "second");
    lab.folder
        .put("second.yaml", &[second, zone("example.net").with("providerRef", json!({"name": "second"}))]);
    lab.declare(zone("example.com").with("providerRef", json!({"name": "cloudflare"})));
    lab.want(&[
        records("www.example.com", "A", &["192.0.2.1"]),
        records("www.example.net", "A", &["192.0.2.1"]),
    ]);
    let run = lab.apply().await.exits(1).says("CredentialsInvalid").says("token").never_says(bad);
    assert_eq!(other.records(&id).len(), 1, "{run}");
    assert!(lab.contents().is_empty());
}

#[tokio::test]
async fn a_token_that_may_only_read_fails_with_the_missing_right() {
    let lab = Lab::start().await;
    let reader = lab.sim.token(TokenGrant::of([Right::ZoneRead, Right::DnsRead]));
    lab.folder.put("token.yaml", &[secret("cloudflare", "apiToken", &reader)]);
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.plan().await.exits(2);
    lab.apply().await.exits(1).says("CredentialsInvalid").says("DNS:Edit");
    let expired = lab.sim.token(TokenGrant::full().status(TokenStatus::Expired));
    lab.folder.put("token.yaml", &[secret("cloudflare", "apiToken", &expired)]);
    lab.plan().await.exits(1).says("CredentialsInvalid");
    assert!(lab.contents().is_empty());
}

#[tokio::test]
async fn a_zone_that_the_token_can_not_see_is_not_found_and_its_records_fall_to_nobody() {
    let lab = Lab::start().await;
    lab.sim.zone("example.net", Plan::Free);
    let narrow = lab.sim.token(TokenGrant::full().only([lab.zone.clone()]));
    lab.folder.put("token.yaml", &[secret("cloudflare", "apiToken", &narrow)]);
    lab.folder.put("more.yaml", &[zone("example.net")]);
    lab.want(&[
        records("www.example.com", "A", &["192.0.2.1"]),
        records("www.example.net", "A", &["192.0.2.1"]),
    ]);
    lab.apply().await.exits(1).says("ZoneNotFound").says("example.net");
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn the_token_is_never_shown_however_loud_the_log() {
    let lab = Lab::start().await;
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    for command in ["plan", "apply", "export"] {
        let run = lab.call(command).env("RUST_LOG", "trace").run().await;
        assert!(run.stderr.len() > 1000, "the log is on: {run}");
        run.never_says(&lab.token);
    }
    let broken = "canary0canary0canary0canary0canary0canary";
    lab.folder.put("token.yaml", &[secret("cloudflare", "apiToken", broken)]);
    lab.call("apply").env("RUST_LOG", "trace").run().await.exits(1).never_says(broken);
    lab.folder.remove("token.yaml");
    lab.call("apply")
        .env("RUST_LOG", "trace")
        .env("CLOUDFLARE_API_TOKEN", broken)
        .run()
        .await
        .exits(1)
        .never_says(broken);
    lab.folder.put("token.yaml", &[secret("cloudflare", "apiToken", "canary\u{7}with a bell")]);
    lab.call("apply").env("RUST_LOG", "trace").run().await.exits(1).never_says("canary");
}

#[tokio::test]
async fn registry_none_is_refused_but_for_builtin() {
    let lab = Lab::start().await;
    lab.folder.put("provider.yaml", &[lab.provider().with("registry.type", "None")]);
    lab.plan().await.exits(1).says("spec.registry.type").says("None is refused");
    assert_eq!(lab.sim.requests(), 0);
    lab.folder.put("provider.yaml", &[builtin().with("registry.type", "None")]);
    lab.plan().await.exits(0);
}

#[tokio::test]
async fn a_provider_may_choose_its_namespaces() {
    let lab = Lab::start().await;
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    let selector =
        json!({"from": "Selector", "selector": {"matchLabels": {"kubernetes.io/metadata.name": "infra"}}});
    lab.folder.put("provider.yaml", &[lab.provider().with("allowedNamespaces", selector)]);
    lab.plan().await.exits(1).says("RefNotPermitted").says("spec.providerRef");
    assert_eq!(lab.sim.requests(), 0);
    lab.declare(zone("example.com").in_namespace("infra"));
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"]).in_namespace("infra")]);
    lab.apply().await.exits(0);
}
