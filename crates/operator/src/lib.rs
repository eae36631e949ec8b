//! Runs the loop of one zone after another, and is the library behind the `zonekeeper` binary.

pub mod address_source;
pub mod cluster;
pub mod commands;
pub mod declare;
pub mod folder;
pub mod report;
pub mod session;
pub mod telemetry;
pub mod zone;
