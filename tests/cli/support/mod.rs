//! What all tests of the command line share: the binary, folders of manifests, Cloudflare's simulator.

pub mod api;
pub mod binary;
pub mod lab;
pub mod manifest;
pub mod up;

pub use binary::{Run, zonekeeper};
pub use lab::Lab;
pub use manifest::{Folder, Manifest, address_source, builtin, namespace, provider, records, secret, zone};
pub use zonekeeper_tests::web;
