//! One watch per kind of source object, begun when a zone reads the kind or an object looks at it.

use std::{collections::BTreeSet, time::Duration};

use futures::{StreamExt, pin_mut};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ApiResource, DynamicObject},
    runtime::watcher::{self, Event, watcher},
};
use tokio::{sync::mpsc::UnboundedSender, task::AbortHandle};
use zonekeeper_sources::object::{Keep, Kind, Object, ObjectRef};

use zonekeeper_model::{
    Event as ModelEvent,
    sources::{
        kinds,
        news::{News, Standing},
    },
};

use crate::{
    kube::resources,
    runner::tasks::{self, Task},
};

/// How long until a kind that is not there is looked for again.
const MISSING: Duration = Duration::from_secs(5);
const FORBIDDEN: Duration = Duration::from_secs(5);
const FAILING: Duration = Duration::from_secs(1);
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Follows a kind until it is aborted; what it sees arrives at the model.
pub fn follow(client: Client, events: UnboundedSender<ModelEvent>, kind: Kind, keep: Keep) -> AbortHandle {
    let follower = Follower { client, events, kind, keep };
    tokio::spawn(async move { tasks::kept_up(Task::Watch, || follower.run()).await }).abort_handle()
}

struct Follower {
    client: Client,
    events: UnboundedSender<ModelEvent>,
    kind: Kind,
    keep: Keep,
}

// === impl Follower ===

impl Follower {
    async fn run(&self) {
        let mut wait = FIRST_RETRY;
        loop {
            match resources::find(&self.client, self.kind).await {
                Ok(Some(resource)) => {
                    wait = FIRST_RETRY;
                    self.watch(resource).await;
                }
                Ok(None) => {
                    self.tell(News::Standing(self.kind, Standing::Missing));
                    tokio::time::sleep(MISSING).await;
                }
                Err(error) => {
                    tracing::warn!(kind = self.kind.as_str(), %error, "a kind can't be looked for");
                    self.tell(News::Standing(self.kind, Standing::Failing));
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_RETRY);
                }
            }
        }
    }

    /// Watches until something goes wrong.
    async fn watch(&self, resource: ApiResource) {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let stream = watcher(api, watcher::Config::default());
        pin_mut!(stream);
        let mut listed = BTreeSet::new();
        while let Some(event) = stream.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => {
                    listed.insert((object.namespace().unwrap_or_default(), object.name_any()));
                    self.tell(self.read(object));
                }
                Ok(Event::InitDone) => {
                    self.tell(News::Listed(self.kind, std::mem::take(&mut listed)));
                    self.tell(News::Standing(self.kind, Standing::Following(resource.clone())));
                }
                Ok(Event::Apply(object)) => self.tell(self.read(object)),
                Ok(Event::Delete(object)) => match resources::is_staying(&self.client, self.kind).await {
                    Ok(true) => self.tell(News::Gone(self.reference(&object))),
                    Ok(false) => return self.pause(Standing::Missing, MISSING).await,
                    Err(error) => {
                        tracing::warn!(kind = self.kind.as_str(), %error, "a definition can't be read");
                        return self.pause(Standing::Failing, FAILING).await;
                    }
                },
                Err(error) => {
                    tracing::warn!(kind = self.kind.as_str(), %error, "the watch is begun again");
                    return match code(&error) {
                        Some(404) => self.pause(Standing::Missing, MISSING).await,
                        Some(403) => self.pause(Standing::Forbidden, FORBIDDEN).await,
                        _ => self.pause(Standing::Failing, FAILING).await,
                    };
                }
            }
        }
    }

    /// Waits before the next watch, which begins with a list: only that says that nothing was missed.
    async fn pause(&self, standing: Standing, pause: Duration) {
        self.tell(News::Standing(self.kind, standing));
        tokio::time::sleep(pause).await;
    }

    fn read(&self, mut object: DynamicObject) -> News {
        object.metadata.managed_fields = None;
        let reference = self.reference(&object);
        let resource = kinds::reference(&reference, object.uid());
        let read = serde_json::to_value(&object)
            .map_err(|error| error.to_string())
            .and_then(|json| Object::read(self.kind, json, self.keep).map_err(|error| error.to_string()));
        match read {
            Ok(object) => News::Applied(Box::new(object)),
            Err(error) => News::Unreadable(reference, Box::new(resource), error),
        }
    }

    fn reference(&self, object: &DynamicObject) -> ObjectRef {
        let metadata = object.meta();
        ObjectRef::new(
            self.kind,
            metadata.namespace.clone().unwrap_or_default(),
            metadata.name.clone().unwrap_or_default(),
        )
    }

    fn tell(&self, news: News) {
        // The model ends with the program.
        let _ = self.events.send(ModelEvent::Source(news));
    }
}

/// The API's own code of an error.
fn code(error: &watcher::Error) -> Option<u16> {
    let (watcher::Error::InitialListFailed(kube::Error::Api(status))
    | watcher::Error::WatchStartFailed(kube::Error::Api(status))
    | watcher::Error::WatchFailed(kube::Error::Api(status))) = error
    else {
        return None;
    };
    Some(status.code)
}
