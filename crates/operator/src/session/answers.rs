//! What AddressSources said, each asked at its own interval.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use futures::{StreamExt, stream};
use kube::ResourceExt;
use tokio::time::Instant;
use zonekeeper_api::{AddressSource, AddressSourceSpec, HttpSource};
use zonekeeper_kernel::reason::Reason;
use zonekeeper_model::address_pacing::{self as pacing, Paces};
use zonekeeper_sources::{Addresses, Unknown};

use crate::{
    address_source::{Reachable, SecretHeaders, addresses},
    folder::{Declared, Folder},
};

/// How long after a failure of all its services a source is asked again, at the latest.
const RETRY: Duration = Duration::from_secs(60);
/// How many sources are asked at once, so that a silent one keeps no other waiting.
const AT_ONCE: usize = 16;

type Key = (String, String);

/// What the AddressSources of a folder said.
#[derive(Default)]
pub struct Answers {
    by_source: BTreeMap<Key, Answer>,
    paces: Paces,
}

struct Answer {
    /// What was asked: another question is asked at once.
    question: AddressSourceSpec,
    /// The last good addresses.
    good: Option<Vec<IpAddr>>,
    failure: Option<String>,
    due: Instant,
}

/// What they say without being asked: addresses that stand in the manifest.
pub fn unasked(folder: &Folder) -> Addresses {
    let said = folder.address_sources.iter().map(|Declared { object, .. }| {
        let key = key(object);
        let unknown = || (Reason::TargetsUnknown, format!("AddressSource {}/{} was not asked", key.0, key.1));
        // Checked by the schema.
        let addresses = object.spec.static_addresses.iter().filter_map(|text| text.parse().ok()).collect();
        (key.clone(), if object.spec.http.is_empty() { Ok(addresses) } else { Err(unknown()) })
    });
    Addresses(said.collect())
}

// === impl Answers ===

impl Answers {
    /// What every AddressSource of a folder says; the last good addresses where it says nothing.
    ///
    /// Guarantees: between two of its intervals a source says the same, so that what was planned is applied.
    pub async fn ask(&mut self, folder: &Folder, reachable: &Reachable) -> Addresses {
        let sources: Vec<(Key, &AddressSourceSpec)> = folder
            .address_sources
            .iter()
            .map(|declared| (key(&declared.object), &declared.object.spec))
            .collect();
        let is_due = |(key, spec): &&(Key, &AddressSourceSpec)| {
            let is_current = |answer: &Answer| answer.question == **spec && Instant::now() < answer.due;
            !self.by_source.get(key).is_some_and(is_current)
        };
        let questions = sources.iter().filter(is_due).map(|(key, spec)| async move {
            let headers = |source: &HttpSource| secret_headers(folder, &key.0, source);
            (key, *spec, addresses(&key.0, spec, reachable, headers).await)
        });
        let asked: Vec<_> = stream::iter(questions.collect::<Vec<_>>()).buffered(AT_ONCE).collect().await;
        for (key, spec, found) in asked {
            self.note(key, spec, found);
        }
        self.by_source.retain(|key, _| sources.iter().any(|(source, _)| source == key));
        let said = self.by_source.iter().map(|(key, answer)| (key.clone(), answer.addresses(key)));
        Addresses(said.collect())
    }

    /// When a source must be asked again.
    pub fn due<'a>(&'a self, folder: &'a Folder) -> impl Iterator<Item = Instant> + 'a {
        let asked = folder.address_sources.iter().filter(|declared| !declared.object.spec.http.is_empty());
        asked.filter_map(|declared| self.by_source.get(&key(&declared.object))).map(|answer| answer.due)
    }

    /// Asks sources that failed again: what they lacked may be there now.
    pub fn expire_failures(&mut self) {
        for answer in self.by_source.values_mut().filter(|answer| answer.failure.is_some()) {
            answer.due = Instant::now();
        }
    }

    fn note(&mut self, key: &Key, question: &AddressSourceSpec, found: Result<Vec<IpAddr>, String>) {
        let interval = pacing::interval(question);
        let last = self.by_source.remove(key).and_then(|answer| answer.good);
        let is_change = |found: &Vec<IpAddr>| {
            !question.http.is_empty() && last.as_ref().is_some_and(|last| last != found)
        };
        let (good, failure, wait) = match found {
            Ok(found) => {
                match is_change(&found).then(|| self.paces.take(&key.0, Instant::now().into_std())) {
                    Some(Err(wait)) => (last, Some(Paces::message(&key.0)), wait.max(pacing::FLOOR)),
                    Some(Ok(())) | None => (Some(found), None, interval),
                }
            }
            Err(error) => {
                if last.is_some() {
                    let source = format!("{}/{}", key.0, key.1);
                    tracing::warn!(source, error, "keeping the last good addresses");
                }
                (last, Some(error), interval.min(RETRY))
            }
        };
        let answer = Answer { question: question.clone(), good, failure, due: Instant::now() + wait };
        self.by_source.insert(key.clone(), answer);
    }
}

// === impl Answer ===

impl Answer {
    fn addresses(&self, key: &Key) -> Result<Vec<IpAddr>, Unknown> {
        let failure = self.failure.as_deref().unwrap_or_default();
        let message = || format!("AddressSource {}/{} has no address: {failure}", key.0, key.1);
        self.good.clone().ok_or_else(|| (Reason::TargetsUnknown, message()))
    }
}

fn key(object: &AddressSource) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

fn secret_headers(folder: &Folder, namespace: &str, source: &HttpSource) -> Result<SecretHeaders, String> {
    let Some(reference) = &source.headers_secret_ref else { return Ok(Vec::new()) };
    let secret = folder
        .secret(Some(namespace), &reference.name)
        .ok_or_else(|| format!("Secret {namespace}/{} does not exist", reference.name))?;
    Ok(secret.texts().map(|(key, value)| (key.to_owned(), value)).collect())
}
