//! The words of the kernel and of providers as words of the API, one by one: none can be forgotten.

use zonekeeper_api::Reason;
use zonekeeper_kernel::provider::ProviderError;
use zonekeeper_kernel::reason::Reason as Word;

/// A word of the kernel.
pub fn of_word(word: Word) -> Reason {
    match word {
        Word::AdoptionRefused => Reason::AdoptionRefused,
        Word::AmbiguousZone => Reason::AmbiguousZone,
        Word::Conflict => Reason::Conflict,
        Word::DriftDetected => Reason::DriftDetected,
        Word::DuplicateZone => Reason::DuplicateZone,
        Word::Held => Reason::Held,
        Word::InvalidValue => Reason::InvalidValue,
        Word::NoMatchingZone => Reason::NoMatchingZone,
        Word::NotAllowed => Reason::NotAllowed,
        Word::Orphaned => Reason::Orphaned,
        Word::ProviderRejected => Reason::ProviderRejected,
        Word::RefNotFound => Reason::RefNotFound,
        Word::RefNotPermitted => Reason::RefNotPermitted,
        Word::ReservedName => Reason::ReservedName,
        Word::TargetsUnknown => Reason::TargetsUnknown,
    }
}

/// The word for an error of a provider.
pub fn of_error(error: &ProviderError) -> Reason {
    match error {
        ProviderError::Credentials { .. } => Reason::CredentialsInvalid,
        ProviderError::ZoneNotFound { .. } => Reason::ZoneNotFound,
        ProviderError::Rejected { .. } => Reason::ProviderRejected,
        ProviderError::Undone { .. } => Reason::DriftDetected,
        ProviderError::Stale { .. } => Reason::Pending,
        ProviderError::RateLimited { .. } => Reason::RateLimited,
        ProviderError::Unavailable { .. } => Reason::ProviderUnavailable,
        ProviderError::Internal { .. } => Reason::InternalError,
        ProviderError::Configuration { .. } => Reason::InvalidValue,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_error_says_the_same_word_in_json_and_in_conditions() {
        let message = String::new();
        for error in [
            ProviderError::Credentials { message: message.clone() },
            ProviderError::ZoneNotFound { message: message.clone() },
            ProviderError::Rejected { message: message.clone() },
            ProviderError::Undone { message: message.clone() },
            ProviderError::Stale { message: message.clone() },
            ProviderError::RateLimited { message: message.clone(), after: Duration::ZERO },
            ProviderError::Unavailable { message: message.clone() },
            ProviderError::Internal { message: message.clone() },
            ProviderError::Configuration { message },
        ] {
            assert_eq!(of_error(&error).as_str(), error.reason());
        }
    }
}
