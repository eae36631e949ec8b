//! What an Event says of an object.

use k8s_openapi::api::core::v1::ObjectReference;
use zonekeeper_api::Reason;

use crate::conditions::Verdict;

const LONGEST_NOTE: usize = 1_000;

/// What is to be told of an object.
pub struct ObjectEvent {
    pub object: ObjectReference,
    pub is_normal: bool,
    pub reason: Reason,
    pub note: String,
}

// === impl ObjectEvent ===

impl ObjectEvent {
    /// Something of an object.
    pub fn new(object: ObjectReference, reason: Reason, message: &str, is_normal: bool) -> Self {
        Self { object, is_normal, reason, note: message.chars().take(LONGEST_NOTE).collect() }
    }

    /// The state of an object.
    pub fn of_state(object: ObjectReference, verdict: &Verdict) -> Self {
        let is_normal =
            verdict.is_ready() || (verdict.is_reconciling() && verdict.reason != Reason::ProviderUnavailable);
        Self::new(object, verdict.reason, &verdict.message, is_normal)
    }
}
