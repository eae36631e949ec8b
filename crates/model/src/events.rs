//! What an Event says of an object.

use k8s_openapi::api::core::v1::ObjectReference;
use zonekeeper_api::{AppliedOperation, Reason};

use crate::conditions::Verdict;

const LONGEST_NOTE: usize = 1_000;

/// What was done about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Reconcile,
    Create,
    Update,
    Delete,
    Adopt,
}

/// What is to be told of an object.
pub struct ObjectEvent {
    pub object: ObjectReference,
    pub is_normal: bool,
    pub reason: Reason,
    pub action: Action,
    pub note: String,
}

// === impl Action ===

impl Action {
    /// What was done by a change.
    pub fn of(operation: AppliedOperation) -> Self {
        match operation {
            AppliedOperation::Create => Self::Create,
            AppliedOperation::Update => Self::Update,
            AppliedOperation::Delete => Self::Delete,
            AppliedOperation::Adopt => Self::Adopt,
        }
    }

    /// Its word in an Event.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reconcile => "Reconcile",
            Self::Create => "Create",
            Self::Update => "Update",
            Self::Delete => "Delete",
            Self::Adopt => "Adopt",
        }
    }
}

// === impl ObjectEvent ===

impl ObjectEvent {
    /// Something of an object.
    pub fn new(object: ObjectReference, reason: Reason, message: &str, is_normal: bool) -> Self {
        let note = message.chars().take(LONGEST_NOTE).collect();
        Self { object, is_normal, reason, action: Action::Reconcile, note }
    }

    /// The same, with what was done.
    pub fn by(self, action: Action) -> Self {
        Self { action, ..self }
    }

    /// The state of an object.
    pub fn of_state(object: ObjectReference, verdict: &Verdict) -> Self {
        let is_normal = verdict.is_ready()
            || verdict.reason == Reason::Observed
            || (verdict.is_reconciling() && verdict.reason != Reason::ProviderUnavailable);
        Self::new(object, verdict.reason, &verdict.message, is_normal)
    }
}
