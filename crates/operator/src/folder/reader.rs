//! What the documents of a folder declare, and everything that is wrong with them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;
use zonekeeper_api::SourceKind;
use zonekeeper_sources::{
    BadField,
    object::{Keep, Kind, Object, ObjectRef},
};

use crate::folder::{
    Declared, Folder, Place, Problem, Problems, Secret,
    kind::{Item, Sort, sort_of},
    node::{Key, Node, Step, Tree, path_text},
    printable,
    schema::Schemas,
    text::{self, Unreadable},
};

/// Collects what documents declare, and everything that is wrong with them.
pub struct Reader {
    schemas: Schemas,
    folder: Folder,
    problems: Vec<Problem>,
    seen: BTreeMap<(String, String, String), Place>,
    documents: usize,
    /// Read when it is known whether a zone reads them.
    sources: Vec<SourceDocument>,
}

/// A document of a kind that zones can publish.
struct SourceDocument {
    /// Its apiVersion and kind, for people.
    what: String,
    file: PathBuf,
    kind: Kind,
    node: Node,
}

// === impl Reader ===

impl Reader {
    /// A reader that has read nothing yet.
    pub fn new() -> Self {
        Self {
            schemas: Schemas::compiled(),
            folder: Folder::default(),
            problems: Vec::new(),
            seen: BTreeMap::new(),
            documents: 0,
            sources: Vec::new(),
        }
    }

    /// Reads one file.
    pub fn read_file(&mut self, file: &Path) {
        match text::documents(file) {
            Ok(documents) => {
                documents.into_iter().for_each(|node| self.read_document(file, node.without_nulls(), None))
            }
            Err(Unreadable { line, message }) => self.problem(file, line, String::new(), message),
        }
    }

    /// What was read, or everything that is wrong with it.
    pub fn finish(mut self, path: &Path) -> Result<Folder, Problems> {
        let are_read = self.folder.zones.iter().any(|zone| zone.object.spec.sources.is_some());
        for document in std::mem::take(&mut self.sources) {
            match are_read {
                true => self.read_source(&document),
                false => self.skip_source(&document),
            }
        }
        if self.documents == 0 && self.problems.is_empty() {
            let message =
                "holds no manifest; add .yaml, .yml or .json files with zonekeeper.dev objects".to_owned();
            self.problem(path, 0, String::new(), message);
        }
        if self.problems.is_empty() { Ok(self.folder) } else { Err(Problems(self.problems)) }
    }

    /// Reads a document, or an item of a list that says what its items are.
    fn read_document(&mut self, file: &Path, node: Node, listed: Option<&Item>) {
        let version = node.text("apiVersion").or(listed.map(|item| item.version.as_str()));
        let kind = node.text("kind").or(listed.map(|item| item.kind.as_str()));
        let (Some(version), Some(kind)) = (version, kind) else {
            let message = "has no apiVersion and kind; every document is one Kubernetes object".to_owned();
            return self.problem(file, node.line, String::new(), message);
        };
        match sort_of(version, kind) {
            Sort::Ours(kind) => self.read_ours(file, node, kind),
            Sort::Secret => self.read_secret(file, &node),
            Sort::Namespace => self.read_namespace(file, &node),
            Sort::Source(kind) => {
                let what = printable(&format!("{version} {}", kind.as_str()));
                self.sources.push(SourceDocument { what, file: file.to_owned(), kind, node });
            }
            Sort::List(items) => self.read_list(file, node, items.as_ref()),
            Sort::Mistyped(field, message) => {
                let line = node.line_of(&[Step::Field(field.into())]);
                self.problem(file, line, field.into(), message);
            }
            Sort::Other => {
                let what = printable(&format!("{version} {kind}"));
                let note = format!("{}:{}: {what} is skipped", file.display(), node.line);
                self.folder.notes.push(note);
            }
        }
    }

    fn read_list(&mut self, file: &Path, node: Node, listed: Option<&Item>) {
        let line = node.line_of(&[Step::Field("items".into())]);
        let entries = match node.tree {
            Tree::Mapping(entries) => entries,
            _other => Vec::new(),
        };
        let items = entries.into_iter().find(|(key, _)| key.text == "items").map(|(_, items)| items.tree);
        match items {
            Some(Tree::Sequence(items)) if !items.is_empty() => {
                items.into_iter().for_each(|item| self.read_document(file, item, listed));
            }
            // A list that lost its items must not be taken for a wish for none.
            Some(Tree::Sequence(_)) | None => {
                let message = "has no items; remove the list if nothing is wanted of it".to_owned();
                self.problem(file, line, "items".into(), message);
            }
            Some(_other) => self.problem(file, line, "items".into(), "is not a list of objects".to_owned()),
        }
    }

    fn read_ours(&mut self, file: &Path, mut node: Node, kind: &str) {
        if node.to_json().pointer("/metadata/name").is_none() {
            let path = [Step::Field("metadata".into()), Step::Field("name".into())];
            return self.problem(file, node.line_of(&path), path_text(&path), "is missing".to_owned());
        }
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

    /// Checks that an object has a name, and that no other has it.
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

    fn read_source(&mut self, document: &SourceDocument) {
        let SourceDocument { file, kind, node, .. } = document;
        let object = match source_object(document) {
            Ok(object) => object,
            Err(bad) => return self.problem(file, node.line, bad.field, bad.message),
        };
        let identity = (kind.as_str().to_owned(), object.meta.namespace.clone(), object.meta.name.clone());
        if let Some(place) = self.admit(file, node, identity) {
            self.folder.sources.push(Declared { object: Arc::new(object), place });
            self.documents += 1;
        }
    }

    /// No zone reads it, but it is there: that its records are not asked for any more is no word of its own.
    fn skip_source(&mut self, document: &SourceDocument) {
        let SourceDocument { what, file, node, .. } = document;
        let note =
            format!("{}:{}: {what} is skipped; no DNSZone has spec.sources", file.display(), node.line);
        self.folder.notes.push(note);
        self.folder.unread_sources.push(reference(document));
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

/// A source object as a cluster would have it, but for its age: namespace and name stand for that.
fn source_object(document: &SourceDocument) -> Result<Object, BadField> {
    let mut object = Object::read(document.kind, document.node.to_json(), Keep::Whole)?;
    let meta = &mut object.meta;
    meta.namespace = reference(document).namespace;
    (meta.uid, meta.creation_timestamp) = (String::new(), String::new());
    Ok(object)
}

fn reference(document: &SourceDocument) -> ObjectRef {
    let json = document.node.to_json();
    let text = |field: &str| json["metadata"][field].as_str().filter(|text| !text.is_empty());
    let namespace = match document.kind {
        Kind::Source(SourceKind::Node) => "",
        _namespaced => text("namespace").unwrap_or("default"),
    };
    ObjectRef::new(document.kind, namespace, text("name").unwrap_or_default())
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
        let Tree::Mapping(entries) = &mut at.tree else { return };
        let Some((_, inner)) = entries.iter_mut().find(|(key, _)| key.text == field) else { return };
        at = inner;
    }
    let line = at.line;
    let Tree::Mapping(entries) = &mut at.tree else { return };
    if !entries.iter().any(|(key, _)| key.text == "apiTokenSecretRef") {
        let text = |text: &str| Node { line, tree: Tree::Text(text.into()) };
        let key = |text: &str| Key { line, text: text.into() };
        let reference = Tree::Mapping(vec![(key("name"), text("cloudflare"))]);
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
