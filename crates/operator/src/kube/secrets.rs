//! One watch for each Secret that an object names.

use std::time::Duration;

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

use zonekeeper_model::{
    Event as ModelEvent, Key,
    secrets::{Data, SecretState},
};

use crate::runner::tasks::{self, Task};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A right that was granted is seen within 5 s.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// Pauses between tries of a watch that fails.
struct Pauses(Duration);

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

/// Watches a Secret until it is aborted; what it sees arrives at the model.
pub fn watch(client: Client, events: UnboundedSender<ModelEvent>, key: Key) -> AbortHandle {
    let begin = move || follow(client.clone(), key.clone(), events.clone());
    tokio::spawn(tasks::kept_up(Task::Watch, begin)).abort_handle()
}

async fn follow(client: Client, key: Key, events: UnboundedSender<ModelEvent>) {
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
        if events.send(ModelEvent::Secret(key.clone(), state)).is_err() {
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
