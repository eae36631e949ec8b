//! The Cloudflare provider against the simulator, and against a stub that answers anything.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod batches;
mod limits;
mod reads;
mod refusals;
mod support;
