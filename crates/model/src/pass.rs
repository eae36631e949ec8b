//! A pass over one zone: what it is asked for, and what it reports.

use std::{collections::BTreeSet, sync::Arc};

use zonekeeper_api::{PlanStatus, WrittenRecord};
use zonekeeper_kernel::provider::ProviderError;
use zonekeeper_kernel::{
    guard::Approval,
    holder::Holder,
    name::Name,
    plan::{Change, Counts, Orphan},
    rdata::{Rdata, RecordType},
    record::Ttl,
    resolve::Intent,
    zone::{SourcesKey, Zone},
    zone_change::{Fields, ZoneChange},
    zone_state::{ParentDs, ZoneState},
};

use crate::{Key, conditions::Verdict, confirmation::Confirmed, holders::About, worker::GuardRecord};

/// What a pass is asked for.
pub struct PassRequest {
    pub zone: Zone,
    pub wishes: Vec<(Name, Arc<Intent>)>,
    /// Sets of which some values belong to objects that can't be served now.
    pub reserved: Vec<Reserved>,
    /// Only these names; none for all.
    pub names: Option<BTreeSet<Name>>,
    /// Who may hold something at a name, and wishes it no more.
    pub departing: Vec<(Name, Key)>,
    /// Objects whose wishes were applied before this process began.
    pub settled: BTreeSet<Holder>,
    pub approval: Approval,
    /// Why nothing may be written, where that is so.
    pub read_only: Option<Verdict>,
    /// What is known of holders that ask for their records no more.
    pub confirmed: Arc<Confirmed>,
    /// What the guard must not forget, as far as the zone's status has it.
    pub saved: Option<GuardRecord>,
    /// Whether the zone is read again, to see what has changed.
    pub scans: bool,
    /// Whether the parent zone vouches for the keys of the zone.
    pub parent_ds: ParentDs,
    /// Whether deletes settle anew: nothing was looked at for a while.
    pub settles_anew: bool,
    /// Objects that were let go while their records stayed, as the guard's memory lists them.
    pub released: Vec<String>,
    /// What objects that are going leave behind.
    pub retained: Vec<Retained>,
}

/// A set of which an object that is going leaves its values behind (`deletionPolicy: Retain`).
#[derive(Debug, Clone)]
pub struct Retained {
    pub name: Name,
    pub rtype: RecordType,
    pub values: BTreeSet<Rdata>,
    pub object: Key,
}

/// How a pass ended.
pub enum PassResult {
    Done(Box<ZonePass>),
    /// It is to be repeated with what it needs; until then it has made these changes.
    Interrupted {
        applied: Vec<Applied>,
        needs: Needs,
    },
}

/// What a pass needs to go on.
pub enum Needs {
    /// What is known of the holders of these records.
    Holders(Vec<About>),
    /// The guard's memory in the status of the zone.
    Saved(GuardRecord),
}

/// A set that an object of this namespace asks for and can't have now.
#[derive(Debug, Clone)]
pub struct Reserved {
    pub name: Name,
    pub rtype: RecordType,
    pub namespace: String,
}

/// What a pass found and did.
pub struct ZonePass {
    /// What became of every wish that was looked at.
    pub states: Vec<IntentState>,
    /// What became of what objects wish no more.
    pub left: Vec<Left>,
    /// All of it, where the whole zone was looked at.
    pub survey: Option<Survey>,
    /// Changes that were made.
    pub applied: Vec<Applied>,
    /// Names that were looked at.
    pub names: Option<BTreeSet<Name>>,
    /// Whether something waits for a person.
    pub has_held: bool,
    pub retry: Option<std::time::Duration>,
    pub failure: Option<ProviderError>,
    /// Names whose comment had to be cut.
    pub cut_comments: Vec<(Name, RecordType)>,
    /// Changes of the zone itself that were made.
    pub zone_applied: Vec<ZoneChange>,
    /// Whether the zone itself is gone.
    pub is_zone_gone: bool,
}

/// A change that was made.
#[derive(Debug, Clone)]
pub struct Applied {
    pub change: Change,
    /// Whether a person had to approve it.
    pub is_approved: bool,
}

/// The state of a whole zone.
pub struct Survey {
    pub counts: Counts,
    pub outstanding: Outstanding,
    pub orphans: Vec<Orphan>,
    pub drift: Option<String>,
    pub shows_our_id: bool,
    /// How many calls it takes to list the zone.
    pub calls_to_list: usize,
    /// How source objects were read.
    pub sources: Option<SourcesKey>,
    /// Whether records of source objects are left that we published, and that no object speaks for.
    pub has_unread_names: bool,
    /// Why nothing was written, where that is so.
    pub read_only: Option<Verdict>,
    /// Objects that were let go, and of which no record is left.
    pub gone: BTreeSet<String>,
    /// The zone itself.
    pub zone: ZoneSurvey,
}

/// The state of the zone itself.
#[derive(Debug, Default)]
pub struct ZoneSurvey {
    /// Where it stands, if that could be read.
    pub state: Option<ZoneState>,
    /// The values that managed fields had when they were first read.
    pub initial: Fields,
    /// Why it is not as it is wanted.
    pub trouble: Option<Verdict>,
}

/// What became of one object's wish at one name.
pub struct IntentState {
    pub intent: Arc<Intent>,
    pub name: Name,
    pub verdict: Verdict,
    /// What is written there for the object.
    pub records: Vec<WrittenRecord>,
    /// What was changed from outside: reported, or undone.
    pub drift: Option<Drifted>,
    /// The TTL that it gets there, where that is known.
    pub ttl: Option<Ttl>,
    pub has_written: bool,
}

/// A change from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drifted {
    Reported(String),
    Reverted(String),
}

/// An object that wishes something no more, and why it holds it still; nothing where it does not.
pub struct Left {
    pub object: Key,
    pub name: Name,
    pub why: Option<Verdict>,
}

/// Changes that were not carried out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outstanding {
    pub plan: PlanStatus,
    /// Why the first held change waits.
    pub held: Option<String>,
}
