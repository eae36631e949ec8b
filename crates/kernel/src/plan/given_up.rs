//! What holders gave up and wishes that can't be served still need: it stays, and only a person can say that it goes.

use crate::{
    claim::{Claim, NameClaims},
    desired::DesiredSet,
    holder::HolderRef,
    name::Name,
    plan::{
        Cause, Plan, Situation,
        name::{disown, file, marker_delete, remove},
        retype::Removal,
        set::claims_sets,
    },
    rdata::RecordType,
    record::LiveRecord,
};

/// Records of ours, and for whom they are.
type Owned = Vec<(LiveRecord, HolderRef)>;

/// Holds what was given up and stays for another object's sake, so that its object can say why it waits.
pub(super) fn hold_kept(
    situation: &Situation<'_>,
    name: &Name,
    removal: Removal,
    claims: &NameClaims<'_>,
    plan: &mut Plan,
) {
    let Cause::Released(holder) = &removal.cause else { return };
    if !situation.evidence.is_complete() {
        let cause = Cause::Needed(holder.clone());
        file(situation, claims, remove(name, Removal { cause, ..removal }), plan);
    }
}

/// The same of records of one set.
pub(super) fn hold_needed(
    situation: &Situation<'_>,
    name: &Name,
    needed: &[(LiveRecord, HolderRef)],
    claims: &NameClaims<'_>,
    plan: &mut Plan,
) {
    let Some((first, holder)) = needed.first() else { return };
    let rtype = first.rdata.rtype();
    let is_partial = needed.len() < count_of_ours(claims, rtype);
    let removal = Removal {
        rtype,
        data: needed.iter().map(|(record, _)| record.clone()).collect(),
        marker: if is_partial { None } else { marker_delete(claims, rtype) },
        cause: Cause::Released(holder.clone()),
        is_partial,
    };
    hold_kept(situation, name, removal, claims, plan);
}

/// Leaves records of a set behind that no wish can use.
pub(super) fn leave_behind(
    situation: &Situation<'_>,
    name: &Name,
    left: &[(LiveRecord, HolderRef)],
    claims: &NameClaims<'_>,
    plan: &mut Plan,
) {
    let Some((first, _)) = left.first() else { return };
    let rtype = first.rdata.rtype();
    let marker = (left.len() == count_of_ours(claims, rtype)).then(|| marker_delete(claims, rtype)).flatten();
    let records: Vec<_> = left.iter().map(|(record, holder)| (record, holder)).collect();
    disown(situation, name, &records, marker, claims, plan);
}

/// How many records of one type are ours.
fn count_of_ours(claims: &NameClaims<'_>, rtype: RecordType) -> usize {
    let is_it = |(record, claim): &&(&LiveRecord, Claim)| record.rdata.rtype() == rtype && claim.is_ours();
    claims.records.iter().filter(is_it).count()
}

/// What other holders gave up, and what they leave behind, in a set whose values are not known.
pub(super) fn given_up_beside(
    situation: &Situation<'_>,
    name: &Name,
    set: &DesiredSet,
    run: &[(&LiveRecord, Claim)],
) -> (Owned, Owned) {
    let (mut needed, mut left) = (Vec::new(), Vec::new());
    let place = (name, set.rtype);
    for (record, claim) in run.iter().filter(|(record, _)| !record.read_only) {
        let Claim::Ours { holder, .. } = claim else { continue };
        let wants_it = set.holders.iter().any(|wanting| holder.names(wanting));
        // A claim on the set may be for any of those that ask for it.
        if wants_it || claims_sets(situation.registry, holder) || !situation.rules.names.allow(name) {
            continue;
        }
        if situation.evidence.retains(place, holder) {
            left.push(((*record).clone(), holder.clone()));
        } else if situation.evidence.releases(place, holder) {
            needed.push(((*record).clone(), holder.clone()));
        }
    }
    (needed, left)
}
