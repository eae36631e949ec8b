//! Opens a provider with its credentials, and tries them.

use std::{sync::Arc, time::Duration};

use zonekeeper_providers::{
    ProviderError,
    builtin::Builtin,
    cloudflare::{self, Cloudflare, budget::Budgets},
    fence::Fence,
    rfc2136::{self, Rfc2136},
};

use zonekeeper_model::{
    Event,
    credentials::{CheckError, CheckRequest, Checked},
    providers::Active,
};

use crate::{
    declare::{Backend, ProviderSettings, provider_settings},
    engine::open::{Engine, OpenProvider},
    runner::tasks::{self, Task},
    serve::Metrics,
};

/// A zone that waits longer for the request budget says so, and is come back to.
const BUDGET_PATIENCE: Duration = Duration::from_secs(1);

/// What every provider is opened with.
pub struct CheckContext {
    pub budgets: Budgets,
    pub fence: Arc<dyn Fence>,
    pub metrics: Arc<Metrics>,
    pub engine: Arc<Engine>,
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
        None => open(&name, &backend, &context).await?,
    };
    let standing = open.provider.check().await?;
    context.engine.provider_opened(&name, attempt, open);
    Ok(Active { attempt, registry, standing, spec: object.spec.clone(), secrets, since: 0 })
}

async fn open(name: &str, backend: &Backend, context: &CheckContext) -> Result<OpenProvider, ProviderError> {
    let (fence, meter) = (context.fence.clone(), context.metrics.of_provider(name));
    Ok(match backend {
        Backend::Cloudflare(cloudflare) => {
            let budget_patience = Some(BUDGET_PATIENCE);
            let cloudflare = cloudflare::Settings { fence, meter, budget_patience, ..cloudflare.clone() };
            let cloudflare = Arc::new(Cloudflare::new(cloudflare, &context.budgets)?);
            OpenProvider { provider: cloudflare.clone(), cloudflare: Some(cloudflare), builtin: None }
        }
        Backend::Rfc2136(servers) => {
            let servers = Rfc2136::new(rfc2136::Settings { fence, meter, ..servers.clone() })?;
            OpenProvider { provider: Arc::new(servers), cloudflare: None, builtin: None }
        }
        Backend::Builtin { listen, allow_transfer } => {
            // The server before it has to make room.
            if let Some(before) = context.engine.builtin(name) {
                before.shutdown().await;
            }
            let builtin = Builtin::bind(*listen, allow_transfer.clone()).await?;
            OpenProvider { provider: Arc::new(builtin.clone()), cloudflare: None, builtin: Some(builtin) }
        }
    })
}
