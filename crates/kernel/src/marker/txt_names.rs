//! Where ExternalDNS's TXT markers lie: its affixed names, both ways, and ours at the apex.

use crate::{
    name::{Name, NameError},
    rdata::RecordType,
};

const TYPE_PLACEHOLDER: &str = "%{record_type}";

/// ExternalDNS's `--txt-prefix`, `--txt-suffix` and `--txt-wildcard-replacement`, lower-case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TxtNames {
    prefix: String,
    suffix: String,
    wildcard: String,
}

/// Why the affixes can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AffixError {
    /// ExternalDNS refuses this combination too.
    #[error("registry.txt.prefix and registry.txt.suffix exclude each other; keep one")]
    PrefixAndSuffix,
    /// The affix can't be part of a name.
    #[error("registry.txt: {affix:?} does not make a valid marker name")]
    NotAName {
        /// The affix as configured.
        affix: String,
        /// Why.
        source: NameError,
    },
}

// === impl TxtNames ===

impl TxtNames {
    /// Affixes as configured.
    pub fn new(prefix: &str, suffix: &str, wildcard: &str) -> Result<Self, AffixError> {
        if !prefix.is_empty() && !suffix.is_empty() {
            return Err(AffixError::PrefixAndSuffix);
        }
        let names = Self {
            prefix: prefix.to_lowercase(),
            suffix: suffix.to_lowercase(),
            wildcard: wildcard.to_lowercase(),
        };
        let probe = names.affixed("a", "*", "example.com");
        let affix = if prefix.is_empty() { suffix } else { prefix };
        Name::parse(&probe).map_err(|source| AffixError::NotAName { affix: affix.into(), source })?;
        Ok(names)
    }

    /// Whether a set's marker has a place of its own, from which the way back leads to this very set.
    ///
    /// It has none where the name is too long for another below it, and where affixes or the replacement of
    /// `*` make two sets share a marker's name.
    pub fn has_place(&self, data: &Name, rtype: RecordType, domain: &Name) -> bool {
        let marker = self.marker_of(data, rtype, domain);
        self.data_of(&marker, domain).is_some_and(|(name, claimed)| name == *data && claimed == rtype)
    }

    /// The marker's name for one set; the data's own where there is no room for another.
    ///
    /// Guarantees: it lies inside `domain`. ExternalDNS's own name for a zone's apex would not, unless a prefix ends in
    /// a dot.
    pub fn marker_of(&self, data: &Name, rtype: RecordType, domain: &Name) -> Name {
        let typed = type_label(rtype);
        let apex = || Name::parse(&format!("_zk-{typed}.{domain}"));
        let (first, rest) = split(data);
        match Name::parse(&self.affixed(&typed, first, rest)) {
            Ok(name) if name.is_within(domain) && name != *domain => name,
            // A label that grew over 63 octets falls back to a name below the data's own, never outside.
            Ok(_) | Err(_) if data == domain => apex().unwrap_or_else(|_| domain.clone()),
            Ok(_) | Err(_) => Name::parse(&format!("_zk-{typed}.{data}")).unwrap_or_else(|_| data.clone()),
        }
    }

    /// The untyped name that ExternalDNS wrote before 0.12; none where it falls outside the zone, or stands for `*`.
    pub fn legacy_marker_of(&self, data: &Name, domain: &Name) -> Option<Name> {
        let (first, rest) = split(data);
        if !self.wildcard.is_empty() && first == self.wildcard {
            return None;
        }
        let first = self.replaced(first);
        let prefix = self.prefix.replace(TYPE_PLACEHOLDER, "");
        let suffix = self.suffix.replace(TYPE_PLACEHOLDER, "");
        let name = Name::parse(&dotted(&format!("{prefix}{first}{suffix}"), rest)).ok()?;
        name.is_within(domain).then_some(name)
    }

    /// Which set a marker's name stands for.
    ///
    /// Guarantees: `data_of(marker_of(x)) == x` for every set whose marker name is not ambiguous by
    /// wildcard replacement; and what is returned always maps forward to `marker`.
    pub fn data_of(&self, marker: &Name, domain: &Name) -> Option<(Name, RecordType)> {
        let mut candidates = self.apex_data(marker).into_iter().chain(self.affixed_data(marker));
        candidates.find(|(name, rtype)| self.marker_of(name, *rtype, domain) == *marker)
    }

    fn apex_data(&self, marker: &Name) -> Option<(Name, RecordType)> {
        let rtype = marker.first_label().strip_prefix("_zk-").and_then(type_from_label)?;
        Some((marker.parent()?, rtype))
    }

    /// What a marker's name may stand for: where a suffix begins is not clear if the data's own name has it, too.
    fn affixed_data(&self, marker: &Name) -> Vec<(Name, RecordType)> {
        let text = marker.as_str();
        let prefixed = |head: &str, tail: &str| {
            let (typed, data) = text.strip_prefix(head)?.split_once(tail_or_end(tail))?;
            let (first, rest) = data.split_once('.').unwrap_or((data, ""));
            self.candidate(typed, first, rest)
        };
        if let Some((head, tail)) = self.prefix.split_once(TYPE_PLACEHOLDER) {
            return prefixed(head, tail).into_iter().collect();
        }
        if let Some((head, tail)) = self.suffix.split_once(TYPE_PLACEHOLDER) {
            let ends = text.match_indices(tail_or_end(head));
            let suffixed = ends.filter_map(|(at, head)| {
                let after = &text[at + head.len()..];
                let typed_end = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
                let rest = after[typed_end..].strip_prefix(tail)?.strip_prefix('.')?;
                self.candidate(&after[..typed_end], &text[..at], rest)
            });
            return suffixed.collect();
        }
        let Some((typed, data)) = text.strip_prefix(&*self.prefix).and_then(|text| text.split_once('-'))
        else {
            return Vec::new();
        };
        if self.suffix.is_empty() {
            let parts = data.split_once('.');
            return parts.and_then(|(first, rest)| self.candidate(typed, first, rest)).into_iter().collect();
        }
        let ends = data.match_indices(&*self.suffix);
        let suffixed = ends.filter_map(|(at, suffix)| {
            self.candidate(typed, &data[..at], data[at + suffix.len()..].strip_prefix('.')?)
        });
        suffixed.collect()
    }

    fn candidate(&self, typed: &str, first: &str, rest: &str) -> Option<(Name, RecordType)> {
        let rtype = type_from_label(typed)?;
        let first = if !self.wildcard.is_empty() && first == self.wildcard { "*" } else { first };
        Some((Name::parse(&dotted(first, rest)).ok()?, rtype))
    }

    fn affixed(&self, typed: &str, first: &str, rest: &str) -> String {
        let first = self.replaced(first);
        let has_placeholder =
            self.prefix.contains(TYPE_PLACEHOLDER) || self.suffix.contains(TYPE_PLACEHOLDER);
        let prefix = self.prefix.replace(TYPE_PLACEHOLDER, typed);
        let suffix = self.suffix.replace(TYPE_PLACEHOLDER, typed);
        let label = if has_placeholder {
            format!("{prefix}{first}{suffix}")
        } else {
            format!("{prefix}{typed}-{first}{suffix}")
        };
        dotted(&label, rest)
    }

    fn replaced<'a>(&'a self, first: &'a str) -> &'a str {
        if first == "*" && !self.wildcard.is_empty() { &self.wildcard } else { first }
    }
}

fn split(name: &Name) -> (&str, &str) {
    let first = name.first_label();
    (first, name.as_str().get(first.len() + 1..).unwrap_or_default())
}

fn dotted(first: &str, rest: &str) -> String {
    if rest.is_empty() { first.into() } else { format!("{first}.{rest}") }
}

fn tail_or_end(tail: &str) -> &str {
    if tail.is_empty() { "-" } else { tail }
}

fn type_label(rtype: RecordType) -> String {
    rtype.to_string().to_lowercase()
}

fn type_from_label(label: &str) -> Option<RecordType> {
    label.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(prefix: &str, suffix: &str, wildcard: &str, data: &str, rtype: RecordType) -> String {
        // The parent zone, so that ExternalDNS's own names for a second-level name stay inside.
        let domain = Name::parse("com").unwrap();
        let names = TxtNames::new(prefix, suffix, wildcard).unwrap();
        let data = Name::parse(data).unwrap();
        let marker = names.marker_of(&data, rtype, &domain);
        assert_eq!(names.data_of(&marker, &domain), Some((data, rtype)), "and back from {marker}");
        marker.to_string()
    }

    /// Cases 41 to 50 of ExternalDNS's catalogue.
    #[test]
    fn names_are_those_of_externaldns_both_ways() {
        use RecordType as T;
        assert_eq!(marker("txt.", "", "", "foo.example.com", T::A), "txt.a-foo.example.com");
        assert_eq!(marker("", "", "", "foo.example.com", T::AAAA), "aaaa-foo.example.com");
        assert_eq!(marker("", "", "", "foo.example.com", T::NAPTR), "naptr-foo.example.com");
        assert_eq!(marker("foo", "", "", "example.com", T::A), "fooa-example.com");
        assert_eq!(marker("", "-foo", "", "example.com", T::CNAME), "cname-example-foo.com");
        assert_eq!(marker("", "-foo", "", "a-foo-b.example.com", T::A), "a-a-foo-b-foo.example.com");
        assert_eq!(marker("", "-%{record_type}", "", "a-www.example.com", T::A), "a-www-a.example.com");
        assert_eq!(
            marker("", ".foo.bar.test", "", "example.com", T::CNAME),
            "cname-example.foo.bar.test.com"
        );
        assert_eq!(marker("", ".foo%{record_type}.bar", "", "example.com", T::A), "example.fooa.bar.com");
        assert_eq!(marker("x-%{record_type}.", "", "", "example.com", T::MX), "x-mx.example.com");
        assert_eq!(marker("txt-", "", "wild", "*.example.com", T::A), "txt-a-wild.example.com");
        assert_eq!(marker("", "", "", "*.example.com", T::A), "a-*.example.com");
        assert_eq!(marker("TxT.", "", "", "foo.example.com", T::A), "txt.a-foo.example.com");
    }

    #[test]
    fn the_apex_marker_lies_inside_the_zone() {
        let domain = Name::parse("example.com").unwrap();
        let names = TxtNames::default();
        let marker = names.marker_of(&domain, RecordType::MX, &domain);
        assert_eq!(marker.as_str(), "_zk-mx.example.com");
        assert_eq!(names.data_of(&marker, &domain), Some((domain, RecordType::MX)));
    }

    #[test]
    fn a_label_without_room_for_the_type_gets_a_marker_below_it() {
        let domain = Name::parse("example.com").unwrap();
        let data = Name::parse(&format!("{}.example.com", "x".repeat(63))).unwrap();
        let marker = TxtNames::default().marker_of(&data, RecordType::A, &domain);
        assert_eq!(marker, Name::parse(&format!("_zk-a.{data}")).unwrap());
        assert_eq!(TxtNames::default().data_of(&marker, &domain), Some((data, RecordType::A)));
    }

    #[test]
    fn an_untyped_marker_stands_for_one_name() {
        let domain = Name::parse("example.com").unwrap();
        let names = TxtNames::new("", "", "wild").unwrap();
        let legacy = |data: &str| names.legacy_marker_of(&Name::parse(data).unwrap(), &domain);
        assert_eq!(legacy("*.example.com").unwrap().as_str(), "wild.example.com");
        assert_eq!(legacy("wild.example.com"), None);
        assert_eq!(legacy("www.example.com").unwrap().as_str(), "www.example.com");
    }

    #[test]
    fn prefix_and_suffix_exclude_each_other() {
        assert_eq!(TxtNames::new("a", "b", ""), Err(AffixError::PrefixAndSuffix));
        assert!(matches!(TxtNames::new("a b", "", ""), Err(AffixError::NotAName { .. })));
    }
}
