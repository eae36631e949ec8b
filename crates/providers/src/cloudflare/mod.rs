//! Cloudflare: zones by name or id, complete listings, batched writes.

pub mod api;
pub mod batch;
pub mod budget;
pub(crate) mod capabilities;
mod check;
pub mod convert;
pub mod explain;
mod gone;
mod open;
mod zone;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, atomic::AtomicUsize},
    time::Duration,
};

pub use self::capabilities::capabilities;
pub(crate) use self::open::open;
pub(crate) use self::zone::create::traits_of_largest_plan;
use async_trait::async_trait;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use zonekeeper_kernel::{
    guard::Cleared,
    name::Name,
    record::{LiveRecord, RecordId},
    zone_change::{ClearedZone, ZoneWish},
    zone_state::{Contents, ZoneState},
};

use crate::{
    Asks, Outcome, Progress, Provider, ProviderError, Standing, ZoneAccess, ZoneTraits,
    cloudflare::{
        api::{Client, Failure, Reply},
        batch::Batches,
        budget::{Budgets, Purpose, Rate},
        check::lacks_edit,
        convert::ApiRecord,
        explain::explain,
        gone::{explain_zone, is_gone, is_missing, not_found},
        zone::{primaries::copies, state::Seen},
    },
    fence::{Fence, Unfenced},
    meter::{Meter, Unmetered},
    tls,
};

/// Where Cloudflare's API is.
pub const BASE_URL: &str = "https://api.cloudflare.com/client/v4";
/// The largest page that is documented to work (2026-11).
const PAGE: usize = 5_000;
/// How often a listing is begun again when its pages shift under it.
const LISTING_TRIES: usize = 6;

/// Cloudflare, with one token.
pub struct Cloudflare {
    client: Arc<Client>,
    account: Option<String>,
    batch_limit: Option<usize>,
    /// The zones that the last check saw, by name; each is taken once, so that a later look-up asks again.
    seen: Mutex<BTreeMap<String, Vec<ApiZone>>>,
}

/// How to reach Cloudflare.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the API is.
    pub base_url: String,
    /// The token.
    pub token: SecretString,
    /// How many requests it may make.
    pub rate: Rate,
    /// How long one request may take.
    pub timeout: Duration,
    /// How often a read whose answer is lost is sent.
    pub read_tries: u32,
    /// How long a read may wait when Cloudflare's rate limit is reached, where no loop comes back to it.
    pub patience: Duration,
    /// How long a request about a zone waits for the credential's budget before it is an error; none waits as long as
    /// it takes.
    pub budget_patience: Option<Duration>,
    /// Operations per batch, below what the plan allows; none leaves it to the plan.
    pub batch_limit: Option<usize>,
    /// The account, for tokens that belong to one.
    pub account: Option<String>,
    /// Whether this process may still send.
    pub fence: Arc<dyn Fence>,
    /// Told how long requests take.
    pub meter: Arc<dyn Meter>,
}

/// One zone at Cloudflare.
#[derive(Debug)]
struct CloudflareZone {
    client: Arc<Client>,
    domain: Name,
    traits: ZoneTraits,
    batch_limit: AtomicUsize,
    /// What was last read of the zone itself.
    seen: Mutex<Seen>,
    /// The settings that are managed, whole, as they were last read.
    settings: Mutex<BTreeMap<String, Value>>,
}

/// What a zone's plan allows (2026-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    Free,
    Paid,
    Enterprise,
}

#[derive(Debug, Deserialize)]
struct ApiZone {
    id: String,
    name: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    name_servers: Option<Vec<String>>,
    #[serde(default)]
    plan: Option<ApiPlan>,
    #[serde(default)]
    account: Option<ApiAccount>,
    #[serde(default)]
    permissions: Option<Vec<String>>,
    #[serde(default)]
    paused: Option<bool>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    created_on: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ApiAccount {
    id: String,
}

#[derive(Debug, Deserialize)]
struct ApiPlan {
    #[serde(default)]
    legacy_id: Option<String>,
}

// === impl Settings ===

impl Settings {
    /// Cloudflare itself, with its default limits.
    pub fn new(token: SecretString) -> Self {
        Self {
            base_url: BASE_URL.into(),
            token,
            rate: Rate::default(),
            timeout: Duration::from_secs(30),
            read_tries: 4,
            patience: Duration::ZERO,
            budget_patience: None,
            batch_limit: None,
            account: None,
            fence: Arc::new(Unfenced),
            meter: Arc::new(Unmetered),
        }
    }
}

// === impl Cloudflare ===

impl Cloudflare {
    /// A provider for one token; the budget is shared with every other provider that uses it.
    pub fn new(settings: Settings, budgets: &Budgets) -> Result<Self, ProviderError> {
        use secrecy::ExposeSecret;
        let configuration = |message: String| ProviderError::Configuration { message };
        if settings.token.expose_secret().trim().is_empty() {
            return Err(ProviderError::Credentials {
                message: "the Cloudflare API token is empty; put a token with Zone:Read and DNS:Edit there"
                    .into(),
            });
        }
        url::Url::parse(&settings.base_url).map_err(|error| {
            configuration(format!("baseURL {:?} is not a URL: {error}", settings.base_url))
        })?;
        tls::set_up();
        let http = reqwest::Client::builder()
            .user_agent(concat!("zonekeeper/", env!("CARGO_PKG_VERSION")))
            .timeout(settings.timeout)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| configuration(format!("setting up HTTP: {}", api::cause(&error))))?;
        let budget = budgets.of(settings.token.expose_secret().trim(), settings.rate);
        let client = Client::new(http, &settings, budget);
        Ok(Self {
            client: Arc::new(client),
            account: settings.account,
            batch_limit: settings.batch_limit,
            seen: Mutex::default(),
        })
    }

    async fn find(&self, domain: &Name) -> Result<ApiZone, ProviderError> {
        let act = format!("finding zone {domain}");
        let zones = match self.take_seen(domain) {
            Some(seen) => seen,
            None => {
                let path = format!("/zones?name={}&per_page=50", query_text(domain.as_str()));
                let reply: Reply<Vec<ApiZone>> = self
                    .client
                    .read(path, Purpose::Change)
                    .await
                    .map_err(|failure| explain(&act, &failure))?;
                reply.result
            }
        };
        let mut zones: Vec<ApiZone> = zones
            .into_iter()
            .filter(|zone| Name::parse(&zone.name).is_ok_and(|name| name == *domain))
            .collect();
        // A domain can be pending in one account and active in another: the active one is served.
        zones.sort_by_key(|zone| zone.status.as_deref() != Some("active"));
        let active = zones.iter().filter(|zone| zone.status.as_deref() == Some("active")).count();
        match zones.into_iter().next() {
            Some(_) if active > 1 => Err(ProviderError::Configuration {
                message: format!(
                    "{act}: the token sees several of that name; set spec.zoneID of the DNSZone"
                ),
            }),
            Some(zone) => Ok(zone),
            None => Err(ProviderError::ZoneNotFound {
                message: format!(
                    "{act}: the token sees no such zone; add it at Cloudflare, set spec.lifecycle.create of the DNSZone, or give the token Zone:Read for it"
                ),
            }),
        }
    }

    async fn get(&self, domain: &Name, id: &str) -> Result<ApiZone, ProviderError> {
        let act = format!("reading zone {domain} by id {id}");
        let read = self.client.read(format!("/zones/{}", query_text(id)), Purpose::Change).await;
        let reply: Reply<ApiZone> = match read {
            Ok(reply) => reply,
            Err(failure) => return Err(explain_zone(&self.client, domain, id, &act, &failure).await),
        };
        if Name::parse(&reply.result.name).ok().as_ref() != Some(domain) {
            let message =
                format!("{act}: that is zone {}; correct spec.zoneID of the DNSZone", reply.result.name);
            return Err(ProviderError::ZoneNotFound { message });
        }
        Ok(reply.result)
    }
}

impl Cloudflare {
    /// A zone that was found.
    fn zone(&self, domain: &Name, zone: ApiZone) -> Arc<dyn ZoneAccess> {
        let plan = Plan::of(zone.plan.as_ref());
        Arc::new(CloudflareZone {
            client: self.client.clone(),
            domain: domain.clone(),
            traits: ZoneTraits {
                id: zone.id.clone(),
                name_servers: zone.name_servers.clone().unwrap_or_default(),
                capabilities: capabilities(plan.minimum_ttl(), plan.comment_limit()),
                ..zone::create::traits()
            },
            batch_limit: AtomicUsize::new(self.batch_limit.unwrap_or(usize::MAX).min(plan.batch_limit())),
            seen: Mutex::new(Seen::now(zone)),
            settings: Mutex::default(),
        })
    }
}

impl fmt::Debug for Cloudflare {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Cloudflare").field("client", &self.client).finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for Cloudflare {
    async fn check(&self) -> Result<Standing, ProviderError> {
        self.check_token().await
    }

    fn budget_left(&self) -> Option<usize> {
        Some(self.client.budget_left())
    }

    async fn open(&self, domain: &Name, id: Option<&str>) -> Result<Arc<dyn ZoneAccess>, ProviderError> {
        let zone = match id {
            Some(id) => self.get(domain, id).await?,
            None => self.find(domain).await?,
        };
        if zone.permissions.as_ref().is_some_and(|rights| lacks_edit(rights)) {
            return Err(ProviderError::Credentials {
                message: format!("the token may read zone {domain}, not change it; give it DNS:Edit there"),
            });
        }
        Ok(self.zone(domain, zone))
    }

    fn new_zone(&self) -> Option<ZoneTraits> {
        Some(zone::create::traits())
    }

    async fn create(&self, domain: &Name, wish: &ZoneWish) -> Result<Arc<dyn ZoneAccess>, ProviderError> {
        self.create_zone(domain, wish).await
    }
}

// === impl Plan ===

impl Plan {
    fn of(plan: Option<&ApiPlan>) -> Self {
        match plan.and_then(|plan| plan.legacy_id.as_deref()) {
            Some("enterprise") => Self::Enterprise,
            Some("pro" | "business") => Self::Paid,
            // Where the plan is not told, the smallest limits are safe.
            Some(_) | None => Self::Free,
        }
    }

    fn batch_limit(self) -> usize {
        match self {
            Self::Free => 200,
            Self::Paid | Self::Enterprise => 3_500,
        }
    }

    fn comment_limit(self) -> usize {
        match self {
            Self::Free => 100,
            Self::Paid | Self::Enterprise => 500,
        }
    }

    fn minimum_ttl(self) -> u32 {
        match self {
            Self::Free | Self::Paid => 60,
            Self::Enterprise => 30,
        }
    }
}

// === impl CloudflareZone ===

impl CloudflareZone {
    /// All pages, begun again where they shift.
    async fn list_for(&self, purpose: Purpose) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        let act = format!("listing zone {}", self.domain);
        for _ in 0..LISTING_TRIES {
            match self.list_once(purpose).await {
                Ok(Some(records)) => {
                    return Ok(records.into_iter().filter_map(ApiRecord::into_live).collect());
                }
                Ok(None) => {}
                Err(failure) => return Err(self.explain(&act, &failure).await),
            }
        }
        Err(ProviderError::Unavailable {
            message: format!("{act}: its pages keep shifting while they are read"),
        })
    }

    async fn explain(&self, act: &str, failure: &Failure) -> ProviderError {
        explain_zone(&self.client, &self.domain, &self.traits.id, act, failure).await
    }

    /// One pass over all pages; none where they shifted under it.
    async fn list_once(&self, purpose: Purpose) -> Result<Option<Vec<ApiRecord>>, Failure> {
        let mut records: BTreeMap<String, ApiRecord> = BTreeMap::new();
        let mut total = None;
        for page in 1.. {
            let path = format!("/zones/{}/dns_records?per_page={PAGE}&page={page}", self.traits.id);
            let reply: Reply<Vec<ApiRecord>> = self.client.read(path, purpose).await?;
            let received = reply.result.len();
            for record in reply.result {
                if records.insert(record.id().to_owned(), record).is_some() {
                    return Ok(None);
                }
            }
            let count = reply.info.and_then(|info| info.total_count);
            if page > 1 && count != total {
                return Ok(None);
            }
            total = count;
            let is_last = match reply.info.and_then(|info| info.total_pages) {
                Some(pages) => page >= pages.max(1),
                None => received == 0,
            };
            if is_last {
                break;
            }
        }
        let is_complete = total.is_none_or(|total| total == records.len());
        Ok(is_complete.then(|| records.into_values().collect()))
    }
}

#[async_trait]
impl ZoneAccess for CloudflareZone {
    fn traits(&self) -> &ZoneTraits {
        &self.traits
    }

    async fn zone_state(&self, wish: &ZoneWish, asks: Asks) -> Result<Option<ZoneState>, ProviderError> {
        self.read_state(wish, asks).await.map(Some)
    }

    async fn change_zone(&self, cleared: &ClearedZone, wish: &ZoneWish) -> Vec<Result<(), ProviderError>> {
        self.change(cleared, wish).await
    }

    async fn list(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        self.list_for(Purpose::Change).await
    }

    async fn scan(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        self.list_for(Purpose::Scan).await
    }

    async fn read(&self, names: &BTreeSet<Name>) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        let mut records = Vec::new();
        for name in names {
            let path = format!(
                "/zones/{}/dns_records?per_page={PAGE}&name={}",
                self.traits.id,
                query_text(name.as_str())
            );
            let reply: Reply<Vec<ApiRecord>> = match self.client.read(path, Purpose::Change).await {
                Ok(reply) => reply,
                Err(failure) => return Err(self.explain(&format!("reading {name}"), &failure).await),
            };
            let live = reply.result.into_iter().filter_map(ApiRecord::into_live);
            records.extend(live.filter(|(found, _)| found == name));
        }
        Ok(records)
    }

    async fn find(&self, id: &RecordId) -> Result<Option<(Name, LiveRecord)>, ProviderError> {
        let path = format!("/zones/{}/dns_records/{}", self.traits.id, query_text(&id.0));
        match self.client.read::<ApiRecord>(path, Purpose::Change).await {
            Ok(reply) => Ok(reply.result.into_live()),
            Err(Failure::Refused { status, errors }) if is_missing(status, &errors) => Ok(None),
            Err(failure) => Err(self.explain(&format!("reading record {}", id.0), &failure).await),
        }
    }

    async fn apply(&self, cleared: &Cleared, progress: &Progress<'_>) -> Vec<Outcome> {
        if self.seen().contents() == Contents::Copies {
            return cleared.changes().iter().map(|_| Outcome::NotSent(copies(&self.domain))).collect();
        }
        let batches = Batches { client: &self.client, zone: &self.traits.id, limit: &self.batch_limit };
        let mut outcomes = batches.apply(cleared.changes(), progress).await;
        let is_refused =
            |outcome: &Outcome| matches!(outcome, Outcome::NotSent(ProviderError::Credentials { .. }));
        if outcomes.iter().any(is_refused) && is_gone(&self.client, &self.domain, &self.traits.id).await {
            let gone = || Outcome::NotSent(not_found(&format!("writing to zone {}", self.domain)));
            outcomes.iter_mut().filter(|outcome| is_refused(outcome)).for_each(|outcome| *outcome = gone());
        }
        outcomes
    }
}

fn query_text(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
