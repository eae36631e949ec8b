//! RFC 3597: the value of any type as `\#`, its length and its octets in hexadecimal.

use std::fmt::{self, Write};

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};

/// A text that starts with `\#` but goes on otherwise than RFC 3597 says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotGeneric;

/// The octets of a generic value; none where the text is not one (it may still be the type's own form).
pub(super) fn read(text: &str) -> Option<Result<Vec<u8>, NotGeneric>> {
    let rest = text.trim_ascii().strip_prefix("\\#")?;
    let mut words = rest.split_ascii_whitespace();
    if !rest.is_empty() && !rest.starts_with(|first: char| first.is_ascii_whitespace()) {
        return None;
    }
    Some((|| {
        let length = words.next().filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        let length: usize = length.and_then(|word| word.parse().ok()).ok_or(NotGeneric)?;
        let octets =
            HEXLOWER_PERMISSIVE.decode(words.collect::<String>().as_bytes()).map_err(|_| NotGeneric)?;
        if octets.len() == length { Ok(octets) } else { Err(NotGeneric) }
    })())
}

/// Writes the generic form.
pub(super) fn print(octets: &[u8], out: &mut impl Write) -> fmt::Result {
    write!(out, "\\# {}", octets.len())?;
    if octets.is_empty() {
        return Ok(());
    }
    out.write_char(' ')?;
    HEXLOWER.encode_write(octets, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_must_agree_with_the_digits() {
        assert_eq!(read("\\# 3 C00 002"), Some(Ok(vec![0xc0, 0, 2])));
        assert_eq!(read("\\# 0"), Some(Ok(vec![])));
        assert_eq!(read("\\#"), Some(Err(NotGeneric)));
        assert_eq!(read("\\# 2 c0"), Some(Err(NotGeneric)));
        assert_eq!(read("\\# 1 c"), Some(Err(NotGeneric)));
        assert_eq!(read("\\#1 c0"), None);
        assert_eq!(read("192.0.2.1"), None);
    }
}
