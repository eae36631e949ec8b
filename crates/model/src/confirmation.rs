//! What is known of holders whose records no object asks for, and what fresh reads confirmed of it (law 5).

use std::collections::BTreeMap;

use zonekeeper_kernel::{
    plan::{Evidence, Fate},
    zone::ZoneKey,
};

use crate::holders::{About, Answer};

/// What is known of the holders of some records, to be confirmed by fresh reads.
pub struct ConfirmRequest {
    pub zone: ZoneKey,
    /// The pass that needs it.
    pub pass: u64,
    pub about: Vec<About>,
    pub answer: Answer,
}

/// What became of it.
pub struct Confirmation {
    pub zone: ZoneKey,
    pub pass: u64,
    pub confirmed: Confirmed,
    /// Whether the definition of RecordSets stays, where that was asked.
    pub is_staying: Option<bool>,
}

/// Records whose holders were asked about, and what becomes of each; none where that is for a person to say.
#[derive(Debug, Clone, Default)]
pub struct Confirmed {
    fates: BTreeMap<About, Option<Fate>>,
}

// === impl Confirmed ===

impl Confirmed {
    /// What became of these records' holders.
    pub fn new(fates: impl IntoIterator<Item = (About, Option<Fate>)>) -> Self {
        Self { fates: fates.into_iter().collect() }
    }

    /// Whether the holders of all these records were asked about.
    pub fn covers(&self, about: &[About]) -> bool {
        about.iter().all(|about| self.fates.contains_key(about))
    }

    /// What is known of the holders of these records.
    pub fn evidence(&self, about: &[About]) -> Evidence {
        let fates = about.iter().filter_map(|about| {
            let fate = (*self.fates.get(about)?)?;
            Some((about.name.clone(), about.rtype, about.holder.clone(), fate))
        });
        Evidence::seen(fates)
    }
}
