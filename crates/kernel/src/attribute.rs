//! What a provider keeps beside a record's value, TTL and comment: attributes by name, and the schema of those it has.

use std::{borrow::Cow, fmt, mem, sync::Arc};

use crate::{capability::Types, rdata::RecordType};

/// A flag: the provider's proxy answers instead of the value.
pub const PROXIED: &str = "proxied";
/// A flag: an alias is answered with the addresses of its target.
pub const FLATTEN_CNAME: &str = "flattenCNAME";
/// A flag: the proxy answers with IPv4 addresses only.
pub const IPV4_ONLY: &str = "ipv4Only";
/// A flag: the proxy answers with IPv6 addresses only.
pub const IPV6_ONLY: &str = "ipv6Only";
/// A list: `name` or `name:value`, for people and their searches.
pub const TAGS: &str = "tags";

/// An attribute's name, as manifests and plans write it.
pub type AttributeName = Cow<'static, str>;

/// An attribute's value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttributeValue {
    /// On or off.
    Flag(bool),
    /// A text.
    Text(Box<str>),
    /// Several texts; their order means nothing.
    List(Box<[Box<str>]>),
}

/// The attributes of a record or a set, sorted by name.
///
/// A missing name is off or empty. In an intent it leaves the matter to the zone, which a flag that is off does not.
/// Without attributes nothing is allocated, and a clone shares what is there: a zone may have a million records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Attributes(Option<Arc<[(AttributeName, AttributeValue)]>>);

/// Which attributes a provider has.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// Those with a meaning of their own.
    pub attributes: Vec<Attribute>,
    /// What becomes of all other names.
    pub others: Others,
}

/// One attribute that a provider has.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Its name.
    pub name: AttributeName,
    /// Its value where none is asked for; every other value is of the same kind.
    pub default: AttributeValue,
    /// The record types that can have it.
    pub types: Types,
    /// What becomes of it on records of other types.
    pub elsewhere: Elsewhere,
    /// Who sets the TTL of a record that has it.
    pub ttl: TtlRule,
    /// Whether a record with another value can be adopted as identical.
    pub adoption: Comparison,
}

/// What becomes of attributes that the schema does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    /// The provider does not have them.
    #[default]
    Dropped,
    /// The provider keeps them as they are, on records of every type.
    Kept,
}

/// What becomes of an attribute on a record type that can't have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elsewhere {
    /// It is left out.
    Dropped,
    /// Who asks for it on purpose is told so; it follows the type in the message: `TXT records <why>`.
    Refused(&'static str),
}

/// Who sets the TTL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TtlRule {
    /// The record has its own.
    Own,
    /// The provider, as long as the attribute is set.
    Automatic,
}

/// Whether two values must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// They must be.
    Compared,
    /// They need not be.
    Ignored,
}

// === impl AttributeValue ===

impl AttributeValue {
    /// Whether it says no more than a missing attribute: off, or empty.
    pub fn is_unset(&self) -> bool {
        match self {
            Self::Flag(is_on) => !is_on,
            Self::Text(text) => text.is_empty(),
            Self::List(texts) => texts.is_empty(),
        }
    }

    /// What a missing attribute of this kind means.
    fn unset(&self) -> Self {
        match self {
            Self::Flag(_) => Self::Flag(false),
            Self::Text(_) => Self::Text("".into()),
            Self::List(_) => Self::List(Box::default()),
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        mem::discriminant(self) == mem::discriminant(other)
    }

    fn sorted(&self) -> Self {
        match self {
            Self::Flag(_) | Self::Text(_) => self.clone(),
            Self::List(texts) => {
                let mut texts = texts.clone();
                texts.sort();
                Self::List(texts)
            }
        }
    }
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(is_on) => write!(formatter, "{is_on}"),
            Self::Text(text) => formatter.write_str(text),
            Self::List(texts) => formatter.write_str(&texts.join(",")),
        }
    }
}

impl From<bool> for AttributeValue {
    fn from(is_on: bool) -> Self {
        Self::Flag(is_on)
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl<T: Into<Box<str>>> FromIterator<T> for AttributeValue {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        Self::List(texts.into_iter().map(Into::into).collect())
    }
}

// === impl Attributes ===

impl Attributes {
    /// One attribute.
    pub fn of(name: impl Into<AttributeName>, value: impl Into<AttributeValue>) -> Self {
        Self::from_iter([(name.into(), value.into())])
    }

    /// The same with one more, or with another value of it.
    pub fn with(&self, name: impl Into<AttributeName>, value: impl Into<AttributeValue>) -> Self {
        Self::of(name, value).or(self)
    }

    /// The same, and what only `defaults` has.
    pub fn or(&self, defaults: &Self) -> Self {
        match (self.is_empty(), defaults.is_empty()) {
            (_, true) => self.clone(),
            (true, false) => defaults.clone(),
            (false, false) => {
                let missing = defaults.entries().iter().filter(|(name, _)| self.get(name).is_none());
                self.entries().iter().chain(missing).cloned().collect()
            }
        }
    }

    /// The value of an attribute, where it has one.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.entries().iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    /// Whether a flag is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some(&AttributeValue::Flag(true))
    }

    /// The texts of a list.
    pub fn list(&self, name: &str) -> &[Box<str>] {
        match self.get(name) {
            Some(AttributeValue::List(texts)) => texts,
            Some(AttributeValue::Flag(_) | AttributeValue::Text(_)) | None => &[],
        }
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttributeValue)> {
        self.entries().iter().map(|(name, value)| (&**name, value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The attributes in which two records differ, each as it is here and as it is there, by name.
    pub fn differences<'a>(&'a self, other: &'a Self) -> Vec<(&'a str, AttributeValue, AttributeValue)> {
        if self == other {
            return Vec::new();
        }
        let mut names: Vec<&str> = self.iter().chain(other.iter()).map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        let differing = names.into_iter().filter_map(|name| {
            let (one, two) = match (self.get(name), other.get(name)) {
                (Some(one), Some(two)) => (one.clone(), two.clone()),
                (Some(one), None) => (one.clone(), one.unset()),
                (None, Some(two)) => (two.unset(), two.clone()),
                (None, None) => return None,
            };
            (one != two).then_some((name, one, two))
        });
        differing.collect()
    }

    fn entries(&self) -> &[(AttributeName, AttributeValue)] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl FromIterator<(AttributeName, AttributeValue)> for Attributes {
    /// Of several values for one name the first counts.
    fn from_iter<I: IntoIterator<Item = (AttributeName, AttributeValue)>>(entries: I) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        entries.dedup_by(|(later, _), (earlier, _)| later == earlier);
        Self((!entries.is_empty()).then(|| entries.into()))
    }
}

// === impl Schema ===

impl Schema {
    /// What the provider will show of a record for which this is asked, in one form for one meaning.
    pub fn normalise(&self, rtype: RecordType, wanted: &Attributes) -> Attributes {
        let named = self.attributes.iter().filter(|attribute| attribute.types.contain(rtype));
        let named = named.map(|attribute| (attribute.name.clone(), attribute.value_in(wanted)));
        let others = wanted.entries().iter().filter(|(name, _)| {
            self.others == Others::Kept && !self.attributes.iter().any(|attribute| attribute.name == *name)
        });
        let all = named.chain(others.map(|(name, value)| (name.clone(), value)));
        all.filter(|(_, value)| !value.is_unset()).map(|(name, value)| (name, value.sorted())).collect()
    }

    /// Why these attributes can't be asked for on records of this type, where that is not to be passed over.
    pub fn refusal(&self, rtype: RecordType, wanted: &Attributes) -> Option<&'static str> {
        let set = self.attributes.iter().filter(|attribute| attribute.is_set_in(wanted));
        set.filter(|attribute| !attribute.types.contain(rtype)).find_map(|attribute| {
            match attribute.elsewhere {
                Elsewhere::Refused(why) => Some(why),
                Elsewhere::Dropped => None,
            }
        })
    }

    /// Whether the provider sets the TTL of a record with these attributes.
    pub fn sets_ttl(&self, attributes: &Attributes) -> bool {
        !attributes.is_empty()
            && self.attributes.iter().any(|it| it.ttl == TtlRule::Automatic && it.is_set_in(attributes))
    }

    /// The first attribute that keeps a record from being adopted as identical, and its live value.
    pub fn first_difference(&self, live: &Attributes, wanted: &Attributes) -> Option<(&str, AttributeValue)> {
        let compared = self.attributes.iter().filter(|it| it.adoption == Comparison::Compared);
        compared
            .map(|it| (it, live.get(&it.name), wanted.get(&it.name)))
            .find(|(_, live, wanted)| live != wanted)
            .map(|(it, live, _)| (&*it.name, live.cloned().unwrap_or_else(|| it.default.unset())))
    }
}

// === impl Attribute ===

impl Attribute {
    /// A flag that is off unless asked for and can be set on records of these types.
    pub fn flag(name: &'static str, types: Types) -> Self {
        Self::new(name, false.into(), types)
    }

    /// A list that is empty unless asked for and can be set on records of every type.
    pub fn list(name: &'static str) -> Self {
        Self::new(name, AttributeValue::List(Box::default()), Types::Every)
    }

    fn new(name: &'static str, default: AttributeValue, types: Types) -> Self {
        Self {
            name: name.into(),
            default,
            types,
            elsewhere: Elsewhere::Dropped,
            ttl: TtlRule::Own,
            adoption: Comparison::Ignored,
        }
    }

    fn value_in<'a>(&'a self, wanted: &'a Attributes) -> &'a AttributeValue {
        wanted.get(&self.name).filter(|value| value.is_like(&self.default)).unwrap_or(&self.default)
    }

    fn is_set_in(&self, attributes: &Attributes) -> bool {
        attributes.get(&self.name).is_some_and(|value| !value.is_unset())
    }
}
