//! The handle that tests hold: starts a server, arranges its state, looks at what happened.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use serde_json::Value;
use tokio::{net::TcpListener, sync::watch};

use crate::{
    api::BASE,
    config::{Config, Plan},
    error::{Failure, Outcome},
    fault::{Fault, FaultPlan},
    http::{self, Shared, lock},
    journal::Entry,
    knobs::Knobs,
    name,
    record::Access,
    token::TokenGrant,
    transfers::Peer,
    world::{ACCOUNT, World},
    zone::Records,
};

/// All records of a zone at one moment.
#[derive(Clone)]
pub struct ZoneState(Records);

/// Cheap to clone; the server stops when the last handle drops.
#[derive(Clone)]
pub struct Sim {
    world: Shared,
    address: SocketAddr,
    /// The server runs for as long as this sender lives and says nothing.
    stop: Arc<watch::Sender<()>>,
}

impl Sim {
    pub async fn start(config: Config) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("listening on {}", config.listen))?;
        let address = listener.local_addr().context("reading the address listened on")?;
        let world = World::new(&config).context("opening the journal file")?;
        let world: Shared = Arc::new(std::sync::Mutex::new(world));
        let (stop, stopped) = watch::channel(());
        tokio::spawn(http::serve(listener, world.clone(), stopped));
        Ok(Self { world, address, stop: Arc::new(stop) })
    }

    /// Closes the listener and every connection, whoever else holds a handle.
    pub fn shutdown(&self) {
        let _ = self.stop.send(());
    }

    pub fn base_url(&self) -> String {
        format!("http://{}{BASE}", self.address)
    }

    /// Where `/sim/v1` lives.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The account that owns the zones made here.
    pub fn account(&self) -> &'static str {
        ACCOUNT
    }

    /// Creates an active zone and returns its id; the id of the existing one if there is one.
    pub fn zone(&self, name: &str, plan: Plan) -> String {
        let mut world = lock(&self.world);
        let name = name::zone_name(name).unwrap_or_else(|| name.to_owned());
        let existing = world.zones.values().find(|zone| zone.name == name).map(|zone| zone.id.clone());
        existing.unwrap_or_else(|| world.create_zone(name, plan, "active", ACCOUNT.to_owned()))
    }

    pub fn token(&self, grant: TokenGrant) -> String {
        lock(&self.world).issue(grant)
    }

    /// Makes a token of the caller's choice valid; false if it isn't shaped like one.
    pub fn accept_token(&self, token: &str, grant: TokenGrant) -> bool {
        let is_token = crate::auth::is_token(token);
        if is_token {
            lock(&self.world).accept(token.to_owned(), grant);
        }
        is_token
    }

    /// The global API key of a user, with all rights.
    pub fn api_key(&self, email: &str) -> String {
        let mut world = lock(&self.world);
        let key = world.ids.key();
        world.keys.insert(email.to_owned(), key.clone());
        key
    }

    /// Adds a record behind the API's back, validated as POST does; panics where POST would refuse.
    #[track_caller]
    pub fn seed(&self, zone_id: &str, record: Value) -> String {
        arranged("seeding", lock(&self.world).seed(zone_id, &record, Access::Writable))
    }

    /// The same, for a record that Cloudflare manages itself.
    #[track_caller]
    pub fn seed_read_only(&self, zone_id: &str, record: Value) -> String {
        arranged("seeding", lock(&self.world).seed(zone_id, &record, Access::ReadOnly))
    }

    /// Merges a patch into a record behind the API's back; panics where PATCH would refuse.
    #[track_caller]
    pub fn edit(&self, zone_id: &str, record_id: &str, patch: Value) {
        arranged("editing", lock(&self.world).edit(zone_id, record_id, &patch));
    }

    /// Deletes a record behind the API's back; panics if there is none.
    #[track_caller]
    pub fn remove(&self, zone_id: &str, record_id: &str) {
        arranged("removing", lock(&self.world).remove(zone_id, record_id));
    }

    /// As GET shows them, by (name, type, content).
    pub fn records(&self, zone_id: &str) -> Vec<Value> {
        lock(&self.world).records(zone_id)
    }

    /// What the next scan of a zone finds.
    pub fn discoverable(&self, zone_id: &str, records: Vec<Value>) {
        if let Some(zone) = lock(&self.world).zones.get_mut(zone_id) {
            zone.discoverable = records;
        }
    }

    pub fn journal(&self) -> Vec<Entry> {
        self.journal_since(0)
    }

    /// Entries after this sequence number.
    pub fn journal_since(&self, sequence: u64) -> Vec<Entry> {
        let world = lock(&self.world);
        world.journal.since(sequence, &world.knobs)
    }

    pub fn last_sequence(&self) -> u64 {
        lock(&self.world).journal.last_sequence()
    }

    /// Requests of clients so far, those that a fault swallowed included.
    pub fn requests(&self) -> usize {
        lock(&self.world).requests
    }

    /// How many bytes the bodies of requests and replies had.
    pub fn bytes(&self) -> usize {
        lock(&self.world).bytes
    }

    /// The same, without GET.
    pub fn writes(&self) -> usize {
        lock(&self.world).writes
    }

    /// Replaces the fault plan; all counts start again.
    pub fn faults(&self, plan: Vec<Fault>) {
        lock(&self.world).faults = FaultPlan::new(plan);
    }

    /// From now on listings show a zone as it was this long ago; one record by its id is never behind.
    pub fn lag(&self, lag: Duration) {
        lock(&self.world).lag = lag;
    }

    /// Takes a zone away, as its owner can in the dashboard.
    pub fn remove_zone(&self, zone_id: &str) {
        lock(&self.world).zones.remove(zone_id);
    }

    /// Deletes a zone as a request can: its records come back with a zone of that name.
    pub fn delete_zone(&self, zone_id: &str) {
        let mut world = lock(&self.world);
        if let Some(zone) = world.zones.remove(zone_id) {
            world.deleted.insert(zone.name, zone.records);
        }
    }

    /// Cloudflare is the registrar of a domain from now on.
    pub fn register(&self, domain: &str) {
        lock(&self.world).registered.insert(domain.to_owned());
    }

    /// The zones that are there, name and id.
    pub fn zones(&self) -> Vec<(String, String)> {
        lock(&self.world).zones.values().map(|zone| (zone.name.clone(), zone.id.clone())).collect()
    }

    /// The parent zone names Cloudflare's servers from now on, or others.
    pub fn delegate(&self, zone_id: &str, status: &'static str) {
        let mut world = lock(&self.world);
        let now = world.clock.tick();
        if let Ok(zone) = world.zone(zone_id) {
            zone.status = status;
            zone.activated_on = (status == "active").then_some(now).or(zone.activated_on);
        }
    }

    /// The parent zone has the DS record from now on.
    pub fn complete_dnssec(&self, zone_id: &str) {
        if let Ok(zone) = lock(&self.world).zone(zone_id) {
            zone.dnssec.status = "active";
        }
    }

    /// Changes a setting as its owner can in the dashboard.
    pub fn set(&self, zone_id: &str, setting: &str, value: Value) {
        if let Ok(zone) = lock(&self.world).zone(zone_id) {
            zone.zone_settings.insert(setting.to_owned(), value);
        }
    }

    /// Makes a zone of another type, as Cloudflare's staff can.
    pub fn set_kind(&self, zone_id: &str, kind: &str) {
        if let Ok(zone) = lock(&self.world).zone(zone_id) {
            zone.kind = kind.to_owned();
        }
    }

    /// The peers for zone transfers, as GET shows them, by name.
    pub fn peers(&self) -> Vec<Value> {
        let world = lock(&self.world);
        let mut peers: Vec<Value> = world.transfers.peers.iter().map(|(id, peer)| peer.shown(id)).collect();
        peers.sort_by_key(|peer| peer["name"].to_string());
        peers
    }

    /// The keys for zone transfers, as GET shows them, by name.
    pub fn tsigs(&self) -> Vec<Value> {
        let world = lock(&self.world);
        let mut keys: Vec<Value> = world.transfers.tsigs.iter().map(|(id, tsig)| tsig.shown(id)).collect();
        keys.sort_by_key(|key| key["name"].to_string());
        keys
    }

    /// Where a secondary zone comes from, as GET shows it.
    pub fn incoming(&self, zone_id: &str) -> Option<Value> {
        let world = lock(&self.world);
        world.zones.get(zone_id)?.incoming.as_ref().map(|incoming| incoming.shown(zone_id))
    }

    /// Changes or adds a peer behind the API's back, and returns its id.
    pub fn set_peer(&self, name: &str, ip: &str, port: u16) -> String {
        let mut world = lock(&self.world);
        let is_named = |peer: &Peer| peer.name == name;
        let found = world.transfers.peers.iter().find(|(_, peer)| is_named(peer)).map(|(id, _)| id.clone());
        let id = found.unwrap_or_else(|| world.ids.id());
        let (account, name, ip) = (ACCOUNT.to_owned(), name.to_owned(), Some(ip.to_owned()));
        let peer = Peer { account, name, ip, port, is_incremental: false, tsig: None };
        world.transfers.peers.insert(id.clone(), peer);
        id
    }

    /// A zone as it is now, to be brought back by [`Sim::restore`].
    pub fn state(&self, zone_id: &str) -> Option<ZoneState> {
        lock(&self.world).zones.get(zone_id).map(|zone| ZoneState(zone.records.clone()))
    }

    /// Keeps the state of a zone after each request that changes it, from now on.
    pub fn keep_states(&self, zone_id: &str) {
        lock(&self.world).kept = Some((zone_id.to_owned(), Vec::new()));
    }

    /// The states that were kept, oldest first; no more are.
    pub fn kept_states(&self) -> Vec<ZoneState> {
        let kept = lock(&self.world).kept.take();
        kept.map(|(_, states)| states.into_iter().map(ZoneState).collect()).unwrap_or_default()
    }

    /// Brings a zone to a state in which it was, ids and times included.
    pub fn restore(&self, zone_id: &str, state: &ZoneState) {
        if let Some(zone) = lock(&self.world).zones.get_mut(zone_id) {
            zone.records = state.0.clone();
        }
    }

    /// How many requests a fault holds now.
    pub fn held(&self) -> usize {
        lock(&self.world).gate.held()
    }

    /// Lets the requests go on that are held now; those that come later are held as the plan says.
    pub fn release(&self) {
        lock(&self.world).gate.release();
    }

    pub fn knobs(&self, knobs: Knobs) {
        lock(&self.world).set_knobs(knobs);
    }

    /// Changes the limit and forgets what was counted and blocked.
    pub fn rate_limit(&self, limit: u32, window: Duration) {
        lock(&self.world).rate = crate::rate::RateLimit::new(limit, window);
    }

    /// Moves the simulator's clock: rate windows pass, tokens expire.
    pub fn advance(&self, time: Duration) {
        lock(&self.world).clock.skip(time);
    }
}

/// A test that can't arrange its state is wrong and should say where.
#[track_caller]
#[allow(clippy::panic, reason = "a mistake in the test itself, reported at its own line")]
fn arranged<T>(act: &str, outcome: Outcome<T>) -> T {
    match outcome {
        Ok(value) => value,
        Err(Failure { errors, .. }) => panic!("{act}: {errors:?}"),
    }
}
