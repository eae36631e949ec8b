//! Updates filled by size, bisected where refused, verified by reading the zone back.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    time::Duration,
};

use zonekeeper_kernel::{
    name::Name,
    plan::{Change, Edit},
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

/// Where a message is full: below the 64 KiB that its length can say, with room for a signature.
const FULL: usize = 60_000;
/// BIND's default for max-records-per-type (9.18.28 and later).
const BINDS_LARGEST_SET: usize = 100;

/// How long to wait, look by look, until a server shows what it took.
const SHOWING: [Duration; 6] = {
    let millis = Duration::from_millis;
    [millis(10), millis(20), millis(50), millis(100), millis(200), millis(500)]
};

/// Writes changes to one zone.
pub(super) struct Writer<'a> {
    zone: &'a Zone,
    changes: &'a [Change],
    progress: &'a Progress<'a>,
    outcomes: Vec<Option<Outcome>>,
    /// What servers acknowledged, which does not say that they did it.
    acknowledged: Vec<(usize, Draft)>,
    /// What the sets hold then, the last word on each.
    expected: BTreeMap<(Name, RecordType), Vec<Held>>,
    written: Written,
    /// Whether the zone takes updates at all, once that was asked.
    takes_updates: bool,
    /// Whether all of the zone was read again, because a server knew better.
    has_reread: bool,
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
            expected: BTreeMap::new(),
            written: Written::default(),
            takes_updates: false,
            has_reread: false,
        }
    }

    /// Applies the changes and answers for each.
    ///
    /// Guarantees: nothing is sent twice; what counts as applied was seen in the zone afterwards.
    pub(super) async fn apply(mut self, seen: &mut Option<Seen>) -> Vec<Outcome> {
        let mut groups: Vec<Vec<usize>> = vec![(0..self.changes.len()).collect()];
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
                Ok(()) => self.acknowledge(batch, known),
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
            let is_touched = |set: &SetDraft| touched.contains(&(set.name.clone(), set.rtype));
            // Prerequisites are about the zone before the message: two changes of one set need two.
            if size + more > FULL || draft.sets.iter().any(is_touched) {
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
        let mut names = change.edits.iter().map(Edit::name).chain([&change.name]);
        if names.any(|name| seen.unlisted.contains(name)) {
            let message =
                format!("{}: somebody changed it in between; the zone is read again", describe(change));
            return Err(ProviderError::Stale { message });
        }
        Draft::new(change, &self.zone.domain, View { mirror: &seen.mirror, written: &self.written })
    }

    async fn send(&self, batch: &Batch, seen: &Seen) -> Result<(), Failure> {
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
        self.zone.client.update(&message).await
    }

    fn acknowledge(&mut self, batch: Batch, seen: &Seen) {
        for (index, draft) in batch {
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
        if let Cause::Lost(_) = failure.cause {
            let error = explain(&act, &failure);
            for (index, _) in batch {
                self.outcomes[index] = Some(Outcome::Unknown(error.clone()));
            }
            return ControlFlow::Break(error);
        }
        match concern(&failure.cause) {
            Concern::Everything => return ControlFlow::Break(explain(&act, &failure)),
            Concern::Unclear if !self.takes_updates => match self.probe().await {
                Ok(()) => self.takes_updates = true,
                Err(failure) => return ControlFlow::Break(explain(&act, &failure)),
            },
            Concern::Unclear | Concern::OneChange => {}
            Concern::State => {
                if let Err(error) = self.look(seen).await {
                    return ControlFlow::Break(error);
                }
                // The drafts are made anew: those that somebody else has overtaken fall out by themselves.
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
            self.outcomes[*index] = Some(Outcome::Refused(error));
            return ControlFlow::Continue(Vec::new());
        }
        let mut first: Vec<usize> = batch.into_iter().map(|(index, _)| index).collect();
        let second = first.split_off(first.len() / 2);
        ControlFlow::Continue(vec![second, first])
    }

    /// An update that does nothing: whether the zone takes any.
    async fn probe(&self) -> Result<(), Failure> {
        let too_long =
            |_| Failure { server: "none".into(), cause: Cause::NotSent("the message is too long".into()) };
        let message = update(&self.zone.domain, &[], &[]).map_err(too_long)?;
        self.zone.client.update(&message).await
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

    async fn read_again(&mut self, seen: &mut Option<Seen>) -> Result<(), ProviderError> {
        let changed = self.zone.read_again(seen).await?;
        self.take_in(changed, seen);
        Ok(())
    }

    fn take_in(&mut self, changed: BTreeSet<Name>, seen: &mut Option<Seen>) {
        if let Some(seen) = seen {
            let is_as_we_left_it = |name: &Name| self.written.at(name) == Some(seen.mirror.at(name));
            let others: BTreeSet<Name> = changed.into_iter().filter(|name| !is_as_we_left_it(name)).collect();
            seen.unlisted.extend(others);
        }
        self.written = Written::default();
    }

    /// Reads back what was acknowledged: servers ignore some changes without a word.
    async fn verify(&mut self, seen: &mut Option<Seen>) {
        if self.acknowledged.is_empty() {
            return;
        }
        let server = seen.as_ref().map(|seen| seen.server);
        let mut looked = self.zone.look(seen).await;
        // A server that signs, or hands on, shows a write a moment after it took it.
        for pause in SHOWING {
            if !(looked.is_ok() && self.lacks_something(seen)) {
                break;
            }
            tokio::time::sleep(pause).await;
            looked = match (looked, self.zone.look(seen).await) {
                (Ok(before), Ok(more)) => Ok(before.into_iter().chain(more).collect()),
                (_, Err(error)) | (Err(error), _) => Err(error),
            };
        }
        let looked = looked.map(|changed| self.take_in(changed, seen));
        for (index, draft) in std::mem::take(&mut self.acknowledged) {
            self.outcomes[index] = Some(match (&looked, &*seen) {
                (Ok(()), Some(seen)) => {
                    let is_same_server = server == Some(seen.server);
                    self.judge(&self.changes[index], &draft, seen, is_same_server)
                }
                (Ok(()), None) => Outcome::Unknown(ProviderError::Unavailable {
                    message: format!("{}: the zone could not be read back", describe(&self.changes[index])),
                }),
                (Err(error), _) => Outcome::Unknown(error.clone()),
            });
        }
    }

    /// Whether something that was acknowledged is as it was before.
    fn lacks_something(&self, seen: &Option<Seen>) -> bool {
        let none = Written::default();
        let Some(view) = seen.as_ref().map(|seen| View { mirror: &seen.mirror, written: &none }) else {
            return false;
        };
        let is_untouched =
            |draft: &Draft| draft.sets.iter().all(|set| view.set(&set.name, set.rtype) == set.before);
        self.acknowledged.iter().any(|(_, draft)| is_untouched(draft))
    }

    fn judge(&self, change: &Change, draft: &Draft, seen: &Seen, is_same_server: bool) -> Outcome {
        let view = View { mirror: &seen.mirror, written: &self.written };
        let (mut is_done, mut is_untouched) = (true, true);
        for set in &draft.sets {
            let live = view.set(&set.name, set.rtype);
            is_done &=
                self.expected.get(&(set.name.clone(), set.rtype)).is_some_and(|wanted| *wanted == live);
            is_untouched &= set.before == live;
        }
        let what = describe(change);
        match (is_done, is_untouched) {
            (true, _) => Outcome::Applied(draft.effects(change)),
            (false, true) if is_same_server => Outcome::Refused(ProviderError::Rejected {
                message: format!(
                    "{what}: the server said NOERROR and did nothing; something else at the name, or a rule of the \
                     server, excludes it"
                ),
            }),
            (false, _) => Outcome::Unknown(ProviderError::Stale {
                message: format!(
                    "{what}: it was changed again, or is not there as a whole; the zone is read again"
                ),
            }),
        }
    }
}
