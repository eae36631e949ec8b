//! The live records of a zone as they were last read, patched by our own writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::time::Instant;
use zonekeeper_kernel::{
    name::Name,
    rdata::Rdata,
    record::{Live, LiveRecord, MarkerIndex, RecordId},
    zone_state::Contents,
};
use zonekeeper_providers::{Effect, Ids, ProviderError, ZoneAccess};

/// A listing that began within this time after a write may show the zone as it was before: the write is believed.
const SETTLING: Duration = Duration::from_secs(30);
/// So many records are read by their ids where a listing does not show our writes; of more than that our writes are
/// believed without a look, until a listing that began later.
const MOST_LOOKS: usize = 100;

/// The live records of a zone.
pub struct Cache {
    index: Option<MarkerIndex>,
    live: Live,
    read_at: Option<Instant>,
    next: Reading,
    /// Our own writes of a short time ago, by the id of their record.
    recent: BTreeMap<RecordId, Written>,
}

/// A write that was acknowledged; what is there since, or that nothing is, the cache knows.
#[derive(Debug)]
struct Written {
    at: Instant,
    name: Name,
}

/// What a zone is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// A change waits for it.
    Needed,
    /// To see whether anything has changed.
    Scan,
}

// === impl Cache ===

impl Cache {
    /// A cache that has read nothing yet.
    pub fn new(index: Option<MarkerIndex>) -> Self {
        Self {
            live: Live::indexed_by(index.clone()),
            index,
            read_at: None,
            next: Reading::Needed,
            recent: BTreeMap::new(),
        }
    }

    /// The records; empty before the first reading.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Whether the records were read more than `age` ago, or never.
    pub fn is_older_than(&self, age: Duration) -> bool {
        self.read_at.is_none_or(|read| read.elapsed() > age)
    }

    /// Reads the zone next time, because what we know of it is not true any more.
    pub fn forget(&mut self) {
        self.read_at = None;
        self.next = Reading::Needed;
    }

    /// Reads the zone next time, to see whether anything has changed.
    pub fn scan(&mut self) {
        if self.read_at.is_some() {
            self.next = Reading::Scan;
        }
    }

    /// Gives up a scan: what is known goes on being used. False where it is not known.
    pub fn put_off_scan(&mut self) -> bool {
        self.next = Reading::Needed;
        self.read_at.is_some()
    }

    /// Looks for markers in other places from now on.
    pub fn reindex(&mut self, index: Option<MarkerIndex>) {
        self.index = index;
        self.forget();
    }

    /// Reads the whole zone, unless that was done; says whether it was read. Copies of another server's records count
    /// for none.
    pub async fn fill(&mut self, access: &dyn ZoneAccess, contents: Contents) -> Result<bool, ProviderError> {
        if self.read_at.is_some() && self.next == Reading::Needed {
            return Ok(false);
        }
        if contents == Contents::Copies {
            self.recent.clear();
        }
        let begun = Instant::now();
        let listed = match (contents, self.next) {
            (Contents::Copies, _) => Vec::new(),
            (Contents::Own, Reading::Needed) => access.list().await?,
            (Contents::Own, Reading::Scan) => access.scan().await?,
        };
        let mut live = Live::indexed_by(self.index.clone());
        live.extend(self.corrected(access, begun, listed, |_| true).await?);
        self.next = Reading::Needed;
        self.live = live;
        self.read_at = Some(begun);
        Ok(true)
    }

    /// What was listed, with our own writes in it that the listing is too early to show.
    ///
    /// Guarantees: a write that was acknowledged is undone here only by a read of that record by its id, or by a
    /// listing that began well after it. What was deleted does not come back by a listing.
    async fn corrected(
        &mut self,
        access: &dyn ZoneAccess,
        begun: Instant,
        listed: Vec<(Name, LiveRecord)>,
        was_read: impl Fn(&Name) -> bool,
    ) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        self.recent.retain(|_, written| written.at + SETTLING > begun);
        // Where ids come again, a listing is never behind our own writes.
        if self.recent.is_empty() || access.traits().ids == Ids::Reused {
            return Ok(listed);
        }
        let mut missed: BTreeSet<RecordId> = self
            .recent
            .iter()
            .filter(|(id, written)| was_read(&written.name) && self.believed(id, written).is_some())
            .map(|(id, _)| id.clone())
            .collect();
        let mut records = Vec::with_capacity(listed.len());
        for (name, record) in listed {
            let Some(written) = self.recent.get(&record.id) else {
                records.push((name, record));
                continue;
            };
            match self.believed(&record.id, written) {
                // It is gone, and no other record gets its id.
                None => {}
                Some(believed) if *believed == record && written.name == name => {
                    missed.remove(&record.id);
                    records.push((name, record));
                }
                // What was there before our write, or what was written since by others.
                Some(_) => drop(missed.insert(record.id)),
            }
        }
        let mut looked = Vec::new();
        for (looks, id) in missed.into_iter().enumerate() {
            let Some(written) = self.recent.get(&id) else { continue };
            if looks >= MOST_LOOKS {
                let believed = self.believed(&id, written).cloned();
                records.extend(believed.map(|record| (written.name.clone(), record)));
                continue;
            }
            let at = Instant::now();
            let found = access.find(&id).await?;
            // What a read by id shows is believed as our own writes are.
            let name = found.as_ref().map_or_else(|| written.name.clone(), |(name, _)| name.clone());
            looked.push((id, Written { at, name }));
            records.extend(found);
        }
        self.recent.extend(looked);
        Ok(without_ghosts(records, &self.recent))
    }

    /// A record as we wrote it, or as a read by its id showed it since; none where it is gone.
    fn believed(&self, id: &RecordId, written: &Written) -> Option<&LiveRecord> {
        self.live.at(&written.name).iter().find(|record| record.id == *id)
    }

    /// Reads some names afresh: each by itself, or the whole zone where that takes fewer calls, and says so.
    pub async fn refresh(
        &mut self,
        access: &dyn ZoneAccess,
        names: &BTreeSet<Name>,
    ) -> Result<bool, ProviderError> {
        if access.traits().calls_to_list.of(self.live.len()) <= names.len() {
            self.forget();
            return self.fill(access, Contents::Own).await;
        }
        let begun = Instant::now();
        let read = access.read(names).await?;
        let read = self.corrected(access, begun, read, |name| names.contains(name)).await?;
        let mut by_name: BTreeMap<Name, Vec<_>> =
            names.iter().map(|name| (name.clone(), Vec::new())).collect();
        for (name, record) in read {
            match by_name.get_mut(&name) {
                Some(records) => records.push(record),
                // It was renamed meanwhile.
                None if self.live.at(&name).iter().any(|other| other.id == record.id) => {}
                None => self.live.insert(name, record),
            }
        }
        for (name, records) in by_name {
            self.live.replace(&name, records);
        }
        Ok(false)
    }

    /// Carries our own write over.
    pub fn patch(&mut self, effect: Effect) {
        let at = Instant::now();
        let removed = effect.removed.iter().map(|(_, id)| id);
        for id in removed.chain(effect.written.iter().map(|record| &record.id)) {
            if !id.0.is_empty() {
                self.recent.insert(id.clone(), Written { at, name: effect.name.clone() });
            }
        }
        effect.patch(&mut self.live);
    }
}

/// No provider holds a value twice at a name: what is listed beside the same value of ours was there before, and the
/// listing is behind.
fn without_ghosts(
    mut records: Vec<(Name, LiveRecord)>,
    recent: &BTreeMap<RecordId, Written>,
) -> Vec<(Name, LiveRecord)> {
    let is_ours = |record: &LiveRecord| recent.contains_key(&record.id);
    let ours = records.iter().filter(|(_, record)| is_ours(record));
    let ours: BTreeSet<(Name, Rdata)> =
        ours.map(|(name, record)| (name.clone(), record.rdata.clone())).collect();
    records.retain(|(name, record)| is_ours(record) || !ours.contains(&(name.clone(), record.rdata.clone())));
    records
}
