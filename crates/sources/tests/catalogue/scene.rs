//! Objects as YAML in, records as lines out.

use std::{net::IpAddr, sync::Arc};

use serde_json::Value;
use zonekeeper_api::{Dialect, SourceKind, Sources};
use zonekeeper_kernel::{
    attribute::{PROXIED, TAGS},
    name::Name,
    rdata::RecordType,
    resolve::WantedName,
};
use zonekeeper_sources::{
    Addresses, Asked, Published, Reading, Surroundings, Word, World,
    object::{Keep, Kind, Object, ObjectRef},
    publish,
};

/// Some objects, and how a zone reads them.
#[derive(Clone)]
pub struct Scene {
    pub sources: Sources,
    objects: Vec<Arc<Object>>,
    unreadable: Vec<Kind>,
    deleted: Vec<ObjectRef>,
    addresses: Addresses,
}

const OTHER_KINDS: [Kind; 3] = [Kind::EndpointSlice, Kind::ListenerSet, Kind::Namespace];

/// A zone that reads these objects, of whatever kind, in our own dialect and ExternalDNS's.
pub fn scene(yaml: &str) -> Scene {
    let sources = Sources { kinds: SourceKind::all().to_vec(), ..Sources::default() };
    let mut scene = Scene {
        sources,
        objects: Vec::new(),
        unreadable: Vec::new(),
        deleted: Vec::new(),
        addresses: Addresses::default(),
    };
    scene.add(yaml);
    scene
}

pub fn all_kinds() -> impl Iterator<Item = Kind> {
    SourceKind::all().iter().map(|kind| Kind::Source(*kind)).chain(OTHER_KINDS)
}

pub fn kind(text: &str) -> Kind {
    all_kinds().find(|kind| kind.as_str() == text).unwrap_or_else(|| panic!("no kind {text}"))
}

impl Scene {
    fn add(&mut self, yaml: &str) {
        for document in yaml.split("\n---\n").filter(|document| !document.trim().is_empty()) {
            let json: Value =
                serde_saphyr::from_str(document).unwrap_or_else(|error| panic!("{error}: {document}"));
            let kind = kind(json["kind"].as_str().unwrap());
            self.objects.push(Arc::new(Object::read(kind, json, Keep::Whole).unwrap()));
        }
    }

    /// More objects.
    pub fn and(mut self, yaml: &str) -> Self {
        self.add(yaml);
        self
    }

    pub fn reading(mut self, change: impl FnOnce(&mut Sources)) -> Self {
        change(&mut self.sources);
        self
    }

    pub fn template(self, text: &str) -> Self {
        self.reading(|sources| sources.fqdn_template = text.into())
    }

    pub fn dialects(self, dialects: &[Dialect]) -> Self {
        self.reading(|sources| sources.dialects = dialects.to_vec())
    }

    /// A kind that can't be read.
    pub fn unreadable(mut self, text: &str) -> Self {
        self.unreadable.push(kind(text));
        self
    }

    /// An object that was seen to be deleted.
    pub fn deleted(mut self, text: &str, namespace: &str, name: &str) -> Self {
        self.deleted.push(ObjectRef::new(kind(text), namespace, name));
        self
    }

    pub fn address(mut self, namespace: &str, name: &str, address: &str) -> Self {
        let addresses = vec![address.parse::<IpAddr>().unwrap()];
        self.addresses.0.insert((namespace.into(), name.into()), Ok(addresses));
        self
    }

    pub fn world(&self) -> World {
        let mut world = World::default();
        for kind in all_kinds().filter(|kind| !self.unreadable.contains(kind)) {
            world.synced(kind);
        }
        for object in self.objects.iter().filter(|object| !self.unreadable.contains(&object.kind)) {
            world.insert(object.clone());
        }
        self.deleted.iter().for_each(|reference| world.remove(reference));
        world
    }

    pub fn parsed(&self) -> Reading {
        Reading::parse(&self.sources).unwrap()
    }

    /// What became of each object of a kind that the zone reads.
    pub fn published(&self) -> Vec<Published> {
        let (world, reading, labels) = (self.world(), self.parsed(), Arc::default());
        let surroundings = Surroundings { namespace_labels: &labels, addresses: &self.addresses };
        let is_gone = |object: &Object| self.deleted.contains(&object.reference());
        let there = self.objects.iter().filter(|object| !is_gone(object));
        there.map(|object| publish(object, &reading, &world, &surroundings)).collect()
    }

    /// The first object's.
    pub fn first(&self) -> Published {
        self.published().remove(0)
    }

    /// All records, sorted: `name TYPE value value`, with ttl, proxied, comment and tags where they are said.
    pub fn records(&self) -> Vec<String> {
        let published = self.published();
        let mut lines: Vec<String> = published.iter().flat_map(|one| &one.asked).map(line).collect();
        lines.sort();
        lines
    }

    /// What is told to people.
    pub fn complaints(&self) -> Vec<String> {
        let complaint = |complaint: &zonekeeper_sources::Complaint| {
            format!("{} {}: {}", complaint.reason, complaint.field, complaint.message)
        };
        self.published().iter().flat_map(|one| &one.complaints).map(complaint).collect()
    }

    /// What the first object says of a set that it may hold.
    pub fn says(&self, name: &str, rtype: RecordType) -> Word {
        self.first().about(&Name::parse(name).unwrap(), rtype)
    }
}

/// One set in one line.
pub fn line(asked: &Asked) -> String {
    let intent = &asked.intent;
    let WantedName::Absolute(name) = &intent.name else { panic!("sources ask for absolute names") };
    let values = match &intent.values {
        Some(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        None => format!("? {}", asked.unknown.as_ref().unwrap().0),
    };
    let mut line = format!("{name} {} {values}", intent.rtype);
    if let Some(ttl) = intent.ttl {
        line.push_str(&format!(" ttl={}", ttl.0));
    }
    if let Some(proxied) = intent.attributes.get(PROXIED) {
        line.push_str(&format!(" proxied={proxied}"));
    }
    if let Some(comment) = &intent.comment {
        line.push_str(&format!(" comment={comment:?}"));
    }
    let tags = intent.attributes.list(TAGS);
    if !tags.is_empty() {
        line.push_str(&format!(" tags={}", tags.join("+")));
    }
    if let Some(zones) = &intent.zone_refs {
        line.push_str(&format!(
            " zones={}",
            zones.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
        ));
    }
    line
}
