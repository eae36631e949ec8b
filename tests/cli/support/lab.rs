//! A folder, and Cloudflare's simulator with one zone that the folder declares.

use cloudflare_sim::{Config, EntryKind, Plan, Sim};
use serde_json::{Value, json};
use zonekeeper_tests::canary;

use super::{
    binary::{Call, Run, zonekeeper},
    manifest::{Folder, Manifest, provider, secret, zone},
};

pub struct Lab {
    pub sim: Sim,
    /// The zone example.com.
    pub zone: String,
    pub token: String,
    pub folder: Folder,
}

impl Lab {
    /// Provider, token and zone example.com are declared; no records yet.
    pub async fn start() -> Self {
        Self::on(Plan::Free).await
    }

    pub async fn on(plan: Plan) -> Self {
        let sim = Sim::start(Config::unlimited()).await.expect("the simulator starts");
        let id = sim.zone("example.com", plan);
        let token = canary::token(&sim);
        let lab = Self { sim, zone: id, token, folder: Folder::new() };
        lab.folder.put("token.yaml", &[secret("cloudflare", "apiToken", &lab.token)]);
        lab.folder.put("provider.yaml", &[lab.provider()]);
        lab.folder.put("zone.yaml", &[zone("example.com")]);
        lab
    }

    /// Ownership is remembered in TXT records, with these further settings of the registry.
    pub async fn with_txt(registry: Value) -> Self {
        let lab = Self::start().await;
        lab.remember_in_txt(registry);
        lab
    }

    pub fn remember_in_txt(&self, registry: Value) {
        let mut merged = json!({"type": "TXT", "ownerID": "folder"});
        merged.as_object_mut().expect("an object").extend(registry.as_object().expect("an object").clone());
        self.folder.put("provider.yaml", &[self.provider().with("registry", merged)]);
    }

    pub fn provider(&self) -> Manifest {
        provider(&self.sim.base_url())
    }

    /// Replaces the records that the folder declares.
    pub fn want(&self, manifests: &[Manifest]) {
        self.folder.put("records.yaml", manifests);
    }

    /// Replaces the declaration of the zone.
    pub fn declare(&self, zone: Manifest) {
        self.folder.put("zone.yaml", &[zone]);
    }

    pub fn call(&self, command: &str) -> Call {
        zonekeeper([command, "-f", self.folder.arg()])
    }

    pub async fn plan(&self) -> Run {
        self.call("plan").run().await
    }

    pub async fn plan_json(&self) -> Value {
        self.call("plan").args(&["-o", "json"]).run().await.json()
    }

    pub async fn apply(&self) -> Run {
        self.call("apply").run().await
    }

    /// Plans, and applies exactly that.
    pub async fn approve(&self) -> Run {
        let hash = self.plan_json().await["hash"].as_str().expect("a hash").to_owned();
        self.call("apply").args(&["--plan-hash", &hash]).run().await
    }

    /// Declares records and applies them without held or refused ones.
    #[track_caller]
    pub fn applied(&self, manifests: &[Manifest]) -> impl Future<Output = Run> + '_ {
        self.want(manifests);
        async { self.apply().await.exits(0) }
    }

    /// Adds a record by hand.
    pub fn seed(&self, rtype: &str, name: &str, content: &str) -> String {
        self.sim.seed(&self.zone, json!({"type": rtype, "name": name, "content": content}))
    }

    /// The records of one set, as Cloudflare shows them.
    pub fn records(&self, name: &str, rtype: &str) -> Vec<Value> {
        let mut records = self.sim.records(&self.zone);
        records.retain(|record| record["name"] == name && record["type"] == rtype);
        records
    }

    /// The values of one set.
    pub fn values(&self, name: &str, rtype: &str) -> Vec<String> {
        self.field(name, rtype, "content")
    }

    pub fn comments(&self, name: &str, rtype: &str) -> Vec<String> {
        self.field(name, rtype, "comment")
    }

    fn field(&self, name: &str, rtype: &str, field: &str) -> Vec<String> {
        let records = self.records(name, rtype);
        records.iter().map(|record| record[field].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Everything in the zone as `name type content`, sorted.
    pub fn contents(&self) -> Vec<String> {
        self.contents_of(&self.zone)
    }

    pub fn contents_of(&self, zone: &str) -> Vec<String> {
        let text = |record: &Value, field: &str| record[field].as_str().unwrap_or_default().to_owned();
        let line = |record: &Value| {
            format!("{} {} {}", text(record, "name"), text(record, "type"), text(record, "content"))
        };
        let mut lines: Vec<String> = self.sim.records(zone).iter().map(line).collect();
        lines.sort();
        lines
    }

    /// Which records a step changed through the API: `(before, after)` of each.
    pub fn effects_since(&self, sequence: u64) -> Vec<(Option<Value>, Option<Value>)> {
        let entries = self.sim.journal_since(sequence);
        let requests = entries.into_iter().filter(|entry| entry.kind == EntryKind::Request);
        requests.flat_map(|entry| entry.effects).map(|effect| (effect.before, effect.after)).collect()
    }
}

/// The changes of a plan as `operation name type`.
pub fn changes(plan: &Value) -> Vec<String> {
    let zones = plan["zones"].as_array().expect("zones");
    let changes = zones.iter().flat_map(|zone| zone["changes"].as_array().expect("changes"));
    let text = |change: &Value, field: &str| change[field].as_str().expect("a text").to_owned();
    changes
        .map(|change| {
            format!("{} {} {}", text(change, "operation"), text(change, "name"), text(change, "type"))
        })
        .collect()
}

/// Every refusal of a plan as `object: reason`.
pub fn rejections(plan: &Value) -> Vec<String> {
    let zones = plan["zones"].as_array().expect("zones");
    let of_zones = zones.iter().flat_map(|zone| zone["rejected"].as_array().expect("rejected"));
    let all = plan["rejected"].as_array().expect("rejected").iter().chain(of_zones);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    all.map(|rejection| format!("{}: {}", text(&rejection["object"]), text(&rejection["reason"]))).collect()
}
