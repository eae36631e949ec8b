//! Delegations that a folder manages: what its zones want of each other, as RecordSets that it does not hold.

use std::collections::BTreeSet;

use zonekeeper_api::RecordSet;
use zonekeeper_kernel::{name::Name, rdata::RecordType, resolve::Zones, zone_state::ParentDs};
use zonekeeper_model::delegation::{InParent, parents_of};
use zonekeeper_providers::lookup::{Resolver, ask_parent};

use crate::session::OpenZone;

/// What a zone wants of its parent zone.
pub enum Delegation {
    /// Nothing, or its parent is not in this folder.
    Elsewhere,
    /// These.
    Wanted(Vec<RecordSet>),
    /// It is not known yet: what is there stays.
    Unknown,
}

/// What a zone that was observed wants of its parent zone. `addresses` are those that the folder asks for at a name.
pub fn delegation(
    zone: &OpenZone,
    zones: &Zones,
    addresses: &dyn Fn(&Name, RecordType) -> BTreeSet<String>,
) -> Delegation {
    let object = &zone.declared.object;
    let parents = parents_of(zones, &zone.zone.domain);
    if !object.spec.delegation.manage || parents.is_empty() {
        return Delegation::Elsewhere;
    }
    let state = zone.worker.as_ref().ok().and_then(|worker| worker.zone().state());
    let wanted = InParent { zone: object, domain: &zone.zone.domain, parents: &parents, addresses };
    let Some(manifests) = state.and_then(|state| wanted.record_sets(state)) else {
        return Delegation::Unknown;
    };
    let record_sets = manifests.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
    record_sets.map_or(Delegation::Unknown, Delegation::Wanted)
}

/// Whether the parent zone vouches for the keys of a zone, asked now.
pub async fn parent_ds(resolver: &Resolver, domain: &Name) -> ParentDs {
    match ask_parent(resolver, domain).await {
        Ok(answer) if answer.ds.is_empty() => ParentDs::Absent,
        Ok(_) => ParentDs::There,
        Err(error) => ParentDs::Unknown(error.to_string()),
    }
}
