//! Reading service parameters: `key`, `key=value` or `key="value"`, in any order.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use data_encoding::BASE64;

use super::{
    super::{error::Fault, read::number, tokens::Token},
    INVALID_KEY, Key, NAMES,
};

/// Appends the parameters in key order; what they may say together is for `check` to decide.
pub(in super::super) fn read(text: &str, wire: &mut Vec<u8>) -> Result<(), Fault> {
    let mut params = BTreeMap::new();
    let mut rest = text.trim_ascii_start();
    while !rest.is_empty() {
        let end = rest.find(|next: char| next == '=' || next.is_ascii_whitespace()).unwrap_or(rest.len());
        let (name, tail) = rest.split_at(end);
        let (key, format) = key(name).ok_or_else(|| Fault::bad(name, "is not a service parameter key"))?;
        let (octets, tail) = match tail.strip_prefix('=') {
            None => (Vec::new(), tail),
            Some(after) if after.starts_with(|next: char| next.is_ascii_whitespace()) => (Vec::new(), after),
            Some(after) => {
                let (token, tail) = Token::split(after)?;
                (token.octets()?.into_owned(), tail)
            }
        };
        if !tail.is_empty() && !tail.starts_with(|next: char| next.is_ascii_whitespace()) {
            return Err(Fault::bad(tail, "follows a quoted value without a blank"));
        }
        let value = match format {
            Format::Raw => octets,
            Format::Own => own_format(key, octets)?,
        };
        if params.insert(key.code(), value).is_some() {
            return Err(Fault::bad(name, "is there twice"));
        }
        rest = tail.trim_ascii_start();
    }
    for (code, value) in params {
        wire.extend(code.to_be_bytes());
        let length =
            u16::try_from(value.len()).map_err(|_| Fault::bad(text, "has more than 65535 octets"))?;
        wire.extend(length.to_be_bytes());
        wire.extend(value);
    }
    Ok(())
}

/// Whether the octets written are those on the wire, or the format of the key.
enum Format {
    Own,
    Raw,
}

fn key(name: &str) -> Option<(Key, Format)> {
    if let Some((key, _)) = NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)) {
        return Some((*key, Format::Own));
    }
    let (prefix, digits) = name.split_at_checked(3)?;
    let is_number =
        digits == "0" || !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    let code = digits.parse().ok().filter(|code| *code != INVALID_KEY)?;
    (prefix.eq_ignore_ascii_case("key") && is_number).then_some((Key::from_code(code), Format::Raw))
}

fn own_format(key: Key, octets: Vec<u8>) -> Result<Vec<u8>, Fault> {
    let text = || String::from_utf8_lossy(&octets);
    let bad = |problem: &'static str| Fault::bad(&format!("{}={}", key.name(), text()), problem);
    match key {
        Key::NoDefaultAlpn | Key::Ohttp if octets.is_empty() => Ok(octets),
        Key::NoDefaultAlpn | Key::Ohttp => Err(bad("has a value; it takes none")),
        Key::DohPath | Key::Other(_) => Ok(octets),
        Key::Port => number(&text(), u16::MAX)
            .map(|port| port.to_be_bytes().into())
            .map_err(|_| bad("is not a number from 0 to 65535")),
        Key::Ech => BASE64.decode(&octets).map_err(|_| bad("is not base64")),
        Key::Ipv4Hint => {
            addresses(&text(), Ipv4Addr::octets).ok_or_else(|| bad("is not a list of IPv4 addresses"))
        }
        Key::Ipv6Hint => {
            addresses(&text(), Ipv6Addr::octets).ok_or_else(|| bad("is not a list of IPv6 addresses"))
        }
        Key::Alpn => alpn(&octets).ok_or_else(|| bad("is not a list of protocols of 1 to 255 octets")),
        Key::Mandatory => {
            let codes = text().split(',').map(key_code).collect::<Option<Vec<u16>>>();
            let mut codes = codes.ok_or_else(|| bad("is not a list of service parameter keys"))?;
            codes.sort_unstable();
            Ok(codes.into_iter().flat_map(u16::to_be_bytes).collect())
        }
    }
}

fn key_code(name: &str) -> Option<u16> {
    key(name).map(|(key, _)| key.code())
}

fn addresses<A: FromStr, const N: usize>(text: &str, octets: fn(&A) -> [u8; N]) -> Option<Vec<u8>> {
    let mut wire = Vec::new();
    for item in text.split(',') {
        wire.extend(octets(&item.parse().ok()?));
    }
    Some(wire)
}

/// RFC 9460 appendix A.1: a comma separates unless a backslash precedes it.
fn alpn(octets: &[u8]) -> Option<Vec<u8>> {
    let mut ids = vec![Vec::new()];
    let mut rest = octets.iter();
    while let Some(octet) = rest.next() {
        match octet {
            b',' => ids.push(Vec::new()),
            b'\\' => ids.last_mut()?.push(*rest.next().filter(|next| matches!(next, b',' | b'\\'))?),
            plain => ids.last_mut()?.push(*plain),
        }
    }
    let mut wire = Vec::with_capacity(octets.len() + 1);
    for id in ids {
        wire.push(u8::try_from(id.len()).ok().filter(|length| *length > 0)?);
        wire.extend(id);
    }
    Some(wire)
}
