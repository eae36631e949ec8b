//! One watch per kind. An object that can't be read is reported as itself and never stops its watch.

use std::{collections::BTreeSet, fmt::Debug};

use futures::{Stream, StreamExt, pin_mut};
use k8s_openapi::api::core::v1::Namespace;
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

use zonekeeper_model::{
    Event as ModelEvent, Key,
    objects::{Kind, Object, Sight},
};

use crate::runner::tasks::{self, Task};

/// Starts all watches; what they see arrives at the model.
pub fn start(client: &Client, events: &UnboundedSender<ModelEvent>) {
    follow::<DNSProvider>(client, events, Kind::Provider, |object| Object::Provider(Box::new(object)));
    follow::<DNSZone>(client, events, Kind::Zone, |object| Object::Zone(Box::new(object)));
    follow::<RecordSet>(client, events, Kind::RecordSet, |object| Object::RecordSet(Box::new(object)));
    follow::<AddressSource>(client, events, Kind::AddressSource, |object| {
        Object::AddressSource(Box::new(object))
    });
    let namespaces: Api<PartialObjectMeta<Namespace>> = Api::all(client.clone());
    let read = |object: PartialObjectMeta<Namespace>| Sight::Applied(Object::Namespace(Box::new(object)));
    keep_forwarding(namespaces, events.clone(), Kind::Namespace, read);
}

fn follow<K>(client: &Client, events: &UnboundedSender<ModelEvent>, kind: Kind, wrap: fn(K) -> Object)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let api: Api<DeserializeGuard<K>> = Api::all(client.clone());
    let read = move |object: DeserializeGuard<K>| match object.0 {
        Ok(object) => Sight::Applied(wrap(object)),
        Err(invalid) => Sight::Unreadable(kind, Box::new(invalid.metadata), invalid.error),
    };
    keep_forwarding(api, events.clone(), kind, read);
}

/// Watches for as long as the program runs; a watch that is begun anew lists again, so that nothing is missed.
fn keep_forwarding<K>(
    api: Api<K>,
    events: UnboundedSender<ModelEvent>,
    kind: Kind,
    read: impl Fn(K) -> Sight + Clone + Send + 'static,
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    tokio::spawn(tasks::kept_up(Task::Watch, move || {
        let stream = watcher(api.clone(), watcher::Config::default());
        forward(stream, events.clone(), kind, read.clone())
    }));
}

async fn forward<K: Resource>(
    stream: impl Stream<Item = watcher::Result<Event<K>>>,
    events: UnboundedSender<ModelEvent>,
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
        if events.send(ModelEvent::Seen(sight)).is_err() {
            return;
        }
    }
}

/// Drops what is not read here, and takes most of the room.
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
