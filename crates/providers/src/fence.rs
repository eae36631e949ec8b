//! Whether this process may still send: where several run, only one is the leader, and only for a while.

use std::{fmt::Debug, time::Duration};

/// Asked before every request.
pub trait Fence: Debug + Send + Sync {
    /// For how long a request that is sent now may take; none where nothing may be sent any more.
    fn time_left(&self) -> Option<Duration>;
}

/// For a process that is alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unfenced;

impl Fence for Unfenced {
    fn time_left(&self) -> Option<Duration> {
        Some(Duration::MAX)
    }
}
