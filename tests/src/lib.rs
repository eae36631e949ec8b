//! What all tests over the whole share: wishes that read as prose, and a zone on every provider.

pub mod outside;
pub mod stage;
pub mod wish;
