//! What `deploy` and the chart install, on a real control plane: it is taken, it is restricted, and its rights suffice and are no more.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod chart;
mod helm;
mod installing;
mod kubectl;
mod manifests;
mod people;
mod releases;
mod rights;
mod running;
