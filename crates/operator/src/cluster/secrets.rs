//! The Secrets that our objects name, each watched by itself: nothing is read that nobody named.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt,
        utils::Backoff,
        watcher::{self, Event, watcher},
    },
};
use tokio::{sync::mpsc::UnboundedSender, task::AbortHandle};
use zonekeeper_api::{rbac::SERVICE_ACCOUNT, wellknown::SECRET_READER_CLUSTER_ROLE};

use crate::cluster::{
    Key, Message,
    effects::{Effect, Effects},
    tasks::{self, Task},
};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A right that was granted is seen within 5 s.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

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

/// Pauses between tries of a watch that fails.
struct Pauses(Duration);

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

// === impl Pauses ===

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.0 = FIRST_PAUSE;
    }
}

/// Watches a Secret until it is aborted; what it sees arrives at the hub.
pub fn watch(client: Client, hub: UnboundedSender<Message>, key: Key) -> AbortHandle {
    let begin = move || follow(client.clone(), key.clone(), hub.clone());
    tokio::spawn(tasks::kept_up(Task::Watch, begin)).abort_handle()
}

async fn follow(client: Client, key: Key, hub: UnboundedSender<Message>) {
    let api: Api<Secret> = Api::namespaced(client, &key.0);
    let config = watcher::Config::default().fields(&format!("metadata.name={}", key.1));
    let stream = watcher(api, config).backoff(Pauses(FIRST_PAUSE));
    pin_mut!(stream);
    let mut listed = false;
    while let Some(event) = stream.next().await {
        let state = match event {
            Ok(Event::Apply(secret)) => SecretState::Present(data(secret)),
            Ok(Event::Delete(_)) => SecretState::Absent,
            Ok(Event::Init) => {
                listed = false;
                continue;
            }
            Ok(Event::InitApply(secret)) => {
                listed = true;
                SecretState::Present(data(secret))
            }
            Ok(Event::InitDone) if listed => continue,
            Ok(Event::InitDone) => SecretState::Absent,
            Err(error) if is_forbidden(&error) => SecretState::Forbidden,
            // What was read before still holds.
            Err(_) => continue,
        };
        if hub.send(Message::Secret(key.clone(), state)).is_err() {
            return;
        }
    }
}

fn is_forbidden(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 403,
        watcher::Error::WatchError(status) => status.code == 403,
        _ => false,
    }
}

fn data(secret: Secret) -> Data {
    secret.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_below_five_seconds() {
        let mut pauses = Pauses(FIRST_PAUSE);
        let millis: Vec<u128> = pauses.by_ref().take(6).map(|pause| pause.as_millis()).collect();
        assert_eq!(millis, [500, 1000, 2000, 4000, 4000, 4000]);
        pauses.reset();
        assert_eq!(pauses.next(), Some(FIRST_PAUSE));
    }
}
