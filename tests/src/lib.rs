//! What all tests over the whole share: wishes that read as prose, a zone on every provider, manifests, the binary,
//! a web server, the operator on a control plane.

#![allow(clippy::panic, reason = "a test that can't go on says why")]

pub mod binary;
pub mod canary;
pub mod cluster;
pub mod dns;
pub mod fuzz;
pub mod manifest;
pub mod outside;
pub mod stage;
pub mod web;
pub mod wish;
