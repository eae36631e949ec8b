//! Which providers there are, a row each, and the one place where they are opened.

use std::{sync::Arc, time::Duration};

use zonekeeper_kernel::capability::Capabilities;

use crate::{
    Provider, ProviderError, ZoneTraits,
    builtin::{self, Builtin},
    cloudflare::{self, budget::Budgets},
    fence::{Fence, Unfenced},
    meter::{Meter, Unmetered},
    rfc2136,
    traits::AUTHORITY_FIELDS,
};

/// How to reach a provider, credentials included.
#[derive(Debug, Clone)]
pub enum Backend {
    /// Cloudflare.
    Cloudflare(cloudflare::Settings),
    /// Servers that take dynamic updates.
    Rfc2136(rfc2136::Settings),
    /// The server inside this process.
    Builtin(builtin::Settings),
}

/// What every provider is opened with, whichever it is.
#[derive(Debug, Clone)]
pub struct OpenContext {
    /// Whether this process may still send.
    pub fence: Arc<dyn Fence>,
    /// Told how long requests take.
    pub meter: Arc<dyn Meter>,
    /// The request budgets of this process, which providers with the same credentials share.
    pub budgets: Budgets,
    /// How long requests may wait for a provider that asks for it.
    pub waiting: Waiting,
    /// Whether a server inside this process answers queries.
    pub answering: Answering,
    /// What the same provider was before, where it is opened anew.
    pub before: Option<Opened>,
}

/// How long work may wait for a provider that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// At most this long at a time: nothing else will come back to it.
    UpTo(Duration),
    /// Not at all: it is come back to.
    Never,
}

/// Whether a server inside this process answers queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answering {
    /// On its sockets.
    Queries,
    /// It has no sockets: its zones are there to compare with.
    Nothing,
}

/// A provider that is open.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Where its zones are found.
    pub provider: Arc<dyn Provider>,
    /// The server itself, where it is inside this process: its zones are declared before they are found.
    pub builtin: Option<Builtin>,
}

// === impl Backend ===

impl Backend {
    /// Opens it; nothing is asked of it yet.
    pub async fn open(&self, context: OpenContext) -> Result<Opened, ProviderError> {
        match self {
            Self::Cloudflare(settings) => cloudflare::open(settings, context),
            Self::Rfc2136(settings) => rfc2136::open(settings, context),
            Self::Builtin(settings) => builtin::open(settings, context).await,
        }
    }

    /// What is true of its zones, as far as that is known without a call.
    pub fn zone_traits(&self) -> ZoneTraits {
        match self {
            Self::Cloudflare(_) => cloudflare::traits_of_largest_plan(),
            Self::Rfc2136(_) | Self::Builtin(_) => {
                ZoneTraits { zone_fields: AUTHORITY_FIELDS, ..ZoneTraits::new("", Capabilities::standard()) }
            }
        }
    }

    /// Where the identifiers of its zones are unique, if another provider may lead to the same zones.
    pub fn realm(&self) -> Option<&str> {
        match self {
            Self::Cloudflare(settings) => Some(&settings.base_url),
            Self::Rfc2136(_) | Self::Builtin(_) => None,
        }
    }

    /// Whether its zones live inside this process.
    pub fn is_builtin(&self) -> bool {
        match self {
            Self::Builtin(_) => true,
            Self::Cloudflare(_) | Self::Rfc2136(_) => false,
        }
    }
}

// === impl OpenContext ===

impl OpenContext {
    /// For a process that is alone and that nothing measures.
    pub fn new(budgets: Budgets, waiting: Waiting) -> Self {
        Self {
            fence: Arc::new(Unfenced),
            meter: Arc::new(Unmetered),
            budgets,
            waiting,
            answering: Answering::Queries,
            before: None,
        }
    }
}

// === impl Opened ===

impl Opened {
    /// A provider outside this process.
    pub fn outside(provider: impl Provider + 'static) -> Self {
        Self { provider: Arc::new(provider), builtin: None }
    }
}
