//! RecordSet: one set, asked for by name.

use std::net::IpAddr;

use kube::ResourceExt;
use zonekeeper_api::{Adoption as ApiAdoption, CloudflareRecord, RecordSet};
use zonekeeper_kernel::{
    attribute::{
        AttributeName, AttributeValue, Attributes, FLATTEN_CNAME, IPV4_ONLY, IPV6_ONLY, PROXIED, TAGS,
    },
    desired::Adoption,
    holder::Holder,
    name::Name,
    rdata::{Rdata, RecordType},
    reason::Reason,
    record::Ttl,
    resolve::{Intent, Origin, WantedName},
    zone::ZoneKey,
};

use crate::{Asked, BadField, Surroundings};

/// What a RecordSet asks for; `age` sorts it among others that want the same.
pub fn record_set(
    object: &RecordSet,
    age: String,
    surroundings: &Surroundings<'_>,
) -> Result<Asked, BadField> {
    let spec = &object.spec;
    let namespace = object.namespace().unwrap_or_default();
    let rtype: RecordType = spec.rtype.parse().map_err(|error| BadField::new("spec.type", error))?;
    let name = match (&spec.name, &spec.relative_name) {
        (Some(name), _) => {
            WantedName::Absolute(Name::parse(name).map_err(|error| BadField::new("spec.name", error))?)
        }
        (None, Some(name)) => WantedName::Relative(name.clone()),
        (None, None) => return Err(BadField::new("spec.name", "is missing; set name or relativeName")),
    };
    let mut values = Vec::new();
    for (index, text) in spec.values.iter().enumerate() {
        let field = || format!("spec.values[{index}]");
        values.push(Rdata::parse(rtype, text).map_err(|error| BadField::new(field(), error))?);
    }
    let mut unknown = None;
    for source in &spec.values_from {
        let reference = &source.address_source_ref;
        let key = (reference.namespace.clone().unwrap_or_else(|| namespace.clone()), reference.name.clone());
        match surroundings.addresses.0.get(&key) {
            Some(Ok(found)) => {
                values.extend(found.iter().filter_map(|address| address_value(rtype, *address)))
            }
            Some(Err((reason, message))) => unknown = Some((*reason, message.clone())),
            None => {
                let message = format!("AddressSource {}/{} does not exist; create it", key.0, key.1);
                unknown = Some((Reason::RefNotFound, message));
            }
        }
    }
    if values.is_empty() && unknown.is_none() {
        let message = format!("no AddressSource has an address for {rtype} records; see its spec.families");
        unknown = Some((Reason::TargetsUnknown, message));
    }
    values.sort();
    values.dedup();
    let is_known = unknown.is_none() && !spec.suspend;
    let cloudflare = spec.cloudflare.clone().unwrap_or_default();
    let zone_refs = spec.zone_refs.iter().map(|reference| ZoneKey {
        namespace: reference.namespace.clone().unwrap_or_else(|| namespace.clone()),
        name: reference.name.clone(),
    });
    let intent = Intent {
        holder: Holder::new("recordset", &namespace, &object.name_any()),
        origin: Origin::RecordSet,
        age,
        namespace_labels: surroundings.namespace_labels.clone(),
        labels: object.labels().clone(),
        zone_refs: (!spec.zone_refs.is_empty()).then(|| zone_refs.collect()),
        name,
        rtype,
        values: is_known.then_some(values),
        ttl: spec.ttl.map(Ttl),
        attributes: attributes(&cloudflare),
        comment: cloudflare.comment.map(Into::into),
        adoption: adoption(spec.adoption),
        namespace,
    };
    Ok(Asked { intent, unknown })
}

/// Cloudflare's options as attributes. A flag that is off says something only of what a zone can turn on for all.
fn attributes(declared: &CloudflareRecord) -> Attributes {
    let settings = declared.settings.unwrap_or_default();
    let flags = [
        (PROXIED, declared.proxied),
        (FLATTEN_CNAME, settings.flatten_cname.then_some(true)),
        (IPV4_ONLY, settings.ipv4_only.then_some(true)),
        (IPV6_ONLY, settings.ipv6_only.then_some(true)),
    ];
    let flags = flags.into_iter().filter_map(|(name, flag)| Some((name.into(), flag?.into())));
    flags.chain(tags(&declared.tags)).collect()
}

/// Tags as an attribute, where there are any.
pub(crate) fn tags(tags: &[String]) -> Option<(AttributeName, AttributeValue)> {
    (!tags.is_empty()).then(|| (TAGS.into(), tags.iter().map(String::as_str).collect()))
}

/// Adoption in the kernel's terms.
pub fn adoption(adoption: ApiAdoption) -> Adoption {
    match adoption {
        ApiAdoption::Never => Adoption::Never,
        ApiAdoption::Identical => Adoption::Identical,
        ApiAdoption::Force => Adoption::Force,
    }
}

fn address_value(rtype: RecordType, address: IpAddr) -> Option<Rdata> {
    let fits = match address {
        IpAddr::V4(_) => rtype == RecordType::A,
        IpAddr::V6(_) => rtype == RecordType::AAAA,
    };
    fits.then(|| Rdata::parse(rtype, &address.to_string()).ok()).flatten()
}
