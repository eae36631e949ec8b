//! What must happen to one wanted set: which live records may become its values, and which must not.

use crate::{
    claim::{Claim, MarkerPlace, NameClaims, SetMarker, Standing, fitting_text, marked_comment, user_text},
    desired::{Adoption, DesiredSet, Wanted},
    holder::{Holder, HolderRef},
    marker::{Form, Registry},
    name::Name,
    plan::{Edit, Evidence, Role, Situation},
    rdata::{Rdata, RecordType},
    reason::{Reason, Rejection},
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

/// A live record that may become one of the set's values.
struct Candidate<'a> {
    record: &'a LiveRecord,
    claim: &'a Claim,
    is_replaceable: bool,
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
    let mut plan = SetPlan::default();
    let here: Vec<&(&LiveRecord, Claim)> =
        claims.records.iter().filter(|(record, _)| record.rdata.rtype() == set.rtype).collect();
    let place = Place { situation, name, set };

    if let Some(Claim::Foreign { owner }) = claims.marker(set.rtype).map(|marker| &marker.claim) {
        plan.rejections.push(place.owned_by(owner));
        return plan;
    }
    if let Some(rejection) = place.held_by_another_namespace(claims) {
        plan.rejections.push(rejection);
        return plan;
    }
    let (mut pool, accepted) = if place.is_judged_whole() {
        match place.judge_whole(&here, wanted, claims.marker(set.rtype)) {
            Ok(pool) => (pool, wanted.iter().collect::<Vec<_>>()),
            Err(rejection) => {
                plan.rejections.push(rejection);
                return plan;
            }
        }
    } else {
        place.judge_each(&here, wanted, &mut plan)
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
        !is_left
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
    matches!(registry.form, Form::Txt(_)) || *holder == HolderRef::Nobody
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

/// The set being planned, in its place.
struct Place<'a> {
    situation: &'a Situation<'a>,
    name: &'a Name,
    set: &'a DesiredSet,
}

// === impl Candidate ===

impl Candidate<'_> {
    /// Whether its holder is going, and leaves it to whoever comes.
    fn is_left(&self, evidence: &Evidence, place: (&Name, RecordType)) -> bool {
        match self.claim {
            Claim::Ours { holder, .. } => evidence.retains(place, holder),
            Claim::Foreign { .. } | Claim::Unclaimed => false,
        }
    }
}

// === impl Place ===

impl Place<'_> {
    /// A TXT marker claims the set; and a CNAME can't stand beside another.
    fn is_judged_whole(&self) -> bool {
        matches!(self.situation.registry.form, Form::Txt(_))
            || matches!(self.set.rtype, RecordType::CNAME | RecordType::DNAME)
    }

    fn judge_whole<'a>(
        &self,
        here: &[&'a (&'a LiveRecord, Claim)],
        wanted: &[Wanted],
        marker: Option<&SetMarker<'_>>,
    ) -> Result<Vec<Candidate<'a>>, Rejection> {
        let is_txt = matches!(self.situation.registry.form, Form::Txt(_));
        if let Form::Txt(form) = &self.situation.registry.form
            && !form.names.has_place(self.name, self.set.rtype, &self.situation.registry.domain)
        {
            let why = "leaves no room for its ownership marker; change the name or registry.txt, or use registry.type Comment";
            return Err(self.reject(Reason::InvalidValue, why.into()));
        }
        // A marker whose data is gone still claims the set: what is written beside it would be its holder's.
        if let (true, Some(SetMarker { claim: Claim::Ours { holder, .. }, .. })) = (here.is_empty(), marker)
            && !self.releases(holder)
            && !self.is_of_our_namespace(holder)
        {
            return Err(self.held_by(holder));
        }
        let mut pool = Vec::new();
        for (record, claim) in here {
            if record.read_only {
                return Err(self.read_only(record));
            }
            let is_alias = matches!(self.set.rtype, RecordType::CNAME | RecordType::DNAME);
            let is_other_alias = is_alias && !wanted.iter().any(|value| value.rdata == record.rdata);
            let mut is_replaceable = true;
            match claim {
                Claim::Foreign { owner } => return Err(self.owned_by(owner)),
                Claim::Unclaimed if is_other_alias && self.is_reserved() => {
                    return Err(self.refused(&format!("its value is {}", record.rdata)));
                }
                Claim::Unclaimed => self.adopt_whole(here, wanted)?,
                Claim::Ours { holder, .. } => {
                    let is_strange = !self.is_of_our_namespace(holder) && !self.awaits(holder);
                    let is_in_the_way = !self.releases(holder) && (is_other_alias || (is_txt && is_strange));
                    if is_in_the_way || (is_other_alias && self.is_reserved()) {
                        return Err(self.held_by(holder));
                    }
                    is_replaceable =
                        self.may_replace(record, holder) && !(is_txt && self.is_of_a_refused(record));
                }
            }
            pool.push(Candidate { record, claim, is_replaceable: is_replaceable && !self.is_reserved() });
        }
        Ok(pool)
    }

    fn judge_each<'a, 'w>(
        &self,
        here: &[&'a (&'a LiveRecord, Claim)],
        wanted: &'w [Wanted],
        plan: &mut SetPlan,
    ) -> (Vec<Candidate<'a>>, Vec<&'w Wanted>) {
        let (mut pool, mut refused) = (Vec::new(), Vec::new());
        for (record, claim) in here {
            let is_wanted = wanted.iter().any(|value| value.rdata == record.rdata);
            let verdict = match claim {
                _ if record.read_only => Err(self.read_only(record)),
                Claim::Ours { holder, .. } => Ok(Some(self.may_replace(record, holder))),
                Claim::Foreign { owner } => Err(self.owned_by(owner)),
                Claim::Unclaimed if self.set.adoption == Adoption::Force => Ok(Some(true)),
                Claim::Unclaimed if is_wanted => self.adopt(record).map(|()| Some(true)),
                Claim::Unclaimed => Ok(None),
            };
            match verdict {
                Ok(Some(is_replaceable)) => pool.push(Candidate { record, claim, is_replaceable }),
                Ok(None) => {}
                Err(rejection) if is_wanted => {
                    plan.rejections.push(rejection);
                    refused.push(&record.rdata);
                }
                // Force claims the whole set, and this value can't be had.
                Err(rejection) if record.read_only && self.set.adoption == Adoption::Force => {
                    plan.rejections.push(rejection);
                }
                // Somebody else's value beside ours: it stays, and is no obstacle.
                Err(_) => {}
            }
        }
        let accepted = wanted.iter().filter(|value| !refused.contains(&&value.rdata)).collect();
        (pool, accepted)
    }

    /// Whether a record of this holder may be replaced: it wants this set too, or is known to want it no more.
    /// What it leaves to whoever comes, Force takes.
    fn releases(&self, holder: &HolderRef) -> bool {
        if self.awaits(holder) {
            return false;
        }
        let (evidence, place) = (self.situation.evidence, (self.name, self.set.rtype));
        crate::mutant::is_on("plan: all holders give up")
            || self.set.holders.iter().any(|wanting| holder.names(wanting))
            || evidence.releases(place, holder)
            || (self.set.adoption == Adoption::Force && evidence.retains(place, holder))
    }

    /// Whether a holder's own values are not known: what it has stays beside ours.
    fn awaits(&self, holder: &HolderRef) -> bool {
        self.awaited().any(|awaited| holder.names(awaited))
    }

    /// Those who may have values in the set that nobody knows now.
    fn awaited(&self) -> impl Iterator<Item = &Holder> {
        let holders = &self.set.holders;
        self.situation.desired.awaited(self.name).filter(|holder| !holders.contains(holder))
    }

    /// Whether a claim does not say which values are theirs: it is on the set, or names nobody.
    fn is_mixed(&self, holder: &HolderRef) -> bool {
        let is_alias = matches!(self.set.rtype, RecordType::CNAME | RecordType::DNAME);
        claims_sets(self.situation.registry, holder) && !is_alias && self.awaited().next().is_some()
    }

    /// Whether a value may be that of a refused object: the claim is on the set, and we did not write it for others.
    fn is_of_a_refused(&self, record: &LiveRecord) -> bool {
        let is_known = |holder: &Holder| self.set.holders.contains(holder);
        self.situation.desired.is_refused(self.name, &record.rdata)
            && !self.situation.settled.has_value_of(self.name, &record.rdata, is_known)
    }

    /// Whether a record may become another value of the set, or go.
    fn may_replace(&self, record: &LiveRecord, holder: &HolderRef) -> bool {
        let is_known = |holder: &Holder| self.set.holders.contains(holder);
        match self.is_mixed(holder) {
            // Only what this process wrote itself can be told apart.
            true => self.situation.settled.has_value_of(self.name, &record.rdata, is_known),
            false => self.releases(holder),
        }
    }

    /// A name belongs to one namespace: where records of another one stand, of any type, it must have given them up.
    fn held_by_another_namespace(&self, claims: &NameClaims<'_>) -> Option<Rejection> {
        let (desired, evidence) = (self.situation.desired, self.situation.evidence);
        if desired.is_shared(self.name) {
            return None;
        }
        let wants_it = |holder: &HolderRef| {
            let wanting = desired.at(self.name).iter().flat_map(|set| &set.holders);
            wanting.chain(desired.awaited(self.name)).any(|wanting| holder.names(wanting))
        };
        let mut other = None;
        for (record, claim) in &claims.records {
            let Claim::Ours { holder, .. } = claim else { continue };
            if *holder == HolderRef::Nobody {
                continue;
            }
            if self.is_of_our_namespace(holder) {
                // Ours stands there too: which namespace was first is decided already.
                return None;
            }
            let place = (self.name, record.rdata.rtype());
            let is_given_up = evidence.releases(place, holder) || evidence.retains(place, holder);
            if other.is_none() && !is_given_up && !wants_it(holder) {
                other = Some(holder);
            }
        }
        other.map(|holder| self.held_by(holder))
    }

    /// Whether an object that can't be served asks for this set too: some of its values may be its own.
    fn is_reserved(&self) -> bool {
        let desired = self.situation.desired;
        let is_shared = desired.is_shared(self.name);
        desired.has_unclear_values(self.name, self.set.rtype, |namespace| {
            is_shared || self.set.holders.iter().any(|holder| holder.namespace() == namespace)
        })
    }

    /// Whether a holder is of a namespace that wants the set.
    fn is_of_our_namespace(&self, holder: &HolderRef) -> bool {
        match holder {
            HolderRef::Full(holder) => {
                self.set.holders.iter().any(|wanting| wanting.namespace() == holder.namespace())
            }
            HolderRef::Hash(_) => self.set.holders.iter().any(|wanting| holder.names(wanting)),
            // None is named, so none is in the way.
            HolderRef::Nobody => true,
        }
    }

    fn adopt_whole(&self, here: &[&(&LiveRecord, Claim)], wanted: &[Wanted]) -> Result<(), Rejection> {
        match self.set.adoption {
            Adoption::Force => Ok(()),
            Adoption::Never => Err(self.refused("adoption is Never")),
            Adoption::Identical => {
                let is_same = here.len() == wanted.len()
                    && here.iter().all(|(record, _)| wanted.iter().any(|value| value.rdata == record.rdata));
                if !is_same {
                    let live: Vec<String> = here.iter().map(|(record, _)| record.rdata.to_string()).collect();
                    return Err(self.refused(&format!("its value is {}", live.join(", "))));
                }
                here.iter().try_for_each(|(record, _)| self.identical(record))
            }
        }
    }

    fn adopt(&self, record: &LiveRecord) -> Result<(), Rejection> {
        match self.set.adoption {
            Adoption::Force => Ok(()),
            Adoption::Never if crate::mutant::is_on("plan: adopts in spite of Never") => Ok(()),
            Adoption::Never => Err(self.refused("adoption is Never")),
            Adoption::Identical => self.identical(record),
        }
    }

    fn identical(&self, record: &LiveRecord) -> Result<(), Rejection> {
        if record.attributes.proxied != self.set.attributes.proxied {
            return Err(self.refused(&format!("its proxied is {}", record.attributes.proxied)));
        }
        if !self.set.attributes.proxied
            && record.ttl != self.set.ttl
            && !crate::mutant::is_on("plan: adopts another ttl")
        {
            return Err(self.refused(&format!("its ttl is {}, not {}", record.ttl, self.set.ttl)));
        }
        Ok(())
    }

    fn difference(&self, candidate: &Candidate<'_>, value: &Wanted, was_cut: &mut bool) -> Option<Edit> {
        let record = candidate.record;
        let is_same_answer = (record.ttl == self.set.ttl || self.set.attributes.proxied)
            && record.attributes == self.set.attributes;
        let marker_is_current = match candidate.claim {
            Claim::Ours { holder, standing: Standing::Current } => match self.situation.registry.form {
                // Whoever's values are not known keeps its claim on one that another wants, too.
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

    /// The holder of a value that stays though this set does not ask for it, where no marker says so yet: the new one
    /// names it, or the next plan would take the value for one of ours.
    fn unreleased<'a>(&self, claims: &'a NameClaims<'_>, wanted: &[Wanted]) -> Option<&'a Holder> {
        let marker = claims.marker(self.set.rtype);
        if !matches!(self.situation.registry.form, Form::Txt(_))
            || marker.is_some_and(|marker| marker.place == MarkerPlace::Typed)
        {
            return None;
        }
        let is_wanted = |rdata: &Rdata| wanted.iter().any(|value| value.rdata == *rdata);
        claims.records.iter().find_map(|(record, claim)| match claim {
            Claim::Ours { holder: holder @ HolderRef::Full(named), .. } => {
                let stays = record.rdata.rtype() == self.set.rtype && !is_wanted(&record.rdata);
                (stays && !self.releases(holder)).then_some(named)
            }
            Claim::Ours { .. } | Claim::Foreign { .. } | Claim::Unclaimed => None,
        })
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

    fn owned_by(&self, owner: &str) -> Rejection {
        self.reject(
            Reason::AdoptionRefused,
            format!("is owned by {owner}; remove it there, or name that owner id in registry.takeOverFrom"),
        )
    }

    fn held_by(&self, holder: &HolderRef) -> Rejection {
        self.reject(Reason::Conflict, format!("is held by {holder}; remove it there first"))
    }

    fn read_only(&self, record: &LiveRecord) -> Rejection {
        let message = format!("{} is managed by the provider itself and can't be changed", record.rdata);
        self.reject(Reason::AdoptionRefused, message)
    }

    fn refused(&self, why: &str) -> Rejection {
        let step = "make the wish equal to it, or set adoption: Force to take it over";
        self.reject(Reason::AdoptionRefused, format!("exists already and {why}; {step}"))
    }

    fn reject(&self, reason: Reason, what: String) -> Rejection {
        Rejection {
            holder: self.set.holders.first().cloned().unwrap_or_else(|| Holder::from_text("")),
            name: Some(self.name.clone()),
            rtype: self.set.rtype,
            reason,
            message: format!("{} {} {what}", self.name, self.set.rtype),
        }
    }
}
