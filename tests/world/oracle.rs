//! The rules that no history may break, judged by what the actors know: no plan, claim or evidence of ours.

use std::collections::{BTreeMap, BTreeSet};

use zonekeeper_kernel::{
    name::Name,
    plan::Edit,
    rdata::{Rdata, RecordType},
    record::RecordId,
};

use crate::{
    clock::Millis,
    server::{Author, Kept, ServerZone, is_marker},
    truth::{Adoption, Asked, End, LAG, Quantifier, RACE, Truth},
};

/// How many sets a zone may lose in a window (api.md: guard).
const FEW: usize = 3;
const FEW_OWNED: usize = 10;
const PERCENT: usize = 30;
const WINDOW: Millis = 600_000;

/// What a person has approved in a zone, set by set: each works once.
pub type Approved = BTreeSet<(Name, RecordType)>;

/// What is counted per zone and window.
#[derive(Debug, Default)]
pub struct Counts {
    losses: BTreeMap<(String, Millis), usize>,
    /// How many sets were ours at which time.
    owned: Vec<(Millis, usize)>,
}

/// The guard's window as the DNSZone published it.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub begun: Option<Millis>,
    pub is_guarded: bool,
}

/// A zone at the moment of a write.
pub struct Moment<'a> {
    pub now: Millis,
    pub truth: &'a Truth,
    pub zone: &'a ServerZone,
    pub approved: &'a Approved,
}

// === impl Moment ===

impl Moment<'_> {
    /// Why an edit must not be made; none where it may.
    pub fn objection(&self, edit: &Edit) -> Option<String> {
        let before = edit.before().and_then(|before| self.zone.records.get(&before.id));
        if let Some(kept) = before
            && let Some(why) = self.foreign(kept, edit)
        {
            return Some(why);
        }
        if let Some(after) = edit.after()
            && !is_marker(&after.rdata)
            && before.is_none_or(|kept| kept.record.rdata != after.rdata && !self.is_overtaken(kept, edit))
            && let Some(why) = self.unasked(&after.name, &after.rdata)
        {
            return Some(why);
        }
        let kept = before.filter(|kept| !kept.is_marker() && kept.is_ours() && !kept.is_copy)?;
        // What people changed is put right, and what they overwrote is gone already.
        let is_drift = kept.record.rdata != kept.written;
        if edit.after().is_some_and(|after| is_drift || after.rdata == kept.written) {
            return None;
        }
        self.loss(kept).or_else(|| self.emptied(kept, edit))
    }

    /// Whether only a marker was to be written, and people changed the value since it was read.
    fn is_overtaken(&self, kept: &Kept, edit: &Edit) -> bool {
        edit.is_marker_only() && kept.touched > 0 && kept.touched + RACE > self.now
    }

    /// Law 3: what people wrote is neither changed nor deleted.
    fn foreign(&self, kept: &Kept, edit: &Edit) -> Option<String> {
        let Author::People { since, was_ours } = kept.author else { return None };
        // It was read before that, and the provider compares nothing (design.md, "observe").
        let was_touched = kept.touched > 0 && kept.touched + RACE > self.now;
        if (was_ours && since + RACE > self.now) || was_touched {
            return None;
        }
        let (name, rdata) = (&kept.name, &kept.record.rdata);
        let is_adoption = edit.after().is_some_and(|after| {
            let is_unmarked = !kept.record.comment.contains("zk1:");
            self.lately(name).any(|asked| {
                let is_same = asked.asks_for(name, rdata)
                    && after.rdata == *rdata
                    && kept.record.ttl.0 == asked.ask.ttl;
                match asked.ask.adoption {
                    Adoption::Never => false,
                    Adoption::Identical => is_same && is_unmarked,
                    // It claims what is there in the same write.
                    Adoption::Force => true,
                }
            })
        });
        let is_forced = self.lately(name).any(|asked| asked.ask.adoption == Adoption::Force);
        (!is_adoption && !is_forced).then(|| {
            format!("foreign: {name} {} {rdata} was written by people, and is changed", rdata.rtype())
        })
    }

    /// Nothing is written that no object asked for that may.
    fn unasked(&self, name: &Name, rdata: &Rdata) -> Option<String> {
        let since = self.now.saturating_sub(LAG);
        let asked: Vec<&Asked> = self
            .lately(name)
            .filter(|asked| asked.asks_for(name, rdata))
            .filter(|asked| {
                let mut zones = self.truth.zones_of(name);
                zones.any(|zone| self.truth.may(zone, asked, since, Quantifier::Once))
            })
            .collect();
        if asked.is_empty() {
            return Some(format!(
                "unasked: {name} {} {rdata} is written, and no object that may asks for it",
                rdata.rtype()
            ));
        }
        // Law 11: a name that another namespace holds.
        let holder = self.holder(name)?;
        let is_taken = asked.iter().all(|asked| {
            let began = self.truth.at_name_since(&asked.object, name).unwrap_or(self.now);
            asked.namespace != holder.0.namespace && began > holder.1 + LAG
        });
        is_taken.then(|| {
            format!(
                "taken: {name} {} {rdata} is written for {}, and the name is held by {}",
                rdata.rtype(),
                asked[0].object,
                holder.0.object
            )
        })
    }

    /// Laws 3 and 5: no delete while it is asked for, or without a cause.
    fn loss(&self, kept: &Kept) -> Option<String> {
        let (name, rdata) = (&kept.name, &kept.written);
        let what = || format!("{name} {} {rdata} goes", rdata.rtype());
        let is_elsewhere = |other: &Kept| other.record.id != kept.record.id && other.record.rdata == *rdata;
        if self.zone.at(name).any(is_elsewhere) {
            return None;
        }
        if let Some((asked, _)) = self.entitled(name)
            && asked.asks_for(name, rdata)
            && self.truth.open().any(|open| {
                open.object == asked.object && open.asks_for(name, rdata) && open.from + LAG < self.now
            })
        {
            return Some(format!("wanted: {}, and {} asks for it", what(), asked.object));
        }
        if self.approved.contains(&(name.clone(), rdata.rtype())) {
            return None;
        }
        let is_cause = |asked: &Asked| {
            let is_evidence = |end: End| match end {
                // "Leaves the record and removes our marker" (api.md, "Deletion"); Force takes what is left.
                End::Deleted => {
                    let takes =
                        |other: &Asked| other.object != asked.object && other.ask.adoption == Adoption::Force;
                    !asked.ask.is_retained || self.lately(name).any(takes)
                }
                End::Edited => true,
                End::NoEvidence => false,
            };
            let is_new = |(at, end): (Millis, End)| at + LAG >= kept.since && is_evidence(end);
            // What lost its values still asked for the set, until it was deleted or edited.
            let is_vague = asked.ask.values.is_none() && asked.ask.name == *name;
            let is_its = |before: &Asked| before.object == asked.object && before.asks_for(name, rdata);
            let is_about = asked.asks_for(name, rdata) || (is_vague && self.truth.asked.iter().any(is_its));
            is_about && asked.end.is_some_and(is_new)
        };
        (!self.truth.asked.iter().any(is_cause)).then(|| format!("causeless: {}", what()))
    }

    /// Law 6: a name that is asked for never becomes empty.
    fn emptied(&self, kept: &Kept, edit: &Edit) -> Option<String> {
        // What a person approved goes as it was shown.
        let set = (kept.name.clone(), kept.record.rdata.rtype());
        if edit.after().is_some() || self.approved.contains(&set) {
            return None;
        }
        let others = self.zone.at(&kept.name).filter(|other| other.record.id != kept.record.id);
        let (asked, _) = self.entitled(&kept.name)?;
        let is_known = asked.ask.values.as_ref().is_some_and(|values| !values.is_empty());
        (is_known && others.count() == 0)
            .then(|| format!("empty: {} becomes empty, and {} asks for it", kept.name, asked.object))
    }

    /// The only object that asks for a name, and has done so long enough under rules that let it.
    fn entitled(&self, name: &Name) -> Option<(&Asked, Millis)> {
        let since = self.now.saturating_sub(LAG);
        let (asked, at) = self.truth.sole(name, self.now)?;
        let mut zones = self.truth.zones_of(name);
        let may = zones.any(|zone| self.truth.may(zone, asked, since, Quantifier::Always));
        (at < since && may).then_some((asked, at))
    }

    /// The object that holds a name by what is there, and has asked for it longest.
    fn holder(&self, name: &Name) -> Option<(&Asked, Millis)> {
        let since = self.now.saturating_sub(LAG);
        let is_served = |asked: &&Asked| {
            self.zone.at(name).any(|kept| {
                // "The namespace whose claim stands there now" comes first (design.md, "resolve").
                let is_its = kept.owners.iter().eq([&asked.namespace]);
                kept.is_ours()
                    && is_its
                    && asked.asks_for(name, &kept.record.rdata)
                    && kept.since + LAG < self.now
            })
        };
        let held = self.truth.open().filter(|asked| asked.ask.name == *name).filter(is_served);
        let held = held.filter(|asked| {
            let mut zones = self.truth.zones_of(name);
            zones.any(|zone| self.truth.may(zone, asked, since, Quantifier::Always))
        });
        let held = held.filter_map(|asked| Some((asked, self.truth.at_name_since(&asked.object, name)?)));
        held.filter(|(_, at)| *at < since).min_by_key(|(_, at)| *at)
    }

    /// What was asked for at a name within the time that everything takes to be known.
    fn lately<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a Asked> {
        let since = self.now.saturating_sub(LAG);
        self.truth.asked.iter().filter(move |asked| asked.ask.name == *name && asked.reaches(since))
    }
}

// === impl Counts ===

impl Counts {
    /// Notes how many sets are ours.
    pub fn note(&mut self, zone: &ServerZone, now: Millis) {
        let sets: BTreeSet<_> = zone
            .records
            .values()
            .filter(|kept| kept.is_ours() && !kept.is_marker())
            .map(|kept| &kept.home)
            .collect();
        self.owned.push((now, sets.len()));
    }

    /// A set goes that was not approved; says why it must not.
    pub fn lose(&mut self, key: &str, window: Window, born: Millis, now: Millis) -> Option<String> {
        if !window.is_guarded {
            return None;
        }
        // Times in a status have whole seconds, and a write takes its time.
        let is_running = |begun: &Millis| begun + WINDOW + RACE + LAG >= now;
        let Some(begun) = window.begun.filter(is_running) else {
            // "Sets born in the window don't count" (api.md): a window in which nothing counts yet is not written down.
            let is_newborn = born + WINDOW >= now;
            return (!is_newborn).then(|| "a set goes, and no window of the guard is written down".into());
        };
        if born >= begun {
            return None;
        }
        let around = self.owned.iter().filter(|(at, _)| *at + 2 * LAG >= begun && *at <= begun + 2_000);
        let before = self.owned.iter().rfind(|(at, _)| *at + 2 * LAG < begun);
        let owned = around.chain(before).map(|(_, owned)| *owned).max().unwrap_or(0);
        let limit = match owned < FEW_OWNED {
            true => FEW,
            false => (owned * PERCENT / 100).max(FEW),
        };
        let losses = self.losses.entry((key.to_owned(), begun)).or_default();
        *losses += 1;
        (*losses > limit).then(|| format!("{losses} sets of {owned} go within one window, over {limit}"))
    }
}

/// Whether a set of ours is there without this record.
pub fn is_left(zone: &ServerZone, name: &Name, but: &RecordId) -> bool {
    zone.at(name).any(|kept| kept.record.id != *but && kept.is_ours() && !kept.is_marker())
}
