//! A provider as simple as it can be, which refuses what real ones refuse.

use zonekeeper_kernel::{
    capability::Capabilities,
    claim::{Known, NameClaims},
    marker::Registry,
    name::Name,
    plan::Edit,
    record::{Live, LiveRecord, Record, RecordId},
};

/// A zone that edits are carried out on.
#[derive(Clone)]
pub struct Zone {
    pub live: Live,
    capabilities: Capabilities,
    registry: Registry,
    last_id: usize,
}

impl Zone {
    pub fn new(registry: &Registry, capabilities: &Capabilities, records: Vec<(Name, LiveRecord)>) -> Self {
        let live = Live::indexed_by(registry.marker_index());
        let mut zone = Self {
            live,
            capabilities: capabilities.clone(),
            registry: registry.clone(),
            last_id: records.len(),
        };
        for (name, record) in records {
            zone.live.insert(name, record);
        }
        zone
    }

    /// The same zone, built in another order.
    pub fn reversed(&self) -> Self {
        let mut records: Vec<(Name, LiveRecord)> = self
            .live
            .iter()
            .flat_map(|(name, records)| records.iter().map(|record| (name.clone(), record.clone())))
            .collect();
        records.reverse();
        Self::new(&self.registry, &self.capabilities, records)
    }

    pub fn carry_out(&mut self, edit: &Edit) -> Result<(), String> {
        let name = edit.name().clone();
        let mut id = RecordId(format!("{}", self.last_id).into());
        self.last_id += 1;
        if let Some(before) = edit.before() {
            if !self.live.remove(&name, &before.rdata, &before.id) {
                return Err(format!("{name} has no {:?}", before.rdata));
            }
            id = before.id.clone();
        }
        if let Some(after) = edit.after() {
            for other in self.live.at(&name) {
                if other.rdata == after.rdata {
                    return Err(format!("{name} has {:?} already", after.rdata));
                }
                if self.capabilities.conflict(
                    (&name, &self.registry.domain),
                    other.rdata.rtype(),
                    after.rdata.rtype(),
                ) {
                    return Err(format!("{name}: {:?} can't stand beside {:?}", after.rdata, other.rdata));
                }
            }
            self.live.insert(name, after.written(id));
        }
        Ok(())
    }
}

/// All records, ids aside.
pub fn without_ids(live: &Live) -> Vec<Record> {
    let mut records: Vec<Record> =
        live.iter().flat_map(|(name, records)| records.iter().map(|record| record.at(name))).collect();
    records.sort();
    records
}

/// How many data records a name has, markers aside.
pub fn data_at(registry: &Registry, live: &Live, name: &Name) -> usize {
    NameClaims::read(registry, &Known::Nothing, live, name).records.len()
}
