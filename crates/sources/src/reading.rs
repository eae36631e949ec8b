//! How a zone reads source objects: kinds, dialects, selectors and the template, parsed once.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as ApiSelector;
use zonekeeper_api::{Dialect, SourceKind, Sources};
use zonekeeper_kernel::zone::{LabelSelector, Requirement, SourcesKey};

use crate::{
    BadField,
    dialect::{self, Setting},
    object::{Body, Keep, Object},
    template::Template,
};

/// A zone's `spec.sources`, parsed. Equal readings compare equal, however they are written.
#[derive(Debug, Clone)]
pub struct Reading {
    key: SourcesKey,
    kinds: Vec<SourceKind>,
    /// Whose words are read, each with its prefix, the strongest first.
    vocabularies: Vec<(Dialect, String)>,
    labels: LabelSelector,
    annotations: LabelSelector,
    template: Option<Template>,
}

const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

/// What an annotation says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said<'a> {
    pub key: String,
    pub value: &'a str,
}

// === impl Reading ===

impl Reading {
    /// Parses a zone's sources, or names the field that can't be understood.
    pub fn parse(sources: &Sources) -> Result<Self, BadField> {
        let mut sources = sources.clone();
        sources.kinds.sort();
        sources.kinds.dedup();
        sources.dialects.sort();
        sources.dialects.dedup();
        for (index, prefix) in sources.annotation_prefixes.iter().enumerate() {
            if prefix.len() < 2 || !prefix.ends_with('/') {
                let field = format!("spec.sources.annotationPrefixes[{index}]");
                return Err(BadField::new(field, "must end in a slash, such as dns.example.com/"));
            }
        }
        let selector = |field: &str, selector: &Option<ApiSelector>| match selector {
            Some(selector) => label_selector(&format!("spec.sources.{field}"), selector),
            None => Ok(LabelSelector::default()),
        };
        let labels = selector("labelSelector", &sources.label_selector)?;
        let annotations = selector("annotationSelector", &sources.annotation_selector)?;
        let template = match sources.fqdn_template.trim() {
            "" => None,
            text => Some(
                Template::parse(text).map_err(|error| BadField::new("spec.sources.fqdnTemplate", error))?,
            ),
        };
        let mut vocabularies = Vec::new();
        for dialect in [Dialect::Zonekeeper, Dialect::ExternalDns, Dialect::CloudflareOperator] {
            let own: &[&str] =
                if sources.dialects.contains(&dialect) { dialect::prefixes(dialect) } else { &[] };
            vocabularies.extend(own.iter().map(|prefix| (dialect, (*prefix).to_owned())));
            if dialect == Dialect::ExternalDns {
                let further = sources.annotation_prefixes.iter();
                vocabularies.extend(further.map(|prefix| (dialect, prefix.clone())));
            }
        }
        let key = key(&sources.kinds, &vocabularies, [&labels, &annotations], sources.fqdn_template.trim());
        Ok(Self { key, kinds: sources.kinds, vocabularies, labels, annotations, template })
    }

    /// What zones and wishes of this reading carry.
    pub fn key(&self) -> &SourcesKey {
        &self.key
    }

    /// The kinds it reads, sorted.
    pub fn kinds(&self) -> &[SourceKind] {
        &self.kinds
    }

    /// How much of an object it needs.
    pub fn keep(&self) -> Keep {
        if self.template.is_some() { Keep::Whole } else { Keep::Narrow }
    }

    pub(crate) fn template(&self) -> Option<&Template> {
        self.template.as_ref()
    }

    /// Whether an object's labels and annotations are as the zone wants them.
    ///
    /// The class in the spec of an Ingress counts as its annotation, and before it.
    pub(crate) fn selects(&self, object: &Object) -> bool {
        let meta = &object.meta;
        let class = match &object.body {
            Body::Ingress(ingress) => ingress.spec.ingress_class_name.as_str(),
            _ => "",
        };
        let has_annotations = match class {
            "" => self.annotations.matches(&meta.annotations),
            class => {
                let mut annotations = meta.annotations.clone();
                annotations.insert(INGRESS_CLASS.into(), class.into());
                self.annotations.matches(&annotations)
            }
        };
        has_annotations && self.labels.matches(&meta.labels)
    }

    /// Whether a dialect is read at all.
    pub(crate) fn reads(&self, dialect: Dialect) -> bool {
        self.vocabularies.iter().any(|(own, _)| *own == dialect)
    }

    /// What an object's annotations say of a setting in any dialect; the strongest prefix wins.
    pub(crate) fn said<'a>(
        &self,
        annotations: &'a BTreeMap<String, String>,
        setting: Setting,
    ) -> Option<Said<'a>> {
        self.vocabularies.iter().find_map(|(dialect, prefix)| said(annotations, *dialect, prefix, setting))
    }

    /// What an object's annotations say of a setting in one dialect.
    pub(crate) fn said_in<'a>(
        &self,
        dialect: Dialect,
        annotations: &'a BTreeMap<String, String>,
        setting: Setting,
    ) -> Option<Said<'a>> {
        let mut vocabularies = self.vocabularies.iter().filter(|(own, _)| *own == dialect);
        vocabularies.find_map(|(dialect, prefix)| said(annotations, *dialect, prefix, setting))
    }

    /// Whether an annotation's key is one that this reading understands as a setting.
    pub(crate) fn understands(&self, key: &str, setting: Setting) -> bool {
        self.vocabularies.iter().any(|(dialect, prefix)| {
            dialect::suffix(*dialect, setting)
                .is_some_and(|suffix| key.strip_prefix(prefix.as_str()) == Some(suffix))
        })
    }
}

impl PartialEq for Reading {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Reading {}

impl PartialOrd for Reading {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Reading {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

fn said<'a>(
    annotations: &'a BTreeMap<String, String>,
    dialect: Dialect,
    prefix: &str,
    setting: Setting,
) -> Option<Said<'a>> {
    let key = format!("{prefix}{}", dialect::suffix(dialect, setting)?);
    let value = annotations.get(&key)?;
    Some(Said { key, value })
}

/// A selector in the kernel's terms, with its requirements in one order.
pub(crate) fn label_selector(field: &str, selector: &ApiSelector) -> Result<LabelSelector, BadField> {
    let labels = selector.match_labels.iter().flatten();
    let mut requirements: Vec<Requirement> =
        labels.map(|(key, value)| Requirement::In(key.clone(), vec![value.clone()])).collect();
    for (index, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let mut values = expression.values.clone().unwrap_or_default();
        values.sort();
        let bad = |part: &str, message: &str| {
            Err(BadField::new(format!("{field}.matchExpressions[{index}].{part}"), message))
        };
        let key = expression.key.clone();
        requirements.push(match (expression.operator.as_str(), values.is_empty()) {
            ("In", false) => Requirement::In(key, values),
            ("NotIn", false) => Requirement::NotIn(key, values),
            ("Exists", true) => Requirement::Exists(key),
            ("DoesNotExist", true) => Requirement::DoesNotExist(key),
            ("In" | "NotIn", true) => return bad("values", "must not be empty for In and NotIn"),
            ("Exists" | "DoesNotExist", false) => {
                return bad("values", "must be empty for Exists and DoesNotExist");
            }
            _ => return bad("operator", "must be In, NotIn, Exists or DoesNotExist"),
        });
    }
    requirements.sort_by_cached_key(ToString::to_string);
    requirements.dedup();
    Ok(LabelSelector { requirements })
}

/// Tells readings apart. A digest of it is kept in the status of zones: its form is fixed.
fn key(
    kinds: &[SourceKind],
    vocabularies: &[(Dialect, String)],
    [labels, annotations]: [&LabelSelector; 2],
    template: &str,
) -> SourcesKey {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let vocabularies: Vec<String> =
        vocabularies.iter().map(|(dialect, prefix)| format!("{}={prefix}", dialect.as_str())).collect();
    let lines = [
        format!("kinds {}", kinds.join(",")),
        format!("annotations {}", vocabularies.join(",")),
        format!("labelSelector {labels}"),
        format!("annotationSelector {annotations}"),
        format!("fqdnTemplate {template}"),
    ];
    SourcesKey(Arc::from(lines.join("\n")))
}
