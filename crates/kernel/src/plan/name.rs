//! What must happen at one name: wanted sets, sets that no object wants, and which of them exclude each other.

use crate::{
    claim::{Claim, MarkerPlace, NameClaims, SetMarker},
    desired::{DesiredSet, Values},
    holder::{Holder, HolderRef},
    name::Name,
    plan::{
        Cause, Change, Edit, Operation, Orphan, Plan, Role, Situation,
        given_up::{given_up_beside, hold_kept, hold_needed, leave_behind},
        retype::{Removal, join},
        set::{SetPlan, claims_sets, delete, plan_set, unmarked},
    },
    rdata::{Rdata, RecordType},
    reason::{Reason, Rejection},
    record::LiveRecord,
    zone::{Drift, Policy, PruneMode},
};

/// Plans one name into `plan`.
pub(super) fn plan_name(situation: &Situation<'_>, name: &Name, plan: &mut Plan) {
    let claims = NameClaims::read(situation.registry, situation.known, situation.live, name);
    let wishes = situation.desired.at(name);
    count(&claims, wishes, plan);

    let (mut sets, mut unmet) = (Vec::new(), Vec::new());
    for set in wishes {
        match &set.values {
            Values::Unknown => unmet.push(set.rtype),
            Values::Known(wanted) => sets.push((set, plan_set(situation, name, set, wanted, &claims))),
        }
    }
    let mut removals = removals(situation, name, wishes, &claims, plan);
    for (set, set_plan) in &mut sets {
        if let Some(rejection) = neighbour_in_the_way(situation, name, set, set_plan, &claims, &removals) {
            let (needed, left) = (std::mem::take(&mut set_plan.needed), std::mem::take(&mut set_plan.left));
            *set_plan = SetPlan { rejections: vec![rejection], needed, left, ..SetPlan::default() };
        }
        let is_missing = is_only_reported(situation, name, set) && !set_plan.creates.is_empty();
        if is_missing || !set_plan.rejections.is_empty() {
            unmet.push(set.rtype);
        }
        plan.rejections.append(&mut set_plan.rejections);
        let orphans: Vec<_> = set_plan.orphans.iter().map(|(record, holder)| (record, holder)).collect();
        hold_orphans(situation, name, &orphans, &claims, plan);
        hold_needed(situation, name, &set_plan.needed, &claims, plan);
        leave_behind(situation, name, &set_plan.left, &claims, plan);
        if set_plan.was_cut {
            plan.cut_comments.push((name.clone(), set.rtype));
        }
    }
    let kept =
        keep_what_unmet_wishes_have(situation, name, &unmet, &sets, &mut removals, claims.records.len());
    for removal in kept {
        hold_kept(situation, name, removal, &claims, plan);
    }
    for change in assemble(situation, name, sets, removals) {
        file(situation, &claims, change, plan);
    }
}

/// A wish that is not carried out must not cost the name what it has now (law 6). Returns what therefore stays.
fn keep_what_unmet_wishes_have(
    situation: &Situation<'_>,
    name: &Name,
    unmet: &[RecordType],
    sets: &[(&DesiredSet, SetPlan)],
    removals: &mut Vec<Removal>,
    live: usize,
) -> Vec<Removal> {
    let is_reserved = |removal: &Removal| match &removal.cause {
        Cause::Released(holder) => situation.desired.is_reserved_for(name, holder),
        Cause::Wanted | Cause::Drift | Cause::Orphaned(_) | Cause::Needed(_) | Cause::Pruned => false,
    };
    if unmet.is_empty() && !removals.iter().any(is_reserved) {
        return Vec::new();
    }
    let conflict =
        |one, other| situation.capabilities.conflict((name, &situation.registry.domain), one, other);
    let stays = |removal: &mut Removal| {
        let is_replaced =
            sets.iter().any(|(set, plan)| !plan.creates.is_empty() && conflict(set.rtype, removal.rtype));
        // A marker whose data is gone already protects nothing.
        !removal.data.is_empty() && !is_replaced && unmet.iter().any(|rtype| conflict(*rtype, removal.rtype))
    };
    let mut kept: Vec<Removal> = removals.extract_if(.., stays).collect();
    let removed: usize = removals.iter().map(|removal| removal.data.len()).sum();
    let is_filled = |(set, plan): &(&DesiredSet, SetPlan)| {
        let comes = !plan.creates.is_empty() && !is_only_reported(situation, name, set);
        comes || !plan.updates.is_empty() || !plan.unchanged.is_empty()
    };
    if removed == live && !sets.iter().any(is_filled) {
        let stays =
            |removal: &mut Removal| !removal.data.is_empty() && (!unmet.is_empty() || is_reserved(removal));
        kept.extend(removals.extract_if(.., stays));
    }
    kept
}

/// Whether what differs from a wish is drift that is reported and left as it is.
fn is_only_reported(situation: &Situation<'_>, name: &Name, set: &DesiredSet) -> bool {
    situation.rules.drift == Drift::Report && situation.settled.contains(name, set)
}

/// Joins what excludes each other, and makes a change of every other set that differs.
fn assemble(
    situation: &Situation<'_>,
    name: &Name,
    sets: Vec<(&DesiredSet, SetPlan)>,
    removals: Vec<Removal>,
) -> Vec<Change> {
    let conflict =
        |one, other| situation.capabilities.conflict((name, &situation.registry.domain), one, other);
    let cause = |set: &DesiredSet| match situation.settled.contains(name, set) {
        true => Cause::Drift,
        false => Cause::Wanted,
    };
    let replaces = |set: &DesiredSet, plan: &SetPlan, removal: &Removal| {
        !plan.creates.is_empty() && !removal.data.is_empty() && conflict(set.rtype, removal.rtype)
    };
    let is_replaced = |removal: &Removal| sets.iter().any(|(set, plan)| replaces(set, plan, removal));
    let (replaced, plain): (Vec<Removal>, Vec<Removal>) = removals.into_iter().partition(is_replaced);
    let (replacing, other): (Vec<_>, Vec<_>) =
        sets.into_iter().partition(|(set, plan)| replaced.iter().any(|removal| replaces(set, plan, removal)));

    let mut changes = Vec::new();
    if let Some((first, _)) = replacing.first() {
        // What is not ours goes as a prune, whatever takes its place.
        let is_prune = replaced.iter().any(|removal| removal.cause == Cause::Pruned)
            && !is_only_reported(situation, name, first);
        let is_prune = is_prune && !crate::mutant::is_on("plan: prune by retype");
        let cause = if is_prune { Cause::Pruned } else { cause(first) };
        changes.push(join(situation.registry, name, replacing, replaced, cause));
    }
    for (set, set_plan) in other {
        let cause = cause(set);
        changes.push(join(situation.registry, name, vec![(set, set_plan)], Vec::new(), cause));
    }
    changes.extend(plain.into_iter().map(|removal| remove(name, removal)));
    changes.retain(|change| !change.edits.is_empty());
    changes
}

pub(super) fn remove(name: &Name, removal: Removal) -> Change {
    let mut edits: Vec<Edit> = removal.data.iter().map(|record| delete(name, record)).collect();
    match crate::mutant::is_on("plan: claim goes first") {
        true => edits.splice(0..0, removal.marker).for_each(drop),
        false => edits.extend(removal.marker),
    }
    Change {
        operation: if removal.is_partial { Operation::Update } else { Operation::Delete },
        name: name.clone(),
        rtype: removal.rtype,
        edits,
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: removal.cause,
        holders: Vec::new(),
    }
}

/// The sets that no object wants: released ones to be removed, orphans to be listed.
fn removals(
    situation: &Situation<'_>,
    name: &Name,
    wishes: &[DesiredSet],
    claims: &NameClaims<'_>,
    plan: &mut Plan,
) -> Vec<Removal> {
    let mut removals: Vec<Removal> = Vec::new();
    let (desired, evidence) = (situation.desired, situation.evidence);
    let is_ours_to_write = situation.rules.names.allow(name) || crate::mutant::is_on("plan: other names");
    let concern = |one, other| {
        one == other || situation.capabilities.conflict((name, &situation.registry.domain), one, other)
    };
    let may_go = |rtype: RecordType, holder: &HolderRef| {
        // One author may have moved an object to another namespace, which is refused there.
        let is_moved = evidence.is_complete() && !is_wanted_by_namespace_of(holder, wishes);
        let holder = if is_moved { &HolderRef::Unnamed } else { holder };
        is_ours_to_write && !desired.keeps(name, holder, |wanted| concern(wanted, rtype))
    };
    // What stays loses its claim, and costs no wish anything; a claim on the set is another object's, too.
    let may_be_left = |rtype: RecordType, holder: &HolderRef| {
        may_go(rtype, holder) || (is_ours_to_write && !claims_sets(situation.registry, holder))
    };
    let is_left = |record: &LiveRecord, holder: &HolderRef| {
        claims_sets(situation.registry, holder) && desired.is_left(name, &record.rdata)
    };
    let is_awaited = |record: &LiveRecord, holder: &HolderRef| {
        let is_one = |holder: &Holder| desired.awaited(name).any(|awaited| awaited == holder);
        desired.awaited(name).any(|awaited| holder.names(awaited))
            || (desired.awaited(name).next().is_some()
                && claims_sets(situation.registry, holder)
                && !situation.settled.has_value_of(name, &record.rdata, |holder| !is_one(holder)))
    };
    let is_there =
        |set: &DesiredSet| !crate::mutant::is_on("plan: unknown is absent") || set.values != Values::Unknown;
    let is_wanted = |rtype: RecordType| wishes.iter().any(|set| set.rtype == rtype && is_there(set));
    for run in claims.records.chunk_by(|one, other| one.0.rdata.rtype() == other.0.rdata.rtype()) {
        let rtype = run[0].0.rdata.rtype();
        if is_wanted(rtype) {
            if let Some(set) = wishes.iter().find(|set| set.rtype == rtype && set.values == Values::Unknown) {
                let (needed, left) = given_up_beside(situation, name, set, run);
                hold_needed(situation, name, &needed, claims, plan);
                leave_behind(situation, name, &left, claims, plan);
            }
            continue;
        }
        let (mut released, mut pruned, mut orphaned) = (Vec::new(), Vec::new(), Vec::new());
        let (mut disowned, mut needed) = (Vec::new(), Vec::new());
        let mut released_from = HolderRef::Unnamed;
        for (record, claim) in run {
            match claim {
                _ if record.read_only && !crate::mutant::is_on("plan: read-only goes") => {}
                // Its values are not known: this may be one of them.
                Claim::Ours { holder, .. } if is_awaited(record, holder) => {}
                // A claim on the set does not say whose value it is: this one stays, and the claim goes.
                Claim::Ours { holder, .. }
                    if is_left(record, holder)
                        && may_go(rtype, holder)
                        && (evidence.releases((name, rtype), holder)
                            || evidence.retains((name, rtype), holder)) =>
                {
                    disowned.push((*record, holder))
                }
                Claim::Ours { holder, .. }
                    if may_go(rtype, holder) && evidence.releases((name, rtype), holder) =>
                {
                    released_from = holder.clone();
                    released.push((*record).clone());
                }
                Claim::Ours { holder, .. }
                    if may_be_left(rtype, holder) && evidence.retains((name, rtype), holder) =>
                {
                    disowned.push((*record, holder))
                }
                // An object that can't be served asks for this set, or one in its way.
                Claim::Ours { holder, .. }
                    if is_ours_to_write
                        && !evidence.is_complete()
                        && evidence.releases((name, rtype), holder) =>
                {
                    needed.push(((*record).clone(), holder.clone()))
                }
                // An object that can't be served now may mean this very record.
                Claim::Ours { holder, .. }
                    if desired.is_expected(name, holder) || evidence.awaits((name, rtype), holder) => {}
                Claim::Ours { holder, .. } => orphaned.push((*record, holder)),
                Claim::Unclaimed if !desired.is_reserved(name) && is_prunable(situation, name, rtype) => {
                    pruned.push((*record).clone())
                }
                Claim::Unclaimed | Claim::Foreign { .. } => {}
            }
        }
        let ours = run.iter().filter(|(record, claim)| claim.is_ours() && !record.read_only).count();
        hold_orphans(situation, name, &orphaned, claims, plan);
        hold_needed(situation, name, &needed, claims, plan);
        // The claim on a whole set goes with the last of it.
        let all_go = released.len() + disowned.len() == ours;
        let marker = if all_go { marker_delete(claims, rtype) } else { None };
        let (with_data, with_none) = if released.is_empty() { (None, marker) } else { (marker, None) };
        disown(situation, name, &disowned, with_none, claims, plan);
        if !released.is_empty() {
            // Losing all of ours is losing the set, whatever stands beside it.
            let is_partial = released.len() < ours;
            removals.push(Removal {
                rtype,
                data: released,
                marker: with_data,
                cause: Cause::Released(released_from),
                is_partial,
            });
        }
        if !pruned.is_empty() {
            let is_partial = pruned.len() < run.len();
            removals.push(Removal { rtype, data: pruned, marker: None, cause: Cause::Pruned, is_partial });
        }
    }
    // Markers whose data is gone: what a crash between the two deletes leaves behind.
    for marker in &claims.markers {
        let is_data = |record: &LiveRecord| record.rdata.rtype() == marker.rtype && !record.read_only;
        let has_data = claims.records.iter().any(|(record, _)| is_data(record));
        if let Claim::Ours { holder, .. } = &marker.claim
            && !has_data
            && !is_wanted(marker.rtype)
            && may_go(marker.rtype, holder)
            && evidence.releases((name, marker.rtype), holder)
        {
            removals.push(Removal {
                rtype: marker.rtype,
                data: Vec::new(),
                marker: marker_delete(claims, marker.rtype),
                cause: Cause::Released(holder.clone()),
                is_partial: false,
            });
        }
    }
    removals
}

/// Whether the namespace of a holder wants something else at its name.
fn is_wanted_by_namespace_of(holder: &HolderRef, wishes: &[DesiredSet]) -> bool {
    let HolderRef::Full(holder) = holder else { return false };
    let mut wanting = wishes.iter().flat_map(|set| &set.holders);
    wanting.any(|wanting| wanting.namespace() == holder.namespace())
}

/// Leaves a set behind: only our claim on it goes.
pub(super) fn disown(
    situation: &Situation<'_>,
    name: &Name,
    records: &[(&LiveRecord, &HolderRef)],
    marker: Option<Edit>,
    claims: &NameClaims<'_>,
    plan: &mut Plan,
) {
    let Some((first, holder)) = records.first() else { return };
    let unmark = |(record, _): &(&LiveRecord, &HolderRef)| unmarked(situation.registry, name, record);
    let edits: Vec<Edit> = records.iter().filter_map(unmark).chain(marker).collect();
    if edits.is_empty() {
        return;
    }
    let change = Change {
        operation: Operation::Update,
        name: name.clone(),
        rtype: first.rdata.rtype(),
        edits,
        unchanged: Vec::new(),
        claims: Vec::new(),
        cause: Cause::Released((*holder).clone()),
        holders: Vec::new(),
    };
    file(situation, claims, change, plan);
}

pub(super) fn marker_delete(claims: &NameClaims<'_>, rtype: RecordType) -> Option<Edit> {
    let marker = claims.marker(rtype)?;
    let is_ours = marker.claim.is_ours() && marker.place == MarkerPlace::Typed;
    is_ours.then(|| Edit::Delete {
        name: marker.name.clone(),
        before: marker.record.clone(),
        role: Role::Marker,
    })
}

/// Unowned records go only where the zone asks for it, and never its delegation, its origin or a marker.
fn is_prunable(situation: &Situation<'_>, name: &Name, rtype: RecordType) -> bool {
    let registry = situation.registry;
    situation.rules.prune.mode == PruneMode::All
        && situation.rules.names.allow(name)
        && (!situation.rules.prune.ignores(name, rtype) || crate::mutant::is_on("plan: ignore ignored"))
        && rtype != RecordType::SOA
        && !(rtype == RecordType::NS && *name == registry.domain)
}

/// Lists orphans of one set and, unless pruning is off, adds the change that a person may approve.
fn hold_orphans(
    situation: &Situation<'_>,
    name: &Name,
    orphans: &[(&LiveRecord, &HolderRef)],
    claims: &NameClaims<'_>,
    plan: &mut Plan,
) {
    let Some((first, holder)) = orphans.first() else { return };
    plan.counts.orphaned += 1;
    plan.orphans.extend(orphans.iter().map(|(record, holder)| Orphan {
        name: name.clone(),
        rdata: record.rdata.clone(),
        holder: (*holder).clone(),
    }));
    match situation.rules.prune.mode {
        PruneMode::Never => {}
        PruneMode::Owned | PruneMode::All => {
            let rtype = first.rdata.rtype();
            let is_ours =
                |(record, claim): &&(&LiveRecord, Claim)| record.rdata.rtype() == rtype && claim.is_ours();
            let is_partial = orphans.len() < claims.records.iter().filter(is_ours).count();
            let removal = Removal {
                rtype,
                data: orphans.iter().map(|(record, _)| (*record).clone()).collect(),
                marker: if is_partial { None } else { marker_delete(claims, rtype) },
                cause: match crate::mutant::is_on("plan: orphan is released") {
                    true => Cause::Released((*holder).clone()),
                    false => Cause::Orphaned((*holder).clone()),
                },
                is_partial,
            };
            file(situation, claims, remove(name, removal), plan);
        }
    }
}

/// A live record that stays and excludes the wanted set from its name.
fn neighbour_in_the_way(
    situation: &Situation<'_>,
    name: &Name,
    set: &DesiredSet,
    set_plan: &SetPlan,
    claims: &NameClaims<'_>,
    removals: &[Removal],
) -> Option<Rejection> {
    if set_plan.creates.is_empty() || crate::mutant::is_on("plan: beside a CNAME") {
        return None;
    }
    let goes = |record: &LiveRecord| removals.iter().any(|removal| removal.data.contains(record));
    let place = (name, &situation.registry.domain);
    // Markers lie beside the data of other names, and exclude as much as data does.
    let record = situation.live.at(name).iter().find(|record| {
        situation.capabilities.conflict(place, set.rtype, record.rdata.rtype()) && !goes(record)
    })?;
    let live = format!("{} {}", record.rdata.rtype(), record.rdata);
    let claim = claims.records.iter().find(|(other, _)| *other == record).map(|(_, claim)| claim);
    let (reason, why) = match claim {
        Some(Claim::Ours { holder, .. }) => {
            (Reason::Conflict, format!("{live} of {holder} stands there; remove it there first"))
        }
        Some(Claim::Foreign { owner }) => {
            (Reason::AdoptionRefused, format!("{live} of owner {owner} stands there; remove it there first"))
        }
        Some(Claim::Unclaimed) => {
            (Reason::AdoptionRefused, format!("{live} stands there and is not ours; delete it by hand first"))
        }
        None => (
            Reason::AdoptionRefused,
            format!("the ownership marker {live} stands there; delete it by hand first"),
        ),
    };
    Some(Rejection {
        holder: set.holders.first().cloned().unwrap_or_else(|| Holder::from_text("")),
        name: Some(name.clone()),
        rtype: set.rtype,
        reason,
        message: format!("{name} {} can't be created: {why}", set.rtype),
    })
}

/// Puts a change where the zone's policy wants it.
pub(super) fn file(situation: &Situation<'_>, claims: &NameClaims<'_>, mut change: Change, plan: &mut Plan) {
    change.claims = lasting_claims(&change, claims);
    let is_withheld = match situation.rules.policy {
        Policy::Sync | Policy::Observe => false,
        Policy::UpsertOnly => change.operation == Operation::Delete || change.cause == Cause::Pruned,
        Policy::CreateOnly => change.operation != Operation::Create,
    };
    let is_seen = !change.is_marker_only() || change.changes_comment();
    let is_reported = change.cause == Cause::Drift && situation.rules.drift == Drift::Report && is_seen;
    let is_reported = is_reported && !crate::mutant::is_on("plan: drift reverted");
    match (is_withheld, is_reported) {
        (true, _) => plan.withheld.push(change),
        (false, true) => plan.drift.push(change),
        (false, false) => plan.changes.push(change),
    }
}

/// The markers of ours that speak for what a change touches, those aside that it writes itself.
fn lasting_claims(change: &Change, claims: &NameClaims<'_>) -> Vec<(Name, Rdata)> {
    let is_written = |marker: &SetMarker<'_>| {
        change.edits.iter().any(|edit| {
            *edit.name() == marker.name && edit.before().is_some_and(|before| before == marker.record)
        })
    };
    let speaks_for = |marker: &SetMarker<'_>| {
        let is_it = |rdata: &Rdata| rdata.rtype() == marker.rtype;
        let is_data = |edit: &&Edit| edit.role() == Role::Data;
        change.edits.iter().filter(is_data).any(|edit| {
            edit.before().is_some_and(|before| is_it(&before.rdata))
                || edit.after().is_some_and(|after| is_it(&after.rdata))
        })
    };
    let ours = claims.markers.iter().filter(|marker| marker.claim.is_ours());
    let lasting = ours.filter(|marker| {
        speaks_for(marker) && !is_written(marker) && !crate::mutant::is_on("plan: claims unnamed")
    });
    lasting.map(|marker| (marker.name.clone(), marker.record.rdata.clone())).collect()
}

fn count(claims: &NameClaims<'_>, wishes: &[DesiredSet], plan: &mut Plan) {
    plan.counts.desired += wishes.len();
    for run in claims.records.chunk_by(|one, other| one.0.rdata.rtype() == other.0.rdata.rtype()) {
        plan.counts.live += 1;
        match run.iter().any(|(_, claim)| claim.is_ours()) {
            true => plan.counts.owned += 1,
            false => plan.counts.foreign += 1,
        }
    }
}
