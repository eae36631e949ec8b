//! The simulated provider behind the traits that the engine works with: the only file that knows them.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use zonekeeper_kernel::{
    guard::Cleared,
    name::Name,
    plan::{Change, Edit},
    record::{LiveRecord, RecordId},
};
use zonekeeper_providers::{
    Calls, Effect, Opened, Outcome, Progress, Provider, ProviderError, ZoneAccess, ZoneTraits, cloudflare,
    fence::Fence,
};

use crate::{faults::Fate, world::World};

/// The provider, as one replica reaches it.
#[derive(Clone)]
pub struct SimProvider {
    pub world: Arc<World>,
    pub replica: Arc<str>,
    pub fence: Arc<dyn Fence>,
    pub token: Vec<u8>,
}

struct SimZone {
    provider: SimProvider,
    id: String,
    traits: ZoneTraits,
}

// === impl SimProvider ===

impl SimProvider {
    pub fn open_provider(self) -> Opened {
        Opened::outside(self)
    }

    /// Waits as long as a call takes, and says whether the provider answers.
    async fn call(&self) -> Result<(), ProviderError> {
        let latency = self.world.lock().provider_latency();
        tokio::time::sleep(latency).await;
        let world = self.world.lock();
        let now = world.clock.millis();
        if world.faults.provider_down > now {
            return Err(unavailable("the connection was refused"));
        }
        if world.faults.rate_limited > now {
            let after = Duration::from_millis(world.faults.rate_limited - now);
            return Err(ProviderError::RateLimited { message: "too many requests".into(), after });
        }
        if !world.valid_tokens.contains(&self.token) {
            return Err(ProviderError::Credentials { message: "the token is not valid".into() });
        }
        Ok(())
    }
}

#[async_trait]
impl Provider for SimProvider {
    async fn check(&self) -> Result<zonekeeper_providers::Standing, ProviderError> {
        self.call().await?;
        Ok(Default::default())
    }

    async fn open(&self, domain: &Name, id: Option<&str>) -> Result<Arc<dyn ZoneAccess>, ProviderError> {
        self.call().await?;
        let world = self.world.lock();
        let found = match id {
            Some(id) => world.servers.zones.contains_key(id).then(|| id.to_owned()),
            None => world.servers.find(domain).cloned(),
        };
        let id = found.ok_or_else(|| not_found(domain.as_str()))?;
        // Some zones are read name by name, others by a listing.
        let calls_to_list = if world.is_atomic { Calls::PerPage(100) } else { Calls::PerPage(2) };
        let capabilities = cloudflare::capabilities(60, world.comment_limit);
        let traits = ZoneTraits { calls_to_list, ..ZoneTraits::new(&id, capabilities) };
        Ok(Arc::new(SimZone { provider: self.clone(), id, traits }))
    }
}

impl fmt::Debug for SimProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SimProvider")
    }
}

impl fmt::Debug for SimZone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.id)
    }
}

// === impl SimZone ===

impl SimZone {
    async fn listed(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        self.provider.call().await?;
        let mut world = self.provider.world.lock();
        let at = world.listing_time();
        let zone = world.servers.zones.get(&self.id).ok_or_else(|| not_found(&self.id))?;
        Ok(zone.listing_at(at))
    }

    async fn carry_out(&self, change: &Change) -> Outcome {
        let world = &self.provider.world;
        let latency = world.lock().provider_latency();
        let fate = {
            let mut world = world.lock();
            if world.faults.is_refused() {
                let message = "1004: the change was refused".into();
                return Outcome::Refused(ProviderError::Rejected { message });
            }
            if !world.servers.zones.contains_key(&self.id) {
                return Outcome::NotSent(not_found(&self.id));
            }
            let world = &mut *world;
            world.faults.fate(&mut world.random)
        };
        tokio::time::sleep(latency).await;
        if fate == Fate::LostBefore {
            return Outcome::Unknown(unavailable("the reply was lost"));
        }
        let last = match fate {
            Fate::LostAmid => world.lock().random.below(change.edits.len() as u64) as usize,
            _others => change.edits.len(),
        };
        let mut effects = Vec::new();
        for (at, edit) in change.edits.iter().enumerate().take(last) {
            if at > 0 && !world.lock().is_atomic {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            match world.lock().edit(&self.id, edit, &self.provider.replica) {
                Ok(effect) => effects.push(effect),
                Err(error) if at == 0 => return Outcome::Refused(error),
                Err(error) => return Outcome::Unknown(error),
            }
        }
        tokio::time::sleep(latency / 2).await;
        match fate {
            Fate::Done => Outcome::Applied(effects),
            _lost => Outcome::Unknown(unavailable("the reply was lost")),
        }
    }
}

#[async_trait]
impl ZoneAccess for SimZone {
    fn traits(&self) -> &ZoneTraits {
        &self.traits
    }

    async fn list(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        self.listed().await
    }

    async fn read(&self, names: &BTreeSet<Name>) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        let listed = self.listed().await?;
        Ok(listed.into_iter().filter(|(name, _)| names.contains(name)).collect())
    }

    async fn find(&self, id: &RecordId) -> Result<Option<(Name, LiveRecord)>, ProviderError> {
        self.provider.call().await?;
        let world = self.provider.world.lock();
        let zone = world.servers.zones.get(&self.id).ok_or_else(|| not_found(&self.id))?;
        Ok(zone.records.get(id).map(|kept| (kept.name.clone(), kept.record.clone())))
    }

    async fn apply(&self, cleared: &Cleared, progress: &Progress<'_>) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for change in cleared.changes() {
            let sent = match self.provider.fence.time_left() {
                Some(_) => self.provider.call().await,
                None => Err(unavailable("this replica does not lead any more")),
            };
            let outcome = match sent {
                // The lease may have ended while it waited.
                Ok(()) if self.provider.fence.time_left().is_none() => {
                    Outcome::NotSent(unavailable("this replica does not lead any more"))
                }
                Ok(()) => self.carry_out(change).await,
                Err(error) => Outcome::NotSent(error),
            };
            outcomes.push(outcome);
            progress(outcomes.len());
        }
        outcomes
    }
}

/// What an edit did, under the id that its record has now.
pub fn effect(edit: &Edit, id: RecordId) -> Effect {
    Effect::of(edit, id)
}

pub fn unavailable(message: &str) -> ProviderError {
    ProviderError::Unavailable { message: message.into() }
}

fn not_found(what: &str) -> ProviderError {
    ProviderError::ZoneNotFound { message: format!("zone {what} is not there") }
}
