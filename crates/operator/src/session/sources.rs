//! Source objects of a folder: what each zone reads of them, and of whom it is not known what they give up.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use zonekeeper_api::SourceKind;
use zonekeeper_kernel::{
    holder::Holder,
    rdata::RecordType,
    reason::Rejection,
    zone::{Labels, SourcesKey},
};
use zonekeeper_sources::{
    Addresses, Asked, Complaint, Published, Reading, Surroundings, Word, World,
    object::{Body, Kind, Meta, Object, ObjectRef},
    publish,
};

use crate::{
    declare,
    folder::{Declared, Folder, Place},
    session::{OpenZone, wishes::permitted},
};

/// What the source objects of a folder ask for.
#[derive(Default)]
pub struct Sources {
    /// What they ask for, in all readings.
    pub asked: Vec<Asked>,
    /// Annotations and fields that can't be understood.
    pub rejections: Vec<Rejection>,
    by_reading: BTreeMap<SourcesKey, Limits>,
    /// All of them: a zone without sources reads none.
    holders: BTreeSet<Holder>,
}

/// Objects that are there, and whose other records may not be deleted as if they were gone (law 5).
#[derive(Default)]
struct Limits {
    /// The zone does not read them, or not in the words that they use: only a person can say that something goes.
    silent: BTreeSet<Holder>,
    /// They can't be understood now.
    awaited: BTreeSet<Holder>,
}

// === impl Sources ===

impl Sources {
    /// Publishes every object as each zone reads it.
    pub fn publish(folder: &Folder, zones: &[OpenZone], addresses: &Addresses) -> Self {
        let mut sources = Self::default();
        sources.holders.extend(folder.sources.iter().map(|declared| declared.object.holder()));
        sources.holders.extend(folder.unread_sources.iter().map(ObjectRef::holder));
        // Checked when the folder was opened.
        let readings: BTreeSet<Reading> =
            zones.iter().filter_map(|zone| declare::reading(&zone.declared.object).ok().flatten()).collect();
        if readings.is_empty() {
            return sources;
        }
        let world = world(folder);
        for reading in readings {
            let mut limits = Limits::default();
            for Declared { object, place } in &folder.sources {
                let namespace = &object.meta.namespace;
                let labels = Arc::new(folder.namespace_labels(namespace));
                let addresses = permitted(folder, namespace, addresses);
                let surroundings = Surroundings { namespace_labels: &labels, addresses: &addresses };
                let published = publish(object, &reading, &world, &surroundings);
                limits.note(object.holder(), &published);
                sources
                    .rejections
                    .extend(published.complaints.into_iter().map(|it| rejection(object, place, it)));
                sources.asked.extend(published.asked);
            }
            sources.by_reading.insert(reading.key().clone(), limits);
        }
        sources
    }

    /// Objects that a zone does not read, or not in their words.
    pub fn silent(&self, reading: Option<&SourcesKey>) -> &BTreeSet<Holder> {
        reading.and_then(|key| self.by_reading.get(key)).map_or(&self.holders, |limits| &limits.silent)
    }

    /// Objects that can't be understood now.
    pub fn awaited(&self, reading: Option<&SourcesKey>) -> impl Iterator<Item = &Holder> {
        reading.and_then(|key| self.by_reading.get(key)).into_iter().flat_map(|limits| &limits.awaited)
    }
}

// === impl Limits ===

impl Limits {
    fn note(&mut self, holder: Holder, published: &Published) {
        match published.about_the_rest() {
            Word::Silent => drop(self.silent.insert(holder)),
            Word::Awaited => drop(self.awaited.insert(holder)),
            Word::Wants | Word::WantsOther => {}
        }
    }
}

/// All objects of a folder. It was read completely: what is not in it is not there.
fn world(folder: &Folder) -> World {
    let mut world = World::default();
    let published = SourceKind::all().iter().map(|kind| Kind::Source(*kind));
    published
        .chain([Kind::EndpointSlice, Kind::ListenerSet, Kind::Namespace])
        .for_each(|kind| world.synced(kind));
    let mut namespaces: BTreeSet<&str> = folder.namespaces.keys().map(String::as_str).collect();
    for Declared { object, .. } in &folder.sources {
        namespaces.insert(&object.meta.namespace);
        world.insert(object.clone());
    }
    for name in namespaces.into_iter().filter(|name| !name.is_empty()) {
        world.insert(Arc::new(namespace(name, folder.namespace_labels(name))));
    }
    world
}

fn namespace(name: &str, labels: Labels) -> Object {
    let meta = Meta { name: name.to_owned(), labels, ..Meta::default() };
    Object { kind: Kind::Namespace, meta, body: Body::Namespace, whole: None }
}

fn rejection(object: &Object, place: &Place, complaint: Complaint) -> Rejection {
    Rejection {
        holder: object.holder(),
        name: None,
        rtype: RecordType::from_code(0),
        reason: complaint.reason,
        message: format!("{place}: {}: {}", complaint.field, complaint.message),
    }
}
