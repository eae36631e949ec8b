//! Splits a plan into what is cleared and what a person must approve first.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use sha2::{Digest, Sha256};

use crate::{
    holder::{Holder, HolderRef},
    name::Name,
    plan::{Cause, Change, Operation},
    rdata::RecordType,
    render,
    zone::{Policy, Rules},
    zone_change::{self, ZoneChange, ZoneVerdict},
};

/// What a plan would change: sets of records, and the zone itself.
#[derive(Default)]
pub struct Changes<'a> {
    /// Of sets.
    pub sets: Vec<Change>,
    /// Of the zone itself.
    pub zone: Vec<ZoneChange>,
    /// What must happen before a change of the zone itself, whatever is approved.
    pub blocks: Option<&'a Blocks<'a>>,
}

/// What must happen before a change of the zone itself; none if it may be made.
pub type Blocks<'a> = dyn Fn(&ZoneChange) -> Option<String> + 'a;

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
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    /// Sets owned when it began.
    pub owned_at_start: usize,
    /// Owned sets deleted since.
    pub deletes: usize,
    /// Owned sets updated since.
    pub updates: usize,
    /// Unowned sets pruned since.
    pub prunes: usize,
    /// Sets created since, and still there: they do not count if they go before the window ends.
    pub born: Arc<BTreeSet<(Name, RecordType)>>,
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
    /// No evidence that its object gave it up.
    Orphaned,
    /// Another object wants its place, and can't be served yet.
    Needed,
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
    /// Deletes that are too recent to be judged: more of the same accident may follow.
    pub settling: Vec<Change>,
    /// Identifies the held changes: approving it releases exactly these, once.
    pub hash: String,
    /// Whether an approval released what would have been held.
    pub released_by_approval: bool,
    /// The sets that would be held without it.
    pub released: BTreeSet<(Name, RecordType)>,
    /// The same for changes of the zone itself.
    pub zone: ZoneVerdict,
}

// === impl Changes ===

impl From<Vec<Change>> for Changes<'_> {
    fn from(sets: Vec<Change>) -> Self {
        Self { sets, ..Self::default() }
    }
}

// === impl Window ===

impl Window {
    /// Whether a change can count.
    pub fn counts(change: &Change) -> bool {
        is_counted_delete(change) || is_counted_update(change) || change.cause == Cause::Pruned
    }

    /// Whether a change is the loss of a set that was owned when the window began.
    pub fn is_loss(&self, change: &Change) -> bool {
        is_counted_delete(change) && !self.born.contains(&(change.name.clone(), change.rtype))
    }

    /// Adds a change that is made.
    pub fn count(&mut self, change: &Change) {
        self.deletes += usize::from(self.is_loss(change));
        self.updates += usize::from(is_counted_update(change));
        self.prunes += usize::from(change.cause == Cause::Pruned);
    }

    /// Takes back a change that was counted and not made.
    pub fn uncount(&mut self, change: &Change) {
        self.deletes = self.deletes.saturating_sub(usize::from(self.is_loss(change)));
        self.updates = self.updates.saturating_sub(usize::from(is_counted_update(change)));
        self.prunes = self.prunes.saturating_sub(usize::from(change.cause == Cause::Pruned));
    }

    /// Notes which sets came, went or changed their type by a change that was made. A set that is only restored was
    /// there before.
    pub fn note(&mut self, change: &Change) {
        let place = |rtype: RecordType| (change.name.clone(), rtype);
        match (change.operation, &change.cause) {
            (Operation::Create, Cause::Wanted) => {
                Arc::make_mut(&mut self.born).insert(place(change.rtype));
            }
            (Operation::Delete, _) if self.born.contains(&place(change.rtype)) => {
                Arc::make_mut(&mut self.born).remove(&place(change.rtype));
            }
            (Operation::Update, _) if !self.born.is_empty() => {
                let before: Vec<RecordType> = change.before().iter().map(|state| state.rtype).collect();
                let after: Vec<RecordType> = change.after().iter().map(|state| state.rtype).collect();
                let is_newborn =
                    !before.is_empty() && before.iter().all(|rtype| self.born.contains(&place(*rtype)));
                if is_newborn && before != after {
                    let born = Arc::make_mut(&mut self.born);
                    born.retain(|at| !before.iter().any(|rtype| *at == place(*rtype)));
                    born.extend(after.into_iter().map(place));
                }
            }
            (Operation::Create | Operation::Delete | Operation::Update, _) => {}
        }
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

    /// Takes out the changes that are to wait.
    pub fn take_out(&mut self, waits: &mut dyn FnMut(&Change) -> bool) -> Vec<Change> {
        let (out, kept) = std::mem::take(&mut self.changes).into_iter().partition(|change| waits(change));
        self.changes = kept;
        out
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

    /// Has namespaces take turns, among changes that may come in any order: where not all are sent at once, the many
    /// of one do not keep the few of another waiting.
    pub fn take_turns(&mut self) {
        let mut turns: BTreeMap<(bool, u8, Box<str>), usize> = BTreeMap::new();
        let mut changes: Vec<((bool, u8, usize), Change)> = Vec::with_capacity(self.changes.len());
        for change in std::mem::take(&mut self.changes) {
            let (is_delete, rank) = change.stage();
            let wanting = change.holders.first().map(Holder::namespace);
            let namespace = wanting.or_else(|| namespace(&change)).unwrap_or_default();
            let turn = turns.entry((is_delete, rank, namespace.into())).or_default();
            *turn += 1;
            changes.push(((is_delete, rank, *turn), change));
        }
        // Stable: changes of one namespace keep their order.
        changes.sort_by_key(|(turn, _)| *turn);
        self.changes = changes.into_iter().map(|(_, change)| change).collect();
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
                formatter.write_str("no object claims this record, and no deletion of its owner was seen")
            }
            Self::Needed => formatter.write_str(
                "another object asks for this name and can't be served yet; until then this record answers for it",
            ),
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
pub fn clear<'a>(
    plan: impl Into<Changes<'a>>,
    subject: &Subject<'_>,
    window: Window,
    approval: &Approval,
) -> Verdict {
    let Changes { sets: plan, zone, blocks } = plan.into();
    let mut zone = zone_change::clear(zone, subject.rules.policy, blocks.unwrap_or(&|_| None));
    if subject.rules.policy == Policy::Observe && !crate::mutant::is_on("guard: watched is written") {
        let hash = hash(subject.identity, []);
        return Verdict { observed: plan, hash, zone, ..Verdict::default() };
    }
    let excess = subject.limits.map(|limits| Excess::of(&plan, subject.rules, limits, &window));
    let why: Vec<Option<HeldFor>> = plan
        .iter()
        .map(|change| excess.as_ref().and_then(|excess| excess.holds(change, subject.domain)))
        .collect();
    let (mut cleared, mut held) = (Vec::new(), Vec::new());
    for (change, why) in plan.into_iter().zip(why) {
        match why {
            Some(why) => held.push(Held { change, why }),
            None => cleared.push(change),
        }
    }
    let lines = held.iter().map(|held| render::hash_line(&held.change)).chain(zone.held_lines());
    let hash = hash(subject.identity, lines);
    let is_approved = match approval {
        Approval::None => false,
        Approval::Held(approved) => *approved == hash || crate::mutant::is_on("guard: any hash approves"),
        Approval::Whole => true,
    };
    if is_approved && (!held.is_empty() || zone.held_lines().next().is_some()) {
        zone.release();
        let released = held.iter().map(|held| (held.change.name.clone(), held.change.rtype)).collect();
        cleared.extend(held.drain(..).map(|held| held.change));
        let hash = self::hash(subject.identity, []);
        let cleared = Cleared { changes: cleared };
        return Verdict { cleared, hash, released_by_approval: true, released, zone, ..Verdict::default() };
    }
    Verdict { cleared: Cleared { changes: cleared }, held, hash, zone, ..Verdict::default() }
}

/// The hash over a whole plan, cleared and held, of all zones: each with its identity, and a line per change.
pub fn whole_hash<'a>(zones: impl IntoIterator<Item = (&'a str, Vec<String>)>) -> String {
    let mut hashes: Vec<String> = zones.into_iter().map(|(identity, lines)| hash(identity, lines)).collect();
    hashes.sort();
    short(Sha256::digest(hashes.join("\n").as_bytes()).as_slice())
}

/// Which limits a plan goes past.
struct Excess<'a> {
    window: &'a Window,
    deletes: Option<HeldFor>,
    /// The namespaces whose deletes go all the same.
    spared: BTreeSet<Option<&'a str>>,
    updates: Option<HeldFor>,
    prunes: Option<HeldFor>,
}

// === impl Excess ===

impl<'a> Excess<'a> {
    fn of(plan: &'a [Change], rules: &Rules, limits: Limits, window: &'a Window) -> Self {
        let of = window.owned_at_start;
        let deletes = window.deletes + plan.iter().filter(|change| window.is_loss(change)).count();
        let updates = window.updates + plan.iter().filter(|change| is_counted_update(change)).count();
        let prunes = window.prunes + plan.iter().filter(|change| change.cause == Cause::Pruned).count();
        // A window can see more changes than there were sets at its start; all of them is no limit.
        let is_past = |count: usize, percent: usize| match of < limits.min_records {
            _ if percent >= 100 => false,
            true => count > 3 + usize::from(crate::mutant::is_on("guard: one more")),
            false => count * 100 > percent * of,
        };
        let has_too_many = is_past(deletes, limits.max_delete_percent);
        Self {
            deletes: has_too_many.then_some(HeldFor::TooManyDeletes { count: deletes, of }),
            spared: match has_too_many {
                true => spared(plan, window, |count| is_past(count, limits.max_delete_percent)),
                false => BTreeSet::new(),
            },
            updates: is_past(updates, limits.max_update_percent)
                .then_some(HeldFor::TooManyUpdates { count: updates, of }),
            prunes: (prunes > rules.prune.max_deletes)
                .then_some(HeldFor::TooManyPrunes { count: prunes, cap: rules.prune.max_deletes }),
            window,
        }
    }

    fn holds(&self, change: &Change, domain: &Name) -> Option<HeldFor> {
        if change.is_marker_only() && !matches!(change.cause, Cause::Orphaned(_)) {
            return None;
        }
        let is_new = change.operation == Operation::Create;
        let leaves_nothing =
            !change.holders.is_empty() && change.after().is_empty() && change.unchanged.is_empty();
        if !is_new
            && touches_apex_authority(change, domain)
            && !crate::mutant::is_on("guard: name servers go")
        {
            return Some(HeldFor::ApexAuthority);
        }
        if leaves_nothing {
            return Some(HeldFor::NeverEmpty);
        }
        match change.cause {
            Cause::Orphaned(_) if crate::mutant::is_on("guard: orphans go") => None,
            Cause::Orphaned(_) => Some(HeldFor::Orphaned),
            Cause::Needed(_) => Some(HeldFor::Needed),
            Cause::Pruned if change.name.labels().any(|label| label == "_acme-challenge") => {
                Some(HeldFor::ProtectedName)
            }
            Cause::Pruned => self.prunes.filter(|_| !crate::mutant::is_on("guard: prunes without a cap")),
            Cause::Wanted | Cause::Drift | Cause::Released(_) if self.window.is_loss(change) => {
                self.deletes.filter(|_| !self.spared.contains(&namespace(change)))
            }
            Cause::Wanted | Cause::Drift | Cause::Released(_) if is_counted_update(change) => self.updates,
            Cause::Wanted | Cause::Drift | Cause::Released(_) => None,
        }
    }
}

/// The namespaces whose deletes the limit allows, those with the fewest first: the mass delete of one namespace
/// does not hold the single delete of another.
fn spared<'a>(
    plan: &'a [Change],
    window: &Window,
    is_past: impl Fn(usize) -> bool,
) -> BTreeSet<Option<&'a str>> {
    let mut counts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for change in plan.iter().filter(|change| window.is_loss(change)) {
        *counts.entry(namespace(change)).or_default() += 1;
    }
    let mut namespaces: Vec<(Option<&str>, usize)> = counts.into_iter().collect();
    namespaces.sort_by_key(|(namespace, count)| (namespace.is_none(), *count, *namespace));
    let mut total = window.deletes;
    let fits = |(_, count): &(Option<&str>, usize)| {
        total += count;
        !is_past(total)
    };
    namespaces.into_iter().take_while(fits).map(|(namespace, _)| namespace).collect()
}

/// The namespace that gives a set up; none if its marker does not name one.
fn namespace(change: &Change) -> Option<&str> {
    match &change.cause {
        Cause::Released(HolderRef::Full(holder)) => {
            Some(Holder::namespace(holder)).filter(|namespace| !namespace.is_empty())
        }
        Cause::Released(HolderRef::Hash(_) | HolderRef::Unnamed)
        | Cause::Wanted
        | Cause::Drift
        | Cause::Orphaned(_)
        | Cause::Needed(_)
        | Cause::Pruned => None,
    }
}

/// Whether a delete is judged together with those that come shortly before and after it.
pub fn settles(change: &Change) -> bool {
    change.operation == Operation::Delete
        && matches!(change.cause, Cause::Released(_) | Cause::Pruned)
        && !change.is_marker_only()
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

fn hash(identity: &str, lines: impl IntoIterator<Item = String>) -> String {
    let mut lines: Vec<String> = lines.into_iter().collect();
    lines.sort();
    let mut digest = Sha256::new();
    digest.update(if crate::mutant::is_on("guard: hash without identity") {
        b""
    } else {
        identity.as_bytes()
    });
    for line in lines {
        digest.update(b"\n");
        digest.update(line.as_bytes());
    }
    short(digest.finalize().as_slice())
}

fn short(digest: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&digest[..8])
}
