//! A stored record and its JSON, rendered once.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use crate::{
    kinds::{Content, Kind, Priority, Proxy},
    knobs::{Knobs, SettingsShown},
};

#[derive(Debug)]
pub struct Record {
    pub id: String,
    pub name: String,
    pub kind: &'static Kind,
    pub content: String,
    pub data: Option<Map<String, Value>>,
    pub priority: Option<u16>,
    pub proxiable: bool,
    pub proxied: bool,
    pub ttl: u32,
    pub settings: Map<String, Value>,
    pub comment: Option<String>,
    pub tags: Vec<String>,
    pub private_routing: Option<bool>,
    pub access: Access,
    pub created_on: Timestamp,
    pub modified_on: Timestamp,
    pub comment_modified_on: Option<Timestamp>,
    pub tags_modified_on: Option<Timestamp>,
    /// The JSON of this very record: a record is replaced, never changed, so it can't go stale.
    pub rendered: OnceLock<Box<str>>,
}

/// Cloudflare manages some records itself and refuses writes to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Writable,
    ReadOnly,
}

/// One record's change: what undoes it, and what the journal shows.
#[derive(Clone, Debug)]
pub struct Effect {
    pub zone: String,
    pub id: String,
    pub before: Option<Arc<Record>>,
    pub after: Option<Arc<Record>>,
}

/// `2026-01-02T03:04:05.678901Z`, as every timestamp of the API.
pub fn stamp(at: Timestamp) -> String {
    format!("{at:.6}")
}

// === impl Record ===

impl Record {
    /// The record as GET shows it.
    pub fn json(&self, knobs: &Knobs) -> &str {
        self.rendered.get_or_init(|| {
            let text = serde_json::to_string(&Shown { record: self, knobs });
            text.unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}")).into()
        })
    }

    pub fn value(&self, knobs: &Knobs) -> Value {
        serde_json::from_str(self.json(knobs)).unwrap_or_default()
    }

    /// Whether the two say the same in DNS, so that one of them is superfluous.
    pub fn is_identical(&self, other: &Self) -> bool {
        let same_content = match self.kind.content {
            Content::Text => crate::txt::value(&self.content) == crate::txt::value(&other.content),
            _ => self.content.eq_ignore_ascii_case(&other.content),
        };
        self.kind.name == other.kind.name && same_content && self.priority == other.priority
    }

    /// Bytes of the value on the wire; an estimate from the text for all but TXT.
    pub fn wire_length(&self) -> usize {
        match self.kind.content {
            Content::Text => crate::txt::wire_length(&self.content),
            _ => self.content.len(),
        }
    }

    /// The same record without its cached JSON, for when a knob changes how it looks.
    pub fn rerendered(&self) -> Self {
        Self {
            id: self.id.clone(),
            name: self.name.clone(),
            content: self.content.clone(),
            data: self.data.clone(),
            settings: self.settings.clone(),
            comment: self.comment.clone(),
            tags: self.tags.clone(),
            rendered: OnceLock::new(),
            ..*self
        }
    }
}

struct Shown<'a> {
    record: &'a Record,
    knobs: &'a Knobs,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = self.record;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &record.id)?;
        map.serialize_entry("name", &record.name)?;
        map.serialize_entry("type", record.kind.name)?;
        map.serialize_entry("content", &record.content)?;
        if let (Some(priority), false) = (record.priority, record.kind.priority == Priority::None) {
            map.serialize_entry("priority", &priority)?;
        }
        map.serialize_entry("proxiable", &record.proxiable)?;
        map.serialize_entry("proxied", &record.proxied)?;
        map.serialize_entry("ttl", &record.ttl)?;
        if let Some(data) = &record.data {
            map.serialize_entry("data", data)?;
        }
        if self.knobs.settings_shown == SettingsShown::Always || record.kind.proxy == Proxy::Possible {
            map.serialize_entry("settings", &record.settings)?;
        }
        if let Some(private_routing) = record.private_routing {
            map.serialize_entry("private_routing", &private_routing)?;
        }
        let mut meta = Map::new();
        if record.access == Access::ReadOnly {
            meta.insert("read_only".into(), Value::Bool(true));
        }
        map.serialize_entry("meta", &meta)?;
        map.serialize_entry("comment", &record.comment)?;
        map.serialize_entry("tags", &record.tags)?;
        map.serialize_entry("created_on", &stamp(record.created_on))?;
        map.serialize_entry("modified_on", &stamp(record.modified_on))?;
        if let Some(at) = record.comment_modified_on {
            map.serialize_entry("comment_modified_on", &stamp(at))?;
        }
        if let Some(at) = record.tags_modified_on {
            map.serialize_entry("tags_modified_on", &stamp(at))?;
        }
        map.end()
    }
}
