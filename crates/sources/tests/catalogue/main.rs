//! The case catalogue of reference/external-dns.md, and cases of reference/cloudflare-operators.md, on the pure
//! functions. A test that names a case and asserts another answer says what Zonekeeper does instead, on purpose.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod cloudflare_operator;
mod dialects;
mod gateway;
mod ingress;
mod mutants;
mod others;
mod properties;
mod scene;
mod service;
mod templates;
mod tenancy;
