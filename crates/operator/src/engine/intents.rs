//! What a zone should hold, by the wishes that were placed in it.

use std::collections::BTreeSet;

use zonekeeper_kernel::{
    desired::Desired,
    name::Name,
    reason::Rejection,
    resolve::{Intent, resolve},
    zone::Zone,
};

use crate::engine::ZoneWorker;

/// Resolves the wishes of one zone; where several objects want a name, the one that holds it now comes first.
///
/// Assumes: the zone was observed.
pub fn resolve_intents<'a>(
    zone: &Zone,
    worker: &ZoneWorker,
    wishes: impl Iterator<Item = (&'a Name, &'a Intent)> + Clone,
) -> (Desired, Vec<Rejection>) {
    let incumbents = worker.incumbents(contested(wishes.clone().map(|(name, _)| name)));
    let wishes = wishes.map(|(name, intent)| (name.clone(), intent));
    resolve(zone, worker.capabilities(), &worker.settings().registry, wishes, &incumbents)
}

/// Names that several objects want: only there does it matter who was first.
fn contested<'a>(names: impl Iterator<Item = &'a Name>) -> BTreeSet<Name> {
    let (mut seen, mut contested) = (BTreeSet::new(), BTreeSet::new());
    for name in names {
        if !seen.insert(name) {
            contested.insert(name.clone());
        }
    }
    contested
}
