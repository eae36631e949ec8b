//! What was acknowledged is read back: a server's NOERROR does not say that it did anything.

use std::{collections::BTreeSet, time::Duration};

use zonekeeper_kernel::{name::Name, plan::Change};

use super::{
    apply::Writer,
    draft::{Draft, View, Written},
    zone::Seen,
};
use crate::{Outcome, ProviderError, describe};

/// How long to wait, look by look, until a server shows what it took.
const SHOWING: [Duration; 6] = {
    let millis = Duration::from_millis;
    [millis(10), millis(20), millis(50), millis(100), millis(200), millis(500)]
};

// === impl Writer ===

impl Writer<'_> {
    /// Reads back what was acknowledged: servers ignore some changes without a word.
    pub(super) async fn verify(&mut self, seen: &mut Option<Seen>) {
        if self.acknowledged.is_empty() {
            return;
        }
        let mut looked = self.zone.look(seen).await;
        // A server that signs, or hands on, shows a write a moment after it took it.
        for pause in SHOWING {
            if !(looked.is_ok() && self.lacks_something(seen)) {
                break;
            }
            tokio::time::sleep(pause).await;
            looked = both(looked, self.zone.look(seen).await);
        }
        // Some change a zone without a new serial (PowerDNS 4.7, twice in a second with SOA-EDIT-DNSUPDATE=EPOCH).
        if looked.is_ok() && self.lacks_something(seen) {
            looked = both(looked, self.zone.read_again(seen).await);
        }
        let looked = looked.map(|changed| self.take_in(changed, seen));
        for (index, draft) in std::mem::take(&mut self.acknowledged) {
            self.outcomes[index] = Some(match (&looked, &*seen) {
                (Ok(()), Some(seen)) => self.judge(&self.changes[index], &draft, seen),
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

    fn judge(&self, change: &Change, draft: &Draft, seen: &Seen) -> Outcome {
        // What one server took, another one may show later.
        let is_same_server = self.takers.iter().eq([&seen.server]);
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

type Looked = Result<BTreeSet<Name>, ProviderError>;

/// What two looks found.
fn both(one: Looked, other: Looked) -> Looked {
    let (mut names, more) = (one?, other?);
    names.extend(more);
    Ok(names)
}
