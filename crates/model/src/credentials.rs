//! Credentials: read from Secrets, tried for real, and rotated without a gap.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use zonekeeper_api::{DNSProvider, Reason};
use zonekeeper_kernel::provider::ProviderError;

use crate::{
    Key,
    conditions::Verdict,
    core::{Alarm, Model},
    declare::{BadField, Credentials},
    effects::Effect,
    providers::Active,
    secrets::{self, Data, SecretState},
    zones::{retry_after, verdict},
};

/// Credentials that work are tried again after this long: they may end.
const RECHECK: Duration = Duration::from_secs(3600);
/// Where a call was refused, they are tried again soon.
const DOUBT: Duration = Duration::from_secs(1);
pub const SECRET_RETRY: Duration = Duration::from_secs(5);

/// What became of a try.
pub struct Checked {
    pub name: String,
    pub attempt: u64,
    pub result: Result<Active, CheckError>,
}

/// A try of a provider's credentials.
pub struct CheckRequest {
    pub name: String,
    pub attempt: u64,
    pub object: Arc<DNSProvider>,
    pub credentials: ReadSecrets,
    /// What it reads, to tell later whether that has changed.
    pub secrets: Vec<SecretState>,
    /// The try that opened what works already with the same settings.
    pub before: Option<u64>,
}

/// Why a try failed.
#[derive(Debug)]
pub enum CheckError {
    /// The object, or a Secret that it names, says something that can't be.
    Invalid(BadField),
    Provider(ProviderError),
}

/// Secrets that were read.
pub struct ReadSecrets {
    namespace: String,
    owner: String,
    data: BTreeMap<Key, Data>,
}

// === impl CheckError ===

impl From<BadField> for CheckError {
    fn from(bad: BadField) -> Self {
        Self::Invalid(bad)
    }
}

impl From<ProviderError> for CheckError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

// === impl ReadSecrets ===

impl Credentials for ReadSecrets {
    fn secret(&self, namespace: Option<&str>, name: &str, key: &str) -> Option<Vec<u8>> {
        let namespace = namespace.unwrap_or(&self.namespace).to_owned();
        self.data.get(&(namespace, name.to_owned()))?.get(key).cloned()
    }

    fn has_secret(&self, namespace: Option<&str>, name: &str) -> bool {
        self.data.contains_key(&(namespace.unwrap_or(&self.namespace).to_owned(), name.to_owned()))
    }

    fn fallback_token(&self) -> Option<String> {
        None
    }

    fn default_owner(&self) -> Option<String> {
        Some(self.owner.clone())
    }

    fn default_marker_key(&self) -> Option<Vec<u8>> {
        None
    }

    fn has_statuses(&self) -> bool {
        true
    }
}

// === impl Model ===

impl Model {
    /// Reads a provider's Secrets and tries what they hold.
    pub fn check_provider(&mut self, name: &str) {
        let is_synced = self.is_synced();
        self.attempts += 1;
        let Some(entry) = self.providers.get_mut(name) else { return };
        // Whatever a try finds that is under way, it is about what was there before.
        entry.attempt = self.attempts;
        if !is_synced || entry.object.spec.controller_name != self.controller_name {
            return;
        }
        let object = entry.object.clone();
        let (mut data, mut states) = (BTreeMap::new(), Vec::new());
        for (key, use_) in references(&object, &self.namespace) {
            let state = self.secrets.get(&key, &mut self.effects);
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
                    self.agenda.by(self.now.at + SECRET_RETRY, Alarm::Provider(name.to_owned()));
                    return;
                }
            }
            states.push(state);
        }
        let (namespace, owner) = (self.namespace.clone(), self.owner.clone());
        self.try_provider(name, object, ReadSecrets { namespace, owner, data }, states);
    }

    fn try_provider(
        &mut self,
        name: &str,
        object: Arc<DNSProvider>,
        credentials: ReadSecrets,
        secrets: Vec<SecretState>,
    ) {
        self.attempts += 1;
        let attempt = self.attempts;
        let Some(entry) = self.providers.get_mut(name) else { return };
        entry.attempt = attempt;
        let is_same = |active: &&Arc<Active>| active.spec == object.spec && active.secrets == secrets;
        let before = entry.active.as_ref().filter(is_same).map(|active| active.attempt);
        let name = name.to_owned();
        let request = CheckRequest { name, attempt, object, credentials, secrets, before };
        self.effects.push(Effect::CheckProvider(Box::new(request)));
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
                active.since = match &entry.active {
                    Some(old) if is_same => old.since,
                    // Whatever was opened until now was opened with another one.
                    _other => {
                        self.attempts += 1;
                        self.attempts
                    }
                };
                let had_trouble = entry.active.is_none();
                self.effects.push(Effect::UseProvider(name.clone(), attempt));
                entry.active = Some(Arc::new(active));
                self.agenda.at(self.now.at + RECHECK, Alarm::Provider(name.clone()));
                if !is_same || had_trouble {
                    self.reconsider_zones_of(&name);
                }
                self.report_provider(&name);
                self.release_provider(&name);
            }
            Err(CheckError::Invalid(bad)) => {
                let reason = match bad.field.ends_with("SecretRef") {
                    true => Reason::RefNotFound,
                    false => Reason::InvalidValue,
                };
                self.trouble_provider(&name, Verdict::new(reason, bad.to_string()));
            }
            Err(CheckError::Provider(error)) => {
                entry.failures += 1;
                let wait = retry_after(&error, entry.failures);
                self.agenda.at(self.now.at + wait, Alarm::Provider(name.clone()));
                self.trouble_provider(&name, verdict(&error));
            }
        }
    }

    /// The Secret that a provider needs is gone: there is nothing to work with.
    fn lose_credentials(&mut self, name: &str, verdict: Verdict) {
        if let Some(entry) = self.providers.get_mut(name) {
            entry.active = None;
        }
        self.effects.push(Effect::CloseProvider(name.to_owned()));
        self.trouble_provider(name, verdict);
        self.agenda.by(self.now.at + SECRET_RETRY, Alarm::Provider(name.to_owned()));
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
        self.agenda.by(self.now.at + DOUBT, Alarm::Provider(name.to_owned()));
    }

    /// A Secret that an object names was seen.
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
        self.open_zones_with_secret(key);
    }

    /// All Secrets that objects name.
    pub fn named_secrets(&self) -> BTreeSet<Key> {
        let providers = self.providers.values().flat_map(|entry| references(&entry.object, &self.namespace));
        let others = self.secrets_of_sources().chain(self.secrets_of_zones());
        providers.map(|(key, _)| key).chain(others).collect()
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
    if let Some(servers) = &spec.rfc2136 {
        let keys = servers.tsig_secret_ref.iter().chain(&servers.transfer_tsig_secret_ref);
        references.extend(keys.map(|reference| (key(&reference.namespace, &reference.name), Use::Required)));
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
