//! A DNSProvider in the terms of the crates below: which backend, which credentials.

use std::{net::SocketAddr, time::Duration};

use kube::ResourceExt;
use secrecy::SecretString;
use zonekeeper_api::DNSProvider;
use zonekeeper_model::declare::{BadField, Credentials, RegistrySettings, registry_settings};
use zonekeeper_providers::{
    builtin::TransferPeer,
    cloudflare::{self, budget::Rate},
    rfc2136,
};

use crate::declare;

/// How to reach a provider, and how it remembers ownership.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// The object's name.
    pub name: String,
    /// How to reach it.
    pub backend: Backend,
    /// How it remembers ownership.
    pub registry: RegistrySettings,
}

/// How to reach a provider.
#[derive(Debug, Clone)]
pub enum Backend {
    /// Cloudflare.
    Cloudflare(cloudflare::Settings),
    /// Servers that take dynamic updates.
    Rfc2136(rfc2136::Settings),
    /// The server inside this process.
    Builtin {
        /// Where it listens.
        listen: SocketAddr,
        /// Who may transfer zones.
        allow_transfer: Vec<TransferPeer>,
    },
}

/// Reads a DNSProvider and its secrets.
pub fn provider_settings(
    object: &DNSProvider,
    credentials: &dyn Credentials,
) -> Result<ProviderSettings, BadField> {
    let backend = backend(object, credentials)?;
    let registry = registry_settings(object, credentials)?;
    Ok(ProviderSettings { name: object.name_any(), backend, registry })
}

// === impl ProviderSettings ===

impl ProviderSettings {
    /// Whether zones there live inside this process.
    pub fn is_builtin(&self) -> bool {
        matches!(self.backend, Backend::Builtin { .. })
    }
}

fn backend(object: &DNSProvider, credentials: &dyn Credentials) -> Result<Backend, BadField> {
    let spec = &object.spec;
    if let Some(builtin) = &spec.builtin {
        let listen = builtin.listen.parse().map_err(|_| {
            BadField::new("spec.builtin.listen", format!("{:?} is no address:port", builtin.listen))
        })?;
        let peer = |(index, text): (usize, &String)| {
            text.parse::<TransferPeer>()
                .map_err(|error| BadField::new(format!("spec.builtin.allowTransfer[{index}]"), error))
        };
        let allow_transfer = builtin.allow_transfer.iter().enumerate().map(peer).collect::<Result<_, _>>()?;
        return Ok(Backend::Builtin { listen, allow_transfer });
    }
    if let Some(declared) = &spec.cloudflare {
        let reference = &declared.api_token_secret_ref;
        let from_secret =
            |key: &str| credentials.secret(reference.namespace.as_deref(), &reference.name, key);
        let token = from_secret(&reference.key)
            .or_else(|| if reference.key == "apiToken" { from_secret("apiKey") } else { None })
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .or_else(|| credentials.fallback_token());
        let Some(token) = token.filter(|token| !token.trim().is_empty()) else {
            let (name, key) = (&reference.name, &reference.key);
            let message = match credentials.has_statuses() {
                true => format!("Secret {name} has no key {key}; put the API token there"),
                false => format!(
                    "no Secret {name} with key {key} in the folder, and CLOUDFLARE_API_TOKEN is not set; do one of the two"
                ),
            };
            return Err(BadField::new("spec.cloudflare.apiTokenSecretRef", message));
        };
        let window = spec.rate_limit.window.to_std().unwrap_or(Duration::from_secs(300));
        return Ok(Backend::Cloudflare(cloudflare::Settings {
            base_url: declared.base_url.clone(),
            account: Some(declared.account_id.clone()).filter(|id| !id.is_empty()),
            rate: Rate { requests: spec.rate_limit.requests as usize, window },
            ..cloudflare::Settings::new(SecretString::from(token))
        }));
    }
    if let Some(declared) = &spec.rfc2136 {
        return Ok(Backend::Rfc2136(declare::rfc2136::settings(declared, credentials)?));
    }
    let message = "is not available in this version; use cloudflare, rfc2136 or builtin";
    Err(BadField::new("spec.webhook", message))
}
