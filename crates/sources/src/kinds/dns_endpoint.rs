//! ExternalDNS's DNSEndpoint: sets of any type, asked for by name.

use std::collections::BTreeSet;

use zonekeeper_api::Dialect;
use zonekeeper_kernel::{
    rdata::{Rdata, RecordType},
    reason::Reason,
};

use crate::{
    dialect,
    object::endpoint::{DnsEndpoint, Endpoint, Property},
    reader::Reader,
    settings::{Settings, ttl},
    wish::{Wanted, Wish},
};

pub(super) fn wishes(reader: &mut Reader<'_>, object: &DnsEndpoint) -> Vec<Wish> {
    let endpoints = object.spec.endpoints.iter().enumerate();
    endpoints.filter_map(|(index, endpoint)| wish(reader, index, endpoint)).collect()
}

fn wish(reader: &mut Reader<'_>, index: usize, endpoint: &Endpoint) -> Option<Wish> {
    let field = |part: &str| format!("spec.endpoints[{index}].{part}");
    let rtype = match endpoint.record_type.parse::<RecordType>() {
        Ok(rtype) => rtype,
        Err(error) => {
            reader.misname(field("recordType"), error.to_string());
            return None;
        }
    };
    let read = settings(endpoint).and_then(|settings| Ok((settings, values(rtype, endpoint)?)));
    let (settings, values) = match read {
        Ok((settings, values)) if values.is_empty() => {
            let message = format!("{} {rtype} has no targets", endpoint.dns_name);
            (settings, Err((Reason::TargetsUnknown, message)))
        }
        Ok((settings, values)) => (settings, Ok(values)),
        Err((part, message)) => {
            let why = (Reason::InvalidValue, format!("{}: {message}", field(part)));
            reader.misname(field(part), message);
            (Settings::default(), Err(why))
        }
    };
    Some(Wish {
        host: endpoint.dns_name.clone(),
        field: field("dnsName"),
        wanted: Wanted::Set(rtype, values),
        settings,
    })
}

/// The values, or which of them is none of the type.
fn values(rtype: RecordType, endpoint: &Endpoint) -> Result<Vec<Rdata>, (&'static str, String)> {
    let mut values = Vec::new();
    for target in endpoint.targets.iter().collect::<BTreeSet<_>>() {
        // As ExternalDNS has it: a replacement is written with its final dot.
        if rtype == RecordType::NAPTR && !target.ends_with('.') {
            return Err(("targets", format!("{target:?} must end in a dot")));
        }
        values.push(Rdata::parse(rtype, target).map_err(|error| ("targets", error.to_string()))?);
    }
    values.sort();
    values.dedup();
    Ok(values)
}

/// TTL and provider-specific settings, under ExternalDNS's short names or its full annotation keys.
fn settings(endpoint: &Endpoint) -> Result<Settings, (&'static str, String)> {
    let mut settings = Settings::default();
    if endpoint.record_ttl != 0 {
        settings.ttl =
            Some(ttl(&endpoint.record_ttl.to_string()).map_err(|accepted| ("recordTTL", accepted))?);
    }
    for Property { name, value } in &endpoint.provider_specific {
        let Some((_, word)) = name.rsplit_once('/') else { continue };
        let suffix = match name.strip_prefix("cloudflare/") {
            Some(short) => format!("cloudflare-{short}"),
            None => word.to_owned(),
        };
        let meaning = Settings::SIMPLE.into_iter().find(|setting| {
            suffix.starts_with("cloudflare-")
                && dialect::suffix(Dialect::ExternalDns, *setting) == Some(suffix.as_str())
        });
        if let Some(setting) = meaning {
            settings.set(setting, value).map_err(|accepted| ("providerSpecific", accepted))?;
        }
    }
    Ok(settings)
}
