//! A domain name: lower-case, absolute and in A-labels from the moment it exists.
//!
//! The only place where a trailing dot is added or removed.

use std::{fmt, str::FromStr, sync::Arc};

use idna::{
    AsciiDenyList,
    uts46::{DnsLength, Hyphens, Uts46},
};

const MAX_LABEL: usize = 63;
const MAX_WIRE: usize = 255;

/// An absolute domain name in canonical form.
///
/// Guarantees: every label has 1 to 63 octets and the name at most 255 on the wire; ASCII letters are
/// lower-case; octets outside letters, digits, `-`, `_`, `*` and `/` are escaped as in RFC 1035 section 5.1.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// Why a text is not a domain name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing at all, or nothing between two dots.
    #[error("{0:?} has an empty label; write each label once, separated by single dots")]
    EmptyLabel(String),
    /// A label over 63 octets.
    #[error("label {label:?} has {length} octets; at most 63 are allowed")]
    LabelTooLong {
        /// The offending label, in A-label form.
        label: String,
        /// Its length in octets.
        length: usize,
    },
    /// A name over 255 octets on the wire.
    #[error("{0:?} is longer than 253 characters")]
    NameTooLong(String),
    /// White space or another character that can't stand in a name unescaped.
    #[error("{0:?} contains {1:?}, which can't stand in a domain name")]
    BadCharacter(String, char),
    /// Unicode that IDNA 2008 (UTS 46) refuses.
    #[error("{0:?} is not a valid internationalised name")]
    BadUnicode(String),
    /// A backslash that starts no escape.
    #[error("{0:?} ends in an unfinished escape")]
    BadEscape(String),
    /// A wire form that ends early or is compressed.
    #[error("the wire form of a name is cut off or compressed")]
    BadWire,
}

// === impl Name ===

impl Name {
    /// The root of the name space.
    pub fn root() -> Self {
        Self(Arc::from("."))
    }

    /// Parses an absolute name; the trailing dot is optional, Unicode becomes A-labels.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let trimmed = match text.strip_suffix('.') {
            Some("") => return Ok(Self::root()),
            // A dot after an odd number of backslashes is part of the last label.
            Some(rest) if rest.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0 => rest,
            _ => text,
        };
        if trimmed.is_empty() {
            return Err(NameError::EmptyLabel(text.into()));
        }
        if trimmed.bytes().all(is_plain_lowercase) {
            check_lengths(trimmed.split('.'), text)?;
            return Ok(Self(Arc::from(trimmed)));
        }
        if trimmed.is_ascii() {
            return Self::from_labels(&unescape(trimmed)?, text);
        }
        let ascii = Uts46::new()
            .to_ascii(trimmed.as_bytes(), AsciiDenyList::EMPTY, Hyphens::Allow, DnsLength::Ignore)
            .map_err(|_| NameError::BadUnicode(text.into()))?;
        // IDNA knows no escapes: a backslash in the result would escape whatever Punycode put after it.
        if ascii.contains('\\') {
            return Err(NameError::BadUnicode(text.into()));
        }
        Self::from_labels(&unescape(&ascii)?, text)
    }

    /// Parses a name relative to `origin`; `@` is the origin itself.
    pub fn parse_under(text: &str, origin: &Self) -> Result<Self, NameError> {
        match text {
            "@" => Ok(origin.clone()),
            _ if &*origin.0 == "." => Self::parse(text),
            _ => Self::parse(&format!("{}.{}", text.trim_end_matches('.'), origin.0)),
        }
    }

    /// Reads an uncompressed name from the start of `wire`, and how many octets it took.
    pub fn from_wire(wire: &[u8]) -> Result<(Self, usize), NameError> {
        let mut labels = Vec::new();
        let mut at = 0;
        loop {
            let length = usize::from(*wire.get(at).ok_or(NameError::BadWire)?);
            at += 1;
            match length {
                0 => break,
                1..=MAX_LABEL => {
                    labels.push(wire.get(at..at + length).ok_or(NameError::BadWire)?.to_vec());
                    at += length;
                }
                _ => return Err(NameError::BadWire),
            }
        }
        let name = if labels.is_empty() { Self::root() } else { Self::from_labels(&labels, "name")? };
        Ok((name, at))
    }

    /// Appends the uncompressed wire form.
    pub fn to_wire(&self, wire: &mut Vec<u8>) {
        for label in self.labels() {
            let start = wire.len();
            wire.push(0);
            let mut bytes = label.bytes();
            while let Some(byte) = bytes.next() {
                wire.push(match byte {
                    b'\\' => unescaped(&mut bytes).expect("canonical: every escape is whole"),
                    plain => plain,
                });
            }
            wire[start] =
                u8::try_from(wire.len() - start - 1).expect("canonical: a label has at most 63 octets");
        }
        wire.push(0);
    }

    /// The canonical text without a trailing dot; the root is `.`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The canonical text with a trailing dot.
    pub fn to_fqdn(&self) -> String {
        if self.is_root() { ".".into() } else { format!("{}.", self.0) }
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        &*self.0 == "."
    }

    /// Whether the first label is a lone `*`.
    pub fn is_wildcard(&self) -> bool {
        self.first_label() == "*"
    }

    /// The labels from left to right, escaped as in the text.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        let mut rest = if self.is_root() { "" } else { &*self.0 };
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (label, tail) = split_label(rest);
            rest = tail;
            Some(label)
        })
    }

    /// The leftmost label; empty for the root.
    pub fn first_label(&self) -> &str {
        if self.is_root() { "" } else { split_label(&self.0).0 }
    }

    /// The name without its leftmost label; none for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        match split_label(&self.0).1 {
            "" => Some(Self::root()),
            rest => Some(Self(Arc::from(rest))),
        }
    }

    /// Whether this name is `zone` or lies below it, on label boundaries.
    pub fn is_within(&self, zone: &Self) -> bool {
        if zone.is_root() || self == zone {
            return true;
        }
        let Some(head) = self.0.strip_suffix(&*zone.0).and_then(|head| head.strip_suffix('.')) else {
            return false;
        };
        // An escaped dot is no boundary: count the backslashes before it.
        head.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0
    }

    /// The text relative to `zone`: `@` for the zone itself, the whole name where it lies outside.
    pub fn relative_to(&self, zone: &Self) -> &str {
        if self == zone {
            return "@";
        }
        match self.0.strip_suffix(&*zone.0).and_then(|head| head.strip_suffix('.')) {
            Some(head) if self.is_within(zone) => head,
            _ => &self.0,
        }
    }

    fn from_labels(labels: &[Vec<u8>], text: &str) -> Result<Self, NameError> {
        let mut canonical = String::new();
        for (index, label) in labels.iter().enumerate() {
            if index > 0 {
                canonical.push('.');
            }
            if label.is_empty() {
                return Err(NameError::EmptyLabel(text.into()));
            }
            for &byte in label {
                escape(byte.to_ascii_lowercase(), &mut canonical);
            }
        }
        let name = Self(Arc::from(canonical));
        check_octets(labels.iter().map(Vec::len), &name)?;
        Ok(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Name({})", self.0)
    }
}

impl FromStr for Name {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

fn is_plain_lowercase(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'*' | b'/' | b'.')
}

fn check_lengths<'a>(labels: impl Iterator<Item = &'a str>, text: &str) -> Result<(), NameError> {
    let mut wire = 1;
    for label in labels {
        match label.len() {
            0 => return Err(NameError::EmptyLabel(text.into())),
            length @ 1..=MAX_LABEL => wire += length + 1,
            length => return Err(NameError::LabelTooLong { label: label.into(), length }),
        }
    }
    if wire > MAX_WIRE { Err(NameError::NameTooLong(text.into())) } else { Ok(()) }
}

fn check_octets(lengths: impl Iterator<Item = usize>, name: &Name) -> Result<(), NameError> {
    let mut wire = 1;
    for (label, length) in name.labels().zip(lengths) {
        if length > MAX_LABEL {
            return Err(NameError::LabelTooLong { label: label.into(), length });
        }
        wire += length + 1;
    }
    if wire > MAX_WIRE { Err(NameError::NameTooLong(name.0.to_string())) } else { Ok(()) }
}

fn split_label(text: &str) -> (&str, &str) {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'.' => return (&text[..index], &text[index + 1..]),
            _ => {}
        }
    }
    (text, "")
}

fn unescape(text: &str) -> Result<Vec<Vec<u8>>, NameError> {
    let mut labels = vec![Vec::new()];
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'.' => labels.push(Vec::new()),
            b'\\' => {
                let octet = unescaped(&mut bytes).ok_or_else(|| NameError::BadEscape(text.into()))?;
                labels.last_mut().expect("starts with one label").push(octet);
            }
            0..=b' ' | 0x7f | b'"' | b'(' | b')' | b';' | b'@' | b'$' | b',' | b':' => {
                return Err(NameError::BadCharacter(text.into(), char::from(byte)));
            }
            plain => labels.last_mut().expect("starts with one label").push(plain),
        }
    }
    Ok(labels)
}

/// Reads the rest of an escape whose backslash is consumed: `DDD` or one character.
fn unescaped(bytes: &mut std::str::Bytes<'_>) -> Option<u8> {
    let first = bytes.next()?;
    if !first.is_ascii_digit() {
        return Some(first);
    }
    let digits = [first, bytes.next()?, bytes.next()?];
    std::str::from_utf8(&digits).ok()?.parse().ok()
}

fn escape(byte: u8, text: &mut String) {
    match byte {
        b'.' => text.push_str("\\."),
        plain if is_plain_lowercase(plain) => text.push(char::from(plain)),
        other => text.push_str(&format!("\\{other:03}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    #[test]
    fn names_are_lower_case_absolute_and_a_label() {
        assert_eq!(name("WWW.Example.COM.").as_str(), "www.example.com");
        assert_eq!(name("bücher.example.com").as_str(), "xn--bcher-kva.example.com");
        assert_eq!(name("BÜCHER.example.com"), name("xn--bcher-kva.example.com"));
        assert_eq!(name("*.example.com").first_label(), "*");
        assert_eq!(name("_dmarc.example.com").to_fqdn(), "_dmarc.example.com.");
        assert_eq!(name("."), Name::root());
    }

    #[test]
    fn bad_names_are_refused_with_their_reason() {
        assert!(matches!(Name::parse(""), Err(NameError::EmptyLabel(_))));
        assert!(matches!(Name::parse("a..b"), Err(NameError::EmptyLabel(_))));
        assert!(matches!(Name::parse("a b.example.com"), Err(NameError::BadCharacter(_, ' '))));
        assert!(matches!(Name::parse(&"a".repeat(64)), Err(NameError::LabelTooLong { length: 64, .. })));
        assert!(matches!(Name::parse(&["abcdefg"; 32].join(".")), Err(NameError::NameTooLong(_))));
    }

    #[test]
    fn a_name_lies_within_a_zone_on_label_boundaries_only() {
        assert!(name("a.example.com").is_within(&name("example.com")));
        assert!(name("example.com").is_within(&name("example.com")));
        assert!(!name("notexample.com").is_within(&name("example.com")));
        assert!(!name("a\\.example.com").is_within(&name("example.com")));
        assert!(name("com").is_within(&Name::root()));
        assert_eq!(name("a.b.example.com").relative_to(&name("example.com")), "a.b");
        assert_eq!(name("example.com").relative_to(&name("example.com")), "@");
    }

    #[test]
    fn escapes_survive_the_wire() {
        let odd = name("a\\.b\\032c.example.com");
        let mut wire = Vec::new();
        odd.to_wire(&mut wire);
        assert_eq!(wire[0], 5);
        assert_eq!(Name::from_wire(&wire).unwrap(), (odd, wire.len()));
    }

    #[test]
    fn an_escaped_final_dot_belongs_to_the_label() {
        assert_eq!(name("a\\\\\\.").as_str(), "a\\092\\.");
        assert_eq!(name("a\\\\.").as_str(), "a\\092");
        assert_eq!(name("a\\.").as_str(), "a\\.");
    }

    #[test]
    fn escapes_and_unicode_do_not_mix() {
        assert!(matches!(Name::parse("b\u{fc}\\.cher.example.com"), Err(NameError::BadUnicode(_))));
        assert!(matches!(Name::parse("a\u{ff3c}.example.com"), Err(NameError::BadUnicode(_))));
    }
}
