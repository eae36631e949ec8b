//! Creates, updates, changes of type, moves and deletes over three zones among 1,000 foreign records.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use cloudflare_sim::{Entry, Plan};
use control_plane::eventually;
use futures::{StreamExt, future::join_all, stream};
use kube::api::ListParams;
use serde_json::{Value, json};
use zonekeeper_tests::manifest::records;

use crate::support::{Lab, Manifest, condition, lab::DEADLINE, looks::is_current, objects};

const FOREIGN: usize = 1_000;
const ZONES: usize = 3;
const AT_ONCE: usize = 8;
/// What changes from run to run.
const VOLATILE: [&str; 5] = ["id", "created_on", "modified_on", "comment_modified_on", "tags_modified_on"];

/// Where ownership is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    Comment,
    Txt,
}

/// What is wished: one state or the other. From either to the other there is something of everything to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wishes {
    First,
    Second,
}

/// Records by zone, as GET shows them but for what changes from run to run.
pub type Contents = Vec<Value>;

pub struct Workload {
    pub lab: Lab<'static>,
    /// Domain and id of every zone.
    zones: Vec<(String, String)>,
    foreign: BTreeSet<String>,
    /// What the clean runs ended with.
    ends: Mutex<BTreeMap<bool, Contents>>,
}

// === impl Wishes ===

impl Wishes {
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

// === impl Workload ===

impl Workload {
    /// Three zones with foreign records; the operator does not run, and nothing is wished.
    pub async fn new(name: &str, registry: Registry) -> Self {
        let lab = Lab::bare(name).await;
        lab.put_secret("cloudflare", &[("apiToken", &lab.token)]).await;
        let provider = match registry {
            Registry::Comment => lab.provider(),
            Registry::Txt => lab.provider().with("registry.type", "TXT"),
        };
        lab.apply(&provider).await;
        let mut zones = Vec::new();
        for number in 0..ZONES {
            let domain = format!("zone-{number}-{}.example.com", lab.home.name());
            let id = lab.sim.zone(&domain, Plan::Pro);
            // What is tested is not the guard.
            let guard = json!({"maxDeletePercent": 100, "settle": "0s"});
            lab.apply(&lab.zone_of(&domain).named(&zone_name(number)).with("guard", guard)).await;
            zones.push((domain, id));
        }
        for number in 0..FOREIGN {
            let (_, zone) = &zones[number % ZONES];
            let name = format!("foreign-{number}");
            lab.sim.seed(zone, json!({"type": "A", "name": name, "content": "192.0.2.77", "ttl": 300}));
        }
        let mut workload = Self { lab, zones, foreign: BTreeSet::new(), ends: Mutex::default() };
        workload.foreign = workload.foreign_now();
        assert_eq!(workload.foreign.len(), FOREIGN);
        workload
    }

    /// Runs from nothing to the first wishes, to the second and back, undisturbed, and remembers the ends.
    pub async fn run_clean(&self) {
        self.lab.run();
        for wishes in [Wishes::First, Wishes::Second, Wishes::First] {
            let mark = self.lab.mark();
            self.wish(wishes).await;
            self.wait_done(wishes).await;
            self.assert_quiet("the clean run").await;
            self.assert_never_without(mark, "the clean run");
            let end = self.contents();
            let before = self.ends.lock().expect("no panic").insert(wishes == Wishes::First, end.clone());
            assert!(before.is_none_or(|before| before == end), "there and back is the same");
        }
        self.lab.kill().await;
    }

    // === What is wished ===

    /// Makes the objects what is wished: some are written, some deleted.
    pub async fn wish(&self, wishes: Wishes) {
        let wanted: Vec<Manifest> = self.manifests(wishes);
        let names: BTreeSet<String> = wanted.iter().map(name_of).collect();
        let present = self.objects().await;
        let gone: Vec<&String> = present.keys().filter(|name| !names.contains(*name)).collect();
        let apply = stream::iter(&wanted).for_each_concurrent(AT_ONCE, |manifest| async {
            self.lab.apply(manifest).await;
        });
        let delete =
            stream::iter(gone).for_each_concurrent(AT_ONCE, |name| self.lab.delete("RecordSet", name));
        tokio::join!(apply, delete);
    }

    fn manifests(&self, wishes: Wishes) -> Vec<Manifest> {
        let mut all = Vec::new();
        let is_first = wishes == Wishes::First;
        let mut add = |number: usize, object: &str, name: &str, rtype: &str, values: &[&str]| {
            let manifest = records(&format!("{name}.{}", self.zones[number].0), rtype, values);
            let manifest = manifest.named(&format!("z{number}-{object}"));
            // A change of ttl in every update.
            all.push(manifest.with("ttl", if is_first { 300 } else { 600 }));
        };
        for number in 0..ZONES {
            for (object, is_there) in
                [("one", is_first), ("two", is_first), ("three", !is_first), ("four", !is_first)]
            {
                if is_there {
                    add(number, object, object, "AAAA", &["2001:db8::1", "2001:db8::2"]);
                }
            }
            match is_first {
                true => {
                    add(number, "update", "update", "A", &["192.0.2.1"]);
                    add(number, "values", "values", "A", &["192.0.2.1", "192.0.2.2"]);
                    add(number, "retype", "retype", "A", &["192.0.2.1", "192.0.2.2"]);
                    add(number, "alias", "alias", "CNAME", &["target.example.net"]);
                    add(number, "rename", "old", "TXT", &["\"some text\""]);
                }
                false => {
                    add(number, "update", "update", "A", &["192.0.2.9"]);
                    add(number, "values", "values", "A", &["192.0.2.2", "192.0.2.3", "192.0.2.4"]);
                    add(number, "retype", "retype", "CNAME", &["target.example.net"]);
                    add(number, "alias", "alias", "A", &["192.0.2.1"]);
                    add(number, "rename", "new", "TXT", &["\"some text\""]);
                }
            }
        }
        // It moves from one zone to another.
        add(usize::from(!is_first), "wanderer", "wanderer", "A", &["192.0.2.5"]);
        // The zone is part of the object's name above; this one's stays.
        let wanderer = all.pop().expect("it was added");
        all.push(wanderer.named("wanderer"));
        all
    }

    /// `name type content ttl` of all data that is wished.
    fn wanted_lines(&self, wishes: Wishes) -> BTreeSet<String> {
        let mut lines = BTreeSet::new();
        for Manifest(object) in self.manifests(wishes) {
            let spec = &object["spec"];
            for value in spec["values"].as_array().into_iter().flatten() {
                lines.insert(line(&spec["name"], &spec["type"], value, &spec["ttl"]));
            }
        }
        lines
    }

    /// Names that are wished before and after.
    fn lasting_names(&self) -> BTreeSet<String> {
        let names = |wishes| -> BTreeSet<String> {
            let names = self.manifests(wishes).into_iter();
            names
                .map(|Manifest(object)| object["spec"]["name"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        names(Wishes::First).intersection(&names(Wishes::Second)).cloned().collect()
    }

    // === What is there ===

    async fn objects(&self) -> BTreeMap<String, Value> {
        let api = objects::api(self.lab.home.client(), "RecordSet", self.lab.home.name());
        let list = api.list(&ListParams::default()).await.expect("a list").items;
        list.iter().map(objects::json).map(|object| (name_of(&Manifest(object.clone())), object)).collect()
    }

    /// What tells one version of our objects from another.
    pub async fn versions(&self) -> BTreeSet<String> {
        let mut versions = BTreeSet::new();
        for kind in ["RecordSet", "DNSZone"] {
            let api = objects::api(self.lab.home.client(), kind, self.lab.home.name());
            let list = api.list_metadata(&ListParams::default()).await.expect("a list").items;
            versions.extend(list.into_iter().filter_map(|object| object.metadata.resource_version));
        }
        versions
    }

    fn all_records(&self) -> Vec<Value> {
        self.zones.iter().flat_map(|(_, id)| self.lab.sim.records(id)).collect()
    }

    /// The foreign records as they are, ids and times included.
    fn foreign_now(&self) -> BTreeSet<String> {
        self.all_records().iter().filter(|record| is_foreign(record)).map(Value::to_string).collect()
    }

    /// All that is ours, markers included.
    pub fn contents(&self) -> Contents {
        let mut records = self.all_records();
        records.retain(|record| !is_foreign(record));
        for record in &mut records {
            let fields = record.as_object_mut().expect("records are objects");
            VOLATILE.iter().for_each(|field| drop(fields.remove(*field)));
        }
        records.sort_by_key(Value::to_string);
        records
    }

    fn data_lines(&self) -> BTreeSet<String> {
        let records = self.all_records();
        let data = records.iter().filter(|record| !is_foreign(record) && !is_marker(record));
        data.map(|record| line(&record["name"], &record["type"], &record["content"], &record["ttl"]))
            .collect()
    }

    // === Waiting and judging ===

    /// Whether all that is wished is there and said to be there, and nothing else.
    pub async fn is_done(&self, wishes: Wishes) -> Result<(), String> {
        let (wanted, found) = (self.wanted_lines(wishes), self.data_lines());
        if wanted != found {
            let missing: Vec<_> = wanted.difference(&found).collect();
            let left: Vec<_> = found.difference(&wanted).collect();
            return Err(format!("missing: {missing:#?}, left: {left:#?}"));
        }
        let objects = self.objects().await;
        let names: BTreeSet<String> = self.manifests(wishes).iter().map(name_of).collect();
        for (name, object) in &objects {
            let is_good = is_current(object) && condition(object, "Ready").is("True");
            if !names.contains(name) || !is_good {
                return Err(format!("{object:#}"));
            }
        }
        Ok(())
    }

    pub async fn wait_done(&self, wishes: Wishes) {
        eventually(&format!("{wishes:?} are there"), DEADLINE, async || self.is_done(wishes).await).await;
    }

    /// Waits for the end, and judges it: as the clean run, no foreign record touched, then no more writes.
    pub async fn assert_ends(&self, wishes: Wishes, mark: u64, label: &str) {
        self.wait_done(wishes).await;
        self.assert_quiet(label).await;
        let clean = self.ends.lock().expect("no panic")[&(wishes == Wishes::First)].clone();
        assert_eq!(self.contents(), clean, "{label}");
        assert!(self.foreign_now() == self.foreign, "foreign records, {label}");
        self.assert_never_without(mark, label);
    }

    /// Two scans of all zones write nothing.
    async fn assert_quiet(&self, label: &str) {
        let names: Vec<String> = (0..ZONES).map(zone_name).collect();
        join_all(names.iter().map(|zone| self.lab.scan_of(zone))).await;
        let mark = self.lab.mark();
        for _ in 0..2 {
            join_all(names.iter().map(|zone| self.lab.scan_of(zone))).await;
        }
        let writes: Vec<Entry> =
            self.lab.sim.journal_since(mark).into_iter().filter(|entry| entry.method != "GET").collect();
        assert!(writes.is_empty(), "a quiet system writes nothing, {label}: {writes:#?}");
        for zone in &names {
            let object = self.lab.get("DNSZone", zone).await.expect("it is there");
            assert_eq!(object["status"]["records"]["orphaned"], 0, "{label}: {object:#}");
        }
    }

    /// No name that was there before and is wished after was ever without a record.
    fn assert_never_without(&self, mark: u64, label: &str) {
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let lasting = self.lasting_names();
        for entry in self.lab.sim.journal() {
            for effect in &entry.effects {
                let mut note = |record: &Value, is_there: bool| {
                    let name = record["name"].as_str().unwrap_or_default();
                    if lasting.contains(name) && !is_marker(record) {
                        let ids = names.entry(name.to_owned()).or_default();
                        if is_there {
                            ids.insert(effect.id.clone())
                        } else {
                            ids.remove(&effect.id)
                        };
                    }
                };
                effect.before.iter().for_each(|record| note(record, false));
                effect.after.iter().for_each(|record| note(record, true));
            }
            if entry.sequence <= mark {
                continue;
            }
            let empty: Vec<&String> =
                names.iter().filter(|(_, ids)| ids.is_empty()).map(|(name, _)| name).collect();
            assert!(empty.is_empty(), "{label}: without records: {empty:?} after {entry:#?}");
        }
    }
}

fn zone_name(number: usize) -> String {
    format!("zone-{number}")
}

fn name_of(manifest: &Manifest) -> String {
    manifest.0["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn is_foreign(record: &Value) -> bool {
    record["name"].as_str().is_some_and(|name| name.starts_with("foreign-"))
}

fn is_marker(record: &Value) -> bool {
    record["content"].as_str().is_some_and(|content| content.contains("heritage=external-dns"))
}

fn line(name: &Value, rtype: &Value, content: &Value, ttl: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {} {} {ttl}", text(name), text(rtype), text(content))
}
