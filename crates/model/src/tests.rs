//! The model as a function: events and the time in, effects out.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::jiff::Timestamp;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zonekeeper_api::{DNSZone, Reason, RecordSet};
use zonekeeper_kernel::{
    attribute::Attributes,
    holder::{Holder, HolderRef},
    name::Name,
    plan::{Cause, Change, Edit, Operation, Role},
    rdata::{Rdata, RecordType},
    record::{Record, Ttl},
    zone::ZoneKey,
};

use crate::{
    Event, Written,
    clock::Now,
    conditions::Verdict,
    core::Model,
    effects::Effect,
    holders::{About, HolderState},
    objects::{Kind, Object, Sight},
    outbox::Part,
    pass::Applied,
    secrets::SecretState,
    zone_entry::{Awaits, Dirty, ZoneEntry},
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
        Effect::WriteChild(child, _) => format!("write {child}"),
        Effect::AskParent { .. } => "ask the parent".into(),
        Effect::ResolveTarget { target, .. } => format!("resolve {target}"),
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

/// A set that was created for an object, named as in a marker.
fn created(name: &str, holder: &str) -> Applied {
    let name = Name::parse(&format!("{name}.example.com")).unwrap();
    let record = Record {
        name: name.clone(),
        rdata: Rdata::parse(RecordType::A, "192.0.2.1").unwrap(),
        ttl: Ttl(300),
        attributes: Attributes::default(),
        comment: "".into(),
    };
    let change = Change {
        operation: Operation::Create,
        name,
        rtype: RecordType::A,
        edits: vec![Edit::Create { record, role: Role::Data }],
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: Cause::Wanted,
        holders: vec![Holder::from_text(holder)],
    };
    Applied { change, is_approved: false }
}

fn told(effects: Vec<Effect>) -> Vec<String> {
    let event = |effect: Effect| match effect {
        Effect::Publish(event) => {
            let kind = event.object.kind.unwrap_or_default();
            Some(format!("{kind} {} {}: {}", event.reason, event.action.as_str(), event.note))
        }
        _other => None,
    };
    effects.into_iter().filter_map(event).collect()
}

#[test]
fn a_change_is_told_on_its_object_and_on_the_zone_where_that_is_gone() {
    let mut model = new_model();
    see(&mut model, Sight::Applied(zone()));
    let www: Box<RecordSet> =
        object("RecordSet", "www", json!({"name": "www.example.com", "type": "A", "values": ["192.0.2.1"]}));
    see(&mut model, Sight::Applied(Object::RecordSet(www)));
    let key = ZoneKey { namespace: "zonekeeper-system".into(), name: "example-com".into() };
    let holder = "recordset/zonekeeper-system/www";
    let deleted = |holder: &str| {
        let Applied { change, is_approved } = created("old", holder);
        let Some(Edit::Create { record, .. }) = change.edits.first() else { unreachable!("it is one") };
        let edit = Edit::Delete {
            name: change.name.clone(),
            before: record.written(Default::default()),
            role: Role::Data,
        };
        let cause = Cause::Released(HolderRef::Full(Holder::from_text(holder)));
        let (operation, edits, holders) = (Operation::Delete, vec![edit], Vec::new());
        Applied { change: Change { operation, edits, holders, cause, ..change }, is_approved }
    };
    model.tell_changes(&key, &[created("www", holder), created("api", holder), deleted("ingress/shop/web")]);
    assert_eq!(
        told(model.effects.take()),
        [
            "DNSZone Programmed Delete: deleted old.example.com A 192.0.2.1 (ttl 300), which ingress shop/web no longer asks for",
            "RecordSet Programmed Create: created www.example.com A 192.0.2.1 (ttl 300); created api.example.com A 192.0.2.1 (ttl 300) (DNSZone zonekeeper-system/example-com)",
        ]
    );
    // What is deleted for an object that is there is told on it.
    model.tell_changes(&key, &[deleted(holder)]);
    assert!(told(model.effects.take())[0].starts_with("RecordSet Programmed Delete: deleted old"));
}

#[test]
fn ten_thousand_changes_at_once_cost_a_hundred_events_and_one() {
    let mut model = new_model();
    see(&mut model, Sight::Applied(zone()));
    list_all(&mut model);
    let key = ZoneKey { namespace: "zonekeeper-system".into(), name: "example-com".into() };
    for number in 0..10_000 {
        let name = format!("n{number}");
        model.tell_changes(&key, &[created(&name, &format!("recordset/gone/{name}"))]);
    }
    assert_eq!(told(model.effects.take()).len(), 100);
    let later = told(model.proceed(now().later(Duration::from_secs(10))));
    let told: Vec<_> = later.iter().filter(|event| event.contains("too much at once")).collect();
    assert!(matches!(&told[..], [one] if one.contains("9900 created")), "{later:?}");
}

#[test]
fn what_lasts_a_moment_is_not_told() {
    let pending = Verdict::new(Reason::Pending, "the marker key is being made");
    let ready = Verdict::new(Reason::Programmed, "the zone holds what is wanted");
    for kind in Kind::ALL {
        assert!(!kind.tells(None, &pending) && !kind.tells(Some(&ready), &pending), "{kind:?}");
        assert!(kind.tells(Some(&pending), &ready), "{kind:?}");
    }
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

/// A RecordSet of a namespace that goes, in a zone that is suspended: it is let go, and its record stays.
fn stranded(model: &mut Model, now: Now) -> Vec<Effect> {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "shop", "deletionTimestamp": "2026-11-02T00:00:00Z"},
    });
    let namespace = serde_json::from_value(namespace).expect("a valid namespace");
    let spec = json!({"name": "www.example.com", "type": "A", "values": ["192.0.2.1"]});
    let mut www: Box<RecordSet> = object("RecordSet", "www", spec);
    www.metadata.namespace = Some("shop".into());
    www.metadata.deletion_timestamp = Some(now.time());
    www.metadata.finalizers = Some(vec!["zonekeeper.dev/record".into()]);
    let written = json!({"zones": [{"namespace": "zonekeeper-system", "name": "example-com", "id": "z"}]});
    www.status = Some(serde_json::from_value(written).expect("a valid status"));
    let zone = object("DNSZone", "example-com", json!({"domain": "example.com", "suspend": true}));
    let objects =
        [provider(), Object::Zone(zone), Object::Namespace(Box::new(namespace)), Object::RecordSet(www)];
    for object in objects {
        drop(model.apply(Event::Seen(Sight::Applied(object)), now));
    }
    let lists = [
        (Kind::Provider, keys(["cloudflare"], "")),
        (Kind::Zone, keys(["example-com"], "zonekeeper-system")),
        (Kind::RecordSet, keys(["www"], "shop")),
        (Kind::AddressSource, BTreeSet::new()),
        (Kind::Namespace, keys(["shop"], "")),
    ];
    let mut effects = Vec::new();
    for (kind, keys) in lists {
        effects.extend(model.apply(Event::Seen(Sight::Listed(kind, keys)), now));
    }
    let lets_go = |effect: &Effect| matches!(effect, Effect::Write(write) if write.part == Part::Finalizers);
    effects.extend(model.proceed(now.later(Duration::from_secs(9))));
    let is_waiting = zone_statuses(&effects).iter().all(|status| status["guard"]["released"].is_null());
    assert!(is_waiting && !effects.iter().any(lets_go), "it may pass");
    for status in zone_statuses(&effects) {
        drop(model.apply(zone_with_status(status, "2"), now));
    }
    model.proceed(now.later(Duration::from_secs(11)))
}

/// Our own write of the zone comes back.
fn zone_with_status(status: Value, version: &str) -> Event {
    let spec = json!({"domain": "example.com", "suspend": true});
    let mut zone: Box<DNSZone> = object("DNSZone", "example-com", spec);
    zone.metadata.resource_version = Some(version.into());
    zone.status = Some(serde_json::from_value(status).expect("a valid status"));
    Event::Written(Written::Zone(zone))
}

/// The statuses of the zone that are to be written.
fn zone_statuses(effects: &[Effect]) -> Vec<Value> {
    let status = |effect: &Effect| match effect {
        Effect::Write(write) if write.kind == Kind::Zone && write.part == Part::Status => {
            Some(serde_json::from_str::<Value>(write.body.get()).expect("JSON")["status"].clone())
        }
        _other => None,
    };
    effects.iter().filter_map(status).collect()
}

#[test]
fn an_object_is_let_go_when_its_zone_has_written_down_that_its_record_stays() {
    let (mut model, now) = (new_model(), now());
    let lets_go = |effect: &Effect| matches!(effect, Effect::Write(write) if write.part == Part::Finalizers);
    let effects = stranded(&mut model, now);
    assert!(!effects.iter().any(lets_go), "its zone does not remember it yet");
    let status = zone_statuses(&effects).pop().expect("the zone is told");
    assert_eq!(status["guard"]["released"], json!(["recordset/shop/www"]));
    let later = now.later(Duration::from_secs(12));
    let mut effects = model.apply(zone_with_status(status, "3"), later);
    // What it said of itself was on its way.
    let (kind, key) = (Kind::RecordSet, ("shop".to_owned(), "www".to_owned()));
    let unwritten = Event::NotWritten { kind, key, error: "a conflict".into(), is_refused: false };
    effects.extend(model.apply(unwritten, later));
    assert!(effects.iter().any(lets_go), "{:?}", texts(effects));
    // It is gone, and its record is an orphan: what is not there was not deleted.
    drop(model.apply(Event::Seen(Sight::Gone(Kind::RecordSet, ("shop".into(), "www".into()))), now));
    let key = ZoneKey { namespace: "zonekeeper-system".into(), name: "example-com".into() };
    for (object, is_known) in [("recordset/shop/www", true), ("recordset/shop/other", false)] {
        let holder = Holder::from_text(object);
        for named in [HolderRef::Full(holder.clone()), HolderRef::Hash(holder.hash().into())] {
            let name = Name::parse("www.example.com").unwrap();
            let about = About { name, rtype: RecordType::A, holder: named, is_ours: true };
            model.confirm(&key, 1, vec![about]);
            let asked = model.effects.take().into_iter().find_map(|effect| match effect {
                Effect::Confirm(request) => Some(request),
                _other => None,
            });
            let state = asked.expect("it is asked").answer.states.pop().expect("a state");
            assert_eq!(matches!(state, HolderState::Nothing), is_known, "{object}: {state:?}");
        }
    }
}

#[test]
fn what_is_remembered_of_a_zone_outlives_its_object() {
    let (mut model, now) = (new_model(), now());
    drop(stranded(&mut model, now));
    let key = ("zonekeeper-system".to_owned(), "example-com".to_owned());
    drop(model.apply(Event::Seen(Sight::Gone(Kind::Zone, key)), now));
    let effects = model.apply(Event::Seen(Sight::Applied(zone())), now);
    drop(effects);
    let key = ZoneKey { namespace: "zonekeeper-system".into(), name: "example-com".into() };
    assert_eq!(model.zones[&key].guard.released, ["recordset/shop/www"]);
}

#[test]
fn more_objects_than_a_status_has_room_for_are_all_remembered() {
    let (mut model, now) = (new_model(), now());
    drop(stranded(&mut model, now));
    let key = ZoneKey { namespace: "zonekeeper-system".into(), name: "example-com".into() };
    let many: Vec<String> = (0..300).map(|number| format!("recordset/shop/{number}")).collect();
    model.keep_released(&key, many);
    model.recall_released(&key);
    let entry = &model.zones[&key];
    assert_eq!(entry.guard.released.len(), 200);
    let another = HolderRef::Full(Holder::from_text("recordset/shop/299"));
    assert!(entry.may_have_released(&another), "it is one of them");
    assert!(!entry.has_released(&another), "an object that is there speaks for itself");
}

#[test]
fn an_object_that_was_let_go_is_forgotten_when_no_listing_has_shown_its_record_for_a_while() {
    let Object::Zone(zone) = zone() else { unreachable!("it is a zone") };
    let now = Instant::now();
    let mut entry = ZoneEntry::new(Arc::from(zone), now);
    let one = || BTreeSet::from(["recordset/shop/www".to_owned()]);
    entry.guard.released = one().into_iter().collect();
    let mut forget = |gone: BTreeSet<String>, after: u64| {
        entry.forget_released(&gone, now + Duration::from_secs(after));
        entry.guard.released.is_empty()
    };
    // A listing that is behind does not show it, and the next one does.
    assert!(!forget(one(), 0) && !forget(BTreeSet::new(), 30) && !forget(one(), 70));
    assert!(forget(one(), 140));
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

#[test]
fn what_is_touched_while_holders_are_asked_about_is_looked_at_once_more() {
    let Object::Zone(zone) = zone() else { unreachable!("it is a zone") };
    let now = Instant::now();
    let mut entry = ZoneEntry::new(Arc::from(zone), now);
    let name = Name::parse("www.example.com").unwrap();
    // The repeated pass takes all that is dirty, with an answer from before the touch.
    entry.awaits = Some(Awaits::Confirmation(1));
    entry.dirty = Dirty::default();
    entry.touch(name.clone(), now);
    entry.dirty = Dirty::default();
    entry.forget_needs();
    assert_eq!(entry.dirty, Dirty::Names([name.clone()].into()));
    // Without a question there is no older answer.
    entry.dirty = Dirty::default();
    entry.touch(name, now);
    entry.dirty = Dirty::default();
    entry.forget_needs();
    assert!(entry.dirty.is_clean());
}
