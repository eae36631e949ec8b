//! What manifests say of providers, in the terms of the crates below; the rest is in the model.

mod authority;
mod builtin;
mod cloudflare;
mod provider;
mod rfc2136;

pub use authority::authority;
pub use provider::{ProviderSettings, provider_settings};
pub use zonekeeper_model::declare::*;
