//! What a provider answers: why it did not do what it was asked, when asking again makes sense, what credentials show.

use std::time::Duration;

/// An error of a provider.
///
/// Messages carry what the provider said, cut and scrubbed: never a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The credentials are missing, wrong, expired or lack a right.
    #[error("{message}")]
    Credentials {
        /// What is wrong, and the next step.
        message: String,
    },
    /// No such zone, or not visible with these credentials.
    #[error("{message}")]
    ZoneNotFound {
        /// Which, and the next step.
        message: String,
    },
    /// The provider refused a change.
    #[error("{message}")]
    Rejected {
        /// The provider's own words and codes.
        message: String,
    },
    /// What was written is undone again and again.
    #[error("{message}")]
    Undone {
        /// What, and the next step.
        message: String,
    },
    /// The live state is not what the change was planned on.
    #[error("{message}")]
    Stale {
        /// What differs.
        message: String,
    },
    /// Too many requests.
    #[error("{message}")]
    RateLimited {
        /// What the provider said.
        message: String,
        /// How long it asked us to wait.
        after: Duration,
    },
    /// It can't be reached, or is in trouble itself.
    #[error("{message}")]
    Unavailable {
        /// What happened.
        message: String,
    },
    /// A fault of our own.
    #[error("{message}")]
    Internal {
        /// What failed, and the next step.
        message: String,
    },
    /// The configuration can't work.
    #[error("{message}")]
    Configuration {
        /// What, and the field to change.
        message: String,
    },
}

/// When asking again makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Not before an object or the provider is edited.
    Never,
    /// After a growing pause.
    Backoff,
    /// After this long.
    After(Duration),
}

/// What credentials show.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// The zones that they can see, name and id, sorted; none where the provider does not tell.
    pub zones: Option<Vec<(String, String)>>,
    /// When they end, in RFC 3339, where the provider says so.
    pub expires: Option<String>,
}

// === impl ProviderError ===

impl ProviderError {
    /// The fixed word for conditions, Events, metrics and JSON.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Credentials { .. } => "CredentialsInvalid",
            Self::ZoneNotFound { .. } => "ZoneNotFound",
            Self::Rejected { .. } => "ProviderRejected",
            Self::Undone { .. } => "DriftDetected",
            Self::Stale { .. } => "Pending",
            Self::RateLimited { .. } => "RateLimited",
            Self::Unavailable { .. } => "ProviderUnavailable",
            Self::Internal { .. } => "InternalError",
            Self::Configuration { .. } => "InvalidValue",
        }
    }

    /// When asking again makes sense.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Rejected { .. } | Self::Configuration { .. } => Retry::Never,
            Self::Credentials { .. }
            | Self::ZoneNotFound { .. }
            | Self::Undone { .. }
            | Self::Internal { .. }
            | Self::Unavailable { .. } => Retry::Backoff,
            Self::Stale { .. } => Retry::After(Duration::ZERO),
            Self::RateLimited { after, .. } => Retry::After(*after),
        }
    }
}
