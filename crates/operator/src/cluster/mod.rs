//! The operator: the loop of a zone, driven by a Kubernetes API.
//!
//! One task, the hub, owns all that is known and decides what is to be done: a [`Message`] and the time go in, effects
//! come out. The runner carries them out beside it (watches, passes over zones, checks of credentials, writes of
//! statuses), and each answers with a message. A zone's worker is lent to its pass and comes back with it, so nothing
//! is ever locked.

mod addresses;
mod agenda;
pub mod api;
mod clock;
mod conditions;
mod credentials;
mod drift;
mod effects;
mod engine;
mod events;
mod fates;
mod figures;
mod fresh;
mod hub;
mod interrupted;
mod job;
mod lease;
mod marker_key;
mod opening;
pub mod overview;
mod pacing;
mod passes;
mod plan_status;
pub mod presence;
mod providers;
mod reasons;
mod records;
mod release;
mod runner;
mod secrets;
mod serve;
mod small_map;
mod sources;
mod status;
mod tasks;
mod testimony;
#[cfg(test)]
mod tests;
mod watch;
mod witness;
mod write;
mod zone_entry;
mod zones;

use std::{net::IpAddr, sync::Arc};

use kube::Client;
use tokio::sync::{Notify, oneshot};
use zonekeeper_api::{AddressSource, DNSProvider, DNSZone, RecordSet};
use zonekeeper_kernel::zone::ZoneKey;
use zonekeeper_providers::{ProviderError, fence::Fence};

use crate::address_source::Reachable;

pub use lease::Election;
pub use runner::run;
pub use serve::{Health, Metrics, serve};

/// Namespace and name of an object; the namespace is empty where there is none.
pub type Key = (String, String);

/// How the operator runs.
pub struct Options {
    pub client: Client,
    /// One that does not try again by itself.
    pub watching: Client,
    /// Where its own Secrets are.
    pub namespace: String,
    /// Which DNSProviders are its own.
    pub controller_name: String,
    /// Which networks AddressSources may ask.
    pub reachable: Reachable,
    /// Whether it may still write.
    pub fence: Arc<dyn Fence>,
    pub metrics: Arc<Metrics>,
    pub health: Arc<Health>,
    /// Where it can be asked.
    pub ear: Arc<overview::Ear>,
    /// Told when it is time to end.
    pub ending: Arc<Notify>,
}

/// What reaches the hub.
pub enum Message {
    /// A watch saw something.
    Seen(watch::Sight),
    /// A Secret that somebody named.
    Secret(Key, secrets::SecretState),
    /// A provider's credentials were tried.
    Checked(Box<credentials::Checked>),
    /// A zone was looked for at its provider.
    Opened { zone: ZoneKey, attempt: u64, found: Result<zone_entry::ZoneFacts, ProviderError> },
    /// A pass is over.
    Done {
        zone: ZoneKey,
        number: u64,
        result: Box<Result<job::PassResult, ProviderError>>,
        /// Deletes that settle.
        settling: Option<zone_entry::Settling>,
    },
    /// A pass ended without an answer, and the worker with it.
    Lost { zone: ZoneKey, number: u64 },
    /// What is known of some holders was confirmed, or not.
    Confirmed(witness::Confirmation),
    /// Somebody asks who wants what.
    Overview(oneshot::Sender<overview::Overview>),
    /// A watch of source objects saw something.
    Source(sources::follow::News),
    /// An AddressSource was asked.
    Addresses { source: Key, attempt: u64, found: Result<Vec<IpAddr>, conditions::Verdict> },
    /// Our own write of an object came back.
    Written(Written),
    /// Our own write of an object failed; the API server may have refused it for what it says.
    NotWritten { kind: watch::Kind, key: Key, error: String, is_refused: bool },
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
