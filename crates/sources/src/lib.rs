//! Turns Kubernetes objects into intents, without a client.
//!
//! A RecordSet asks for one set ([`record_set`]). Every other kind is a source object, which a zone reads as its
//! `spec.sources` says:
//!
//! ```text
//! Sources ──► Reading          how a zone reads objects, parsed once; zones that read alike share it
//! JSON    ──► Object ──► World what is known, kept as narrow as reading needs it
//!
//! publish(object, reading, world, surroundings) ──► Published
//! ```
//!
//! Functions here see snapshots and answer with what is asked for, or with the field that can't be what it claims
//! to be. They never fail because of another object, and what is not known is never taken for absent (law 5).

mod dialect;
mod kinds;
pub mod object;
mod publish;
mod reader;
mod reading;
mod record_set;
mod settings;
mod template;
mod wish;
mod world;

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

pub use publish::{Complaint, Published, Standing, Word, publish};
pub use reading::Reading;
pub use record_set::{adoption, record_set};
pub use template::{Template, TemplateError};
pub use world::{Found, Look, World};
use zonekeeper_kernel::{reason::Reason, resolve::Intent, zone::Labels};

/// What an object's wishes depend on besides itself.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The labels of the object's namespace.
    pub namespace_labels: &'a Arc<Labels>,
    /// What AddressSources say.
    pub addresses: &'a Addresses,
}

/// What AddressSources say to one namespace, by namespace and name; or why they say nothing.
#[derive(Debug, Clone, Default)]
pub struct Addresses(pub BTreeMap<(String, String), Result<Vec<IpAddr>, Unknown>>);

/// Why something is not known at the moment: live records stay as they are (law 5).
pub type Unknown = (Reason, String);

/// What an object asks for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The set, with values where they are known.
    pub intent: Intent,
    /// Why its values are not known, unless it is merely suspended.
    pub unknown: Option<Unknown>,
}

/// A field that can't be what it claims to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct BadField {
    /// The field.
    pub field: String,
    /// Why, and what to do.
    pub message: String,
}

// === impl BadField ===

impl BadField {
    /// A bad field and why it is one.
    pub fn new(field: impl Into<String>, message: impl ToString) -> Self {
        Self { field: field.into(), message: message.to_string() }
    }
}
