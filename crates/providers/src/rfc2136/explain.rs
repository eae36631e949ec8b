//! What a server's answer means to the person who has to do something about it.

use domain::base::iana::Rcode;

use super::{client::Failure, conversation::Cause};
use crate::ProviderError;

/// What a failure concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Concern {
    /// The key, the zone or the server: every update would fail alike.
    Everything,
    /// One change, or everything: an update without content tells.
    Unclear,
    /// One change: others may pass.
    OneChange,
    /// The state that a change was planned on.
    State,
}

/// What a failure concerns.
pub(super) fn concern(cause: &Cause) -> Concern {
    match cause {
        Cause::Refused(Rcode::YXDOMAIN | Rcode::YXRRSET | Rcode::NXDOMAIN | Rcode::NXRRSET) => Concern::State,
        Cause::Refused(Rcode::FORMERR | Rcode::NOTZONE) => Concern::OneChange,
        Cause::Refused(Rcode::REFUSED | Rcode::SERVFAIL) => Concern::Unclear,
        Cause::Refused(_)
        | Cause::NotServed(_)
        | Cause::UnknownKey(_)
        | Cause::BadSignature(_)
        | Cause::BadTime(_)
        | Cause::Unsigned(_)
        | Cause::NotSent(_)
        | Cause::Lost(_) => Concern::Everything,
    }
}

/// The error for a person where every request of its kind fails.
pub(super) fn explain(act: &str, failure: &Failure) -> ProviderError {
    let server = &failure.server;
    match &failure.cause {
        Cause::UnknownKey(key) => ProviderError::Credentials {
            message: format!(
                "{act}: server {server} does not know TSIG key {key}; correct name and algorithm in the Secret, or add \
                 the key to the server"
            ),
        },
        Cause::BadSignature(key) => ProviderError::Credentials {
            message: format!(
                "{act}: server {server} has another secret for TSIG key {key}; copy the server's into the Secret"
            ),
        },
        Cause::BadTime(skew) => ProviderError::Unavailable {
            message: format!(
                "{act}: the clock of server {server} is {} s {} ours, and signatures last 300 s; set both by NTP",
                skew.unsigned_abs(),
                if *skew < 0 { "behind" } else { "ahead of" },
            ),
        },
        Cause::Unsigned(rcode) => ProviderError::Credentials {
            message: format!(
                "{act}: server {server} answered {rcode} without a signature; let it require the TSIG key, or leave \
                 tsigSecretRef out"
            ),
        },
        Cause::NotSent(message) => {
            ProviderError::Unavailable { message: format!("{act}: server {server}: {message}") }
        }
        Cause::Lost(message) => ProviderError::Unavailable {
            message: format!(
                "{act}: server {server} gave {message}; it is asked again, and its log may say more"
            ),
        },
        Cause::NotServed(rcode) => ProviderError::ZoneNotFound {
            message: format!(
                "{act}: server {server} says {rcode}: it does not serve the zone, or not to this key; add the zone \
                 there, or name another server"
            ),
        },
        Cause::Refused(rcode) => refused(act, server, *rcode),
    }
}

fn refused(act: &str, server: &str, rcode: Rcode) -> ProviderError {
    let said = format!("{act}: server {server} says {rcode}");
    match rcode {
        Rcode::REFUSED if act.ends_with("by AXFR") => ProviderError::Credentials {
            message: format!(
                "{said}; allow it to the key of tsigSecretRef or transferTsigSecretRef in allow-transfer; a server that \
                 transfers nothing can be read with rfc2136.reading: Names"
            ),
        },
        Rcode::REFUSED => ProviderError::Credentials {
            message: format!(
                "{said}; allow it to the key of tsigSecretRef in update-policy or allow-update, or thaw the zone if it is \
                 frozen"
            ),
        },
        Rcode::NOTAUTH | Rcode::NXDOMAIN => ProviderError::ZoneNotFound {
            message: format!(
                "{said}: it does not serve the zone; add the zone there, or name another server"
            ),
        },
        Rcode::NOTIMP => ProviderError::Configuration {
            message: format!("{said}: it takes no such requests; name another server in rfc2136.servers"),
        },
        Rcode::SERVFAIL => ProviderError::Unavailable {
            message: format!("{said}: the zone may not be loaded; its log says why"),
        },
        _other => ProviderError::Unavailable { message: format!("{said}; its log says why") },
    }
}

/// The error for a person where one change is refused.
pub(super) fn explain_change(act: &str, failure: &Failure, hint: Option<String>) -> ProviderError {
    let Cause::Refused(rcode) = failure.cause else { return explain(act, failure) };
    let said = format!("{act}: server {} says {rcode}", failure.server);
    match (concern(&failure.cause), rcode, hint) {
        (Concern::State, _, _) => ProviderError::Stale {
            message: format!("{said}: it was changed in between; the zone is read again"),
        },
        (_, _, Some(hint)) => ProviderError::Rejected { message: format!("{said}: {hint}") },
        (_, Rcode::REFUSED, None) => ProviderError::Rejected {
            message: format!("{said}; allow the key this name and type in the zone's update-policy"),
        },
        (_, Rcode::NOTZONE, None) => ProviderError::Rejected {
            message: format!("{said}: a name is outside the zone; correct the name"),
        },
        (_, Rcode::FORMERR, None) => ProviderError::Rejected {
            message: format!("{said}: it can't read a value; correct the value, or upgrade the server"),
        },
        (_, Rcode::SERVFAIL, None) => ProviderError::Unavailable {
            message: format!(
                "{said}; its log says why; often it may not write to the folder of the zone's file"
            ),
        },
        (_, _, None) => explain(act, failure),
    }
}
