//! The operator from outside: the real binary under exactly the rights that we ship, a real API server, Cloudflare's
//! simulator.
//!
//! Numbers in names (`case_14_...`, `k2_...`) are those of the behaviours that users of other operators count on.

#![allow(clippy::panic, reason = "a test that can't go on says why")]

mod addresses;
mod adoption;
mod bad_manifests;
mod credentials;
mod deletion;
mod drift;
mod evidence;
mod examples;
mod grants;
mod guard;
mod history;
mod limits;
mod marker_key;
mod meanwhile;
mod panics;
mod policies;
mod prune;
mod records;
mod restart;
mod setup;
mod sources;
mod status;
mod traces;
mod zone_config;
mod zones;

use zonekeeper_tests::cluster as support;
