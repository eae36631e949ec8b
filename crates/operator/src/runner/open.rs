//! Looks for a zone at its provider.

use std::sync::Arc;

use zonekeeper_providers::{ProviderError, open_zone};

use zonekeeper_model::{Event, opening::OpenRequest, zone_entry::ZoneFacts};

use crate::{
    engine::open::Engine,
    runner::tasks::{self, Task},
};

/// Looks, and answers the model.
pub async fn open(request: OpenRequest, engine: Arc<Engine>) -> Event {
    let OpenRequest { zone, attempt, domain, id, wish, provider, provider_attempt } = request;
    let open = async {
        let Some(open) = engine.provider(&provider, provider_attempt) else {
            let message = format!("DNSProvider {provider} was opened anew meanwhile");
            return Err(ProviderError::Unavailable { message });
        };
        let access = open_zone(open.provider, &domain, id.as_deref(), &wish).await?;
        let traits = access.traits();
        let facts = ZoneFacts {
            id: traits.id.clone(),
            name_servers: traits.name_servers.clone(),
            comment_limit: traits.capabilities.comment_limit,
        };
        engine.zone_found(&zone, attempt, access);
        Ok(facts)
    };
    let found = tasks::caught(Task::Opening, open).await;
    let found = found.unwrap_or_else(|| Err(Task::Opening.error()));
    Event::Opened { zone, attempt, found }
}
