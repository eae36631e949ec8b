//! Splits presentation format into words; quotes group, and are removed.

/// Guarantees: an empty quoted string is a word, too.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut current: Option<String> = None;
    let mut is_quoted = false;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => {
                is_quoted = !is_quoted;
                current.get_or_insert_default();
            }
            '\\' => current.get_or_insert_default().extend(chars.next()),
            char if char.is_whitespace() && !is_quoted => words.extend(current.take()),
            char => current.get_or_insert_default().push(char),
        }
    }
    words.extend(current);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_group_words() {
        assert_eq!(words(r#"0 issue "ca example" """#), ["0", "issue", "ca example", ""]);
    }
}
