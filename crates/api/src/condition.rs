//! The condition types that our objects carry.

use std::fmt;

/// The type of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionType {
    /// Summarises the others.
    Ready,
    /// Work is under way, or waits for a rate limit.
    Reconciling,
    /// Only a person can help.
    Stalled,
    /// The provider took the credentials.
    CredentialsValid,
    /// The object may have what it asks for.
    Accepted,
    /// The provider holds what was asked for.
    Programmed,
    /// Changes wait for approval; bad when True.
    Held,
    /// Records were changed from outside; bad when True.
    DriftDetected,
    /// The parent zone names the zone's servers.
    Delegated,
    /// The zone is signed, and its parent vouches for it.
    Signed,
}

// === impl ConditionType ===

impl ConditionType {
    /// Every type.
    pub const fn all() -> &'static [Self] {
        &[
            Self::Ready,
            Self::Reconciling,
            Self::Stalled,
            Self::CredentialsValid,
            Self::Accepted,
            Self::Programmed,
            Self::Held,
            Self::DriftDetected,
            Self::Delegated,
            Self::Signed,
        ]
    }

    /// The word in `conditions[].type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Reconciling => "Reconciling",
            Self::Stalled => "Stalled",
            Self::CredentialsValid => "CredentialsValid",
            Self::Accepted => "Accepted",
            Self::Programmed => "Programmed",
            Self::Held => "Held",
            Self::DriftDetected => "DriftDetected",
            Self::Delegated => "Delegated",
            Self::Signed => "Signed",
        }
    }

    /// Whether True is the good state.
    pub const fn is_good_when_true(self) -> bool {
        match self {
            Self::Ready
            | Self::CredentialsValid
            | Self::Accepted
            | Self::Programmed
            | Self::Delegated
            | Self::Signed => true,
            Self::Reconciling | Self::Stalled | Self::Held | Self::DriftDetected => false,
        }
    }
}

impl fmt::Display for ConditionType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
