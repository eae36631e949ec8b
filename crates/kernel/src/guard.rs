//! Splits a plan into what is cleared and what a person must approve first.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::{
    name::Name,
    plan::{Cause, Change, Operation},
    rdata::RecordType,
    render,
    zone::{Policy, Rules},
};

/// How much may change before a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest share of owned sets that may be deleted within a window.
    pub max_delete_percent: usize,
    /// Largest share of owned sets that may be updated within a window.
    pub max_update_percent: usize,
    /// Zones with fewer owned sets may lose up to three sets per window instead.
    pub min_records: usize,
}

/// What happened since the window began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    /// Sets owned when it began.
    pub owned_at_start: usize,
    /// Owned sets deleted since.
    pub deletes: usize,
    /// Owned sets updated since.
    pub updates: usize,
    /// Unowned sets pruned since.
    pub prunes: usize,
}

/// What a person has approved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Approval {
    /// Nothing.
    #[default]
    None,
    /// The held changes with this hash.
    Held(String),
    /// Whatever is held: the hash of the whole plan was compared before.
    Whole,
}

/// The zone that a plan is for, as far as hashes and limits need to know.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// The zone object's uid, or provider and domain where there is none.
    pub identity: &'a str,
    /// Its domain.
    pub domain: &'a Name,
    /// How far we may go.
    pub rules: &'a Rules,
    /// How much may change at once; none for a zone that lives inside this process.
    pub limits: Option<Limits>,
}

/// Changes that may be applied. Only [`clear`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cleared {
    changes: Vec<Change>,
}

/// A change that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The change.
    pub change: Change,
    /// Why it waits.
    pub why: HeldFor,
}

/// Why a change waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldFor {
    /// Too many deletes in this window.
    TooManyDeletes {
        /// Deletes in the window, this plan included.
        count: usize,
        /// Sets owned at its start.
        of: usize,
    },
    /// Too many updates in this window.
    TooManyUpdates {
        /// Updates in the window, this plan included.
        count: usize,
        /// Sets owned at its start.
        of: usize,
    },
    /// Too many unowned records would be pruned in this window.
    TooManyPrunes {
        /// Prunes in the window, this plan included.
        count: usize,
        /// The cap.
        cap: usize,
    },
    /// The zone's own NS or SOA set.
    ApexAuthority,
    /// No evidence that nobody wants it.
    Orphaned,
    /// A wanted name would be left without records.
    NeverEmpty,
    /// A name by which certificates are issued.
    ProtectedName,
}

/// The guard's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// What may be applied.
    pub cleared: Cleared,
    /// What waits for a person.
    pub held: Vec<Held>,
    /// What the zone only watches.
    pub observed: Vec<Change>,
    /// Identifies the held changes: approving it releases exactly these, once.
    pub hash: String,
    /// Whether an approval released what would have been held.
    pub released_by_approval: bool,
}

// === impl Window ===

impl Window {
    /// Whether a change counts.
    pub fn counts(change: &Change) -> bool {
        is_counted_delete(change) || is_counted_update(change) || change.cause == Cause::Pruned
    }

    /// Adds a change that is made.
    pub fn count(&mut self, change: &Change) {
        self.deletes += usize::from(is_counted_delete(change));
        self.updates += usize::from(is_counted_update(change));
        self.prunes += usize::from(change.cause == Cause::Pruned);
    }

    /// Takes back a change that was counted and not made.
    pub fn uncount(&mut self, change: &Change) {
        self.deletes = self.deletes.saturating_sub(usize::from(is_counted_delete(change)));
        self.updates = self.updates.saturating_sub(usize::from(is_counted_update(change)));
        self.prunes = self.prunes.saturating_sub(usize::from(change.cause == Cause::Pruned));
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self { max_delete_percent: 30, max_update_percent: 100, min_records: 10 }
    }
}

// === impl Cleared ===

impl Cleared {
    /// The changes, in the order in which they are to be applied.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Leaves out what is to go from names that something else comes to: it goes once that is there (law 6).
    pub fn arrivals_first(&mut self) {
        let arriving: BTreeSet<Name> = self
            .changes
            .iter()
            .filter(|change| change.operation != Operation::Delete && !change.is_marker_only())
            .map(|change| change.name.clone())
            .collect();
        self.changes
            .retain(|change| change.operation != Operation::Delete || !arriving.contains(&change.name));
    }

    /// Takes the changes out.
    pub fn into_changes(self) -> Vec<Change> {
        self.changes
    }
}

// === impl HeldFor ===

impl std::fmt::Display for HeldFor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooManyDeletes { count, of } => write_share(formatter, *count, *of, "deleted"),
            Self::TooManyUpdates { count, of } => write_share(formatter, *count, *of, "updated"),
            Self::TooManyPrunes { count, cap } => {
                write!(
                    formatter,
                    "{count} unowned sets would be pruned within the window, over maxDeletes {cap}"
                )
            }
            Self::ApexAuthority => {
                formatter.write_str("NS and SOA of the zone itself change only by approval")
            }
            Self::Orphaned => {
                formatter.write_str("nobody is known to want it, and nobody was seen giving it up")
            }
            Self::NeverEmpty => formatter.write_str("a wanted name would be left without records"),
            Self::ProtectedName => formatter.write_str("certificates are issued by this name"),
        }
    }
}

/// Sets that came within the window can go within it too: then there is no share to speak of.
fn write_share(
    formatter: &mut std::fmt::Formatter<'_>,
    count: usize,
    of: usize,
    verb: &str,
) -> std::fmt::Result {
    if count <= of {
        write!(formatter, "{count} of {of} owned sets would be {verb} within the window")
    } else {
        write!(formatter, "{count} owned sets would be {verb} within the window, which began with {of}")
    }
}

/// Clears a plan.
///
/// Guarantees: every change of the plan is in exactly one of cleared, held and observed, in its old order;
/// the hash depends only on the zone and on what is held, not on the order of input.
pub fn clear(plan: Vec<Change>, subject: &Subject<'_>, window: Window, approval: &Approval) -> Verdict {
    if subject.rules.policy == Policy::Observe {
        let hash = hash(subject.identity, std::iter::empty());
        return Verdict { observed: plan, hash, ..Verdict::default() };
    }
    let excess = subject.limits.map(|limits| Excess::of(&plan, subject.rules, limits, window));
    let (mut cleared, mut held) = (Vec::new(), Vec::new());
    for change in plan {
        let why = excess.as_ref().and_then(|excess| excess.holds(&change, subject.domain));
        match why {
            Some(why) => held.push(Held { change, why }),
            None => cleared.push(change),
        }
    }
    let hash = hash(subject.identity, held.iter().map(|held| &held.change));
    let is_approved = match approval {
        Approval::None => false,
        Approval::Held(approved) => *approved == hash,
        Approval::Whole => true,
    };
    if is_approved && !held.is_empty() {
        cleared.extend(held.drain(..).map(|held| held.change));
        let hash = self::hash(subject.identity, std::iter::empty());
        let cleared = Cleared { changes: cleared };
        return Verdict { cleared, hash, released_by_approval: true, ..Verdict::default() };
    }
    Verdict { cleared: Cleared { changes: cleared }, held, hash, ..Verdict::default() }
}

/// The hash over a whole plan, cleared and held, of all zones, each with its identity.
pub fn whole_hash<'a>(zones: impl IntoIterator<Item = (&'a str, Vec<&'a Change>)>) -> String {
    let mut hashes: Vec<String> =
        zones.into_iter().map(|(identity, changes)| hash(identity, changes.into_iter())).collect();
    hashes.sort();
    short(Sha256::digest(hashes.join("\n").as_bytes()).as_slice())
}

/// Which limits a plan goes past.
struct Excess {
    deletes: Option<HeldFor>,
    updates: Option<HeldFor>,
    prunes: Option<HeldFor>,
}

// === impl Excess ===

impl Excess {
    fn of(plan: &[Change], rules: &Rules, limits: Limits, window: Window) -> Self {
        let count = |counts: fn(&Change) -> bool| plan.iter().filter(|change| counts(change)).count();
        let of = window.owned_at_start;
        let deletes = window.deletes + count(is_counted_delete);
        let updates = window.updates + count(is_counted_update);
        let prunes = window.prunes + count(|change| change.cause == Cause::Pruned);
        // A window can see more changes than there were sets at its start; all of them is no limit.
        let is_past = |count: usize, percent: usize| match of < limits.min_records {
            _ if percent >= 100 => false,
            true => count > 3,
            false => count * 100 > percent * of,
        };
        Self {
            deletes: is_past(deletes, limits.max_delete_percent)
                .then_some(HeldFor::TooManyDeletes { count: deletes, of }),
            updates: is_past(updates, limits.max_update_percent)
                .then_some(HeldFor::TooManyUpdates { count: updates, of }),
            prunes: (prunes > rules.prune.max_deletes)
                .then_some(HeldFor::TooManyPrunes { count: prunes, cap: rules.prune.max_deletes }),
        }
    }

    fn holds(&self, change: &Change, domain: &Name) -> Option<HeldFor> {
        if change.is_marker_only() && !matches!(change.cause, Cause::Orphaned(_)) {
            return None;
        }
        let is_new = change.operation == Operation::Create;
        let leaves_nothing =
            !change.holders.is_empty() && change.after().is_empty() && change.unchanged.is_empty();
        if !is_new && touches_apex_authority(change, domain) {
            return Some(HeldFor::ApexAuthority);
        }
        if leaves_nothing {
            return Some(HeldFor::NeverEmpty);
        }
        match change.cause {
            Cause::Orphaned(_) => Some(HeldFor::Orphaned),
            Cause::Pruned if change.name.labels().any(|label| label == "_acme-challenge") => {
                Some(HeldFor::ProtectedName)
            }
            Cause::Pruned => self.prunes,
            Cause::Wanted | Cause::Drift | Cause::Released(_) if is_counted_delete(change) => self.deletes,
            Cause::Wanted | Cause::Drift | Cause::Released(_) if is_counted_update(change) => self.updates,
            Cause::Wanted | Cause::Drift | Cause::Released(_) => None,
        }
    }
}

/// Whether the guard counts a change as the loss of an owned set.
pub fn is_counted_delete(change: &Change) -> bool {
    change.operation == Operation::Delete
        && matches!(change.cause, Cause::Released(_))
        && !change.is_marker_only()
}

/// Whether the guard counts a change as the update of an owned set.
pub fn is_counted_update(change: &Change) -> bool {
    change.operation == Operation::Update && change.cause != Cause::Pruned && !change.is_marker_only()
}

fn touches_apex_authority(change: &Change, domain: &Name) -> bool {
    let is_authority = |rtype: RecordType| rtype == RecordType::NS || rtype == RecordType::SOA;
    change.name == *domain && change.before().iter().any(|state| is_authority(state.rtype))
}

fn hash<'a>(identity: &str, changes: impl Iterator<Item = &'a Change>) -> String {
    let mut lines: Vec<String> = changes.map(render::hash_line).collect();
    lines.sort();
    let mut digest = Sha256::new();
    digest.update(identity.as_bytes());
    for line in lines {
        digest.update(b"\n");
        digest.update(line.as_bytes());
    }
    short(digest.finalize().as_slice())
}

fn short(digest: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&digest[..8])
}
