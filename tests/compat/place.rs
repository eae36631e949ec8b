//! A zone at a simulator, as both programs leave it.

use cloudflare_sim::{Config, EntryKind, Plan, Sim, TokenGrant};
use serde_json::Value;
use zonekeeper_tests::cluster::Lab;

/// What the manifests call the zone; every place has another domain.
pub const DOMAIN: &str = "example.com";

/// A zone, and the token that opens it.
pub struct Place {
    pub sim: Sim,
    pub zone: String,
    pub domain: String,
    pub token: String,
}

// === impl Place ===

impl Place {
    /// An empty zone of that domain, at a simulator of its own.
    pub async fn empty(domain: &str) -> Self {
        let sim = Sim::start(Config::unlimited()).await.expect("the simulator starts");
        let (zone, token) = (sim.zone(domain, Plan::Pro), sim.token(TokenGrant::full()));
        Self { sim, zone, domain: domain.to_owned(), token }
    }

    /// The zone of a lab.
    pub fn of(lab: &Lab<'_>) -> Self {
        let (zone, domain, token) = (lab.zone.clone(), lab.domain.clone(), lab.token.clone());
        Self { sim: lab.sim.clone(), zone, domain, token }
    }

    /// Everything in the zone as [`line`]s, sorted.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.sim.records(&self.zone).iter().map(|record| self.line(record)).collect();
        lines.sort();
        lines
    }

    /// The records that are no markers.
    pub fn data(&self) -> Vec<String> {
        self.lines().into_iter().filter(|line| !is_marker(line)).collect()
    }

    /// Where the journal is now.
    pub fn mark(&self) -> u64 {
        self.sim.last_sequence()
    }

    /// What clients wrote since: `+` added, `-` deleted, `~` changed.
    pub fn changes_since(&self, mark: u64) -> Vec<String> {
        let requests = self.sim.journal_since(mark);
        let requests = requests.into_iter().filter(|entry| entry.kind == EntryKind::Request);
        let changes =
            requests.flat_map(|entry| entry.effects).map(|effect| match (effect.before, effect.after) {
                (None, Some(after)) => format!("+ {}", self.line(&after)),
                (Some(before), None) => format!("- {}", self.line(&before)),
                (_, after) => format!("~ {}", self.line(&after.unwrap_or_default())),
            });
        changes.collect()
    }

    /// `name type ttl proxied content`, then priority, comment and tags where there are any; the domain reads as in
    /// the manifests.
    fn line(&self, record: &Value) -> String {
        let text = |field: &str| record[field].as_str().unwrap_or_default().to_owned();
        let proxied = if record["proxied"] == true { "proxied" } else { "direct" };
        let mut line =
            format!("{} {} {} {proxied} {}", text("name"), text("type"), record["ttl"], text("content"));
        if record["type"] == "MX" {
            line += &format!(" priority {}", record["priority"]);
        }
        if !text("comment").is_empty() {
            line += &format!(" comment {:?}", text("comment"));
        }
        if record["tags"].as_array().is_some_and(|tags| !tags.is_empty()) {
            line += &format!(" tags {}", record["tags"]);
        }
        line.replace(&self.domain, DOMAIN)
    }
}

/// Whether a line, or a change, is of a TXT marker.
pub fn is_marker(line: &str) -> bool {
    line.contains(" TXT ") && line.contains("\"heritage=external-dns,")
}
