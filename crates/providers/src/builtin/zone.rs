//! One zone that is served: its records, its serial number, and how both change together.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::watch;
use zonekeeper_kernel::{name::Name, plan::Change, rdata::RecordType};

use super::{
    answer::RecordSet,
    authority::Authority,
    draft::{Draft, given},
    tree::{Stored, Tree, has},
};
use crate::{Outcome, ProviderError};

/// One zone that is served.
#[derive(Debug)]
pub(super) struct Zone {
    domain: Name,
    state: RwLock<State>,
    /// Tells the current serial number to the tasks that notify secondaries; none while nothing is known.
    serials: watch::Sender<Option<u32>>,
}

/// What a zone holds at one moment: a reader sees all of an `apply`, or nothing.
#[derive(Debug)]
pub(super) struct State {
    tree: Tree,
    authority: Authority,
    serial: u32,
    last_id: u64,
    is_served: bool,
    /// Whether it holds what is wanted of it. Until then it is empty, and that must not be taken for an answer.
    is_known: bool,
}

// === impl Zone ===

impl Zone {
    /// An empty zone of which nothing is known yet.
    pub(super) fn new(domain: Name, authority: Authority, serial: u32) -> Arc<Self> {
        let tree = Tree::new(domain.clone());
        let mut state = State { tree, authority, serial, last_id: 0, is_served: true, is_known: false };
        let records = given(&state.tree, &domain);
        state.put_apex(records);
        Arc::new(Self { domain, state: RwLock::new(state), serials: watch::Sender::new(None) })
    }

    /// Its domain.
    pub(super) fn domain(&self) -> &Name {
        &self.domain
    }

    /// What it holds now. Not to be held across an await, nor while another zone's is taken.
    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the serial number.
    pub(super) fn serials(&self) -> watch::Receiver<Option<u32>> {
        self.serials.subscribe()
    }

    /// Says that the zone holds what is wanted of it: from now on it is answered from, notified of and transferred.
    pub(super) fn know(&self) {
        let mut state = self.write();
        if !state.is_known {
            state.is_known = true;
            self.serials.send_replace(Some(state.serial));
        }
    }

    /// Gives the zone another authority.
    pub(super) fn set_authority(&self, authority: Authority) {
        let mut state = self.write();
        if state.authority != authority {
            state.authority = authority;
            self.publish(&mut state);
        }
    }

    /// Says that the zone is served no more: those who still hold it can't change it.
    pub(super) fn retract(&self) {
        self.write().is_served = false;
    }

    /// Applies changes, each as a whole or not at all, and makes them visible together.
    pub(super) fn apply(&self, changes: &[Change]) -> Vec<Outcome> {
        let mut state = self.write();
        if let Err(error) = state.check_served() {
            return changes.iter().map(|_| Outcome::NotSent(error.clone())).collect();
        }
        let outcomes: Vec<Outcome> = changes.iter().map(|change| state.carry_out(change)).collect();
        let is_changed = outcomes
            .iter()
            .any(|outcome| matches!(outcome, Outcome::Applied(effects) if !effects.is_empty()));
        if is_changed {
            self.publish(&mut state);
        }
        outcomes
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the serial number on (RFC 1982: it wraps) and wakes the tasks that follow it.
    fn publish(&self, state: &mut State) {
        state.serial = state.serial.wrapping_add(1);
        let records = given(&state.tree, &self.domain);
        state.put_apex(records);
        if state.is_known {
            self.serials.send_replace(Some(state.serial));
        }
    }
}

// === impl State ===

impl State {
    /// The records.
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Who speaks for the zone.
    pub(super) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The SOA record.
    pub(super) fn soa(&self) -> Option<RecordSet> {
        let apex = self.tree.apex();
        RecordSet::of(apex, self.tree.get(apex.as_str())?, RecordType::SOA)
    }

    /// The serial number.
    pub(super) fn serial(&self) -> u32 {
        self.serial
    }

    /// Whether it holds what is wanted of it.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    /// An error once the zone is served no more.
    pub(super) fn check_served(&self) -> Result<(), ProviderError> {
        if self.is_served { Ok(()) } else { Err(not_served(self.tree.apex())) }
    }

    fn carry_out(&mut self, change: &Change) -> Outcome {
        let draft = match Draft::of(change, &self.tree, &mut self.last_id) {
            Ok(draft) => draft,
            Err(error) => return Outcome::Refused(error),
        };
        for (name, records) in draft.names {
            match name == *self.tree.apex() {
                true => self.put_apex(records),
                false => self.tree.put(&name, records),
            }
        }
        Outcome::Applied(draft.effects)
    }

    /// Puts records at the apex, with the server's own: SOA always, NS unless NS records were given.
    fn put_apex(&mut self, mut records: Vec<Stored>) {
        if !has(&records, RecordType::NS) {
            records.extend(self.authority.ns());
        }
        records.push(self.authority.soa(self.serial));
        records.sort_by(|one, other| one.rdata.cmp(&other.rdata));
        let apex = self.tree.apex().clone();
        self.tree.put(&apex, records);
    }
}

/// Why a zone can't be opened, or was.
pub(super) fn not_served(domain: &Name) -> ProviderError {
    ProviderError::ZoneNotFound { message: format!("zone {domain} is not served by the built-in server") }
}
