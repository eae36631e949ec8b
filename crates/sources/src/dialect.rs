//! Which annotation means what, in each dialect: one table.

use zonekeeper_api::{
    Dialect,
    wellknown::{CLOUDFLARE_OPERATOR_PREFIX, EXTERNAL_DNS_PREFIXES, PREFIX},
};

/// What an annotation can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// Names to publish.
    Hostname,
    /// Names to publish with the internal address.
    InternalHostname,
    /// Values in place of the object's own addresses.
    Target,
    /// Time to live.
    Ttl,
    /// Whether Cloudflare proxies the names.
    Proxied,
    /// The comment at Cloudflare.
    Comment,
    /// The tags at Cloudflare.
    Tags,
    /// The zones that take the names.
    Zone,
    /// Never publish.
    Ignore,
    /// Publish only if it is ExternalDNS's own name.
    Controller,
    /// Which addresses of nodes.
    Access,
    /// Which addresses of Pods.
    EndpointsType,
    /// Which hosts of an Ingress.
    IngressHostnameSource,
    /// Which hosts of a route.
    GatewayHostnameSource,
    /// The value, in cloudflare-operator's words.
    Content,
    /// An AddressSource, in cloudflare-operator's words.
    IpRef,
    /// The record type.
    Type,
}

/// One row: the setting, and its name after the prefix of our own, ExternalDNS's and cloudflare-operator's dialect.
type Row = (Setting, Option<&'static str>, Option<&'static str>, Option<&'static str>);

/// What is not here (account-ref, interval, set-identifier, alias, other providers' settings) changes nothing with us.
const TABLE: &[Row] = &[
    (Setting::Hostname, Some("hostname"), Some("hostname"), None),
    (Setting::InternalHostname, Some("internal-hostname"), Some("internal-hostname"), None),
    (Setting::Target, Some("target"), Some("target"), None),
    (Setting::Ttl, Some("ttl"), Some("ttl"), Some("ttl")),
    (Setting::Proxied, Some("proxied"), Some("cloudflare-proxied"), Some("proxied")),
    (Setting::Comment, Some("comment"), Some("cloudflare-record-comment"), Some("comment")),
    (Setting::Tags, Some("tags"), Some("cloudflare-tags"), None),
    (Setting::Zone, Some("zone"), None, None),
    (Setting::Ignore, Some("ignore"), None, None),
    (Setting::Controller, None, Some("controller"), None),
    (Setting::Access, None, Some("access"), None),
    (Setting::EndpointsType, None, Some("endpoints-type"), None),
    (Setting::IngressHostnameSource, None, Some("ingress-hostname-source"), None),
    (Setting::GatewayHostnameSource, None, Some("gateway-hostname-source"), None),
    (Setting::Content, None, None, Some("content")),
    (Setting::IpRef, None, None, Some("ip-ref")),
    (Setting::Type, None, None, Some("type")),
];

/// The annotation's name after the prefix, where the dialect has one for the setting.
pub fn suffix(dialect: Dialect, setting: Setting) -> Option<&'static str> {
    let (_, own, external_dns, cloudflare_operator) = TABLE.iter().find(|row| row.0 == setting)?;
    match dialect {
        Dialect::Zonekeeper => *own,
        Dialect::ExternalDns => *external_dns,
        Dialect::CloudflareOperator => *cloudflare_operator,
    }
}

/// The prefixes of a dialect, the strongest first.
pub fn prefixes(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Zonekeeper => &[PREFIX],
        Dialect::ExternalDns => &EXTERNAL_DNS_PREFIXES,
        Dialect::CloudflareOperator => &[CLOUDFLARE_OPERATOR_PREFIX],
    }
}

/// Whether a key looks like an annotation that names something to publish, under whatever prefix.
pub fn is_naming(key: &str) -> bool {
    let suffix = key.rsplit_once('/').map(|(_, suffix)| suffix);
    matches!(suffix, Some("hostname" | "internal-hostname"))
}

#[cfg(test)]
mod tests {
    use zonekeeper_api::wellknown::SOURCE_ANNOTATIONS;

    use super::*;

    #[test]
    fn our_own_dialect_has_every_annotation_of_the_api() {
        let own: Vec<String> =
            TABLE.iter().filter_map(|row| row.1).map(|suffix| format!("{PREFIX}{suffix}")).collect();
        assert_eq!(own, SOURCE_ANNOTATIONS);
    }
}
