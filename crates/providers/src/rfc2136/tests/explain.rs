use domain::base::iana::Rcode;

use super::super::{
    client::Failure,
    conversation::Cause,
    explain::{Concern, concern, explain, explain_change},
};
use crate::ProviderError;

const SERVER: &str = "192.0.2.53:53";

fn failure(cause: &Cause) -> Failure {
    Failure { server: SERVER.into(), cause: cause.clone() }
}

/// A message names who was asked for what, what the answer was, and the next step.
fn check(error: &ProviderError, cause: &Cause, reason: &str, next_step: &str) {
    let message = error.to_string();
    assert_eq!(error.reason(), reason, "{cause:?}: {message}");
    let said = match cause {
        Cause::Refused(rcode) | Cause::NotServed(rcode) | Cause::Unsigned(rcode) => rcode.to_string(),
        Cause::UnknownKey(text) | Cause::BadSignature(text) | Cause::NotSent(text) | Cause::Lost(text) => {
            text.clone()
        }
        Cause::BadTime(seconds) => format!("{} s", seconds.abs()),
    };
    for part in ["writing www", SERVER, &said, next_step] {
        assert!(message.contains(part), "{cause:?} does not say {part:?}: {message}");
    }
}

#[test]
fn every_failure_says_what_it_concerns_and_what_to_do() {
    let rows = [
        (Cause::UnknownKey("key-1".into()), Concern::Everything, "CredentialsInvalid", "add the key"),
        (Cause::BadSignature("key-1".into()), Concern::Everything, "CredentialsInvalid", "into the Secret"),
        (Cause::BadTime(1_000), Concern::Everything, "ProviderUnavailable", "NTP"),
        (Cause::BadTime(-1_000), Concern::Everything, "ProviderUnavailable", "behind"),
        (Cause::Unsigned(Rcode::REFUSED), Concern::Everything, "CredentialsInvalid", "tsigSecretRef"),
        (Cause::NotServed(Rcode::REFUSED), Concern::Everything, "ZoneNotFound", "add the zone"),
        (Cause::NotSent("can't connect".into()), Concern::Everything, "ProviderUnavailable", ""),
        (Cause::Lost("no answer within 10 s".into()), Concern::Everything, "ProviderUnavailable", "again"),
        (Cause::Refused(Rcode::NOTAUTH), Concern::Everything, "ZoneNotFound", "add the zone"),
        (Cause::Refused(Rcode::NOTIMP), Concern::Everything, "InvalidValue", "rfc2136.servers"),
        (Cause::Refused(Rcode::REFUSED), Concern::Unclear, "CredentialsInvalid", "allow-update"),
        (Cause::Refused(Rcode::SERVFAIL), Concern::Unclear, "ProviderUnavailable", "log"),
        (Cause::Refused(Rcode::FORMERR), Concern::OneChange, "ProviderUnavailable", "log"),
        (Cause::Refused(Rcode::NOTZONE), Concern::OneChange, "ProviderUnavailable", "log"),
        (Cause::Refused(Rcode::NXDOMAIN), Concern::State, "ZoneNotFound", "add the zone"),
        (Cause::Refused(Rcode::NXRRSET), Concern::State, "ProviderUnavailable", "log"),
        (Cause::Refused(Rcode::YXDOMAIN), Concern::State, "ProviderUnavailable", "log"),
        (Cause::Refused(Rcode::YXRRSET), Concern::State, "ProviderUnavailable", "log"),
    ];
    for (cause, expected, reason, next_step) in rows {
        assert_eq!(concern(&cause), expected, "{cause:?}");
        check(&explain("writing www", &failure(&cause)), &cause, reason, next_step);
    }
}

#[test]
fn what_is_refused_of_one_change_is_that_changes_fault() {
    let rows = [
        (Rcode::REFUSED, "ProviderRejected", "update-policy"),
        (Rcode::NOTZONE, "ProviderRejected", "correct the name"),
        (Rcode::FORMERR, "ProviderRejected", "correct the value"),
        (Rcode::SERVFAIL, "ProviderUnavailable", "log"),
        (Rcode::NXDOMAIN, "Pending", "read again"),
        (Rcode::NXRRSET, "Pending", "read again"),
        (Rcode::YXDOMAIN, "Pending", "read again"),
        (Rcode::YXRRSET, "Pending", "read again"),
        (Rcode::NOTAUTH, "ZoneNotFound", "add the zone"),
        (Rcode::NOTIMP, "InvalidValue", "rfc2136.servers"),
    ];
    for (rcode, reason, next_step) in rows {
        let cause = Cause::Refused(rcode);
        check(&explain_change("writing www", &failure(&cause), None), &cause, reason, next_step);
    }
    let unsigned = Cause::Unsigned(Rcode::REFUSED);
    let error = explain_change("writing www", &failure(&unsigned), None);
    check(&error, &unsigned, "CredentialsInvalid", "tsigSecretRef");
}

/// A guess explains a no; it does not explain that another client was faster.
#[test]
fn a_hint_is_for_what_the_server_refuses() {
    let rows = [
        (Rcode::REFUSED, "ProviderRejected", "too many values"),
        (Rcode::SERVFAIL, "ProviderRejected", "too many values"),
        (Rcode::NXRRSET, "Pending", "read again"),
    ];
    for (rcode, reason, next_step) in rows {
        let (cause, hint) = (Cause::Refused(rcode), Some("too many values".into()));
        check(&explain_change("writing www", &failure(&cause), hint), &cause, reason, next_step);
    }
}

#[test]
fn a_refused_transfer_names_the_way_without_one() {
    let error = explain("reading zone example.com by AXFR", &failure(&Cause::Refused(Rcode::REFUSED)));
    let message = error.to_string();
    assert!(message.contains("allow-transfer") && message.contains("reading: Names"), "{message}");
}
