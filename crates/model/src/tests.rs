//! The model as a function: events and the time in, effects out.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use k8s_openapi::jiff::Timestamp;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zonekeeper_api::RecordSet;

use crate::{
    Event,
    clock::Now,
    core::Model,
    effects::Effect,
    objects::{Kind, Object, Sight},
    outbox::Part,
    secrets::SecretState,
};

/// A moment.
fn now() -> Now {
    Now::new(Instant::now(), Timestamp::now())
}

fn new_model() -> Model {
    Model::new("zonekeeper-system".into(), "zonekeeper.dev/controller".into(), "us".into(), now())
}

/// An object as the API server gives it.
fn object<K: DeserializeOwned>(kind: &str, name: &str, spec: Value) -> Box<K> {
    let metadata = json!({
        "name": name, "namespace": "zonekeeper-system", "uid": name, "generation": 1, "resourceVersion": "1",
        "creationTimestamp": "2026-11-02T00:00:00Z",
    });
    let whole = json!({
        "apiVersion": "zonekeeper.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec,
    });
    Box::new(serde_json::from_value(whole).expect("a valid object"))
}

fn provider() -> Object {
    Object::Provider(object(
        "DNSProvider",
        "cloudflare",
        json!({"cloudflare": {"apiTokenSecretRef": {"name": "token"}}}),
    ))
}

fn zone() -> Object {
    Object::Zone(object("DNSZone", "example-com", json!({"domain": "example.com"})))
}

fn see(model: &mut Model, sight: Sight) -> Vec<String> {
    hear(model, Event::Seen(sight))
}

fn hear(model: &mut Model, event: Event) -> Vec<String> {
    texts(model.apply(event, now()))
}

/// What was wanted to be done, shortly.
fn texts(effects: Vec<Effect>) -> Vec<String> {
    let text = |effect: Effect| match effect {
        Effect::Write(_) => "write".to_owned(),
        Effect::WriteEndpoint { .. } => "write a DNSEndpoint".into(),
        Effect::Publish(_) => "publish".into(),
        Effect::WatchSecret(key) => format!("watch {}", key.1),
        Effect::UnwatchSecret(key) => format!("unwatch {}", key.1),
        Effect::WatchKind(kind, _) => format!("watch {}", kind.as_str()),
        Effect::CheckProvider(_) => "check the provider".into(),
        Effect::OpenZone(_) => "open the zone".into(),
        Effect::Confirm(_) => "confirm holders".into(),
        Effect::StartPass(_) => "start a pass".into(),
        Effect::AskAddresses(_) => "ask for addresses".into(),
        Effect::CreateMarkerKey(key) => format!("create {}", key.1),
        Effect::Declare(..) => "declare".into(),
        Effect::Retract(..) => "retract".into(),
        Effect::UseProvider(name, _) => format!("use {name}"),
        Effect::CloseProvider(name) => format!("close {name}"),
        Effect::CloseZone(zone) => format!("close {zone}"),
        Effect::Measure(_) => "measure".into(),
    };
    effects.into_iter().map(text).collect()
}

/// Lists every kind with what was seen before.
fn list_all(model: &mut Model) -> Vec<String> {
    let all = |kind: Kind| -> BTreeSet<(String, String)> {
        match kind {
            Kind::Provider => keys(["cloudflare"], ""),
            Kind::Zone => keys(["example-com"], "zonekeeper-system"),
            Kind::RecordSet | Kind::AddressSource | Kind::Namespace => BTreeSet::new(),
        }
    };
    Kind::ALL.into_iter().flat_map(|kind| see(model, Sight::Listed(kind, all(kind)))).collect()
}

fn keys<const N: usize>(names: [&str; N], namespace: &str) -> BTreeSet<(String, String)> {
    names.into_iter().map(|name| (namespace.to_owned(), name.to_owned())).collect()
}

#[test]
fn nothing_is_done_before_every_kind_was_listed() {
    let mut model = new_model();
    assert!(see(&mut model, Sight::Applied(provider())).is_empty());
    assert!(see(&mut model, Sight::Applied(zone())).is_empty());
    assert!(texts(model.proceed(now())).is_empty());
    assert_eq!(list_all(&mut model), ["watch token"]);
}

#[test]
fn credentials_are_tried_when_all_their_secrets_are_known() {
    let mut model = new_model();
    see(&mut model, Sight::Applied(provider()));
    see(&mut model, Sight::Applied(zone()));
    list_all(&mut model);
    let secret = |name: &str, state| Event::Secret(("zonekeeper-system".into(), name.into()), state);
    let token = SecretState::Present([("apiToken".to_owned(), b"secret".to_vec())].into());
    assert_eq!(hear(&mut model, secret("token", token.clone())), ["watch zonekeeper-marker-key"]);
    assert_eq!(
        hear(&mut model, secret("zonekeeper-marker-key", SecretState::Absent)),
        ["check the provider"]
    );
    // The same again is no news.
    assert!(hear(&mut model, secret("token", token)).is_empty());
}

#[test]
fn secrets_that_no_object_names_are_not_watched_for_long() {
    let mut model = new_model();
    see(&mut model, Sight::Applied(provider()));
    see(&mut model, Sight::Applied(zone()));
    list_all(&mut model);
    see(&mut model, Sight::Gone(Kind::Provider, (String::new(), "cloudflare".into())));
    let later = now().later(Duration::from_secs(60));
    assert!(texts(model.proceed(later)).contains(&"unwatch token".to_owned()));
}

#[test]
fn a_new_record_set_may_be_seen_before_its_zone() {
    let (mut model, now) = (new_model(), now());
    Kind::ALL.into_iter().for_each(|kind| drop(see(&mut model, Sight::Listed(kind, BTreeSet::new()))));
    let mut www: Box<RecordSet> =
        object("RecordSet", "www", json!({"name": "www.example.com", "type": "A", "values": ["192.0.2.1"]}));
    www.metadata.creation_timestamp = Some(now.time());
    let effects = model.apply(Event::Seen(Sight::Applied(Object::RecordSet(www))), now);
    assert!(effects.is_empty(), "the watch of DNSZones may bring its zone next");
    let later = texts(model.proceed(now.later(Duration::from_secs(3))));
    assert!(later.contains(&"publish".to_owned()) && later.contains(&"write".to_owned()), "{later:?}");
}

#[test]
fn a_namespace_that_goes_waits_for_a_zone_that_was_not_looked_for_yet() {
    let (mut model, now) = (new_model(), now());
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "shop", "deletionTimestamp": "2026-11-02T00:00:00Z"},
    });
    let namespace = serde_json::from_value(namespace).expect("a valid namespace");
    let mut www: Box<RecordSet> = object(
        "RecordSet",
        "www",
        json!({"name": "www.example.com", "type": "A", "values": ["192.0.2.1"], "deletionPolicy": "Retain"}),
    );
    www.metadata.namespace = Some("shop".into());
    www.metadata.deletion_timestamp = Some(now.time());
    www.metadata.finalizers = Some(vec!["zonekeeper.dev/record".into()]);
    let written = json!({"zones": [{"namespace": "zonekeeper-system", "name": "example-com", "id": "z"}]});
    www.status = Some(serde_json::from_value(written).expect("a valid status"));
    let mut effects = Vec::new();
    for object in [provider(), zone(), Object::Namespace(Box::new(namespace)), Object::RecordSet(www)] {
        effects.extend(model.apply(Event::Seen(Sight::Applied(object)), now));
    }
    let shop: BTreeSet<_> = [(String::new(), "shop".to_owned())].into();
    for (kind, keys) in [
        (Kind::Provider, keys(["cloudflare"], "")),
        (Kind::Zone, keys(["example-com"], "zonekeeper-system")),
        (Kind::RecordSet, keys(["www"], "shop")),
        (Kind::AddressSource, BTreeSet::new()),
        (Kind::Namespace, shop),
    ] {
        effects.extend(model.apply(Event::Seen(Sight::Listed(kind, keys)), now));
    }
    let lets_go = |effect: &Effect| matches!(effect, Effect::Write(write) if write.part == Part::Finalizers);
    assert!(!effects.iter().any(lets_go), "its record was not retained yet");
}

#[test]
fn an_object_that_can_not_be_read_says_so_once() {
    let mut model = new_model();
    let Object::Zone(zone) = zone() else { unreachable!("it is a zone") };
    let sight = || Sight::Unreadable(Kind::Zone, Box::new(zone.metadata.clone()), "unknown field".into());
    assert_eq!(see(&mut model, sight()), ["publish", "write"]);
    // Our own write comes back as another sight of it.
    assert!(see(&mut model, sight()).is_empty());
}
