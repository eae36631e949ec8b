//! What is to be seen: conditions, Events, the zone's records, and what was written there.

use cloudflare_sim::EntryKind;
use kube::api::ListParams;
use serde_json::Value;

use super::{lab::Lab, objects};
use crate::canary;

/// One condition of an object; all empty where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    pub status: String,
    pub reason: String,
    pub message: String,
}

/// An Event as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub kind: String,
    pub reason: String,
    pub note: String,
    /// How often it was said.
    pub count: u64,
}

/// What was done to the zone: `+ www A 192.0.2.1`, `- ...`, `~ www A 192.0.2.1 -> 192.0.2.2`.
pub type Changes = Vec<String>;

impl Shown {
    pub fn is(&self, status: &str) -> bool {
        self.status == status
    }
}

pub fn condition(object: &Value, which: &str) -> Shown {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.into_iter().find(|condition| condition["type"] == which);
    let text = |field: &str| found.and_then(|found| found[field].as_str()).unwrap_or_default().to_owned();
    Shown { status: text("status"), reason: text("reason"), message: text("message") }
}

/// Whether the status is about the object as it is.
pub fn is_current(object: &Value) -> bool {
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

impl Lab<'_> {
    /// All Events about an object, oldest first.
    pub async fn events(&self, kind: &str, name: &str) -> Vec<Told> {
        let (namespace, name) = name.split_once('/').unwrap_or((self.home.name(), name));
        let namespace = if kind == "DNSProvider" { "default" } else { namespace };
        let all = objects::api(self.home.client(), "Event", namespace).list(&ListParams::default()).await;
        let mut events: Vec<Value> = all.expect("Events").items.iter().map(objects::json).collect();
        events.iter().for_each(|event| canary::assert_hidden("an Event", &event.to_string()));
        events.retain(|event| event["regarding"]["kind"] == kind && event["regarding"]["name"] == name);
        events.sort_by_key(|event| event["metadata"]["resourceVersion"].as_str().map(str::len));
        events.sort_by_key(|event| event["eventTime"].as_str().unwrap_or_default().to_owned());
        let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let told = |event: &Value| Told {
            kind: text(event, "type"),
            reason: text(event, "reason"),
            note: text(event, "note"),
            count: event["series"]["count"].as_u64().unwrap_or(1),
        };
        events.iter().map(told).collect()
    }

    /// Adds a record by hand.
    pub fn seed(&self, name: &str, rtype: &str, content: &str) -> String {
        let record = serde_json::json!({"type": rtype, "name": self.at(name), "content": content});
        self.sim.seed(&self.zone, record)
    }

    /// Everything in the zone as `name type content`, sorted.
    pub fn contents(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.sim.records(&self.zone).iter().map(|record| self.line(record)).collect();
        lines.sort();
        lines
    }

    /// The one record of a set as Cloudflare shows it.
    pub fn record(&self, name: &str, rtype: &str) -> Value {
        let mut records = self.sim.records(&self.zone);
        records.retain(|record| record["name"] == self.at(name) && record["type"] == rtype);
        assert_eq!(records.len(), 1, "one record {name} {rtype}: {records:#?}");
        records.remove(0)
    }

    pub fn id_of(&self, name: &str, rtype: &str) -> String {
        self.record(name, rtype)["id"].as_str().expect("an id").to_owned()
    }

    /// Where the journal is now.
    pub fn mark(&self) -> u64 {
        self.sim.last_sequence()
    }

    /// What clients did since.
    pub fn changes_since(&self, mark: u64) -> Changes {
        let requests = self.sim.journal_since(mark);
        let requests = requests.into_iter().filter(|entry| entry.kind == EntryKind::Request);
        requests
            .flat_map(|entry| entry.effects)
            .map(|effect| match (effect.before, effect.after) {
                (Some(before), Some(after)) => match before["content"] == after["content"] {
                    true => format!("~ {}", self.line(&after)),
                    false => format!(
                        "~ {} -> {}",
                        self.line(&before),
                        after["content"].as_str().unwrap_or_default()
                    ),
                },
                (None, Some(after)) => format!("+ {}", self.line(&after)),
                (Some(before), None) => format!("- {}", self.line(&before)),
                (None, None) => "?".into(),
            })
            .collect()
    }

    fn line(&self, record: &Value) -> String {
        let text = |field: &str| record[field].as_str().unwrap_or_default().to_owned();
        let name = text("name");
        let relative = match name.strip_suffix(&self.domain) {
            Some("") => "@",
            Some(rest) => rest.trim_end_matches('.'),
            None => &name,
        };
        format!("{relative} {} {}", text("type"), text("content"))
    }
}
