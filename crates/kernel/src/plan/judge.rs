//! Which live records a wanted set may take, replace or must leave alone, and why a wish is refused.

use crate::{
    claim::{Claim, MarkerPlace, NameClaims, SetMarker},
    desired::{Adoption, DesiredSet, Wanted},
    holder::{Holder, HolderRef},
    marker::Form,
    name::Name,
    plan::{
        Evidence, Situation,
        set::{SetPlan, claims_sets},
    },
    rdata::{Rdata, RecordType},
    reason::{Reason, Rejection},
    record::LiveRecord,
};

/// A live record that may become one of the set's values.
pub(super) struct Candidate<'a> {
    pub(super) record: &'a LiveRecord,
    pub(super) claim: &'a Claim,
    pub(super) is_replaceable: bool,
}

/// The set being planned, in its place.
pub(super) struct Place<'a> {
    pub(super) situation: &'a Situation<'a>,
    pub(super) name: &'a Name,
    pub(super) set: &'a DesiredSet,
}

// === impl Candidate ===

impl Candidate<'_> {
    /// Whether its holder is going, and leaves it to the next object that asks.
    pub(super) fn is_left(&self, evidence: &Evidence, place: (&Name, RecordType)) -> bool {
        match self.claim {
            Claim::Ours { holder, .. } => evidence.retains(place, holder),
            Claim::Foreign { .. } | Claim::Unclaimed => false,
        }
    }
}

// === impl Place ===

impl Place<'_> {
    /// A TXT marker claims the set; and a CNAME can't stand beside another.
    pub(super) fn is_judged_whole(&self) -> bool {
        matches!(self.situation.registry.form, Form::Txt(_))
            || matches!(self.set.rtype, RecordType::CNAME | RecordType::DNAME)
    }

    pub(super) fn judge_whole<'a>(
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
                    is_replaceable &= !self.is_left_in_set(record);
                }
            }
            pool.push(Candidate { record, claim, is_replaceable: is_replaceable && !self.is_reserved() });
        }
        Ok(pool)
    }

    pub(super) fn judge_each<'a, 'w>(
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
                // A foreign value beside ours: it stays, and is no obstacle.
                Err(_) => {}
            }
        }
        let accepted = wanted.iter().filter(|value| !refused.contains(&&value.rdata)).collect();
        (pool, accepted)
    }

    /// Whether a record of this holder may be replaced: it wants this set too, or is known to want it no more.
    /// What it leaves behind, Force takes.
    pub(super) fn releases(&self, holder: &HolderRef) -> bool {
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
    pub(super) fn awaits(&self, holder: &HolderRef) -> bool {
        self.awaited().any(|awaited| holder.names(awaited))
    }

    /// Objects that may have values in the set that are not known now.
    pub(super) fn awaited(&self) -> impl Iterator<Item = &Holder> {
        let holders = &self.set.holders;
        self.situation.desired.awaited(self.name).filter(|holder| !holders.contains(holder))
    }

    /// Whether a claim does not say which values are theirs: it is on the set, or names no object.
    pub(super) fn is_mixed(&self, holder: &HolderRef) -> bool {
        let is_alias = matches!(self.set.rtype, RecordType::CNAME | RecordType::DNAME);
        claims_sets(self.situation.registry, holder) && !is_alias && self.awaited().next().is_some()
    }

    /// Whether a value may be that of a refused object: the claim is on the set, and we did not write it for others.
    pub(super) fn is_of_a_refused(&self, record: &LiveRecord) -> bool {
        let is_known = |holder: &Holder| self.set.holders.contains(holder);
        self.situation.desired.is_refused(self.name, &record.rdata)
            && !self.situation.settled.has_value_of(self.name, &record.rdata, is_known)
    }

    /// Whether an object that is going leaves this value behind in a set that a marker claims as a whole.
    pub(super) fn is_left_in_set(&self, record: &LiveRecord) -> bool {
        matches!(self.situation.registry.form, Form::Txt(_))
            && self.situation.desired.is_left(self.name, &record.rdata)
    }

    /// Whether a record may become another value of the set, or go.
    pub(super) fn may_replace(&self, record: &LiveRecord, holder: &HolderRef) -> bool {
        let is_known = |holder: &Holder| self.set.holders.contains(holder);
        match self.is_mixed(holder) {
            // Only what this process wrote itself can be told apart.
            true => self.situation.settled.has_value_of(self.name, &record.rdata, is_known),
            false => self.releases(holder),
        }
    }

    /// A name belongs to one namespace: where records of another one stand, of any type, it must have given them up.
    pub(super) fn held_by_another_namespace(&self, claims: &NameClaims<'_>) -> Option<Rejection> {
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
            if *holder == HolderRef::Unnamed {
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
    pub(super) fn is_reserved(&self) -> bool {
        let desired = self.situation.desired;
        let is_shared = desired.is_shared(self.name);
        desired.has_unclear_values(self.name, self.set.rtype, |namespace| {
            is_shared || self.set.holders.iter().any(|holder| holder.namespace() == namespace)
        })
    }

    /// Whether a holder is of a namespace that wants the set.
    pub(super) fn is_of_our_namespace(&self, holder: &HolderRef) -> bool {
        match holder {
            HolderRef::Full(holder) => {
                self.set.holders.iter().any(|wanting| wanting.namespace() == holder.namespace())
            }
            HolderRef::Hash(_) => self.set.holders.iter().any(|wanting| holder.names(wanting)),
            // None is named, so none is in the way.
            HolderRef::Unnamed => true,
        }
    }

    pub(super) fn adopt_whole(
        &self,
        here: &[&(&LiveRecord, Claim)],
        wanted: &[Wanted],
    ) -> Result<(), Rejection> {
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

    pub(super) fn adopt(&self, record: &LiveRecord) -> Result<(), Rejection> {
        match self.set.adoption {
            Adoption::Force => Ok(()),
            Adoption::Never if crate::mutant::is_on("plan: adopts in spite of Never") => Ok(()),
            Adoption::Never => Err(self.refused("adoption is Never")),
            Adoption::Identical => self.identical(record),
        }
    }

    pub(super) fn identical(&self, record: &LiveRecord) -> Result<(), Rejection> {
        let schema = &self.situation.capabilities.attributes;
        if let Some((name, live)) = schema.first_difference(&record.attributes, &self.set.attributes) {
            return Err(self.refused(&format!("its {name} is {live}")));
        }
        if !self.has_automatic_ttl()
            && record.ttl != self.set.ttl
            && !crate::mutant::is_on("plan: adopts another ttl")
        {
            return Err(self.refused(&format!("its ttl is {}, not {}", record.ttl, self.set.ttl)));
        }
        Ok(())
    }

    /// Whether the provider sets the TTL of the set.
    pub(super) fn has_automatic_ttl(&self) -> bool {
        self.situation.capabilities.attributes.sets_ttl(&self.set.attributes)
    }

    /// The holder of a value that stays though this set does not ask for it, where no marker says so yet: the new one
    /// names it, or the next plan would take the value for one of ours.
    pub(super) fn unreleased<'a>(&self, claims: &'a NameClaims<'_>, wanted: &[Wanted]) -> Option<&'a Holder> {
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

    pub(super) fn owned_by(&self, owner: &str) -> Rejection {
        self.reject(
            Reason::AdoptionRefused,
            format!("is owned by {owner}; remove it there, or name that owner id in registry.takeOverFrom"),
        )
    }

    pub(super) fn held_by(&self, holder: &HolderRef) -> Rejection {
        self.reject(Reason::Conflict, format!("is held by {holder}; remove it there first"))
    }

    pub(super) fn read_only(&self, record: &LiveRecord) -> Rejection {
        let message = format!("{} is managed by the provider itself and can't be changed", record.rdata);
        self.reject(Reason::AdoptionRefused, message)
    }

    pub(super) fn refused(&self, why: &str) -> Rejection {
        let step = "make the wish equal to it, or set adoption: Force to take it over";
        self.reject(Reason::AdoptionRefused, format!("exists already and {why}; {step}"))
    }

    pub(super) fn reject(&self, reason: Reason, what: String) -> Rejection {
        Rejection {
            holder: self.set.holders.first().cloned().unwrap_or_else(|| Holder::from_text("")),
            name: Some(self.name.clone()),
            rtype: self.set.rtype,
            reason,
            message: format!("{} {} {what}", self.name, self.set.rtype),
        }
    }
}
