//! What is known of the objects around a published one. Absence is known only of kinds that were read completely.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use zonekeeper_api::SourceKind;

use crate::object::{Body, Kind, Object, ObjectRef};

const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";

/// Everything that publishing may look at.
#[derive(Debug, Clone, Default)]
pub struct World {
    kinds: BTreeMap<Kind, Store>,
    /// EndpointSlices by the namespace and name of their Service.
    slices: BTreeMap<(String, String), BTreeSet<String>>,
}

/// Something that publishing looked at: when its answer may change, the object must be published again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Look {
    /// One object, by kind, namespace and name.
    Object(ObjectRef),
    /// The EndpointSlices of a Service.
    EndpointSlices {
        /// The Service's namespace.
        namespace: String,
        /// The Service's name.
        service: String,
    },
    /// The Pods of a namespace.
    Pods(String),
    /// All Nodes.
    Nodes,
    /// An AddressSource, by namespace and name.
    AddressSource(String, String),
}

/// The answer to a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<T> {
    /// This.
    Here(T),
    /// It is not there.
    NotThere,
    /// It is not there because it was seen to be deleted.
    Deleted,
    /// It is not known: the kind is not installed, not readable or not read yet.
    NotKnown,
}

#[derive(Debug, Clone, Default)]
struct Store {
    is_synced: bool,
    objects: BTreeMap<(String, String), Arc<Object>>,
    /// Gateways and ListenerSets whose deletion was seen.
    deleted: BTreeSet<(String, String)>,
}

// === impl World ===

impl World {
    /// From now on the absence of objects of a kind is known.
    pub fn synced(&mut self, kind: Kind) {
        self.kinds.entry(kind).or_default().is_synced = true;
    }

    /// From now on the absence of objects of a kind says nothing; those that were seen stay.
    pub fn unsynced(&mut self, kind: Kind) {
        if let Some(store) = self.kinds.get_mut(&kind) {
            store.is_synced = false;
        }
    }

    /// Adds an object, in place of an older version of it.
    pub fn insert(&mut self, object: Arc<Object>) {
        let key = (object.meta.namespace.clone(), object.meta.name.clone());
        self.index(&object, &key, true);
        let store = self.kinds.entry(object.kind).or_default();
        store.deleted.remove(&key);
        if let Some(before) = store.objects.insert(key.clone(), object.clone())
            && service_of(&before) != service_of(&object)
        {
            self.index(&before, &key, false);
        }
    }

    /// Takes an object away whose deletion was seen.
    pub fn remove(&mut self, reference: &ObjectRef) {
        let key = (reference.namespace.clone(), reference.name.clone());
        let store = self.kinds.entry(reference.kind).or_default();
        if matches!(reference.kind, Kind::Source(SourceKind::Gateway) | Kind::ListenerSet) {
            store.deleted.insert(key.clone());
        }
        if let Some(object) = store.objects.remove(&key) {
            self.index(&object, &key, false);
        }
    }

    /// Takes an object away that a list does not have any more; its deletion was not seen.
    pub fn lose(&mut self, reference: &ObjectRef) {
        let key = (reference.namespace.clone(), reference.name.clone());
        let store = self.kinds.entry(reference.kind).or_default();
        if let Some(object) = store.objects.remove(&key) {
            self.index(&object, &key, false);
        }
    }

    /// The objects of a kind that were seen, whether or not there may be others.
    pub fn seen(&self, kind: Kind) -> impl Iterator<Item = &Arc<Object>> {
        self.kinds.get(&kind).into_iter().flat_map(|store| store.objects.values())
    }

    /// One object.
    pub fn get(&self, reference: &ObjectRef) -> Found<&Object> {
        let Some(store) = self.kinds.get(&reference.kind) else { return Found::NotKnown };
        let key = (reference.namespace.clone(), reference.name.clone());
        match store.objects.get(&key) {
            Some(object) => Found::Here(object),
            None if store.deleted.contains(&key) => Found::Deleted,
            None if store.is_synced || zonekeeper_kernel::mutant::is_on("world: unread is empty") => {
                Found::NotThere
            }
            None => Found::NotKnown,
        }
    }

    /// All objects of a kind in a namespace, by name; in all namespaces where it is none.
    pub fn list(&self, kind: Kind, namespace: Option<&str>) -> Found<Vec<&Object>> {
        let Some(store) = self.kinds.get(&kind).filter(|store| store.is_synced) else {
            return Found::NotKnown;
        };
        let first = (namespace.unwrap_or_default().to_owned(), String::new());
        let of_namespace = store
            .objects
            .range(first..)
            .take_while(|((own, _), _)| namespace.is_none_or(|namespace| namespace == own));
        Found::Here(of_namespace.map(|(_, object)| object.as_ref()).collect())
    }

    /// The EndpointSlices of a Service, by name.
    pub fn slices(&self, namespace: &str, service: &str) -> Found<Vec<&Object>> {
        let kind = Kind::EndpointSlice;
        let Some(store) = self.kinds.get(&kind).filter(|store| store.is_synced) else {
            return Found::NotKnown;
        };
        let names = self.slices.get(&(namespace.to_owned(), service.to_owned()));
        let objects = names.into_iter().flatten().filter_map(|name| {
            store.objects.get(&(namespace.to_owned(), name.clone())).map(|object| object.as_ref())
        });
        Found::Here(objects.collect())
    }

    fn index(&mut self, object: &Object, key: &(String, String), is_there: bool) {
        let Some(service) = service_of(object) else { return };
        let of_service = (key.0.clone(), service.to_owned());
        if is_there {
            self.slices.entry(of_service).or_default().insert(key.1.clone());
        } else if let Some(names) = self.slices.get_mut(&of_service) {
            names.remove(&key.1);
            if names.is_empty() {
                self.slices.remove(&of_service);
            }
        }
    }
}

// === impl Look ===

impl Look {
    /// The kind that must be read to answer it; none for an AddressSource, which is no source object.
    ///
    /// A kind that no object looks at need not be watched.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Self::Object(reference) => Some(reference.kind),
            Self::EndpointSlices { .. } => Some(Kind::EndpointSlice),
            Self::Pods(_) => Some(Kind::Source(SourceKind::Pod)),
            Self::Nodes => Some(Kind::Source(SourceKind::Node)),
            Self::AddressSource(..) => None,
        }
    }
}

// === impl Object ===

impl Object {
    /// The looks whose answers a change of this object may change.
    pub fn concerns(&self) -> Vec<Look> {
        let mut looks = vec![Look::Object(self.reference())];
        match (&self.body, service_of(self)) {
            (Body::Pod(_), _) => looks.push(Look::Pods(self.meta.namespace.clone())),
            (Body::Node(_), _) => looks.push(Look::Nodes),
            (_, Some(service)) => looks.push(Look::EndpointSlices {
                namespace: self.meta.namespace.clone(),
                service: service.to_owned(),
            }),
            (_, None) => {}
        }
        looks
    }
}

fn service_of(object: &Object) -> Option<&str> {
    match &object.body {
        Body::EndpointSlice(_) => object.meta.labels.get(SERVICE_NAME_LABEL).map(String::as_str),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::Keep;

    fn slice(name: &str, service: &str) -> Arc<Object> {
        let json =
            json!({"metadata": {"namespace": "shop", "name": name, "labels": {SERVICE_NAME_LABEL: service}}});
        Arc::new(Object::read(Kind::EndpointSlice, json, Keep::Narrow).unwrap())
    }

    fn names(found: Found<Vec<&Object>>) -> Option<Vec<String>> {
        match found {
            Found::Here(objects) => Some(objects.iter().map(|object| object.meta.name.clone()).collect()),
            Found::NotThere | Found::Deleted | Found::NotKnown => None,
        }
    }

    #[test]
    fn absence_is_known_only_of_a_kind_that_was_read_completely() {
        let mut world = World::default();
        let gateway = ObjectRef::new(Kind::Source(SourceKind::Gateway), "shop", "edge");
        assert_eq!(world.get(&gateway), Found::NotKnown);
        world.synced(gateway.kind);
        assert_eq!(world.get(&gateway), Found::NotThere);
        world.lose(&gateway);
        assert_eq!(world.get(&gateway), Found::NotThere, "its deletion was not seen");
        world.remove(&gateway);
        assert_eq!(world.get(&gateway), Found::Deleted);
        let other = ObjectRef::new(gateway.kind, "shop", "other");
        world.unsynced(gateway.kind);
        assert_eq!((world.get(&gateway), world.get(&other)), (Found::Deleted, Found::NotKnown));
    }

    #[test]
    fn slices_are_found_by_their_service_and_follow_it() {
        let mut world = World::default();
        world.insert(slice("a", "web"));
        assert_eq!(names(world.slices("shop", "web")), None);
        world.synced(Kind::EndpointSlice);
        world.insert(slice("b", "web"));
        assert_eq!(names(world.slices("shop", "web")).unwrap(), ["a", "b"]);
        world.insert(slice("a", "api"));
        assert_eq!(names(world.slices("shop", "web")).unwrap(), ["b"]);
        assert_eq!(names(world.slices("shop", "api")).unwrap(), ["a"]);
        world.remove(&slice("b", "web").reference());
        assert!(names(world.slices("shop", "web")).unwrap().is_empty());
        assert_eq!(names(world.list(Kind::EndpointSlice, Some("shop"))).unwrap(), ["a"]);
        assert!(names(world.list(Kind::EndpointSlice, Some("shop2"))).unwrap().is_empty());
        world.lose(&slice("a", "api").reference());
        assert!(names(world.slices("shop", "api")).unwrap().is_empty());
    }
}
