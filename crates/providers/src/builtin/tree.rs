//! The records of one zone by name, with the empty names between them.

use std::{collections::BTreeMap, sync::Arc};

use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
    record::Ttl,
};

use super::key::{Key, parent};

/// What "automatic" means here.
const AUTOMATIC_TTL: u32 = 300;

/// One record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    /// Type and value.
    pub(super) rdata: Rdata,
    /// Time to live, as given.
    pub(super) ttl: Ttl,
    /// Its number in the zone; [`SERVER`] where the server made it.
    pub(super) id: u64,
}

/// The number of the records that are made here: SOA, and NS of the apex.
pub(super) const SERVER: u64 = 0;

/// The records of one name, sorted by type and value, shared with answers that are being made from them.
pub(super) type Records = Arc<Vec<Stored>>;

/// The records of a zone.
///
/// Guarantees: every name between a name with records and the apex exists, and no other name does; a
/// snapshot or an answer keeps the records it was made of, whatever is written later.
#[derive(Debug)]
pub(super) struct Tree {
    apex: Name,
    nodes: BTreeMap<Key, Node>,
}

#[derive(Debug, Default)]
struct Node {
    records: Records,
    /// How many existing names lie directly below.
    children: usize,
}

// === impl Tree ===

impl Tree {
    /// A zone in which nothing but the apex exists.
    pub(super) fn new(apex: Name) -> Self {
        let nodes = BTreeMap::from([(Key(apex.clone()), Node::default())]);
        Self { apex, nodes }
    }

    /// The zone's own name.
    pub(super) fn apex(&self) -> &Name {
        &self.apex
    }

    /// The records of a name; none where the name does not exist, empty at an empty non-terminal.
    pub(super) fn get(&self, name: &str) -> Option<&Records> {
        self.nodes.get(name).map(|node| &node.records)
    }

    /// A name that exists, and its records.
    pub(super) fn get_with_name(&self, name: &str) -> Option<(&Name, &Records)> {
        self.nodes.get_key_value(name).map(|(key, node)| (&key.0, &node.records))
    }

    /// Puts sorted records in the place of all that the name had.
    pub(super) fn put(&mut self, name: &Name, records: Vec<Stored>) {
        let is_needed = !records.is_empty() || *name == self.apex;
        match self.nodes.get_mut(name.as_str()) {
            Some(node) => {
                node.records = Arc::new(records);
                if !is_needed && node.children == 0 {
                    self.unlink(name.as_str());
                }
            }
            None if is_needed => self.link(name, Arc::new(records)),
            None => {}
        }
    }

    /// All names with records, sorted by their texts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Name, &Records)> {
        self.nodes
            .iter()
            .filter(|(_, node)| !node.records.is_empty())
            .map(|(key, node)| (&key.0, &node.records))
    }

    /// The zone as it is now: costs a pointer per name, not a copy of its records.
    pub(super) fn snapshot(&self) -> Vec<(Name, Records)> {
        self.iter().map(|(name, records)| (name.clone(), records.clone())).collect()
    }

    /// Adds a name, and the names above it that did not exist.
    fn link(&mut self, name: &Name, records: Records) {
        self.nodes.insert(Key(name.clone()), Node { records, children: 0 });
        let mut next = name.parent();
        while let Some(above) = next {
            if let Some(node) = self.nodes.get_mut(above.as_str()) {
                node.children += 1;
                return;
            }
            self.nodes.insert(Key(above.clone()), Node { records: Records::default(), children: 1 });
            next = above.parent();
        }
    }

    /// Removes a name, and the names above it that existed only for its sake.
    fn unlink(&mut self, name: &str) {
        self.nodes.remove(name);
        let mut next = parent(name);
        while let Some(above) = next {
            let Some(node) = self.nodes.get_mut(above) else { return };
            node.children -= 1;
            if node.children > 0 || !node.records.is_empty() || above == self.apex.as_str() {
                return;
            }
            self.nodes.remove(above);
            next = parent(above);
        }
    }
}

/// The run of one type within the sorted records of a name.
pub(super) fn of_type(records: &[Stored], rtype: RecordType) -> &[Stored] {
    let start = records.partition_point(|record| record.rdata.rtype() < rtype);
    let length = records[start..].partition_point(|record| record.rdata.rtype() == rtype);
    &records[start..start + length]
}

/// Whether a name has records of a type.
pub(super) fn has(records: &[Stored], rtype: RecordType) -> bool {
    !of_type(records, rtype).is_empty()
}

/// The TTL that a set is served with: all its records have the same (RFC 2181 section 5.2), the smallest.
pub(super) fn ttl_of(set: &[Stored]) -> u32 {
    let served = |ttl: Ttl| if ttl == Ttl::AUTOMATIC { AUTOMATIC_TTL } else { ttl.0 };
    set.iter().map(|record| served(record.ttl)).min().unwrap_or(AUTOMATIC_TTL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn address() -> Vec<Stored> {
        vec![Stored { rdata: Rdata::parse(RecordType::A, "192.0.2.1").unwrap(), ttl: Ttl(60), id: 1 }]
    }

    #[test]
    fn empty_names_exist_as_long_as_something_is_below_them() {
        let mut tree = Tree::new(name("example.com"));
        tree.put(&name("a.b.c.example.com"), address());
        tree.put(&name("x.c.example.com"), address());
        assert!(tree.get("b.c.example.com").unwrap().is_empty());
        tree.put(&name("a.b.c.example.com"), Vec::new());
        assert!(tree.get("b.c.example.com").is_none());
        assert!(tree.get("c.example.com").is_some());
        tree.put(&name("x.c.example.com"), Vec::new());
        assert!(tree.get("c.example.com").is_none());
        assert!(tree.get("example.com").is_some());
        assert_eq!(tree.nodes.len(), 1);
    }

    #[test]
    fn a_name_with_names_below_stays_when_its_records_go() {
        let mut tree = Tree::new(name("example.com"));
        tree.put(&name("b.example.com"), address());
        tree.put(&name("a.b.example.com"), address());
        tree.put(&name("b.example.com"), Vec::new());
        assert!(tree.get("b.example.com").unwrap().is_empty());
        tree.put(&name("a.b.example.com"), Vec::new());
        assert!(tree.get("b.example.com").is_none());
    }
}
