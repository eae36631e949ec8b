//! Decides, purely, what must change in a zone and why.
//!
//! ```text
//! intents ─► resolve ─► plan ─► guard ─► (apply, by a provider) ─► report
//! ```
//!
//! Nothing here does I/O, reads a clock, draws a random number or logs: time, ids and keys arrive as
//! arguments, and the same input always gives the same output in the same order.

#![deny(missing_docs)]

pub mod attribute;
pub mod capability;
pub mod claim;
pub mod desired;
pub mod guard;
pub mod holder;
pub mod lint;
pub mod marker;
pub mod mutant;
pub mod name;
pub mod pattern;
pub mod plan;
pub mod provider;
pub mod rdata;
pub mod reason;
pub mod record;
pub mod render;
pub mod resolve;
pub mod reverse;
pub mod transfer_key;
pub mod zone;
pub mod zone_change;
pub mod zone_state;
pub mod zonefile;
