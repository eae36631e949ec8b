//! Records that are valid and will probably not do what was meant: for a warning, never a refusal.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{
    name::Name,
    rdata::{Rdata, RecordType},
};

/// Receivers stop after this many look-ups (RFC 7208 section 4.6.4).
const MAX_SPF_LOOKUPS: usize = 10;

/// The values of a zone, by name and type.
pub type Sets = BTreeMap<Name, BTreeMap<RecordType, Vec<Rdata>>>;

/// What is probably wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lint {
    /// A CNAME that leads back to itself.
    AliasLoop,
    /// A target in the zone without records.
    DanglingTarget,
    /// Several SPF records at a name.
    SeveralSpf,
    /// An SPF record with more look-ups than receivers make.
    SpfLookups,
    /// A host that must not be an alias, and is one.
    TargetIsAlias,
    /// A name that a wildcard does not answer for, because it has other records.
    WildcardShadowed,
}

/// One of these, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The name.
    pub name: Name,
    /// The type.
    pub rtype: RecordType,
    /// What.
    pub lint: Lint,
    /// What happens, and what to do.
    pub message: String,
}

/// Everything that is probably wrong in a zone, in the order of its names.
///
/// Assumes: `sets` is all that the zone will hold; a target that another installation keeps there is not dangling.
pub fn lint(domain: &Name, sets: &Sets) -> Vec<Finding> {
    let above = |name: &Name| {
        std::iter::successors(name.parent(), Name::parent).take_while(|it| it.is_within(domain))
    };
    let zone = Zone { domain, sets, enclosers: sets.keys().flat_map(above).collect() };
    let mut findings: Vec<Finding> = sets
        .iter()
        .flat_map(|(name, types)| types.iter().flat_map(|(rtype, values)| zone.set(name, *rtype, values)))
        .chain(sets.iter().flat_map(|(name, types)| zone.shadowed(name, types)))
        .collect();
    findings.sort();
    findings.dedup();
    findings
}

struct Zone<'a> {
    domain: &'a Name,
    sets: &'a Sets,
    /// Names above others: they exist, with records or without.
    enclosers: BTreeSet<Name>,
}

// === impl Zone ===

impl Zone<'_> {
    fn set(&self, name: &Name, rtype: RecordType, values: &[Rdata]) -> Vec<Finding> {
        let at = |(lint, message)| Finding { name: name.clone(), rtype, lint, message };
        let found = match rtype {
            RecordType::TXT => self.spf(name, values),
            RecordType::CNAME => values
                .iter()
                .filter_map(|value| self.alias_loop(name, value).or_else(|| self.dangling(value)))
                .collect(),
            _other => {
                values.iter().filter_map(|value| self.alias(value).or_else(|| self.dangling(value))).collect()
            }
        };
        found.into_iter().map(at).collect()
    }

    /// MX, NS and SRV name a host, which must not be an alias (RFC 2181 section 10.3, RFC 2782).
    fn alias(&self, value: &Rdata) -> Option<(Lint, String)> {
        let needs_host = matches!(value.rtype(), RecordType::MX | RecordType::NS | RecordType::SRV);
        let target = value.target().filter(|_| needs_host)?;
        let is_alias = self.types(&target)?.contains_key(&RecordType::CNAME);
        let message = || format!("its target {target} is a CNAME; name the host that has the addresses");
        is_alias.then(|| (Lint::TargetIsAlias, message()))
    }

    fn dangling(&self, value: &Rdata) -> Option<(Lint, String)> {
        let target = value.target().filter(|target| !target.is_root() && target.is_within(self.domain))?;
        let is_there = self.types(&target).is_some() || target == *self.domain || self.is_delegated(&target);
        let message =
            || format!("its target {target} has no records in the zone; add them, or correct the target");
        (!is_there).then(|| (Lint::DanglingTarget, message()))
    }

    fn alias_loop(&self, name: &Name, value: &Rdata) -> Option<(Lint, String)> {
        let mut seen = BTreeSet::from([name.clone()]);
        let mut target = value.target()?;
        while seen.insert(target.clone()) {
            target = self.types(&target)?.get(&RecordType::CNAME)?.first()?.target()?;
        }
        let message = || format!("the aliases from here lead back to {name}; no resolver follows them");
        (target == *name).then(|| (Lint::AliasLoop, message()))
    }

    fn spf(&self, name: &Name, values: &[Rdata]) -> Vec<(Lint, String)> {
        let policies = policies(values);
        let mut found = Vec::new();
        if policies.len() > 1 {
            let message = format!(
                "{} SPF records at one name; receivers take none of them: merge them",
                policies.len()
            );
            found.push((Lint::SeveralSpf, message));
        }
        for policy in &policies {
            let lookups = self.lookups(policy, &mut BTreeSet::from([name.clone()]));
            if lookups > MAX_SPF_LOOKUPS {
                let message = format!(
                    "the SPF record needs at least {lookups} DNS look-ups, and receivers stop after {MAX_SPF_LOOKUPS}: \
                     remove includes, or replace them by addresses"
                );
                found.push((Lint::SpfLookups, message));
            }
        }
        found
    }

    /// How many look-ups a policy takes, as far as the zone itself knows what it includes.
    fn lookups(&self, policy: &str, seen: &mut BTreeSet<Name>) -> usize {
        let terms = policy.split_ascii_whitespace().skip(1);
        terms
            .map(|term| match Lookup::of(term) {
                None => 0,
                Some(Lookup::Addresses) => 1,
                Some(Lookup::Policy(domain)) => {
                    let included = Name::parse(domain).ok().filter(|name| seen.insert(name.clone()));
                    let texts = included.and_then(|name| self.types(&name)?.get(&RecordType::TXT));
                    let inner = texts.and_then(|texts| policies(texts).into_iter().next());
                    1 + inner.map_or(0, |inner| self.lookups(&inner, seen))
                }
            })
            .sum()
    }

    /// A host that has records, but not of the types that the next wildcard above it has (RFC 4592).
    fn shadowed(&self, name: &Name, types: &BTreeMap<RecordType, Vec<Rdata>>) -> Vec<Finding> {
        // Names that begin with an underscore are no hosts.
        let is_host = !name.is_wildcard() && !name.labels().any(|label| label.starts_with('_'));
        if !is_host || name == self.domain || types.keys().copied().any(is_address) || self.is_delegated(name)
        {
            return Vec::new();
        }
        let mut above =
            std::iter::successors(name.parent(), Name::parent).take_while(|it| it.is_within(self.domain));
        let wildcard = above.find_map(|parent| {
            let wildcard = Name::parse_under("*", &parent).ok()?;
            self.sets.get_key_value(&wildcard)
        });
        let Some((wildcard, offered)) = wildcard else { return Vec::new() };
        let own: Vec<String> = types.keys().map(ToString::to_string).collect();
        let finding = |rtype: &RecordType| {
            let message = format!(
                "{wildcard} {rtype} does not answer for it, because it has records of its own ({}); add the {rtype} there, too",
                own.join(", ")
            );
            Finding { name: name.clone(), rtype: *rtype, lint: Lint::WildcardShadowed, message }
        };
        offered.keys().filter(|rtype| is_address(**rtype)).map(finding).collect()
    }

    /// What answers for a name: its own sets, else those of the wildcard at its closest encloser.
    fn types(&self, name: &Name) -> Option<&BTreeMap<RecordType, Vec<Rdata>>> {
        if self.exists(name) {
            return self.sets.get(name);
        }
        let encloser =
            std::iter::successors(name.parent(), Name::parent).find(|parent| self.exists(parent))?;
        self.sets.get(&Name::parse_under("*", &encloser).ok()?)
    }

    /// Whether a name has records, or a name below it.
    fn exists(&self, name: &Name) -> bool {
        name == self.domain || self.enclosers.contains(name) || self.sets.contains_key(name)
    }

    /// Whether a name is another zone's.
    fn is_delegated(&self, name: &Name) -> bool {
        let above = std::iter::successors(Some(name.clone()), Name::parent);
        let mut above = above.take_while(|parent| parent != self.domain && parent.is_within(self.domain));
        above.any(|parent| self.sets.get(&parent).is_some_and(|types| types.contains_key(&RecordType::NS)))
    }
}

/// A term of an SPF record that costs a look-up.
enum Lookup<'a> {
    /// For addresses: a, mx, ptr, exists.
    Addresses,
    /// For the policy of this domain: include, redirect.
    Policy(&'a str),
}

// === impl Lookup ===

impl<'a> Lookup<'a> {
    fn of(term: &'a str) -> Option<Self> {
        let term = term.trim_start_matches(['+', '-', '~', '?']);
        let word = term.split([':', '/', '=']).next().unwrap_or_default().to_ascii_lowercase();
        let argument = term.split_once([':', '=']).map_or("", |(_, argument)| argument);
        match word.as_str() {
            "a" | "mx" | "ptr" | "exists" => Some(Self::Addresses),
            "include" | "redirect" => Some(Self::Policy(argument)),
            _other => None,
        }
    }
}

// === impl Lint ===

impl Lint {
    /// The fixed word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AliasLoop => "AliasLoop",
            Self::DanglingTarget => "DanglingTarget",
            Self::SeveralSpf => "SeveralSpf",
            Self::SpfLookups => "SpfLookups",
            Self::TargetIsAlias => "TargetIsAlias",
            Self::WildcardShadowed => "WildcardShadowed",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}: {}: {}", self.name, self.rtype, self.lint.as_str(), self.message)
    }
}

fn is_address(rtype: RecordType) -> bool {
    matches!(rtype, RecordType::A | RecordType::AAAA | RecordType::CNAME)
}

/// The SPF records among texts (RFC 7208 section 4.5).
fn policies(texts: &[Rdata]) -> Vec<String> {
    let texts = texts.iter().map(text);
    texts
        .filter(|text| {
            text.split_ascii_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("v=spf1"))
        })
        .collect()
}

/// The character-strings of a TXT record as one text.
fn text(value: &Rdata) -> String {
    let (mut bytes, mut rest) = (Vec::new(), value.wire());
    while let Some((length, tail)) = rest.split_first() {
        let (string, tail) = tail.split_at(tail.len().min(usize::from(*length)));
        bytes.extend_from_slice(string);
        rest = tail;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(records: &[(&str, &str, &str)]) -> Vec<(String, &'static str)> {
        let domain = Name::parse("example.com").unwrap();
        let mut sets = Sets::new();
        for (name, rtype, value) in records {
            let name = Name::parse_under(name, &domain).unwrap();
            let rdata = Rdata::parse(rtype.parse().unwrap(), value).unwrap();
            sets.entry(name).or_default().entry(rdata.rtype()).or_default().push(rdata);
        }
        let findings = lint(&domain, &sets).into_iter();
        findings
            .map(|it| (format!("{} {}", it.name.relative_to(&domain), it.rtype), it.lint.as_str()))
            .collect()
    }

    fn one(place: &str, lint: &'static str) -> Vec<(String, &'static str)> {
        vec![(place.to_owned(), lint)]
    }

    #[test]
    fn a_sound_zone_has_no_findings() {
        let records = [
            ("@", "MX", "10 mail.example.com"),
            ("@", "TXT", "v=spf1 mx include:_spf.example.net -all"),
            ("@", "NS", "ns.example.net"),
            ("mail", "A", "192.0.2.1"),
            ("www", "CNAME", "mail.example.com"),
            ("*", "A", "192.0.2.2"),
            ("any", "CNAME", "whatever.example.com"),
            ("_acme-challenge", "TXT", "token"),
            ("sub", "NS", "ns.sub.example.com"),
            ("far", "CNAME", "host.sub.example.com"),
            ("_sip._tcp", "SRV", "10 5 0 ."),
            ("svc", "HTTPS", "1 . alpn=h2"),
            ("svc", "A", "192.0.2.3"),
        ];
        assert_eq!(found(&records), []);
    }

    #[test]
    fn mail_and_name_servers_must_not_be_aliases() {
        for (name, rtype, value) in [
            ("@", "MX", "10 mail.example.com"),
            ("sub", "NS", "mail.example.com"),
            ("_sip._tcp", "SRV", "1 1 5060 mail.example.com"),
        ] {
            let records = [(name, rtype, value), ("mail", "CNAME", "mail.example.net")];
            assert_eq!(found(&records), one(&format!("{name} {rtype}"), "TargetIsAlias"));
        }
        let by_wildcard = [("@", "MX", "10 mail.example.com"), ("*", "CNAME", "web.example.net")];
        assert_eq!(found(&by_wildcard), one("@ MX", "TargetIsAlias"));
    }

    #[test]
    fn a_target_without_records_dangles() {
        assert_eq!(found(&[("www", "CNAME", "web.example.com")]), one("www CNAME", "DanglingTarget"));
        assert_eq!(found(&[("@", "MX", "10 mail.example.com")]), one("@ MX", "DanglingTarget"));
        assert_eq!(found(&[("www", "CNAME", "web.example.net"), ("@", "MX", "0 .")]), []);
        // A name that exists only because of one below it is not answered by the wildcard either.
        let hidden =
            [("*", "A", "192.0.2.1"), ("a.web", "A", "192.0.2.1"), ("www", "CNAME", "web.example.com")];
        assert_eq!(found(&hidden), one("www CNAME", "DanglingTarget"));
    }

    #[test]
    fn aliases_in_a_circle_are_found_wherever_they_begin() {
        let circle = [
            ("a", "CNAME", "b.example.com"),
            ("b", "CNAME", "a.example.com"),
            ("c", "CNAME", "a.example.com"),
        ];
        let both = [("a CNAME".to_owned(), "AliasLoop"), ("b CNAME".to_owned(), "AliasLoop")];
        assert_eq!(found(&circle), both);
        assert_eq!(found(&[("a", "CNAME", "a.example.com")]), one("a CNAME", "AliasLoop"));
    }

    #[test]
    fn one_name_has_one_spf_record() {
        let two = [
            ("@", "TXT", "v=spf1 -all"),
            ("@", "TXT", "V=SPF1 mx -all"),
            ("@", "TXT", "v=spf10 is another text"),
        ];
        assert_eq!(found(&two), one("@ TXT", "SeveralSpf"));
    }

    #[test]
    fn spf_look_ups_are_counted_through_includes_of_the_zone() {
        let includes = |count: usize| {
            let terms: Vec<String> = (0..count).map(|n| format!("include:p{n}.example.net")).collect();
            format!("v=spf1 ip4:192.0.2.0/24 {} ~all", terms.join(" "))
        };
        let (ten, eleven) = (includes(10), includes(11));
        assert_eq!(found(&[("@", "TXT", &ten)]), []);
        assert_eq!(found(&[("@", "TXT", &eleven)]), one("@ TXT", "SpfLookups"));
        let nested =
            [("@", "TXT", "v=spf1 a mx redirect=_spf.example.com"), ("_spf", "TXT", includes(8).leak())];
        assert_eq!(found(&nested), one("@ TXT", "SpfLookups"));
        let circle = [
            ("@", "TXT", "v=spf1 include:example.com include:_spf.example.com"),
            ("_spf", "TXT", "v=spf1 include:example.com"),
        ];
        assert_eq!(found(&circle), []);
    }

    #[test]
    fn a_record_hides_the_wildcard_above_it() {
        let records = [
            ("*", "A", "192.0.2.1"),
            ("www", "TXT", "verified"),
            ("api", "A", "192.0.2.2"),
            ("_x", "TXT", "y"),
        ];
        assert_eq!(found(&records), one("www A", "WildcardShadowed"));
    }
}
