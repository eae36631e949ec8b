//! The laws of the design, judged by what the generator knows.

use std::collections::BTreeSet;

use proptest::{prelude::*, test_runner::TestCaseResult};
use zonekeeper_kernel::{
    attribute::PROXIED,
    claim::Known,
    desired::{Adoption, Values},
    guard::{self, Approval, Limits, Subject, Window},
    holder::HolderRef,
    name::Name,
    plan::{Cause, Change, Edit, Fate, Operation, Plan, Role, Scope, plan},
    rdata::RecordType,
    record::{LiveRecord, Record},
    zone::{Drift, Policy, PruneMode},
};

use crate::{
    forge::{self, Shape, domain},
    model::{Zone, without_ids},
    truth::{Case, HOLDERS, Whose, references},
};

/// A plan, and what of it is applied without asking a person, as a zone's worker does.
pub fn planned(case: &Case, zone: &Zone) -> (Plan, Vec<Change>) {
    let mut plan = plan(&case.situation(zone), Scope::Zone);
    let subject = Subject {
        identity: "uid",
        domain: &case.registry.domain,
        rules: &case.rules,
        limits: Some(Limits { max_delete_percent: 100, max_update_percent: 100, min_records: 0 }),
    };
    let changes = std::mem::take(&mut plan.changes);
    let mut verdict = guard::clear(changes, &subject, Window::default(), &Approval::None);
    verdict.cleared.arrivals_first();
    (plan, verdict.cleared.into_changes())
}

fn applied(case: &Case, zone: &Zone) -> Vec<Change> {
    planned(case, zone).1
}

fn edits(changes: &[Change]) -> Vec<Edit> {
    changes.iter().flat_map(|change| change.edits.iter().cloned()).collect()
}

/// Applies everything until nothing is left, and says how many rounds that took.
fn converge(case: &Case, zone: &mut Zone) -> Result<usize, TestCaseError> {
    for round in 0..5 {
        let changes = applied(case, zone);
        if changes.is_empty() {
            return Ok(round);
        }
        for edit in edits(&changes) {
            zone.carry_out(&edit).map_err(TestCaseError::fail)?;
        }
    }
    Err(TestCaseError::fail(format!("does not converge: {:#?}", applied(case, zone))))
}

/// Law 1: applying a plan, then planning again, gives an empty plan.
pub fn a_quiet_system_makes_no_writes(case: &Case) -> TestCaseResult {
    let mut zone = case.zone();
    let waits_for_arrivals = {
        let all = plan(&case.situation(&zone), Scope::Zone).changes;
        let asks_a_person = |change: &&Change| matches!(change.cause, Cause::Orphaned(_) | Cause::Needed(_));
        let held = all.iter().filter(asks_a_person).count();
        applied(case, &zone).len() + held < all.len()
    };
    // What one object leaves behind another may take by Force, which is a second step.
    let is_given_up = is_given_up(case);
    // And what is nobody's any more, the zone may not keep.
    let is_pruned = is_given_up && case.rules.prune.mode == PruneMode::All;
    let enough = 1 + [is_given_up, is_pruned, waits_for_arrivals].map(usize::from).iter().sum::<usize>();
    let rounds = converge(case, &mut zone)?;
    prop_assert!(rounds <= enough, "{} rounds, {} are enough", rounds, enough);
    Ok(())
}

/// Whether an object leaves a record to others.
fn is_given_up(case: &Case) -> bool {
    case.records.iter().any(|one| case.is_left(&one.name, one.record.rdata.rtype()))
}

/// Whether memory knows such a record: a process that lets a record go forgets it, too, for all holders.
fn is_disputed(case: &Case) -> bool {
    is_given_up(case) && matches!(&case.known, Known::Ids(ids) if !ids.is_empty())
}

/// Law 2: every prefix of a plan, applied, still converges to the same end.
pub fn a_crash_at_any_write_is_harmless(case: &Case) -> TestCaseResult {
    // Where updates or deletes are not made, what is half done stays so; and what one object leaves to others
    // counts against the cap of a zone that keeps nothing of others.
    let is_given_up = is_given_up(case);
    let is_pruned = is_given_up && case.rules.prune.mode == PruneMode::All;
    if case.rules.policy != Policy::Sync || is_pruned || is_disputed(case) {
        return Ok(());
    }
    let mut clean = case.zone();
    let edits = edits(&applied(case, &clean));
    converge(case, &mut clean)?;
    for stop in 0..edits.len() {
        let mut crashed = case.zone();
        for edit in &edits[..stop] {
            crashed.carry_out(edit).map_err(TestCaseError::fail)?;
        }
        converge(case, &mut crashed)?;
        // Half of the zone's own name servers is nothing to go on with: a person is asked.
        let asks_a_person =
            |record: &Record| record.name == domain() && record.rdata.rtype() == RecordType::NS;
        let end = |zone: &Zone| {
            without_ids(&zone.live).into_iter().filter(|one| !asks_a_person(one)).collect::<Vec<_>>()
        };
        prop_assert_eq!(end(&crashed), end(&clean), "after {} of {:#?}", stop, edits);
    }
    Ok(())
}

/// Law 3: no update or delete of a record that we hold no claim on, except by Force and by prune All.
pub fn what_is_not_ours_is_never_touched(case: &Case) -> TestCaseResult {
    let zone = case.zone();
    let mut pruned = BTreeSet::new();
    for change in applied(case, &zone) {
        let is_excluded = case.rules.names.exclude.iter().any(|pattern| pattern.matches(&change.name));
        prop_assert!(!is_excluded, "outside the zone's names: {:?}", change);
        for edit in &change.edits {
            let Some(before) = edit.before() else { continue };
            let rtype = before.rdata.rtype();
            let whose = zone.whose(before);
            prop_assert!(!before.read_only, "read-only: {:?}", edit);
            prop_assert_eq!(edit.role() == Role::Marker, matches!(whose, Whose::Marker { .. }), "{:?}", edit);
            let wish = case.wish(edit.name(), rtype);
            let is_forced = wish.is_some_and(|wish| wish.adoption == Adoption::Force);
            let is_adopted = wish.is_some_and(|wish| wish.adoption == Adoption::Identical) && is_same(edit);
            let may_change = match whose {
                Whose::Ours(_) | Whose::Marker { is_ours: true } => true,
                Whose::Theirs | Whose::Marker { is_ours: false } => false,
                Whose::Stray => is_forced,
                Whose::Free if is_forced || is_adopted => true,
                Whose::Free => {
                    pruned.insert((edit.name(), rtype).0.clone());
                    may_be_pruned(case, edit.name(), rtype)
                }
                Whose::Written => false,
            };
            prop_assert!(may_change, "{:?} is {:?}", edit, whose);
        }
    }
    let cap = case.rules.prune.max_deletes;
    prop_assert!(pruned.len() <= cap, "{} pruned, the cap is {}: {:?}", pruned.len(), cap, pruned);
    Ok(())
}

/// Whether an edit leaves value, TTL and proxied as they are.
fn is_same(edit: &Edit) -> bool {
    match (edit.before(), edit.after()) {
        (Some(before), Some(after)) => {
            before.rdata == after.rdata
                && before.ttl == after.ttl
                && before.attributes.is_on(PROXIED) == after.attributes.is_on(PROXIED)
        }
        _ => false,
    }
}

fn may_be_pruned(case: &Case, name: &Name, rtype: RecordType) -> bool {
    let is_ignored = case.rules.prune.ignore.iter().any(|ignore| {
        ignore.name.as_ref().is_none_or(|pattern| pattern.matches(name))
            && ignore.rtype.is_none_or(|ignored| ignored == rtype)
    });
    case.rules.prune.mode == PruneMode::All
        && case.rules.policy == Policy::Sync
        && !is_ignored
        && case.wish(name, rtype).is_none()
        && !(rtype == RecordType::NS && *name == domain())
        && !name.as_str().starts_with("_acme-challenge.")
}

/// Law 3 at the moment of writing: the marker that makes a record ours is written with it, or named, so that a
/// provider that can compares it.
pub fn a_change_names_the_marker_that_it_rests_on(case: &Case) -> TestCaseResult {
    let zone = case.zone();
    let Some(shape) = case.shape.txt() else { return Ok(()) };
    for change in applied(case, &zone) {
        for edit in change.edits.iter().filter(|edit| edit.role() == Role::Data) {
            let Some(before) = edit.before() else { continue };
            let at = shape.typed(&change.name, before.rdata.rtype());
            let mine = Whose::Marker { is_ours: true };
            for marker in zone.live.at(&at).iter().filter(|record| zone.whose(record) == mine) {
                let is_named = change.claims.contains(&(at.clone(), marker.rdata.clone()));
                let is_it = |edit: &Edit| *edit.name() == at && edit.before() == Some(marker);
                prop_assert!(is_named || change.edits.iter().any(is_it), "{:#?}", change);
            }
        }
    }
    Ok(())
}

/// Law 4: a claim is written before or with its data, and removed after or with it.
pub fn data_never_stands_without_its_claim(case: &Case) -> TestCaseResult {
    let mut zone = case.zone();
    for edit in edits(&applied(case, &zone)) {
        zone.carry_out(&edit).map_err(TestCaseError::fail)?;
        if let (Some(after), Role::Data) = (edit.after(), edit.role()) {
            let place = (&after.name, after.rdata.rtype());
            let is_claimed = case.is_left(place.0, place.1) || is_claimed(case, &zone, place, &after.comment);
            prop_assert!(is_claimed, "written without its claim: {:?}", edit);
        }
        if let Edit::Delete { name, before, role: Role::Marker } = &edit {
            let shape = case.shape.txt().expect("no other form has markers of its own");
            for left in case.records.iter().map(|placed| (&placed.name, placed.record.rdata.rtype())) {
                if shape.typed(left.0, left.1) != *name || case.is_left(left.0, left.1) {
                    continue;
                }
                let is_it = |record: &&LiveRecord| record.rdata.rtype() == left.1 && !record.read_only;
                let is_there = zone.data_at(left.0).any(|record| is_it(&record));
                prop_assert!(!is_there, "the claim {} went before its data", before.rdata);
            }
        }
    }
    Ok(())
}

/// Whether a claim of ours stands for a record, by the test's own hand.
fn is_claimed(case: &Case, zone: &Zone, place: (&Name, RecordType), comment: &str) -> bool {
    let us = forge::Hand { owner: "us", key: case.registry.keys.is_set().then_some(b"key") };
    match &case.shape {
        Shape::None => true,
        Shape::Comment { .. } => {
            let written = comment.rsplit(' ').next().unwrap_or_default();
            (0..HOLDERS.len()).flat_map(references).any(|(reference, _)| {
                let holder = match &reference {
                    HolderRef::Full(holder) => holder.as_str().to_owned(),
                    HolderRef::Hash(hash) => hash.to_string(),
                    HolderRef::Unnamed => return false,
                };
                written == forge::comment(us, place, &holder, "")
            })
        }
        Shape::Txt(shape) => {
            let at = shape.typed(place.0, place.1);
            zone.live.at(&at).iter().any(|record| zone.whose(record) == Whose::Marker { is_ours: true })
        }
    }
}

/// Law 5: absence never deletes, neither at once nor when the plan is made again.
pub fn a_delete_needs_evidence(case: &Case) -> TestCaseResult {
    let mut zone = case.zone();
    // What an object leaves may be claimed by another one, too: by memory, or by a second marker.
    let rounds = if is_given_up(case) { 1 } else { 3 };
    for _round in 0..rounds {
        for change in applied(case, &zone) {
            for edit in &change.edits {
                has_evidence(case, &zone, edit)?;
                zone.carry_out(edit).map_err(TestCaseError::fail)?;
            }
        }
    }
    Ok(())
}

fn has_evidence(case: &Case, zone: &Zone, edit: &Edit) -> TestCaseResult {
    let Some(before) = edit.before().filter(|_| edit.role() == Role::Data) else { return Ok(()) };
    if edit.after().is_some_and(|after| after.rdata == before.rdata) {
        return Ok(());
    }
    let Whose::Ours(held) = zone.whose(before) else { return Ok(()) };
    let (name, rtype) = (edit.name(), before.rdata.rtype());
    let wish = case.wish(name, rtype);
    let fate = case.fate(name, rtype, held);
    let is_forced = wish.is_some_and(|wish| wish.adoption == Adoption::Force);
    let is_taken = is_forced && fate == Some(Fate::Retained);
    let may_go = case.holder_wants(name, rtype, held) || fate == Some(Fate::Released) || is_taken;
    prop_assert!(may_go, "no evidence for {:?}", edit);
    let is_unknown = wish.is_some_and(|wish| wish.is_unknown);
    prop_assert!(!is_unknown, "a set of unknown values lost something: {:?}", edit);
    let is_reserved = case.is_reserved_for(name, Some(rtype), held) && wish.is_none();
    prop_assert!(!is_reserved, "a reserved name lost something: {:?}", edit);
    Ok(())
}

/// Law 6: no change leaves a still-desired name without records.
pub fn a_wanted_name_is_never_empty(case: &Case) -> TestCaseResult {
    let mut zone = case.zone();
    let has_data = |zone: &Zone, name: &Name| zone.data_at(name).next().is_some();
    let wanted: BTreeSet<Name> =
        case.wishes.iter().map(|wish| wish.name.clone()).filter(|name| has_data(&zone, name)).collect();
    for edit in edits(&applied(case, &zone)) {
        zone.carry_out(&edit).map_err(TestCaseError::fail)?;
        let emptied = wanted.iter().find(|name| !has_data(&zone, name));
        prop_assert!(emptied.is_none(), "{:?} is empty after {:?}", emptied, edit);
    }
    Ok(())
}

/// Law 7: the order of the input never matters.
pub fn order_of_input_never_matters(case: &Case) -> TestCaseResult {
    let zone = case.zone();
    let forwards = plan(&case.situation(&zone), Scope::Zone);
    let backwards = plan(&case.situation(&zone.reversed()), Scope::Zone);
    prop_assert_eq!(&forwards, &backwards);
    // What comes does so before what goes.
    let goes: Vec<bool> =
        forwards.changes.iter().map(|change| change.operation == Operation::Delete).collect();
    prop_assert!(goes.is_sorted(), "{:?}", forwards.changes);
    Ok(())
}

/// Law 8: no change without a difference, and nothing beside a CNAME on the way.
pub fn every_change_differs_and_no_cname_has_company(case: &Case) -> TestCaseResult {
    let mut zone = case.zone();
    for change in applied(case, &zone) {
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
    Ok(())
}

/// What is wanted comes, unless it is said why not; what was given up goes.
pub fn the_end_is_what_is_wanted(case: &Case) -> TestCaseResult {
    let mut zone = case.zone();
    converge(case, &mut zone)?;
    let rest = plan(&case.situation(&zone), Scope::Zone);
    let is_told = |name: &Name, rtype: RecordType| {
        let is_it = |change: &Change| change.name == *name;
        let rejected =
            rest.rejections.iter().any(|one| one.name.as_ref() == Some(name) && one.rtype == rtype);
        rejected || rest.drift.iter().chain(&rest.withheld).chain(&rest.changes).any(is_it)
    };
    for (name, sets) in case.desired.iter() {
        for set in sets {
            let Values::Known(wanted) = &set.values else { continue };
            for value in wanted {
                let is_there = zone.data_at(name).any(|record| record.rdata == value.rdata);
                prop_assert!(is_there || is_told(name, set.rtype), "{} {} is missing", name, value.rdata);
            }
        }
    }
    if case.rules.policy != Policy::Sync {
        return Ok(());
    }
    for placed in &case.records {
        let (name, rtype) = (&placed.name, placed.record.rdata.rtype());
        let Whose::Ours(held) = placed.whose else { continue };
        let is_reserved = case.records.iter().any(|one| {
            let is_reserved = |held| case.is_reserved_for(name, None, held);
            one.name == *name && matches!(one.whose, Whose::Ours(held) if is_reserved(held))
        });
        let is_excluded = case.rules.names.exclude.iter().any(|pattern| pattern.matches(name));
        let is_apex_ns = rtype == RecordType::NS && *name == domain();
        let is_fixed = is_reserved || is_excluded || placed.record.read_only || is_apex_ns;
        let is_clear = case.wants(name).next().is_none() && !is_fixed;
        if is_clear && case.fate(name, rtype, held) == Some(Fate::Released) {
            let is_there = zone.live.at(name).iter().any(|record| record.id == placed.record.id);
            prop_assert!(!is_there, "{} {} was given up and stays", name, placed.record.rdata);
        }
    }
    Ok(())
}

/// What somebody else changed is reported or reverted, as the zone says.
pub fn drift_is_reported_where_the_zone_says_so(case: &Case) -> TestCaseResult {
    let zone = case.zone();
    let plan = plan(&case.situation(&zone), Scope::Zone);
    for change in &plan.changes {
        let wish = case.wish(&change.name, change.rtype);
        let is_settled = wish.is_some_and(|wish| wish.is_settled);
        let is_wanted = !change.holders.is_empty();
        if is_wanted && is_settled && !change.is_marker_only() {
            prop_assert!(matches!(change.cause, Cause::Drift | Cause::Pruned), "{:?}", change);
            prop_assert_eq!(case.rules.drift, Drift::Revert, "{:?}", change);
        }
        if is_wanted && !is_settled {
            prop_assert_ne!(&change.cause, &Cause::Drift);
        }
    }
    prop_assert!(plan.drift.is_empty() || case.rules.drift == Drift::Report);
    Ok(())
}

/// Planning for some names equals the whole plan, restricted.
pub fn a_plan_for_some_names_is_the_whole_plan_restricted((case, picks): &(Case, u16)) -> TestCaseResult {
    let zone = case.zone();
    let names: BTreeSet<_> = crate::truth::names()
        .into_iter()
        .enumerate()
        .filter(|(index, _)| picks & (1 << index) != 0)
        .map(|(_, name)| name)
        .collect();
    let whole = plan(&case.situation(&zone), Scope::Zone);
    let some = plan(&case.situation(&zone), Scope::Names(&names));
    let restricted: Vec<_> =
        whole.changes.into_iter().filter(|change| names.contains(&change.name)).collect();
    prop_assert_eq!(some.changes, restricted);
    Ok(())
}
