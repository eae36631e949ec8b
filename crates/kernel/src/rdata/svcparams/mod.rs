//! Service parameters (RFC 9460): their keys, and which of them may stand together on the wire.

mod print;
mod read;

pub(super) use self::{print::print, read::read};
use super::error::Problem;

/// What the priority before the parameters says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Priority 0: an alias, without parameters.
    Alias,
    /// Any other priority.
    Service,
}

/// A parameter's key; those that RFC 9460, 9461, 9540 and 9848 name have their own value format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Mandatory,
    Alpn,
    NoDefaultAlpn,
    Port,
    Ipv4Hint,
    Ech,
    Ipv6Hint,
    DohPath,
    Ohttp,
    Other(u16),
}

const NAMES: [(Key, &str); 9] = [
    (Key::Mandatory, "mandatory"),
    (Key::Alpn, "alpn"),
    (Key::NoDefaultAlpn, "no-default-alpn"),
    (Key::Port, "port"),
    (Key::Ipv4Hint, "ipv4hint"),
    (Key::Ech, "ech"),
    (Key::Ipv6Hint, "ipv6hint"),
    (Key::DohPath, "dohpath"),
    (Key::Ohttp, "ohttp"),
];

/// RFC 9460 section 14.3.2: reserved as "invalid key".
const INVALID_KEY: u16 = 65_535;

/// Whether these octets are parameters that a record of this mode may have.
pub(super) fn check(mode: Mode, octets: &[u8]) -> Result<(), Problem> {
    if mode == Mode::Alias && !octets.is_empty() {
        return Err("must be empty after priority 0, which makes an alias".into());
    }
    let mut rest = octets;
    let mut last = None;
    while !rest.is_empty() {
        let (code, value, tail) = split(rest).ok_or("is cut off")?;
        if last.is_some_and(|last| last >= code) {
            return Err("has keys that are repeated or not in ascending order".into());
        }
        last = Some(code);
        rest = tail;
        check_value(Key::from_code(code), value, octets)?;
    }
    if has(octets, Key::NoDefaultAlpn) && !has(octets, Key::Alpn) {
        return Err("has no-default-alpn without alpn".into());
    }
    Ok(())
}

fn check_value(key: Key, value: &[u8], all: &[u8]) -> Result<(), Problem> {
    let is_valid = match key {
        Key::Mandatory => return check_mandatory(value, all),
        Key::Alpn => {
            !value.is_empty() && strings(value).is_some_and(|ids| ids.iter().all(|id| !id.is_empty()))
        }
        Key::NoDefaultAlpn | Key::Ohttp => value.is_empty(),
        Key::Port => value.len() == 2,
        Key::Ipv4Hint => !value.is_empty() && value.len().is_multiple_of(4),
        Key::Ipv6Hint => !value.is_empty() && value.len().is_multiple_of(16),
        Key::Ech => !value.is_empty(),
        Key::DohPath => !value.is_empty() && std::str::from_utf8(value).is_ok(),
        Key::Other(code) => code != INVALID_KEY,
    };
    if is_valid { Ok(()) } else { Err(format!("has a bad value for {}", key.name()).into()) }
}

/// RFC 9460 section 8: ascending, each once, never itself, and each there.
fn check_mandatory(value: &[u8], all: &[u8]) -> Result<(), Problem> {
    let (codes, odd) = value.as_chunks::<2>();
    let codes: Vec<u16> = codes.iter().map(|code| u16::from_be_bytes(*code)).collect();
    if codes.is_empty() || !odd.is_empty() || !codes.is_sorted_by(|left, right| left < right) {
        return Err("has a bad value for mandatory".into());
    }
    match codes.iter().map(|code| Key::from_code(*code)).find(|key| *key == Key::Mandatory || !has(all, *key))
    {
        Some(Key::Mandatory) => Err("has mandatory listing itself".into()),
        Some(key) => Err(format!("has mandatory listing {}, which is not there", key.name()).into()),
        None => Ok(()),
    }
}

fn has(octets: &[u8], key: Key) -> bool {
    params(octets).any(|(there, _)| there == key)
}

/// The parameters, up to the first that is cut off.
fn params(octets: &[u8]) -> impl Iterator<Item = (Key, &[u8])> {
    let mut rest = octets;
    std::iter::from_fn(move || {
        let (code, value, tail) = split(rest)?;
        rest = tail;
        Some((Key::from_code(code), value))
    })
}

fn split(octets: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (code, rest) = octets.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    Some((u16::from_be_bytes(*code), value, rest))
}

/// Strings after their length octets, if none is cut off.
fn strings(value: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = value;
    let mut strings = Vec::new();
    while let Some((length, tail)) = rest.split_first() {
        let (string, tail) = tail.split_at_checked(usize::from(*length))?;
        strings.push(string);
        rest = tail;
    }
    Some(strings)
}

// === impl Key ===

impl Key {
    fn from_code(code: u16) -> Self {
        NAMES.get(usize::from(code)).map_or(Self::Other(code), |(key, _)| *key)
    }

    fn code(self) -> u16 {
        match self {
            Self::Mandatory => 0,
            Self::Alpn => 1,
            Self::NoDefaultAlpn => 2,
            Self::Port => 3,
            Self::Ipv4Hint => 4,
            Self::Ech => 5,
            Self::Ipv6Hint => 6,
            Self::DohPath => 7,
            Self::Ohttp => 8,
            Self::Other(code) => code,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Other(code) => format!("key{code}"),
            named => NAMES[usize::from(named.code())].1.into(),
        }
    }
}
