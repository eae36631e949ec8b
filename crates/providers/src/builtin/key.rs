//! A name as the key of a map that can be searched for any suffix of a name without making one.

use std::borrow::Borrow;

use zonekeeper_kernel::name::Name;

/// A name that is ordered and compared as its text, so that a map can be asked for a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub(super) Name);

// === impl Key ===

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        self.0.as_str()
    }
}

/// The texts of a name and of all names above it, longest first, the root last.
pub(super) fn suffixes(name: &Name) -> impl DoubleEndedIterator<Item = &str> {
    let text = name.as_str();
    let mut starts: Vec<usize> = Vec::with_capacity(8);
    let mut at = 0;
    for label in name.labels() {
        starts.push(at);
        at += label.len() + 1;
    }
    starts.into_iter().map(|start| &text[start..]).chain(["."])
}

/// The text of the name above; none for the root.
pub(super) fn parent(text: &str) -> Option<&str> {
    if text == "." {
        return None;
    }
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'.' => return Some(&text[index + 1..]),
            _ => {}
        }
    }
    Some(".")
}

/// The text of the wildcard directly below a name.
pub(super) fn wildcard_below(text: &str) -> String {
    if text == "." { "*".into() } else { format!("*.{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_keep_escaped_dots_together() {
        let name = Name::parse("a\\.b.c.example").unwrap();
        assert_eq!(suffixes(&name).collect::<Vec<_>>(), ["a\\.b.c.example", "c.example", "example", "."]);
        assert_eq!(suffixes(&Name::root()).collect::<Vec<_>>(), ["."]);
        assert_eq!(parent("a\\.b.c"), Some("c"));
        assert_eq!(parent("c"), Some("."));
        assert_eq!(parent("."), None);
    }
}
