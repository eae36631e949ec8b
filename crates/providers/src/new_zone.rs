//! A zone that is wanted and not there yet: its creation is a change like any other, planned before it is made.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use zonekeeper_kernel::{
    desired::Desired,
    guard::Cleared,
    name::Name,
    plan::Operation,
    record::{LiveRecord, RecordId},
    zone_change::{ClearedZone, Presence, ZoneWish},
    zone_state::ZoneState,
};

use crate::{Asks, CacheState, Outcome, Progress, Provider, ProviderError, ZoneAccess, ZoneTraits, describe};

/// Opens a zone. One that is missing and that may be created is opened as an empty one, which is there once its
/// creation was cleared and made.
pub async fn open_zone(
    provider: Arc<dyn Provider>,
    domain: &Name,
    id: Option<&str>,
    wish: &ZoneWish,
) -> Result<Arc<dyn ZoneAccess>, ProviderError> {
    match (provider.open(domain, id).await, wish.presence, id) {
        (Err(ProviderError::ZoneNotFound { .. }), Presence::Created, None) => {
            let planned = provider.new_zone().ok_or_else(|| {
                let message = format!(
                    "zones can't be created at this provider: create {domain} there, and set spec.lifecycle.create to false"
                );
                ProviderError::Configuration { message }
            })?;
            Ok(Arc::new(NewZone { provider, domain: domain.clone(), planned, made: OnceLock::new() }))
        }
        (found, _, _) => found,
    }
}

/// A zone that is to be created, and what it is then.
#[derive(Debug)]
struct NewZone {
    provider: Arc<dyn Provider>,
    domain: Name,
    planned: ZoneTraits,
    made: OnceLock<Arc<dyn ZoneAccess>>,
}

// === impl NewZone ===

impl NewZone {
    fn missing(&self) -> ProviderError {
        ProviderError::ZoneNotFound { message: format!("zone {} is not created yet", self.domain) }
    }
}

#[async_trait]
impl ZoneAccess for NewZone {
    fn traits(&self) -> &ZoneTraits {
        self.made.get().map_or(&self.planned, |made| made.traits())
    }

    fn watch_names(&self, names: &BTreeSet<Name>) -> CacheState {
        self.made.get().map_or(CacheState::Current, |made| made.watch_names(names))
    }

    async fn adapt(&self, desired: &Desired) -> Result<Option<Desired>, ProviderError> {
        match self.made.get() {
            Some(made) => made.adapt(desired).await,
            None => Ok(None),
        }
    }

    async fn list(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        match self.made.get() {
            Some(made) => made.list().await,
            None => Ok(Vec::new()),
        }
    }

    async fn scan(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        match self.made.get() {
            Some(made) => made.scan().await,
            None => Ok(Vec::new()),
        }
    }

    async fn read(&self, names: &BTreeSet<Name>) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        match self.made.get() {
            Some(made) => made.read(names).await,
            None => Ok(Vec::new()),
        }
    }

    async fn find(&self, id: &RecordId) -> Result<Option<(Name, LiveRecord)>, ProviderError> {
        match self.made.get() {
            Some(made) => made.find(id).await,
            None => Ok(None),
        }
    }

    async fn zone_state(&self, wish: &ZoneWish, asks: Asks) -> Result<Option<ZoneState>, ProviderError> {
        match self.made.get() {
            Some(made) => made.zone_state(wish, asks).await,
            None => Ok(None),
        }
    }

    async fn change_zone(&self, cleared: &ClearedZone, wish: &ZoneWish) -> Vec<Result<(), ProviderError>> {
        if let Some(made) = self.made.get() {
            return made.change_zone(cleared, wish).await;
        }
        let mut answers = Vec::new();
        for change in cleared.changes() {
            answers.push(match (change.operation, self.made.get()) {
                (Operation::Create, None) => self.provider.create(&self.domain, wish).await.map(|zone| {
                    self.made.get_or_init(|| zone);
                }),
                // What is configured of it is compared with what it was created with first.
                (Operation::Create | Operation::Update | Operation::Delete, Some(_)) => Ok(()),
                (Operation::Update | Operation::Delete, None) => Err(self.missing()),
            });
        }
        answers
    }

    fn passed(&self) {
        if let Some(made) = self.made.get() {
            made.passed();
        }
    }

    async fn apply(&self, cleared: &Cleared, progress: &Progress<'_>) -> Vec<Outcome> {
        match self.made.get() {
            Some(made) => made.apply(cleared, progress).await,
            None => {
                let not_sent = |change| {
                    let error = self.missing();
                    tracing::debug!(change = describe(change), "not sent: its zone is not there");
                    Outcome::NotSent(error)
                };
                cleared.changes().iter().map(not_sent).collect()
            }
        }
    }
}
