//! Runs the loop of one zone after another, and is the library behind the `zonekeeper` binary.

pub mod zone;
