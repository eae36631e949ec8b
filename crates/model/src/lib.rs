//! What is known of providers, zones, record sets, address sources, source objects and namespaces, and what to do next.
//!
//! An [`Event`] and the time go in, [`effects`] come out. Nothing here has a client, starts a task or reads a clock. The
//! runner carries effects out, and each answers with an event.

pub mod address_pacing;
pub mod addresses;
mod agenda;
mod change_events;
pub mod children;
pub mod clock;
pub mod conditions;
pub mod confirmation;
mod core;
pub mod credentials;
pub mod declare;
pub mod delegation;
pub mod effects;
pub mod events;
pub mod figures;
pub mod history;
pub mod holders;
mod interruption;
mod marker_key;
pub mod objects;
pub mod opening;
pub mod outbox;
pub mod overview;
mod pacing;
pub mod pass;
pub mod passes;
pub mod providers;
pub mod reasons;
mod records;
mod release;
pub mod released;
pub mod reverse;
pub mod secrets;
mod small_map;
pub mod sources;
mod status;
pub mod targets;
#[cfg(test)]
mod tests;
mod transfer_key;
pub mod worker;
pub mod zone_entry;
mod zone_status;
pub mod zones;

use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use zonekeeper_api::{AddressSource, DNSProvider, DNSZone, RecordSet};
use zonekeeper_kernel::provider::ProviderError;
use zonekeeper_kernel::zone::ZoneKey;
use zonekeeper_kernel::zone_state::ParentAnswer;

pub use core::Model;

/// Namespace and name of an object; the namespace is empty where there is none.
pub type Key = (String, String);

/// What happened.
pub enum Event {
    /// A watch saw something.
    Seen(objects::Sight),
    /// A Secret that an object names.
    Secret(Key, secrets::SecretState),
    /// A provider's credentials were tried.
    Checked(Box<credentials::Checked>),
    /// A zone was looked for at its provider.
    Opened { zone: ZoneKey, attempt: u64, found: Result<zone_entry::ZoneFacts, ProviderError> },
    /// A pass is over.
    Done {
        zone: ZoneKey,
        number: u64,
        result: Box<Result<pass::PassResult, ProviderError>>,
        /// Deletes that settle.
        settling: Option<zone_entry::Settling>,
    },
    /// A pass ended without an answer, and the worker with it.
    Lost { zone: ZoneKey, number: u64, error: ProviderError },
    /// What is known of some holders was confirmed, or not.
    Confirmed(confirmation::Confirmation),
    /// A watch of source objects saw something.
    Source(sources::news::News),
    /// An AddressSource was asked.
    Addresses { source: Key, attempt: u64, found: Result<Vec<IpAddr>, conditions::Verdict> },
    /// Our own write of an object came back.
    Written(Written),
    /// Our own write of an object failed; the API server may have refused it for what it says.
    NotWritten { kind: objects::Kind, key: Key, error: String, is_refused: bool },
    /// An object that is made for another was written: as it is now, if it is there; or why it was not taken.
    ChildWritten(children::ChildRef, Result<Option<Box<ObjectMeta>>, String>),
    /// The servers of a zone's parent were asked.
    ParentAnswered { zone: ZoneKey, attempt: u64, found: Result<ParentAnswer, String> },
    /// The target of a RecordSet was resolved.
    TargetResolved { record: Key, attempt: u64, found: Result<targets::Resolved, String> },
    /// The marker key was made, or could not be.
    KeyMade(Key, Result<(), String>),
}

/// An object as the API returned it after our own write.
pub enum Written {
    Provider(Box<DNSProvider>),
    Zone(Box<DNSZone>),
    RecordSet(Box<RecordSet>),
    AddressSource(Box<AddressSource>),
}
