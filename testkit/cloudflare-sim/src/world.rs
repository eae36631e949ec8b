//! The whole state of a simulator, behind one lock.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::{
    clock::{Clock, Ids},
    config::{Config, Plan},
    error::{Failure, Outcome},
    fault::FaultPlan,
    filter::Filter,
    hold::Gate,
    journal::{EntryKind, Journal, Line},
    knobs::{Knobs, UnknownZone},
    rate::RateLimit,
    record::{Access, Effect, Record},
    token::{TokenGrant, TokenOwner},
    transfers::Transfers,
    write::{self, Quota},
    zone::{Dnssec, Hold, Records, Zone},
};

/// The account of zones that tests create.
pub const ACCOUNT: &str = "a0000000000000000000000000000001";

pub struct World {
    pub clock: Clock,
    pub ids: Ids,
    pub knobs: Knobs,
    pub zones: BTreeMap<String, Zone>,
    /// The records of zones that were deleted, by name.
    pub deleted: BTreeMap<String, Records>,
    /// Domains that are registered at Cloudflare.
    pub registered: BTreeSet<String>,
    pub transfers: Transfers,
    /// By token; the id is what `verify` shows.
    pub tokens: HashMap<String, (String, TokenGrant)>,
    /// By email.
    pub keys: HashMap<String, String>,
    pub journal: Journal,
    pub faults: FaultPlan,
    /// How far listings are behind; one record by its id never is.
    pub lag: Duration,
    /// What changed while listings were behind, oldest first.
    past: Vec<(Duration, Effect)>,
    /// The records of a zone as they were after each change of it, where that is kept.
    pub kept: Option<(String, Vec<Records>)>,
    pub gate: Gate,
    pub rate: RateLimit,
    pub requests: usize,
    /// The bodies of requests and replies together.
    pub bytes: usize,
    pub writes: usize,
}

impl World {
    pub fn new(config: &Config) -> std::io::Result<Self> {
        Ok(Self {
            clock: Clock::start(),
            ids: Ids::new(config.seed),
            knobs: config.knobs,
            zones: BTreeMap::new(),
            deleted: BTreeMap::new(),
            registered: BTreeSet::new(),
            transfers: Transfers::default(),
            tokens: HashMap::new(),
            keys: HashMap::new(),
            journal: Journal::open(config.journal_file.as_deref(), config.journal_capacity)?,
            faults: FaultPlan::default(),
            lag: Duration::ZERO,
            past: Vec::new(),
            kept: None,
            gate: Gate::default(),
            rate: RateLimit::new(config.rate_limit, config.rate_window),
            requests: 0,
            bytes: 0,
            writes: 0,
        })
    }

    /// Writes down what happened.
    pub fn note(&mut self, line: Line) {
        if self.lag > Duration::ZERO {
            let now = self.clock.elapsed();
            self.past.retain(|(at, _)| *at + self.lag > now);
            self.past.extend(line.effects.iter().map(|effect| (now, effect.clone())));
        }
        if let Some((zone, states)) = &mut self.kept
            && line.effects.iter().any(|effect| effect.zone == *zone)
            && let Some(zone) = self.zones.get(zone)
        {
            states.push(zone.records.clone());
        }
        self.journal.append(line, &self.knobs);
    }

    /// A zone's records as listings show them: as they are, or as they were some time ago.
    pub fn listed(&mut self, zone: &str, filter: &Filter) -> Outcome<Arc<Vec<Arc<Record>>>> {
        if self.lag == Duration::ZERO {
            return Ok(filter.apply(&mut self.zone(zone)?.records));
        }
        let mut records = Records::default();
        for record in self.zone(zone)?.records.ordered().iter() {
            records.set(&record.id, Some(record.clone()));
        }
        let since = self.clock.elapsed().saturating_sub(self.lag);
        let unseen = self.past.iter().rev().take_while(|(at, _)| *at > since);
        for (_, effect) in unseen.filter(|(_, effect)| effect.zone == zone) {
            records.set(&effect.id, effect.before.clone());
        }
        Ok(filter.apply(&mut records))
    }

    /// `name` is lower-case and Punycode.
    pub fn create_zone(&mut self, name: String, plan: Plan, status: &'static str, account: String) -> String {
        let id = self.ids.id();
        let now = self.clock.tick();
        let activated_on: Option<Timestamp> = (status == "active").then_some(now);
        let zone = Zone {
            id: id.clone(),
            name,
            plan,
            status,
            kind: "full".into(),
            paused: false,
            vanity_name_servers: Vec::new(),
            account,
            created_on: now,
            modified_on: now,
            activated_on,
            dnssec: Dnssec::default(),
            settings: Map::new(),
            zone_settings: Map::new(),
            hold: Hold::default(),
            incoming: None,
            activation_asked: None,
            custom_hostnames: BTreeMap::new(),
            regional_hostnames: BTreeMap::new(),
            discoverable: Vec::new(),
            unreviewed: Vec::new(),
            records: Records::default(),
        };
        self.zones.insert(id.clone(), zone);
        id
    }

    pub fn zone(&mut self, id: &str) -> Outcome<&mut Zone> {
        let knob = self.knobs.unknown_zone;
        self.zones.get_mut(id).ok_or_else(|| match knob {
            UnknownZone::Forbidden => Failure::forbidden(),
            UnknownZone::NotFound => Failure::service(404, 1001, "Invalid zone identifier"),
        })
    }

    pub fn issue(&mut self, grant: TokenGrant) -> String {
        let token = match grant.owner {
            TokenOwner::User => self.ids.token(40),
            TokenOwner::Account => format!("cfat_{}", self.ids.token(35)),
        };
        self.accept(token.clone(), grant);
        token
    }

    /// Makes a token of the caller's choice valid.
    pub fn accept(&mut self, token: String, grant: TokenGrant) {
        let id = self.ids.id();
        self.tokens.insert(token, (id, grant));
    }

    pub fn set_knobs(&mut self, knobs: Knobs) {
        self.knobs = knobs;
        self.zones.values_mut().for_each(|zone| zone.records.rerender());
    }

    // Changes behind the API's back: validated as the API would, without quota, auth or faults.

    pub fn seed(&mut self, zone: &str, record: &Value, access: Access) -> Outcome<String> {
        let body = record.as_object().ok_or_else(Failure::not_json)?;
        let mut effects = Vec::new();
        let created = write::create(self, zone, body, Quota::Ignored, &mut effects)?;
        let id = created.id.clone();
        if access == Access::ReadOnly {
            let managed = Arc::new(Record { access, ..created.rerendered() });
            let zone = self.zone(zone)?;
            zone.records.set(&id, Some(managed.clone()));
            effects[0].after = Some(managed);
        }
        self.note(Line::outside(EntryKind::Seed, effects));
        Ok(id)
    }

    pub fn edit(&mut self, zone: &str, record: &str, patch: &Value) -> Outcome<()> {
        let body = patch.as_object().ok_or_else(Failure::not_json)?;
        let mut effects = Vec::new();
        write::patch(self, zone, record, body, &mut effects)?;
        self.note(Line::outside(EntryKind::Outside, effects));
        Ok(())
    }

    pub fn remove(&mut self, zone: &str, record: &str) -> Outcome<()> {
        let mut effects = Vec::new();
        write::existing(self, zone, record)?;
        self.zone(zone)?.change(record, None, &mut effects);
        self.note(Line::outside(EntryKind::Outside, effects));
        Ok(())
    }

    /// As GET shows them, by (name, type, content).
    pub fn records(&mut self, zone: &str) -> Vec<Value> {
        let Some(zone) = self.zones.get_mut(zone) else { return Vec::new() };
        let mut records = zone.records.ordered().as_ref().clone();
        records.sort_by(|a, b| (&a.name, a.kind.name, &a.content).cmp(&(&b.name, b.kind.name, &b.content)));
        records.iter().map(|record| record.value(&self.knobs)).collect()
    }
}
