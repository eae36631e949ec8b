//! Questions to the DNS at large: what the parent zone of a zone really says of it.

mod exchange;
mod parent;
mod resolver;

pub use parent::ask_parent;
pub use resolver::Resolver;

/// Why the DNS did not say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// A server gave no answer.
    #[error("{server} gives no answer for {question}: {why}")]
    NoAnswer {
        /// Its address.
        server: String,
        /// What it was asked.
        question: String,
        /// What happened.
        why: String,
    },
    /// A name does not exist.
    #[error("{name} does not exist")]
    NoSuchName {
        /// The name.
        name: String,
    },
    /// There is no server to ask.
    #[error("no server of {zone} has an address")]
    NoServer {
        /// The zone that it would be asked of.
        zone: String,
    },
    /// Nothing says where a zone is delegated from.
    #[error("the parent zone of {zone} is not known: no SOA was found above it")]
    NoParent {
        /// The zone.
        zone: String,
    },
}
