//! ExternalDNS and Zonekeeper, side by side on one API server: the same records from the same manifests, moving from
//! one to the other and back, one zone for both, and the accidents that only one of them survives.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod accidents;
mod catalogue;
mod front;
mod moving;
mod neighbours;
mod objects;
mod pair;
mod peer;
mod place;
mod records;
