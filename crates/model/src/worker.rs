//! What the worker of a zone is told, and what it must not forget.

use std::time::{Duration, Instant};

use zonekeeper_kernel::{
    guard::{Limits, Window},
    marker::Registry,
    zone::Rules,
    zone_change::ZoneWish,
};

/// How a zone is worked on.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What held plans are bound to: the object's uid, or provider and domain.
    pub identity: String,
    /// How ownership is remembered.
    pub registry: Registry,
    /// How far we may go.
    pub rules: Rules,
    /// How much may change at once; none where all that is there lives in this process.
    pub limits: Option<Limits>,
    /// How long the guard adds changes up.
    pub window: Duration,
    /// How long no further delete may come before deletes are judged.
    pub settle: Duration,
    /// Whether all that is there is ours: the zone lives in this process.
    pub is_all_ours: bool,
    /// What is wanted of the zone itself.
    pub wish: ZoneWish,
}

/// What the guard must not forget: it is saved before the changes are sent that it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardRecord {
    /// When the window began.
    pub begun: Instant,
    /// The window as it will be when the changes are made.
    pub window: Window,
    /// The approval that they use up.
    pub used: Option<String>,
}
