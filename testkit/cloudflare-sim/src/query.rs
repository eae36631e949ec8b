//! Query parameters: decoded, in order, repeated keys kept.

use serde_json::Value;

/// Names compare exactly; an empty value counts as absent, except where presence is the point.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn parse(raw: &str) -> Self {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(name), decode(value))
        };
        Self(raw.split('&').filter(|part| !part.is_empty()).map(pair).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.0
            .iter()
            .filter(move |(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A whole number; clients also send `50.0`.
    pub fn number(&self, name: &str) -> Option<i64> {
        crate::rdata::integer(&serde_json::from_str::<Value>(self.get(name)?).ok()?)
    }
}

/// Percent-decoding; a malformed escape stays as it is.
pub fn decode(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let digit = |byte: Option<&u8>| byte.and_then(|&byte| char::from(byte).to_digit(16));
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            (b'+', ..) => {
                decoded.push(b' ');
                at += 1;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse("name=a%2Eb&type=full&type=partial&per_page=50.0&empty=");
        assert_eq!(query.get("name"), Some("a.b"));
        assert_eq!(query.all("type").collect::<Vec<_>>(), ["full", "partial"]);
        assert_eq!(query.number("per_page"), Some(50));
        assert!(query.get("empty").is_none());
    }
}
