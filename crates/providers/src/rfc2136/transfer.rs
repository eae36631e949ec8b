//! A zone transfer, whole (RFC 5936) or in differences (RFC 1995), record by record: complete, or an error.

use domain::base::Serial;
use zonekeeper_kernel::{name::Name, rdata::RecordType};

use super::{
    conversation::Next,
    message::Item,
    mirror::{Difference, Mirror, Soa},
};

/// No zone is that large; a server that sends more would take all memory.
const MOST_RECORDS: usize = 10_000_000;

/// What a transfer brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Transferred {
    /// There is no newer version.
    Current,
    /// What changed since the version that we have.
    Differences(Vec<Difference>, Soa),
    /// All of it.
    Whole(Mirror),
}

/// Reads a transfer.
///
/// Guarantees: [`Transfer::finish`] gives a version of the zone exactly as the server sent it, to its closing
/// SOA record, or nothing.
pub(super) struct Transfer<'a> {
    domain: &'a Name,
    /// The version that we have, where differences were asked for.
    since: Option<u32>,
    state: State,
    /// How many records came.
    taken: usize,
}

enum State {
    /// Nothing was seen yet.
    Start,
    /// The newest version is known; what follows decides in which form it comes.
    Announced(Soa),
    Whole(Mirror),
    Differences {
        newest: Soa,
        found: Vec<Difference>,
        step: Step,
    },
    Finished(Transferred),
}

/// Where in a run of differences we are.
enum Step {
    /// From a version, what is removed from it.
    Removing,
    /// To the version with this serial, what is added to it.
    Adding(u32),
}

// === impl Transfer ===

impl<'a> Transfer<'a> {
    /// A transfer of the whole zone.
    pub(super) fn whole(domain: &'a Name) -> Self {
        Self { domain, since: None, state: State::Start, taken: 0 }
    }

    /// A transfer of what changed since a version; the server may send the whole zone instead.
    pub(super) fn since(domain: &'a Name, serial: u32) -> Self {
        Self { domain, since: Some(serial), state: State::Start, taken: 0 }
    }

    /// Takes the records of one message.
    pub(super) fn take(&mut self, items: Vec<Item>) -> Result<Next, String> {
        self.taken += items.len();
        if self.taken > MOST_RECORDS {
            return Err(format!("a transfer of more than {MOST_RECORDS} records"));
        }
        for item in items {
            self.take_item(item)?;
        }
        // One SOA record that is not newer than ours is a whole answer (RFC 1995 section 4).
        if let (State::Announced(soa), Some(since)) = (&self.state, self.since)
            && Serial::from(soa.serial) <= Serial::from(since)
        {
            self.state = State::Finished(Transferred::Current);
        }
        Ok(if matches!(self.state, State::Finished(_)) { Next::Done } else { Next::More })
    }

    /// What was transferred; none where it was not complete.
    pub(super) fn finish(self) -> Option<Transferred> {
        match self.state {
            State::Finished(transferred) => Some(transferred),
            State::Start | State::Announced(_) | State::Whole(_) | State::Differences { .. } => None,
        }
    }

    fn take_item(&mut self, item: Item) -> Result<(), String> {
        if !item.name.is_within(self.domain) {
            return Err(format!("a transfer with {}, which is outside the zone", item.name));
        }
        let soa = Soa::read(self.domain, &item);
        if soa.is_none() && item.rtype == RecordType::SOA {
            return Err(format!("a transfer with a SOA record at {}", item.name));
        }
        self.state = match (std::mem::replace(&mut self.state, State::Start), soa) {
            (State::Start, Some(soa)) => State::Announced(soa),
            (State::Start, None) => return Err("a transfer that does not begin with the SOA record".into()),
            (State::Announced(newest), Some(soa)) if Some(soa.serial) == self.since && soa != newest => {
                State::Differences { newest, found: Vec::new(), step: Step::Removing }
            }
            (State::Announced(newest), Some(soa)) => {
                closed(newest, &soa, |soa| Transferred::Whole(Mirror::new(self.domain.clone(), soa)))?
            }
            (State::Announced(newest), None) => {
                let mut mirror = Mirror::new(self.domain.clone(), newest);
                mirror.insert(item);
                State::Whole(mirror)
            }
            (State::Whole(mirror), Some(soa)) if soa.serial == mirror.serial() => {
                State::Finished(Transferred::Whole(mirror))
            }
            (State::Whole(_), Some(_)) => return Err("a transfer that ends with another version".into()),
            (State::Whole(mut mirror), None) => {
                mirror.insert(item);
                State::Whole(mirror)
            }
            (State::Differences { newest, found, step }, Some(soa)) => match step {
                Step::Removing => State::Differences { newest, found, step: Step::Adding(soa.serial) },
                Step::Adding(serial) if serial == newest.serial => {
                    closed(newest, &soa, |soa| Transferred::Differences(found, soa))?
                }
                Step::Adding(serial) if serial == soa.serial => {
                    State::Differences { newest, found, step: Step::Removing }
                }
                Step::Adding(_) => return Err("differences that leave out a version".into()),
            },
            (State::Differences { newest, mut found, step }, None) => {
                found.push(match step {
                    Step::Removing => Difference::Removed(item),
                    Step::Adding(_) => Difference::Added(item),
                });
                State::Differences { newest, found, step }
            }
            (State::Finished(_), _) => return Err("a transfer that goes on after its end".into()),
        };
        Ok(())
    }
}

/// The end of a transfer, whose SOA record must be that of its beginning.
fn closed(newest: Soa, last: &Soa, done: impl FnOnce(Soa) -> Transferred) -> Result<State, String> {
    match newest.serial == last.serial {
        true => Ok(State::Finished(done(newest))),
        false => Err("a transfer that ends with another version".into()),
    }
}
