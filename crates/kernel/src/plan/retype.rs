//! A name whose sets change type: one change, in an order that never leaves the name empty.

use crate::{
    claim::{marked_comment, user_text},
    desired::DesiredSet,
    holder::Holder,
    marker::Registry,
    name::Name,
    plan::{
        Cause, Change, Edit, Operation, Role,
        set::{NewRecord, SetPlan},
    },
    rdata::RecordType,
    record::{LiveRecord, Record},
};

/// A set, or some records of it, that no object wants.
pub(super) struct Removal {
    pub(super) rtype: RecordType,
    /// The data to delete.
    pub(super) data: Vec<LiveRecord>,
    /// Its marker, to be deleted last.
    pub(super) marker: Option<Edit>,
    pub(super) cause: Cause,
    /// Whether other records of the set stay.
    pub(super) is_partial: bool,
}

/// Joins wanted sets and the removed sets whose place they take.
///
/// Guarantees: markers are written first and removed last; all removed records but one go first, that one
/// becomes the first new record in place, and the other new records follow.
pub(super) fn join(
    registry: &Registry,
    name: &Name,
    sets: Vec<(&DesiredSet, SetPlan)>,
    removals: Vec<Removal>,
    cause: Cause,
) -> Change {
    let rtype = sets.first().map_or_else(|| removals[0].rtype, |(set, _)| set.rtype);
    let mut holders: Vec<Holder> = sets.iter().flat_map(|(set, _)| set.holders.iter().cloned()).collect();
    holders.dedup();
    let had_any =
        !removals.is_empty() || sets.iter().any(|(_, plan)| plan.was_ours || !plan.updates.is_empty());

    let mut spare: Vec<LiveRecord> = Vec::new();
    let mut old_markers = Vec::new();
    for removal in removals {
        spare.extend(removal.data);
        old_markers.extend(removal.marker);
    }
    let (mut edits, mut updates, mut new) = (Vec::new(), Vec::new(), Vec::new());
    let (mut endings, mut unchanged) = (Vec::new(), Vec::new());
    for (_, plan) in sets {
        match crate::mutant::is_on("plan: claim comes last") {
            true => endings.extend(plan.marker),
            false => edits.extend(plan.marker),
        }
        updates.extend(plan.updates);
        new.extend(plan.creates);
        endings.extend(plan.endings);
        unchanged.extend(plan.unchanged);
    }
    let mut new = new.into_iter();
    let last = spare.pop();
    edits.extend(spare.iter().map(|record| super::set::delete(name, record)));
    if let Some(before) = last {
        edits.push(match new.next().filter(|_| !crate::mutant::is_on("plan: deletes before it creates")) {
            Some(first) => {
                let after = in_place(registry, &before, first);
                Edit::Update { before, after, role: Role::Data }
            }
            None => super::set::delete(name, &before),
        });
    }
    edits.extend(updates);
    edits.extend(new.map(|new| Edit::Create { record: new.record, role: Role::Data }));
    edits.extend(endings);
    edits.extend(old_markers);
    // Of a million changes, most have one edit.
    edits.shrink_to_fit();
    let operation = if had_any { Operation::Update } else { Operation::Create };
    Change { operation, name: name.clone(), rtype, edits, unchanged, claims: Vec::new(), cause, holders }
}

fn in_place(registry: &Registry, before: &LiveRecord, new: NewRecord) -> Record {
    let mut after = new.record;
    if new.keeps_text {
        let text = user_text(registry, &before.comment);
        after.comment = marked_comment(registry, (&after.name, after.rdata.rtype()), &new.holder, text).0;
    }
    after
}
