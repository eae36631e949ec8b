//! The operator from outside: the real binary under exactly the rights that we ship, a real API server, Cloudflare's
//! simulator.
//!
//! Tests are called after the behaviours of shared/reference/cloudflare-operators.md section 5 (`case_14_...`, `k2_...`)
//! where there is one.

#![allow(clippy::panic, reason = "a test that can't go on says why")]

mod addresses;
mod adoption;
mod credentials;
mod deletion;
mod drift;
mod grants;
mod guard;
mod limits;
mod marker_key;
mod policies;
mod prune;
mod records;
mod restart;
mod setup;
mod status;
mod support;
mod zones;
