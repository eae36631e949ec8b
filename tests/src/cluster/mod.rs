//! What all tests on the API server share: a control plane with our definitions and rights, the operator as a
//! process under exactly those rights, Cloudflare's simulator.

pub mod lab;
pub mod looks;
pub mod objects;
pub mod operator;
pub mod plane;
pub mod sources;

pub use crate::manifest::{Manifest, address_source, records, secret, zone};
pub use lab::Lab;
pub use looks::condition;
