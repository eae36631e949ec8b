//! Objects that ask for something no more: what they hold still.

use std::collections::BTreeSet;

use zonekeeper_kernel::{
    holder::{Holder, HolderRef},
    record::LiveRecord,
};
use zonekeeper_model::{pass::PassRequest, released::ALL};

use crate::engine::ZoneWorker;

/// Objects that were let go, and of which no record is left in the zone.
pub fn gone(request: &PassRequest, worker: &ZoneWorker) -> BTreeSet<String> {
    if request.released.is_empty() {
        return BTreeSet::new();
    }
    let mut held: BTreeSet<HolderRef> = BTreeSet::new();
    for (name, _) in worker.cache().live().iter() {
        let is_wished = |record: &LiveRecord, named: &HolderRef| {
            let mut wishes = request.wishes.iter().filter(|(at, _)| at == name);
            wishes.any(|(_, intent)| intent.rtype == record.rdata.rtype() && named.names(&intent.holder))
        };
        let left = worker.held_at(name).into_iter().filter(|(record, named)| !is_wished(record, named));
        held.extend(left.map(|(_, named)| named));
    }
    let is_left = |released: &str| match released {
        ALL => !held.is_empty(),
        _ => held.iter().any(|named| named.names(&Holder::from_text(released))),
    };
    request.released.iter().filter(|released| !is_left(released)).cloned().collect()
}
