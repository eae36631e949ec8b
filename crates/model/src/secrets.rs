//! The Secrets that our objects name: nothing is read that no object names.

use std::collections::{BTreeMap, BTreeSet};

use zonekeeper_api::{rbac::SERVICE_ACCOUNT, wellknown::SECRET_READER_CLUSTER_ROLE};

use crate::{
    Key,
    effects::{Effect, Effects},
};

/// The data of a Secret.
pub type Data = BTreeMap<String, Vec<u8>>;

/// What is known of a Secret.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretState {
    /// Nothing yet.
    Unread,
    /// It is there.
    Present(Data),
    /// It is not there.
    Absent,
    /// We may not read it.
    Forbidden,
}

/// All Secrets that an object names.
#[derive(Default)]
pub struct Secrets(BTreeMap<Key, SecretState>);

/// What a Secret's owner can do where we may not read it.
pub fn forbidden(key: &Key, own: &str) -> String {
    format!(
        "Secret {0}/{1} may not be read; allow it: kubectl create rolebinding {SECRET_READER_CLUSTER_ROLE} --namespace {0} --clusterrole {SECRET_READER_CLUSTER_ROLE} --serviceaccount {own}:{SERVICE_ACCOUNT}",
        key.0, key.1
    )
}

// === impl Secrets ===

impl Secrets {
    /// What is known of a Secret, which is watched from now on.
    pub fn get(&mut self, key: &Key, effects: &mut Effects) -> SecretState {
        if let Some(state) = self.0.get(key) {
            return state.clone();
        }
        effects.push(Effect::WatchSecret(key.clone()));
        self.0.insert(key.clone(), SecretState::Unread);
        SecretState::Unread
    }

    /// Notes what a watch saw; says whether that is news.
    pub fn note(&mut self, key: &Key, new: SecretState) -> bool {
        match self.0.get_mut(key) {
            Some(state) if *state != new => {
                *state = new;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Ends the watches of Secrets that no object names any more.
    pub fn keep(&mut self, named: &BTreeSet<Key>, effects: &mut Effects) {
        self.0.retain(|key, _| {
            let is_named = named.contains(key);
            if !is_named {
                effects.push(Effect::UnwatchSecret(key.clone()));
            }
            is_named
        });
    }
}
