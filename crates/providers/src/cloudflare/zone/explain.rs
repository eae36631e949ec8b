//! What Cloudflare's codes for zones mean to the person who has to do something about them.

use std::time::Duration;

use crate::{
    ProviderError,
    cloudflare::{
        api::Failure,
        explain::{self, words_with},
    },
};

/// After too many attempts Cloudflare refuses a domain for hours (2026-11).
const BANNED: Duration = Duration::from_secs(3_600);

/// What a refusal means for the zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// What was asked for can't be had.
    Refused,
    /// It can be had later.
    Later,
}

/// Which code means what, and what to do about it.
struct Row {
    codes: &'static [i64],
    meaning: Meaning,
    advice: &'static str,
}

/// Codes as documented in the field (2026-11); messages vary, so they are never matched.
const ROWS: &[Row] = &[
    Row {
        codes: &[1002, 1049],
        meaning: Meaning::Refused,
        advice: "register the domain first, and check spec.domain of the DNSZone",
    },
    Row {
        codes: &[1099],
        meaning: Meaning::Refused,
        advice: "Cloudflare takes registered domains only, no subdomain, unless the plan allows it: correct spec.domain",
    },
    Row {
        codes: &[1050, 1110],
        meaning: Meaning::Later,
        advice: "the registry does not know the domain yet; it is tried again",
    },
    Row {
        codes: &[1104, 1070],
        meaning: Meaning::Refused,
        advice: "the plan does not include it: upgrade the plan, or change spec.cloudflare of the DNSZone",
    },
    Row {
        codes: &[1098, 1105],
        meaning: Meaning::Later,
        advice: "Cloudflare refuses the domain for some hours after too many attempts; it is tried again",
    },
    Row {
        codes: &[1096, 1097],
        meaning: Meaning::Refused,
        advice: "Cloudflare has banned the domain: ask its support",
    },
    Row {
        codes: &[1067, 1068, 1106],
        meaning: Meaning::Refused,
        advice: "set spec.cloudflare.accountID of the DNSProvider to an account in which the token has Zone Write",
    },
    Row {
        codes: &[1018, 1021, 1057, 1059],
        meaning: Meaning::Later,
        advice: "the zone's state does not allow it yet; it is tried again",
    },
    Row {
        codes: &[1071, 1073, 1075, 1076, 1080],
        meaning: Meaning::Refused,
        advice: "correct the name servers",
    },
    Row {
        codes: &[1085, 1086, 1004, 1006, 1007],
        meaning: Meaning::Refused,
        advice: "correct spec.cloudflare of the DNSZone",
    },
    Row {
        codes: &[1088, 1089, 1108, 1109],
        meaning: Meaning::Refused,
        advice: "check the subscription of the zone",
    },
];

/// The error for a person: what was tried, Cloudflare's own words, the missing permission, and the next step.
pub fn explain(act: &str, permission: &str, failure: &Failure) -> ProviderError {
    let Failure::Refused { status, errors } = failure else { return explain::explain(act, failure) };
    if let Some(row) = errors.iter().find_map(|error| ROWS.iter().find(|row| row.codes.contains(&error.code)))
    {
        let message = format!("{act}: {}", words_with(*status, errors, row.advice));
        return match row.meaning {
            Meaning::Refused => ProviderError::Rejected { message },
            Meaning::Later => ProviderError::RateLimited { message, after: BANNED },
        };
    }
    match explain::explain(act, failure) {
        ProviderError::Credentials { .. } => {
            let advice = format!("give the token the permission {permission} for this zone");
            ProviderError::Credentials { message: format!("{act}: {}", words_with(*status, errors, &advice)) }
        }
        other => other,
    }
}
