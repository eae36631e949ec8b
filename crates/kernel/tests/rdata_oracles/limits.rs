//! What the oracles can't do: each function excludes exactly one fault or gap of one version.

use zonekeeper_kernel::rdata::{Kind, Rdata, RecordType, row};

/// domain 0.12.3 has no presentation format for these: it reads and prints them by RFC 3597 only.
pub fn domain_has_text_form(rtype: RecordType) -> bool {
    use RecordType as T;
    rtype.is_known() && ![T::URI, T::LOC, T::CERT, T::SMIMEA].contains(&rtype)
}

/// domain 0.12.3 refuses keys with a 9 (`0x30..0x39` where it means `..=`), has its own format for key 9, and
/// knows no escapes in alpn.
pub fn has_param_that_domain_cannot_read(value: &Rdata) -> bool {
    params(value).any(|(code, octets)| match code {
        1 => octets.contains(&b',') || octets.contains(&b'\\'),
        code => code.to_string().contains('9'),
    })
}

/// domain 0.12.3 prints no-default-alpn as `nodefaultalpn`, alpn and dohpath unescaped, and keys 9 to 12 by
/// names of their own. In names it leaves these characters unescaped, which our names refuse:
const UNESCAPED_BY_DOMAIN: [(char, &str); 8] = [
    ('"', "\\034"),
    ('$', "\\036"),
    ('(', "\\040"),
    (')', "\\041"),
    (',', "\\044"),
    (':', "\\058"),
    (';', "\\059"),
    ('@', "\\064"),
];

pub fn is_printed_wrongly_by_domain(value: &Rdata) -> bool {
    let is_odd = |octet: &u8| !octet.is_ascii_alphanumeric();
    names(value).iter().any(|name| UNESCAPED_BY_DOMAIN.iter().any(|(_, escape)| name.contains(escape)))
        || params(value).any(|(code, octets)| match code {
            1 => strings(&octets).iter().any(|id| id.iter().any(is_odd)),
            2 | 9..=12 => true,
            7 => octets.iter().any(is_odd),
            _ => false,
        })
}

/// hickory-proto 0.26.3 wants letters and digits as NAPTR flags, UTF-8 in alpn, and octets in every value; it
/// takes 65305 for its own ANAME.
pub fn is_refused_by_hickory(value: &Rdata) -> bool {
    has_odd_flags(value)
        || value.wire().is_empty()
        || value.rtype().code() == 65_305
        || params(value).any(|(code, octets)| {
            code == 1 && strings(&octets).into_iter().any(|id| String::from_utf8(id).is_err())
        })
}

/// hickory-proto 0.26.3 has no presentation format for some types; shifts the digits of `\DDD` by eight bits
/// each; wants labels to be host names that may start with one underscore; takes SOA times as signed; knows
/// neither dohpath nor ohttp; and reads service parameters as bare words, in which `@`, `$`, `;`, quotes, blanks
/// and escapes mean something else.
pub fn hickory_has_text_form(value: &Rdata) -> bool {
    use RecordType as T;
    let text = value.to_string();
    let has_number_escape =
        text.match_indices('\\').any(|(at, _)| text[at + 1..].starts_with(char::is_numeric));
    let is_odd = |octet: &u8| !octet.is_ascii_alphanumeric();
    let has_odd_param = params(value).any(|(code, octets)| match code {
        1 => strings(&octets).iter().any(|id| id.iter().any(is_odd)),
        7 | 8 => true,
        0..9 => false,
        _ => octets.iter().any(is_odd),
    });
    value.rtype().is_known()
        && ![T::DNAME, T::DS, T::DNSKEY, T::URI, T::LOC].contains(&value.rtype())
        && !has_number_escape
        && names(value).iter().all(|name| name.split('.').all(is_host_label))
        && !has_odd_param
        && !has_odd_flags(value)
        && !(value.rtype() == T::SOA
            && value.fields()[3..6].iter().any(|field| field.text.parse::<i32>().is_err()))
}

fn has_odd_flags(value: &Rdata) -> bool {
    value.rtype() == RecordType::NAPTR
        && !value.fields()[2].text.chars().all(|flag| flag.is_ascii_alphanumeric())
}

fn is_host_label(label: &str) -> bool {
    let label = label.strip_prefix('_').unwrap_or(label);
    let is_reserved = label.get(2..4) == Some("--");
    !is_reserved && !label.contains(['_', '*', '/']) && !label.starts_with('-') && !label.ends_with('-')
}

/// The names in a value, as canonical text.
fn names(value: &Rdata) -> Vec<String> {
    let fields = row(value.rtype()).map_or(&[][..], |row| row.fields);
    let is_name = |kind: Kind| matches!(kind, Kind::Name | Kind::Target(_));
    let named = fields.iter().zip(value.fields()).filter(|(field, _)| is_name(field.kind));
    named.map(|(_, there)| there.text).collect()
}

/// The service parameters of an HTTPS or SVCB value; none of others.
fn params(value: &Rdata) -> impl Iterator<Item = (u16, Vec<u8>)> {
    let mut rest = match value.rtype() {
        RecordType::HTTPS | RecordType::SVCB => {
            let mut name = Vec::new();
            value.target().unwrap().to_wire(&mut name);
            value.wire()[2 + name.len()..].to_vec()
        }
        _ => Vec::new(),
    };
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]));
        let param = (u16::from_be_bytes([rest[0], rest[1]]), rest[4..4 + length].to_vec());
        rest.drain(..4 + length);
        Some(param)
    })
}

fn strings(octets: &[u8]) -> Vec<Vec<u8>> {
    let (mut rest, mut strings) = (octets, Vec::new());
    while let Some((length, tail)) = rest.split_first() {
        strings.push(tail[..usize::from(*length)].to_vec());
        rest = &tail[usize::from(*length)..];
    }
    strings
}
