//! One watch per kind. An object that can't be read is reported as itself and never stops its watch.

use std::{collections::BTreeSet, fmt::Debug};

use futures::{Stream, StreamExt, pin_mut};
use k8s_openapi::{api::core::v1::Namespace, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client, Resource, ResourceExt,
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedSender;
use zonekeeper_api::{AddressSource, DNSProvider, DNSZone, RecordSet};

use crate::cluster::{
    Key, Message,
    conditions::Verdict,
    tasks::{self, Task},
};

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

    /// Whether an Event says that an object of this kind is in another state. An outage, and its end, is told once
    /// by its zone and not by every record set in it.
    pub fn tells(self, before: Option<&Verdict>, now: &Verdict) -> bool {
        let Some(before) = before else { return !(self == Self::RecordSet && now.is_outage()) };
        if self == Self::RecordSet && (now.is_outage() || (before.is_outage() && now.is_ready())) {
            return false;
        }
        before.reason != now.reason || !(now.is_ready() || now.is_outage())
    }
}

/// Starts all watches; what they see arrives at the hub.
pub fn start(client: &Client, hub: &UnboundedSender<Message>) {
    follow::<DNSProvider>(client, hub, Kind::Provider, |object| Object::Provider(Box::new(object)));
    follow::<DNSZone>(client, hub, Kind::Zone, |object| Object::Zone(Box::new(object)));
    follow::<RecordSet>(client, hub, Kind::RecordSet, |object| Object::RecordSet(Box::new(object)));
    follow::<AddressSource>(client, hub, Kind::AddressSource, |object| {
        Object::AddressSource(Box::new(object))
    });
    let namespaces: Api<PartialObjectMeta<Namespace>> = Api::all(client.clone());
    let read = |object: PartialObjectMeta<Namespace>| Sight::Applied(Object::Namespace(Box::new(object)));
    keep_forwarding(namespaces, hub.clone(), Kind::Namespace, read);
}

fn follow<K>(client: &Client, hub: &UnboundedSender<Message>, kind: Kind, wrap: fn(K) -> Object)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let api: Api<DeserializeGuard<K>> = Api::all(client.clone());
    let read = move |object: DeserializeGuard<K>| match object.0 {
        Ok(object) => Sight::Applied(wrap(object)),
        Err(invalid) => Sight::Unreadable(kind, Box::new(invalid.metadata), invalid.error),
    };
    keep_forwarding(api, hub.clone(), kind, read);
}

/// Watches for as long as the program runs; a watch that is begun anew lists again, so that nothing is missed.
fn keep_forwarding<K>(
    api: Api<K>,
    hub: UnboundedSender<Message>,
    kind: Kind,
    read: impl Fn(K) -> Sight + Clone + Send + 'static,
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    tokio::spawn(tasks::kept_up(Task::Watch, move || {
        let stream = watcher(api.clone(), watcher::Config::default());
        forward(stream, hub.clone(), kind, read.clone())
    }));
}

async fn forward<K: Resource>(
    stream: impl Stream<Item = watcher::Result<Event<K>>>,
    hub: UnboundedSender<Message>,
    kind: Kind,
    read: impl Fn(K) -> Sight,
) {
    let stream = stream.default_backoff();
    pin_mut!(stream);
    let mut listed = BTreeSet::new();
    while let Some(event) = stream.next().await {
        let sight = match event {
            Ok(Event::Apply(object)) => read(slim(object)),
            Ok(Event::Delete(object)) => Sight::Gone(kind, key(&object)),
            Ok(Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(Event::InitApply(object)) => {
                listed.insert(key(&object));
                read(slim(object))
            }
            Ok(Event::InitDone) => Sight::Listed(kind, std::mem::take(&mut listed)),
            Err(error) => {
                tracing::warn!(?kind, %error, "the watch is begun again");
                continue;
            }
        };
        if hub.send(Message::Seen(sight)).is_err() {
            return;
        }
    }
}

/// Drops what nobody here reads, and what takes most of the room.
fn slim<K: Resource>(mut object: K) -> K {
    let metadata = object.meta_mut();
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    object
}

fn key(object: &impl ResourceExt) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}
