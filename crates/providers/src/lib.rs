//! Reads and writes zones at Cloudflare, on RFC 2136 servers and in the built-in server, all through one trait.

mod backend;
pub mod builtin;
pub mod cloudflare;
pub mod fence;
pub mod lookup;
pub mod memory;
pub mod meter;
mod new_zone;
pub mod rfc2136;
pub mod tls;
mod traits;
mod wire;

use std::{collections::BTreeSet, fmt::Debug, sync::Arc};

pub use self::backend::{Answering, Backend, OpenContext, Opened, Waiting};
pub use self::new_zone::open_zone;
pub use self::traits::{Calls, Ids, Listing, Removal, Writes, ZoneTraits};
use async_trait::async_trait;
pub use zonekeeper_kernel::provider::{ProviderError, Retry, Standing};
use zonekeeper_kernel::{
    desired::Desired,
    guard::Cleared,
    name::Name,
    plan::{Change, Edit},
    rdata::Rdata,
    record::{Live, LiveRecord, RecordId},
    zone_change::{ClearedZone, ZoneWish},
    zone_state::ZoneState,
};

/// A service or server that has zones.
#[async_trait]
pub trait Provider: Debug + Send + Sync {
    /// Whether the credentials work, and what they show.
    async fn check(&self) -> Result<Standing, ProviderError> {
        Ok(Standing::default())
    }

    /// How many requests its credentials may still make, where they are counted.
    fn budget_left(&self) -> Option<usize> {
        None
    }

    /// Finds a zone that exists there, by its id where one is pinned, else by its domain.
    async fn open(&self, domain: &Name, id: Option<&str>) -> Result<Arc<dyn ZoneAccess>, ProviderError>;

    /// What will be true of a zone that it creates; none if it can't create zones.
    fn new_zone(&self) -> Option<ZoneTraits> {
        None
    }

    /// Creates a zone that a look-up did not find.
    ///
    /// Guarantees: a zone that is there already is opened, never made twice.
    async fn create(&self, domain: &Name, _wish: &ZoneWish) -> Result<Arc<dyn ZoneAccess>, ProviderError> {
        let message = format!("zones can't be created at this provider; create {domain} there yourself");
        Err(ProviderError::Configuration { message })
    }
}

/// One zone at a provider.
#[async_trait]
pub trait ZoneAccess: Debug + Send + Sync {
    /// What is true of it for as long as it is open.
    fn traits(&self) -> &ZoneTraits;

    /// Told which names will be asked for, where a listing shows no others ([`Listing::WatchedNames`]).
    fn watch_names(&self, _names: &BTreeSet<Name>) -> CacheState {
        CacheState::Current
    }

    /// What the provider makes of sets before they are planned, where it has a say in that: other values, TTLs,
    /// attributes or comments. None takes them as they are.
    ///
    /// Assumes: the same sets always become the same, or a quiet zone is written to for ever.
    async fn adapt(&self, _desired: &Desired) -> Result<Option<Desired>, ProviderError> {
        Ok(None)
    }

    /// All records.
    ///
    /// Guarantees: a complete listing or an error, never a part.
    async fn list(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError>;

    /// The same for a drift scan, which may take at most half of a request budget.
    async fn scan(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        self.list().await
    }

    /// The records of some names, read afresh.
    async fn read(&self, names: &BTreeSet<Name>) -> Result<Vec<(Name, LiveRecord)>, ProviderError>;

    /// One record by its identifier, whatever listings say.
    async fn find(&self, id: &RecordId) -> Result<Option<(Name, LiveRecord)>, ProviderError> {
        Ok(self.list().await?.into_iter().find(|(_, record)| record.id == *id))
    }

    /// Where the zone itself stands, and how the fields of a wish are configured; none if it is not there. It may ask the
    /// provider to look again whether a new zone is delegated: `asks` says whether it may.
    async fn zone_state(&self, _wish: &ZoneWish, _asks: Asks) -> Result<Option<ZoneState>, ProviderError> {
        let ZoneTraits { id, name_servers, .. } = self.traits().clone();
        Ok(Some(ZoneState { id, name_servers, ..ZoneState::default() }))
    }

    /// Makes cleared changes of the zone itself and answers for each, in their order.
    async fn change_zone(&self, cleared: &ClearedZone, _wish: &ZoneWish) -> Vec<Result<(), ProviderError>> {
        let refused = |field: &str| {
            let message = format!("{field} can't be configured at this provider");
            Err(ProviderError::Configuration { message })
        };
        cleared.changes().iter().map(|change| refused(&change.field)).collect()
    }

    /// Told that a pass over the whole zone is through: the zone holds what is wanted of it, as far as it can.
    fn passed(&self) {}

    /// Applies cleared changes and answers for each, in their order.
    async fn apply(&self, cleared: &Cleared, progress: &Progress<'_>) -> Vec<Outcome>;
}

/// Whether what was listed before is still all that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    /// It is.
    Current,
    /// It is not: the zone must be listed again.
    Outdated,
}

/// Whether a provider may be asked to look at something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// It may.
    Provider,
    /// Nothing is asked that makes the provider do anything.
    Nothing,
}

/// Called with the number of changes that are done.
pub type Progress<'a> = dyn Fn(usize) + Send + Sync + 'a;

/// What became of one change.
#[derive(Debug)]
pub enum Outcome {
    /// It was applied, all of it.
    Applied(Vec<Effect>),
    /// The provider refused it, and nothing of it was applied.
    Refused(ProviderError),
    /// It may have been applied, in part or in whole: the zone must be read before anything is repeated.
    Unknown(ProviderError),
    /// It was not sent, because of an error that concerns more than this change.
    NotSent(ProviderError),
}

/// What one edit did to the zone.
#[derive(Debug, Clone)]
pub struct Effect {
    /// The name.
    pub name: Name,
    /// What was there before and is no more.
    pub removed: Option<(Rdata, RecordId)>,
    /// What is there now.
    pub written: Option<LiveRecord>,
}

// === impl Effect ===

impl Effect {
    /// What an edit did, given the id under which its record is stored now.
    pub fn of(edit: &Edit, id: RecordId) -> Self {
        Self {
            name: edit.name().clone(),
            removed: edit.before().map(|before| (before.rdata.clone(), before.id.clone())),
            written: edit.after().map(|after| after.written(id)),
        }
    }

    /// Carries the effect over to a cached zone.
    pub fn patch(self, live: &mut Live) {
        if let Some((rdata, id)) = self.removed {
            live.remove(&self.name, &rdata, &id);
        }
        if let Some(record) = self.written {
            live.insert(self.name, record);
        }
    }
}

// === impl Outcome ===

impl Outcome {
    /// The error, unless it was applied.
    pub fn error(&self) -> Option<&ProviderError> {
        match self {
            Self::Applied(_) => None,
            Self::Refused(error) | Self::Unknown(error) | Self::NotSent(error) => Some(error),
        }
    }
}

/// A short name for a change in errors and logs.
pub fn describe(change: &Change) -> String {
    format!("{} {}", change.name, change.rtype)
}
