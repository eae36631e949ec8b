//! What a record has besides its value: TTL, comment, tags, and whether it can be proxied.

use std::net::IpAddr;

use crate::{
    config::Limits,
    error::{ApiError, error},
    kinds::{Kind, Proxy},
    knobs::{Knobs, PaidTagLimit},
};

pub fn ttl(given: Option<i64>, proxied: bool, limits: &Limits) -> Result<u32, ApiError> {
    let min = limits.min_ttl;
    let refused = || error(9021, format!("TTL must be between {min} and 86400 seconds, or 1 for Automatic."));
    let ttl = u32::try_from(given.unwrap_or(1)).map_err(|_| refused())?;
    match ttl {
        _ if ttl != 1 && !(min..=86_400).contains(&ttl) => Err(refused()),
        _ if proxied => Ok(1),
        ttl => Ok(ttl),
    }
}

pub fn comment(given: Option<String>, limits: &Limits) -> Result<Option<String>, ApiError> {
    let comment = given.filter(|comment| !comment.is_empty());
    match &comment {
        Some(text) if text.chars().count() > limits.comment => {
            let text =
                format!("DNS record comment exceeds the maximum length of {} characters.", limits.comment);
            Err(error(9313, text))
        }
        Some(text) if text.contains(['\n', '\r']) => Err(error(9313, "DNS record comment has a line break.")),
        _ => Ok(comment),
    }
}

pub fn tags(given: Vec<String>, limits: &Limits, knobs: &Knobs) -> Result<Vec<String>, ApiError> {
    let is_limited = limits.tags == 0 || knobs.paid_tag_limit == PaidTagLimit::Enforced;
    if is_limited && given.len() > limits.tags {
        let text = format!("DNS record has {} tags, exceeding the quota of {}.", given.len(), limits.tags);
        return Err(error(9300, text));
    }
    let is_name = |name: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        (1..=32).contains(&name.len()) && name.bytes().all(allowed)
    };
    for tag in &given {
        let (name, value) = tag.split_once(':').unwrap_or((tag, ""));
        if !is_name(name) || value.chars().count() > 100 {
            return Err(error(9300, format!("DNS record tag {tag} is invalid.")));
        }
    }
    Ok(given)
}

/// Cloudflare's edge can't fetch from private or its own resolver addresses.
pub fn is_proxiable(kind: &Kind, content: &str) -> bool {
    if kind.proxy == Proxy::Never {
        return false;
    }
    match content.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            let is_resolver = matches!(address.octets(), [1, 1, 1, 1] | [1, 0, 0, 1]);
            let is_local = address.is_private() || address.is_loopback() || address.is_link_local();
            !(is_resolver || is_local || address.is_unspecified() || address.is_multicast())
        }
        Ok(IpAddr::V6(address)) => {
            let is_local =
                address.is_unique_local() || address.is_unicast_link_local() || address.is_loopback();
            !(is_local || address.is_unspecified() || address.is_multicast())
        }
        Err(_) => true,
    }
}
