//! One object being read: what its annotations say, what it looked at, what is wrong with it.

use std::collections::BTreeSet;

use zonekeeper_api::{Dialect, SourceKind};
use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
    reason::Reason,
};

use crate::{
    Surroundings, Unknown,
    dialect::Setting,
    object::{Kind, Object, ObjectRef},
    publish::Complaint,
    reading::{Reading, Said},
    settings::{Settings, list},
    wish::{Targets, Wanted, Wish, suitable_type},
    world::{Found, Look, World},
};

/// An object, how it is read, and what came of it so far.
pub(crate) struct Reader<'a> {
    pub object: &'a Object,
    pub reading: &'a Reading,
    pub world: &'a World,
    pub surroundings: &'a Surroundings<'a>,
    pub complaints: Vec<Complaint>,
    pub looked_at: BTreeSet<Look>,
    /// Why all values keep their last good state.
    pub spoiled: Option<Unknown>,
    /// Why it is not known which other names the object asks for.
    pub unclear: Option<Unknown>,
    /// Names below which the object names everything, though it asks for some of it only.
    pub covered: BTreeSet<Name>,
    /// What people should know where the object is published.
    pub notes: Vec<Complaint>,
}

/// A name and where it is written.
pub(crate) type Host = (String, String);

// === impl Reader ===

impl<'a> Reader<'a> {
    pub fn new(
        object: &'a Object,
        reading: &'a Reading,
        world: &'a World,
        surroundings: &'a Surroundings<'a>,
    ) -> Self {
        Self {
            object,
            reading,
            world,
            surroundings,
            complaints: Vec::new(),
            looked_at: BTreeSet::new(),
            spoiled: None,
            unclear: None,
            covered: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    /// What the object's annotations say of a setting.
    pub fn said(&self, setting: Setting) -> Option<Said<'a>> {
        self.reading.said(&self.object.meta.annotations, setting)
    }

    /// What the object's annotations say of a setting in cloudflare-operator's words.
    pub fn said_to_cloudflare_operator(&self, setting: Setting) -> Option<Said<'a>> {
        self.reading.said_in(Dialect::CloudflareOperator, &self.object.meta.annotations, setting)
    }

    /// A bad value: told, and everything keeps its last good state.
    pub fn spoil(&mut self, field: impl Into<String>, message: impl Into<String>) {
        let (field, message) = (field.into(), message.into());
        let why = (Reason::InvalidValue, format!("{field}: {message}"));
        self.spoiled.get_or_insert(why.clone());
        self.unclear.get_or_insert(why);
        self.complain(field, message);
    }

    /// A bad name: told; other names go on, and what the object holds already stays.
    pub fn misname(&mut self, field: impl Into<String>, message: impl Into<String>) {
        let (field, message) = (field.into(), message.into());
        self.unclear.get_or_insert((Reason::InvalidValue, format!("{field}: {message}")));
        self.complain(field, message);
    }

    fn complain(&mut self, field: String, message: String) {
        let complaint = Complaint { reason: Reason::InvalidValue, field, message };
        if !self.complaints.contains(&complaint) {
            self.complaints.push(complaint);
        }
    }

    /// Notes that names are left out, where a load balancer has them beside addresses or beside each other.
    pub fn note_left_out(&mut self, field: &str, targets: &Targets) {
        let Targets::Known(targets) = targets else { return };
        let (names, addresses): (Vec<&str>, Vec<&str>) =
            targets.iter().map(String::as_str).partition(|target| suitable_type(target) == RecordType::CNAME);
        let kept = if addresses.is_empty() { 1 } else { 0 };
        let left_out: Vec<&str> = names.into_iter().skip(kept).collect();
        if left_out.is_empty() {
            return;
        }
        let beside = if addresses.is_empty() { "another name" } else { "addresses" };
        let message = format!(
            "{} is left out: a CNAME can't stand beside {beside}; set the target annotation to choose",
            left_out.join(", ")
        );
        self.notes.push(Complaint { reason: Reason::InvalidValue, field: field.to_owned(), message });
    }

    /// One object that another refers to.
    pub fn look(&mut self, kind: Kind, namespace: &str, name: &str) -> Found<&'a Object> {
        let reference = ObjectRef::new(kind, namespace, name);
        let found = self.world.get(&reference);
        self.looked_at.insert(Look::Object(reference));
        found
    }

    /// All Nodes; none where they are not known.
    pub fn nodes(&mut self) -> Option<Vec<&'a Object>> {
        self.looked_at.insert(Look::Nodes);
        match self.world.list(Kind::Source(SourceKind::Node), None) {
            Found::Here(nodes) => Some(nodes),
            Found::NotThere | Found::Deleted | Found::NotKnown => None,
        }
    }

    /// The Pods of the object's namespace; none where they are not known.
    pub fn pods(&mut self) -> Option<Vec<&'a Object>> {
        let namespace = &self.object.meta.namespace;
        self.looked_at.insert(Look::Pods(namespace.clone()));
        match self.world.list(Kind::Source(SourceKind::Pod), Some(namespace)) {
            Found::Here(pods) => Some(pods),
            Found::NotThere | Found::Deleted | Found::NotKnown => None,
        }
    }

    /// The EndpointSlices of the object, which is a Service; none where they are not known.
    pub fn slices(&mut self) -> Option<Vec<&'a Object>> {
        let (namespace, service) = (self.object.meta.namespace.clone(), self.object.meta.name.clone());
        let found = self.world.slices(&namespace, &service);
        self.looked_at.insert(Look::EndpointSlices { namespace, service });
        match found {
            Found::Here(slices) => Some(slices),
            Found::NotThere | Found::Deleted | Found::NotKnown => None,
        }
    }

    /// The names that an annotation lists; all spaces are dropped.
    pub fn hosts(&self, setting: Setting) -> Vec<Host> {
        let Some(said) = self.said(setting) else { return Vec::new() };
        let text: String = said.value.chars().filter(|character| !character.is_whitespace()).collect();
        list(&text).into_iter().map(|host| (host, said.key.clone())).collect()
    }

    /// The names that the zone's template makes of the object; none where there is no template.
    pub fn templated(&mut self) -> Vec<Host> {
        let Some(template) = self.reading.template() else { return Vec::new() };
        let field = "spec.sources.fqdnTemplate";
        let Some(whole) = &self.object.whole else {
            self.unclear
                .get_or_insert((Reason::TargetsUnknown, "the object is not read as a whole yet".into()));
            return Vec::new();
        };
        match template.names(self.object.kind, whole) {
            Ok(names) => names.into_iter().map(|name| (name, field.to_owned())).collect(),
            Err(error) => {
                self.misname(field, error.to_string());
                Vec::new()
            }
        }
    }

    /// These names, or what the template makes where there are none.
    pub fn or_templated(&mut self, hosts: Vec<Host>) -> Vec<Host> {
        if hosts.is_empty() { self.templated() } else { hosts }
    }

    /// What the target annotation of an object lists; an empty one counts as none.
    pub fn target_of(&mut self, object: &Object) -> Option<Targets> {
        let said = self.reading.said(&object.meta.annotations, Setting::Target)?;
        let targets: BTreeSet<String> = list(said.value).into_iter().collect();
        let field = self.field_of(object, &said);
        for target in &targets {
            if let Err(error) = Rdata::parse(suitable_type(target), target) {
                self.spoil(field, format!("{error}; write addresses or names, separated by commas"));
                return Some(Targets::Known(targets));
            }
        }
        let names = targets.iter().filter(|target| suitable_type(target) == RecordType::CNAME).count();
        if names > 0 && targets.len() > 1 {
            let message =
                "a name stands alone: beside addresses it is dropped, and of several the first is taken";
            self.complain(field, message.to_owned());
        }
        (!targets.is_empty()).then_some(Targets::Known(targets))
    }

    /// An annotation, with its object where that is another one than the object being read.
    fn field_of(&self, object: &Object, said: &Said<'_>) -> String {
        match std::ptr::eq(object, self.object) {
            true => said.key.clone(),
            false => format!("{} of {}", said.key, object.reference()),
        }
    }

    /// One of the words that an annotation may be; a bad one is told, and counts as none.
    pub fn word(&mut self, setting: Setting, accepted: &[&'static str]) -> Option<&'static str> {
        let said = self.said(setting)?;
        let word = accepted.iter().find(|word| word.eq_ignore_ascii_case(said.value));
        if word.is_none() {
            let message = format!("{:?} is not one of {}", said.value, accepted.join(", "));
            self.spoil(said.key, message);
        }
        word.copied()
    }

    /// TTL, proxied, comment and tags, as the object's annotations say.
    pub fn settings(&mut self) -> Settings {
        self.settings_of(self.object)
    }

    /// TTL, proxied, comment and tags, as the annotations of an object say that this one depends on.
    pub fn settings_of(&mut self, object: &Object) -> Settings {
        let mut settings = Settings::default();
        for setting in Settings::SIMPLE {
            let Some(said) = self.reading.said(&object.meta.annotations, setting) else { continue };
            if let Err(accepted) = settings.set(setting, said.value) {
                self.spoil(self.field_of(object, &said), accepted);
            }
        }
        settings
    }

    /// One wish per name, all with the same targets.
    pub fn wishes(&self, hosts: Vec<Host>, targets: &Targets, settings: &Settings) -> Vec<Wish> {
        let wish = |(host, field)| Wish {
            host,
            field,
            wanted: Wanted::Targets(targets.clone()),
            settings: settings.clone(),
        };
        hosts.into_iter().map(wish).collect()
    }
}
