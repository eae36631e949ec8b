//! Opens a provider with its credentials, and tries them.

use std::sync::Arc;

use zonekeeper_providers::{OpenContext, Waiting, cloudflare::budget::Budgets, fence::Fence};

use zonekeeper_model::{
    Event,
    credentials::{CheckError, CheckRequest, Checked},
    providers::Active,
};

use crate::{
    declare::{ProviderSettings, provider_settings},
    engine::open::Engine,
    runner::tasks::{self, Task},
    serve::Metrics,
};

/// What every provider is opened with.
pub struct CheckContext {
    pub budgets: Budgets,
    pub fence: Arc<dyn Fence>,
    pub metrics: Arc<Metrics>,
    pub engine: Arc<Engine>,
}

// === impl CheckContext ===

impl CheckContext {
    fn of(&self, name: &str) -> OpenContext {
        OpenContext {
            fence: self.fence.clone(),
            meter: self.metrics.of_provider(name),
            before: self.engine.latest_provider(name),
            ..OpenContext::new(self.budgets.clone(), Waiting::Never)
        }
    }
}

/// Tries, and answers.
pub async fn check(request: CheckRequest, context: CheckContext) -> Event {
    let (name, attempt) = (request.name.clone(), request.attempt);
    let result = tasks::caught(Task::Check, try_out(request, context)).await;
    let result = result.unwrap_or_else(|| Err(Task::Check.error().into()));
    Event::Checked(Box::new(Checked { name, attempt, result }))
}

async fn try_out(request: CheckRequest, context: CheckContext) -> Result<Active, CheckError> {
    let CheckRequest { name, attempt, object, credentials, secrets, before } = request;
    let ProviderSettings { backend, registry, .. } = provider_settings(&object, &credentials)?;
    let before = before.and_then(|attempt| context.engine.provider(&name, attempt));
    let open = match before {
        Some(open) => open,
        None => backend.open(context.of(&name)).await?,
    };
    let standing = open.provider.check().await?;
    context.engine.provider_opened(&name, attempt, open);
    Ok(Active { attempt, registry, standing, spec: object.spec.clone(), secrets, since: 0 })
}
