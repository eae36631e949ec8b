//! A provider as simple as it can be, which refuses what real ones refuse and never forgets whose a record is.

use std::collections::BTreeMap;

use zonekeeper_kernel::{
    capability::Capabilities,
    marker::Registry,
    name::Name,
    plan::{Edit, Role},
    rdata::RecordType,
    record::{Live, LiveRecord, Record, RecordId},
};

use crate::{
    forge::domain,
    truth::{Placed, Whose},
};

/// A zone that edits are carried out on.
#[derive(Clone)]
pub struct Zone {
    pub live: Live,
    whose: BTreeMap<RecordId, Whose>,
    neighbours: Neighbours,
    registry: Registry,
    last_id: usize,
}

/// What may stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// As RFC 1034 has it.
    Standard,
    /// As [`crate::host::proxying`] has it.
    Proxying,
}

impl Neighbours {
    /// Of the two providers there are here.
    pub fn of(capabilities: &Capabilities) -> Self {
        if capabilities.comment_limit.is_some() { Self::Proxying } else { Self::Standard }
    }
}

/// Whether a provider refuses two types at one name.
pub fn exclude(neighbours: Neighbours, name: &Name, one: RecordType, other: RecordType) -> bool {
    use RecordType as T;
    let pairs = [(one, other), (other, one)];
    one != other
        && pairs.iter().any(|(one, other)| match neighbours {
            Neighbours::Standard => *one == T::CNAME,
            Neighbours::Proxying => {
                (*one == T::CNAME && matches!(*other, T::A | T::AAAA | T::NS))
                    || (*one == T::NS && *other != T::DS && *name != domain())
            }
        })
}

impl Zone {
    pub fn new(registry: &Registry, capabilities: &Capabilities, records: &[Placed]) -> Self {
        let mut zone = Self {
            live: Live::indexed_by(registry.marker_index()),
            whose: BTreeMap::new(),
            neighbours: Neighbours::of(capabilities),
            registry: registry.clone(),
            last_id: 0,
        };
        for placed in records {
            zone.whose.insert(placed.record.id.clone(), placed.whose);
            zone.live.insert(placed.name.clone(), placed.record.clone());
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
        let mut live = Live::indexed_by(self.registry.marker_index());
        live.extend(records);
        Self { live, ..self.clone() }
    }

    /// Whose a record is; what was written since is ours.
    pub fn whose(&self, record: &LiveRecord) -> Whose {
        self.whose[&record.id]
    }

    /// What people ask for at a name, markers aside.
    pub fn data_at(&self, name: &Name) -> impl Iterator<Item = &LiveRecord> {
        self.live.at(name).iter().filter(|record| self.whose(record).is_data())
    }

    pub fn carry_out(&mut self, edit: &Edit) -> Result<(), String> {
        let name = edit.name().clone();
        let mut id = RecordId(format!("new-{}", self.last_id).into());
        self.last_id += 1;
        if let Some(before) = edit.before() {
            if before.read_only {
                return Err(format!("{name} {:?} is read-only", before.rdata));
            }
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
                let (one, two) = (other.rdata.rtype(), after.rdata.rtype());
                if exclude(self.neighbours, &name, one, two) {
                    return Err(format!("{name}: {:?} can't stand beside {:?}", after.rdata, other.rdata));
                }
            }
            let whose = match edit.role() {
                Role::Data => Whose::Written,
                Role::Marker => Whose::Marker { is_ours: true },
            };
            self.whose.insert(id.clone(), whose);
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
