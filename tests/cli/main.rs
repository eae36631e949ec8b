//! The command line from outside: the real binary, folders of manifests, Cloudflare's simulator, dig and BIND's tools.

#![allow(clippy::panic, reason = "a test that can't go on says why")]

mod addresses;
mod adoption;
mod basics;
mod check;
mod completeness;
mod credentials;
mod edges;
mod examples;
mod export;
mod grants;
mod guard;
mod hashes;
mod hostile;
mod keeping;
mod lifecycle;
mod made_for_others;
mod markers;
mod mounts;
mod objects;
mod outputs;
mod policies;
mod prune;
mod reading;
mod refusals;
mod rejections;
mod secondary;
mod serving;
mod sources;
mod support;
mod unknown;
mod zone_config;
mod zones;
