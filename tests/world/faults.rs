//! What goes wrong around the operator, and when.

use crate::{clock::Millis, random::Random};

/// Faults that are under way. Times are when they end.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// The provider answers nothing.
    pub provider_down: Millis,
    /// The provider says that there were too many requests.
    pub rate_limited: Millis,
    /// Listings show the zone as it was a moment before.
    pub lagging: Millis,
    /// The API server answers nothing.
    pub api_down: Millis,
    /// Watches deliver nothing.
    pub watches_stuck: Millis,
    /// How many of the next writes at the provider lose their reply.
    pub lost_replies: u64,
    /// How many of the next changes the provider refuses.
    pub refusals: u64,
    /// How many of the next writes of the API server are refused or lose their reply.
    pub api_conflicts: u64,
}

/// What becomes of a call to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Done,
    /// It is not carried out, and no reply comes.
    LostBefore,
    /// It is carried out up to a point, and no reply comes.
    LostAmid,
    /// It is carried out, and no reply comes.
    LostAfter,
}

// === impl Faults ===

impl Faults {
    pub fn heal(&mut self) {
        *self = Self::default();
    }

    pub fn fate(&mut self, random: &mut Random) -> Fate {
        if self.lost_replies == 0 {
            return Fate::Done;
        }
        self.lost_replies -= 1;
        random.pick(&[Fate::LostBefore, Fate::LostAmid, Fate::LostAfter, Fate::LostAfter])
    }

    pub fn is_refused(&mut self) -> bool {
        let is_refused = self.refusals > 0;
        self.refusals = self.refusals.saturating_sub(1);
        is_refused
    }

    pub fn is_conflict(&mut self) -> bool {
        let is_conflict = self.api_conflicts > 0;
        self.api_conflicts = self.api_conflicts.saturating_sub(1);
        is_conflict
    }
}
