//! A folder of manifests as the desired state: read completely, or not at all.

mod files;
mod kind;
pub mod node;
mod reader;
pub mod schema;
mod text;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub use files::Listing;
use kube::{Resource, ResourceExt};
use serde_json::json;
use zonekeeper_api::{API_VERSION, AddressSource, DNSProvider, DNSZone, RecordSet, SecretReference};
use zonekeeper_kernel::zone::Labels;
use zonekeeper_sources::object::{Object, ObjectRef};

use crate::folder::reader::Reader;

/// How often a folder is read that changes meanwhile.
const ATTEMPTS: u32 = 10;
/// How long to wait before it is read again.
const PAUSE: Duration = Duration::from_millis(20);

/// Everything that a folder declares.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Folder {
    pub providers: Vec<Declared<DNSProvider>>,
    pub zones: Vec<Declared<DNSZone>>,
    pub record_sets: Vec<Declared<RecordSet>>,
    pub address_sources: Vec<Declared<AddressSource>>,
    /// Objects of kinds that zones can publish, or that publishing looks at; none if no zone reads any.
    pub sources: Vec<Declared<Arc<Object>>>,
    /// Objects of such kinds that no zone reads.
    pub unread_sources: Vec<ObjectRef>,
    /// By namespace (empty where the manifest names none) and name.
    pub secrets: BTreeMap<(String, String), Secret>,
    /// Labels of namespaces that the folder declares.
    pub namespaces: BTreeMap<String, Labels>,
    /// What was skipped.
    pub notes: Vec<String>,
}

/// An object and where it was declared.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared<T> {
    pub object: T,
    pub place: Place,
}

/// A file and a line in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: PathBuf,
    pub line: u64,
}

/// The keys of a Secret; its Debug form shows no value.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret {
    keys: BTreeMap<String, Vec<u8>>,
}

/// Everything that is wrong with a folder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    /// The field; empty for the whole document.
    pub field: String,
    pub message: String,
}

/// Reads all `.yaml`, `.yml` and `.json` files below a folder.
///
/// Guarantees: a folder that does not parse completely gives nothing but its problems, all of them; what is given was
/// there at one moment, and is no mixture of before and after a change.
pub fn read(path: &Path) -> Result<Folder, Problems> {
    for _ in 0..ATTEMPTS {
        let listing = Listing::of(path)?;
        let mut reader = Reader::new();
        listing.files().for_each(|file| reader.read_file(file));
        if Listing::of(path).is_ok_and(|after| after == listing) {
            return reader.finish(path);
        }
        std::thread::sleep(PAUSE);
    }
    let place = Place { file: path.to_owned(), line: 0 };
    let message = "changes all the time while it is read; try again when it is quiet".into();
    Err(Problems(vec![Problem { place, field: String::new(), message }]))
}

// === impl Folder ===

impl Folder {
    /// A Secret by reference; without a namespace, by name alone.
    pub fn secret(&self, namespace: Option<&str>, name: &str) -> Option<&Secret> {
        let matches = |(key, _): &(&(String, String), &Secret)| {
            key.1 == name
                && namespace.is_none_or(|namespace| {
                    key.0 == namespace || (key.0.is_empty() && namespace == "default")
                })
        };
        self.secrets.iter().find(matches).map(|(_, secret)| secret)
    }

    /// The same, where references to Secrets that it does not have are left out: to check it without credentials.
    pub fn without_missing_secrets(mut self) -> Self {
        let mut zones = std::mem::take(&mut self.zones);
        for zone in &mut zones {
            if let Some(cloudflare) = &mut zone.object.spec.cloudflare {
                let key = &mut cloudflare.transfer_tsig_secret_ref;
                key.take_if(|key| self.secret(None, &key.name).is_none());
            }
        }
        self.zones = zones;
        let mut providers = std::mem::take(&mut self.providers);
        for spec in providers.iter_mut().map(|declared| &mut declared.object.spec) {
            let is_here = |reference: &SecretReference| {
                self.secret(reference.namespace.as_deref(), &reference.name).is_some()
            };
            if let Some(servers) = &mut spec.rfc2136 {
                servers.tsig_secret_ref.take_if(|reference| !is_here(reference));
                servers.transfer_tsig_secret_ref.take_if(|reference| !is_here(reference));
            }
            let key = &mut spec.registry.txt.encryption_key_secret_ref;
            key.take_if(|key| self.secret(key.namespace.as_deref(), &key.name).is_none());
        }
        self.providers = providers;
        self
    }

    /// Whether an object that another version of the folder declares is gone.
    pub fn lacks_objects_of(&self, other: &Self) -> bool {
        !other.keys().is_subset(&self.keys())
    }

    /// Kind, namespace and name of every object.
    fn keys(&self) -> BTreeSet<(&'static str, String, String)> {
        fn of<K: Resource>(
            kind: &'static str,
            objects: &[Declared<K>],
        ) -> impl Iterator<Item = (&'static str, String, String)> {
            let key = move |declared: &Declared<K>| {
                (kind, declared.object.namespace().unwrap_or_default(), declared.object.name_any())
            };
            objects.iter().map(key)
        }
        let secrets =
            self.secrets.keys().map(|(namespace, name)| ("Secret", namespace.clone(), name.clone()));
        // The default provider has no line: no version of the folder declares it.
        let providers = self.providers.iter().filter(|declared| declared.place.line > 0);
        let providers = providers.map(|declared| ("DNSProvider", String::new(), declared.object.name_any()));
        let namespaces = self.namespaces.keys().map(|name| ("Namespace", String::new(), name.clone()));
        let read = self.sources.iter().map(|declared| declared.object.reference());
        let sources = read.chain(self.unread_sources.iter().cloned());
        let sources = sources.map(|source| (source.kind.as_str(), source.namespace, source.name));
        providers
            .chain(of("DNSZone", &self.zones))
            .chain(of("RecordSet", &self.record_sets))
            .chain(of("AddressSource", &self.address_sources))
            .chain(secrets)
            .chain(namespaces)
            .chain(sources)
            .collect()
    }

    /// The labels of a namespace; every namespace is labelled with its own name.
    pub fn namespace_labels(&self, namespace: &str) -> Labels {
        let mut labels = self.namespaces.get(namespace).cloned().unwrap_or_default();
        labels.insert("kubernetes.io/metadata.name".into(), namespace.into());
        labels
    }
}

// === impl Secret ===

impl Secret {
    /// The bytes under a key.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.keys.get(key).map(Vec::as_slice)
    }

    /// All keys with their values as text.
    pub fn texts(&self) -> impl Iterator<Item = (&str, String)> {
        self.keys.iter().map(|(key, value)| (key.as_str(), String::from_utf8_lossy(value).into_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.keys.keys()).finish()
    }
}

// === impl Problem ===

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, message) = (printable(&self.field), printable(&self.message));
        match field.as_str() {
            "" => write!(formatter, "{}: {message}", self.place),
            field => write!(formatter, "{}: {field}: {message}", self.place),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}", self.file.display()),
            line => write!(formatter, "{}:{line}", self.file.display()),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

/// A text from a manifest without what would steer a terminal.
fn printable(text: &str) -> String {
    let steers = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if steers(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// The manifest of a built-in provider, for folders that declare none.
pub fn builtin_provider() -> DNSProvider {
    let manifest = json!({
        "apiVersion": API_VERSION,
        "kind": "DNSProvider",
        "metadata": {"name": "builtin"},
        "spec": {"builtin": {}},
    });
    serde_json::from_value(manifest).expect("a valid manifest, by the test below")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_provider_is_valid() {
        assert_eq!(builtin_provider().spec.builtin.unwrap().listen, "127.0.0.1:5300");
    }
}
