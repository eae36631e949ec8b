//! Kubernetes Events: one per change of an object's state, told once.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use tokio::sync::{Semaphore, mpsc};
use zonekeeper_api::Reason;

use crate::cluster::conditions::Verdict;

/// What waits to be told; beyond that the newest are dropped, so that a flood never fills the memory.
const WAITING: usize = 5_000;
const AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(10);

/// Tells what happened to objects, beside the hub.
#[derive(Clone)]
pub struct Teller {
    queue: mpsc::Sender<(ObjectReference, Event)>,
}

// === impl Teller ===

impl Teller {
    /// A teller in the name of this instance.
    pub fn new(client: Client, instance: String) -> Self {
        let (queue, mut told) = mpsc::channel::<(ObjectReference, Event)>(WAITING);
        let reporter = Reporter { controller: "zonekeeper.dev/controller".into(), instance: Some(instance) };
        let recorder = Recorder::new(client, reporter);
        tokio::spawn(async move {
            let slots = Arc::new(Semaphore::new(AT_ONCE));
            while let Some((object, event)) = told.recv().await {
                let Ok(slot) = slots.clone().acquire_owned().await else { return };
                let recorder = recorder.clone();
                tokio::spawn(async move {
                    let _slot = slot;
                    match tokio::time::timeout(PATIENCE, recorder.publish(&event, &object)).await {
                        Ok(Ok(())) => {}
                        Ok(Err(error)) => tracing::debug!(%error, "an Event was not taken"),
                        Err(_) => tracing::debug!("an Event was not taken in time"),
                    }
                });
            }
        });
        Self { queue }
    }

    /// Tells the state of an object.
    pub fn tell(&self, object: ObjectReference, verdict: &Verdict) {
        self.say(object, verdict.reason, &verdict.message, verdict.is_ready() || verdict.is_reconciling());
    }

    /// Tells something of an object.
    pub fn say(&self, object: ObjectReference, reason: Reason, message: &str, is_normal: bool) {
        let event = Event {
            type_: if is_normal { EventType::Normal } else { EventType::Warning },
            reason: reason.as_str().to_owned(),
            note: Some(message.chars().take(1_000).collect()),
            action: "Reconcile".into(),
            secondary: None,
        };
        if self.queue.try_send((object, event)).is_err() {
            tracing::debug!("too many Events wait; one is dropped");
        }
    }
}
