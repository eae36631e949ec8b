//! What must happen to one wanted set: edits that make its values of what is there.

use crate::{
    claim::{Claim, MarkerPlace, NameClaims, Standing, fitting_text, marked_comment, user_text},
    desired::{DesiredSet, Wanted},
    holder::{Holder, HolderRef},
    marker::{Form, Registry},
    name::Name,
    plan::{
        Edit, Role, Situation,
        judge::{Candidate, Place},
    },
    rdata::Rdata,
    reason::Rejection,
    record::{LiveRecord, Record},
};

/// What must happen to one wanted set.
#[derive(Default)]
pub(super) struct SetPlan {
    /// The marker's own edit, to be made before any other.
    pub(super) marker: Option<Edit>,
    pub(super) updates: Vec<Edit>,
    pub(super) creates: Vec<NewRecord>,
    /// What comes last: claims that are given up, and records that go.
    pub(super) endings: Vec<Edit>,
    pub(super) unchanged: Vec<Rdata>,
    /// Ours, of holders that do not want this set and did not give it up.
    pub(super) orphans: Vec<(LiveRecord, HolderRef)>,
    /// Given up, and kept for the sake of a wish that can't be served.
    pub(super) needed: Vec<(LiveRecord, HolderRef)>,
    /// To be left behind, in a set that can't be served.
    pub(super) left: Vec<(LiveRecord, HolderRef)>,
    pub(super) rejections: Vec<Rejection>,
    /// Whether a record of ours was there before.
    pub(super) was_ours: bool,
    /// Whether the user's comment had to be cut.
    pub(super) was_cut: bool,
}

/// A record to create, and for whom.
pub(super) struct NewRecord {
    pub(super) record: Record,
    pub(super) holder: Holder,
    /// Whether the comment of a record that it replaces is kept.
    pub(super) keeps_text: bool,
}

/// Plans one wanted set. Rejected values leave every live record of the set as it is, except that other
/// values may still be added beside them.
pub(super) fn plan_set(
    situation: &Situation<'_>,
    name: &Name,
    set: &DesiredSet,
    wanted: &[Wanted],
    claims: &NameClaims<'_>,
) -> SetPlan {
    let here: Vec<&(&LiveRecord, Claim)> =
        claims.records.iter().filter(|(record, _)| record.rdata.rtype() == set.rtype).collect();
    let place = Place { situation, name, set };
    let mut plan = plan_values(&place, &here, wanted, claims);
    if !plan.rejections.is_empty() || place.is_reserved() {
        place.note_given_up(&here, &mut plan);
    }
    plan
}

fn plan_values(
    place: &Place<'_>,
    here: &[&(&LiveRecord, Claim)],
    wanted: &[Wanted],
    claims: &NameClaims<'_>,
) -> SetPlan {
    let mut plan = SetPlan::default();
    let Place { situation, name, set } = *place;
    if let Some(Claim::Foreign { owner }) = claims.marker(set.rtype).map(|marker| &marker.claim) {
        plan.rejections.push(place.owned_by(owner));
        return plan;
    }
    if let Some(rejection) = place.held_by_another_namespace(claims) {
        plan.rejections.push(rejection);
        return plan;
    }
    let (mut pool, accepted) = if place.is_judged_whole() {
        match place.judge_whole(here, wanted, claims.marker(set.rtype)) {
            Ok(pool) => (pool, wanted.iter().collect::<Vec<_>>()),
            Err(rejection) => {
                plan.rejections.push(rejection);
                return plan;
            }
        }
    } else {
        place.judge_each(here, wanted, &mut plan)
    };
    let unreleased = place.unreleased(claims, wanted);
    if unreleased.is_some() {
        // The marker will claim the whole set for that holder.
        pool.iter_mut().for_each(|candidate| candidate.is_replaceable = false);
    }
    plan.was_ours = pool.iter().any(|candidate| candidate.claim.is_ours());

    let mut new = Vec::new();
    for value in accepted {
        match pool.iter().position(|candidate| candidate.record.rdata == value.rdata) {
            Some(at) => {
                let candidate = pool.remove(at);
                match place.difference(&candidate, value, &mut plan.was_cut) {
                    Some(edit) => plan.updates.push(edit),
                    None => plan.unchanged.push(value.rdata.clone()),
                }
            }
            None => new.push(value),
        }
    }
    let (mut spare, mut kept): (Vec<_>, Vec<_>) =
        pool.into_iter().partition(|candidate| candidate.is_replaceable);
    kept.retain(|candidate| {
        let is_left = candidate.is_left(situation.evidence, (name, set.rtype));
        if is_left {
            plan.endings.extend(unmarked(situation.registry, name, candidate.record));
        }
        !is_left && !place.is_left_in_set(candidate.record)
    });
    if !place.is_reserved() {
        let is_kept = |holder: &HolderRef| {
            let is_awaited = place.awaits(holder) || place.is_mixed(holder);
            is_awaited || situation.evidence.awaits((name, set.rtype), holder)
        };
        plan.orphans.extend(kept.iter().filter_map(orphan).filter(|(_, holder)| !is_kept(holder)));
    }
    // Backwards, so that the first new value takes the first spare record.
    spare.reverse();
    for value in new {
        match spare.pop() {
            Some(candidate) => plan.updates.push(place.rewrite(&candidate, value, &mut plan.was_cut)),
            None => plan.creates.push(place.create(value, &mut plan.was_cut)),
        }
    }
    if plan.rejections.is_empty() {
        let delete = |candidate: Candidate<'_>| delete(name, candidate.record);
        plan.endings.extend(spare.into_iter().rev().map(delete));
    }
    plan.marker = place.marker_edit(claims, unreleased);
    plan
}

/// Removes one data record.
pub(super) fn delete(name: &Name, record: &LiveRecord) -> Edit {
    Edit::Delete { name: name.clone(), before: record.clone(), role: Role::Data }
}

/// Whether a claim of this holder says nothing of single values.
pub(super) fn claims_sets(registry: &Registry, holder: &HolderRef) -> bool {
    matches!(registry.form, Form::Txt(_)) || *holder == HolderRef::Unnamed
}

/// Takes our claim from one data record, where the record itself carries it.
pub(super) fn unmarked(registry: &Registry, name: &Name, record: &LiveRecord) -> Option<Edit> {
    let text = user_text(registry, &record.comment);
    let is_marked = text.len() < record.comment.len();
    is_marked.then(|| Edit::Update {
        before: record.clone(),
        after: Record {
            name: name.clone(),
            rdata: record.rdata.clone(),
            ttl: record.ttl,
            attributes: record.attributes.clone(),
            comment: text.into(),
        },
        role: Role::Data,
    })
}

fn orphan(candidate: &Candidate<'_>) -> Option<(LiveRecord, HolderRef)> {
    match candidate.claim {
        Claim::Ours { holder, .. } => Some((candidate.record.clone(), holder.clone())),
        Claim::Foreign { .. } | Claim::Unclaimed => None,
    }
}

// === impl Place ===

impl Place<'_> {
    /// Notes what other holders have in a set that can't be served as it is wanted. What they gave up stays, and only a
    /// person can say that it goes before that; what they leave behind loses its claim; the rest are orphans.
    fn note_given_up(&self, here: &[&(&LiveRecord, Claim)], plan: &mut SetPlan) {
        let (evidence, place) = (self.situation.evidence, (self.name, self.set.rtype));
        if evidence.is_complete() {
            return;
        }
        for (record, claim) in here {
            let Claim::Ours { holder, .. } = claim else { continue };
            let mut edits = plan.updates.iter().chain(&plan.endings);
            let is_touched = edits.any(|edit| edit.before().is_some_and(|before| before.id == record.id));
            let is_used = is_touched || plan.unchanged.contains(&record.rdata);
            let has_other = self.awaits(holder) || self.set.holders.iter().any(|one| holder.names(one));
            if record.read_only || is_used || has_other {
                continue;
            }
            let given_up = ((*record).clone(), holder.clone());
            if evidence.retains(place, holder) {
                plan.left.push(given_up);
            } else if evidence.releases(place, holder)
                && !self.is_mixed(holder)
                && !self.is_of_a_refused(record)
                && !self.is_left_in_set(record)
            {
                plan.needed.push(given_up);
            } else if !self.is_reserved()
                && !self.is_mixed(holder)
                && !evidence.releases(place, holder)
                && !evidence.awaits(place, holder)
                && !plan.orphans.contains(&given_up)
            {
                plan.orphans.push(given_up);
            }
        }
    }

    fn difference(&self, candidate: &Candidate<'_>, value: &Wanted, was_cut: &mut bool) -> Option<Edit> {
        let record = candidate.record;
        let is_same_answer = (record.ttl == self.set.ttl || self.has_automatic_ttl())
            && record.attributes == self.set.attributes;
        let marker_is_current = match candidate.claim {
            Claim::Ours { holder, standing: Standing::Current } => match self.situation.registry.form {
                // An object whose values are not known keeps its claim on a value that another object wants, too.
                Form::Comment(_) => holder.names(&value.holder) || self.awaits(holder),
                Form::Txt(_) | Form::None => true,
            },
            // The marker lies in another record, or nowhere.
            Claim::Ours { standing: Standing::Rewrite, .. } | Claim::Unclaimed | Claim::Foreign { .. } => {
                !matches!(self.situation.registry.form, Form::Comment(_))
            }
        };
        if !crate::mutant::is_on("plan: writes the same")
            && is_same_answer
            && marker_is_current
            && self.has_wanted_text(record, value, was_cut)
        {
            return None;
        }
        Some(self.rewrite(candidate, value, was_cut))
    }

    /// Whether the comment says what the user wants, as far as there is room.
    fn has_wanted_text(&self, record: &LiveRecord, value: &Wanted, was_cut: &mut bool) -> bool {
        let Some(text) = &self.set.comment else { return true };
        let registry = self.situation.registry;
        let live = user_text(registry, &record.comment);
        if live == &**text {
            return true;
        }
        let Form::Comment(form) = &registry.form else { return false };
        let fitting = fitting_text(form, registry, text, &value.holder);
        *was_cut |= fitting.len() < text.len();
        live == fitting
    }

    fn rewrite(&self, candidate: &Candidate<'_>, value: &Wanted, was_cut: &mut bool) -> Edit {
        let text = match &self.set.comment {
            Some(text) => text,
            None => user_text(self.situation.registry, &candidate.record.comment),
        };
        let after = self.record(value, text, was_cut);
        Edit::Update { before: candidate.record.clone(), after, role: Role::Data }
    }

    fn create(&self, value: &Wanted, was_cut: &mut bool) -> NewRecord {
        NewRecord {
            record: self.record(value, self.set.comment.as_deref().unwrap_or_default(), was_cut),
            holder: value.holder.clone(),
            keeps_text: self.set.comment.is_none(),
        }
    }

    fn record(&self, value: &Wanted, text: &str, was_cut: &mut bool) -> Record {
        let place = (self.name, self.set.rtype);
        let (comment, cut) = marked_comment(self.situation.registry, place, &value.holder, text);
        *was_cut |= cut;
        Record {
            name: self.name.clone(),
            rdata: value.rdata.clone(),
            ttl: self.set.ttl,
            attributes: self.set.attributes.clone(),
            comment,
        }
    }

    fn marker_edit(&self, claims: &NameClaims<'_>, unreleased: Option<&Holder>) -> Option<Edit> {
        let registry = self.situation.registry;
        let Form::Txt(form) = &registry.form else { return None };
        let holder = unreleased.or(self.set.holders.first())?;
        let place = (self.name, self.set.rtype);
        let current = claims.marker(self.set.rtype).filter(|marker| marker.place == MarkerPlace::Typed);
        if let Some(marker) = current
            && let Claim::Ours { holder: named, standing } = &marker.claim
            && ((*standing == Standing::Current && named.names(holder))
                || !self.releases(named)
                || self.is_reserved())
        {
            // A holder that may still want some of the values stays named in the marker.
            return None;
        }
        let record = Record {
            name: form.names.marker_of(self.name, self.set.rtype, &registry.domain),
            rdata: form.write(registry, place, holder),
            ttl: self.situation.capabilities.default_ttl,
            attributes: Default::default(),
            comment: "".into(),
        };
        Some(match current {
            Some(marker) => Edit::Update {
                before: marker.record.clone(),
                after: Record { ttl: marker.record.ttl, comment: marker.record.comment.clone(), ..record },
                role: Role::Marker,
            },
            None => Edit::Create { record, role: Role::Marker },
        })
    }
}
