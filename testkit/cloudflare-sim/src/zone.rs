//! A zone: its properties, and its records by id, by name and in listing order.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::{
    config::Plan,
    record::{Effect, Record},
    transfers::Incoming,
};

pub struct Zone {
    pub id: String,
    /// Lower-case and Punycode.
    pub name: String,
    pub plan: Plan,
    pub status: &'static str,
    pub kind: String,
    pub paused: bool,
    pub vanity_name_servers: Vec<String>,
    pub account: String,
    pub created_on: Timestamp,
    pub modified_on: Timestamp,
    pub activated_on: Option<Timestamp>,
    pub dnssec: Dnssec,
    /// What was PATCHed of `dns_settings`, over the defaults.
    pub settings: Map<String, Value>,
    /// What was PATCHed of `settings/{id}`, over the defaults.
    pub zone_settings: Map<String, Value>,
    pub hold: Hold,
    /// Where it comes from, if it is a secondary.
    pub incoming: Option<Incoming>,
    /// When Cloudflare was last asked to look whether the zone is delegated.
    pub activation_asked: Option<Timestamp>,
    pub custom_hostnames: BTreeMap<String, Value>,
    pub regional_hostnames: BTreeMap<String, Value>,
    /// What a scan would find, and what it found and nobody has reviewed yet.
    pub discoverable: Vec<Value>,
    pub unreviewed: Vec<Arc<Record>>,
    pub records: Records,
}

#[derive(Clone, Debug, Default)]
pub struct Hold {
    pub is_on: bool,
    pub includes_subdomains: bool,
}

#[derive(Clone, Debug)]
pub struct Dnssec {
    pub status: &'static str,
    pub multi_signer: bool,
    pub presigned: bool,
    pub nsec3: bool,
    pub modified_on: Option<Timestamp>,
}

/// Guarantees: the three views agree; a record is never changed in place.
#[derive(Clone, Default)]
pub struct Records {
    by_id: HashMap<String, Arc<Record>>,
    by_name: HashMap<String, Vec<Arc<Record>>>,
    order: Option<Arc<Vec<Arc<Record>>>>,
}

// === impl Records ===

impl Records {
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn get(&self, id: &str) -> Option<&Arc<Record>> {
        self.by_id.get(id)
    }

    pub fn named(&self, name: &str) -> impl Iterator<Item = &Arc<Record>> {
        self.by_name.get(name).into_iter().flatten()
    }

    /// All records in the default order, by type; sorted once, then kept in order by `set`.
    pub fn ordered(&mut self) -> Arc<Vec<Arc<Record>>> {
        let by_id = &self.by_id;
        let sorted = || {
            let mut records: Vec<_> = by_id.values().cloned().collect();
            records.sort_unstable_by(|a, b| rank(a).cmp(&rank(b)));
            Arc::new(records)
        };
        self.order.get_or_insert_with(sorted).clone()
    }

    /// Replaces whatever has this id, or removes it; returns what was there.
    pub fn set(&mut self, id: &str, record: Option<Arc<Record>>) -> Option<Arc<Record>> {
        let before = self.by_id.remove(id);
        if let Some(before) = &before
            && let Some(named) = self.by_name.get_mut(&before.name)
        {
            named.retain(|other| other.id != id);
            if named.is_empty() {
                self.by_name.remove(&before.name);
            }
        }
        self.reorder(before.as_deref(), record.as_ref());
        if let Some(record) = record {
            self.by_name.entry(record.name.clone()).or_default().push(record.clone());
            self.by_id.insert(id.to_owned(), record);
        }
        before
    }

    fn reorder(&mut self, before: Option<&Record>, after: Option<&Arc<Record>>) {
        let Some(order) = self.order.as_mut() else { return };
        let Some(order) = Arc::get_mut(order) else {
            // A listing is still being written from it.
            self.order = None;
            return;
        };
        let place = |order: &[Arc<Record>], record: &Record| {
            order.binary_search_by(|other| rank(other).cmp(&rank(record)))
        };
        if let Some(Ok(at)) = before.map(|before| place(order, before)) {
            order.remove(at);
        }
        if let Some(after) = after {
            let at = place(order, after).unwrap_or_else(|at| at);
            order.insert(at, after.clone());
        }
    }

    /// Forgets cached JSON, for when a knob changes how records look.
    pub fn rerender(&mut self) {
        let all: Vec<_> = self.by_id.values().cloned().collect();
        for record in all {
            self.set(&record.id, Some(Arc::new(record.rerendered())));
        }
    }
}

/// What the default order compares; unique, since ids are.
fn rank(record: &Record) -> (&str, &str, &str, &str) {
    (record.kind.name, &record.name, &record.content, &record.id)
}

// === impl Zone ===

impl Zone {
    /// Changes a record and remembers how to take it back.
    pub fn change(&mut self, id: &str, after: Option<Arc<Record>>, effects: &mut Vec<Effect>) {
        let before = self.records.set(id, after.clone());
        effects.push(Effect { zone: self.id.clone(), id: id.to_owned(), before, after });
    }

    /// Takes back effects, the latest first.
    pub fn undo(&mut self, effects: impl DoubleEndedIterator<Item = Effect>) {
        for effect in effects.rev() {
            self.records.set(&effect.id, effect.before);
        }
    }
}

impl Default for Dnssec {
    fn default() -> Self {
        Self { status: "disabled", multi_signer: false, presigned: false, nsec3: false, modified_on: None }
    }
}
