//! Records that are known to be ours by their id: those of statuses, our own writes, and what was seen with a marker.

use std::collections::BTreeSet;

use zonekeeper_kernel::{
    claim::Known,
    holder::Holder,
    name::Name,
    rdata::{Rdata, RecordType},
    record::RecordId,
};
use zonekeeper_providers::Ids;

use crate::engine::ZoneWorker;

// === impl ZoneWorker ===

impl ZoneWorker {
    /// Takes records for ours that a RecordSet's status knows, each at this name and type only.
    pub fn recall(&mut self, ids: impl IntoIterator<Item = (RecordId, (Name, RecordType), Holder)>) {
        if let Known::Ids(known) = &mut self.known {
            ids.into_iter().for_each(|(id, place, holder)| known.insert(id, place, holder));
        }
    }

    /// Forgets whose a record is: where no marker says so either, it has no owner from now on.
    pub fn disclaim(&mut self, name: &Name, rdata: &Rdata) {
        let Known::Ids(known) = &mut self.known else { return };
        for record in self.cache.live().at(name).iter().filter(|record| record.rdata == *rdata) {
            known.remove(&record.id);
        }
    }

    /// The zone was listed. What a listing shows with our marker is ours, should that be wiped later; what it does not hold
    /// is not known by its id any more, where another record may have that one day.
    pub(super) fn note_listed(&mut self) {
        let Known::Ids(known) = &mut self.known else { return };
        let live = self.cache.live();
        if self.access.traits().ids == Ids::Reused {
            if !known.is_empty() {
                known.keep_only(live.iter().flat_map(|(_, records)| records).map(|record| &record.id));
            }
            return;
        }
        for (name, records) in live.iter() {
            records.iter().for_each(|record| known.note_marked(&self.settings.registry, name, record));
        }
    }

    /// The same of some names that were read.
    pub(super) fn note_read(&mut self, names: &BTreeSet<Name>) {
        let Known::Ids(known) = &mut self.known else { return };
        if self.access.traits().ids == Ids::Reused {
            return;
        }
        for name in names {
            let records = self.cache.live().at(name).iter();
            records.for_each(|record| known.note_marked(&self.settings.registry, name, record));
        }
    }
}
