//! The operator on a real BIND: the real binary under exactly the rights that we ship, a real API server, named.
//!
//! Numbers in comments are the cases of the reference on BIND's behaviour.

#![allow(clippy::panic, reason = "a test that can't go on says why")]

mod authority;
mod by_label;
mod conflicts;
mod crash;
mod delegation;
mod deletion;
mod drift;
mod examples;
mod failover;
mod keys;
mod made_for_others;
mod resolution;
mod site;
mod sources;
mod trouble;
mod values;
mod whole_life;
mod zones;

use zonekeeper_tests::cluster as support;
