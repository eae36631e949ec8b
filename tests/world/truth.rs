//! Who asks for what, and since when: what the oracle knows because the actors did it.

use std::collections::{BTreeMap, BTreeSet};

use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
};

use crate::clock::Millis;

/// What an actor did reaches everything within this time, faults included: what was so for longer must be known.
pub const LAG: Millis = 60_000;

/// A record that was read this long ago may still be changed (design.md: "read more than 5 s ago"), and the request
/// may be under way for a while.
pub const RACE: Millis = 15_000;

/// One set that an object asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub name: Name,
    pub rtype: RecordType,
    /// None where they are not known, such as those of a Service without an address.
    pub values: Option<BTreeSet<Rdata>>,
    pub adoption: Adoption,
    pub ttl: u32,
    /// Whether the record stays when the object is deleted.
    pub is_retained: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Adoption {
    Never,
    Identical,
    Force,
}

/// Why an object asks for something no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Deleted,
    /// It asks for something else itself.
    Edited,
    /// It can't ask any more, or is not known to: no evidence (law 5).
    NoEvidence,
}

/// Something that an object asked for during a time.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `kind/namespace/name`.
    pub object: String,
    pub namespace: String,
    pub ask: Ask,
    pub from: Millis,
    pub end: Option<(Millis, End)>,
}

/// Who may ask a zone for what, during a time.
#[derive(Debug, Clone)]
pub struct Rules {
    pub from: Millis,
    pub domain: Name,
    /// The namespace of the DNSZone, which may ask for all.
    pub home: String,
    pub grant: Grant,
    /// Whether the zone is worked on: it is there, not suspended, and writes.
    pub is_active: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    None,
    /// All namespaces, all names.
    All,
    /// All namespaces, names below `team.`.
    Team,
}

/// All that was asked for, and all rules.
#[derive(Debug, Default)]
pub struct Truth {
    pub asked: Vec<Asked>,
    /// By DNSZone, oldest first.
    pub rules: BTreeMap<String, Vec<Rules>>,
    /// Domains whose DNSZone was deleted, and when.
    pub zones_deleted: Vec<(Name, Millis)>,
}

// === impl Asked ===

impl Asked {
    /// Whether it was asked for at any time since.
    pub fn reaches(&self, since: Millis) -> bool {
        self.end.is_none_or(|(at, _)| at >= since)
    }

    pub fn asks_for(&self, name: &Name, rdata: &Rdata) -> bool {
        self.ask.name == *name && self.ask.values.as_ref().is_some_and(|values| values.contains(rdata))
    }
}

// === impl Grant ===

impl Grant {
    fn allows(self, name: &Name, domain: &Name) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Team => name.as_str().ends_with(&format!(".team.{}", domain.as_str())),
        }
    }
}

// === impl Truth ===

impl Truth {
    /// From now on an object asks for this, and for nothing else.
    pub fn ask(&mut self, object: &str, namespace: &str, asks: Vec<Ask>, now: Millis, end: End) {
        let mut asks = asks;
        for asked in self.asked.iter_mut().filter(|asked| asked.object == object && asked.end.is_none()) {
            match asks.iter().position(|ask| *ask == asked.ask) {
                Some(at) => drop(asks.remove(at)),
                None => asked.end = Some((now, end)),
            }
        }
        let asked = asks.into_iter().map(|ask| Asked {
            object: object.to_owned(),
            namespace: namespace.to_owned(),
            ask,
            from: now,
            end: None,
        });
        self.asked.extend(asked);
    }

    /// What is asked for now.
    pub fn open(&self) -> impl Iterator<Item = &Asked> {
        self.asked.iter().filter(|asked| asked.end.is_none())
    }

    /// Since when an object has asked for something at a name, without a gap; none where it does not now.
    pub fn at_name_since(&self, object: &str, name: &Name) -> Option<Millis> {
        let mut spans: Vec<(Millis, Option<Millis>)> = self
            .asked
            .iter()
            .filter(|asked| asked.object == object && asked.ask.name == *name)
            .map(|asked| (asked.from, asked.end.map(|(at, _)| at)))
            .collect();
        spans.sort();
        let mut since: Option<(Millis, Option<Millis>)> = None;
        for (from, until) in spans {
            since = match since {
                Some((first, Some(before))) if before == from => Some((first, until)),
                Some((first, None)) => Some((first, None)),
                _gap => Some((from, until)),
            };
        }
        since.and_then(|(first, until)| until.is_none().then_some(first))
    }

    /// The one object that asked for a name lately, and since when it has done so; none where there were several.
    pub fn sole(&self, name: &Name, now: Millis) -> Option<(&Asked, Millis)> {
        let since = now.saturating_sub(LAG);
        let mut asked = self.asked.iter().filter(|asked| asked.ask.name == *name && asked.reaches(since));
        let first = asked.next()?;
        if asked.any(|other| other.object != first.object) {
            return None;
        }
        let at = self.at_name_since(&first.object, name)?;
        let open = self.open().find(|asked| asked.object == first.object && asked.ask.name == *name)?;
        Some((open, at))
    }

    /// Whether a namespace may ask a zone for a name under every set of rules of a time, or under any of them.
    pub fn may(&self, zone: &str, asked: &Asked, since: Millis, all: Quantifier) -> bool {
        let Some(rules) = self.rules.get(zone) else { return false };
        let last = rules.iter().rposition(|rules| rules.from <= since).unwrap_or(0);
        let allows = |rules: &Rules| {
            asked.namespace == rules.home || rules.grant.allows(&asked.ask.name, &rules.domain)
        };
        match all {
            Quantifier::Always => {
                rules[last].from <= since
                    && rules[last..].iter().all(|rules| rules.is_active && allows(rules))
            }
            Quantifier::Once => rules[last..].iter().any(allows),
        }
    }

    /// The DNSZones that a name may lie in.
    pub fn zones_of<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a str> {
        let is_its = move |rules: &Vec<Rules>| rules.iter().any(|rules| name.is_within(&rules.domain));
        self.rules.iter().filter(move |(_, rules)| is_its(rules)).map(|(zone, _)| zone.as_str())
    }
}

/// Over which rules of a time something must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    Always,
    Once,
}
