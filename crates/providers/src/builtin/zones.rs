//! The zones that are served, and which of them a name belongs to.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use zonekeeper_kernel::{name::Name, rdata::RecordType};

use super::{
    key::{Key, suffixes},
    zone::Zone,
};

/// The zones that are served.
#[derive(Debug, Default)]
pub(super) struct Zones {
    zones: RwLock<BTreeMap<Key, Arc<Zone>>>,
    /// Whether a zone was ever declared: a server that has just started does not know yet what it is asked for.
    is_begun: AtomicBool,
}

// === impl Zones ===

impl Zones {
    /// The zone of exactly this domain.
    pub(super) fn get(&self, domain: &Name) -> Option<Arc<Zone>> {
        self.zones.read().unwrap_or_else(PoisonError::into_inner).get(domain.as_str()).cloned()
    }

    /// The zone of this domain, made by `make` if there is none yet.
    pub(super) fn get_or_insert(&self, domain: Name, make: impl FnOnce() -> Arc<Zone>) -> Arc<Zone> {
        let mut zones = self.zones.write().unwrap_or_else(PoisonError::into_inner);
        self.is_begun.store(true, Ordering::Release);
        zones.entry(Key(domain)).or_insert_with(make).clone()
    }

    /// Whether it is known which zones are served.
    pub(super) fn is_begun(&self) -> bool {
        self.is_begun.load(Ordering::Acquire)
    }

    /// The domains of all zones, sorted.
    pub(super) fn domains(&self) -> Vec<Name> {
        let zones = self.zones.read().unwrap_or_else(PoisonError::into_inner);
        zones.values().map(|zone| zone.domain().clone()).collect()
    }

    /// Takes a zone away.
    pub(super) fn remove(&self, domain: &Name) -> Option<Arc<Zone>> {
        self.zones.write().unwrap_or_else(PoisonError::into_inner).remove(domain.as_str())
    }

    /// The zone that answers for a name: the longest, but for DS at an apex the one above it, if it has
    /// the name (RFC 4035 section 3.1.4.1), or if that is not known yet.
    pub(super) fn enclosing(&self, name: &Name, rtype: RecordType) -> Option<Arc<Zone>> {
        let zones = self.zones.read().unwrap_or_else(PoisonError::into_inner);
        let mut around = suffixes(name).filter_map(|suffix| zones.get(suffix));
        let longest = around.next()?;
        if rtype == RecordType::DS && longest.domain() == name {
            let has_name = |zone: &Zone| {
                let state = zone.state();
                !state.is_known() || state.tree().get(name.as_str()).is_some()
            };
            let above = around.next().filter(|zone| has_name(zone));
            return Some(above.unwrap_or(longest).clone());
        }
        Some(longest.clone())
    }
}
