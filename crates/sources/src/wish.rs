//! What an object wishes, before it is one set per name and type.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
    reason::Reason,
};

use crate::{Unknown, settings::Settings};

/// A name, and what it should resolve to.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    /// The name as it is written.
    pub host: String,
    /// Where it is written.
    pub field: String,
    /// What it should resolve to.
    pub wanted: Wanted,
    /// What the sets get besides.
    pub settings: Settings,
}

/// What a name should resolve to.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// Addresses or another name, each in a set of its type.
    Targets(Targets),
    /// One set of this type.
    Set(RecordType, Result<Vec<Rdata>, Unknown>),
}

/// Addresses and names, or why they are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Targets {
    /// These; not empty.
    Known(BTreeSet<String>),
    /// The live record stays, because of this.
    Unknown(Unknown),
}

/// One set as it will be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Set {
    pub values: Result<Vec<Rdata>, Unknown>,
    pub settings: Settings,
}

/// Sets by name and type.
pub(crate) type Sets = BTreeMap<(Name, RecordType), Set>;

/// What is wrong with a wish, and where it is written.
pub(crate) type Fault = (String, String);

// === impl Targets ===

impl Targets {
    /// These targets; where there are none, `why` they are not known.
    pub fn of(targets: impl IntoIterator<Item = String>, why: impl FnOnce() -> String) -> Self {
        let targets: BTreeSet<String> = targets.into_iter().filter(|target| !target.is_empty()).collect();
        if targets.is_empty() { Self::unknown(why()) } else { Self::Known(targets) }
    }

    /// Targets that are not known at the moment.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown((Reason::TargetsUnknown, why.into()))
    }

    /// Both; as long as one part is not known, it is not known which live values are too many.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Known(mut one), Self::Known(other)) => {
                one.extend(other);
                Self::Known(one)
            }
            (Self::Unknown(one), Self::Unknown(other)) => Self::Unknown(one.min(other)),
            (Self::Unknown(why), Self::Known(_)) | (Self::Known(_), Self::Unknown(why)) => Self::Unknown(why),
        }
    }
}

/// Makes one set per name and type of all wishes.
///
/// Guarantees: the order of the wishes does not matter.
pub(crate) fn sets(mut wishes: Vec<Wish>) -> (Sets, Vec<Fault>) {
    let (mut sets, mut faults) = (Sets::new(), Vec::new());
    wishes.sort_by(|one, other| (&one.settings, &one.host).cmp(&(&other.settings, &other.host)));
    for wish in wishes {
        let name = match Name::parse(&wish.host) {
            Ok(name) => name,
            Err(error) => {
                faults.push((wish.field, error.to_string()));
                continue;
            }
        };
        for (rtype, values) in by_type(wish.wanted) {
            let set = Set { values, settings: wish.settings.clone() };
            match sets.get_mut(&(name.clone(), rtype)) {
                None => drop(sets.insert((name.clone(), rtype), set)),
                Some(first) if first.settings == set.settings => first.join(set),
                Some(first) => {
                    let message = format!("{name} {rtype} is asked for twice with different settings");
                    first.values = Err((Reason::InvalidValue, message.clone()));
                    faults.push((wish.field.clone(), message));
                }
            }
        }
    }
    prefer_addresses(&mut sets);
    faults.sort();
    faults.dedup();
    (sets, faults)
}

// === impl Set ===

impl Set {
    fn join(&mut self, other: Self) {
        match (&mut self.values, other.values) {
            (Ok(values), Ok(more)) => {
                values.extend(more);
                values.sort();
                values.dedup();
            }
            (Err(one), Err(other)) => *one = one.clone().min(other),
            (values, Err(why)) => *values = Err(why),
            (Err(_), Ok(_)) => {}
        }
    }
}

/// The sets that a wish means; an unknown type is asked for as A.
fn by_type(wanted: Wanted) -> BTreeMap<RecordType, Result<Vec<Rdata>, Unknown>> {
    let targets = match wanted {
        Wanted::Set(rtype, values) => return BTreeMap::from([(rtype, values)]),
        Wanted::Targets(Targets::Unknown(why)) => return BTreeMap::from([(RecordType::A, Err(why))]),
        Wanted::Targets(Targets::Known(targets)) => targets,
    };
    let mut by_type: BTreeMap<RecordType, Vec<Rdata>> = BTreeMap::new();
    for target in &targets {
        let rtype = suitable_type(target);
        match Rdata::parse(rtype, target) {
            Ok(rdata) => by_type.entry(rtype).or_default().push(rdata),
            Err(error) => {
                let message = format!("{error}; write addresses or names, separated by commas");
                return BTreeMap::from([(RecordType::A, Err((Reason::InvalidValue, message)))]);
            }
        }
    }
    let sorted = |mut values: Vec<Rdata>| {
        values.sort();
        values.dedup();
        values
    };
    by_type.into_iter().map(|(rtype, values)| (rtype, Ok(sorted(values)))).collect()
}

/// A for IPv4, AAAA for IPv6, CNAME for a name.
pub(crate) fn suitable_type(target: &str) -> RecordType {
    match target.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => RecordType::A,
        Ok(IpAddr::V6(_)) => RecordType::AAAA,
        Err(_) => RecordType::CNAME,
    }
}

/// A CNAME stands alone: beside addresses it gives way, and of several names the first stays.
fn prefer_addresses(sets: &mut Sets) {
    let aliases: Vec<Name> =
        sets.keys().filter(|(_, rtype)| *rtype == RecordType::CNAME).map(|(name, _)| name.clone()).collect();
    for name in aliases {
        let has_addresses = [RecordType::A, RecordType::AAAA]
            .into_iter()
            .any(|rtype| sets.get(&(name.clone(), rtype)).is_some());
        let key = (name, RecordType::CNAME);
        if has_addresses {
            sets.remove(&key);
        } else if let Some(Ok(values)) = sets.get_mut(&key).map(|set| set.values.as_mut()) {
            values.truncate(1);
        }
    }
}
