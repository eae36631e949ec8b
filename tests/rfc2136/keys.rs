//! TSIG keys: wrong ones are named, rotated ones overlap, secrets are never shown.

use dns_servers::{Key, Software};
use secrecy::SecretString;
use zonekeeper_providers::{
    Provider, ProviderError,
    rfc2136::{Rfc2136, Rotation, Settings, Tsig},
};
use zonekeeper_tests::{
    stage::{AtServer, Marks, domain, tsig},
    wish::want,
};

use crate::support::{counted, served};

fn signed_by(at: &AtServer, key: Tsig) -> Settings {
    Settings { update_key: Rotation { current: Some(key), previous: None }, ..at.settings() }
}

async fn refusal(settings: Settings) -> ProviderError {
    let provider = Rfc2136::new(settings).unwrap();
    let checked = provider.check().await.unwrap_err();
    let opened = provider.open(&domain(), None).await.unwrap_err();
    assert_eq!(checked.reason(), opened.reason());
    let shown = format!("{checked} {checked:?} {opened} {opened:?} {provider:?}");
    assert!(!shown.contains("c2VjcmV0"), "{shown}");
    opened
}

/// Cases 34 and 35.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_named_and_its_secret_is_not() {
    let at = AtServer::start(Software::Bind);
    let good = tsig(at.server.key());
    let other = |name: &str, algorithm: &str, secret: &str| Tsig {
        name: name.into(),
        algorithm: algorithm.into(),
        secret: SecretString::from(secret),
    };
    use secrecy::ExposeSecret;
    let cases = [
        (other("zonekeeper", "hmac-sha256", "c2VjcmV0c2VjcmV0"), "another secret for TSIG key zonekeeper"),
        (other("nobody", "hmac-sha256", "c2VjcmV0c2VjcmV0"), "does not know TSIG key nobody"),
        (
            other("zonekeeper", "hmac-sha512", good.secret.expose_secret()),
            "does not know TSIG key zonekeeper",
        ),
    ];
    for (key, expected) in cases {
        let error = refusal(signed_by(&at, key)).await;
        assert_eq!(error.reason(), "CredentialsInvalid");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// Knot and PowerDNS say it in other ways, and people read the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_named_on_other_servers_too() {
    for software in [Software::Knot, Software::PowerDns] {
        let at = AtServer::start(software);
        let good = tsig(at.server.key());
        let wrong = Tsig { secret: SecretString::from("d3Jvbmctd3Jvbmctd3Jvbmc="), ..good.clone() };
        let unknown = Tsig { name: "nobody".into(), ..good };
        for (key, name) in [(wrong, "zonekeeper"), (unknown, "nobody")] {
            let provider = Rfc2136::new(signed_by(&at, key)).unwrap();
            // Knot does not look at the key of a question about a zone that it does not serve.
            let checked = provider.check().await.map_err(|error| error.reason());
            assert!(software == Software::Knot || checked.unwrap_err() == "CredentialsInvalid");
            let error = match provider.open(&domain(), None).await {
                Ok(access) => access.list().await.unwrap_err(),
                Err(error) => error,
            };
            assert_eq!(error.reason(), "CredentialsInvalid", "{software:?} {name}: {error}");
            assert!(error.to_string().contains("key"), "{software:?} {name}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_algorithm_works() {
    for algorithm in ["hmac-sha1", "hmac-sha256", "hmac-sha384", "hmac-sha512"] {
        let at = AtServer::with(Software::Bind, |setup| setup.keys[0].algorithm = algorithm.into());
        let (mut stage, _) = counted(&at).await;
        assert!(stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap().failed.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_that_differ_are_said_to_differ() {
    let wrapper = ["faketime", "-f", "-3600s"].map(String::from).to_vec();
    // BIND's allocator and faketime do not agree.
    let at = AtServer::with(Software::Knot, |setup| setup.wrapper = wrapper);
    let provider = Rfc2136::new(at.settings()).unwrap();
    let error = provider.open(&domain(), None).await.unwrap_err();
    assert_eq!(error.reason(), "ProviderUnavailable", "{error}");
    let message = error.to_string();
    assert!(message.contains("s behind ours") && message.contains(" is 3"), "{message}");
}

/// Case 41.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_rotated_while_both_are_known_on_one_side_only() {
    let (old, new) = (Key::new("zonekeeper-1"), Key::new("zonekeeper-2"));
    let mut at = AtServer::with(Software::Bind, |setup| setup.keys = vec![old.clone()]);
    // The Secret has the new key first; the server knows the old one only.
    let rotation = Rotation { current: Some(tsig(&new)), previous: Some(tsig(&old)) };
    let settings = Settings { update_key: rotation, ..at.settings() };
    let mut stage = AtServer::stage_of(settings, Marks::Txt).await;
    assert!(stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap().failed.is_empty());
    at.server.reconfigure(|setup| setup.keys = vec![new.clone()]).unwrap();
    assert!(stage.sync(&[want("A", "www", ["192.0.2.2"])]).await.unwrap().failed.is_empty());
    assert_eq!(served(&at.server, "www.example.com", "A"), ["192.0.2.2"]);
}

/// Knot and PowerDNS do not say of a key that it is unknown as BIND does.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_rotated_on_other_servers_too() {
    for software in [Software::Knot, Software::PowerDns] {
        let at = AtServer::start(software);
        let rotation =
            Rotation { current: Some(tsig(&Key::new("next"))), previous: Some(tsig(at.server.key())) };
        let settings = Settings { update_key: rotation, ..at.settings() };
        let mut stage = AtServer::stage_of(settings, Marks::Txt).await;
        let pass = stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap();
        assert!(pass.failed.is_empty() && pass.applied.len() == 1, "{software:?}: {pass:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_may_have_a_key_of_their_own() {
    let (writer, reader) = (Key::new("writer"), Key::new("reader"));
    let rules = "allow-update { key writer; }; allow-transfer { key reader; };";
    let at = AtServer::with(Software::Bind, |setup| {
        setup.keys = vec![writer.clone(), reader.clone()];
        setup.rules = Some(rules.into());
    });
    let transfer_key = Some(Rotation { current: Some(tsig(&reader)), previous: None });
    let mut stage = AtServer::stage_of(Settings { transfer_key, ..at.settings() }, Marks::Txt).await;
    assert!(stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap().failed.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_keys_takes_unsigned_updates() {
    let rules = "allow-update { 127.0.0.1; }; allow-transfer { 127.0.0.1; };";
    let at = AtServer::with(Software::Bind, |setup| setup.rules = Some(rules.into()));
    let settings = Settings::new([at.server.address()]);
    let mut stage = AtServer::stage_of(settings, Marks::Txt).await;
    assert!(stage.sync(&[want("A", "www", ["192.0.2.1"])]).await.unwrap().failed.is_empty());
}
