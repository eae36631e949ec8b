//! How a simulator starts, and what each plan allows.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::knobs::{Knobs, RecordQuota};

#[derive(Clone, Debug)]
pub struct Config {
    /// Port 0 takes a free port.
    pub listen: SocketAddr,
    /// Requests that one token may make per window; `u32::MAX` turns the limit off.
    pub rate_limit: u32,
    /// The sliding window, and how long a token stays blocked after exceeding it.
    pub rate_window: Duration,
    /// Makes ids and tokens reproducible.
    pub seed: u64,
    /// Where the journal is also appended, as JSON lines.
    pub journal_file: Option<PathBuf>,
    /// How many of the latest entries stay in memory.
    pub journal_capacity: usize,
    pub knobs: Knobs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    #[default]
    Free,
    Pro,
    Business,
    Enterprise,
}

/// What a plan allows; one row per plan.
#[derive(Debug)]
pub struct Limits {
    pub plan: Plan,
    pub id: &'static str,
    pub name: &'static str,
    pub records: usize,
    pub batch: usize,
    pub comment: usize,
    pub tags: usize,
    pub min_ttl: u32,
}

const LIMITS: [Limits; 4] = [
    Limits {
        plan: Plan::Free,
        id: "0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
        name: "Free Website",
        records: 200,
        batch: 200,
        comment: 100,
        tags: 0,
        min_ttl: 60,
    },
    Limits {
        plan: Plan::Pro,
        id: "1feeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
        name: "Pro Website",
        records: 3_500,
        batch: 3_500,
        comment: 500,
        tags: 20,
        min_ttl: 60,
    },
    Limits {
        plan: Plan::Business,
        id: "2feeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
        name: "Business Website",
        records: 3_500,
        batch: 3_500,
        comment: 500,
        tags: 20,
        min_ttl: 60,
    },
    Limits {
        plan: Plan::Enterprise,
        id: "94f3b7b768b0458b56d2cac4fe5ec0f9",
        name: "Enterprise Website",
        records: 1_000_000,
        batch: 3_500,
        comment: 500,
        tags: 20,
        min_ttl: 30,
    },
];

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            rate_limit: 1_200,
            rate_window: Duration::from_secs(300),
            seed: 1,
            journal_file: None,
            journal_capacity: usize::MAX,
            knobs: Knobs::default(),
        }
    }
}

impl Config {
    /// For tests of anything but the rate limit.
    pub fn unlimited() -> Self {
        Self { rate_limit: u32::MAX, ..Self::default() }
    }
}

// === impl Plan ===

impl Plan {
    pub fn limits(self) -> &'static Limits {
        match self {
            Self::Free => &LIMITS[0],
            Self::Pro => &LIMITS[1],
            Self::Business => &LIMITS[2],
            Self::Enterprise => &LIMITS[3],
        }
    }

    /// The plan's name in `plan.legacy_id`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Pro => "pro",
            Self::Business => "business",
            Self::Enterprise => "enterprise",
        }
    }

    /// How many records a zone on this plan may hold.
    pub fn quota(self, knob: RecordQuota) -> usize {
        match knob {
            RecordQuota::ByPlan => self.limits().records,
            RecordQuota::Off => usize::MAX,
            RecordQuota::Fixed(records) => records,
        }
    }
}

impl std::str::FromStr for Plan {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        LIMITS
            .iter()
            .map(|limits| limits.plan)
            .find(|plan| plan.word() == text)
            .ok_or_else(|| anyhow::anyhow!("no plan {text}: free, pro, business or enterprise"))
    }
}
