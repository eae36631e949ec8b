//! Opening what a folder declares, and keeping open what a new version of it still declares.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
};

use kube::ResourceExt;
use tokio::time::Instant;
use zonekeeper_api::{DNSProvider, DNSZone, DeletionPolicy};
use zonekeeper_kernel::{
    holder::Holder,
    rdata::RecordType,
    reason::{Reason, Rejection},
    transfer_key::TransferKey,
    zone::{Namespaces, Zone, ZoneKey},
};
use zonekeeper_providers::{
    self as providers, Answering, OpenContext, Opened, ProviderError, memory::Memory,
};

use crate::{
    declare::{self, BadField, ProviderSettings, provider_settings},
    engine::ZoneWorker,
    folder::{self, Declared, Folder, Problem, builtin_provider},
    session::{
        FolderCredentials, OpenProvider, OpenZone, Serving, Session,
        binding::binding,
        parked::{Former, Place},
    },
};

/// Whether the folder's Secrets are those that a provider was opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Secrets {
    Unchanged,
    Changed,
}

impl Session {
    /// Works on a new version of the folder from now on; on problems the old one stays.
    pub async fn reload(&mut self, mut folder: Folder) -> Result<(), Vec<Problem>> {
        if folder.providers.is_empty() && self.options.serving != Serving::Comparing {
            let place = folder::Place { file: "(default provider)".into(), line: 0 };
            folder.providers.push(Declared { object: builtin_provider(), place });
        }
        let settings = self.check(&folder)?;
        let (zones, mut duplicates) = zones_by_provider(&folder)?;
        self.open_providers(&folder, settings).await?;
        duplicates.extend(self.open_zones(&folder, zones).await);
        self.duplicates = duplicates;
        self.answers.expire_failures();
        self.folder = folder;
        Ok(())
    }

    /// Forgets what was read of zones whose scan is due, and opens those that could not be opened before.
    pub async fn wake(&mut self) {
        let now = Instant::now();
        for zone in self.zones.iter_mut().filter(|zone| zone.due <= now) {
            zone.due = now + zone.interval();
            match (&mut zone.worker, self.providers.get(&zone.provider)) {
                (Ok(worker), _) => worker.scan(),
                (Err(_), Some(open)) => {
                    let place = Place::of(&zone.provider, &zone.zone);
                    let mut former = self.parked.take(&place);
                    let declared = (&self.folder, &zone.declared.object);
                    zone.worker = open_zone(open, declared, &zone.zone, &mut former).await;
                    self.parked.put(place, former);
                }
                (Err(_), None) => {}
            }
        }
    }

    /// What can be known to be wrong before any call.
    fn check(&self, folder: &Folder) -> Result<BTreeMap<String, ProviderSettings>, Vec<Problem>> {
        let credentials = FolderCredentials { folder, options: &self.options };
        let mut settings = BTreeMap::new();
        let mut problems = Vec::new();
        for declared in &folder.providers {
            match provider_settings(&declared.object, &credentials) {
                Ok(read) => drop(settings.insert(read.name.clone(), read)),
                Err(bad) => problems.push(problem(&declared.place, bad)),
            }
        }
        if folder.providers.is_empty() {
            problems.push(Problem {
                place: folder
                    .zones
                    .first()
                    .map_or(folder::Place { file: ".".into(), line: 0 }, |zone| zone.place.clone()),
                field: String::new(),
                message: "the folder declares no DNSProvider; add one with spec.cloudflare or spec.rfc2136"
                    .into(),
            });
        }
        for declared in &folder.record_sets {
            if declared.object.spec.deletion_policy == DeletionPolicy::Retain {
                let message =
                    "Retain is refused without a cluster: nothing would remember it; remove the field";
                let bad = BadField { field: "spec.deletionPolicy".into(), message: message.into() };
                problems.push(problem(&declared.place, bad));
            }
        }
        if problems.is_empty() { Ok(settings) } else { Err(problems) }
    }

    async fn open_providers(
        &mut self,
        folder: &Folder,
        settings: BTreeMap<String, ProviderSettings>,
    ) -> Result<(), Vec<Problem>> {
        let mut open = BTreeMap::new();
        let mut problems = Vec::new();
        for declared in &folder.providers {
            let name = declared.object.name_any();
            let Some(settings) = settings.get(&name) else { continue };
            // The built-in server has none.
            let is_same = settings.is_builtin() || folder.secrets == self.folder.secrets;
            let secrets = if is_same { Secrets::Unchanged } else { Secrets::Changed };
            match self.open_provider(&declared.object, settings, secrets).await {
                Ok(provider) => drop(open.insert(name, provider)),
                Err(error) => problems.push(Problem {
                    place: declared.place.clone(),
                    field: String::new(),
                    message: error.to_string(),
                }),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        self.providers = open;
        Ok(())
    }

    async fn open_provider(
        &mut self,
        object: &DNSProvider,
        settings: &ProviderSettings,
        secrets: Secrets,
    ) -> Result<OpenProvider, ProviderError> {
        let kept = self.providers.get(&settings.name).filter(|open| open.spec == object.spec);
        if let (Some(open), Secrets::Unchanged) = (kept, secrets) {
            return Ok(OpenProvider {
                settings: settings.clone(),
                spec: open.spec.clone(),
                provider: open.provider.clone(),
                builtin: open.builtin.clone(),
                is_new: false,
            });
        }
        if self.options.serving == Serving::Checking {
            let provider = Arc::new(Memory::everywhere(settings.backend.zone_traits()));
            let (settings, spec) = (settings.clone(), object.spec.clone());
            return Ok(OpenProvider { settings, spec, provider, builtin: None, is_new: true });
        }
        let before = self.providers.get(&settings.name);
        let context = OpenContext {
            answering: match self.options.serving {
                Serving::Answering => Answering::Queries,
                Serving::Comparing | Serving::Showing | Serving::Checking => Answering::Nothing,
            },
            before: before
                .map(|open| Opened { provider: open.provider.clone(), builtin: open.builtin.clone() }),
            ..OpenContext::new(self.budgets.clone(), self.options.waiting)
        };
        let Opened { provider, builtin } = settings.backend.open(context).await?;
        Ok(OpenProvider {
            settings: settings.clone(),
            spec: object.spec.clone(),
            provider,
            builtin,
            is_new: true,
        })
    }

    /// Opens zones, and refuses those that are a second way to the same zone.
    async fn open_zones(
        &mut self,
        folder: &Folder,
        zones: Vec<(Declared<DNSZone>, String)>,
    ) -> Vec<Rejection> {
        let mut duplicates = Vec::new();
        let mut ids: BTreeMap<(String, String), ZoneKey> = BTreeMap::new();
        let mut before = BTreeMap::new();
        for zone in std::mem::take(&mut self.zones) {
            let place = Place::of(&zone.provider, &zone.zone);
            let zone_id = zone.declared.object.spec.zone_id;
            let former = zone.worker.ok().map(|worker| Former { worker, zone_id: Some(zone_id) });
            before.insert(place, (former, zone.due));
        }
        self.retract_undeclared(&zones);
        self.declare_served(&zones);
        for (declared, provider) in zones {
            // Checked by `zones_by_provider`.
            let Ok(zone) = declare::zone(&declared.object, &provider) else { continue };
            let Some(open) = self.providers.get(&provider) else { continue };
            let place = Place::of(&provider, &zone);
            let (former, due) = match before.remove(&place) {
                Some((former, due)) => (former, Some(due)),
                None => (None, None),
            };
            let mut former = former.or_else(|| self.parked.take(&place));
            let worker = open_zone(open, (folder, &declared.object), &zone, &mut former).await;
            self.parked.put(place, former);
            if let (Ok(worker), Some(realm)) = (&worker, open.settings.backend.realm()) {
                let id = (realm.to_owned(), worker.access().traits().id.clone());
                // Zones that are to be created have none yet.
                if let Some(first) = ids.get(&id).filter(|_| !id.1.is_empty()) {
                    duplicates.push(duplicate(&declared, &zone, &first.to_string(), &provider));
                    continue;
                }
                ids.insert(id, zone.key.clone());
            }
            let is_builtin = open.settings.is_builtin();
            let binding = binding(&zone, open);
            let (due_now, settles) = (Instant::now(), None);
            let mut zone =
                OpenZone { declared, zone, provider, binding, worker, is_builtin, due: due_now, settles };
            let next = zone.due + zone.interval();
            // However often the folder changes, the next scan is not put off.
            zone.due = due.map_or(next, |due| due.min(next));
            self.zones.push(zone);
        }
        before.into_iter().for_each(|(place, (former, _))| self.parked.put(place, former));
        self.parked.expire();
        duplicates
    }

    /// All zones of built-in servers, before anything is waited for: a zone that is declared is not known yet, one that
    /// is not is refused.
    fn declare_served(&self, zones: &[(Declared<DNSZone>, String)]) {
        for (declared, provider) in zones {
            let builtin = self.providers.get(provider).and_then(|open| open.builtin.as_ref());
            let read = (declare::zone(&declared.object, provider), declare::authority(&declared.object));
            // Both were checked by `zones_by_provider`.
            if let (Some(builtin), (Ok(zone), Ok(authority))) = (builtin, read) {
                builtin.declare(zone.domain, authority);
            }
        }
    }

    /// Zones that the folder declares no more are served no more.
    fn retract_undeclared(&self, zones: &[(Declared<DNSZone>, String)]) {
        for (name, open) in &self.providers {
            let Some(builtin) = &open.builtin else { continue };
            let declared: BTreeSet<String> = zones
                .iter()
                .filter(|(_, provider)| provider == name)
                .map(|(zone, _)| zone.object.spec.domain.clone())
                .collect();
            for domain in builtin.domains() {
                if !declared
                    .iter()
                    .any(|text| zonekeeper_kernel::name::Name::parse(text).ok().as_ref() == Some(&domain))
                {
                    builtin.retract(&domain);
                }
            }
        }
    }
}

/// Opens a zone; the worker from before goes on with it, if it is the same zone.
async fn open_zone(
    open: &OpenProvider,
    (folder, object): (&Folder, &DNSZone),
    zone: &Zone,
    former: &mut Option<Former>,
) -> Result<ZoneWorker, ProviderError> {
    let configuration = |bad: BadField| ProviderError::Configuration { message: bad.to_string() };
    let key = transfer_key(folder, object).map_err(configuration)?;
    let id = Some(object.spec.zone_id.as_str()).filter(|id| !id.is_empty());
    let access = match former {
        // One changed object costs no call.
        Some(former) if !open.is_new && former.zone_id.as_ref() == Some(&object.spec.zone_id) => {
            former.worker.access().clone()
        }
        Some(_) | None => {
            let wish = declare::zone_wish(object, key.clone()).map_err(configuration)?;
            providers::open_zone(open.provider.clone(), &zone.domain, id, &wish).await?
        }
    };
    let identity = format!("{}/{}", open.settings.name, zone.domain);
    let comment_limit = access.traits().capabilities.comment_limit;
    let settings = declare::zone_settings(object, &open.settings.registry, identity, comment_limit, key)
        .map_err(configuration)?;
    let is_same = |former: &mut Former| {
        let before = former.worker.access();
        // A zone inside this process that is made anew is empty: nothing that is remembered holds for it.
        before.traits().id == access.traits().id && (open.builtin.is_none() || Arc::ptr_eq(before, &access))
    };
    Ok(match former.take_if(is_same) {
        Some(Former { mut worker, .. }) => {
            worker.adjust(access, settings);
            worker
        }
        None => ZoneWorker::new(access, settings),
    })
}

/// The key that a zone is transferred with, from a Secret of its own namespace.
fn transfer_key(folder: &Folder, object: &DNSZone) -> Result<Option<TransferKey>, BadField> {
    let namespace = object.namespace().unwrap_or_default();
    let namespace = if namespace.is_empty() { "default" } else { &namespace };
    let named = object.spec.cloudflare.as_ref().and_then(|zone| zone.transfer_tsig_secret_ref.as_ref());
    let secret = named.and_then(|reference| folder.secret(Some(namespace), &reference.name));
    declare::transfer_key(object, |key| secret?.get(key).map(<[u8]>::to_vec))
}

/// Zones with the names of their providers, and zones that were refused.
type PlacedZones = (Vec<(Declared<DNSZone>, String)>, Vec<Rejection>);

/// Every zone with the name of its provider, sorted by key; and those that another zone stands before.
fn zones_by_provider(folder: &Folder) -> Result<PlacedZones, Vec<Problem>> {
    let (mut zones, mut duplicates) = (Vec::new(), Vec::new());
    let mut problems = Vec::new();
    let mut taken: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut declared: Vec<&Declared<DNSZone>> = folder.zones.iter().collect();
    declared.sort_by_key(|zone| declare::zone_key(&zone.object));
    for zone in declared {
        match provider_of(folder, zone).and_then(|provider| {
            let read = declare::zone(&zone.object, &provider)?;
            declare::rules(&zone.object)?;
            declare::authority(&zone.object)?;
            declare::zone_wish(&zone.object, transfer_key(folder, &zone.object)?)?;
            Ok((provider, read))
        }) {
            Ok((provider, read)) => match taken.entry((provider.clone(), read.domain.to_string())) {
                Entry::Vacant(place) => {
                    place.insert(read.key.to_string());
                    zones.push((zone.clone(), provider));
                }
                Entry::Occupied(first) => duplicates.push(duplicate(zone, &read, first.get(), &provider)),
            },
            Err(bad) => problems.push(problem(&zone.place, bad)),
        }
    }
    if problems.is_empty() { Ok((zones, duplicates)) } else { Err(problems) }
}

fn duplicate(zone: &Declared<DNSZone>, read: &Zone, first: &str, provider: &str) -> Rejection {
    let message = format!(
        "{}: DNSZone {first} already has {} of DNSProvider {provider}; remove one of the two",
        zone.place, read.domain
    );
    Rejection {
        holder: Holder::new("dnszone", &read.key.namespace, &read.key.name),
        name: Some(read.domain.clone()),
        rtype: RecordType::SOA,
        reason: Reason::DuplicateZone,
        message,
    }
}

fn provider_of(folder: &Folder, zone: &Declared<DNSZone>) -> Result<String, BadField> {
    let reference = &zone.object.spec.provider_ref;
    let bad = |message: String| BadField { field: "spec.providerRef".into(), message };
    let provider = match (&reference.name, folder.providers.as_slice()) {
        (Some(name), providers) => providers
            .iter()
            .find(|provider| provider.object.name_any() == *name)
            .ok_or_else(|| bad(format!("RefNotFound: the folder declares no DNSProvider {name}")))?,
        (None, [only]) => only,
        (None, []) => return Err(bad("RefNotFound: the folder declares no DNSProvider".into())),
        (None, several) => {
            let names: Vec<String> = several.iter().map(|provider| provider.object.name_any()).collect();
            return Err(bad(format!("there are several DNSProviders ({}); name one", names.join(", "))));
        }
    };
    let namespace = zone.object.namespace().unwrap_or_default();
    // Without a cluster a provider is open to all unless it says otherwise.
    let allowed =
        provider.object.spec.allowed_namespaces.as_ref().map_or(Namespaces::All, declare::namespaces);
    let labels = folder.namespace_labels(&namespace);
    if !allowed.contain("", &namespace, &labels) {
        let name = provider.object.name_any();
        return Err(bad(format!("RefNotPermitted: DNSProvider {name} does not allow namespace {namespace}")));
    }
    Ok(provider.object.name_any())
}

fn problem(place: &folder::Place, bad: BadField) -> Problem {
    Problem { place: place.clone(), field: bad.field, message: bad.message }
}
