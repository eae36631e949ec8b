//! One operator process: the real model and the real engine, on the simulated API server and provider.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep_until},
};
use zonekeeper::{
    declare::provider_settings,
    engine::open::Engine,
    runner::{open, pass},
    serve::Metrics,
};
use zonekeeper_model::{
    Event, Key, Model,
    credentials::{CheckRequest, Checked},
    effects::Effect,
    objects::Kind,
    outbox::{Part, Write},
    providers::Active,
    secrets::SecretState,
};
use zonekeeper_providers::fence::Fence;
use zonekeeper_sources::object::Kind as SourceKind;

use crate::{confirm::confirm, lease::Lease, provider::SimProvider, watch, world::World};

pub const NAMESPACE: &str = "zonekeeper-system";
const CONTROLLER: &str = "zonekeeper.dev/controller";
/// The UID of the kube-system namespace.
const OWNER: &str = "8d3c7d0e-0000-4000-8000-000000000000";
/// As many messages as the runner takes in before zones are woken.
const AT_ONCE: usize = 512;
const IDLE: Duration = Duration::from_secs(3600);

/// A process that runs until it is dropped.
pub struct Replica {
    pub lease: Arc<Lease>,
    main: AbortHandle,
}

struct Process {
    world: Arc<World>,
    name: Arc<str>,
    fence: Arc<dyn Fence>,
    engine: Arc<Engine>,
    metrics: Arc<Metrics>,
    events: UnboundedSender<Event>,
    tasks: JoinSet<()>,
    secrets: std::collections::BTreeMap<Key, AbortHandle>,
    kinds: std::collections::BTreeMap<SourceKind, AbortHandle>,
}

// === impl Replica ===

impl Replica {
    pub fn start(world: &Arc<World>, name: &str, lease: Arc<Lease>) -> Self {
        world.lock().tell(|| format!("{name} starts"));
        let (events, messages) = unbounded_channel();
        let process = Process {
            world: world.clone(),
            name: name.into(),
            fence: lease.clone(),
            engine: Arc::default(),
            metrics: Arc::default(),
            events,
            tasks: JoinSet::new(),
            secrets: Default::default(),
            kinds: Default::default(),
        };
        Self { lease, main: tokio::spawn(process.run(messages)).abort_handle() }
    }

    pub fn is_running(&self) -> bool {
        !self.main.is_finished()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.main.abort();
    }
}

// === impl Process ===

impl Process {
    async fn run(mut self, mut messages: UnboundedReceiver<Event>) {
        let clock = self.world.lock().clock;
        for kind in Kind::ALL {
            self.tasks.spawn(watch::follow_ours(self.world.clone(), self.events.clone(), kind));
        }
        let mut model = Model::new(NAMESPACE.into(), CONTROLLER.into(), OWNER.into(), clock.now());
        loop {
            let due = model.next_alarm().map_or_else(|| Instant::now() + IDLE, Instant::from_std);
            tokio::select! {
                biased;
                message = messages.recv() => {
                    let Some(message) = message else { return };
                    let now = clock.now();
                    let mut effects = model.apply(message, now);
                    for _ in 1..AT_ONCE {
                        let Ok(message) = messages.try_recv() else { break };
                        effects.extend(model.apply(message, now));
                    }
                    if self.execute(effects).is_none() { return }
                }
                () = sleep_until(due) => {}
            }
            if self.execute(model.proceed(clock.now())).is_none() {
                return;
            }
            while self.tasks.try_join_next().is_some() {}
        }
    }

    /// Carries effects out; none where the process is killed on the way.
    fn execute(&mut self, effects: Vec<Effect>) -> Option<()> {
        for effect in effects {
            {
                let mut world = self.world.lock();
                if let Some(left) = &mut world.effects_left {
                    if *left == 0 {
                        world.effects_left = None;
                        let name = self.name.clone();
                        world.tell(|| format!("{name} is killed at an effect"));
                        return None;
                    }
                    *left -= 1;
                }
            }
            self.execute_one(effect);
        }
        Some(())
    }

    fn execute_one(&mut self, effect: Effect) {
        let (world, events) = (self.world.clone(), self.events.clone());
        match effect {
            Effect::Write(write) => {
                let (name, answer) = (self.name.clone(), self.events.clone());
                let fence = self.fence.clone();
                self.tasks.spawn(async move {
                    drop(answer.send(carry_out(write, &world, &name, &*fence).await));
                });
            }
            Effect::Publish(event) => {
                let name = self.name.clone();
                world
                    .lock()
                    .tell(|| format!("{name} says {} {}", event.object.name.unwrap_or_default(), event.note));
            }
            Effect::WatchSecret(key) => {
                let watch = self.tasks.spawn(watch::follow_secret(world, events, key.clone()));
                if let Some(before) = self.secrets.insert(key, watch) {
                    before.abort();
                }
            }
            Effect::UnwatchSecret(key) => {
                if let Some(watch) = self.secrets.remove(&key) {
                    watch.abort();
                }
            }
            Effect::WatchKind(kind, keep) => {
                let watch = self.tasks.spawn(watch::follow_source(world, events, kind, keep));
                if let Some(before) = self.kinds.insert(kind, watch) {
                    before.abort();
                }
            }
            Effect::CheckProvider(request) => {
                let (engine, fence, name) = (self.engine.clone(), self.fence.clone(), self.name.clone());
                self.answer(check(*request, engine, world, fence, name));
            }
            Effect::OpenZone(request) => self.answer(open::open(request, self.engine.clone())),
            Effect::Confirm(request) => self.answer(confirm(*request, world)),
            Effect::StartPass(request) => {
                self.answer(pass::run(*request, self.engine.clone(), self.metrics.clone()));
            }
            Effect::CreateMarkerKey(key) => self.answer(create_key(world, key)),
            Effect::UseProvider(provider, attempt) => self.engine.use_provider(&provider, attempt),
            Effect::CloseProvider(provider) => drop(self.engine.close_provider(&provider)),
            Effect::CloseZone(zone) => self.engine.close_zone(&zone),
            // No provider of these histories has a server inside, and no actor makes what these are for.
            Effect::WriteEndpoint { .. }
            | Effect::WriteChild(..)
            | Effect::AskParent { .. }
            | Effect::ResolveTarget { .. }
            | Effect::AskAddresses(_)
            | Effect::Declare(..)
            | Effect::Retract(..)
            | Effect::Measure(_) => {}
        }
    }

    fn answer(&mut self, work: impl Future<Output = Event> + Send + 'static) {
        let events = self.events.clone();
        self.tasks.spawn(async move { drop(events.send(work.await)) });
    }
}

async fn check(
    request: CheckRequest,
    engine: Arc<Engine>,
    world: Arc<World>,
    fence: Arc<dyn Fence>,
    replica: Arc<str>,
) -> Event {
    let CheckRequest { name, attempt, object, credentials, secrets, before } = request;
    let result = async {
        let registry = provider_settings(&object, &credentials)?.registry;
        let open = match before.and_then(|attempt| engine.provider(&name, attempt)) {
            Some(open) => open,
            None => {
                let token = zonekeeper_model::declare::Credentials::secret(
                    &credentials,
                    None,
                    "cloudflare",
                    "apiToken",
                );
                let token = token.unwrap_or_default();
                SimProvider { world, replica, fence, token }.open_provider()
            }
        };
        let standing = open.provider.check().await?;
        engine.provider_opened(&name, attempt, open);
        Ok(Active { attempt, registry, standing, spec: object.spec.clone(), secrets, since: 0 })
    };
    let result = result.await;
    Event::Checked(Box::new(Checked { name, attempt, result }))
}

async fn create_key(world: Arc<World>, key: Key) -> Event {
    let latency = world.lock().api_latency();
    tokio::time::sleep(latency).await;
    let data = [("current".to_owned(), b"a key that signs".to_vec())].into();
    let mut state = world.lock();
    if state.faults.api_down > state.clock.millis() {
        return Event::KeyMade(key, Err("the API server does not answer".into()));
    }
    state.secrets.entry(key.clone()).or_insert(SecretState::Present(data));
    drop(state);
    world.changed.notify_waiters();
    Event::KeyMade(key, Ok(()))
}

/// One of our writes on its way to the API server and back.
async fn carry_out(write: Write, world: &World, replica: &str, fence: &dyn Fence) -> Event {
    let (kind, key) = (write.kind, write.key.clone());
    let failed = |error: &str, is_refused| Event::NotWritten {
        kind,
        key: key.clone(),
        error: error.to_owned(),
        is_refused,
    };
    let (before, after) = {
        let mut world = world.lock();
        (world.api_latency(), world.api_latency())
    };
    tokio::time::sleep(before).await;
    let written = {
        let mut state = world.lock();
        if state.faults.api_down > state.clock.millis() {
            return failed("the API server does not answer", false);
        }
        if state.faults.is_conflict() && state.random.percent(50) {
            return failed("409: the object has been modified", false);
        }
        if fence.time_left().is_none() {
            return failed("not written: this replica does not hold the lease", false);
        }
        let written = state.cluster.write(&write);
        state.writes += 1;
        let part = write.part;
        let code = written.as_ref().err().map(|refusal| refusal.code);
        state.tell(|| {
            let what = match part {
                Part::Status => status_line(write.body.get()),
                Part::Conditions | Part::Finalizers => write.body.get().to_owned(),
            };
            format!("{replica} patches {kind:?} {}/{} {part:?} {what} {code:?}", key.0, key.1)
        });
        written
    };
    world.changed.notify_waiters();
    tokio::time::sleep(after).await;
    if world.lock().faults.is_conflict() {
        return failed("the reply was lost", false);
    }
    match written {
        Ok(written) => Event::Written(written),
        Err(refusal) => {
            let is_refused = write.part == Part::Status && matches!(refusal.code, 400 | 403 | 413 | 422);
            failed(&refusal.message, is_refused)
        }
    }
}

/// What a status says, in short.
fn status_line(body: &str) -> String {
    let Ok(body) = serde_json::from_str::<serde_json::Value>(body) else { return String::new() };
    let conditions = body["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
    let ready = ready.map(|ready| format!("{} {} {}", ready["status"], ready["reason"], ready["message"]));
    let (plan, guard) = (&body["status"]["plan"], &body["status"]["guard"]);
    let held = plan["held"].as_u64().unwrap_or(0);
    let held = if held > 0 { format!(" held {held} {}", plan["hash"]) } else { String::new() };
    let guard = if guard.is_null() { String::new() } else { format!(" guard {guard}") };
    format!("{}{held}{guard}", ready.unwrap_or_default())
}
