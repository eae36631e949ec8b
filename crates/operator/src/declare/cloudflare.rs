//! Cloudflare as a DNSProvider declares it, with the token of its Secret.

use std::time::Duration;

use secrecy::SecretString;
use zonekeeper_api::{DNSProvider, TokenSecretReference};
use zonekeeper_model::declare::{BadField, Credentials};
use zonekeeper_providers::{
    Backend,
    cloudflare::{Settings, budget::Rate},
};

const WINDOW: Duration = Duration::from_secs(300);

/// How to reach it, where the object declares it.
pub(super) fn backend(
    object: &DNSProvider,
    credentials: &dyn Credentials,
) -> Option<Result<Backend, BadField>> {
    let (spec, declared) = (&object.spec, object.spec.cloudflare.as_ref()?);
    let window = spec.rate_limit.window.to_std().unwrap_or(WINDOW);
    let settings = |token: String| Settings {
        base_url: declared.base_url.clone(),
        account: Some(declared.account_id.clone()).filter(|id| !id.is_empty()),
        rate: Rate { requests: spec.rate_limit.requests as usize, window },
        ..Settings::new(SecretString::from(token))
    };
    let token = token(&declared.api_token_secret_ref, credentials);
    Some(token.map(|token| Backend::Cloudflare(settings(token))))
}

fn token(reference: &TokenSecretReference, credentials: &dyn Credentials) -> Result<String, BadField> {
    let from_secret = |key: &str| credentials.secret(reference.namespace.as_deref(), &reference.name, key);
    let token = from_secret(&reference.key)
        .or_else(|| if reference.key == "apiToken" { from_secret("apiKey") } else { None })
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .or_else(|| credentials.fallback_token());
    token.filter(|token| !token.trim().is_empty()).ok_or_else(|| {
        let (name, key) = (&reference.name, &reference.key);
        let message = match credentials.has_statuses() {
            true => format!("Secret {name} has no key {key}; put the API token there"),
            false => format!(
                "no Secret {name} with key {key} in the folder, and CLOUDFLARE_API_TOKEN is not set; do one of the two"
            ),
        };
        BadField::new("spec.cloudflare.apiTokenSecretRef", message)
    })
}
