//! Changes that a server refused by themselves: tried again after all others, a few at a time, each in its turn.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use zonekeeper_kernel::{name::Name, plan::Change, render::hash_line};

/// Beyond this it is begun anew: who refuses so much refuses it again.
const MOST: usize = 100_000;

/// What was refused, and after what else.
#[derive(Debug, Default)]
pub(super) struct Refused(Mutex<BTreeMap<String, usize>>);

// === impl Refused ===

impl Refused {
    /// The changes by number, in groups of which the last is to be sent first: what was refused before must not
    /// keep anything else waiting.
    pub(super) fn in_turn(&self, changes: &[Change]) -> Vec<Vec<usize>> {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.is_empty() {
            return vec![(0..changes.len()).collect()];
        }
        // What happens at one name stays in its order.
        let mut turns: BTreeMap<&Name, usize> = BTreeMap::new();
        for change in changes {
            if let Some(turn) = refused.get(&hash_line(change)) {
                turns.entry(&change.name).or_insert(*turn);
            }
        }
        let turn = |index: &usize| turns.get(&changes[*index].name).copied();
        let (mut again, first): (Vec<usize>, Vec<usize>) =
            (0..changes.len()).partition(|index| turn(index).is_some());
        again.sort_by_key(turn);
        vec![again, first]
    }

    /// A change was refused; whether that is not the first time.
    pub(super) fn add(&self, change: &Change) -> bool {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= MOST {
            refused.clear();
        }
        let turn = refused.values().max().map_or(0, |last| last + 1);
        refused.insert(hash_line(change), turn).is_some()
    }

    /// A change was taken.
    pub(super) fn remove(&self, change: &Change) {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !refused.is_empty() {
            refused.remove(&hash_line(change));
        }
    }
}
