//! Zones and providers that are open, each under the attempt that opened it.
//!
//! The model knows facts about them and names them by attempt; only the work that it starts touches them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use zonekeeper_kernel::zone::ZoneKey;
use zonekeeper_model::zone_entry::WorkerSetup;
use zonekeeper_providers::{Opened, ZoneAccess, builtin::Builtin};

use crate::engine::ZoneWorker;

/// What is open.
#[derive(Default)]
pub struct Engine {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    providers: BTreeMap<String, BTreeMap<u64, Opened>>,
    zones: BTreeMap<ZoneKey, OpenZone>,
}

/// A zone that was found, and its worker while no pass has it.
struct OpenZone {
    attempt: u64,
    access: Arc<dyn ZoneAccess>,
    worker: Option<Box<ZoneWorker>>,
    /// The pass that has the worker.
    pass: u64,
}

// === impl Engine ===

impl Engine {
    /// A provider was opened.
    pub fn provider_opened(&self, name: &str, attempt: u64, provider: Opened) {
        self.inner().providers.entry(name.to_owned()).or_default().insert(attempt, provider);
    }

    /// The provider that an attempt opened.
    pub fn provider(&self, name: &str, attempt: u64) -> Option<Opened> {
        self.inner().providers.get(name)?.get(&attempt).cloned()
    }

    /// The provider that was opened last.
    pub fn latest_provider(&self, name: &str) -> Option<Opened> {
        self.inner().providers.get(name)?.values().next_back().cloned()
    }

    /// Keeps the provider that an attempt opened, and forgets those of before.
    pub fn use_provider(&self, name: &str, attempt: u64) {
        if let Some(attempts) = self.inner().providers.get_mut(name) {
            attempts.retain(|other, _| *other >= attempt);
        }
    }

    /// Forgets a provider; its built-in server is left to the caller.
    pub fn close_provider(&self, name: &str) -> Option<Builtin> {
        let builtin = self.builtin(name);
        self.inner().providers.remove(name);
        builtin
    }

    /// The built-in server of a provider.
    pub fn builtin(&self, name: &str) -> Option<Builtin> {
        let inner = self.inner();
        inner.providers.get(name)?.values().rev().find_map(|open| open.builtin.clone())
    }

    /// How many requests each provider's credentials may still make.
    pub fn budgets(&self) -> Vec<(String, usize)> {
        let inner = self.inner();
        let left = |(name, attempts): (&String, &BTreeMap<u64, Opened>)| {
            Some((name.clone(), attempts.values().next_back()?.provider.budget_left()?))
        };
        inner.providers.iter().filter_map(left).collect()
    }

    /// A zone was found.
    pub fn zone_found(&self, zone: &ZoneKey, attempt: u64, access: Arc<dyn ZoneAccess>) {
        let mut inner = self.inner();
        match inner.zones.get_mut(zone) {
            // An answer that comes late is about another search.
            Some(open) if open.attempt > attempt => {}
            Some(open) => (open.attempt, open.access) = (attempt, access),
            None => {
                let open = OpenZone { attempt, access, worker: None, pass: 0 };
                inner.zones.insert(zone.clone(), open);
            }
        }
    }

    /// Lends the worker of a zone to a pass, set up as it is asked for.
    pub fn lend(&self, zone: &ZoneKey, pass: u64, setup: Option<WorkerSetup>) -> Option<Box<ZoneWorker>> {
        let mut inner = self.inner();
        let open = inner.zones.get_mut(zone)?;
        open.pass = pass;
        let worker = open.worker.take();
        let Some(setup) = setup else { return worker };
        let WorkerSetup { attempt: _, settings, memory } = setup;
        match (worker, memory) {
            (Some(mut worker), None) => {
                worker.adjust(open.access.clone(), settings);
                Some(worker)
            }
            // A zone that was made anew under another id has nothing of what was written to the one before.
            (_, memory) => {
                let mut worker = ZoneWorker::new(open.access.clone(), settings);
                if let Some(memory) = memory {
                    if let Some((begun, window)) = memory.window {
                        worker.resume(begun.into(), window);
                    }
                    worker.recall(memory.known);
                    worker.recall_zone(memory.initial);
                }
                Some(Box::new(worker))
            }
        }
    }

    /// Takes a worker back, unless its zone was closed since.
    pub fn take_back(&self, zone: &ZoneKey, pass: u64, worker: Box<ZoneWorker>) {
        if let Some(open) = self.inner().zones.get_mut(zone).filter(|open| open.pass == pass) {
            open.worker = Some(worker);
        }
    }

    /// Forgets a zone; a pass that is under way ends by itself.
    pub fn close_zone(&self, zone: &ZoneKey) {
        self.inner().zones.remove(zone);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every change of it is complete in itself.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
