//! Opens a provider with its credentials, and tries them.

use std::{sync::Arc, time::Duration};

use zonekeeper_providers::{
    ProviderError,
    builtin::Builtin,
    cloudflare::{self, Cloudflare, budget::Budgets},
    fence::Fence,
    rfc2136::{self, Rfc2136},
};

use crate::{
    declare::Backend,
    engine::open::{Engine, OpenProvider},
    model::{
        Event,
        credentials::{CheckRequest, Checked},
        providers::Active,
    },
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

// === impl CheckRequest ===

impl CheckRequest {
    /// Tries, and answers the model.
    pub async fn run(self, context: CheckContext) -> Event {
        let (name, attempt) = (self.name.clone(), self.attempt);
        let result = tasks::caught(Task::Check, self.check(context)).await;
        let result = result.unwrap_or_else(|| Err(Task::Check.error()));
        Event::Checked(Box::new(Checked { name, attempt, result }))
    }

    async fn check(self, context: CheckContext) -> Result<Active, ProviderError> {
        let before = self.before.and_then(|attempt| context.engine.provider(&self.name, attempt));
        let open = match before {
            Some(open) => open,
            None => self.open(&context).await?,
        };
        let standing = open.provider.check().await?;
        context.engine.provider_opened(&self.name, self.attempt, open);
        let Self { attempt, spec, settings, secrets, .. } = self;
        Ok(Active { attempt, settings, standing, spec, secrets, since: 0 })
    }

    async fn open(&self, context: &CheckContext) -> Result<OpenProvider, ProviderError> {
        let (fence, meter) = (context.fence.clone(), context.metrics.of_provider(&self.name));
        Ok(match &self.settings.backend {
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
                if let Some(before) = context.engine.builtin(&self.name) {
                    before.shutdown().await;
                }
                let builtin = Builtin::bind(*listen, allow_transfer.clone()).await?;
                OpenProvider { provider: Arc::new(builtin.clone()), cloudflare: None, builtin: Some(builtin) }
            }
        })
    }
}
