//! What all tests over the whole share: wishes that read as prose, a zone on every provider, manifests, the binary,
//! a web server.

pub mod binary;
pub mod manifest;
pub mod outside;
pub mod stage;
pub mod web;
pub mod wish;
