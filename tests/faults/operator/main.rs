//! The operator in trouble, seen from outside: killed at every write, replies lost, watches and leaders that stop.
//! Whatever happens, the end is that of the clean run, foreign records are untouched, and then nothing is written.

#![allow(clippy::panic, reason = "a test that can't go on says why")]

mod guard;
mod kill;
mod leader;
mod lost_replies;
mod secrets;
mod stale;
mod workload;

use zonekeeper_tests::cluster as support;
