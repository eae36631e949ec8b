//! SOA and apex NS of a zone, for providers where we write them.

use zonekeeper_api::DNSZone;
use zonekeeper_kernel::name::Name;
use zonekeeper_model::declare::{BadField, domain, mailbox};
use zonekeeper_providers::builtin::Authority;

/// SOA and apex NS, for providers where we write them.
pub fn authority(object: &DNSZone) -> Result<Authority, BadField> {
    let mut authority = Authority::default_for(&domain(object)?);
    let Some(declared) = &object.spec.authority else { return Ok(authority) };
    let name = |field: &str, text: &str| Name::parse(text).map_err(|error| BadField::new(field, error));
    for server in &declared.name_servers {
        authority.name_servers.push(name("spec.authority.nameServers", server)?);
    }
    let soa = &declared.soa;
    match (&soa.mname, authority.name_servers.first()) {
        (Some(mname), _) => authority.primary = name("spec.authority.soa.mname", mname)?,
        (None, Some(first)) => authority.primary = first.clone(),
        (None, None) => {}
    }
    if let Some(rname) = &soa.rname {
        authority.mailbox = name("spec.authority.soa.rname", &mailbox(rname))?;
    }
    authority.refresh = soa.refresh.unwrap_or(authority.refresh);
    authority.retry = soa.retry.unwrap_or(authority.retry);
    authority.expire = soa.expire.unwrap_or(authority.expire);
    authority.minimum = soa.minimum.unwrap_or(authority.minimum);
    authority.ttl = soa.ttl.unwrap_or(authority.ttl);
    Ok(authority)
}
