//! The closed list of words that say why: the same in condition, Event, metric and JSON.

use std::{error::Error, fmt, str::FromStr};

macro_rules! reasons {
    ($(#[doc = $meaning:literal] $word:ident,)+) => {
        /// Why an object is in the state that its condition shows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $(#[doc = $meaning] $word,)+
        }

        impl Reason {
            /// Every word, in the order of the contract.
            pub const fn all() -> &'static [Self] {
                &[$(Self::$word,)+]
            }

            /// The word itself.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => stringify!($word),)+
                }
            }

            /// What the word means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$word => $meaning.trim_ascii(),)+
                }
            }
        }
    };
}

reasons! {
    /// The provider holds what was asked for.
    Programmed,
    /// Work is under way.
    Pending,
    /// The zone only watches.
    Observed,
    /// A change from outside was undone.
    DriftReverted,
    /// The live record differs from what was applied.
    DriftDetected,
    /// Waits for a person's approval.
    Held,
    /// Owned by this installation, but the object that created it could not be confirmed as deleted.
    Orphaned,
    /// Another object holds the name.
    Conflict,
    /// The zone's grants do not cover the wish.
    NotAllowed,
    /// No zone takes the name.
    NoMatchingZone,
    /// Several zones could take the wish.
    AmbiguousZone,
    /// An older DNSZone stands for the same zone.
    DuplicateZone,
    /// The value can't be what it claims to be.
    InvalidValue,
    /// The name or text belongs to ownership markers.
    ReservedName,
    /// A record that is not ours stands in the way.
    AdoptionRefused,
    /// The provider refused the change.
    ProviderRejected,
    /// The provider does not answer.
    ProviderUnavailable,
    /// The request budget is used up for now.
    RateLimited,
    /// The provider refused the credentials.
    CredentialsInvalid,
    /// The key that signs markers is gone while signed markers exist.
    MarkerKeyMissing,
    /// The provider has no such zone.
    ZoneNotFound,
    /// A referenced object does not exist.
    RefNotFound,
    /// A reference crosses a border that was not opened.
    RefNotPermitted,
    /// We may not read the kind.
    SourceForbidden,
    /// The wish exists, its values are not known at the moment.
    TargetsUnknown,
    /// Reconciling is switched off.
    Suspended,
    /// The object is being deleted.
    Terminating,
    /// The zone is not active yet: its parent does not name its servers.
    ZonePending,
    /// The parent zone does not name the zone's servers.
    NotDelegated,
    /// The zone is not signed, or its parent has no DS record for it.
    NotSigned,
    /// Name servers do not serve the latest state of their zones yet.
    ServersBehind,
    /// A fault in Zonekeeper itself; it is tried again.
    InternalError,
}

/// A word that is not on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownReason(pub String);

// === impl Reason ===

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Reason {
    type Err = UnknownReason;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::all()
            .iter()
            .copied()
            .find(|reason| reason.as_str() == word)
            .ok_or_else(|| UnknownReason(word.into()))
    }
}

// === impl UnknownReason ===

impl fmt::Display for UnknownReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} is not one of our reasons", self.0)
    }
}

impl Error for UnknownReason {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_parses_back() {
        for reason in Reason::all() {
            assert_eq!(reason.to_string().parse(), Ok(*reason));
        }
    }

    #[test]
    fn every_word_has_a_meaning() {
        assert_eq!(Reason::Held.meaning(), "Waits for a person's approval.");
        assert_eq!(Reason::all().len(), 32);
    }

    #[test]
    fn other_words_are_named_in_the_error() {
        let error = "Sideways".parse::<Reason>().unwrap_err();
        assert_eq!(error.to_string(), "\"Sideways\" is not one of our reasons");
    }
}
