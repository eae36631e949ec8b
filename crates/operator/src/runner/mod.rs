//! Carries out what the model decides, and turns watches, answers and time into events.

mod addresses;
pub mod check;
mod clock;
pub mod open;
mod parent;
pub mod pass;
mod targets;
pub mod tasks;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams},
};
use tokio::{
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
    task::AbortHandle,
    time::{Instant, sleep_until},
};
use zonekeeper_api::wellknown::MANAGER;
use zonekeeper_providers::{cloudflare::budget::Budgets, fence::Fence, lookup::Resolver};
use zonekeeper_sources::object::Kind;

use zonekeeper_model::{Event, Key, Model, effects::Effect};

use crate::{
    address_source::Reachable,
    declare,
    engine::open::Engine,
    kube::{
        children, confirm, events::EventPublisher, fenced::fenced, fresh::Memory, marker_key, secrets,
        source_watch, watch, writer::Writer,
    },
    runner::check::CheckContext,
    serve::{Ear, Health, Metrics},
};

/// How many messages are taken in before zones are woken: a burst becomes one pass.
const AT_ONCE: usize = 512;
/// How long to sleep where only a message can wake us.
const IDLE: Duration = Duration::from_secs(3600);

/// How the operator runs.
pub struct Options {
    pub client: Client,
    /// One that does not try again by itself.
    pub watching: Client,
    /// Where its own Secrets are.
    pub namespace: String,
    /// Which DNSProviders are its own.
    pub controller_name: String,
    /// Which networks AddressSources may ask.
    pub reachable: Reachable,
    /// What it asks about delegations.
    pub resolver: Resolver,
    /// Whether it may still write.
    pub fence: Arc<dyn Fence>,
    pub metrics: Arc<Metrics>,
    pub health: Arc<Health>,
    /// Where it can be asked.
    pub ear: Arc<Ear>,
    /// Told when it is time to end.
    pub ending: Arc<Notify>,
}

/// Everything that effects need.
struct Runner {
    client: Client,
    /// The one for watches of source objects, which does not try again by itself.
    watching: Client,
    events: UnboundedSender<Event>,
    writer: Writer,
    teller: EventPublisher,
    reachable: Reachable,
    resolver: Resolver,
    fence: Arc<dyn Fence>,
    budgets: Budgets,
    metrics: Arc<Metrics>,
    /// Zones and providers that are open.
    engine: Arc<Engine>,
    /// What fresh reads have shown a moment ago.
    memory: Arc<Memory>,
    secrets: BTreeMap<Key, AbortHandle>,
    kinds: BTreeMap<Kind, AbortHandle>,
}

/// Runs the operator until it is told to end, and what was begun is done.
pub async fn run(options: Options, owner: String) {
    let (sender, mut messages) = unbounded_channel();
    let (asking, mut questions) = unbounded_channel();
    options.ear.open(asking);
    watch::start(&options.client, &sender);
    let instance = std::env::var("POD_NAME").unwrap_or_else(|_| "zonekeeper".into());
    let mut model = Model::new(options.namespace, options.controller_name, owner, clock::now());
    let mut runner = Runner {
        writer: Writer::new(options.client.clone(), sender.clone(), options.fence.clone()),
        teller: EventPublisher::new(
            options.client.clone(),
            instance,
            options.metrics.clone(),
            options.fence.clone(),
        ),
        client: options.client,
        watching: options.watching,
        events: sender,
        reachable: options.reachable,
        resolver: options.resolver,
        fence: options.fence,
        budgets: Budgets::default(),
        metrics: options.metrics,
        engine: Arc::default(),
        memory: Arc::default(),
        secrets: BTreeMap::new(),
        kinds: BTreeMap::new(),
    };
    loop {
        let due = model.next_alarm().map_or_else(|| Instant::now() + IDLE, Instant::from_std);
        tokio::select! {
            biased;
            () = options.ending.notified(), if !model.is_ending => {
                tracing::info!("ending; what was begun is finished");
                model.is_ending = true;
            }
            message = messages.recv() => {
                let Some(message) = message else { return };
                runner.take_in(&mut model, message, &mut messages);
            }
            Some(question) = questions.recv() => {
                // The question may have been given up.
                let _ = question.send(model.overview());
            }
            () = sleep_until(due) => {}
        }
        model.is_bursting = runner.writer.has_many_under_way();
        runner.execute(model.proceed(clock::now()));
        runner.metrics.set_queue("messages", messages.len());
        if model.is_ending && !model.is_busy() {
            return;
        }
        report_health(&options.health, &model);
    }
}

fn report_health(health: &Health, model: &Model) {
    if model.is_synced() {
        health.set_synced();
    }
    health.beat();
}

// === impl Runner ===

impl Runner {
    /// Gives the model a message, and those that wait behind it.
    fn take_in(&mut self, model: &mut Model, first: Event, messages: &mut UnboundedReceiver<Event>) {
        let now = clock::now();
        model.is_bursting = self.writer.has_many_under_way();
        self.execute(model.apply(first, now));
        for _ in 1..AT_ONCE {
            let Ok(message) = messages.try_recv() else { break };
            self.execute(model.apply(message, now));
        }
    }

    fn execute(&mut self, effects: Vec<Effect>) {
        effects.into_iter().for_each(|effect| self.execute_one(effect));
    }

    fn execute_one(&mut self, effect: Effect) {
        match effect {
            Effect::Write(write) => self.writer.send(write),
            Effect::WriteEndpoint { object, resource, status } => {
                let api =
                    Api::<DynamicObject>::namespaced_with(self.client.clone(), &object.namespace, &resource);
                let fence = self.fence.clone();
                tokio::spawn(async move {
                    let parameters =
                        PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
                    let patch = Patch::Merge(&status);
                    let write = api.patch_status(&object.name, &parameters, &patch);
                    if let Err(error) = fenced(&fence, write).await {
                        tracing::debug!(%error, %object, "the status of a DNSEndpoint was not taken");
                    }
                });
            }
            Effect::WriteChild(child, write) => {
                self.answer(children::write(child, write, self.client.clone(), self.fence.clone()));
            }
            Effect::AskParent { zone, domain, attempt } => {
                self.answer(parent::ask(zone, domain, attempt, self.resolver.clone()));
            }
            Effect::ResolveTarget { record, target, attempt } => {
                self.answer(targets::resolve(record, target, attempt, self.resolver.clone()));
            }
            Effect::Publish(saying) => self.teller.say(saying),
            Effect::WatchSecret(key) => {
                let watch = secrets::watch(self.client.clone(), self.events.clone(), key.clone());
                replace(&mut self.secrets, key, watch);
            }
            Effect::UnwatchSecret(key) => {
                if let Some(watch) = self.secrets.remove(&key) {
                    watch.abort();
                }
            }
            Effect::WatchKind(kind, keep) => {
                let watch = source_watch::follow(self.watching.clone(), self.events.clone(), kind, keep);
                replace(&mut self.kinds, kind, watch);
            }
            Effect::CheckProvider(request) => {
                let (budgets, fence) = (self.budgets.clone(), self.fence.clone());
                let (metrics, engine) = (self.metrics.clone(), self.engine.clone());
                let context = CheckContext { budgets, fence, metrics, engine };
                self.answer(check::check(*request, context));
            }
            Effect::OpenZone(request) => self.answer(open::open(request, self.engine.clone())),
            Effect::Confirm(request) => {
                self.answer(confirm::confirm(*request, self.client.clone(), self.memory.clone()));
            }
            Effect::StartPass(request) => {
                self.answer(pass::run(*request, self.engine.clone(), self.metrics.clone()));
            }
            Effect::AskAddresses(request) => self.answer(addresses::ask(*request, self.reachable.clone())),
            Effect::CreateMarkerKey(key) => {
                self.answer(marker_key::create(self.client.clone(), key, self.fence.clone()));
            }
            Effect::Declare(provider, zone) => {
                let named =
                    declare::domain(&zone).and_then(|domain| Ok((domain, declare::authority(&zone)?)));
                if let (Some(builtin), Ok((domain, authority))) = (self.engine.builtin(&provider), named) {
                    builtin.declare(domain, authority);
                }
            }
            Effect::Retract(provider, domain) => {
                if let Some(builtin) = self.engine.builtin(&provider) {
                    builtin.retract(&domain);
                }
            }
            Effect::UseProvider(provider, attempt) => self.engine.use_provider(&provider, attempt),
            Effect::CloseProvider(provider) => {
                if let Some(builtin) = self.engine.close_provider(&provider) {
                    tokio::spawn(async move { builtin.shutdown().await });
                }
            }
            Effect::CloseZone(zone) => self.engine.close_zone(&zone),
            Effect::Measure(figures) => {
                self.metrics.set(*figures);
                let budgets = self.engine.budgets().into_iter();
                budgets.for_each(|(provider, left)| self.metrics.set_budget(provider, left));
                self.metrics.set_queue("events", self.teller.waiting());
            }
        }
    }

    /// Does something beside the model, which gets the answer.
    fn answer(&self, work: impl Future<Output = Event> + Send + 'static) {
        let events = self.events.clone();
        tokio::spawn(async move {
            // The model ends with the program.
            let _ = events.send(work.await);
        });
    }
}

/// Puts a watch in place of the one before, which ends.
fn replace<K: Ord>(watches: &mut BTreeMap<K, AbortHandle>, key: K, watch: AbortHandle) {
    if let Some(before) = watches.insert(key, watch) {
        before.abort();
    }
}
