//! Host names of listeners and routes, and where they meet.

use std::net::IpAddr;

/// What both a listener and a route serve; an empty host serves everything, `*.x` all names below x.
///
/// Guarantees: symmetric; the more specific of the two, in lower case; none where one is an address or no host name.
pub(super) fn intersection(one: &str, other: &str) -> Option<String> {
    let (one, other) = (normal(one)?, normal(other)?);
    let is_wide = |host: &str| host.starts_with("*.");
    match (one.as_str(), other.as_str()) {
        ("", "") => None,
        ("", _) => Some(other),
        (_, "") => Some(one),
        _ if one == other => Some(one),
        (wide, narrow) if is_wide(wide) && narrow.ends_with(&wide[1..]) => Some(other),
        (narrow, wide) if is_wide(wide) && narrow.ends_with(&wide[1..]) => Some(one),
        _ => None,
    }
}

/// Lower case without a final dot, where it is a host name at all.
pub(super) fn normal(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if host.is_empty() {
        return Some(host);
    }
    let plain = host.strip_prefix("*.").unwrap_or(&host);
    let is_name = plain.len() <= 253 && plain.split('.').all(is_label) && plain.parse::<IpAddr>().is_err();
    is_name.then_some(host)
}

fn is_label(label: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&label.len())
        && label.bytes().all(is_inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_more_specific_host_wins_and_a_wildcard_spans_labels_but_not_its_parent() {
        let meet = |one, other| intersection(one, other).unwrap_or_else(|| "-".into());
        assert_eq!(meet("", "www.example.com"), "www.example.com");
        assert_eq!(meet("", ""), "-");
        assert_eq!(meet("*.example.com", "a.b.example.com"), "a.b.example.com");
        assert_eq!(meet("*.example.com", "example.com"), "-");
        assert_eq!(meet("*.example.com", "*.b.example.com"), "*.b.example.com");
        assert_eq!(meet("WWW.Example.com", "www.example.com."), "www.example.com");
        assert_eq!(meet("www.example.com", "api.example.com"), "-");
        assert_eq!(meet("", "192.0.2.1"), "-");
        assert_eq!(meet("", "a_b.example.com"), "-");
    }

    proptest! {
        #[test]
        fn intersection_is_symmetric(one in "(\\*\\.)?[a-c.]{0,5}", other in "(\\*\\.)?[a-c.]{0,5}") {
            prop_assert_eq!(intersection(&one, &other), intersection(&other, &one));
        }

        #[test]
        fn nothing_panics(one in ".{0,20}", other in ".{0,20}") {
            let _ = intersection(&one, &other);
        }
    }
}
