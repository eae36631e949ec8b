//! A zone in memory: the simplest provider there is, for tests of everything around it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use zonekeeper_kernel::{
    capability::Capabilities,
    desired::Desired,
    guard::Cleared,
    name::Name,
    record::{LiveRecord, RecordId},
};

use crate::{Effect, Outcome, Progress, Provider, ProviderError, ZoneAccess, ZoneTraits};

/// Zones in memory.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    zones: Arc<Mutex<BTreeMap<Name, Arc<MemoryZone>>>>,
    /// Every zone that is asked for is there, like this.
    everywhere: Option<ZoneTraits>,
}

/// What a zone makes of sets before they are planned.
pub type Adapts = fn(&Desired) -> Desired;

/// One zone in memory.
#[derive(Debug)]
pub struct MemoryZone {
    traits: ZoneTraits,
    adapts: Option<Adapts>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    records: Vec<(Name, LiveRecord)>,
    last_id: u64,
}

// === impl Memory ===

impl Memory {
    /// Adds an empty zone.
    pub fn add(&self, domain: Name, capabilities: Capabilities) -> Arc<MemoryZone> {
        let traits = ZoneTraits::new("", capabilities);
        self.insert(domain, MemoryZone { traits, adapts: None, state: Mutex::default() })
    }

    /// Adds an empty zone that has a say in what it holds.
    pub fn add_adapting(&self, domain: Name, capabilities: Capabilities, adapts: Adapts) -> Arc<MemoryZone> {
        let traits = ZoneTraits::new("", capabilities);
        self.insert(domain, MemoryZone { traits, adapts: Some(adapts), state: Mutex::default() })
    }

    /// Has every zone that is asked for, empty.
    pub fn everywhere(traits: ZoneTraits) -> Self {
        Self { everywhere: Some(traits), ..Self::default() }
    }

    fn insert(&self, domain: Name, zone: MemoryZone) -> Arc<MemoryZone> {
        let zone = Arc::new(zone);
        lock(&self.zones).insert(domain, zone.clone());
        zone
    }
}

#[async_trait]
impl Provider for Memory {
    async fn open(&self, domain: &Name, _id: Option<&str>) -> Result<Arc<dyn ZoneAccess>, ProviderError> {
        let found = lock(&self.zones).get(domain).cloned();
        match (found, &self.everywhere) {
            (Some(zone), _) => Ok(zone),
            (None, Some(traits)) => {
                let zone = MemoryZone { traits: traits.clone(), adapts: None, state: Mutex::default() };
                Ok(self.insert(domain.clone(), zone))
            }
            (None, None) => {
                Err(ProviderError::ZoneNotFound { message: format!("zone {domain} is not in memory") })
            }
        }
    }
}

// === impl MemoryZone ===

impl MemoryZone {
    /// Adds a record from outside.
    pub fn seed(&self, name: Name, mut record: LiveRecord) -> RecordId {
        let mut state = lock(&self.state);
        record.id = state.next_id();
        let id = record.id.clone();
        state.records.push((name, record));
        id
    }
}

#[async_trait]
impl ZoneAccess for MemoryZone {
    fn traits(&self) -> &ZoneTraits {
        &self.traits
    }

    async fn adapt(&self, desired: &Desired) -> Result<Option<Desired>, ProviderError> {
        Ok(self.adapts.map(|adapts| adapts(desired)))
    }

    async fn list(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        Ok(lock(&self.state).records.clone())
    }

    async fn read(&self, names: &BTreeSet<Name>) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        let state = lock(&self.state);
        Ok(state.records.iter().filter(|(name, _)| names.contains(name)).cloned().collect())
    }

    async fn apply(&self, cleared: &Cleared, progress: &Progress<'_>) -> Vec<Outcome> {
        let mut state = lock(&self.state);
        let mut outcomes = Vec::new();
        for change in cleared.changes() {
            let effects: Vec<Effect> = change
                .edits
                .iter()
                .map(|edit| {
                    let id = match edit.before() {
                        Some(before) => before.id.clone(),
                        None => state.next_id(),
                    };
                    let effect = Effect::of(edit, id);
                    state.carry_out(&effect);
                    effect
                })
                .collect();
            outcomes.push(Outcome::Applied(effects));
            progress(outcomes.len());
        }
        outcomes
    }
}

// === impl State ===

impl State {
    fn next_id(&mut self) -> RecordId {
        self.last_id += 1;
        RecordId(self.last_id.to_string().into())
    }

    fn carry_out(&mut self, effect: &Effect) {
        if let Some((rdata, id)) = &effect.removed {
            self.records.retain(|(name, record)| {
                !(*name == effect.name && record.id == *id && record.rdata == *rdata)
            });
        }
        if let Some(record) = &effect.written {
            self.records.push((effect.name.clone(), record.clone()));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
