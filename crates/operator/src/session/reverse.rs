//! PTR records that a folder keeps for its addresses, as RecordSets that it does not hold.

use std::collections::BTreeMap;

use kube::ResourceExt;
use zonekeeper_api::{DeletionPolicy, RecordSet};
use zonekeeper_kernel::{
    holder::Holder,
    name::Name,
    rdata::RecordType,
    resolve::{Intent, Zones},
};
use zonekeeper_model::reverse::{Named, Reverse};

use crate::{
    folder::{Folder, Place},
    session::OpenZone,
};

/// PTR records for the addresses of a folder.
pub struct PtrRecords {
    /// Each with the place of the DNSZone that has the addresses.
    pub record_sets: Vec<(Place, RecordSet)>,
    /// Whether an address is not known: what is there for it stays.
    pub is_partial: bool,
}

/// Those of the sets that are placed in a zone.
pub fn ptr_records<'a>(
    folder: &Folder,
    zones: &Zones,
    placed: impl Iterator<Item = (&'a OpenZone, &'a Name, &'a Intent)>,
) -> PtrRecords {
    let own: BTreeMap<Holder, Option<bool>> = folder
        .record_sets
        .iter()
        .map(|declared| {
            let object = &declared.object;
            let namespace = object.namespace().unwrap_or_default();
            (Holder::new("recordset", &namespace, &object.name_any()), object.spec.reverse)
        })
        .collect();
    let mut named: BTreeMap<Holder, (Place, Named)> = BTreeMap::new();
    let mut is_partial = false;
    for (zone, name, intent) in placed {
        let said = own.get(&intent.holder).copied().flatten();
        let is_reversed = said.unwrap_or(zone.declared.object.spec.reverse);
        let has_addresses = matches!(intent.rtype, RecordType::A | RecordType::AAAA);
        if !is_reversed || !has_addresses {
            continue;
        }
        match &intent.values {
            Some(values) => {
                let place = || (zone.declared.place.clone(), Named::default());
                named.entry(intent.holder.clone()).or_insert_with(place).1.add(name, values);
            }
            None => is_partial = true,
        }
    }
    let mut record_sets = Vec::new();
    for (holder, (place, mut addresses)) in named {
        addresses.split_off_homeless(zones);
        let object = object_name(&holder);
        let deletion_policy = DeletionPolicy::Delete;
        let wanted = Reverse { namespace: holder.namespace(), object: &object, deletion_policy };
        let read =
            wanted.record_sets(&addresses).into_iter().filter_map(|set| serde_json::from_value(set).ok());
        record_sets.extend(read.map(|set| (place.clone(), set)));
    }
    PtrRecords { record_sets, is_partial }
}

/// What the operator calls PTR records after.
fn object_name(holder: &Holder) -> String {
    let mut parts = holder.as_str().splitn(3, '/');
    match (parts.next(), parts.nth(1)) {
        (Some("recordset"), Some(name)) => name.to_owned(),
        (Some(kind), Some(name)) => format!("{kind}-{name}"),
        _ => holder.as_str().to_owned(),
    }
}
