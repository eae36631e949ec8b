//! Printing service parameters in key order; texts quoted, numbers and addresses bare.

use std::{
    fmt::{self, Write},
    net::{Ipv4Addr, Ipv6Addr},
};

use data_encoding::BASE64;

use super::{
    super::print::{escaped, quoted},
    Key, params, strings,
};

/// Writes the parameters with a blank between them.
pub(in super::super) fn print(octets: &[u8], out: &mut impl Write) -> fmt::Result {
    for (index, (key, value)) in params(octets).enumerate() {
        if index > 0 {
            out.write_char(' ')?;
        }
        out.write_str(&key.name())?;
        match key {
            Key::NoDefaultAlpn | Key::Ohttp => {}
            Key::Other(_) if value.is_empty() => {}
            Key::Other(_) | Key::DohPath => {
                out.write_char('=')?;
                quoted(value, out)?;
            }
            Key::Alpn => alpn(value, out)?,
            Key::Port => {
                let port = value.try_into().map_err(|_| fmt::Error)?;
                write!(out, "={}", u16::from_be_bytes(port))?;
            }
            Key::Ech => {
                out.write_char('=')?;
                BASE64.encode_write(value, out)?;
            }
            Key::Mandatory => {
                let (codes, _) = value.as_chunks::<2>();
                list(codes.iter().map(|code| Key::from_code(u16::from_be_bytes(*code)).name()), out)?;
            }
            Key::Ipv4Hint => list(value.as_chunks::<4>().0.iter().copied().map(Ipv4Addr::from), out)?,
            Key::Ipv6Hint => list(value.as_chunks::<16>().0.iter().copied().map(Ipv6Addr::from), out)?,
        }
    }
    Ok(())
}

fn list<Item: fmt::Display>(items: impl Iterator<Item = Item>, out: &mut impl Write) -> fmt::Result {
    for (index, item) in items.enumerate() {
        write!(out, "{}{item}", if index == 0 { '=' } else { ',' })?;
    }
    Ok(())
}

/// RFC 9460 appendix A.1: commas and backslashes inside an item are escaped once for the list, and the
/// result once more for the character-string.
fn alpn(value: &[u8], out: &mut impl Write) -> fmt::Result {
    out.write_str("=\"")?;
    for (index, id) in strings(value).ok_or(fmt::Error)?.into_iter().enumerate() {
        if index > 0 {
            out.write_char(',')?;
        }
        for octet in id {
            if matches!(octet, b',' | b'\\') {
                escaped(b"\\", out)?;
            }
            escaped(&[*octet], out)?;
        }
    }
    out.write_char('"')
}
