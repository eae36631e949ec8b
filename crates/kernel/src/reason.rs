//! The fixed words by which the kernel says why something was refused, held or left alone.

use std::fmt;

use crate::{desired::Unmet, holder::Holder, name::Name, rdata::RecordType};

/// Why a wish was not, or not yet, carried out. The same word in condition, Event, metric and JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// An existing record that is not ours stands in the way.
    AdoptionRefused,
    /// Several zones could take the wish.
    AmbiguousZone,
    /// Another object holds the name.
    Conflict,
    /// The live record differs from what was applied.
    DriftDetected,
    /// Another DNSZone has the zone already.
    DuplicateZone,
    /// Held by the guard until a person approves.
    Held,
    /// The value can't be what it claims to be.
    InvalidValue,
    /// No zone takes the name.
    NoMatchingZone,
    /// The zone's grants do not cover the wish.
    NotAllowed,
    /// Owned by this installation, but the object that created it could not be confirmed as deleted.
    Orphaned,
    /// The provider refused the change.
    ProviderRejected,
    /// A referenced object does not exist.
    RefNotFound,
    /// A reference crosses a border that was not opened.
    RefNotPermitted,
    /// The name or text belongs to ownership markers.
    ReservedName,
    /// The wish exists, its values are not known at the moment.
    TargetsUnknown,
}

/// A wish that was refused; other wishes go on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rejection {
    /// Who asked.
    pub holder: Holder,
    /// The name asked for, where it is known.
    pub name: Option<Name>,
    /// The type asked for.
    pub rtype: RecordType,
    /// The fixed word.
    pub reason: Reason,
    /// What a person needs to know, and the next step.
    pub message: String,
}

// === impl Reason ===

impl Reason {
    /// Whether a wish was refused for what its object may have, or for what it asks.
    pub fn unmet(self) -> Unmet {
        match self {
            Self::NotAllowed | Self::NoMatchingZone | Self::AmbiguousZone => Unmet::Forbidden,
            _mistake => Unmet::Mistaken,
        }
    }

    /// The word itself.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AdoptionRefused => "AdoptionRefused",
            Self::AmbiguousZone => "AmbiguousZone",
            Self::Conflict => "Conflict",
            Self::DriftDetected => "DriftDetected",
            Self::DuplicateZone => "DuplicateZone",
            Self::Held => "Held",
            Self::InvalidValue => "InvalidValue",
            Self::NoMatchingZone => "NoMatchingZone",
            Self::NotAllowed => "NotAllowed",
            Self::Orphaned => "Orphaned",
            Self::ProviderRejected => "ProviderRejected",
            Self::RefNotFound => "RefNotFound",
            Self::RefNotPermitted => "RefNotPermitted",
            Self::ReservedName => "ReservedName",
            Self::TargetsUnknown => "TargetsUnknown",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
