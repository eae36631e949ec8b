//! Who asks for what, and what became of it: for the command line and the page.

use std::fmt;

use serde::{Deserialize, Serialize};
use zonekeeper_api::Reason;
use zonekeeper_kernel::{name::Name, rdata::Rdata, resolve::Intent, zone::ZoneKey};
use zonekeeper_sources::object::ObjectRef;

use crate::{Key, conditions::Verdict, core::Model, records::RecordEntry, sources::SourceEntry};

/// Where it is served.
pub const PATH: &str = "/api/v1/records";

/// Every set that an object asks for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Overview {
    pub records: Vec<Row>,
}

/// A set that one object asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub name: String,
    /// Empty where it depends on values that are not known.
    #[serde(rename = "type")]
    pub rtype: String,
    pub values: Vec<String>,
    pub source: Source,
    /// The DNSZone that it goes to; none where it goes nowhere.
    pub zone: Option<String>,
    pub state: State,
    pub reason: String,
    pub message: String,
}

/// An object that asks for something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Source {
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

/// How far a wish is, in the words of kstatus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum State {
    Ready,
    Reconciling,
    Stalled,
    Observed,
}

// === impl State ===

impl State {
    fn of(verdict: &Verdict) -> Self {
        match verdict {
            verdict if verdict.is_ready() => Self::Ready,
            verdict if verdict.is_reconciling() => Self::Reconciling,
            verdict if verdict.is_stalled() => Self::Stalled,
            _neither => Self::Observed,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Reconciling => "Reconciling",
            Self::Stalled => "Stalled",
            Self::Observed => "Observed",
        }
    }
}

// === impl Source ===

impl Source {
    fn record_set((namespace, name): &Key) -> Self {
        Self { kind: "RecordSet".into(), namespace: namespace.clone(), name: name.clone() }
    }

    fn object(reference: &ObjectRef) -> Self {
        let ObjectRef { kind, namespace, name } = reference;
        Self { kind: kind.as_str().into(), namespace: namespace.clone(), name: name.clone() }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        match namespace.as_str() {
            "" => write!(formatter, "{kind} {name}"),
            namespace => write!(formatter, "{kind} {namespace}/{name}"),
        }
    }
}

// === impl Row ===

impl Row {
    fn placed(source: Source, zone: &ZoneKey, name: &Name, intent: &Intent, state: Option<&Verdict>) -> Self {
        let row = Self::of(source, name.to_string(), state);
        let values = intent.values.iter().flatten().map(Rdata::to_string).collect();
        Self { zone: Some(zone.to_string()), rtype: intent.rtype.to_string(), values, ..row }
    }

    /// What goes nowhere, or is not known yet.
    fn of(source: Source, name: String, state: Option<&Verdict>) -> Self {
        let pending = Verdict::new(Reason::Pending, "is looked at next");
        let verdict = state.unwrap_or(&pending);
        Self {
            name,
            rtype: String::new(),
            values: Vec::new(),
            source,
            zone: None,
            state: State::of(verdict),
            reason: verdict.reason.as_str().into(),
            message: verdict.message.clone(),
        }
    }
}

// === impl Model ===

impl Model {
    /// Says who asks for what, by name.
    pub fn overview(&self) -> Overview {
        let ours = self.records.iter().filter(|(_, entry)| !entry.is_others && !entry.is_leaving());
        let of_records = ours.flat_map(|(key, entry)| rows_of_record(key, entry));
        let sources = self.sources.entries.iter();
        let of_sources = sources.flat_map(|(reference, entry)| rows_of_source(reference, entry));
        let mut records: Vec<Row> = of_records.chain(of_sources).collect();
        records.sort();
        Overview { records }
    }
}

fn rows_of_record(key: &Key, entry: &RecordEntry) -> Vec<Row> {
    let placed = entry.placed.iter().filter_map(|(zone, name)| {
        let state = entry.states.get(zone).map(|state| &state.verdict);
        let state = entry.refused.as_ref().or(state);
        Some(Row::placed(Source::record_set(key), zone, name, entry.intent.as_deref()?, state))
    });
    let mut rows: Vec<Row> = placed.collect();
    if rows.is_empty() {
        let spec = &entry.object.spec;
        let name = spec.name.clone().or(spec.relative_name.clone()).unwrap_or_default();
        let verdict = entry.refused.as_ref().or(entry.unreadable.as_ref());
        let row = Row::of(Source::record_set(key), name, verdict);
        rows.push(Row { rtype: spec.rtype.clone(), values: spec.values.clone(), ..row });
    }
    rows
}

fn rows_of_source(reference: &ObjectRef, entry: &SourceEntry) -> Vec<Row> {
    let placed = entry.wishes.iter().map(|(place, intent)| {
        let (zone, name, _) = place;
        Row::placed(Source::object(reference), zone, name, intent, entry.states.get(place))
    });
    let is_placed = |name: &Name| entry.wishes.keys().any(|(_, placed, _)| placed == name);
    let elsewhere = entry.names.keys().filter(|name| !is_placed(name)).filter_map(|name| {
        Some(Row::of(Source::object(reference), name.to_string(), Some(entry.refused.as_ref()?)))
    });
    placed.chain(elsewhere).collect()
}
