//! Name patterns of grants, `names` and prune's ignore list: `*` spans labels.

use std::fmt;

use crate::name::{Name, NameError};

/// A pattern over names, such as `*.a.example.com`; `*` alone means every name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{pattern:?} is not a name pattern; write a name in which * stands for any characters, such as *.a.example.com"
)]
pub struct PatternError {
    pattern: String,
    source: NameError,
}

// === impl Pattern ===

impl Pattern {
    /// Parses a pattern; apart from `*` it must be a name.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        // A star is a legal character of a name, so the rules and the folding of names apply as they are.
        let name = Name::parse(text).map_err(|source| PatternError { pattern: text.into(), source })?;
        Ok(Self { text: name.as_str().to_owned() })
    }

    /// Whether the pattern covers a name.
    pub fn matches(&self, name: &Name) -> bool {
        glob(self.text.as_bytes(), name.as_str().as_bytes())
    }

    /// Whether the pattern is this very name, or everything: the ways to ask for a special name.
    pub fn names_exactly(&self, name: &Name) -> bool {
        self.text == "*" || self.text == name.as_str()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Linear in practice: only the last star is ever retried.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut matched) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while matched < text.len() {
        if pattern.get(at) == Some(&b'*') {
            retry = Some((at, matched));
            at += 1;
        } else if pattern.get(at) == Some(&text[matched]) {
            at += 1;
            matched += 1;
        } else if let Some((star, from)) = retry {
            at = star + 1;
            matched = from + 1;
            retry = Some((star, from + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::parse(pattern).unwrap().matches(&Name::parse(name).unwrap())
    }

    #[test]
    fn a_star_spans_labels() {
        assert!(matches("*", "example.com"));
        assert!(matches("*.a.example.com", "x.y.a.example.com"));
        assert!(!matches("*.a.example.com", "a.example.com"));
        assert!(matches("_acme-challenge.*", "_acme-challenge.www.example.com"));
        assert!(matches("www.Example.com.", "www.example.com"));
        assert!(matches("a*b*c", "aXbYbc"));
        assert!(!matches("a*b*c", "aXbYb"));
        assert!(Pattern::parse("a b").is_err());
    }
}
