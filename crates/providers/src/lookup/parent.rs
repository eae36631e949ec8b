//! What the servers of the parent zone answer for a zone: its name servers, its DS records, and who of them is lame.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    time::Duration,
};

use domain::base::{Rtype, iana::Rcode};
use futures::future::join_all;
use zonekeeper_kernel::{
    name::Name,
    rdata::RecordType,
    zone_state::{Ds, ParentAnswer},
};

use crate::{
    lookup::{
        LookupError, Resolver,
        exchange::{Recursion, ask},
        resolver::{address, target},
    },
    rfc2136::message::Item,
};

/// How many servers of a parent are asked.
const MOST_SERVERS: usize = 8;

/// What one server of the parent said.
#[derive(Default)]
struct Referral {
    name_servers: BTreeSet<Name>,
    ds: BTreeSet<Ds>,
    ds_ttl: u32,
    glue: BTreeMap<Name, Vec<SocketAddr>>,
}

/// Asks the servers of the parent zone themselves: a resolver may remember what was.
///
/// Guarantees: an answer holds what every server of the parent said that was asked; one that can't be reached is an
/// error, for it may still have a DS record.
pub async fn ask_parent(resolver: &Resolver, zone: &Name) -> Result<ParentAnswer, LookupError> {
    let no_parent = || LookupError::NoParent { zone: zone.to_string() };
    let above = zone.parent().ok_or_else(no_parent)?;
    let parent = resolver.zone_of(&above).await?.ok_or_else(no_parent)?;
    let servers = servers_of(resolver, &parent).await?;
    let asked = join_all(servers.iter().take(MOST_SERVERS).map(|server| refer(*server, zone))).await;
    let mut all = Referral::default();
    for referral in asked {
        let referral = referral?;
        all.name_servers.extend(referral.name_servers);
        all.ds.extend(referral.ds);
        all.ds_ttl = all.ds_ttl.max(referral.ds_ttl);
        all.glue.extend(referral.glue);
    }
    let checked = join_all(all.name_servers.iter().map(async |server| {
        let glue = all.glue.get(server);
        (server, answers_for(resolver, server, glue, zone).await)
    }));
    let lame = checked.await.into_iter().filter(|(_, answers)| !answers);
    Ok(ParentAnswer {
        lame: lame.map(|(server, _)| server.clone()).collect(),
        name_servers: all.name_servers,
        ds: all.ds,
        ds_ttl: Duration::from_secs(all.ds_ttl.into()),
    })
}

/// One address of each server of a zone.
async fn servers_of(resolver: &Resolver, zone: &Name) -> Result<Vec<SocketAddr>, LookupError> {
    let names = resolver.name_servers(zone).await?;
    let found = join_all(names.iter().map(|name| resolver.addresses(name))).await;
    let servers: Vec<SocketAddr> =
        found.into_iter().filter_map(|addresses| addresses.ok()?.into_iter().next()).collect();
    match servers.is_empty() {
        true => Err(LookupError::NoServer { zone: zone.to_string() }),
        false => Ok(servers),
    }
}

/// What one server of the parent says of a zone.
async fn refer(server: SocketAddr, zone: &Name) -> Result<Referral, LookupError> {
    let mut referral = Referral::default();
    let said = ask(server, zone, Rtype::NS, Recursion::None).await?;
    // A server of both zones answers from the child.
    for item in said.answers.iter().chain(&said.authority).filter(|item| item.name == *zone) {
        referral.name_servers.extend(target(item));
    }
    for item in &said.additional {
        if let Some(address) = address(item) {
            referral.glue.entry(item.name.clone()).or_default().push(address);
        }
    }
    let said = ask(server, zone, Rtype::DS, Recursion::None).await?;
    for item in said.answers.iter().filter(|item| item.name == *zone) {
        if let Some(ds) = ds(item) {
            referral.ds.insert(ds);
            referral.ds_ttl = referral.ds_ttl.max(item.ttl);
        }
    }
    Ok(referral)
}

/// Whether a name server answers for a zone, at one of its addresses.
async fn answers_for(
    resolver: &Resolver,
    server: &Name,
    glue: Option<&Vec<SocketAddr>>,
    zone: &Name,
) -> bool {
    let addresses = match glue {
        Some(glue) => glue.clone(),
        None => resolver.addresses(server).await.unwrap_or_default(),
    };
    for address in addresses {
        let said = ask(address, zone, Rtype::SOA, Recursion::None).await;
        if said.is_ok_and(|said| said.is_authoritative && said.rcode == Rcode::NOERROR) {
            return true;
        }
    }
    false
}

fn ds(item: &Item) -> Option<Ds> {
    let [tag_high, tag_low, algorithm, digest_type, digest @ ..] = &item.wire[..] else { return None };
    (item.rtype == RecordType::DS).then(|| Ds {
        key_tag: u16::from_be_bytes([*tag_high, *tag_low]),
        algorithm: *algorithm,
        digest_type: *digest_type,
        digest: data_encoding::HEXUPPER.encode(digest),
    })
}
