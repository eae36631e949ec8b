//! Runs the loop of one zone after another, and is the library behind the `zonekeeper` binary.

pub mod address_source;
pub mod commands;
pub mod declare;
pub mod engine;
pub mod folder;
#[cfg(feature = "cluster")]
pub mod kube;
pub mod report;
#[cfg(feature = "cluster")]
pub mod runner;
#[cfg(feature = "cluster")]
pub mod serve;
pub mod session;
pub mod telemetry;
