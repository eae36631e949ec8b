//! Ingresses and routes that carry cloudflare-operator's annotations: its hosts, its value, its defaults.

use zonekeeper_kernel::{
    rdata::{Rdata, RecordType},
    reason::Reason,
};

use super::spec_hosts;
use crate::{
    Unknown,
    dialect::Setting,
    object::Body,
    reader::{Host, Reader},
    settings::list,
    wish::{Wanted, Wish, suitable_type},
    world::Look,
};

/// What such an object wishes; none for an object that is not one, or that has a target annotation.
///
/// One record per host of its spec; Gateways, acceptance and load balancers do not count.
pub(crate) fn wishes(reader: &mut Reader<'_>) -> Option<Vec<Wish>> {
    let is_fitting = matches!(reader.object.body, Body::Ingress(_) | Body::Route(_));
    if !is_fitting || reader.target_of(reader.object).is_some() {
        return None;
    }
    let said = |setting| reader.said_to_cloudflare_operator(setting).filter(|said| !said.value.is_empty());
    let (content, address) = (said(Setting::Content), said(Setting::IpRef));
    let value = content.as_ref().or(address.as_ref())?;
    let rtype = match said(Setting::Type) {
        Some(said) => match said.value.parse() {
            Ok(rtype) => rtype,
            Err(error) => {
                reader.spoil(said.key, format!("{error}"));
                RecordType::A
            }
        },
        None if address.is_some() => RecordType::A,
        None => suitable_type(value.value.trim()),
    };
    let takes_addresses = matches!(rtype, RecordType::A | RecordType::AAAA);
    let values = match (&address, &content) {
        (Some(address), _) if takes_addresses => addresses(reader, rtype, address.value),
        (_, Some(content)) => {
            Rdata::parse(rtype, content.value.trim()).map(|value| vec![value]).map_err(|error| {
                reader.spoil(content.key.clone(), error.to_string());
                (Reason::InvalidValue, error.to_string())
            })
        }
        (Some(address), None) => {
            let message = format!("an address fits A and AAAA only, not {rtype}; set content instead");
            reader.spoil(address.key.clone(), message.as_str());
            Err((Reason::InvalidValue, message))
        }
        (None, None) => return None,
    };
    let mut settings = reader.settings();
    let is_proxied = *settings.proxied.get_or_insert(true);
    if is_proxied {
        settings.ttl = None;
    }
    let wish = |(host, field): Host| Wish {
        host,
        field,
        wanted: Wanted::Set(rtype, values.clone()),
        settings: settings.clone(),
    };
    Some(spec_hosts(reader.object).into_iter().map(wish).collect())
}

/// What AddressSources say, named as `name` or `namespace/name`.
fn addresses(reader: &mut Reader<'_>, rtype: RecordType, references: &str) -> Result<Vec<Rdata>, Unknown> {
    let mut values = Vec::new();
    for reference in list(references) {
        let own = reader.object.meta.namespace.as_str();
        let (namespace, name) = reference.split_once('/').unwrap_or((own, &reference));
        let key = (namespace.to_owned(), name.to_owned());
        reader.looked_at.insert(Look::AddressSource(key.0.clone(), key.1.clone()));
        match reader.surroundings.addresses.0.get(&key) {
            Some(Ok(found)) => {
                let fitting =
                    found.iter().map(ToString::to_string).filter(|text| suitable_type(text) == rtype);
                values.extend(fitting.filter_map(|text| Rdata::parse(rtype, &text).ok()));
            }
            Some(Err(why)) => return Err(why.clone()),
            None => {
                let message = format!("AddressSource {namespace}/{name} does not exist; create it");
                return Err((Reason::RefNotFound, message));
            }
        }
    }
    if values.is_empty() {
        return Err((Reason::TargetsUnknown, format!("no AddressSource has an address for {rtype} records")));
    }
    values.sort();
    values.dedup();
    Ok(values)
}
