//! The zone itself in the status of its DNSZone.

use zonekeeper_api::{DnssecMode, DnssecStatus, DsRecord, Reason, ZoneStanding};
use zonekeeper_kernel::{
    zone_change::Fields,
    zone_state::{Activation, ZoneState},
};

use crate::{conditions::Verdict, zone_entry::ZoneEntry};

/// Why a zone does not answer the world yet, or not any more.
pub fn inactive(state: Option<&ZoneState>, domain: &str) -> Option<Verdict> {
    let state = state?;
    let servers = state.name_servers.join(", ");
    let (reason, message) = match &state.activation {
        Activation::Active => return None,
        Activation::Pending { deadline, is_near } => {
            let end = deadline.as_ref().map(|deadline| match is_near {
                true => format!("; the provider deletes the zone at {deadline} if that is not done by then"),
                false => format!("; it has time until {deadline}"),
            });
            let set = match servers.is_empty() {
                true => format!("its provider is setting {domain} up; the name servers follow"),
                false => format!(
                    "set the name servers of {domain} to {servers} at its registrar or in its parent zone"
                ),
            };
            (Reason::ZonePending, format!("{set}{}", end.unwrap_or_default()))
        }
        Activation::Moved => (
            Reason::NotDelegated,
            format!(
                "{domain} is delegated elsewhere: set its name servers to {servers} again, or remove the DNSZone"
            ),
        ),
    };
    Some(Verdict::new(reason, message))
}

/// Whether it is signed as it is wanted; none if that is not managed.
pub fn signed(entry: &ZoneEntry, state: Option<&ZoneState>) -> Option<(bool, Reason, String)> {
    let dnssec = state?.dnssec.as_ref()?;
    if entry.object.spec.dnssec.mode != DnssecMode::On {
        return None;
    }
    let domain = &entry.object.spec.domain;
    Some(match (dnssec.is_complete, dnssec.ds.first()) {
        (true, _) => {
            (true, Reason::Programmed, format!("{domain} is signed, and its parent zone vouches for it"))
        }
        (false, Some(ds)) => (
            false,
            Reason::NotSigned,
            format!("add this DS record for {domain} at its registrar or in its parent zone: {ds}"),
        ),
        (false, None) => {
            (false, Reason::NotSigned, format!("{domain} is about to be signed: {}", dnssec.state))
        }
    })
}

/// Where it stands.
pub fn standing(state: &ZoneState, initial: Option<&Fields>) -> ZoneStanding {
    let deadline = match &state.activation {
        Activation::Pending { deadline, .. } => deadline.clone(),
        Activation::Active | Activation::Moved => None,
    };
    let owned = |(field, value): (&str, &str)| (field.to_owned(), value.to_owned());
    ZoneStanding {
        status: state.activation.as_str().to_owned(),
        activation_deadline: deadline,
        initial: initial.into_iter().flat_map(Fields::iter).map(owned).collect(),
    }
}

/// How it is signed.
pub fn dnssec(state: &ZoneState) -> Option<DnssecStatus> {
    let dnssec = state.dnssec.as_ref()?;
    let record = |ds: &zonekeeper_kernel::zone_state::Ds| DsRecord {
        key_tag: ds.key_tag,
        algorithm: ds.algorithm,
        digest_type: ds.digest_type,
        digest: ds.digest.clone(),
    };
    Some(DnssecStatus { state: dnssec.state.clone(), ds: dnssec.ds.iter().map(record).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(activation: Activation) -> Option<(Reason, String)> {
        let name_servers = vec!["ada.ns.example.net".into(), "bob.ns.example.net".into()];
        let state = ZoneState { activation, name_servers, ..ZoneState::default() };
        inactive(Some(&state), "example.com").map(|verdict| (verdict.reason, verdict.message))
    }

    #[test]
    fn every_state_of_a_zone_says_what_to_do() {
        assert_eq!(said(Activation::Active), None);
        let deadline = Some("2026-12-17T00:00:00Z".to_owned());
        let (reason, message) =
            said(Activation::Pending { deadline: deadline.clone(), is_near: false }).unwrap();
        assert_eq!(reason, Reason::ZonePending);
        assert_eq!(
            message,
            "set the name servers of example.com to ada.ns.example.net, bob.ns.example.net at its registrar or in its parent zone; it has time until 2026-12-17T00:00:00Z"
        );
        let (_, message) = said(Activation::Pending { deadline, is_near: true }).unwrap();
        assert!(message.contains("deletes the zone at 2026-12-17T00:00:00Z"), "{message}");
        let (reason, message) = said(Activation::Moved).unwrap();
        assert_eq!(reason, Reason::NotDelegated);
        assert!(
            message.contains("ada.ns.example.net") && message.contains("delegated elsewhere"),
            "{message}"
        );
        // One that its provider is still setting up has no name servers yet.
        let state = ZoneState {
            activation: Activation::Pending { deadline: None, is_near: false },
            ..ZoneState::default()
        };
        let message = inactive(Some(&state), "example.com").unwrap().message;
        assert!(message.contains("is setting example.com up"), "{message}");
    }
}
