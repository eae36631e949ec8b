//! A zone on each provider, worked on as the program does it.

use std::{sync::Arc, time::Duration};

use cloudflare_sim::{Config, Plan as SimPlan, Sim, TokenGrant};
use dns_servers::{DnsServer, Setup, Software};
use secrecy::SecretString;
use serde_json::Value;
use zonekeeper::engine::{Deletes, GuardMemory, GuardRecord, Order, Pass, Settings, Waiting, ZoneWorker};
use zonekeeper_kernel::{
    capability::Capabilities,
    guard::{Approval, Limits},
    holder::OwnerId,
    marker::{Form, Registry, comment::CommentForm, key::MarkerKeys, txt::TxtForm},
    name::Name,
    plan::{Evidence, Scope},
    record::{LiveRecord, Record},
    zone::Rules,
    zone_change::ZoneWish,
};
use zonekeeper_providers::{
    Provider, ProviderError, ZoneAccess,
    builtin::{Authority, Builtin},
    cloudflare::{
        self, Cloudflare,
        budget::{Budgets, Rate},
    },
    memory::Memory,
    rfc2136::{self, Rfc2136, Rotation, Tsig},
};

use crate::wish::{Wish, desired, place};

/// A pass that asks for more than this does not come to an end.
const MOST_SAVES: usize = 20;

/// The zone of every test.
pub const DOMAIN: &str = "example.com";

/// Where ownership is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    Comment,
    Txt,
    None,
}

/// Is given what the guard must not forget.
pub type GuardStore = Arc<dyn Fn(&GuardRecord) + Send + Sync>;

/// A zone, its provider and its worker.
pub struct Stage {
    pub access: Arc<dyn ZoneAccess>,
    pub marks: Marks,
    pub worker: ZoneWorker,
    pub rules: Rules,
    pub limits: Option<Limits>,
    pub registry: Registry,
    /// What is known of holders that ask for nothing: all of it, unless a test says otherwise.
    pub evidence: Evidence,
    /// Told what the guard must not forget, where that outlives the run.
    pub store: Option<GuardStore>,
}

/// The simulator with one zone in it.
#[derive(Clone)]
pub struct AtCloudflare {
    pub sim: Sim,
    pub zone: String,
    pub token: String,
    pub batch_limit: Option<usize>,
}

/// A DNS server with one zone, which takes updates.
pub struct AtServer {
    pub server: DnsServer,
}

/// The domain as a name.
pub fn domain() -> Name {
    Name::parse(DOMAIN).expect("a valid name")
}

/// How the stages of all tests remember ownership.
pub fn registry(marks: Marks, comment_limit: Option<usize>) -> Registry {
    let form = match marks {
        Marks::Comment => Form::Comment(CommentForm { limit: comment_limit.unwrap_or(100) }),
        Marks::Txt => Form::Txt(TxtForm::default()),
        Marks::None => Form::None,
    };
    Registry {
        domain: domain(),
        owner: OwnerId::new("test-owner"),
        take_over_from: Vec::new(),
        keys: MarkerKeys::new(Some(b"marker key"), None),
        form,
    }
}

impl AtCloudflare {
    /// A zone without records on a plan.
    pub async fn start(plan: SimPlan) -> Self {
        let sim = Sim::start(Config { journal_capacity: 10_000, ..Config::unlimited() })
            .await
            .expect("the simulator starts");
        let zone = sim.zone(DOMAIN, plan);
        let token = sim.token(TokenGrant::full());
        Self { sim, zone, token, batch_limit: None }
    }

    pub fn provider(&self) -> Cloudflare {
        let settings = cloudflare::Settings {
            base_url: self.sim.base_url(),
            rate: Rate { requests: 10_000_000, window: Duration::from_secs(1) },
            batch_limit: self.batch_limit,
            read_tries: 1,
            ..cloudflare::Settings::new(SecretString::from(self.token.clone()))
        };
        Cloudflare::new(settings, &Budgets::default()).expect("valid settings")
    }

    pub async fn stage(&self, marks: Marks) -> Stage {
        let access = self.provider().open(&domain(), None).await.expect("the zone exists");
        Stage::new(access, marks)
    }

    /// Records as GET shows them, without what changes from run to run.
    pub fn contents(&self) -> Vec<Value> {
        let mut records = self.sim.records(&self.zone);
        for record in &mut records {
            let fields = record.as_object_mut().expect("records are objects");
            for volatile in ["id", "created_on", "modified_on", "comment_modified_on", "tags_modified_on"] {
                fields.remove(volatile);
            }
        }
        records.sort_by_key(Value::to_string);
        records
    }
}

impl AtServer {
    /// A zone with nothing but what every zone has.
    pub fn start(software: Software) -> Self {
        Self::with(software, |_| {})
    }

    /// The same on a server that is set up a little differently.
    pub fn with(software: Software, change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = Setup::new(software, DOMAIN);
        change(&mut setup);
        Self { server: DnsServer::start(setup).expect("the server starts") }
    }

    /// How to reach it with its first key.
    pub fn settings(&self) -> rfc2136::Settings {
        let update_key = Rotation { current: Some(tsig(self.server.key())), previous: None };
        rfc2136::Settings { update_key, ..rfc2136::Settings::new([self.server.address()]) }
    }

    pub async fn stage(&self, marks: Marks) -> Stage {
        Self::stage_of(self.settings(), marks).await
    }

    /// The zone, reached in another way.
    pub async fn stage_of(settings: rfc2136::Settings, marks: Marks) -> Stage {
        let provider = Rfc2136::new(settings).expect("valid settings");
        Stage::new(provider.open(&domain(), None).await.expect("the zone exists"), marks)
    }
}

/// A server's key as the provider takes it.
pub fn tsig(key: &dns_servers::Key) -> Tsig {
    Tsig {
        name: key.name.clone(),
        algorithm: key.algorithm.clone(),
        secret: SecretString::from(key.secret.clone()),
    }
}

impl Stage {
    pub fn new(access: Arc<dyn ZoneAccess>, marks: Marks) -> Self {
        let (rules, limits) = (Rules::default(), None);
        let registry = registry(marks, access.traits().capabilities.comment_limit);
        let worker = ZoneWorker::new(access.clone(), settings(&registry, marks, &rules, limits));
        Self { access, marks, worker, rules, limits, registry, evidence: Evidence::complete(), store: None }
    }

    pub async fn memory(marks: Marks, capabilities: Capabilities) -> Self {
        let memory = Memory::default();
        let comment_limit = (marks == Marks::Comment).then_some(500).or(capabilities.comment_limit);
        memory.add(domain(), Capabilities { comment_limit, ..capabilities });
        Self::new(memory.open(&domain(), None).await.expect("just added"), marks)
    }

    pub async fn builtin() -> (Builtin, Self) {
        let builtin =
            Builtin::bind("127.0.0.1:0".parse().expect("an address"), Vec::new()).await.expect("a free port");
        builtin.declare(domain(), Authority::default_for(&domain()));
        let access = builtin.open(&domain(), None).await.expect("just declared");
        (builtin, Self::new(access, Marks::None))
    }

    /// A worker that starts anew, as after a crash; rules, limits and registry count from then on.
    pub fn restart(&mut self) {
        self.worker = ZoneWorker::new(
            self.access.clone(),
            settings(&self.registry, self.marks, &self.rules, self.limits),
        );
    }

    /// Another installation of Zonekeeper that works on the same zone.
    pub fn of_owner(&self, owner: &str) -> Self {
        let mut other = Self::new(self.access.clone(), self.marks);
        other.registry.owner = OwnerId::new(owner);
        other.restart();
        other
    }

    /// One pass for these wishes, as the whole wish of a folder.
    pub async fn sync(&mut self, wishes: &[Wish]) -> Result<Pass, ProviderError> {
        self.sync_approved(wishes, &Approval::None).await
    }

    pub async fn sync_approved(
        &mut self,
        wishes: &[Wish],
        approval: &Approval,
    ) -> Result<Pass, ProviderError> {
        self.sync_waiting(wishes, approval, Waiting::UpTo(Duration::from_secs(5))).await
    }

    /// One pass that ends at the first trouble, as a crash would end it.
    pub async fn sync_once(&mut self, wishes: &[Wish]) -> Result<Pass, ProviderError> {
        self.sync_waiting(wishes, &Approval::None, Waiting::Never).await
    }

    async fn sync_waiting(
        &mut self,
        wishes: &[Wish],
        approval: &Approval,
        waiting: Waiting,
    ) -> Result<Pass, ProviderError> {
        let desired = desired(&domain(), self.worker.capabilities(), wishes);
        let (desired, refused) = self.worker.adapt(desired).await?;
        let evidence = &self.evidence.clone();
        let sets = desired.iter().flat_map(|(name, sets)| sets.iter().map(move |set| (name, set.rtype)));
        self.worker.expect(sets, std::iter::empty());
        let (mut saved, mut applied) = (None, Vec::new());
        for _ in 0..MOST_SAVES {
            let memory = match &self.store {
                Some(_) => GuardMemory::Saved(saved.as_ref()),
                None => GuardMemory::Run,
            };
            let order = Order {
                desired: &desired,
                evidence,
                scope: Scope::Zone,
                approval,
                waiting,
                deletes: Deletes::Complete,
                progress: &|_| {},
                memory,
            };
            let mut pass = self.worker.pass(&order).await?;
            applied.append(&mut pass.applied);
            match (pass.must_save.take(), &self.store) {
                (Some(record), Some(store)) => {
                    store(&record);
                    saved = Some(record);
                }
                (_, _) => {
                    pass.plan.rejections.extend(refused);
                    return Ok(Pass { applied, ..pass });
                }
            }
        }
        panic!("the guard's memory is saved again and again");
    }

    /// All records, sorted, ids aside.
    pub async fn records(&self) -> Vec<Record> {
        let records: Vec<(Name, LiveRecord)> = self.access.list().await.expect("listing works");
        let mut records: Vec<Record> = records.into_iter().map(|(name, record)| record.at(&name)).collect();
        records.sort();
        records
    }

    /// The values of one set, without markers.
    pub async fn values(&self, name: &str, rtype: &str) -> Vec<String> {
        let name = place(name, &domain());
        let records = self.records().await;
        let of_set =
            records.iter().filter(|record| record.name == name && record.rdata.rtype().to_string() == rtype);
        of_set.map(|record| record.rdata.to_string()).collect()
    }
}

fn settings(registry: &Registry, marks: Marks, rules: &Rules, limits: Option<Limits>) -> Settings {
    Settings {
        identity: "test".into(),
        registry: registry.clone(),
        rules: rules.clone(),
        limits,
        window: Duration::from_secs(600),
        settle: Duration::ZERO,
        is_all_ours: marks == Marks::None,
        wish: ZoneWish::default(),
    }
}
