//! AddressSources asked at their interval, and followed by the RecordSets that use them.

use std::{net::IpAddr, sync::Arc, time::Duration};

use kube::ResourceExt;
use zonekeeper_api::{AddressSource, HttpSource, Reason, RecordSet};
use zonekeeper_kernel::{reason::Reason as KernelReason, zone::Labels};
use zonekeeper_sources::Addresses;

use crate::{
    Key,
    address_pacing::{self as pacing, Paces},
    conditions::Verdict,
    core::{Alarm, Model},
    declare,
    effects::Effect,
    outbox::{StatusOutbox, is_newer},
    secrets::{self, SecretState},
    status,
    zones::REWRITE,
};

/// Headers that a Secret adds to a request.
pub type SecretHeaders = Vec<(String, String)>;

/// How long after a failure of all its services a source is asked again, at the latest.
const RETRY: Duration = Duration::from_secs(60);

/// An AddressSource and what it said.
pub struct AddressEntry {
    pub object: Arc<AddressSource>,
    /// The last good addresses.
    pub good: Option<Vec<IpAddr>>,
    /// Why it has said nothing new.
    pub failure: Option<Verdict>,
    /// The question that counts.
    attempt: u64,
    pub outbox: StatusOutbox,
}

/// A question to the services of an AddressSource.
pub struct AddressRequest {
    pub source: Key,
    pub attempt: u64,
    pub object: Arc<AddressSource>,
    /// What Secrets add to each request, or why they can't.
    pub headers: Vec<Result<SecretHeaders, Verdict>>,
}

// === impl AddressEntry ===

impl AddressEntry {
    fn new(object: Arc<AddressSource>) -> Self {
        let status = object.status.as_ref();
        Self {
            outbox: StatusOutbox::new(status, status.map_or(&[], |status| &status.conditions)),
            good: remembered(&object),
            failure: None,
            attempt: 0,
            object,
        }
    }
}

/// The addresses in an object's status.
fn remembered(object: &AddressSource) -> Option<Vec<IpAddr>> {
    let said = object.status.iter().flat_map(|status| &status.addresses);
    let addresses: Vec<IpAddr> = said.filter_map(|address| address.parse().ok()).collect();
    (!addresses.is_empty()).then_some(addresses)
}

// === impl Model ===

impl Model {
    /// Whether this release asks a source; what another asks is in the object's status.
    fn asks(&self, object: &AddressSource) -> bool {
        object.spec.controller_name == self.controller_name
    }

    /// An AddressSource was seen.
    pub fn see_address_source(&mut self, object: AddressSource) {
        let key = (object.namespace().unwrap_or_default(), object.name_any());
        let object = Arc::new(object);
        let is_same = match self.address_sources.get_mut(&key) {
            Some(entry) if !is_newer(&*object, &*entry.object) => return,
            Some(entry) => {
                let is_same =
                    entry.object.spec == object.spec && entry.object.annotations() == object.annotations();
                entry.object = object.clone();
                entry.outbox.see_object(&*object);
                is_same
            }
            None => false,
        };
        let asks = self.asks(&object);
        let entry = self.address_sources.entry(key.clone()).or_insert_with(|| AddressEntry::new(object));
        if !asks {
            entry.good = remembered(&entry.object);
            entry.failure = None;
            self.agenda.cancel(&Alarm::Address(key.clone()));
            self.reconsider_users(&key);
        } else if is_same {
            self.report_address_source(&key);
        } else {
            self.ask_addresses(&key);
            self.reconsider_users(&key);
        }
    }

    /// An AddressSource is gone: what its users hold stays.
    pub fn lose_address_source(&mut self, key: &Key) {
        self.address_sources.remove(key);
        self.agenda.cancel(&Alarm::Address(key.clone()));
        self.reconsider_users(key);
    }

    /// Asks a source.
    pub fn ask_addresses(&mut self, key: &Key) {
        if !self.is_synced() {
            return;
        }
        let Some(object) = self.address_sources.get(key).map(|entry| entry.object.clone()) else { return };
        if !self.asks(&object) {
            return;
        }
        let mut headers: Vec<Result<SecretHeaders, Verdict>> = Vec::new();
        for source in &object.spec.http {
            match self.headers_of(&key.0, source) {
                Some(found) => headers.push(found),
                // It comes with its watch.
                None => return,
            }
        }
        self.attempts += 1;
        let attempt = self.attempts;
        if let Some(entry) = self.address_sources.get_mut(key) {
            entry.attempt = attempt;
        }
        let request = AddressRequest { source: key.clone(), attempt, object, headers };
        self.effects.push(Effect::AskAddresses(Box::new(request)));
    }

    /// The headers that a Secret adds to a request; nothing while it is not read.
    fn headers_of(&mut self, namespace: &str, source: &HttpSource) -> Option<Result<SecretHeaders, Verdict>> {
        let Some(reference) = &source.headers_secret_ref else { return Some(Ok(Vec::new())) };
        let key = (namespace.to_owned(), reference.name.clone());
        Some(match self.secrets.get(&key, &mut self.effects) {
            SecretState::Unread => return None,
            SecretState::Present(data) => {
                let text =
                    |(key, value): (String, Vec<u8>)| (key, String::from_utf8_lossy(&value).into_owned());
                Ok(data.into_iter().map(text).collect())
            }
            SecretState::Absent => {
                let message = format!("Secret {}/{} does not exist; create it", key.0, key.1);
                Err(Verdict::new(Reason::RefNotFound, message))
            }
            SecretState::Forbidden => {
                Err(Verdict::new(Reason::RefNotPermitted, secrets::forbidden(&key, &self.namespace)))
            }
        })
    }

    /// A source was asked.
    pub fn addresses_found(&mut self, key: &Key, attempt: u64, found: Result<Vec<IpAddr>, Verdict>) {
        let Some(entry) = self.address_sources.get_mut(key).filter(|entry| entry.attempt == attempt) else {
            return;
        };
        let interval = pacing::interval(&entry.object.spec);
        let is_fixed = entry.object.spec.http.is_empty();
        let before = entry.good.clone();
        let is_change =
            |found: &Vec<IpAddr>| !is_fixed && before.as_ref().is_some_and(|before| before != found);
        let wait = match found {
            Ok(found) => match is_change(&found).then(|| self.paces.take(&key.0, self.now.at)) {
                Some(Err(wait)) => {
                    entry.failure = Some(Verdict::new(Reason::RateLimited, Paces::message(&key.0)));
                    wait.max(pacing::FLOOR)
                }
                Some(Ok(())) | None => {
                    entry.failure = None;
                    entry.good = Some(found);
                    interval
                }
            },
            Err(verdict) => {
                let is_ours = verdict.reason == Reason::InternalError;
                entry.failure = Some(verdict);
                if is_ours { pacing::FLOOR } else { interval.min(RETRY) }
            }
        };
        let is_news = before != entry.good || before.is_none();
        if !is_fixed || entry.failure.is_some() {
            self.agenda.at(self.now.at + wait, Alarm::Address(key.clone()));
        }
        self.report_address_source(key);
        if is_news {
            self.reconsider_users(key);
        }
    }

    /// What AddressSources say to one object, as far as it asks and may ask.
    pub fn addresses_for(&self, object: &RecordSet) -> Addresses {
        let namespace = object.namespace().unwrap_or_default();
        let mut said = Addresses::default();
        for source in &object.spec.values_from {
            let reference = &source.address_source_ref;
            let key =
                (reference.namespace.clone().unwrap_or_else(|| namespace.clone()), reference.name.clone());
            let Some(entry) = self.address_sources.get(&key) else { continue };
            let answer = if !self.may_use(&entry.object, &key.0, &namespace) {
                let message = format!(
                    "AddressSource {}/{} does not allow namespace {namespace}; see its spec.allowedNamespaces",
                    key.0, key.1
                );
                Err((KernelReason::RefNotPermitted, message))
            } else {
                let failure = entry.failure.as_ref().map(|verdict| &*verdict.message);
                let failure = failure.unwrap_or("it has not answered yet");
                let message = || format!("AddressSource {}/{} has no address: {failure}", key.0, key.1);
                entry.good.clone().ok_or_else(|| (KernelReason::TargetsUnknown, message()))
            };
            said.0.insert(key, answer);
        }
        said
    }

    /// What AddressSources say to all objects of a namespace that may ask.
    pub fn addresses_in(&self, namespace: &str) -> Addresses {
        let usable =
            self.address_sources.iter().filter(|(key, entry)| self.may_use(&entry.object, &key.0, namespace));
        let said = usable.map(|(key, entry)| {
            let unknown = || {
                let failure = entry.failure.as_ref().map(|verdict| &*verdict.message);
                let why = failure.unwrap_or("it has not answered yet");
                let message = format!("AddressSource {}/{} has no address: {why}", key.0, key.1);
                (KernelReason::TargetsUnknown, message)
            };
            (key.clone(), entry.good.clone().ok_or_else(unknown))
        });
        Addresses(said.collect())
    }

    fn may_use(&self, source: &AddressSource, own: &str, namespace: &str) -> bool {
        let none = Labels::new();
        let labels = self.namespaces.get(namespace).map_or(&none, |entry| &*entry.labels);
        own == namespace
            || declare::namespaces(&source.spec.allowed_namespaces).contain(own, namespace, labels)
    }

    fn reconsider_users(&mut self, key: &Key) {
        self.address_changed(key);
        let uses = |object: &RecordSet| {
            object.spec.values_from.iter().any(|from| {
                let reference = &from.address_source_ref;
                reference.name == key.1
                    && reference.namespace.clone().or_else(|| object.namespace()).as_deref() == Some(&*key.0)
            })
        };
        let users: Vec<Key> = self
            .records
            .iter()
            .filter(|(_, entry)| uses(&entry.object))
            .map(|(key, _)| key.clone())
            .collect();
        users.iter().for_each(|key| self.consider_record(key));
    }

    /// Secrets that AddressSources name.
    pub fn secrets_of_sources(&self) -> impl Iterator<Item = Key> + '_ {
        let asked = self.address_sources.iter().filter(|(_, entry)| self.asks(&entry.object));
        asked.flat_map(|(key, entry)| {
            let named = entry.object.spec.http.iter().filter_map(|source| source.headers_secret_ref.as_ref());
            named.map(|reference| (key.0.clone(), reference.name.clone()))
        })
    }

    /// Asks the sources that use a Secret.
    pub fn ask_sources_with_secret(&mut self, secret: &Key) {
        let uses =
            |key: &Key, entry: &AddressEntry| {
                key.0 == secret.0
                    && entry.object.spec.http.iter().any(|source| {
                        source.headers_secret_ref.as_ref().is_some_and(|it| it.name == secret.1)
                    })
            };
        let sources: Vec<Key> = self
            .address_sources
            .iter()
            .filter(|(key, entry)| uses(key, entry))
            .map(|(key, _)| key.clone())
            .collect();
        sources.iter().for_each(|key| self.ask_addresses(key));
    }

    /// Says of a source what there is to say, if that is new.
    pub fn report_address_source(&mut self, key: &Key) {
        let own = &self.controller_name;
        let entry = self.address_sources.get_mut(key).filter(|it| it.object.spec.controller_name == *own);
        let Some(entry) = entry else { return };
        let verdict = match (&entry.failure, &entry.good) {
            (None, None) => return,
            (None, Some(_)) => Verdict::new(Reason::Programmed, "the addresses are current"),
            (Some(Verdict { reason, message }), None) => {
                Verdict::new(*reason, format!("no address: {message}"))
            }
            (Some(Verdict { reason, message }), Some(_)) => {
                Verdict::new(*reason, format!("the last good addresses are kept: {message}"))
            }
        };
        let status = status::address_status(entry, &verdict, self.now);
        let object = entry.object.clone();
        entry.outbox.report(&mut self.effects, &*object, verdict, &status, self.now.at);
    }

    /// Our own write of a source is over.
    pub fn address_source_written(&mut self, key: &Key, written: Option<AddressSource>) {
        let Some(entry) = self.address_sources.get_mut(key) else { return };
        entry.outbox.end();
        match written {
            Some(object) => {
                // With our write may come an edit that its watch has not told yet.
                self.see_address_source(object);
                self.report_address_source(key);
            }
            None => {
                let wait = entry.outbox.wait(REWRITE, self.now.at);
                self.agenda.by(self.now.at + wait, Alarm::ReportSource(key.clone()));
            }
        }
    }
}
