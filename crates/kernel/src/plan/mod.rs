//! What must change in a zone so that it holds what is wanted: ownership is decided here and nowhere else.
//!
//! Each name is planned by itself (`name`), each set by itself (`set`); `retype` joins the sets of a name
//! whose types exclude each other. That is why planning for some names equals the whole plan, restricted.

mod change;
mod evidence;
mod given_up;
mod judge;
mod name;
mod retype;
mod set;

use std::collections::BTreeSet;

pub use change::{Cause, Change, Edit, Operation, Role, SetState};
pub use evidence::{Evidence, Fate, Settled};

use crate::{
    capability::Capabilities,
    claim::Known,
    desired::Desired,
    holder::HolderRef,
    marker::Registry,
    name::Name,
    rdata::{Rdata, RecordType},
    reason::Rejection,
    record::Live,
    zone::Rules,
    zone_change::ZonePlan,
};

/// Everything a plan is made from.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    /// What the zone should hold.
    pub desired: &'a Desired,
    /// What it holds.
    pub live: &'a Live,
    /// How ownership is remembered.
    pub registry: &'a Registry,
    /// What is ours though the zone does not say so.
    pub known: &'a Known,
    /// How far we may go.
    pub rules: &'a Rules,
    /// What the provider can hold.
    pub capabilities: &'a Capabilities,
    /// Which holders are known to want a record no more.
    pub evidence: &'a Evidence,
    /// Which wishes were applied before as they are now.
    pub settled: &'a Settled,
}

/// Which names to plan for.
#[derive(Clone, Copy)]
pub enum Scope<'a> {
    /// All.
    Zone,
    /// These only.
    Names(&'a BTreeSet<Name>),
}

/// What must change, what may not, and what was seen on the way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The changes, in the order in which they are applied.
    pub changes: Vec<Change>,
    /// Wishes that can't be carried out.
    pub rejections: Vec<Rejection>,
    /// Ours, without evidence that their objects gave them up.
    pub orphans: Vec<Orphan>,
    /// Outside changes that are reported and not reverted.
    pub drift: Vec<Change>,
    /// Changes that the zone's policy leaves undone.
    pub withheld: Vec<Change>,
    /// Names whose comment had to be cut to make room for the marker.
    pub cut_comments: Vec<(Name, RecordType)>,
    /// Sets and records by state.
    pub counts: Counts,
    /// What must change of the zone itself.
    pub zone: ZonePlan,
}

/// A live record of ours that no object is known to want or to have given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// Its name.
    pub name: Name,
    /// Its type and value.
    pub rdata: Rdata,
    /// Whom its marker names.
    pub holder: HolderRef,
}

/// How many sets are wanted, and how many live sets are ours, orphaned or another owner's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Sets wanted.
    pub desired: usize,
    /// Sets live, markers aside.
    pub live: usize,
    /// Live sets that are ours.
    pub owned: usize,
    /// Live sets that are not.
    pub foreign: usize,
    /// Live sets that are ours and orphaned.
    pub orphaned: usize,
}

/// Plans a zone.
///
/// Guarantees: no change touches a record that we hold no claim on, except under `Adoption::Force` and
/// `PruneMode::All`; applying any prefix of the edits and planning again leads to the same end; a claim is
/// written before or with its data and removed after or with it; no prefix leaves a wanted name empty;
/// `plan(s, Names(n))` holds the changes of `plan(s, Zone)` for the names in `n`, in the same order.
/// Assumes: `live` is a complete listing, and `desired` was normalised by `capabilities`.
pub fn plan(situation: &Situation<'_>, scope: Scope<'_>) -> Plan {
    let mut plan = Plan::default();
    match scope {
        Scope::Zone => {
            for name in all_names(situation) {
                name::plan_name(situation, name, &mut plan);
            }
        }
        Scope::Names(_) if crate::mutant::is_on("plan: scope leaks") => {
            all_names(situation).for_each(|name| name::plan_name(situation, name, &mut plan));
        }
        Scope::Names(names) => {
            for name in names {
                name::plan_name(situation, name, &mut plan);
            }
        }
    }
    if !crate::mutant::is_on("plan: unordered") {
        plan.changes.sort_by(|one, other| one.order().cmp(&other.order()));
    }
    plan
}

/// Every name that is wanted, live or marked, once and sorted: a merge of three sorted walks.
fn all_names<'a>(situation: &Situation<'a>) -> impl Iterator<Item = &'a Name> {
    let mut wanted = situation.desired.iter().map(|(name, _)| name).peekable();
    let mut live = situation.live.iter().map(|(name, _)| name).peekable();
    let mut marked = situation.live.marked_names().peekable();
    std::iter::from_fn(move || {
        let next = [wanted.peek(), live.peek(), marked.peek()].into_iter().flatten().min().copied()?;
        wanted.next_if(|name| *name == next);
        live.next_if(|name| *name == next);
        marked.next_if(|name| *name == next);
        Some(next)
    })
}
