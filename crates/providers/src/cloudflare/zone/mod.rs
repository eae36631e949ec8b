//! The zone itself at Cloudflare: created, activated, configured, signed, deleted. Its records are not its business.

pub(super) mod change;
pub(super) mod create;
pub(super) mod explain;
pub(super) mod primaries;
pub(super) mod state;

use serde_json::{Map, Value};
use zonekeeper_kernel::zone_change::{PRIMARIES, TRANSFER_TSIG, TYPE};

/// What can be configured of a zone. A name that ends in a dot stands for all that begin with it.
pub(super) const FIELDS: &[&str] = &[
    TYPE,
    PRIMARIES,
    TRANSFER_TSIG,
    "paused",
    "dnssec",
    "hold.enabled",
    "hold.includeSubdomains",
    "dnsSettings.",
    "settings.",
];

/// A field, by the endpoint that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint<'a> {
    /// A property of the zone.
    Zone(&'a str),
    /// The hold on its name.
    Hold(&'a str),
    /// DNSSEC.
    Dnssec,
    /// Where a secondary zone is transferred from.
    Incoming,
    /// `dns_settings`: the path within it.
    DnsSettings(&'a str),
    /// A setting by its id, and the path within its value.
    Setting(&'a str, Option<&'a str>),
}

// === impl Endpoint ===

impl<'a> Endpoint<'a> {
    fn of(field: &'a str) -> Option<Self> {
        match field.split_once('.') {
            None if field == "dnssec" => Some(Self::Dnssec),
            None if [PRIMARIES, TRANSFER_TSIG].contains(&field) => Some(Self::Incoming),
            None => [TYPE, "paused"].contains(&field).then_some(Self::Zone(field)),
            Some(("hold", name)) => Some(Self::Hold(name)),
            Some(("dnsSettings", path)) => Some(Self::DnsSettings(path)),
            Some(("settings", path)) => Some(match path.split_once('.') {
                Some((id, path)) => Self::Setting(id, Some(path)),
                None => Self::Setting(path, None),
            }),
            Some(_) => None,
        }
    }

    /// The permission of a token that its changes need.
    fn permission(self) -> &'static str {
        match self {
            Self::Zone(_) | Self::Hold(_) => "Zone Write",
            Self::Dnssec | Self::Incoming => "DNS Write",
            Self::DnsSettings(_) => "DNS Write or Zone DNS Settings Write",
            Self::Setting(_, _) => "Zone Settings Write",
        }
    }
}

/// The value at a path within an object: `soa.refresh`.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

/// Sets the value at a path within an object, and makes the objects on the way.
fn put(object: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(object.insert(path.to_owned(), value)),
        Some((key, rest)) => {
            let inner = object.entry(key).or_insert_with(|| Value::Object(Map::new()));
            if !inner.is_object() {
                *inner = Value::Object(Map::new());
            }
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// The value of a field, in the one form in which values are compared.
fn text(value: &Value) -> String {
    value.to_string()
}

/// The value that a text of a field stands for.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_belongs_to_one_endpoint() {
        assert_eq!(Endpoint::of("paused"), Some(Endpoint::Zone("paused")));
        assert_eq!(Endpoint::of("primaries"), Some(Endpoint::Incoming));
        assert_eq!(Endpoint::of("settings.ssl"), Some(Endpoint::Setting("ssl", None)));
        let nested = "settings.security_header.strict_transport_security.enabled";
        let path = "strict_transport_security.enabled";
        assert_eq!(Endpoint::of(nested), Some(Endpoint::Setting("security_header", Some(path))));
        assert_eq!(Endpoint::of("dnsSettings.soa.refresh"), Some(Endpoint::DnsSettings("soa.refresh")));
        assert_eq!(Endpoint::of("somewhere.else"), None);
    }

    #[test]
    fn values_are_put_beside_others() {
        let mut object = Map::from_iter([("soa".to_owned(), json!({"retry": 1}))]);
        put(&mut object, "soa.refresh", json!(2));
        put(&mut object, "ns_ttl", json!(3));
        assert_eq!(Value::Object(object), json!({"ns_ttl": 3, "soa": {"refresh": 2, "retry": 1}}));
    }
}
