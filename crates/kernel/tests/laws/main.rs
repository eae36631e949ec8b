//! The laws of the design as properties of the kernel, on generated zones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod generate;
mod model;

use std::collections::BTreeSet;

use generate::{Case, case, holders, intents};
use model::{Zone, data_at, without_ids};
use proptest::prelude::*;
use zonekeeper_kernel::{
    claim::{Claim, NameClaims},
    desired::{Adoption, Values},
    guard::{self, Approval, HeldFor, Limits, Subject, Window},
    holder::HolderRef,
    marker::Form,
    name::Name,
    plan::{Cause, Change, Edit, Operation, Role, Scope, plan},
    rdata::RecordType,
    resolve::resolve,
};

fn cases() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(10_000),
    }
}

/// The changes that are applied without asking a person.
fn applied(case: &Case, zone: &Zone) -> Vec<Change> {
    let plan = plan(&case.situation(zone), Scope::Zone);
    plan.changes.into_iter().filter(|change| !matches!(change.cause, Cause::Orphaned(_))).collect()
}

/// Whether somebody who is going leaves records there to whoever comes: then the claim alone goes.
fn is_left(case: &Case, name: &Name, rtype: RecordType) -> bool {
    holders().into_iter().any(|holder| case.evidence.retains((name, rtype), &HolderRef::Full(holder)))
}

fn edits(changes: &[Change]) -> Vec<Edit> {
    changes.iter().flat_map(|change| change.edits.iter().cloned()).collect()
}

/// Applies everything until nothing is left, as a zone's worker does.
fn converge(case: &Case, zone: &mut Zone) -> usize {
    for round in 0..4 {
        let changes = applied(case, zone);
        if changes.is_empty() {
            return round;
        }
        for edit in edits(&changes) {
            zone.carry_out(&edit).expect("a plan's own edits are valid in their order");
        }
    }
    panic!("does not converge: {:#?}", applied(case, zone));
}

proptest! {
    #![proptest_config(cases())]

    /// Law 1: applying a plan, then planning again, gives an empty plan.
    #[test]
    fn law_1_a_quiet_system_makes_no_writes(case in case()) {
        let mut zone = case.zone();
        // What one leaves behind another may take by Force, which is a second step.
        let is_given_up = zone.live.iter().any(|(name, records)| {
            records.iter().any(|record| is_left(&case, name, record.rdata.rtype()))
        });
        let enough = if is_given_up { 2 } else { 1 };
        prop_assert!(converge(&case, &mut zone) <= enough, "{} rounds are enough", enough);
    }

    /// Law 2: every prefix of a plan, applied, still converges to the same end.
    #[test]
    fn law_2_a_crash_at_any_write_is_harmless(case in case()) {
        let mut clean = case.zone();
        let edits = edits(&applied(&case, &clean));
        converge(&case, &mut clean);
        for stop in 0..edits.len() {
            let mut crashed = case.zone();
            for edit in &edits[..stop] {
                crashed.carry_out(edit).unwrap();
            }
            converge(&case, &mut crashed);
            prop_assert_eq!(without_ids(&crashed.live), without_ids(&clean.live), "after {} of {:#?}", stop, edits);
        }
    }

    /// Law 3: no update or delete of a record that we hold no claim on, except by Force.
    #[test]
    fn law_3_what_is_not_ours_is_never_touched(case in case()) {
        let zone = case.zone();
        for change in applied(&case, &zone) {
            for edit in &change.edits {
                let Some(before) = edit.before() else { continue };
                let claims = NameClaims::read(&case.registry, &case.known, &zone.live, edit.name());
                let claim = claims.records.iter().find(|(record, _)| *record == before).map(|(_, claim)| claim);
                let is_ours = edit.role() == Role::Marker || claim.is_some_and(Claim::is_ours);
                let is_foreign = matches!(claim, Some(Claim::Foreign { .. }));
                prop_assert!(!is_foreign, "not even by force: {:?}", edit);
                let is_forced = case.desired.at(&change.name).iter().any(|set| {
                    set.adoption == Adoption::Force && set.rtype == before.rdata.rtype()
                });
                let is_adopted = edit.is_marker_only() && case.desired.at(&change.name).iter().any(|set| {
                    set.adoption == Adoption::Identical && set.rtype == before.rdata.rtype()
                });
                prop_assert!(is_ours || is_forced || is_adopted, "{:?}", edit);
                prop_assert!(!before.read_only);
                if edit.role() == Role::Marker {
                    let text = before.rdata.to_string();
                    prop_assert!(text.contains("owner=us,") || text.contains("owner=old,"), "{}", text);
                }
            }
        }
    }

    /// Law 3 at the moment of writing: the marker that makes a record ours is written with it, or named, so that a
    /// provider that can compares it.
    #[test]
    fn law_3_a_change_names_the_marker_that_it_rests_on(case in case()) {
        let zone = case.zone();
        for change in applied(&case, &zone) {
            let claims = NameClaims::read(&case.registry, &case.known, &zone.live, &change.name);
            for edit in change.edits.iter().filter(|edit| edit.role() == Role::Data) {
                let Some(before) = edit.before() else { continue };
                let marker = claims.marker(before.rdata.rtype()).filter(|marker| marker.claim.is_ours());
                let Some(marker) = marker else { continue };
                let is_named = change.claims.contains(&(marker.name.clone(), marker.record.rdata.clone()));
                let is_it = |edit: &Edit| *edit.name() == marker.name && edit.before() == Some(marker.record);
                prop_assert!(is_named || change.edits.iter().any(is_it), "{:#?}", change);
            }
        }
    }

    /// Law 4: a claim is written before or with its data, and removed after or with it.
    #[test]
    fn law_4_data_never_stands_without_its_claim(case in case()) {
        let mut zone = case.zone();
        if matches!(case.registry.form, Form::None) {
            return Ok(());
        }
        for edit in edits(&applied(&case, &zone)) {
            zone.carry_out(&edit).unwrap();
            if let (Some(after), Role::Data) = (edit.after(), edit.role()) {
                if is_left(&case, &after.name, after.rdata.rtype()) { continue }
                let claims = NameClaims::read(&case.registry, &case.known, &zone.live, &after.name);
                let written = claims.records.iter().find(|(record, _)| record.rdata == after.rdata);
                let is_ours = matches!(written, Some((_, Claim::Ours { .. })));
                prop_assert!(is_ours, "written without its claim: {:?}", edit);
            }
            if let Edit::Delete { name, before, role: Role::Marker } = &edit {
                let index = case.registry.marker_index().unwrap();
                let (data, rtype) = index(name).unwrap();
                if is_left(&case, &data, rtype) { continue }
                let orphaned = zone.live.set(&data, rtype).iter().any(|record| !record.read_only);
                prop_assert!(!orphaned, "the claim {} went before its data", before.rdata);
            }
        }
    }

    /// Law 5: absence never deletes.
    #[test]
    fn law_5_a_delete_needs_evidence(case in case()) {
        let zone = case.zone();
        for change in applied(&case, &zone) {
            for edit in &change.edits {
                let (Edit::Delete { name, before, role: Role::Data } | Edit::Update { before, after: zonekeeper_kernel::record::Record { name, .. }, role: Role::Data }) = edit else { continue };
                if edit.is_marker_only() { continue }
                if let Edit::Update { after, .. } = edit
                    && after.rdata == before.rdata { continue }
                let claims = NameClaims::read(&case.registry, &case.known, &zone.live, name);
                let claim = claims.records.iter().find(|(record, _)| *record == before).map(|(_, claim)| claim);
                let Some(Claim::Ours { holder, .. }) = claim else { continue };
                let wants_the_set = case.desired.at(name).iter().any(|set| {
                    set.rtype == before.rdata.rtype()
                        && set.holders.iter().any(|wanting| holder.names(wanting))
                });
                let place = (name, before.rdata.rtype());
                let is_forced = case.desired.at(name).iter().any(|set| {
                    set.rtype == before.rdata.rtype() && set.adoption == Adoption::Force
                });
                let is_taken = is_forced && case.evidence.retains(place, holder);
                prop_assert!(wants_the_set || is_taken || case.evidence.releases(place, holder), "{:?}", edit);
                let is_unknown = case.desired.at(name).iter().any(|set| {
                    set.rtype == before.rdata.rtype() && set.values == Values::Unknown
                });
                prop_assert!(!is_unknown, "a set of unknown values was touched: {:?}", edit);
let is_wanted = case.desired.at(name).iter().any(|set| set.rtype == before.rdata.rtype());
                prop_assert!(is_wanted || !case.desired.is_reserved(name), "a reserved name lost something: {:?}", edit);
            }
        }
    }

    /// Law 6: no change leaves a still-desired name without records.
    #[test]
    fn law_6_a_wanted_name_is_never_empty(case in case()) {
        let mut zone = case.zone();
        let changes = applied(&case, &zone);
        let wanted: Vec<_> = case.desired.iter().map(|(name, _)| name.clone())
            .filter(|name| data_at(&case.registry, &zone.live, name) > 0).collect();
        for edit in edits(&changes) {
            zone.carry_out(&edit).unwrap();
            for name in &wanted {
                prop_assert!(data_at(&case.registry, &zone.live, name) > 0, "{} is empty after {:?}", name, edit);
            }
        }
    }

    /// Law 7: the order of the input never matters.
    #[test]
    fn law_7_order_of_input_never_matters(case in case(), (wishes, shuffled) in intents()) {
        let zone = case.zone();
        prop_assert_eq!(plan(&case.situation(&zone), Scope::Zone), plan(&case.situation(&zone.reversed()), Scope::Zone));
        let resolved = |wishes: &[generate::Wish]| resolve(
            &generate::zone(), &case.capabilities, &case.registry,
            wishes.iter().map(|wish| (wish.name.clone(), &wish.intent)), &Default::default(),
        );
        prop_assert_eq!(resolved(&wishes), resolved(&shuffled));
    }

    /// Law 8: no change without a difference, and nothing beside a CNAME on the way.
    #[test]
    fn law_8_every_change_differs_and_no_cname_has_company(case in case()) {
        let mut zone = case.zone();
        for change in applied(&case, &zone) {
            prop_assert!(!change.edits.is_empty());
            prop_assert!(change.is_marker_only() || change.before() != change.after(), "{:?}", change);
            for edit in &change.edits {
                if let Edit::Update { before, after, .. } = edit {
                    prop_assert_ne!(&before.at(&after.name), after);
                }
                // The model refuses a CNAME beside others, and a second identical record.
                prop_assert_eq!(zone.carry_out(edit), Ok(()));
            }
        }
    }

    /// Planning for some names equals the whole plan, restricted.
    #[test]
    fn a_plan_for_some_names_is_the_whole_plan_restricted(case in case(), picks in any::<u16>()) {
        let zone = case.zone();
        let names: BTreeSet<_> = generate::names().into_iter().enumerate()
            .filter(|(index, _)| picks & (1 << index) != 0).map(|(_, name)| name).collect();
        let whole = plan(&case.situation(&zone), Scope::Zone);
        let some = plan(&case.situation(&zone), Scope::Names(&names));
        let restricted: Vec<_> = whole.changes.into_iter().filter(|change| names.contains(&change.name)).collect();
        prop_assert_eq!(some.changes, restricted);
    }

    /// The guard loses no change, holds what it must, and hashes without regard to order.
    #[test]
    fn the_guard_splits_a_plan_and_its_hash_is_stable(
        case in case(), deletes in 0_usize..8, updates in 0_usize..80, owned in 0_usize..40,
    ) {
        let zone = case.zone();
        let changes = plan(&case.situation(&zone), Scope::Zone).changes;
        let subject = Subject {
            identity: "uid", domain: &case.registry.domain, rules: &case.rules, limits: Some(Limits::default()),
        };
        let window = Window { owned_at_start: owned, deletes, updates, ..Window::default() };
        let verdict = guard::clear(changes.clone(), &subject, window, &Approval::None);
        prop_assert_eq!(verdict.cleared.changes().len() + verdict.held.len(), changes.len());
        // However often sets are updated within a window: all of them is no limit.
        let has_updates = verdict.held.iter().any(|held| matches!(held.why, HeldFor::TooManyUpdates { .. }));
        prop_assert!(!has_updates);
        let counted = changes.iter().filter(|change| guard::is_counted_delete(change)).count();
        let limit_is_passed = match owned < 10 {
            true => deletes + counted > 3,
            false => (deletes + counted) * 100 > 30 * owned,
        };
        for change in verdict.cleared.changes() {
            prop_assert!(!(limit_is_passed && guard::is_counted_delete(change)), "{:?}", change);
            prop_assert!(!matches!(change.cause, Cause::Orphaned(_)));
            let is_apex_ns = change.name == case.registry.domain
                && change.before().iter().any(|state| state.rtype == zonekeeper_kernel::rdata::RecordType::NS);
            prop_assert!(!is_apex_ns || change.operation == Operation::Create || change.is_marker_only());
        }
        let mut backwards = changes;
        backwards.reverse();
        let again = guard::clear(backwards.clone(), &subject, window, &Approval::None);
        prop_assert_eq!(&again.hash, &verdict.hash);
        if !verdict.held.is_empty() {
            let approved = guard::clear(backwards, &subject, window, &Approval::Held(verdict.hash));
            prop_assert!(approved.held.is_empty() && approved.released_by_approval);
        }
    }
}
