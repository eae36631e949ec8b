//! A change as what it does to whole sets, because that is what servers compare and what shares a TTL.

use std::collections::{BTreeMap, BTreeSet};

use zonekeeper_kernel::{
    name::Name,
    plan::{Change, Edit, Role},
    rdata::{Rdata, RecordType},
};

use super::{
    message::{Prerequisite, Step},
    mirror::{Held, Mirror, live, record_id},
};
use crate::{Effect, ProviderError, describe};

/// A zone as it is once all that we sent is in it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) mirror: &'a Mirror,
    pub(super) written: &'a Written,
}

/// The names that we wrote to since the mirror was read, and what they hold now.
#[derive(Debug, Default)]
pub(super) struct Written(BTreeMap<Name, Vec<Held>>);

/// What a change does to each set that it touches.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) sets: Vec<SetDraft>,
}

/// A set, before and after; one that stays as it is must be so when the rest is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SetDraft {
    pub(super) name: Name,
    pub(super) rtype: RecordType,
    pub(super) before: Vec<Held>,
    pub(super) after: Vec<Held>,
}

/// The steps of an update, in the order in which a server must see them.
#[derive(Debug, Default)]
pub(super) struct Steps<'a> {
    first: Vec<Step<'a>>,
    removals: Vec<Step<'a>>,
    additions: Vec<Step<'a>>,
}

// === impl View ===

impl<'a> View<'a> {
    /// A value as the server has it: some compare octets where we know two spellings of the same.
    fn octets(&self, name: &Name, rdata: &'a Rdata) -> &'a [u8] {
        let spelled = self.mirror.spelling(name, rdata).filter(|_| self.written.at(name).is_none());
        spelled.unwrap_or_else(|| rdata.wire())
    }

    /// The records of a name, sorted by type and value.
    pub(super) fn at(&self, name: &Name) -> &[Held] {
        self.written.at(name).unwrap_or_else(|| self.mirror.at(name))
    }

    /// Whether there is nothing at a name, nor anything that we can't read.
    fn is_unused(&self, name: &Name) -> bool {
        self.at(name).is_empty() && !self.mirror.has_unreadable_at(name)
    }

    /// The records of a set, sorted.
    pub(super) fn set(&self, name: &Name, rtype: RecordType) -> Vec<Held> {
        self.at(name).iter().filter(|held| held.rdata.rtype() == rtype).cloned().collect()
    }
}

// === impl Written ===

impl Written {
    /// What a name holds now, if we wrote to it.
    pub(super) fn at(&self, name: &Name) -> Option<&[Held]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// Carries a draft over that a server took.
    pub(super) fn add(&mut self, draft: &Draft, mirror: &Mirror) {
        for set in &draft.sets {
            let records = self.0.entry(set.name.clone()).or_insert_with(|| mirror.at(&set.name).to_vec());
            records.retain(|held| held.rdata.rtype() != set.rtype);
            records.extend(set.after.iter().cloned());
            records.sort();
        }
    }
}

// === impl Draft ===

impl Draft {
    /// What a change does to the zone that we see; an error where it was planned on another one, or where the
    /// server is known to ignore it.
    pub(super) fn new(change: &Change, domain: &Name, view: View<'_>) -> Result<Self, ProviderError> {
        let what = describe(change);
        let stale = |message: &str| ProviderError::Stale {
            message: format!("{what}: {message}; the zone is read again"),
        };
        let mut after: BTreeMap<(&Name, RecordType), Vec<Held>> = BTreeMap::new();
        // What a claim says of values that stay must hold when it is written.
        if !change.unchanged.is_empty() {
            after.insert((&change.name, change.rtype), view.set(&change.name, change.rtype));
        }
        // What says that it is ours must say so still.
        for (name, marker) in &change.claims {
            let texts = view.set(name, marker.rtype());
            if !texts.iter().any(|held| held.rdata == *marker) {
                return Err(stale("the marker that says that it is ours is not there any more"));
            }
            after.insert((name, marker.rtype()), texts);
        }
        for edit in &change.edits {
            let types =
                [edit.before().map(|old| old.rdata.rtype()), edit.after().map(|new| new.rdata.rtype())];
            for rtype in types.into_iter().flatten() {
                after.entry((edit.name(), rtype)).or_insert_with(|| view.set(edit.name(), rtype));
            }
        }
        for edit in &change.edits {
            let Some(before) = edit.before() else { continue };
            let set = after.entry((edit.name(), before.rdata.rtype())).or_default();
            let Some(at) = set.iter().position(|held| held.rdata == before.rdata) else {
                return Err(stale("a value that it changes is not there any more"));
            };
            set.remove(at);
        }
        for edit in &change.edits {
            let Some(new) = edit.after() else { continue };
            let set = after.entry((edit.name(), new.rdata.rtype())).or_default();
            if set.iter().any(|held| held.rdata == new.rdata) {
                return Err(stale("a value that it adds is there already"));
            }
            // A set has one TTL (RFC 2181 section 5.2); a marker beside other text takes what is there.
            let ttl = set.first().filter(|_| edit.role() == Role::Marker).map_or(new.ttl.0, |held| held.ttl);
            set.push(Held { rdata: new.rdata.clone(), ttl });
            set.iter_mut().for_each(|held| held.ttl = ttl);
        }
        let sets = after.into_iter().map(|((name, rtype), mut after)| {
            after.sort();
            SetDraft { name: name.clone(), rtype, before: view.set(name, rtype), after }
        });
        let draft = Self { sets: sets.collect() };
        if let Some(name) = draft.meets_alias(view) {
            let message = format!("{what}: an alias at {name} excludes other records; remove one of the two");
            return Err(ProviderError::Rejected { message });
        }
        draft.check(&what, domain, view)?;
        Ok(draft)
    }

    /// What a server is known to refuse or to ignore without a word.
    fn check(&self, what: &str, domain: &Name, view: View<'_>) -> Result<(), ProviderError> {
        let rejected =
            |message: String| Err(ProviderError::Rejected { message: format!("{what}: {message}") });
        for set in self.sets.iter().filter(|set| set.is_changed()) {
            if view.mirror.is_hidden(&set.name) {
                return rejected(format!(
                    "{} lies below a delegation and can't be read by name; remove the delegation, or use \
                     rfc2136.reading: Transfer",
                    set.name
                ));
            }
            match set.rtype {
                RecordType::SOA => {
                    return rejected("the SOA record belongs to the server; change it there".into());
                }
                RecordType::NS if set.name == *domain && set.after.is_empty() => {
                    return rejected(
                        "a zone needs a name server; servers ignore the removal of the last one".into(),
                    );
                }
                rtype if view.mirror.has_unreadable(&set.name, rtype) => {
                    return rejected(format!(
                        "{} {rtype} holds a value that can't be read; correct it at the server first",
                        set.name
                    ));
                }
                _other => {}
            }
        }
        Ok(())
    }

    /// Where an alias would stand beside something else: servers ignore that without a word.
    fn meets_alias(&self, view: View<'_>) -> Option<&Name> {
        let names: BTreeSet<&Name> = self.sets.iter().map(|set| &set.name).collect();
        names.into_iter().find(|name| {
            let mut types: BTreeSet<RecordType> =
                view.at(name).iter().map(|held| held.rdata.rtype()).collect();
            for set in self.sets.iter().filter(|set| set.name == **name) {
                types.remove(&set.rtype);
                types.extend((!set.after.is_empty()).then_some(set.rtype));
            }
            types.len() > 1 && types.contains(&RecordType::CNAME)
        })
    }

    /// What must hold for the change to be safe: every set is exactly as we know it.
    pub(super) fn prerequisites<'a>(&'a self, view: View<'a>) -> Vec<Prerequisite<'a>> {
        let mut prerequisites = Vec::new();
        for SetDraft { name, rtype, before, .. } in &self.sets {
            match before.is_empty() {
                true if view.is_unused(name) => prerequisites.push(Prerequisite::NameUnused(name)),
                true => {
                    prerequisites.push(Prerequisite::SetMissing(name, *rtype));
                    // Beside what is known to be there, an alias that came meanwhile would win without a word.
                    if view.set(name, RecordType::CNAME).is_empty() && *rtype != RecordType::CNAME {
                        prerequisites.push(Prerequisite::SetMissing(name, RecordType::CNAME));
                    }
                }
                false => {
                    let value =
                        |held: &'a Held| Prerequisite::Value(name, *rtype, view.octets(name, &held.rdata));
                    prerequisites.extend(before.iter().map(value))
                }
            }
        }
        prerequisites
    }

    /// What the change does, in steps.
    pub(super) fn steps<'a>(&'a self, domain: &Name, steps: &mut Steps<'a>) {
        for set in self.sets.iter().filter(|set| set.is_changed()) {
            set.steps(domain, steps);
        }
    }

    /// Whether there is anything to do.
    pub(super) fn is_empty(&self) -> bool {
        !self.sets.iter().any(SetDraft::is_changed)
    }

    /// At most so many octets of a message: names are compressed at least against the zone's.
    pub(super) fn size(&self, domain: &Name, view: View<'_>) -> usize {
        let mut steps = Steps::default();
        self.steps(domain, &mut steps);
        let name_size = |name: &Name| (name.as_str().len() + 3).saturating_sub(domain.as_str().len());
        let prerequisites: usize = self
            .prerequisites(view)
            .iter()
            .map(|prerequisite| match prerequisite {
                Prerequisite::NameUnused(name)
                | Prerequisite::NameUsed(name)
                | Prerequisite::SetMissing(name, _) => name_size(name),
                Prerequisite::Value(name, _, octets) => name_size(name) + octets.len(),
            })
            .map(|size| size + 10)
            .sum();
        let steps: usize = steps
            .in_order()
            .iter()
            .map(|step| match step {
                Step::RemoveSet(name, _) => name_size(name),
                Step::Remove(name, rdata) | Step::Add(name, _, rdata) => name_size(name) + rdata.wire().len(),
            })
            .map(|size| size + 10)
            .sum();
        prerequisites + steps
    }

    /// What was done, edit by edit; then values that got another TTL because their set did.
    pub(super) fn effects(&self, change: &Change) -> Vec<Effect> {
        let mut effects: Vec<Effect> = change.edits.iter().map(|edit| self.effect(edit)).collect();
        for set in &self.sets {
            for (old, new) in set.kept().filter(|(old, new)| old.ttl != new.ttl) {
                let is_edited = change.edits.iter().any(|edit| {
                    *edit.name() == set.name && edit.before().is_some_and(|before| before.rdata == old.rdata)
                });
                if !is_edited {
                    let written = live(&set.name, new, false);
                    let removed = Some((old.rdata.clone(), written.id.clone()));
                    effects.push(Effect { name: set.name.clone(), removed, written: Some(written) });
                }
            }
        }
        effects
    }

    fn effect(&self, edit: &Edit) -> Effect {
        let id = edit.after().map(|after| record_id(&after.name, &after.rdata));
        Effect::of(edit, id.unwrap_or_default())
    }
}

// === impl SetDraft ===

impl SetDraft {
    fn is_changed(&self) -> bool {
        self.before != self.after
    }

    /// Values that stay, before and after.
    fn kept(&self) -> impl Iterator<Item = (&Held, &Held)> {
        self.before
            .iter()
            .filter_map(|old| Some((old, self.after.iter().find(|new| new.rdata == old.rdata)?)))
    }

    fn steps<'a>(&'a self, domain: &Name, steps: &mut Steps<'a>) {
        let Self { name, rtype, before, after } = self;
        let additions = after.iter().map(|held| Step::Add(name, held.ttl, &held.rdata));
        // The last name server of a zone can't be removed, so that its successor comes first.
        if *rtype == RecordType::NS && name == domain {
            let is_gone = |held: &&Held| after.iter().all(|new| new.rdata != held.rdata);
            steps.first.extend(additions);
            steps.removals.extend(before.iter().filter(is_gone).map(|held| Step::Remove(name, &held.rdata)));
            return;
        }
        // A set was compared whole, and is written whole: not every server finds each value again that it is to
        // remove (PowerDNS 4.7: HTTPS, 2026-11).
        if !before.is_empty() {
            steps.removals.push(Step::RemoveSet(name, *rtype));
        }
        steps.additions.extend(additions);
    }
}

// === impl Steps ===

impl<'a> Steps<'a> {
    /// Removals go before additions: an alias is added only where nothing else is left.
    pub(super) fn in_order(&self) -> Vec<Step<'a>> {
        self.first.iter().chain(&self.removals).chain(&self.additions).copied().collect()
    }
}
