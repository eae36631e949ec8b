//! TXT content: one verbatim string, or quoted strings of at most 255 bytes.

use crate::{
    error::{ApiError, error},
    knobs::{EmptyTxt, Knobs, LongUnquotedTxt, UnbalancedTxt, UnquotedTxt},
};

const LONGEST_STRING: usize = 255;

/// The content as it is stored and shown.
pub fn normalise(content: &str, knobs: &Knobs) -> Result<String, ApiError> {
    if content.is_empty() && knobs.empty_txt == EmptyTxt::Refuse {
        return Err(error(9007, "Content for TXT record is invalid."));
    }
    if !is_balanced(content) {
        return match knobs.unbalanced_txt {
            UnbalancedTxt::Refuse => {
                Err(error(9007, "Content for TXT record is invalid: unbalanced quotes."))
            }
            UnbalancedTxt::Keep => Ok(content.to_owned()),
        };
    }
    if let Some(strings) = quoted_strings(content) {
        if strings.iter().all(|string| string.len() <= LONGEST_STRING) {
            return Ok(content.to_owned());
        }
        return Ok(quote(&strings.concat()));
    }
    let is_long = content.len() > LONGEST_STRING && knobs.long_unquoted_txt == LongUnquotedTxt::Chunked;
    Ok(if is_long || knobs.unquoted_txt == UnquotedTxt::Quoted {
        quote(content.as_bytes())
    } else {
        content.to_owned()
    })
}

/// What the record says, whatever its spelling.
pub fn value(content: &str) -> Vec<u8> {
    quoted_strings(content).map_or_else(|| content.as_bytes().to_vec(), |strings| strings.concat())
}

/// Bytes on the wire: each string of up to 255 bytes has a length byte.
pub fn wire_length(content: &str) -> usize {
    let chunks = |length: usize| length + length.div_ceil(LONGEST_STRING).max(1);
    match quoted_strings(content) {
        Some(strings) => strings.iter().map(|string| chunks(string.len())).sum(),
        None => chunks(content.len()),
    }
}

/// Quoted strings in zone file form.
pub fn zone_text(content: &str) -> String {
    if quoted_strings(content).is_some() { content.to_owned() } else { quote(content.as_bytes()) }
}

fn quote(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let mut rest = text.as_ref();
    let mut quoted = Vec::new();
    while !rest.is_empty() || quoted.is_empty() {
        let longest = rest.len().min(LONGEST_STRING);
        // A character is never cut in two, so that content stays valid JSON text.
        let end = (0..=longest).rev().find(|&at| rest.is_char_boundary(at)).unwrap_or(longest);
        let (chunk, tail) = rest.split_at(end);
        quoted.push(format!("\"{}\"", chunk.replace('\\', "\\\\").replace('"', "\\\"")));
        rest = tail;
    }
    quoted.join(" ")
}

fn is_balanced(content: &str) -> bool {
    let mut is_open = false;
    let mut bytes = content.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => is_open = !is_open,
            _ => {}
        }
    }
    !is_open
}

/// The strings of content that consists of nothing but quoted strings.
fn quoted_strings(content: &str) -> Option<Vec<Vec<u8>>> {
    let mut strings = Vec::new();
    let mut current: Option<Vec<u8>> = None;
    let mut bytes = content.trim().bytes();
    while let Some(byte) = bytes.next() {
        match (&mut current, byte) {
            (None, b'"') => current = Some(Vec::new()),
            (None, b' ' | b'\t') => {}
            (None, _) => return None,
            (Some(_), b'"') => strings.extend(current.take()),
            (Some(string), b'\\') => string.push(bytes.next()?),
            (Some(string), _) => string.push(byte),
        }
    }
    (current.is_none() && !strings.is_empty()).then_some(strings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquoted_content_stays_as_it_is() {
        let long = "x".repeat(300);
        for content in ["v=spf1 -all", "a;b", long.as_str()] {
            assert_eq!(normalise(content, &Knobs::default()).unwrap(), content);
        }
    }

    #[test]
    fn a_long_quoted_string_is_split() {
        let content = format!("\"{}\"", "x".repeat(300));
        let stored = normalise(&content, &Knobs::default()).unwrap();
        assert_eq!(stored, format!("\"{}\" \"{}\"", "x".repeat(255), "x".repeat(45)));
        assert_eq!(value(&stored), value(&content));
        assert_eq!(wire_length(&stored), 302);
    }

    #[test]
    fn a_quote_must_close() {
        assert!(normalise("\"open", &Knobs::default()).is_err());
        assert!(normalise("open \" inside", &Knobs::default()).is_err());
        assert!(normalise("escaped \\\" inside", &Knobs::default()).is_ok());
    }
}
