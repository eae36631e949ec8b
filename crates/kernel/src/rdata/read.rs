//! Reading one field: from presentation format to its octets on the wire.

use std::{
    borrow::Cow,
    fmt::Display,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use data_encoding::{BASE64, HEXLOWER_PERMISSIVE};

use super::{
    error::Fault,
    loc, svcparams,
    table::Kind,
    tokens::{Token, Tokens},
    wire::check,
};
use crate::name::Name;

const MAX_STRING: usize = 255;

/// Reads a field of this kind and appends its octets to `wire`, which holds the fields before it.
///
/// Guarantees: the octets appended are canonical and pass [`check`].
pub(super) fn read(kind: Kind, tokens: &mut Tokens<'_>, wire: &mut Vec<u8>) -> Result<(), Fault> {
    let start = wire.len();
    let from = *tokens;
    match kind {
        Kind::U8 => wire.push(number(tokens.required()?.raw, u8::MAX)?),
        Kind::U16 => wire.extend(number(tokens.required()?.raw, u16::MAX)?.to_be_bytes()),
        Kind::U32 => wire.extend(number(tokens.required()?.raw, u32::MAX)?.to_be_bytes()),
        Kind::Code8(names) => wire.push(code(tokens.required()?.raw, u8::MAX, names)?),
        Kind::Code16(names) => wire.extend(code(tokens.required()?.raw, u16::MAX, names)?.to_be_bytes()),
        Kind::Name | Kind::Target(_) => name(tokens.required()?.raw)?.to_wire(wire),
        Kind::Ipv4 => wire.extend(address::<Ipv4Addr>(tokens.required()?.raw, "an IPv4 address")?.octets()),
        Kind::Ipv6 => wire.extend(address::<Ipv6Addr>(tokens.required()?.raw, "an IPv6 address")?.octets()),
        Kind::CharString => string(tokens.required()?, wire)?,
        Kind::CharStrings => match tokens.unquoted_whole() {
            Some(whole) => strings(whole, wire)?,
            None => {
                strings(tokens.required()?, wire)?;
                while let Some(token) = tokens.next()? {
                    strings(token, wire)?;
                }
            }
        },
        Kind::Digest { .. } => {
            let text = digits(tokens)?;
            let octets = HEXLOWER_PERMISSIVE.decode(text.as_bytes());
            wire.extend(octets.map_err(|_| Fault::bad(&text, "is not hexadecimal"))?);
        }
        Kind::Base64 => {
            let text = digits(tokens)?;
            let octets = BASE64.decode(text.as_bytes());
            wire.extend(octets.map_err(|_| Fault::bad(&text, "is not base64"))?);
        }
        Kind::Tag => {
            let token = tokens.required()?;
            wire.push(u8::try_from(token.raw.len()).map_err(|_| too_long(token.raw))?);
            wire.extend(token.raw.bytes().map(|byte| byte.to_ascii_lowercase()));
        }
        Kind::Text(_) => wire.extend_from_slice(&tokens.text_to_end()?.octets()?),
        Kind::SvcParams => svcparams::read(&tokens.rest(), wire)?,
        Kind::Loc => loc::read(&tokens.rest(), wire)?,
    }
    let (before, octets) = wire.split_at(start);
    check(kind, before, octets).map_err(|problem| Fault::bad(&from.up_to(*tokens), problem))
}

/// Reads a decimal number of digits only.
pub(super) fn number<N: TryFrom<u64> + PartialOrd + Display>(text: &str, largest: N) -> Result<N, Fault> {
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits
        .and_then(|digits| digits.parse::<u64>().ok())
        .and_then(|number| N::try_from(number).ok())
        .filter(|number| *number <= largest)
        .ok_or_else(|| Fault::bad(text, format!("is not a number from 0 to {largest}")))
}

fn code<N>(text: &str, largest: N, names: &[(&str, N)]) -> Result<N, Fault>
where
    N: TryFrom<u64> + PartialOrd + Display + Copy,
{
    if let Some((_, code)) = names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        return Ok(*code);
    }
    number(text, largest).map_err(|_| {
        Fault::bad(text, format!("is neither a number from 0 to {largest} nor a known mnemonic"))
    })
}

fn address<Address: FromStr>(text: &str, what: &str) -> Result<Address, Fault> {
    text.parse().map_err(|_| Fault::bad(text, format!("is not {what}")))
}

fn name(text: &str) -> Result<Name, Fault> {
    // An all-numeric name is legal, but a text that looks like an address is hardly meant as one; a final dot says so.
    let may_be_address = text.as_bytes().last().is_some_and(|byte| byte.is_ascii_hexdigit() || *byte == b':');
    if may_be_address && text.parse::<IpAddr>().is_ok() {
        return Err(Fault::bad(text, "is an IP address, not a name; use an A or AAAA record for addresses"));
    }
    Name::parse(text).map_err(|error| Fault::bad(text, format!("is not a domain name ({error})")))
}

fn string(token: Token<'_>, wire: &mut Vec<u8>) -> Result<(), Fault> {
    let octets = token.octets()?;
    wire.push(u8::try_from(octets.len()).map_err(|_| too_long(token.raw))?);
    wire.extend_from_slice(&octets);
    Ok(())
}

/// Appends a text as character-strings, as many as its length asks for.
fn strings(token: Token<'_>, wire: &mut Vec<u8>) -> Result<(), Fault> {
    let octets = token.octets()?;
    if octets.is_empty() {
        wire.push(0);
    }
    for chunk in octets.chunks(MAX_STRING) {
        wire.push(u8::try_from(chunk.len()).expect("a chunk has at most 255 octets"));
        wire.extend_from_slice(chunk);
    }
    Ok(())
}

fn too_long(text: &str) -> Fault {
    Fault::bad(text, "has more than 255 octets")
}

fn digits<'a>(tokens: &mut Tokens<'a>) -> Result<Cow<'a, str>, Fault> {
    let text = tokens.rest_without_blanks();
    if text.is_empty() { Err(Fault::Missing) } else { Ok(text) }
}
