//! Updates filled by size, bisected where refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use domain::base::iana::Rcode;
use zonekeeper_kernel::{
    name::Name,
    plan::{Change, Edit, Operation},
    rdata::RecordType,
};

use super::{
    client::Failure,
    conversation::Cause,
    draft::{Draft, SetDraft, Steps, View, Written},
    explain::{Concern, concern, explain, explain_change},
    message::{Prerequisite, update},
    mirror::Held,
    zone::{Seen, Zone},
};
use crate::{Outcome, Progress, ProviderError, describe};

/// Where a message is full: below the 65,535 octets that its length can say, with room for the zone and a signature.
const FULL: usize = 64_500;
/// BIND's default for max-records-per-type (9.18.28 and later).
const BINDS_LARGEST_SET: usize = 100;

/// So many changes that were refused before are tried again; about the others a server is asked another time.
const MOST_REFUSALS: usize = 64;

/// Writes changes to one zone.
pub(super) struct Writer<'a> {
    pub(super) zone: &'a Zone,
    pub(super) changes: &'a [Change],
    progress: &'a Progress<'a>,
    pub(super) outcomes: Vec<Option<Outcome>>,
    /// What servers acknowledged, which does not say that they did it.
    pub(super) acknowledged: Vec<(usize, Draft)>,
    /// The servers that did so.
    pub(super) takers: BTreeSet<usize>,
    /// What the sets hold then, the last word on each.
    pub(super) expected: BTreeMap<(Name, RecordType), Vec<Held>>,
    pub(super) written: Written,
    /// How many changes were refused again.
    refusals: usize,
    /// Whether the zone takes updates at all, once that was asked.
    takes_updates: bool,
    /// Whether all of the zone was read again, because a server knew better.
    has_reread: bool,
    /// Whether another server was looked for.
    has_moved: bool,
}

/// Changes that go in one message.
type Batch = Vec<(usize, Draft)>;

// === impl Writer ===

impl<'a> Writer<'a> {
    pub(super) fn new(zone: &'a Zone, changes: &'a [Change], progress: &'a Progress<'a>) -> Self {
        Self {
            zone,
            changes,
            progress,
            outcomes: changes.iter().map(|_| None).collect(),
            acknowledged: Vec::new(),
            takers: BTreeSet::new(),
            expected: BTreeMap::new(),
            written: Written::default(),
            refusals: 0,
            takes_updates: false,
            has_reread: false,
            has_moved: false,
        }
    }

    /// Applies the changes and answers for each.
    ///
    /// Guarantees: nothing is sent twice; what counts as applied was seen in the zone afterwards.
    pub(super) async fn apply(mut self, seen: &mut Option<Seen>) -> Vec<Outcome> {
        let mut groups = self.zone.refused.in_turn(self.changes);
        groups.iter_mut().for_each(|group| arrivals_first(self.changes, group));
        let mut stop = match seen {
            Some(_) => None,
            // The changes were planned on something that turned out not to be so.
            None => {
                let message = "what is known of the zone is out of date; it is read again".into();
                let stale = ProviderError::Stale { message };
                return self.changes.iter().map(|_| Outcome::Refused(stale.clone())).collect();
            }
        };
        while let (None, Some(group)) = (&stop, groups.pop()) {
            let Some(known) = seen else { break };
            let (batch, rest) = self.pack(group, known);
            if !rest.is_empty() {
                groups.push(rest);
            }
            if batch.is_empty() {
                continue;
            }
            match self.send(&batch, known).await {
                Ok(server) => self.acknowledge(batch, known, server),
                Err(failure) => match self.refused(batch, failure, seen).await {
                    ControlFlow::Continue(mut parts) => groups.append(&mut parts),
                    ControlFlow::Break(error) => stop = Some(error),
                },
            }
            (self.progress)(self.outcomes.iter().flatten().count() + self.acknowledged.len());
        }
        self.verify(seen).await;
        let unsent = stop.unwrap_or_else(|| ProviderError::Unavailable { message: "it was not sent".into() });
        self.outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|| Outcome::NotSent(unsent.clone())))
            .collect()
    }

    /// As many changes as fit in one message, whole, and those that are left.
    fn pack(&mut self, group: Vec<usize>, seen: &Seen) -> (Batch, Vec<usize>) {
        let (mut batch, mut touched, mut size) = (Batch::new(), BTreeSet::new(), 0);
        let mut group = group.into_iter();
        while let Some(index) = group.next() {
            let view = View { mirror: &seen.mirror, written: &self.written };
            let draft = match self.draft(index, seen) {
                Ok(draft) if draft.is_empty() => {
                    self.outcomes[index] = Some(Outcome::Applied(draft.effects(&self.changes[index])));
                    continue;
                }
                Ok(draft) => draft,
                Err(error) => {
                    self.outcomes[index] = Some(Outcome::Refused(error));
                    continue;
                }
            };
            let more = draft.size(&self.zone.domain, view);
            if more > FULL {
                let message = format!(
                    "{}: {more} octets do not fit in one message; use fewer or shorter values",
                    describe(&self.changes[index])
                );
                self.outcomes[index] = Some(Outcome::Refused(ProviderError::Rejected { message }));
                continue;
            }
            if size + more > FULL || draft.sets.iter().any(|set| is_touched(&touched, set)) {
                return (batch, std::iter::once(index).chain(group).collect());
            }
            size += more;
            touched.extend(draft.sets.iter().map(|set| (set.name.clone(), set.rtype)));
            batch.push((index, draft));
        }
        (batch, Vec::new())
    }

    fn draft(&self, index: usize, seen: &Seen) -> Result<Draft, ProviderError> {
        let change = &self.changes[index];
        let claims = change.claims.iter().map(|(name, _)| name);
        let mut names = change.edits.iter().map(Edit::name).chain([&change.name]).chain(claims);
        if names.any(|name| seen.unlisted.contains(name)) {
            let message = format!("{}: it was changed in between; the zone is read again", describe(change));
            return Err(ProviderError::Stale { message });
        }
        Draft::new(change, &self.zone.domain, View { mirror: &seen.mirror, written: &self.written })
    }

    /// Sends a message, and says which server took it.
    async fn send(&self, batch: &Batch, seen: &Seen) -> Result<usize, Failure> {
        let view = View { mirror: &seen.mirror, written: &self.written };
        let (mut prerequisites, mut unused, mut steps) = (Vec::new(), BTreeSet::new(), Steps::default());
        for (_, draft) in batch {
            prerequisites.extend(draft.prerequisites(view).into_iter().filter(|prerequisite| {
                match prerequisite {
                    Prerequisite::NameUnused(name) => unused.insert(*name),
                    Prerequisite::NameUsed(_) | Prerequisite::SetMissing(..) | Prerequisite::Value(..) => {
                        true
                    }
                }
            }));
            draft.steps(&self.zone.domain, &mut steps);
        }
        let message = update(&self.zone.domain, &prerequisites, &steps.in_order());
        let too_long = |_| Cause::NotSent("the message is too long".into());
        let message = message.map_err(too_long).map_err(|cause| Failure { server: "none".into(), cause })?;
        self.zone.client.update(&message, seen.server).await
    }

    fn acknowledge(&mut self, batch: Batch, seen: &Seen, server: usize) {
        self.takers.insert(server);
        for (index, draft) in batch {
            self.zone.refused.remove(&self.changes[index]);
            self.written.add(&draft, &seen.mirror);
            for set in &draft.sets {
                self.expected.insert((set.name.clone(), set.rtype), set.after.clone());
            }
            self.acknowledged.push((index, draft));
        }
    }

    /// Finds out whom a refusal concerns: what to send next, or why to stop.
    async fn refused(
        &mut self,
        batch: Batch,
        failure: Failure,
        seen: &mut Option<Seen>,
    ) -> ControlFlow<ProviderError, Vec<Vec<usize>>> {
        let act = format!("updating zone {}", self.zone.domain);
        // Who says yes without a signature may have done it.
        if matches!(failure.cause, Cause::Lost(_) | Cause::Unsigned(Rcode::NOERROR)) {
            let error = explain(&act, &failure);
            for (index, _) in batch {
                self.outcomes[index] = Some(Outcome::Unknown(error.clone()));
            }
            return ControlFlow::Break(error);
        }
        if matches!(failure.cause, Cause::NotSent(_)) && self.zone.client.has_others() && !self.has_moved {
            // Another server may stand in, if it knows as much.
            self.has_moved = true;
            let before = seen.as_ref().map(|seen| seen.server);
            if let Err(error) = self.look(seen).await {
                return ControlFlow::Break(error);
            }
            if seen.as_ref().map(|seen| seen.server) != before {
                return ControlFlow::Continue(vec![batch.into_iter().map(|(index, _)| index).collect()]);
            }
        }
        match concern(&failure.cause) {
            Concern::Everything => return ControlFlow::Break(explain(&act, &failure)),
            Concern::Unclear if !self.takes_updates => match self.probe(seen).await {
                Ok(()) => self.takes_updates = true,
                Err(failure) => return ControlFlow::Break(explain(&act, &failure)),
            },
            Concern::Unclear | Concern::OneChange => {}
            Concern::State => {
                if let Err(error) = self.look(seen).await {
                    return ControlFlow::Break(error);
                }
                // The drafts are made anew: those that another client has overtaken fall out by themselves.
                let is_overtaken = |seen: &Option<Seen>| {
                    let is_stale = |index| seen.as_ref().is_some_and(|seen| self.draft(index, seen).is_err());
                    batch.iter().any(|(index, _)| is_stale(*index))
                };
                let mut is_to_be_made_anew = is_overtaken(seen);
                if !is_to_be_made_anew && !self.has_reread {
                    // Nothing changed, and yet it is not as we think.
                    self.has_reread = true;
                    if let Err(error) = self.read_again(seen).await {
                        return ControlFlow::Break(error);
                    }
                    is_to_be_made_anew = true;
                }
                if is_to_be_made_anew {
                    return ControlFlow::Continue(vec![batch.into_iter().map(|(index, _)| index).collect()]);
                }
            }
        }
        if let [(index, draft)] = &batch[..] {
            let change = &self.changes[*index];
            let hint = seen.as_ref().and_then(|seen| self.hint(draft, seen));
            let error = explain_change(&format!("writing {}", describe(change)), &failure, hint);
            self.outcomes[*index] = Some(Outcome::Refused(error.clone()));
            if concern(&failure.cause) != Concern::State && self.zone.refused.add(change) {
                self.refusals += 1;
            }
            return match self.refusals < MOST_REFUSALS {
                true => ControlFlow::Continue(Vec::new()),
                false => ControlFlow::Break(ProviderError::Rejected {
                    message: format!(
                        "{error}; {MOST_REFUSALS} changes were refused, and this one waits for its turn"
                    ),
                }),
            };
        }
        let mut first: Vec<usize> = batch.into_iter().map(|(index, _)| index).collect();
        let second = first.split_off(first.len() / 2);
        ControlFlow::Continue(vec![second, first])
    }

    /// An update that does nothing: whether the zone takes any.
    async fn probe(&self, seen: &Option<Seen>) -> Result<(), Failure> {
        let too_long =
            |_| Failure { server: "none".into(), cause: Cause::NotSent("the message is too long".into()) };
        let message = update(&self.zone.domain, &[], &[]).map_err(too_long)?;
        let last = seen.as_ref().map_or(0, |seen| seen.server);
        self.zone.client.update(&message, last).await.map(drop)
    }

    /// What a refusal is likely to be about.
    fn hint(&self, draft: &Draft, seen: &Seen) -> Option<String> {
        let view = View { mirror: &seen.mirror, written: &self.written };
        draft.sets.iter().find_map(|set| {
            if set.after.len() > BINDS_LARGEST_SET {
                return Some(format!(
                    "{} values in one set, and BIND takes {BINDS_LARGEST_SET}; use fewer, or raise its \
                     max-records-per-type",
                    set.after.len()
                ));
            }
            let targets = set.after.iter().filter(|held| held.rdata.rtype() == RecordType::MX);
            let dangling = targets.filter_map(|held| held.rdata.target()).find(|target| {
                let is_address = |held: &Held| matches!(held.rdata.rtype(), RecordType::A | RecordType::AAAA);
                target.is_within(&self.zone.domain) && !view.at(target).iter().any(is_address)
            });
            dangling.map(|target| {
                format!("{target} is in this zone and has no address; declare its A or AAAA, too")
            })
        })
    }

    /// Looks at the zone again, and remembers what others did meanwhile.
    async fn look(&mut self, seen: &mut Option<Seen>) -> Result<(), ProviderError> {
        let changed = self.zone.look(seen).await?;
        self.take_in(changed, seen);
        Ok(())
    }

    pub(super) async fn read_again(&mut self, seen: &mut Option<Seen>) -> Result<(), ProviderError> {
        let changed = self.zone.read_again(seen).await?;
        self.take_in(changed, seen);
        Ok(())
    }

    pub(super) fn take_in(&mut self, changed: BTreeSet<Name>, seen: &mut Option<Seen>) {
        if let Some(seen) = seen {
            let is_as_we_left_it = |name: &Name| self.written.at(name) == Some(seen.mirror.at(name));
            let others: BTreeSet<Name> = changed.into_iter().filter(|name| !is_as_we_left_it(name)).collect();
            seen.unlisted.extend(others);
        }
        self.written = Written::default();
    }
}

/// Whether a set must wait for the next message: prerequisites are about the zone before one, so that two changes of
/// one set need two; and beside an alias that comes with the same message a server ignores the rest without a word.
fn is_touched(touched: &BTreeSet<(Name, RecordType)>, set: &SetDraft) -> bool {
    let has = |rtype: RecordType| touched.contains(&(set.name.clone(), rtype));
    let has_any = || {
        let first = (set.name.clone(), RecordType::from_code(0));
        touched.range(first..).next().is_some_and(|(name, _)| *name == set.name)
    };
    has(set.rtype) || has(RecordType::CNAME) || (set.rtype == RecordType::CNAME && has_any())
}

/// Puts what goes behind what comes: a rename may take two messages, and then the new name is there first. What happens
/// at one name stays in its order.
fn arrivals_first(changes: &[Change], group: &mut [usize]) {
    let arriving: BTreeSet<&Name> = changes
        .iter()
        .filter(|change| change.operation != Operation::Delete)
        .map(|change| &change.name)
        .collect();
    group.sort_by_key(|index| {
        let change = &changes[*index];
        change.operation == Operation::Delete && !arriving.contains(&change.name)
    });
}
