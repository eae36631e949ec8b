//! How long requests to a provider take, for metrics.

use std::{fmt::Debug, time::Duration};

/// Told of every request.
pub trait Meter: Debug + Send + Sync {
    /// A request was answered, or was not.
    fn request(&self, method: &'static str, outcome: Outcome, took: Duration);
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As asked.
    Success,
    /// The provider said no.
    Refused,
    /// The provider asked us to wait.
    RateLimited,
    /// No answer, or none that tells what happened.
    Lost,
}

/// For a process without metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unmetered;

impl Meter for Unmetered {
    fn request(&self, _: &'static str, _: Outcome, _: Duration) {}
}

// === impl Outcome ===

impl Outcome {
    /// The word in a metric's label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Refused => "refused",
            Self::RateLimited => "rate_limited",
            Self::Lost => "lost",
        }
    }
}
