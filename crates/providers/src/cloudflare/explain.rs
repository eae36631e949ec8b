//! What Cloudflare's error codes mean to the person who has to do something about them.

use crate::{
    ProviderError,
    cloudflare::api::{ApiError, Failure},
};

/// What a refusal concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    /// The credential or the zone: every request would fail alike.
    Everything,
    /// One change: others may pass.
    OneChange,
    /// The state that the change was planned on.
    State,
    /// The number of changes in one call.
    BatchSize,
}

/// Which code means what, and what to do about it.
struct Meaning {
    codes: &'static [i64],
    concern: Concern,
    advice: &'static str,
}

/// Codes as seen in the field (2026-11); messages and HTTP status vary, so they are never matched.
const MEANINGS: &[Meaning] = &[
    Meaning {
        codes: &[6003, 6102, 6103, 6105, 6111, 9106, 9103, 1000],
        concern: Concern::Everything,
        advice: "check that the Secret holds a Cloudflare API token and nothing else",
    },
    Meaning {
        codes: &[9109],
        concern: Concern::Everything,
        advice: "create the token anew, or allow this address in the token's IP filter",
    },
    Meaning {
        codes: &[10000, 10001, 0],
        concern: Concern::Everything,
        advice: "give the token the permissions Zone:Read and DNS:Edit for this zone",
    },
    Meaning {
        codes: &[7003, 7000, 1001, 1002],
        concern: Concern::Everything,
        advice: "check spec.zoneID of the DNSZone and baseURL of the DNSProvider",
    },
    Meaning {
        codes: &[81044, 81057, 81058],
        concern: Concern::State,
        advice: "the zone changed in between; it is read again",
    },
    Meaning {
        codes: &[81053, 81054, 81055, 81056],
        concern: Concern::State,
        advice: "another record with this name excludes it; remove that one first",
    },
    Meaning {
        codes: &[81045],
        concern: Concern::OneChange,
        advice: "the zone's record quota is used up; delete records or upgrade the plan",
    },
    Meaning {
        codes: &[83011, 9015],
        concern: Concern::OneChange,
        advice: "shorten the value, or spread it over several names",
    },
    Meaning {
        codes: &[9000, 9002, 9005, 9006, 9007, 9009, 9039, 9100, 9101, 9207, 1004],
        concern: Concern::OneChange,
        advice: "correct the name, type or value",
    },
    Meaning { codes: &[9003, 9004], concern: Concern::OneChange, advice: "set cloudflare.proxied to false" },
    Meaning { codes: &[9021], concern: Concern::OneChange, advice: "correct spec.ttl, or leave it out" },
    Meaning {
        codes: &[9300, 9313],
        concern: Concern::OneChange,
        advice: "shorten cloudflare.comment or cloudflare.tags, or upgrade the plan",
    },
];

/// What a refusal concerns.
pub fn concern(status: u16, errors: &[ApiError]) -> Concern {
    if status == 413 || errors.iter().any(is_about_batch_size) {
        return Concern::BatchSize;
    }
    let known = errors.iter().filter_map(|error| meaning(status, error.code)).map(|meaning| meaning.concern);
    let fallback = match status {
        401 | 403 => Concern::Everything,
        404 | 409 => Concern::State,
        _other => Concern::OneChange,
    };
    known.min_by_key(|concern| *concern as u8).unwrap_or(fallback)
}

/// The error for a person: what was tried, Cloudflare's own words and codes, and the next step.
pub fn explain(act: &str, failure: &Failure) -> ProviderError {
    match failure {
        Failure::RateLimited { after } => ProviderError::RateLimited {
            message: format!("{act}: Cloudflare's rate limit is reached; it goes on when Cloudflare allows"),
            after: *after,
        },
        // Said on every object that waits: the same words each time.
        Failure::OverBudget { after } => ProviderError::RateLimited {
            message: "waiting for the request budget of the credential, which other changes have used up; it goes on by itself (spec.rateLimit of the DNSProvider)".into(),
            after: *after,
        },
        Failure::NotSent { message } | Failure::Lost { message } => {
            ProviderError::Unavailable { message: format!("{act}: {message}") }
        }
        Failure::Refused { status, errors } => {
            let message = format!("{act}: {}", words(*status, errors));
            match concern(*status, errors) {
                Concern::Everything
                    if errors.iter().any(|error| matches!(error.code, 7003 | 7000 | 1001 | 1002)) =>
                {
                    ProviderError::ZoneNotFound { message }
                }
                Concern::Everything => ProviderError::Credentials { message },
                Concern::OneChange | Concern::BatchSize => ProviderError::Rejected { message },
                Concern::State => ProviderError::Stale { message },
            }
        }
    }
}

fn words(status: u16, errors: &[ApiError]) -> String {
    let advice = errors.iter().find_map(|error| meaning(status, error.code)).map(|meaning| meaning.advice);
    words_with(status, errors, advice.unwrap_or_default())
}

/// Cloudflare's own words and codes, and the next step.
pub(super) fn words_with(status: u16, errors: &[ApiError], advice: &str) -> String {
    if errors.is_empty() {
        return format!("Cloudflare answered HTTP {status} without saying why");
    }
    let said: Vec<String> = errors
        .iter()
        .map(|error| format!("{} ({})", error.message.trim_end_matches('.'), error.code))
        .collect();
    let separator = if advice.is_empty() { "" } else { "; " };
    format!("Cloudflare says: {}{separator}{advice}", said.join("; "))
}

fn meaning(status: u16, code: i64) -> Option<&'static Meaning> {
    // Code 0 means nothing by itself: gateways send it when a right is missing, others when they have no code.
    if code == 0 && !matches!(status, 401 | 403) {
        return None;
    }
    MEANINGS.iter().find(|meaning| meaning.codes.contains(&code))
}

/// The code of an oversized batch is not documented; its words are the only sign (2026-11).
fn is_about_batch_size(error: &ApiError) -> bool {
    let message = error.message.to_lowercase();
    message.contains("batch")
        && ["limit", "maximum", "too many", "exceed"].iter().any(|word| message.contains(word))
}
