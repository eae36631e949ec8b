//! A real control plane, and what Zonekeeper's definitions make of good and bad manifests there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod crds;
mod faults;
mod lifecycle;
mod namespaces;
mod rules;
mod users;

use k8s_openapi::api::core::v1::ConfigMap;

/// The smallest object there is.
fn settings() -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some("settings".into());
    object
}
