//! The live records of a zone as they were last read, patched by our own writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::time::Instant;
use zonekeeper_kernel::{
    name::Name,
    record::{Live, MarkerIndex, RecordId},
};
use zonekeeper_providers::{Effect, ProviderError, ZoneAccess};

/// For how long after a write a listing without it is doubted.
const SETTLING: Duration = Duration::from_secs(30);

/// The live records of a zone.
pub struct Cache {
    index: Option<MarkerIndex>,
    live: Live,
    read_at: Option<Instant>,
    next: Reading,
    recent: BTreeMap<RecordId, Instant>,
}

/// What a zone is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Somebody waits for it.
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
        if self.read_at.take().is_some() {
            self.next = Reading::Scan;
        }
    }

    /// Looks for markers in other places from now on.
    pub fn reindex(&mut self, index: Option<MarkerIndex>) {
        self.index = index;
        self.forget();
    }

    /// Reads the whole zone, unless that was done; says whether it was read.
    pub async fn fill(&mut self, access: &dyn ZoneAccess) -> Result<bool, ProviderError> {
        if self.read_at.is_some() {
            return Ok(false);
        }
        let begun = Instant::now();
        let mut live = Live::indexed_by(self.index.clone());
        live.extend(match self.next {
            Reading::Needed => access.list().await?,
            Reading::Scan => access.scan().await?,
        });
        self.next = Reading::Needed;
        self.recent.retain(|_, written| written.elapsed() < SETTLING);
        let mut missing: BTreeSet<RecordId> = self.recent.keys().cloned().collect();
        if !missing.is_empty() {
            for (_, records) in live.iter() {
                for record in records {
                    missing.remove(&record.id);
                }
            }
        }
        // A listing may lag behind our own write; the record itself does not.
        for id in missing {
            match access.find(&id).await? {
                Some((name, record)) => live.insert(name, record),
                None => {
                    self.recent.remove(&id);
                }
            }
        }
        self.live = live;
        self.read_at = Some(begun);
        Ok(true)
    }

    /// Reads some names afresh: each by itself, or the whole zone where that takes fewer calls, and says so.
    pub async fn refresh(
        &mut self,
        access: &dyn ZoneAccess,
        names: &BTreeSet<Name>,
    ) -> Result<bool, ProviderError> {
        if access.calls_to_list(self.live.len()) <= names.len() {
            self.forget();
            return self.fill(access).await;
        }
        let read = access.read(names).await?;
        let mut by_name: BTreeMap<Name, Vec<_>> =
            names.iter().map(|name| (name.clone(), Vec::new())).collect();
        for (name, record) in read {
            by_name.entry(name).or_default().push(record);
        }
        for (name, records) in by_name {
            self.live.replace(&name, records);
        }
        Ok(false)
    }

    /// Carries our own write over.
    pub fn patch(&mut self, effect: Effect) {
        if let Some((_, id)) = &effect.removed {
            self.recent.remove(id);
        }
        if let Some(record) = &effect.written
            && !record.id.0.is_empty()
        {
            self.recent.insert(record.id.clone(), Instant::now());
        }
        effect.patch(&mut self.live);
    }
}
