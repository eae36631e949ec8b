//! One zone of the built-in server as a provider's zone.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use zonekeeper_kernel::{
    capability::Capabilities, guard::Cleared, name::Name, record::LiveRecord, zone_change::ZoneWish,
    zone_state::ZoneState,
};

use super::{
    draft::live,
    tree::{Records, SERVER},
    zone::Zone,
};
use crate::{Asks, Outcome, Progress, ProviderError, ZoneAccess, ZoneTraits, traits::AUTHORITY_FIELDS};

/// An opened zone.
#[derive(Debug)]
pub(super) struct Access {
    zone: Arc<Zone>,
    traits: ZoneTraits,
}

// === impl Access ===

impl Access {
    /// Opens a zone; the servers are those of this moment.
    pub(super) fn new(zone: Arc<Zone>) -> Self {
        let name_servers = zone.state().authority().servers().iter().map(Name::to_string).collect();
        let traits = ZoneTraits::new(zone.domain().as_str(), Capabilities::standard());
        Self { zone, traits: ZoneTraits { name_servers, zone_fields: AUTHORITY_FIELDS, ..traits } }
    }
}

#[async_trait]
impl ZoneAccess for Access {
    fn traits(&self) -> &ZoneTraits {
        &self.traits
    }

    /// SOA and apex NS are served as they are declared.
    async fn zone_state(&self, wish: &ZoneWish, _asks: Asks) -> Result<Option<ZoneState>, ProviderError> {
        let ZoneTraits { id, name_servers, .. } = self.traits.clone();
        let fields = wish.fields.clone();
        Ok(Some(ZoneState { id, name_servers, fields, ..ZoneState::default() }))
    }

    async fn list(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        // Copied outside the lock: a large listing must not hold up a change.
        let snapshot = {
            let state = self.zone.state();
            state.check_served()?;
            state.tree().snapshot()
        };
        Ok(snapshot.iter().flat_map(|(name, records)| listed(name, records)).collect())
    }

    async fn read(&self, names: &BTreeSet<Name>) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        let state = self.zone.state();
        state.check_served()?;
        let found = names.iter().filter_map(|name| Some((name, state.tree().get(name.as_str())?)));
        Ok(found.flat_map(|(name, records)| listed(name, records)).collect())
    }

    fn passed(&self) {
        self.zone.know();
    }

    async fn apply(&self, cleared: &Cleared, progress: &Progress<'_>) -> Vec<Outcome> {
        let outcomes = self.zone.apply(cleared.changes());
        progress(outcomes.len());
        outcomes
    }
}

fn listed<'a>(name: &'a Name, records: &'a Records) -> impl Iterator<Item = (Name, LiveRecord)> + 'a {
    records.iter().filter(|record| record.id != SERVER).map(|record| (name.clone(), live(record)))
}
