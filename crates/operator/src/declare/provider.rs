//! A DNSProvider in the terms of the crates below: how to reach it, and how it remembers ownership.

use kube::ResourceExt;
use zonekeeper_api::DNSProvider;
use zonekeeper_model::declare::{BadField, Credentials, RegistrySettings, registry_settings};
use zonekeeper_providers::Backend;

use crate::declare::{builtin, cloudflare, rfc2136};

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

/// Reads a backend with its secrets, where the object declares that one.
type Read = fn(&DNSProvider, &dyn Credentials) -> Option<Result<Backend, BadField>>;

/// A row per provider. The schema lets one of them be declared.
const BACKENDS: [Read; 3] = [builtin::backend, cloudflare::backend, rfc2136::backend];

/// Reads a DNSProvider and its secrets.
pub fn provider_settings(
    object: &DNSProvider,
    credentials: &dyn Credentials,
) -> Result<ProviderSettings, BadField> {
    let backend = BACKENDS.iter().find_map(|read| read(object, credentials)).unwrap_or_else(|| {
        let message = "is not available in this version; use cloudflare, rfc2136 or builtin";
        Err(BadField::new("spec.webhook", message))
    })?;
    let registry = registry_settings(object, credentials)?;
    Ok(ProviderSettings { name: object.name_any(), backend, registry })
}

// === impl ProviderSettings ===

impl ProviderSettings {
    /// Whether zones there live inside this process.
    pub fn is_builtin(&self) -> bool {
        self.backend.is_builtin()
    }
}
