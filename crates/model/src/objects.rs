//! Our own kinds and namespaces, as they are seen.

use std::collections::BTreeSet;

use k8s_openapi::{api::core::v1::Namespace, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::core::PartialObjectMeta;
use zonekeeper_api::{AddressSource, DNSProvider, DNSZone, Reason, RecordSet};

use crate::{Key, conditions::Verdict};

/// The kinds that are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Provider,
    Zone,
    RecordSet,
    AddressSource,
    Namespace,
}

/// An object as it was seen.
#[derive(Debug)]
pub enum Object {
    Provider(Box<DNSProvider>),
    Zone(Box<DNSZone>),
    RecordSet(Box<RecordSet>),
    AddressSource(Box<AddressSource>),
    Namespace(Box<PartialObjectMeta<Namespace>>),
}

/// What a watch saw.
#[derive(Debug)]
pub enum Sight {
    /// It is there, like this.
    Applied(Object),
    /// It is there, and can't be read.
    Unreadable(Kind, Box<ObjectMeta>, String),
    /// It went.
    Gone(Kind, Key),
    /// A list is complete: these are there, and no others.
    Listed(Kind, BTreeSet<Key>),
}

// === impl Kind ===

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Provider, Self::Zone, Self::RecordSet, Self::AddressSource, Self::Namespace];

    /// Whether an Event says that an object of this kind is in another state. What lasts a moment is not told. An outage, and its end, is told once
    /// by its zone and not by every record set in it.
    pub fn tells(self, before: Option<&Verdict>, now: &Verdict) -> bool {
        if now.reason == Reason::Pending {
            return false;
        }
        let Some(before) = before else { return !(self == Self::RecordSet && now.is_outage()) };
        if self == Self::RecordSet && (now.is_outage() || (before.is_outage() && now.is_ready())) {
            return false;
        }
        before.reason != now.reason || !(now.is_ready() || now.is_outage())
    }
}
