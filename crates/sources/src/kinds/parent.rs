//! What a route attaches to: Gateways and ListenerSets, and what each of them says of it.

use zonekeeper_api::SourceKind;

use super::{
    gateway::{is_anothers, targets},
    listener::{GROUP, NotKnown, admits},
};
use crate::{
    object::{
        Body, Kind, Object,
        gateway::{Gateway, Listener, ListenerSet, ParentRef, Route, is_accepted},
    },
    reader::Reader,
    settings::Settings,
    wish::Targets,
    world::Found,
};

/// What a route gets from one parent.
pub(super) enum Attached<'a> {
    /// Nothing any more: the parent was seen to be deleted.
    Gone,
    /// The parent does not take the route now, though the route asks for it. Whatever the reason, it is another
    /// object's word, and the route keeps what it has.
    Refused(String),
    /// The listeners that take it, in whose namespace they are, and what they say; and why some of them do not yet.
    To {
        listeners: Vec<&'a Listener>,
        namespace: String,
        targets: Targets,
        settings: Settings,
        refused: Option<String>,
    },
}

/// The Gateways and ListenerSets that the route asks for, each once, in order.
pub(super) fn parents(reader: &Reader<'_>, route: &Route) -> Vec<ParentRef> {
    let own = &reader.object.meta.namespace;
    let mut parents: Vec<ParentRef> = route
        .spec
        .parent_refs
        .iter()
        .filter(|parent| kind_of(parent).is_some())
        .map(|parent| ParentRef {
            namespace: Some(parent.namespace.clone().unwrap_or_else(|| own.clone())),
            ..parent.clone()
        })
        .collect();
    let key = |parent: &ParentRef| {
        let place = (kind_of(parent), parent.namespace.clone(), parent.name.clone());
        (place, parent.section_name.clone(), parent.port)
    };
    parents.sort_by_key(key);
    parents.dedup_by_key(|parent| key(parent));
    parents
}

/// A parent that publishing understands; services of a mesh are none.
fn kind_of(parent: &ParentRef) -> Option<Kind> {
    let is_gateway_api = parent.group.as_deref().unwrap_or(GROUP) == GROUP;
    match parent.kind.as_deref().unwrap_or("Gateway") {
        "Gateway" if is_gateway_api => Some(Kind::Source(SourceKind::Gateway)),
        "ListenerSet" | "XListenerSet" => Some(Kind::ListenerSet),
        _ => None,
    }
}

/// The reference under which a parent accepted the route: its section and port count as the status has them.
pub(super) fn is_accepted_by(reader: &Reader<'_>, route: &Route, parent: &ParentRef) -> Option<ParentRef> {
    let own = &reader.object.meta.namespace;
    let is_it = |reference: &ParentRef| {
        kind_of(reference) == kind_of(parent)
            && reference.name == parent.name
            && reference.namespace.as_ref().unwrap_or(own) == parent.namespace.as_ref().unwrap_or(own)
            && agree(&reference.section_name, &parent.section_name)
            && agree(&reference.port, &parent.port)
    };
    let mut entries = route.status.parents.iter().filter(|entry| is_it(&entry.parent_ref));
    let accepted = &entries.find(|entry| is_accepted(&entry.conditions))?.parent_ref;
    Some(ParentRef {
        namespace: parent.namespace.clone(),
        section_name: accepted.section_name.clone().or_else(|| parent.section_name.clone()),
        port: accepted.port.or(parent.port),
        ..accepted.clone()
    })
}

/// Whether two references can mean the same; one that does not say means all.
fn agree<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// A parent that has not accepted the route: gone for certain, or worth waiting for.
pub(super) fn refusal<'a>(reader: &mut Reader<'_>, parent: &ParentRef) -> Attached<'a> {
    let Some(kind) = kind_of(parent) else { return Attached::Gone };
    let namespace = parent.namespace.clone().unwrap_or_default();
    match reader.look(kind, &namespace, &parent.name) {
        Found::Deleted => Attached::Gone,
        Found::Here(object) if is_anothers(reader, object) => Attached::Refused(not_ours(object)),
        Found::Here(_) | Found::NotThere | Found::NotKnown => Attached::Refused(format!(
            "{} is not accepted by {} {namespace}/{}",
            reader.object.reference(),
            kind.as_str(),
            parent.name
        )),
    }
}

/// What a parent that accepted the route says; or why it can't be told.
pub(super) fn attach<'a>(reader: &mut Reader<'a>, parent: &ParentRef) -> Result<Attached<'a>, NotKnown> {
    let namespace = parent.namespace.clone().unwrap_or_default();
    let Some(kind) = kind_of(parent) else { return Ok(Attached::Gone) };
    let Some(object) = find(reader, kind, &namespace, &parent.name)? else { return Ok(Attached::Gone) };
    if is_anothers(reader, object) {
        return Ok(Attached::Refused(not_ours(object)));
    }
    match &object.body {
        Body::Gateway(gateway) => {
            let targets = targets(reader, object);
            let settings = reader.settings_of(object);
            Ok(Attached::To {
                listeners: gateway.spec.listeners.iter().collect(),
                namespace,
                targets,
                settings,
                refused: None,
            })
        }
        Body::ListenerSet(set) => attach_to_set(reader, object, set),
        _ => Ok(Attached::Refused(format!("{} has no listeners", object.reference()))),
    }
}

/// A Gateway or ListenerSet whose annotation leaves its names to another controller.
fn not_ours(object: &Object) -> String {
    format!("an annotation of {} leaves its names to another controller", object.reference())
}

/// A ListenerSet counts if its Gateway takes it, and with those listeners that are accepted.
fn attach_to_set<'a>(
    reader: &mut Reader<'a>,
    object: &'a Object,
    set: &'a ListenerSet,
) -> Result<Attached<'a>, NotKnown> {
    let parent = &set.spec.parent_ref;
    let namespace = object.meta.namespace.clone();
    let of = parent.namespace.clone().unwrap_or_else(|| namespace.clone());
    let kind = Kind::Source(SourceKind::Gateway);
    let Some(gateway) = find(reader, kind, &of, &parent.name)? else { return Ok(Attached::Gone) };
    let Body::Gateway(Gateway { spec, .. }) = &gateway.body else { return Ok(Attached::Gone) };
    if is_anothers(reader, gateway) {
        return Ok(Attached::Refused(not_ours(gateway)));
    }
    if !admits(reader, &spec.allowed_listeners.namespaces, "None", &of, &namespace)? {
        let (gateway, set) = (gateway.reference(), object.reference());
        return Ok(Attached::Refused(format!("{gateway} does not allow the listeners of {set}")));
    }
    if !is_accepted(&set.status.conditions) {
        return Ok(Attached::Refused(format!("{} is not accepted by its Gateway", object.reference())));
    }
    let is_served = |listener: &&Listener| {
        let mut status = set.status.listeners.iter();
        status.any(|status| status.name == listener.name && is_accepted(&status.conditions))
    };
    let (listeners, waiting): (Vec<_>, Vec<_>) = set.spec.listeners.iter().partition(is_served);
    let refused = waiting.first().map(|listener| {
        format!("listener {} of {} is not accepted by its Gateway", listener.name, object.reference())
    });
    let targets = match reader.target_of(object) {
        Some(targets) => targets,
        None => targets(reader, gateway),
    };
    let mut settings = reader.settings_of(object);
    settings.inherit(&reader.settings_of(gateway));
    Ok(Attached::To { listeners, namespace, targets, settings, refused })
}

/// A parent; none where it was seen to be deleted, which is the route's own loss.
fn find<'a>(
    reader: &mut Reader<'a>,
    kind: Kind,
    namespace: &str,
    name: &str,
) -> Result<Option<&'a Object>, NotKnown> {
    match reader.look(kind, namespace, name) {
        Found::Here(object) => Ok(Some(object)),
        Found::Deleted => Ok(None),
        Found::NotThere => Err(format!("{} {namespace}/{name} does not exist", kind.as_str())),
        Found::NotKnown => Err(format!("{}s can't be read at the moment", kind.as_str())),
    }
}
