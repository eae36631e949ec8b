//! What was asked and what it did: append-only, in memory and optionally in a file.

use std::{
    collections::VecDeque,
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
};

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use crate::{knobs::Knobs, record::Effect};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A request of a client.
    Request,
    /// A record added behind the API's back.
    Seed,
    /// An edit or a removal behind the API's back.
    Outside,
}

#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// From 1, without gaps.
    pub sequence: u64,
    pub kind: EntryKind,
    pub method: String,
    pub path: String,
    pub query: String,
    /// The request's JSON; a string if it isn't JSON, null if it is empty.
    pub body: Value,
    /// The HTTP status; 0 when the connection was cut.
    pub status: u16,
    /// A hash of the credential, never the credential.
    pub token_hash: Option<String>,
    pub effects: Vec<RecordChange>,
    /// `[when, act]` of the fault that struck, as the fault plan spells them.
    pub fault: Option<Value>,
}

/// Exactly one of: created (no `before`), deleted (no `after`), updated (both).
#[derive(Clone, Debug, Serialize)]
pub struct RecordChange {
    pub zone: String,
    pub id: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// An entry that shares its records with the store, so that keeping it costs little.
#[derive(Clone)]
pub struct Line {
    pub kind: EntryKind,
    pub method: String,
    pub path: String,
    pub query: String,
    pub body: Bytes,
    pub status: u16,
    pub token_hash: Option<String>,
    pub effects: Vec<Effect>,
    pub fault: Option<Value>,
}

pub struct Journal {
    lines: VecDeque<Line>,
    written: u64,
    capacity: usize,
    file: Option<File>,
}

// === impl Line ===

impl Line {
    /// A change behind the API's back.
    pub fn outside(kind: EntryKind, effects: Vec<Effect>) -> Self {
        Self {
            kind,
            method: String::new(),
            path: String::new(),
            query: String::new(),
            body: Bytes::new(),
            status: 0,
            token_hash: None,
            effects,
            fault: None,
        }
    }

    fn entry(&self, sequence: u64, knobs: &Knobs) -> Entry {
        let text = || Value::String(String::from_utf8_lossy(&self.body).into_owned());
        let change = |effect: &Effect| RecordChange {
            zone: effect.zone.clone(),
            id: effect.id.clone(),
            before: effect.before.as_ref().map(|record| record.value(knobs)),
            after: effect.after.as_ref().map(|record| record.value(knobs)),
        };
        Entry {
            sequence,
            kind: self.kind,
            method: self.method.clone(),
            path: self.path.clone(),
            query: self.query.clone(),
            body: match self.body.is_empty() {
                true => Value::Null,
                false => serde_json::from_slice(&self.body).unwrap_or_else(|_| text()),
            },
            status: self.status,
            token_hash: self.token_hash.clone(),
            effects: self.effects.iter().map(change).collect(),
            fault: self.fault.clone(),
        }
    }
}

// === impl Journal ===

impl Journal {
    pub fn open(file: Option<&Path>, capacity: usize) -> std::io::Result<Self> {
        let file = file.map(|path| OpenOptions::new().create(true).append(true).open(path)).transpose()?;
        Ok(Self { lines: VecDeque::new(), written: 0, capacity, file })
    }

    pub fn append(&mut self, line: Line, knobs: &Knobs) {
        self.written += 1;
        if let Some(file) = &mut self.file {
            let entry = serde_json::to_string(&line.entry(self.written, knobs)).unwrap_or_default();
            // A full disk must not change what clients see; the journal in memory stays complete.
            let _ = writeln!(file, "{entry}");
        }
        self.lines.push_back(line);
        if self.lines.len() > self.capacity {
            self.lines.pop_front();
        }
    }

    /// Entries with a sequence number above `sequence` that are still in memory.
    pub fn since(&self, sequence: u64, knobs: &Knobs) -> Vec<Entry> {
        let forgotten = self.written - self.lines.len() as u64;
        let skip = usize::try_from(sequence.saturating_sub(forgotten)).unwrap_or(usize::MAX);
        let numbered = self.lines.iter().enumerate().skip(skip);
        numbered.map(|(index, line)| line.entry(forgotten + index as u64 + 1, knobs)).collect()
    }

    pub fn last_sequence(&self) -> u64 {
        self.written
    }
}
