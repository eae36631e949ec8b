//! Names as the API stores them: absolute, lower-case, Punycode, without the trailing dot.

use crate::{
    error::{ApiError, error},
    knobs::{HostnameCase, Knobs, NameOutsideZone},
};

/// The full name of a record: `@` is the apex, anything not under the zone is relative to it.
pub fn record_name(given: &str, zone: &str, knobs: &Knobs) -> Result<String, ApiError> {
    let invalid = || error(9000, "DNS name is invalid.");
    let is_absolute = given.ends_with('.');
    let name = ascii(given.strip_suffix('.').unwrap_or(given)).ok_or_else(invalid)?;
    let full = if name == "@" {
        zone.to_owned()
    } else if is_within(&name, zone) {
        name
    } else if is_absolute && knobs.name_outside_zone == NameOutsideZone::Refuse {
        return Err(invalid());
    } else {
        format!("{name}.{zone}")
    };
    if is_valid(&full) { Ok(full) } else { Err(invalid()) }
}

/// A hostname in content; `None` if it is no hostname. A lone `.` stays as it is.
pub fn hostname(given: &str, knobs: &Knobs) -> Option<String> {
    let bare = given.strip_suffix('.').unwrap_or(given);
    if given == "." {
        return Some(given.to_owned());
    }
    let lower = ascii(bare)?;
    if !is_valid(&lower) || lower.parse::<std::net::IpAddr>().is_ok() {
        return None;
    }
    match knobs.hostname_case {
        HostnameCase::Keep if bare.is_ascii() => Some(bare.to_owned()),
        HostnameCase::Keep | HostnameCase::Lower => Some(lower),
    }
}

/// A zone name; `None` if it could not be registered.
pub fn zone_name(given: &str) -> Option<String> {
    let name = ascii(given.strip_suffix('.').unwrap_or(given))?;
    (is_valid(&name) && name.contains('.')).then_some(name)
}

/// The Unicode form, for the knob that shows zones so.
pub fn unicode(name: &str) -> String {
    idna::domain_to_unicode(name).0
}

pub fn is_within(name: &str, zone: &str) -> bool {
    name.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Lower-case A-labels. Most names are ASCII already and skip the IDNA tables.
pub fn ascii(name: &str) -> Option<String> {
    if name.is_ascii() { Some(name.to_ascii_lowercase()) } else { idna::domain_to_ascii(name).ok() }
}

fn is_valid(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_label)
}

/// An inner `*` is a literal label at Cloudflare, so it needs no rule of its own.
fn is_label(label: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*' | b'/');
    (1..=63).contains(&label.len()) && label.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(given: &str, expected: &str) {
        assert_eq!(record_name(given, "example.com", &Knobs::default()).unwrap(), expected);
    }

    #[test]
    fn names_become_absolute() {
        becomes("www", "www.example.com");
        becomes("@", "example.com");
        becomes("WWW.Example.com.", "www.example.com");
        becomes("münchen", "xn--mnchen-3ya.example.com");
        becomes("a-*.b", "a-*.b.example.com");
        becomes("notexample.com", "notexample.com.example.com");
    }

    #[test]
    fn an_ip_address_is_no_hostname() {
        assert_eq!(hostname("192.0.2.1", &Knobs::default()), None);
        assert_eq!(hostname("no host", &Knobs::default()), None);
        assert_eq!(hostname("Mail.Example.com.", &Knobs::default()).as_deref(), Some("mail.example.com"));
    }
}
