//! A folder of manifests as the desired state: read completely, or not at all.

pub mod node;
pub mod schema;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zonekeeper_api::{API_VERSION, AddressSource, DNSProvider, DNSZone, GROUP, RecordSet};
use zonekeeper_kernel::zone::Labels;

use crate::folder::{
    node::{Node, Step, path_text},
    schema::{KINDS, Schemas, unknown_field},
};

/// How the names of manifests end, in upper or lower case.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Everything that a folder declares.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Folder {
    pub providers: Vec<Declared<DNSProvider>>,
    pub zones: Vec<Declared<DNSZone>>,
    pub record_sets: Vec<Declared<RecordSet>>,
    pub address_sources: Vec<Declared<AddressSource>>,
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

/// Reads all `.yaml`, `.yml` and `.json` files below a folder, or one file.
///
/// Guarantees: a folder that does not parse completely gives nothing but its problems, all of them.
pub fn read(path: &Path) -> Result<Folder, Problems> {
    let mut reader = Reader {
        schemas: Schemas::compiled(),
        folder: Folder::default(),
        problems: Vec::new(),
        seen: BTreeMap::new(),
        documents: 0,
    };
    match manifest_files(path) {
        Ok(files) => files.iter().for_each(|file| reader.read_file(file)),
        Err(error) => reader.problem(path, 0, String::new(), format!("can't be read: {error}")),
    }
    if reader.documents == 0 && reader.problems.is_empty() {
        let message =
            "holds no manifest; add .yaml, .yml or .json files with zonekeeper.dev objects".to_owned();
        reader.problem(path, 0, String::new(), message);
    }
    if reader.problems.is_empty() { Ok(reader.folder) } else { Err(Problems(reader.problems)) }
}

/// The manifest files below a folder, sorted; hidden files and folders are left out.
pub fn manifest_files(path: &Path) -> std::io::Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    if std::fs::metadata(path)?.is_file() {
        // One file would be taken for the whole wish, and the records of all others for given up.
        return Err(std::io::Error::other("it is a file; give the folder that holds all manifests"));
    }
    let mut folders = vec![path.to_owned()];
    // A link to a folder above would lead round and round.
    let mut visited = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        if !visited.insert(folder.canonicalize()?) {
            continue;
        }
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_hidden {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if is_manifest(&path) {
                files.insert(path);
            }
        }
    }
    Ok(files)
}

fn is_manifest(path: &Path) -> bool {
    let is_ending = |end: &std::ffi::OsStr| ENDINGS.iter().any(|known| end.eq_ignore_ascii_case(known));
    path.extension().is_some_and(is_ending)
}

/// The text of a file; a pipe would be waited for without end.
fn text_of(file: &Path) -> std::io::Result<String> {
    if !std::fs::metadata(file)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    std::fs::read_to_string(file)
}

struct Reader {
    schemas: Schemas,
    folder: Folder,
    problems: Vec<Problem>,
    seen: BTreeMap<(String, String, String), Place>,
    documents: usize,
}

// === impl Reader ===

impl Reader {
    fn read_file(&mut self, file: &Path) {
        let text = match text_of(file) {
            Ok(text) => text,
            Err(error) => return self.problem(file, 0, String::new(), format!("can't be read: {error}")),
        };
        if text.is_empty() {
            // What a full disk, or a checkout that is not done yet, leaves behind.
            let message = "is empty; remove the file if nothing is wanted of it".to_owned();
            return self.problem(file, 0, String::new(), message);
        }
        match serde_saphyr::from_multiple::<Option<Node>>(&text) {
            Ok(nodes) => {
                nodes.into_iter().flatten().for_each(|node| self.read_document(file, &node.without_nulls()))
            }
            Err(error) => {
                let line = error.location().map_or(0, |location| location.line());
                let message = error.to_string();
                let first = message.lines().next().unwrap_or_default().to_owned();
                self.problem(file, line, String::new(), format!("is not valid YAML: {first}"));
            }
        }
    }

    fn read_document(&mut self, file: &Path, node: &Node) {
        if matches!(node.tree, node::Tree::Null) {
            return;
        }
        let (Some(version), Some(kind)) = (node.text("apiVersion"), node.text("kind")) else {
            let message = "has no apiVersion and kind; every document is one Kubernetes object".to_owned();
            return self.problem(file, node.line, String::new(), message);
        };
        let group = version.split_once('/').map_or("", |(group, _)| group);
        match (group, kind) {
            ("", "List") => self.read_list(file, node),
            ("", "Secret") => self.read_secret(file, node),
            ("", "Namespace") => self.read_namespace(file, node),
            (GROUP, _) if version != API_VERSION => {
                let message = format!("{version:?} is not served; use {API_VERSION}");
                self.problem(
                    file,
                    node.line_of(&[Step::Field("apiVersion".into())]),
                    "apiVersion".into(),
                    message,
                );
            }
            (GROUP, _) => self.read_ours(file, node, kind),
            (_, _) => {
                let what = printable(&format!("{version} {kind}"));
                let note = format!("{}:{}: {what} is skipped", file.display(), node.line);
                self.folder.notes.push(note);
            }
        }
    }

    fn read_list(&mut self, file: &Path, node: &Node) {
        if let node::Tree::Mapping(entries) = &node.tree
            && let Some((_, items)) = entries.iter().find(|(key, _)| key.text == "items")
            && let node::Tree::Sequence(items) = &items.tree
        {
            items.iter().for_each(|item| self.read_document(file, item));
        }
    }

    fn read_ours(&mut self, file: &Path, node: &Node, kind: &str) {
        if !KINDS.contains(&kind) {
            let message = unknown_field(kind, KINDS.into_iter()).replace("field", "kind");
            return self.problem(file, node.line_of(&[Step::Field("kind".into())]), "kind".into(), message);
        }
        if node.to_json().pointer("/metadata/name").is_none() {
            let path = [Step::Field("metadata".into()), Step::Field("name".into())];
            return self.problem(file, node.line_of(&path), path_text(&path), "is missing".to_owned());
        }
        let mut node = node.clone();
        complete_token_reference(kind, &mut node);
        let faults = self.schemas.check(kind, &node);
        if !faults.is_empty() {
            for fault in faults {
                let (line, field) = (node.line_of(&fault.path), path_text(&fault.path));
                self.problem(file, line, field, fault.message);
            }
            return;
        }
        match kind {
            "DNSProvider" => self.keep(file, &node, |folder, object| folder.providers.push(object)),
            "DNSZone" => self.keep(file, &node, |folder, object| folder.zones.push(object)),
            "RecordSet" => self.keep(file, &node, |folder, object| folder.record_sets.push(object)),
            _address_source => self.keep(file, &node, |folder, object| folder.address_sources.push(object)),
        }
    }

    fn keep<K>(&mut self, file: &Path, node: &Node, push: impl FnOnce(&mut Folder, Declared<K>))
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let mut object: K = match serde_path_to_error::deserialize(node.to_json()) {
            Ok(object) => object,
            Err(error) => {
                let path = steps(error.path());
                let (line, field) = (node.line_of(&path), path_text(&path));
                return self.problem(file, line, field, error.inner().to_string());
            }
        };
        let kind = K::kind(&()).to_string();
        let is_cluster_scoped = kind == "DNSProvider";
        if is_cluster_scoped {
            object.meta_mut().namespace = None;
        } else if object.namespace().is_none_or(|namespace| namespace.is_empty()) {
            object.meta_mut().namespace = Some("default".into());
        }
        let identity = (kind, object.namespace().unwrap_or_default(), object.name_any());
        if let Some(place) = self.admit(file, node, identity) {
            push(&mut self.folder, Declared { object, place });
            self.documents += 1;
        }
    }

    /// Checks that an object has a name, and that nobody else has it.
    fn admit(&mut self, file: &Path, node: &Node, identity: (String, String, String)) -> Option<Place> {
        let metadata = [Step::Field("metadata".into()), Step::Field("name".into())];
        let line = node.line_of(&metadata);
        if identity.2.is_empty() {
            self.problem(file, line, "metadata.name".into(), "is missing".into());
            return None;
        }
        if !is_object_name(&identity.2) {
            let message = format!("{:?} is no name of an object; use a-z, 0-9, - and .", identity.2);
            self.problem(file, line, "metadata.name".into(), message);
            return None;
        }
        if !identity.1.is_empty() && (!is_object_name(&identity.1) || identity.1.contains('.')) {
            let message = format!("{:?} is no name of a namespace; use a-z, 0-9 and -", identity.1);
            self.problem(file, line, "metadata.namespace".into(), message);
            return None;
        }
        let place = Place { file: file.to_owned(), line: node.line };
        if let Some(first) = self.seen.get(&identity) {
            let message = format!(
                "{} {} is declared a second time; the first is at {first}",
                identity.0,
                if identity.1.is_empty() {
                    identity.2.clone()
                } else {
                    format!("{}/{}", identity.1, identity.2)
                }
            );
            self.problem(file, line, "metadata.name".into(), message);
            return None;
        }
        self.seen.insert(identity, place.clone());
        Some(place)
    }

    fn read_secret(&mut self, file: &Path, node: &Node) {
        let value = node.to_json();
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let mut secret = Secret::default();
        for (key, data) in value["data"].as_object().into_iter().flatten() {
            let encoded: String = data.as_str().unwrap_or_default().split_whitespace().collect();
            match data_encoding::BASE64.decode(encoded.as_bytes()) {
                Ok(bytes) => drop(secret.keys.insert(key.clone(), bytes)),
                Err(_) => {
                    let path = [Step::Field("data".into()), Step::Field(key.clone())];
                    let message = "is not base64; use stringData for plain text".to_owned();
                    self.problem(file, node.line_of(&path), path_text(&path), message);
                }
            }
        }
        for (key, data) in value["stringData"].as_object().into_iter().flatten() {
            match data.as_str() {
                Some(text) => drop(secret.keys.insert(key.clone(), text.as_bytes().to_vec())),
                None => {
                    let path = [Step::Field("stringData".into()), Step::Field(key.clone())];
                    let message = "is not a text; put it in quotes".to_owned();
                    self.problem(file, node.line_of(&path), path_text(&path), message);
                }
            }
        }
        let shown = if namespace.is_empty() { "default".to_owned() } else { namespace.clone() };
        if self.admit(file, node, ("Secret".into(), shown, name.clone())).is_some() {
            self.folder.secrets.insert((namespace, name), secret);
            self.documents += 1;
        }
    }

    fn read_namespace(&mut self, file: &Path, node: &Node) {
        let value = node.to_json();
        let name = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let labels = value["metadata"]["labels"].as_object().into_iter().flatten();
        let labels = labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()));
        if self.admit(file, node, ("Namespace".into(), String::new(), name.clone())).is_some() {
            self.folder.namespaces.insert(name, labels.collect());
        }
    }

    fn problem(&mut self, file: &Path, line: u64, field: String, message: String) {
        self.problems.push(Problem { place: Place { file: file.to_owned(), line }, field, message });
    }
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

    /// Whether a record set that another version of the folder declares is gone.
    pub fn lacks_objects_of(&self, other: &Self) -> bool {
        let keys = |folder: &Self| -> BTreeSet<(Option<String>, String)> {
            let sets = folder.record_sets.iter();
            sets.map(|declared| (declared.object.namespace(), declared.object.name_any())).collect()
        };
        !keys(other).is_subset(&keys(self))
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

/// As an API server checks it (RFC 1123); markers and hashes are made of these names.
fn is_object_name(text: &str) -> bool {
    let is_edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(is_edge)
            && bytes.last().is_some_and(is_edge)
            && bytes.iter().all(|byte| is_edge(byte) || *byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Without a cluster the token may come from the environment, so its Secret need not be named.
fn complete_token_reference(kind: &str, node: &mut Node) {
    let wanted = ["spec", "cloudflare"];
    if kind != "DNSProvider" {
        return;
    }
    let mut at = node;
    for field in wanted {
        let node::Tree::Mapping(entries) = &mut at.tree else { return };
        let Some((_, inner)) = entries.iter_mut().find(|(key, _)| key.text == field) else { return };
        at = inner;
    }
    let line = at.line;
    let node::Tree::Mapping(entries) = &mut at.tree else { return };
    if !entries.iter().any(|(key, _)| key.text == "apiTokenSecretRef") {
        let text = |text: &str| Node { line, tree: node::Tree::Text(text.into()) };
        let key = |text: &str| node::Key { line, text: text.into() };
        let reference = node::Tree::Mapping(vec![(key("name"), text("cloudflare"))]);
        entries.push((key("apiTokenSecretRef"), Node { line, tree: reference }));
    }
}

fn steps(path: &serde_path_to_error::Path) -> Vec<Step> {
    path.iter()
        .filter_map(|segment| match segment {
            serde_path_to_error::Segment::Seq { index } => Some(Step::Index(*index)),
            serde_path_to_error::Segment::Map { key } => Some(Step::Field(key.clone())),
            serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => None,
        })
        .collect()
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
