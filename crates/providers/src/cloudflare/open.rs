//! Cloudflare opened from its settings.

use std::time::Duration;

use super::{Cloudflare, Settings};
use crate::{OpenContext, Opened, ProviderError, Waiting};

/// Work that is come back to says so when it would wait longer than this for the request budget.
const BUDGET_PATIENCE: Duration = Duration::from_secs(1);

/// Opens it; nothing is asked yet.
pub(crate) fn open(settings: &Settings, context: OpenContext) -> Result<Opened, ProviderError> {
    let OpenContext { fence, meter, budgets, waiting, .. } = context;
    let (patience, budget_patience) = match waiting {
        Waiting::UpTo(patience) => (patience, None),
        Waiting::Never => (Duration::ZERO, Some(BUDGET_PATIENCE)),
    };
    let settings = Settings { fence, meter, patience, budget_patience, ..settings.clone() };
    Ok(Opened::outside(Cloudflare::new(settings, &budgets)?))
}
