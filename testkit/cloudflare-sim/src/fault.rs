//! What goes wrong on purpose: which requests a fault picks, and what it does to them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::scramble;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    #[serde(default)]
    pub on: Match,
    #[serde(default)]
    pub when: When,
    pub act: Action,
    #[serde(default)]
    pub then: Then,
}

/// Requests are counted from when the fault plan was set; only those that fit count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    pub scope: Scope,
    /// Matches the path only, not the query.
    pub path_contains: Option<String>,
    pub which: Which,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    #[default]
    All,
    Reads,
    Writes,
    /// GET of a `dns_records` collection.
    Listings,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    #[default]
    Every,
    /// 1-based.
    Nth(u64),
    /// The nth and all after it.
    From(u64),
    EveryNth(u64),
    /// The same requests for the same seed.
    Fraction {
        rate: f64,
        seed: u64,
    },
}

/// Whether the request takes effect before the fault strikes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    #[default]
    Before,
    After,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// 429 with the gateway's JSON and `Retry-After`.
    RateLimited {
        retry_after: u64,
    },
    /// 429 with the edge's HTML page, error 1015.
    RateLimitedHtml,
    /// This HTTP status with the service's JSON.
    Json(u16),
    /// This HTTP status with the service's JSON and one error of this code.
    Refusal {
        status: u16,
        code: u32,
    },
    Html(u16),
    Empty(u16),
    /// The connection closes without a reply.
    Cut,
    /// The reply announces its whole length and stops half-way; always `After`.
    CutMidBody,
    /// 200 with `success: false`.
    Unsuccessful,
    /// Milliseconds; the request then goes on.
    Latency(u64),
    /// Waits, before or after it takes effect, until it is released or its client goes away.
    Hold,
    /// After listing page `after_page`, the zone changes behind the client's back, once.
    ShiftPages {
        after_page: u64,
        shift: Shift,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shift {
    /// A record as POST takes it; one that sorts early pushes others onto the next page.
    Insert(Value),
    /// The first record of the page just served: the next page starts one too late.
    RemoveFirst,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    #[default]
    Continue,
    /// Once it struck, every later request is cut, until the plan is replaced.
    StayDown,
}

/// The faults in force, each with its own count.
#[derive(Default)]
pub struct FaultPlan {
    faults: Vec<(Fault, u64)>,
    is_down: bool,
}

/// What the plan does to one request.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub latency: u64,
    pub hold: Option<When>,
    pub strike: Option<(When, Action)>,
    pub shifts: Vec<(u64, Shift, usize)>,
}

// === impl Fault ===

impl Fault {
    pub fn new(on: Match, act: Action) -> Self {
        Self { on, when: When::Before, act, then: Then::Continue }
    }

    pub fn every(act: Action) -> Self {
        Self::new(Match::default(), act)
    }

    pub fn nth(n: u64, act: Action) -> Self {
        Self::new(Match { which: Which::Nth(n), ..Match::default() }, act)
    }

    pub fn nth_write(n: u64, act: Action) -> Self {
        Self::new(Match { scope: Scope::Writes, which: Which::Nth(n), ..Match::default() }, act)
    }

    pub fn fraction(rate: f64, seed: u64, act: Action) -> Self {
        Self::new(Match { which: Which::Fraction { rate, seed }, ..Match::default() }, act)
    }

    pub fn shift_pages(after_page: u64, shift: Shift) -> Self {
        Self::new(
            Match { scope: Scope::Listings, ..Match::default() },
            Action::ShiftPages { after_page, shift },
        )
    }

    /// The nth write is lost: nothing changes, no reply.
    pub fn cut_before_write(n: u64) -> Self {
        Self::nth_write(n, Action::Cut)
    }

    /// The nth write takes effect, but its reply is lost.
    pub fn cut_after_write(n: u64) -> Self {
        Self { when: When::After, ..Self::nth_write(n, Action::Cut) }
    }

    /// The nth write is cut as asked, and every later request is refused until the plan is replaced.
    pub fn cut_from_write(n: u64, when: When) -> Self {
        Self { when, then: Then::StayDown, ..Self::nth_write(n, Action::Cut) }
    }

    /// The nth write and all after it wait as asked until they are released.
    pub fn hold_from_write(n: u64, when: When) -> Self {
        let on = Match { scope: Scope::Writes, which: Which::From(n), ..Match::default() };
        Self { when, ..Self::new(on, Action::Hold) }
    }

    pub fn after(self) -> Self {
        Self { when: When::After, ..self }
    }
}

// === impl Match ===

impl Match {
    fn fits(&self, is_write: bool, path: &str) -> bool {
        let in_scope = match self.scope {
            Scope::All => true,
            Scope::Reads => !is_write,
            Scope::Writes => is_write,
            Scope::Listings => !is_write && path.ends_with("/dns_records"),
        };
        in_scope && self.path_contains.as_ref().is_none_or(|part| path.contains(part.as_str()))
    }

    fn picks(&self, count: u64) -> bool {
        match self.which {
            Which::Every => true,
            Which::Nth(n) => count == n,
            Which::From(n) => count >= n,
            Which::EveryNth(n) => n > 0 && count.is_multiple_of(n),
            Which::Fraction { rate, seed } => {
                let spread = scramble(seed ^ scramble(count)) >> 11;
                (spread as f64) < rate * (1_u64 << 53) as f64
            }
        }
    }
}

// === impl Verdict ===

impl Verdict {
    /// `[when, act]` for the journal; a delay shows only where nothing worse happened.
    pub fn shown(&self) -> Option<Value> {
        let delay = (self.latency > 0).then_some((When::Before, Action::Latency(self.latency)));
        let hold = self.hold.map(|when| (when, Action::Hold));
        let struck = self.strike.clone().or(hold).or(delay)?;
        serde_json::to_value(struck).ok()
    }
}

// === impl FaultPlan ===

impl FaultPlan {
    pub fn new(faults: Vec<Fault>) -> Self {
        Self { faults: faults.into_iter().map(|fault| (fault, 0)).collect(), is_down: false }
    }

    /// Counts the request everywhere it fits; of several faults that strike, the first one does.
    pub fn judge(&mut self, is_write: bool, path: &str) -> Verdict {
        let mut verdict = Verdict::default();
        if self.is_down {
            verdict.strike = Some((When::Before, Action::Cut));
            return verdict;
        }
        for (index, (fault, count)) in self.faults.iter_mut().enumerate() {
            if !fault.on.fits(is_write, path) {
                continue;
            }
            *count += 1;
            if !fault.on.picks(*count) {
                continue;
            }
            self.is_down |= fault.then == Then::StayDown;
            match &fault.act {
                Action::Latency(milliseconds) => verdict.latency += milliseconds,
                Action::Hold => drop(verdict.hold.get_or_insert(fault.when)),
                Action::ShiftPages { after_page, shift } => {
                    verdict.shifts.push((*after_page, shift.clone(), index));
                }
                act => drop(verdict.strike.get_or_insert((fault.when, act.clone()))),
            }
        }
        verdict
    }

    /// A page shift happens once.
    pub fn spend(&mut self, index: usize) {
        if let Some((fault, _)) = self.faults.get_mut(index) {
            fault.on.which = Which::Nth(0);
        }
    }
}
