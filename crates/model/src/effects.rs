//! What is to be done: the model decides it, the runner does it, and its result comes back as a message.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::core::ApiResource;
use serde_json::Value;
use zonekeeper_api::{DNSZone, Reason};
use zonekeeper_kernel::{name::Name, zone::ZoneKey};
use zonekeeper_sources::object::{Keep, Kind, ObjectRef};

use crate::{
    Key,
    addresses::AddressRequest,
    children::{ChildRef, ChildWrite},
    conditions::Verdict,
    confirmation::ConfirmRequest,
    credentials::CheckRequest,
    events::ObjectEvent,
    figures::Figures,
    opening::OpenRequest,
    outbox::Write,
    passes::StartPass,
};

/// One thing to be done.
pub enum Effect {
    /// Write a status or finalizers of an object of ours.
    Write(Write),
    /// Write the status of a DNSEndpoint.
    WriteEndpoint { object: ObjectRef, resource: ApiResource, status: Value },
    /// Write an object that is made for another.
    WriteChild(ChildRef, ChildWrite),
    /// Ask the servers of the parent zone what they say of a zone.
    AskParent { zone: ZoneKey, domain: Name, attempt: u64 },
    /// Ask for the addresses of a RecordSet's target.
    ResolveTarget { record: Key, target: Name, attempt: u64 },
    /// Publish an Event.
    Publish(ObjectEvent),
    /// Watch a Secret.
    WatchSecret(Key),
    /// Watch a Secret no more.
    UnwatchSecret(Key),
    /// Watch a kind of source object, in place of any watch of it before.
    WatchKind(Kind, Keep),
    /// Try the credentials of a provider.
    CheckProvider(Box<CheckRequest>),
    /// Look for a zone at its provider.
    OpenZone(OpenRequest),
    /// Confirm by fresh reads what is known of the holders of some records.
    Confirm(Box<ConfirmRequest>),
    /// Start a pass over a zone.
    StartPass(Box<StartPass>),
    /// Ask the services of an AddressSource.
    AskAddresses(Box<AddressRequest>),
    /// Create the Secret with the key that signs markers.
    CreateMarkerKey(Key),
    /// Answer for a zone in the built-in server of a provider, with SERVFAIL until its first pass.
    Declare(String, Arc<DNSZone>),
    /// Answer for a zone no more.
    Retract(String, Name),
    /// Work with the provider that this attempt opened, and forget those of before.
    UseProvider(String, u64),
    /// Forget a provider, and end its built-in server.
    CloseProvider(String),
    /// Forget a zone that was found.
    CloseZone(ZoneKey),
    /// Show these figures.
    Measure(Box<Figures>),
}

/// What one turn of the model wants to be done, in this order.
#[derive(Default)]
pub struct Effects(Vec<Effect>);

// === impl Effects ===

impl Effects {
    /// Adds one.
    pub fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    /// Writes an object; what has no JSON form is not written.
    pub fn write(&mut self, write: Option<Write>) {
        self.0.extend(write.map(Effect::Write));
    }

    /// Publishes the state of an object.
    pub fn tell(&mut self, object: ObjectReference, verdict: &Verdict) {
        self.push(Effect::Publish(ObjectEvent::of_state(object, verdict)));
    }

    /// Publishes something about an object.
    pub fn say(&mut self, object: ObjectReference, reason: Reason, message: &str, is_normal: bool) {
        self.push(Effect::Publish(ObjectEvent::new(object, reason, message, is_normal)));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all of them out.
    pub fn take(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.0)
    }
}
