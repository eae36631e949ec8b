//! DNSProviders in the hub: credentials read, tried for real, and rotated without a gap.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use kube::ResourceExt;
use tokio::time::Instant;
use zonekeeper_api::{DNSProvider, DNSProviderSpec, DNSZone, Reason, wellknown::PROVIDER_FINALIZER};
use zonekeeper_kernel::zone::{Labels, Namespaces, ZoneKey};
use zonekeeper_providers::{
    Provider, ProviderError, Standing,
    builtin::Builtin,
    cloudflare::{self, Cloudflare},
};

use crate::{
    cluster::{
        Key, Message,
        conditions::Verdict,
        hub::{Alarm, Hub},
        secrets::{self, Data, SecretState},
        status,
        write::{Desk, Writing, is_newer},
        zones::{retry_after, verdict},
    },
    declare::{self, Backend, Credentials, ProviderSettings, provider_settings},
};

/// Credentials that work are tried again after this long: they may end.
const RECHECK: Duration = Duration::from_secs(3600);
/// Where a call was refused, they are tried again soon.
const DOUBT: Duration = Duration::from_secs(1);
const SECRET_RETRY: Duration = Duration::from_secs(5);

/// A DNSProvider and what is known of it.
pub struct ProviderEntry {
    pub object: Arc<DNSProvider>,
    /// What works; with credentials that worked last, whatever the Secret holds now.
    pub active: Option<Arc<Active>>,
    /// Why it does not work, or not with what the Secret holds now.
    pub trouble: Option<Verdict>,
    /// The try that counts.
    attempt: u64,
    failures: u32,
    pub desk: Desk,
}

/// A provider that works.
pub struct Active {
    pub settings: ProviderSettings,
    pub provider: Arc<dyn Provider>,
    pub cloudflare: Option<Arc<Cloudflare>>,
    pub builtin: Option<Builtin>,
    pub standing: Standing,
    /// What it was made from.
    spec: DNSProviderSpec,
    secrets: Vec<SecretState>,
    /// The try that made it.
    pub since: u64,
}

/// What became of a try.
pub struct Checked {
    name: String,
    attempt: u64,
    result: Result<Active, ProviderError>,
}

/// Secrets that the hub has read.
struct ReadSecrets<'a> {
    namespace: &'a str,
    owner: &'a str,
    data: BTreeMap<Key, Data>,
}

impl Credentials for ReadSecrets<'_> {
    fn secret(&self, namespace: Option<&str>, name: &str, key: &str) -> Option<Vec<u8>> {
        let namespace = namespace.unwrap_or(self.namespace).to_owned();
        self.data.get(&(namespace, name.to_owned()))?.get(key).cloned()
    }

    fn fallback_token(&self) -> Option<String> {
        None
    }

    fn default_owner(&self) -> Option<String> {
        Some(self.owner.to_owned())
    }

    fn default_marker_key(&self) -> Option<Vec<u8>> {
        None
    }

    fn has_statuses(&self) -> bool {
        true
    }
}

// === impl ProviderEntry ===

impl ProviderEntry {
    fn new(object: Arc<DNSProvider>) -> Self {
        let status = object.status.as_ref();
        let desk = Desk::new(status, status.map_or(&[], |status| &status.conditions));
        Self { object, active: None, trouble: None, attempt: 0, failures: 0, desk }
    }

    /// How many requests its credentials may still make.
    pub fn budget_left(&self) -> Option<usize> {
        self.active.as_ref()?.cloudflare.as_ref().map(|cloudflare| cloudflare.budget_left())
    }

    fn has_finalizer(&self) -> bool {
        self.object.finalizers().iter().any(|finalizer| finalizer == PROVIDER_FINALIZER)
    }
}

// === impl Hub ===

impl Hub {
    /// A DNSProvider was seen.
    pub fn see_provider(&mut self, object: DNSProvider) {
        let name = object.name_any();
        let object = Arc::new(object);
        let is_same = match self.providers.get_mut(&name) {
            Some(entry) if !is_newer(&*object, &*entry.object) => return,
            Some(entry) => {
                let is_same = entry.object.spec == object.spec
                    && entry.object.annotations() == object.annotations()
                    && entry.object.metadata.deletion_timestamp == object.metadata.deletion_timestamp;
                entry.object = object.clone();
                entry.desk.see_object(&*object);
                is_same
            }
            None => false,
        };
        self.providers.entry(name.clone()).or_insert_with(|| ProviderEntry::new(object));
        if is_same {
            self.report_provider(&name);
            return;
        }
        self.check_provider(&name);
        // "The only one" may mean another one now.
        self.reconsider_zones_of(&name);
        self.release_provider(&name);
    }

    /// A DNSProvider is gone.
    pub fn lose_provider(&mut self, name: &str) {
        if let Some(builtin) = self.builtin_of(Some(name)) {
            tokio::spawn(async move { builtin.shutdown().await });
        }
        self.providers.remove(name);
        self.agenda.cancel(&Alarm::Provider(name.to_owned()));
        self.reconsider_zones_of(name);
    }

    /// Looks again at zones of a provider, and at those that name none.
    pub fn reconsider_zones_of(&mut self, name: &str) {
        let is_its =
            |zone: &DNSZone| zone.spec.provider_ref.name.as_deref().is_none_or(|named| named == name);
        let keys: Vec<ZoneKey> = self
            .zones
            .iter()
            .filter(|(_, entry)| is_its(&entry.object))
            .map(|(key, _)| key.clone())
            .collect();
        keys.iter().for_each(|key| self.consider_zone(key));
    }

    /// The provider of a zone, and whether this release takes care of it.
    pub fn provider_of(&self, zone: &DNSZone) -> Result<(String, bool), Verdict> {
        let missing = |message: String| Verdict::new(Reason::RefNotFound, message);
        let name = match &zone.spec.provider_ref.name {
            Some(name) => name.clone(),
            None => {
                let mut names = self.providers.keys();
                match (names.next(), names.next()) {
                    (Some(only), None) => only.clone(),
                    (None, _) => return Err(missing("there is no DNSProvider; create one".into())),
                    (Some(_), Some(_)) => {
                        let names: Vec<&str> = self.providers.keys().map(String::as_str).collect();
                        let message = format!(
                            "there are several DNSProviders ({}); name one in spec.providerRef",
                            names.join(", ")
                        );
                        return Err(missing(message));
                    }
                }
            }
        };
        let Some(entry) = self.providers.get(&name) else {
            return Err(missing(format!(
                "there is no DNSProvider {name}; create it, or correct spec.providerRef"
            )));
        };
        let is_ours = entry.object.spec.controller_name == self.controller_name;
        let namespace = zone.namespace().unwrap_or_default();
        if is_ours && !self.allows_namespace(&entry.object, &namespace) {
            let message = format!(
                "DNSProvider {name} does not allow namespace {namespace}; see its spec.allowedNamespaces"
            );
            return Err(Verdict::new(Reason::RefNotPermitted, message));
        }
        Ok((name, is_ours))
    }

    fn allows_namespace(&self, provider: &DNSProvider, namespace: &str) -> bool {
        match &provider.spec.allowed_namespaces {
            None => {
                let reference = provider.spec.cloudflare.as_ref().map(|it| &it.api_token_secret_ref);
                let home = reference.and_then(|reference| reference.namespace.as_deref());
                namespace == home.unwrap_or(&self.namespace)
            }
            Some(allowed) => {
                let none = Labels::new();
                let labels = self.namespaces.get(namespace).map_or(&none, |entry| &*entry.labels);
                match declare::namespaces(allowed) {
                    Namespaces::Same => namespace == self.namespace,
                    other => other.contain(&self.namespace, namespace, labels),
                }
            }
        }
    }

    /// What works at a provider.
    pub fn active_provider(&self, name: &str) -> Option<Arc<Active>> {
        self.providers.get(name)?.active.clone()
    }

    /// The built-in server of a provider.
    pub fn builtin_of(&self, name: Option<&str>) -> Option<Builtin> {
        self.active_provider(name?)?.builtin.clone()
    }

    /// Whether two providers reach the same place, so that one zone id means one zone.
    pub fn is_same_place(&self, one: &str, other: Option<&str>) -> bool {
        let base = |name: &str| {
            let spec = &self.providers.get(name)?.object.spec;
            spec.cloudflare.as_ref().map(|cloudflare| cloudflare.base_url.clone())
        };
        other.is_some_and(|other| one == other || (base(one).is_some() && base(one) == base(other)))
    }

    /// Why a provider does not work.
    pub fn provider_trouble(&self, name: &str) -> Verdict {
        let trouble = self.providers.get(name).and_then(|entry| entry.trouble.clone());
        match trouble {
            Some(verdict) => Verdict::new(verdict.reason, format!("DNSProvider {name}: {}", verdict.message)),
            None => Verdict::new(Reason::Pending, format!("DNSProvider {name} is being checked")),
        }
    }

    /// Reads a provider's Secrets and tries what they hold.
    pub fn check_provider(&mut self, name: &str) {
        let Some(entry) = self.providers.get(name) else { return };
        if !self.is_synced() || entry.object.spec.controller_name != self.controller_name {
            return;
        }
        let object = entry.object.clone();
        let (mut data, mut states) = (BTreeMap::new(), Vec::new());
        for (key, use_) in references(&object, &self.namespace) {
            let state = self.secrets.get(&key);
            match (&state, use_) {
                // It comes with its watch.
                (SecretState::Unread, _) => return,
                (SecretState::Present(found), _) => drop(data.insert(key, found.clone())),
                (SecretState::Absent, Use::Optional) => {}
                (SecretState::Absent, Use::Required) => {
                    let message = format!("Secret {}/{} does not exist; create it", key.0, key.1);
                    self.lose_credentials(name, Verdict::new(Reason::RefNotFound, message));
                    return;
                }
                (SecretState::Forbidden, _) => {
                    let message = secrets::forbidden(&key, &self.namespace);
                    self.trouble_provider(name, Verdict::new(Reason::RefNotPermitted, message));
                    self.agenda.by(Instant::now() + SECRET_RETRY, Alarm::Provider(name.to_owned()));
                    return;
                }
            }
            states.push(state);
        }
        let credentials = ReadSecrets { namespace: &self.namespace, owner: &self.owner, data };
        let settings = match provider_settings(&object, &credentials) {
            Ok(settings) => settings,
            Err(bad) => {
                let reason = match bad.field.ends_with("SecretRef") {
                    true => Reason::RefNotFound,
                    false => Reason::InvalidValue,
                };
                self.trouble_provider(name, Verdict::new(reason, bad.to_string()));
                return;
            }
        };
        self.try_provider(name, &object, settings, states);
    }

    fn try_provider(
        &mut self,
        name: &str,
        object: &DNSProvider,
        settings: ProviderSettings,
        secrets: Vec<SecretState>,
    ) {
        self.attempts += 1;
        let (attempt, budgets, fence) = (self.attempts, self.budgets.clone(), self.fence.clone());
        let meter = self.metrics.of_provider(name);
        let Some(entry) = self.providers.get_mut(name) else { return };
        entry.attempt = attempt;
        let is_same = |active: &&Arc<Active>| active.spec == object.spec && active.secrets == secrets;
        let before = entry.active.as_ref().filter(is_same).cloned();
        let old_builtin = entry.active.as_ref().and_then(|active| active.builtin.clone());
        let (hub, spec, name) = (self.hub.clone(), object.spec.clone(), name.to_owned());
        tokio::spawn(async move {
            let opened = match before {
                Some(active) => {
                    Ok((active.provider.clone(), active.cloudflare.clone(), active.builtin.clone()))
                }
                None => match &settings.backend {
                    Backend::Cloudflare(cloudflare) => {
                        let cloudflare = cloudflare::Settings { fence, meter, ..cloudflare.clone() };
                        Cloudflare::new(cloudflare, &budgets).map(|cloudflare| {
                            let cloudflare = Arc::new(cloudflare);
                            (cloudflare.clone() as Arc<dyn Provider>, Some(cloudflare), None)
                        })
                    }
                    Backend::Builtin { listen, allow_transfer } => {
                        if let Some(old) = old_builtin {
                            old.shutdown().await;
                        }
                        Builtin::bind(*listen, allow_transfer.clone()).await.map(|builtin| {
                            (Arc::new(builtin.clone()) as Arc<dyn Provider>, None, Some(builtin))
                        })
                    }
                },
            };
            let result = match opened {
                Err(error) => Err(error),
                Ok((provider, cloudflare, builtin)) => provider.check().await.map(|standing| Active {
                    settings,
                    provider,
                    cloudflare,
                    builtin,
                    standing,
                    spec,
                    secrets,
                    since: attempt,
                }),
            };
            // The hub ends with the program.
            let _ = hub.send(Message::Checked(Box::new(Checked { name, attempt, result })));
        });
    }

    /// Credentials were tried.
    pub fn provider_checked(&mut self, checked: Checked) {
        let Checked { name, attempt, result } = checked;
        let Some(entry) = self.providers.get_mut(&name).filter(|entry| entry.attempt == attempt) else {
            return;
        };
        match result {
            Ok(mut active) => {
                entry.failures = 0;
                entry.trouble = None;
                let is_same = entry
                    .active
                    .as_ref()
                    .is_some_and(|old| old.spec == active.spec && old.secrets == active.secrets);
                if let (true, Some(old)) = (is_same, &entry.active) {
                    active.since = old.since;
                }
                let had_trouble = entry.active.is_none();
                entry.active = Some(Arc::new(active));
                self.agenda.at(Instant::now() + RECHECK, Alarm::Provider(name.clone()));
                if !is_same || had_trouble {
                    self.reconsider_zones_of(&name);
                }
                self.report_provider(&name);
                self.release_provider(&name);
            }
            Err(error) => {
                entry.failures += 1;
                let wait = retry_after(&error, entry.failures);
                self.agenda.at(Instant::now() + wait, Alarm::Provider(name.clone()));
                self.trouble_provider(&name, verdict(&error));
            }
        }
    }

    /// The Secret that a provider needs is gone: there is nothing to work with.
    fn lose_credentials(&mut self, name: &str, verdict: Verdict) {
        if let Some(entry) = self.providers.get_mut(name) {
            entry.active = None;
        }
        self.trouble_provider(name, verdict);
        self.agenda.by(Instant::now() + SECRET_RETRY, Alarm::Provider(name.to_owned()));
    }

    fn trouble_provider(&mut self, name: &str, verdict: Verdict) {
        let Some(entry) = self.providers.get_mut(name) else { return };
        entry.trouble = Some(verdict);
        if entry.active.is_none() {
            self.reconsider_zones_of(name);
        }
        self.report_provider(name);
    }

    /// A call was refused for its credentials: they are tried by themselves.
    pub fn doubt_provider(&mut self, name: &str) {
        self.agenda.by(Instant::now() + DOUBT, Alarm::Provider(name.to_owned()));
    }

    /// A Secret that somebody named was seen.
    pub fn see_secret(&mut self, key: &Key, state: SecretState) {
        if !self.secrets.note(key, state) {
            return;
        }
        let uses =
            |object: &DNSProvider| references(object, &self.namespace).iter().any(|(named, _)| named == key);
        let names: Vec<String> = self
            .providers
            .iter()
            .filter(|(_, entry)| uses(&entry.object))
            .map(|(name, _)| name.clone())
            .collect();
        names.iter().for_each(|name| self.check_provider(name));
        self.ask_sources_with_secret(key);
    }

    /// All Secrets that somebody names.
    pub fn named_secrets(&self) -> BTreeSet<Key> {
        let providers = self.providers.values().flat_map(|entry| references(&entry.object, &self.namespace));
        providers.map(|(key, _)| key).chain(self.secrets_of_sources()).collect()
    }

    /// Says of a provider what there is to say, if that is new.
    pub fn report_provider(&mut self, name: &str) {
        let Some(entry) = self.providers.get_mut(name) else { return };
        if entry.object.spec.controller_name != self.controller_name {
            return;
        }
        let Some(verdict) = status::provider_verdict(entry) else { return };
        let status = status::provider_status(entry, &verdict);
        let object = entry.object.clone();
        entry.desk.report((&self.writer, &self.teller), &*object, verdict, &status);
    }

    /// Our own write of a provider is over.
    pub fn provider_written(&mut self, name: &str, written: Option<DNSProvider>) {
        let Some(entry) = self.providers.get_mut(name) else { return };
        entry.desk.writing = Writing::Idle;
        match written {
            Some(object) => {
                // With our write may come an edit that its watch has not told yet.
                self.see_provider(object);
                self.report_provider(name);
                self.release_provider(name);
            }
            None => self.agenda.by(Instant::now() + SECRET_RETRY, Alarm::Provider(name.to_owned())),
        }
    }

    /// Keeps, or sets, the finalizer of a provider that zones use; lets go one that none does.
    pub fn release_provider(&mut self, name: &str) {
        let Some(entry) = self.providers.get_mut(name) else { return };
        if entry.object.spec.controller_name != self.controller_name {
            return;
        }
        let is_used = self.zones.values().any(|zone| zone.provider.as_deref() == Some(name));
        let is_leaving = entry.object.metadata.deletion_timestamp.is_some();
        let is_released = status::is_released(&*entry.object);
        let is_to_go = is_leaving && entry.has_finalizer() && (!is_used || is_released);
        let is_to_stay = !is_leaving && !entry.has_finalizer() && is_used;
        if !(is_to_go || is_to_stay) || entry.desk.writing != Writing::Idle {
            // A write that is under way comes back here.
            return;
        }
        entry.desk.writing = Writing::Busy;
        match is_to_go {
            true => self.writer.remove_finalizer(&*entry.object, PROVIDER_FINALIZER),
            false => self.writer.add_finalizer(&*entry.object, PROVIDER_FINALIZER),
        }
    }
}

/// Whether a provider works without a Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Required,
    Optional,
}

/// The Secrets that a provider names.
fn references(object: &DNSProvider, own: &str) -> Vec<(Key, Use)> {
    let spec = &object.spec;
    let key = |namespace: &Option<String>, name: &str| {
        (namespace.clone().unwrap_or_else(|| own.to_owned()), name.to_owned())
    };
    let mut references = Vec::new();
    if let Some(cloudflare) = &spec.cloudflare {
        let reference = &cloudflare.api_token_secret_ref;
        references.push((key(&reference.namespace, &reference.name), Use::Required));
    }
    if spec.builtin.is_none() {
        let reference = &spec.registry.marker_key_secret_ref;
        references.push((key(&reference.namespace, &reference.name), Use::Optional));
    }
    if let Some(reference) = &spec.registry.txt.encryption_key_secret_ref {
        references.push((key(&reference.namespace, &reference.name), Use::Required));
    }
    references
}

/// The Secret with a provider's marker key.
pub fn marker_key_of(object: &DNSProvider, own: &str) -> Key {
    let reference = &object.spec.registry.marker_key_secret_ref;
    (reference.namespace.clone().unwrap_or_else(|| own.to_owned()), reference.name.clone())
}
