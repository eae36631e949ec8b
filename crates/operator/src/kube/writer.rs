//! Our own writes: statuses by server-side apply, finalizers, each beside the model.

use std::sync::Arc;

use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use tokio::sync::{Semaphore, mpsc::UnboundedSender};
use zonekeeper_api::{AddressSource, DNSProvider, DNSZone, RecordSet, wellknown::MANAGER};

use zonekeeper_model::{
    Event as ModelEvent,
    objects::Kind,
    outbox::{Part, Writable, Write},
};
use zonekeeper_providers::fence::Fence;

use crate::{
    kube::fenced::fenced,
    runner::tasks::{self, Task},
};

/// More at once would only wait in the API server.
const AT_ONCE: usize = 24;
/// Statuses of RecordSets are many and tell what was done; they must not keep waiting what is to be done, which begins
/// with a finalizer, or with the guard's memory in the status of a DNSZone.
const STATUSES_AT_ONCE: usize = 8;
/// And fewer while that is being written.
const STATUSES_MEANWHILE: usize = 2;
/// More of that at once belongs to a burst.
const FEW: usize = 2;

/// Writes objects beside the model.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    events: UnboundedSender<ModelEvent>,
    fence: Arc<dyn Fence>,
    slots: Arc<Semaphore>,
    status_slots: Arc<Semaphore>,
    meanwhile: Arc<Semaphore>,
}

// === impl Writer ===

impl Writer {
    /// A writer that answers to the model, and writes while the lease is held.
    pub fn new(client: Client, events: UnboundedSender<ModelEvent>, fence: Arc<dyn Fence>) -> Self {
        let slots = |count| Arc::new(Semaphore::new(count));
        Self {
            client,
            events,
            fence,
            slots: slots(AT_ONCE),
            status_slots: slots(STATUSES_AT_ONCE),
            meanwhile: slots(STATUSES_MEANWHILE),
        }
    }

    /// Whether much is being written with which work begins: finalizers above all, of objects that are about to wish something.
    pub fn has_many_under_way(&self) -> bool {
        AT_ONCE - self.slots.available_permits() > FEW
    }

    /// Waits until something may be written, and holds its place until it is.
    async fn turn(&self, can_wait: bool) -> impl Sized {
        if !can_wait {
            return (self.slots.acquire().await, None);
        }
        let slot = self.status_slots.acquire().await;
        let is_urgent_work_done = self.slots.available_permits() == AT_ONCE;
        (slot, if is_urgent_work_done { None } else { Some(self.meanwhile.acquire().await) })
    }

    /// Writes beside the model, which gets the answer.
    pub fn send(&self, write: Write) {
        let (client, namespace) = (self.client.clone(), write.key.0.clone());
        match write.kind {
            Kind::Provider => self.send_to(Api::<DNSProvider>::all(client), write),
            Kind::Zone => self.send_to(Api::<DNSZone>::namespaced(client, &namespace), write),
            Kind::RecordSet => self.send_to(Api::<RecordSet>::namespaced(client, &namespace), write),
            Kind::AddressSource => self.send_to(Api::<AddressSource>::namespaced(client, &namespace), write),
            // Namespaces are never written.
            Kind::Namespace => {}
        }
    }

    fn send_to<K: Writable>(&self, api: Api<K>, Write { key, part, body, .. }: Write) {
        let writer = self.clone();
        tokio::spawn(async move {
            let _turn = writer.turn(K::KIND == Kind::RecordSet && part != Part::Finalizers).await;
            let write = async {
                match part {
                    Part::Status => {
                        let parameters = PatchParams::apply(MANAGER).force();
                        api.patch_status(&key.1, &parameters, &Patch::Apply(&body)).await
                    }
                    Part::Conditions => api.patch_status(&key.1, &merging(), &Patch::Merge(&body)).await,
                    Part::Finalizers => api.patch(&key.1, &merging(), &Patch::Merge(&body)).await,
                }
            };
            let message = match tasks::caught(Task::Write, fenced(&writer.fence, write)).await {
                // Its answer can't be read either.
                _ if part == Part::Conditions => return,
                Some(Ok(mut object)) => {
                    object.meta_mut().managed_fields = None;
                    ModelEvent::Written(K::written(Box::new(object)))
                }
                Some(Err(error)) => {
                    let is_refused = part == Part::Status && is_refusal(&error);
                    ModelEvent::NotWritten { kind: K::KIND, key, error: error.to_string(), is_refused }
                }
                None => {
                    let error = Task::Write.error().to_string();
                    ModelEvent::NotWritten { kind: K::KIND, key, error, is_refused: false }
                }
            };
            // The model ends with the program.
            let _ = writer.events.send(message);
        });
    }
}

/// Whether the API server refused a write for what it says, and would again: not for an object that is gone, or for
/// another client's write in between.
fn is_refusal(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 400 | 403 | 413 | 422))
}

fn merging() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() }
}
