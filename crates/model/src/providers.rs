//! DNSProviders in the model: which zones may use them, and what is said of them.

use std::sync::Arc;

use kube::ResourceExt;
use zonekeeper_api::{DNSProvider, DNSProviderSpec, DNSZone, Reason, wellknown::PROVIDER_FINALIZER};
use zonekeeper_kernel::provider::Standing;
use zonekeeper_kernel::zone::{Labels, Namespaces, ZoneKey};

use crate::{
    conditions::Verdict,
    core::{Alarm, Model},
    credentials::SECRET_RETRY,
    declare::{self, RegistrySettings},
    effects::Effect,
    outbox::{StatusOutbox, Write, is_newer},
    secrets::SecretState,
    status,
};

/// A DNSProvider and what is known of it.
pub struct ProviderEntry {
    pub object: Arc<DNSProvider>,
    /// What works; with credentials that worked last, whatever the Secret holds now.
    pub active: Option<Arc<Active>>,
    /// Why it does not work, or not with what the Secret holds now.
    pub trouble: Option<Verdict>,
    /// The try that counts.
    pub attempt: u64,
    pub failures: u32,
    pub outbox: StatusOutbox,
}

/// A provider that works.
pub struct Active {
    /// The try that opened it.
    pub attempt: u64,
    pub registry: RegistrySettings,
    pub standing: Standing,
    /// What it was made from.
    pub spec: DNSProviderSpec,
    pub secrets: Vec<SecretState>,
    /// Zones that were opened before this attempt were opened with another one; known when it is taken up.
    pub since: u64,
}

// === impl Active ===

impl Active {
    /// Whether it is a server inside this process.
    pub fn is_builtin(&self) -> bool {
        self.registry.is_all_ours
    }
}

// === impl ProviderEntry ===

impl ProviderEntry {
    fn new(object: Arc<DNSProvider>) -> Self {
        let status = object.status.as_ref();
        let outbox = StatusOutbox::new(status, status.map_or(&[], |status| &status.conditions));
        Self { object, active: None, trouble: None, attempt: 0, failures: 0, outbox }
    }

    fn has_finalizer(&self) -> bool {
        self.object.finalizers().iter().any(|finalizer| finalizer == PROVIDER_FINALIZER)
    }
}

// === impl Model ===

impl Model {
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
                entry.outbox.see_object(&*object);
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
        self.effects.push(Effect::CloseProvider(name.to_owned()));
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
                    // Another one came; a zone that has its own keeps it.
                    (Some(_), Some(_)) if self.provider_before(zone).is_some() => {
                        self.provider_before(zone).unwrap_or_default()
                    }
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

    /// The provider that a zone has had as the only one, where that is still there.
    fn provider_before(&self, zone: &DNSZone) -> Option<String> {
        let known = self.zones.get(&declare::zone_key(zone)).and_then(|entry| entry.provider.clone());
        let told = || zone.status.as_ref().and_then(|status| status.provider.clone());
        known.or_else(told).filter(|name| self.providers.contains_key(name))
    }

    fn allows_namespace(&self, provider: &DNSProvider, namespace: &str) -> bool {
        match &provider.spec.allowed_namespaces {
            None => {
                let token = provider.spec.cloudflare.as_ref().map(|it| &it.api_token_secret_ref.namespace);
                let tsig = provider.spec.rfc2136.as_ref().and_then(|it| it.tsig_secret_ref.as_ref());
                let home = token.or(tsig.map(|reference| &reference.namespace)).and_then(Option::as_deref);
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

    /// Whether a provider is a server inside this process that works.
    pub fn is_builtin(&self, name: &str) -> bool {
        self.active_provider(name).is_some_and(|active| active.is_builtin())
    }

    /// Whether two providers reach the same place, so that one zone id means one zone.
    pub fn is_same_place(&self, one: &str, other: Option<&str>) -> bool {
        let place = |name: &str| {
            let spec = &self.providers.get(name)?.object.spec;
            let cloudflare = spec.cloudflare.as_ref().map(|cloudflare| &cloudflare.base_url);
            // The first server is the one that takes updates.
            cloudflare.or(spec.rfc2136.as_ref().and_then(|servers| servers.servers.first()))
        };
        other.is_some_and(|other| one == other || (place(one).is_some() && place(one) == place(other)))
    }

    /// Why a provider does not work.
    pub fn provider_trouble(&self, name: &str) -> Verdict {
        let trouble = self.providers.get(name).and_then(|entry| entry.trouble.clone());
        match trouble {
            Some(verdict) => Verdict::new(verdict.reason, format!("DNSProvider {name}: {}", verdict.message)),
            None => Verdict::new(Reason::Pending, format!("DNSProvider {name} is being checked")),
        }
    }

    /// Says of a provider what there is to say, if that is new.
    pub fn report_provider(&mut self, name: &str) {
        let Some(entry) = self.providers.get_mut(name) else { return };
        if entry.object.spec.controller_name != self.controller_name {
            return;
        }
        let Some(verdict) = status::provider_verdict(entry) else { return };
        let status = status::provider_status(entry, &verdict, self.now);
        let object = entry.object.clone();
        entry.outbox.report(&mut self.effects, &*object, verdict, &status, self.now.at);
    }

    /// Our own write of a provider is over.
    pub fn provider_written(&mut self, name: &str, written: Option<DNSProvider>) {
        let Some(entry) = self.providers.get_mut(name) else { return };
        entry.outbox.end();
        match written {
            Some(object) => {
                // With our write may come an edit that its watch has not told yet.
                self.see_provider(object);
                self.report_provider(name);
                self.release_provider(name);
            }
            None => {
                let wait = entry.outbox.wait(SECRET_RETRY, self.now.at);
                self.agenda.by(self.now.at + wait, Alarm::Provider(name.to_owned()));
            }
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
        // A write that is under way comes back here.
        if !(is_to_go || is_to_stay) || entry.outbox.is_busy() {
            return;
        }
        entry.outbox.begin();
        self.effects.write(match is_to_go {
            true => Write::remove_finalizer(&*entry.object, PROVIDER_FINALIZER),
            false => Write::add_finalizer(&*entry.object, PROVIDER_FINALIZER),
        });
    }
}
