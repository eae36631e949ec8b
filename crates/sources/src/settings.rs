//! What annotations say besides names and values: TTL, proxied, comment, tags, zones.

use zonekeeper_api::GoDuration;
use zonekeeper_kernel::{record::Ttl, zone::ZoneKey};

use crate::dialect::Setting;

/// What a set gets besides its values; none leaves it to the zone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Settings {
    pub ttl: Option<Ttl>,
    pub proxied: Option<bool>,
    pub comment: Option<String>,
    pub tags: Option<Vec<String>>,
}

/// ExternalDNS's largest TTL, and that of RFC 2181 section 8.
const MAX_TTL: u64 = 2_147_483_647;

// === impl Settings ===

impl Settings {
    /// The settings that are spelled as one value each.
    pub const SIMPLE: [Setting; 4] = [Setting::Ttl, Setting::Proxied, Setting::Comment, Setting::Tags];

    /// Takes one setting from its text, or says what is accepted.
    pub fn set(&mut self, setting: Setting, text: &str) -> Result<(), String> {
        match setting {
            Setting::Ttl => self.ttl = Some(ttl(text)?),
            Setting::Proxied => self.proxied = Some(boolean(text)?),
            Setting::Comment => self.comment = Some(text.to_owned()),
            Setting::Tags => {
                let mut tags = list(text);
                tags.sort();
                tags.dedup();
                self.tags = Some(tags);
            }
            _ => {}
        }
        Ok(())
    }

    /// Fills what is open here with other settings.
    pub fn inherit(&mut self, other: &Self) {
        self.ttl = self.ttl.or(other.ttl);
        self.proxied = self.proxied.or(other.proxied);
        self.comment = self.comment.take().or_else(|| other.comment.clone());
        self.tags = self.tags.take().or_else(|| other.tags.clone());
    }
}

/// A list separated by commas, without spaces around its items and without empty ones.
pub(crate) fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// Seconds, or a Go duration whose fraction of a second is cut.
pub(crate) fn ttl(text: &str) -> Result<Ttl, String> {
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => Some(seconds),
        Err(_) => GoDuration::new(text).to_std().ok().map(|duration| duration.as_secs()),
    };
    let seconds = seconds.filter(|seconds| (1..=MAX_TTL).contains(seconds));
    seconds.and_then(|seconds| u32::try_from(seconds).ok()).map(Ttl).ok_or_else(|| {
        format!("{text:?} is not a TTL; write seconds from 1 to {MAX_TTL}, or a duration such as 5m")
    })
}

/// What Go takes for a boolean.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false; write \"true\" or \"false\"")),
    }
}

/// Zones, as `namespace/name` or a name in the object's own namespace, separated by commas.
pub(crate) fn zones(text: &str, own: &str) -> Result<Vec<ZoneKey>, String> {
    let mut zones = Vec::new();
    for item in list(text) {
        let (namespace, name) = item.split_once('/').unwrap_or((own, &item));
        if namespace.is_empty() || name.is_empty() || name.contains('/') {
            return Err(format!("{item:?} is not a DNSZone; write namespace/name, several with commas"));
        }
        zones.push(ZoneKey { namespace: namespace.to_owned(), name: name.to_owned() });
    }
    zones.sort();
    zones.dedup();
    Ok(zones)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_75_a_ttl_is_seconds_or_a_duration_and_anything_else_is_named() {
        for (text, seconds) in
            [("10", 10), ("1m", 60), ("1h30m", 5400), ("1.9s", 1), ("2147483647", 2147483647)]
        {
            assert_eq!(ttl(text), Ok(Ttl(seconds)), "{text}");
        }
        for bad in ["foo", "-10", "0", "", "500ms", "2147483648", "10 "] {
            assert!(ttl(bad).unwrap_err().contains("write seconds from 1 to 2147483647"), "{bad}");
        }
    }

    #[test]
    fn booleans_are_gos() {
        assert_eq!((boolean("T"), boolean("0")), (Ok(true), Ok(false)));
        assert!(boolean("yes").is_err() && boolean("").is_err());
    }

    #[test]
    fn zones_are_named_with_or_without_their_namespace() {
        let zones =
            |text| zones(text, "shop").map(|zones| zones.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(zones("dns/public, private").unwrap(), ["dns/public", "shop/private"]);
        assert!(zones("a/b/c").is_err() && zones("/b").is_err());
        assert_eq!(zones("").unwrap(), [""; 0]);
    }
}
