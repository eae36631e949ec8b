//! Splitting a presentation value into fields: blanks separate, quotes hold together, backslashes escape.

use std::borrow::Cow;

use super::error::Fault;

/// What is left of a value: text to be split, or fields that are split already.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tokens<'a> {
    Text(&'a str),
    Fields(&'a [&'a str]),
}

/// One field as it was written, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) raw: &'a str,
    escapes: Escapes,
}

/// Whether a backslash means itself.
#[derive(Debug, Clone, Copy)]
enum Escapes {
    Active,
    Literal,
}

// === impl Tokens ===

impl<'a> Tokens<'a> {
    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>, Fault> {
        match self {
            Self::Text(rest) => {
                let text = rest.trim_ascii_start();
                if text.is_empty() {
                    *rest = text;
                    return Ok(None);
                }
                let (token, tail) = Token::split(text)?;
                *rest = tail;
                Ok(Some(token))
            }
            Self::Fields(fields) => match fields.split_first() {
                None => Ok(None),
                Some((first, tail)) => {
                    *fields = tail;
                    Ok(Some(Token::literal(first)))
                }
            },
        }
    }

    pub(super) fn required(&mut self) -> Result<Token<'a>, Fault> {
        self.next()?.ok_or(Fault::Missing)
    }

    /// The text from here to the end as one token: quoted, or else literal without the blanks around it.
    pub(super) fn text_to_end(&mut self) -> Result<Token<'a>, Fault> {
        if let Self::Text(rest) = self {
            let text = rest.trim_ascii();
            if !text.is_empty() && !text.starts_with('"') {
                *rest = "";
                return Ok(Token::literal(text));
            }
        }
        self.required()
    }

    /// The whole text as one literal token, blanks included, unless it starts with a quote or is empty.
    pub(super) fn unquoted_whole(&mut self) -> Option<Token<'a>> {
        match self {
            Self::Text(rest) if !rest.is_empty() && !rest.starts_with('"') => {
                Some(Token::literal(std::mem::take(rest)))
            }
            Self::Text(_) | Self::Fields(_) => None,
        }
    }

    /// All that is left; fields are joined by blanks. The last blank stays: it may be escaped.
    pub(super) fn rest(&mut self) -> Cow<'a, str> {
        match self {
            Self::Text(rest) => Cow::Borrowed(std::mem::take(rest).trim_ascii_start()),
            Self::Fields(fields) => match std::mem::take(fields) {
                [] => Cow::Borrowed(""),
                [only] => Cow::Borrowed(only.trim_ascii_start()),
                several => Cow::Owned(several.join(" ")),
            },
        }
    }

    /// All that is left, with the blanks taken out.
    pub(super) fn rest_without_blanks(&mut self) -> Cow<'a, str> {
        let rest = self.rest();
        if rest.bytes().any(|byte| byte.is_ascii_whitespace()) {
            Cow::Owned(rest.split_ascii_whitespace().collect())
        } else {
            rest
        }
    }

    /// What was taken from here on until only `left` was left.
    pub(super) fn up_to(self, left: Tokens<'a>) -> Cow<'a, str> {
        match (self, left) {
            (Self::Text(from), Self::Text(left)) => {
                Cow::Borrowed(from.get(..from.len() - left.len()).unwrap_or(from).trim_ascii())
            }
            (Self::Fields(from), Self::Fields(left)) => Self::Fields(&from[..from.len() - left.len()]).rest(),
            (mut all, _) => all.rest(),
        }
    }

    /// Text behind the last field.
    pub(super) fn leftover(&self) -> Option<&'a str> {
        match self {
            Self::Text(rest) => Some(rest.trim_ascii()).filter(|rest| !rest.is_empty()),
            Self::Fields(fields) => fields.first().copied(),
        }
    }
}

// === impl Token ===

impl<'a> Token<'a> {
    /// Splits a quoted or bare token off the start of `text`, which starts with no blank.
    pub(super) fn split(text: &'a str) -> Result<(Self, &'a str), Fault> {
        let (quoted, body) = match text.strip_prefix('"') {
            Some(body) => (true, body),
            None => (false, text),
        };
        let mut bytes = body.bytes().enumerate();
        while let Some((index, byte)) = bytes.next() {
            match byte {
                b'\\' => {
                    bytes.next();
                }
                b'"' if quoted => return Ok((Self::escaped(&body[..index]), &body[index + 1..])),
                b'"' => {
                    return Err(Fault::bad(text, "has a quote in the middle; write \\\" or quote all of it"));
                }
                blank if !quoted && blank.is_ascii_whitespace() => {
                    return Ok((Self::escaped(&body[..index]), &body[index..]));
                }
                _ => {}
            }
        }
        if quoted { Err(Fault::bad(text, "has no closing quote")) } else { Ok((Self::escaped(body), "")) }
    }

    fn escaped(raw: &'a str) -> Self {
        Self { raw, escapes: Escapes::Active }
    }

    fn literal(raw: &'a str) -> Self {
        Self { raw, escapes: Escapes::Literal }
    }

    /// The octets that the token stands for.
    pub(super) fn octets(self) -> Result<Cow<'a, [u8]>, Fault> {
        match self.escapes {
            Escapes::Active if self.raw.contains('\\') => match unescape(self.raw) {
                Some(octets) => Ok(Cow::Owned(octets)),
                None => Err(Fault::bad(self.raw, "has a bad escape; write \\\\, \\\" or \\000 to \\255")),
            },
            Escapes::Active | Escapes::Literal => Ok(Cow::Borrowed(self.raw.as_bytes())),
        }
    }
}

fn unescape(raw: &str) -> Option<Vec<u8>> {
    let mut octets = Vec::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        octets.push(match byte {
            b'\\' => match bytes.next()? {
                hundreds @ b'0'..=b'9' => {
                    let digits = [hundreds, bytes.next()?, bytes.next()?];
                    digits.iter().try_fold(0u8, |sum, digit| {
                        let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
                        sum.checked_mul(10)?.checked_add(digit)
                    })?
                }
                itself => itself,
            },
            plain => plain,
        });
    }
    Some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<Vec<u8>> {
        let mut tokens = Tokens::Text(text);
        std::iter::from_fn(|| tokens.next().unwrap()).map(|token| token.octets().unwrap().to_vec()).collect()
    }

    #[test]
    fn blanks_separate_and_quotes_hold_together() {
        assert_eq!(split(" a  \"b c\"\t\"\" d\\ e "), [&b"a"[..], b"b c", b"", b"d e"]);
        assert_eq!(split("\"a\"\"b\"c"), [b"a", b"b", b"c"]);
        assert_eq!(split(r#""\"\\\065\200""#), [b"\"\\A\xc8"]);
    }

    #[test]
    fn broken_quotes_and_escapes_are_refused() {
        for bad in ["\"a", "a\"b", "\"a\\\""] {
            assert!(Tokens::Text(bad).next().is_err(), "{bad}");
        }
        for bad in ["\\256", "\\1", "\\12x", "\\"] {
            assert!(Tokens::Text(bad).required().unwrap().octets().is_err(), "{bad}");
        }
    }
}
