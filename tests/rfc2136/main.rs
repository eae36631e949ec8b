//! RFC 2136 servers, for real: what BIND does with what we send, and what becomes of it.
//!
//! Numbers in comments are the cases of the reference on BIND's behaviour.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod claims;
mod connections;
mod crash;
mod delegations;
mod example;
mod keys;
mod network;
mod races;
mod reading;
mod refusals;
mod servers;
mod support;
mod verifying;
mod writing;
