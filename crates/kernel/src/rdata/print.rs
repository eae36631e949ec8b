//! Printing one field: from its octets on the wire to canonical presentation format.

use std::{
    fmt::{self, Write},
    net::{Ipv4Addr, Ipv6Addr},
};

use data_encoding::{BASE64, HEXLOWER};

use super::{
    FieldKind, FieldValue, loc, svcparams,
    table::{Field, Kind},
};
use crate::name::Name;

/// Writes a field as it stands in a zone file.
///
/// Assumes: the octets passed the checks of `wire`; otherwise it answers with an error.
pub(super) fn print(kind: Kind, octets: &[u8], out: &mut impl Write) -> fmt::Result {
    match kind {
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::Code8(_) | Kind::Code16(_) => {
            write!(out, "{}", number(octets))
        }
        Kind::Ipv4 => {
            let octets: [u8; 4] = octets.try_into().map_err(|_| fmt::Error)?;
            write!(out, "{}", Ipv4Addr::from(octets))
        }
        Kind::Ipv6 => {
            let octets: [u8; 16] = octets.try_into().map_err(|_| fmt::Error)?;
            write!(out, "{}", Ipv6Addr::from(octets))
        }
        Kind::Name | Kind::Target(_) => name(octets, out),
        Kind::CharString => quoted(octets.get(1..).ok_or(fmt::Error)?, out),
        Kind::CharStrings => {
            for (index, string) in strings(octets).enumerate() {
                if index > 0 {
                    out.write_char(' ')?;
                }
                quoted(string, out)?;
            }
            Ok(())
        }
        Kind::Digest { .. } => HEXLOWER.encode_write(octets, out),
        Kind::Base64 => BASE64.encode_write(octets, out),
        Kind::Tag => out.write_str(&String::from_utf8_lossy(octets.get(1..).ok_or(fmt::Error)?)),
        Kind::Text(_) => quoted(octets, out),
        Kind::SvcParams => svcparams::print(octets, out),
        Kind::Loc => loc::print(octets, out),
    }
}

/// Appends a field's values as an API wants them: no quotes, no escapes, no trailing dot.
pub(super) fn values(field: &Field, octets: &[u8], values: &mut Vec<FieldValue>) {
    let (kind, text) = match field.kind {
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::Code8(_) | Kind::Code16(_) => {
            (FieldKind::Number, number(octets).to_string())
        }
        Kind::Name | Kind::Target(_) => {
            (FieldKind::Text, Name::from_wire(octets).map(|(name, _)| name.to_string()).unwrap_or_default())
        }
        Kind::CharString | Kind::CharStrings => {
            (FieldKind::Text, String::from_utf8_lossy(&strings(octets).collect::<Vec<_>>().concat()).into())
        }
        Kind::Text(_) => (FieldKind::Text, String::from_utf8_lossy(octets).into()),
        Kind::Loc => return loc::values(octets, values),
        Kind::Ipv4 | Kind::Ipv6 | Kind::Digest { .. } | Kind::Base64 | Kind::Tag | Kind::SvcParams => {
            let mut text = String::new();
            // Writing to a String fails only on octets that `wire` would have refused.
            let _ = print(field.kind, octets, &mut text);
            (FieldKind::Text, text)
        }
    };
    values.push(FieldValue { name: field.name, kind, text });
}

/// Writes octets between quotes; what is not printable ASCII as `\DDD`.
pub(super) fn quoted(octets: &[u8], out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    escaped(octets, out)?;
    out.write_char('"')
}

/// Writes octets as the inside of a quoted string.
pub(super) fn escaped(octets: &[u8], out: &mut impl Write) -> fmt::Result {
    let mut rest = octets;
    while !rest.is_empty() {
        let plain =
            rest.iter().take_while(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
        let (run, tail) = rest.split_at(plain.count());
        out.write_str(std::str::from_utf8(run).map_err(|_| fmt::Error)?)?;
        rest = match tail.split_first() {
            None => tail,
            Some((byte @ (b'"' | b'\\'), tail)) => {
                write!(out, "\\{}", char::from(*byte))?;
                tail
            }
            Some((byte, tail)) => {
                write!(out, "\\{byte:03}")?;
                tail
            }
        };
    }
    Ok(())
}

fn number(octets: &[u8]) -> u64 {
    octets.iter().fold(0, |sum, octet| sum << 8 | u64::from(*octet))
}

/// The character-strings one after the other, without their lengths.
fn strings(octets: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = octets;
    std::iter::from_fn(move || {
        let (length, tail) = rest.split_first()?;
        let (string, tail) = tail.split_at_checked(usize::from(*length))?;
        rest = tail;
        Some(string)
    })
}

/// Writes a name with its trailing dot; only names with odd octets take the way through [`Name`].
fn name(octets: &[u8], out: &mut impl Write) -> fmt::Result {
    let is_plain =
        |label: &[u8]| label.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'));
    if octets == [0] || !strings(octets).all(is_plain) {
        let (name, _) = Name::from_wire(octets).map_err(|_| fmt::Error)?;
        return out.write_str(&name.to_fqdn());
    }
    for label in strings(octets).take_while(|label| !label.is_empty()) {
        out.write_str(std::str::from_utf8(label).map_err(|_| fmt::Error)?)?;
        out.write_char('.')?;
    }
    Ok(())
}
