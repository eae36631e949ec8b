//! A change: what happens to one set, as edits of single records in a safe order.

use std::collections::BTreeSet;

use crate::{
    attribute::Attributes,
    holder::{Holder, HolderRef},
    marker::comment,
    name::Name,
    rdata::{Rdata, RecordType},
    record::{LiveRecord, Record, Ttl},
};

/// What a change does to its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// The set is new.
    Create,
    /// The set, or its type, value or marker changes.
    Update,
    /// The set goes.
    Delete,
}

/// Why a change is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// An object wants it.
    Wanted,
    /// What was applied was changed from outside.
    Drift,
    /// No object wants it any more, and there is evidence.
    Released(HolderRef),
    /// No object is known to want it; only a person can say that it may go.
    Orphaned(HolderRef),
    /// No object wants it any more, and another one that wants its place can't be served yet: only a person can say that
    /// it may go before that.
    Needed(HolderRef),
    /// It is not ours, and the zone removes what is not.
    Pruned,
}

/// Whether a record is data or an ownership marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// What users ask for.
    Data,
    /// A TXT record that claims data.
    Marker,
}

/// One write of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// A new record.
    Create {
        /// The record.
        record: Record,
        /// Data or marker.
        role: Role,
    },
    /// A record changed in place.
    Update {
        /// What it was.
        before: LiveRecord,
        /// What it becomes; always under the same name.
        after: Record,
        /// Data or marker.
        role: Role,
    },
    /// A record removed.
    Delete {
        /// Its name.
        name: Name,
        /// What it was.
        before: LiveRecord,
        /// Data or marker.
        role: Role,
    },
}

/// What happens to one set. Its edits belong together: a provider applies all or none where it can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it does.
    pub operation: Operation,
    /// The set's name.
    pub name: Name,
    /// The set's type; the new one where it changes.
    pub rtype: RecordType,
    /// The single writes, in an order of which every prefix is safe.
    pub edits: Vec<Edit>,
    /// Values of the set that stay as they are.
    pub unchanged: Vec<Rdata>,
    /// Markers that say that the set is ours, and stay as they are: without them it is not ours to change.
    pub claims: Vec<(Name, Rdata)>,
    /// Why.
    pub cause: Cause,
    /// Who wants the set after the change.
    pub holders: Vec<Holder>,
}

/// A set as people read it, before or after a change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetState {
    /// Its type.
    pub rtype: RecordType,
    /// Its TTL.
    pub ttl: Ttl,
    /// Its attributes.
    pub attributes: Attributes,
    /// Its values, sorted.
    pub values: Vec<Rdata>,
    /// What people wrote in the comments of its records, without our markers; different texts are joined. None where no
    /// record of this side is written.
    pub comment: Option<Box<str>>,
}

// === impl Operation ===

impl Operation {
    /// Its word in plans, hashes and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Update => "Update",
            Self::Delete => "Delete",
        }
    }
}

// === impl Edit ===

impl Edit {
    /// The name it writes to.
    pub fn name(&self) -> &Name {
        match self {
            Self::Create { record, .. } => &record.name,
            Self::Update { after, .. } => &after.name,
            Self::Delete { name, .. } => name,
        }
    }

    /// Data or marker.
    pub fn role(&self) -> Role {
        match self {
            Self::Create { role, .. } | Self::Update { role, .. } | Self::Delete { role, .. } => *role,
        }
    }

    /// The record as it was, for edits that change one.
    pub fn before(&self) -> Option<&LiveRecord> {
        match self {
            Self::Create { .. } => None,
            Self::Update { before, .. } | Self::Delete { before, .. } => Some(before),
        }
    }

    /// The record as it becomes, for edits that leave one.
    pub fn after(&self) -> Option<&Record> {
        match self {
            Self::Create { record, .. } => Some(record),
            Self::Update { after, .. } => Some(after),
            Self::Delete { .. } => None,
        }
    }

    /// Whether the text that people wrote in a comment changes.
    fn changes_comment(&self) -> bool {
        match self {
            Self::Update { before, after, role: Role::Data } => text(&before.comment) != text(&after.comment),
            Self::Update { role: Role::Marker, .. } | Self::Create { .. } | Self::Delete { .. } => false,
        }
    }

    /// Whether a record that carried a marker loses it: it is left behind.
    pub fn disclaims(&self) -> bool {
        match self {
            Self::Update { before, after, role: Role::Data } => {
                comment::split(&before.comment).marker.is_some()
                    && comment::split(&after.comment).marker.is_none()
            }
            Self::Update { role: Role::Marker, .. } | Self::Create { .. } | Self::Delete { .. } => false,
        }
    }

    /// Whether a record that carried no marker gets one.
    fn claims(&self) -> bool {
        match self {
            Self::Create { role, .. } => *role == Role::Marker,
            Self::Update { before, after, role: Role::Data } => {
                comment::split(&before.comment).marker.is_none()
                    && comment::split(&after.comment).marker.is_some()
            }
            Self::Update { role: Role::Marker, .. } | Self::Delete { .. } => false,
        }
    }

    /// Whether nothing but a marker or a comment changes: the claim, not the answer.
    pub fn is_marker_only(&self) -> bool {
        match self {
            Self::Update { before, after, role: Role::Data } => {
                before.rdata == after.rdata
                    && before.ttl == after.ttl
                    && before.attributes == after.attributes
            }
            Self::Create { role, .. } | Self::Update { role, .. } | Self::Delete { role, .. } => {
                *role == Role::Marker
            }
        }
    }
}

// === impl Change ===

impl Change {
    /// Whether only markers and comments are written; such a change never counts against a limit.
    pub fn is_marker_only(&self) -> bool {
        self.edits.iter().all(Edit::is_marker_only)
    }

    /// Whether the text that people wrote in a comment changes.
    pub fn changes_comment(&self) -> bool {
        self.edits.iter().any(Edit::changes_comment)
    }

    /// Whether records that were already there, and that nothing else changes, become ours.
    pub fn is_adoption(&self) -> bool {
        self.cause == Cause::Wanted && self.is_marker_only() && self.edits.iter().any(Edit::claims)
    }

    /// The sets before the change; none for a new one.
    pub fn before(&self) -> Vec<SetState> {
        let records = self.data().filter_map(|edit| edit.before());
        let looks = records.map(|record| (&record.rdata, record.ttl, &record.attributes, &*record.comment));
        self.states(looks)
    }

    /// The sets after the change; none where it goes.
    pub fn after(&self) -> Vec<SetState> {
        let records = self.data().filter_map(|edit| edit.after());
        let looks = records.map(|record| (&record.rdata, record.ttl, &record.attributes, &*record.comment));
        self.states(looks)
    }

    /// Creates and updates come first, so that nothing is missing on the way; delegations before what
    /// secures them, addresses before what points to them.
    pub(super) fn order(&self) -> (bool, u8, &Name, RecordType) {
        let (is_delete, rank) = self.stage();
        (is_delete, rank, &self.name, self.rtype)
    }

    /// What must not come before anything of an earlier stage.
    pub(crate) fn stage(&self) -> (bool, u8) {
        let rank = match self.rtype {
            RecordType::NS => 0,
            RecordType::A | RecordType::AAAA => 1,
            RecordType::DS => 3,
            _other => 2,
        };
        let is_delete = self.operation == Operation::Delete;
        (is_delete, if is_delete { 3 - rank } else { rank })
    }

    fn look_of(&self, rtype: RecordType) -> Option<(Ttl, Attributes)> {
        self.data().find_map(|edit| match (edit.before(), edit.after()) {
            (Some(before), _) if before.rdata.rtype() == rtype => {
                Some((before.ttl, before.attributes.clone()))
            }
            (_, Some(after)) if after.rdata.rtype() == rtype => Some((after.ttl, after.attributes.clone())),
            (_, _) => None,
        })
    }

    fn data(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter().filter(|edit| edit.role() == Role::Data)
    }

    fn states<'a>(
        &self,
        records: impl Iterator<Item = (&'a Rdata, Ttl, &'a Attributes, &'a str)>,
    ) -> Vec<SetState> {
        let mut states: Vec<(SetState, BTreeSet<&str>)> = Vec::new();
        for (rdata, ttl, attributes, comment) in records {
            let at = match states.iter().position(|(state, _)| state.rtype == rdata.rtype()) {
                Some(at) => at,
                None => {
                    states.push((SetState::new(rdata.rtype(), ttl, attributes.clone()), BTreeSet::new()));
                    states.len() - 1
                }
            };
            states[at].0.values.push(rdata.clone());
            states[at].1.insert(text(comment));
        }
        let joined = |(mut state, mut texts): (SetState, BTreeSet<&str>)| {
            texts.remove("");
            state.comment = Some(texts.into_iter().collect::<Vec<_>>().join(", ").into());
            state
        };
        let mut states: Vec<SetState> = states.into_iter().map(joined).collect();
        for rdata in &self.unchanged {
            // All edits lie on the other side of the change: that side knows TTL and attributes.
            if !states.iter().any(|state| state.rtype == rdata.rtype())
                && let Some((ttl, attributes)) = self.look_of(rdata.rtype())
            {
                states.push(SetState::new(rdata.rtype(), ttl, attributes));
            }
        }
        for state in &mut states {
            state.values.extend(self.unchanged.iter().filter(|rdata| rdata.rtype() == state.rtype).cloned());
            state.values.sort();
        }
        states.sort();
        states
    }
}

// === impl SetState ===

impl SetState {
    fn new(rtype: RecordType, ttl: Ttl, attributes: Attributes) -> Self {
        Self { rtype, ttl, attributes, values: Vec::new(), comment: None }
    }
}

/// What people wrote in a comment.
fn text(comment: &str) -> &str {
    comment::split(comment).text
}
