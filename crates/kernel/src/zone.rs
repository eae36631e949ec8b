//! A zone as its owner configured it: who may ask for what, and how far we may go.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    attribute::Attributes, desired::Adoption, name::Name, pattern::Pattern, rdata::RecordType, record::Ttl,
};

/// A DNSZone object, by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// How a zone reads source objects; zones of equal keys read them alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourcesKey(pub Arc<str>);

/// A zone that exists at its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    /// The object that declares it.
    pub key: ZoneKey,
    /// What identifies the provider, to tell split horizons apart.
    pub provider: String,
    /// Its domain.
    pub domain: Name,
    /// Whether it takes wishes that do not name it.
    pub selection: Selection,
    /// Names it is limited to.
    pub names: NameLimits,
    /// What other namespaces may ask for.
    pub grants: Vec<Grant>,
    /// Labels by which it takes RecordSets.
    pub records_from: Vec<LabelSelector>,
    /// How it reads source objects; none takes no source objects.
    pub sources: Option<SourcesKey>,
    /// TTL of sets that ask for none; none leaves it to the provider.
    pub default_ttl: Option<Ttl>,
    /// Attributes of sets that ask for none of that name.
    pub default_attributes: Attributes,
}

/// How far a zone's worker may go.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Which operations are carried out.
    pub policy: Policy,
    /// What to do with outside changes.
    pub drift: Drift,
    /// What to do with records that no object wants.
    pub prune: Prune,
    /// Names it is limited to.
    pub names: NameLimits,
}

/// Which operations are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// All.
    #[default]
    Sync,
    /// No deletes.
    UpsertOnly,
    /// Creates only.
    CreateOnly,
    /// None: plan only.
    Observe,
}

/// What to do when a record that was applied as wanted was changed from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Drift {
    /// Restore it.
    #[default]
    Revert,
    /// Report it.
    Report,
}

/// What to do with records that no object wants.
#[derive(Debug, Clone)]
pub struct Prune {
    /// How far it goes.
    pub mode: PruneMode,
    /// How many unowned records may go per window under [`PruneMode::All`].
    pub max_deletes: usize,
    /// Unowned records that stay.
    pub ignore: Vec<Ignore>,
}

/// How far pruning goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PruneMode {
    /// Orphans are listed only.
    Never,
    /// Orphans are held for approval.
    #[default]
    Owned,
    /// Unowned records are removed too.
    All,
}

/// An entry of prune's ignore list.
#[derive(Debug, Clone)]
pub struct Ignore {
    /// Names it covers; all where none is given.
    pub name: Option<Pattern>,
    /// The type it covers; all where none is given.
    pub rtype: Option<RecordType>,
}

/// Whether a zone takes wishes that do not name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selection {
    /// Any wish for a name in its domain.
    #[default]
    Any,
    /// The same, beside other zones of the domain: each of them takes it.
    All,
    /// Only wishes that name it, or that it selects by label.
    Explicit,
}

/// Which names of a zone are ours to write; outside them nothing is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameLimits {
    /// If not empty, one of these must match.
    pub include: Vec<Pattern>,
    /// None of these may match.
    pub exclude: Vec<Pattern>,
}

/// What a namespace other than the zone's own may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The namespaces.
    pub namespaces: Namespaces,
    /// The names; none means every name but the special ones.
    pub names: Option<Vec<Pattern>>,
    /// The types; none means the harmless ones.
    pub types: Option<Vec<RecordType>>,
    /// Whether values of several namespaces may form one set.
    pub share: Sharing,
    /// The most an object from there gets, whatever it asks for.
    pub adoption: Adoption,
}

/// Whether namespaces may share a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// The first holder keeps it.
    #[default]
    Exclusive,
    /// Values are united.
    Shared,
}

/// A set of namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Namespaces {
    /// The one of the object that says so.
    Same,
    /// All.
    All,
    /// Those with matching labels.
    Selected(LabelSelector),
}

/// A Kubernetes label selector.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelSelector {
    /// All of these must hold.
    pub requirements: Vec<Requirement>,
}

/// One requirement of a label selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// The label is there with one of these values.
    In(String, Vec<String>),
    /// The label is not there with one of these values.
    NotIn(String, Vec<String>),
    /// The label is there.
    Exists(String),
    /// The label is not there.
    DoesNotExist(String),
}

/// Types granted where a grant names none.
pub const HARMLESS_TYPES: [RecordType; 7] = [
    RecordType::A,
    RecordType::AAAA,
    RecordType::CNAME,
    RecordType::TXT,
    RecordType::SRV,
    RecordType::HTTPS,
    RecordType::SVCB,
];

// === impl ZoneKey ===

impl std::fmt::Display for ZoneKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

// === impl Rules ===

impl Default for Rules {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            drift: Drift::default(),
            prune: Prune { mode: PruneMode::default(), max_deletes: 10, ignore: Vec::new() },
            names: NameLimits::default(),
        }
    }
}

// === impl Prune ===

impl Prune {
    /// Whether an unowned record stays though pruning removes all others.
    pub fn ignores(&self, name: &Name, rtype: RecordType) -> bool {
        self.ignore.iter().any(|entry| {
            entry.name.as_ref().is_none_or(|pattern| pattern.matches(name))
                && entry.rtype.is_none_or(|ignored| ignored == rtype)
        })
    }
}

// === impl NameLimits ===

impl NameLimits {
    /// Whether a name is ours to write.
    pub fn allow(&self, name: &Name) -> bool {
        (self.include.is_empty() || self.include.iter().any(|pattern| pattern.matches(name)))
            && !self.exclude.iter().any(|pattern| pattern.matches(name))
    }
}

// === impl Grant ===

impl Grant {
    /// Whether the grant covers a name and type in `domain`.
    pub fn covers(&self, domain: &Name, name: &Name, rtype: RecordType) -> bool {
        let type_is_granted = match &self.types {
            Some(types) => types.contains(&rtype),
            None => HARMLESS_TYPES.contains(&rtype),
        };
        type_is_granted && self.covers_name(domain, name)
    }

    /// Whether the grant covers a name in `domain` for some type.
    pub fn covers_name(&self, domain: &Name, name: &Name) -> bool {
        match &self.names {
            Some(patterns) => patterns.iter().any(|pattern| pattern.matches(name)),
            None => !is_special(domain, name),
        }
    }
}

// === impl Namespaces ===

impl Namespaces {
    /// Whether a namespace belongs to the set, seen from an object in `own`.
    pub fn contain(&self, own: &str, namespace: &str, labels: &Labels) -> bool {
        match self {
            Self::Same => own == namespace,
            Self::All => true,
            Self::Selected(selector) => selector.matches(labels),
        }
    }
}

// === impl Requirement ===

impl fmt::Display for Requirement {
    /// As kubectl writes it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::In(key, values) => write!(formatter, "{key} in ({})", values.join(",")),
            Self::NotIn(key, values) => write!(formatter, "{key} notin ({})", values.join(",")),
            Self::Exists(key) => formatter.write_str(key),
            Self::DoesNotExist(key) => write!(formatter, "!{key}"),
        }
    }
}

// === impl LabelSelector ===

impl fmt::Display for LabelSelector {
    /// As kubectl writes it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirements: Vec<String> = self.requirements.iter().map(ToString::to_string).collect();
        formatter.write_str(&requirements.join(","))
    }
}

impl LabelSelector {
    /// Whether labels satisfy every requirement; an empty selector takes everything.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            Requirement::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Requirement::Exists(key) => labels.contains_key(key),
            Requirement::DoesNotExist(key) => !labels.contains_key(key),
        })
    }
}

/// The apex, wildcards, and names by which certificates and mail are secured.
fn is_special(domain: &Name, name: &Name) -> bool {
    name == domain
        || name.labels().any(|label| matches!(label, "*" | "_acme-challenge" | "_dmarc" | "_domainkey"))
}
