//! A zone that loses replies, is cut off in the middle and is written to by others.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use zonekeeper_kernel::{
    guard::Cleared,
    name::Name,
    record::{LiveRecord, RecordId},
};
use zonekeeper_providers::{
    Calls, Effect, Outcome, Progress, ProviderError, ZoneAccess, ZoneTraits, cloudflare,
};

/// A zone in memory with no manners.
#[derive(Debug)]
pub struct Server {
    traits: ZoneTraits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub struct State {
    pub records: Vec<(Name, LiveRecord)>,
    /// How many of the next calls are carried out without an answer.
    pub lost_replies: usize,
    /// How many more edits are carried out before the line is cut; none: all.
    pub edits_left: Option<usize>,
    /// How many calls to write came.
    pub writes: usize,
    /// How often names were read afresh.
    pub reads: usize,
    last_id: usize,
}

impl Default for Server {
    fn default() -> Self {
        let traits = ZoneTraits::new("", cloudflare::capabilities(60, 500));
        // Reading some names is always cheaper.
        let traits = ZoneTraits { calls_to_list: Calls::Fixed(100), ..traits };
        Self { traits, state: Mutex::default() }
    }
}

impl Server {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names and values, sorted.
    pub fn contents(&self) -> Vec<String> {
        let state = self.state();
        let mut lines: Vec<String> =
            state.records.iter().map(|(name, record)| format!("{name} {:?}", record.rdata)).collect();
        lines.sort();
        lines
    }
}

impl State {
    fn carry_out(&mut self, effect: &Effect) {
        // By its id alone, whatever became of the record.
        if let Some((_, id)) = &effect.removed {
            self.records.retain(|(_, record)| record.id != *id);
        }
        self.records.extend(effect.written.iter().map(|record| (effect.name.clone(), record.clone())));
    }
}

#[async_trait]
impl ZoneAccess for Server {
    fn traits(&self) -> &ZoneTraits {
        &self.traits
    }

    async fn list(&self) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        Ok(self.state().records.clone())
    }

    async fn read(&self, names: &BTreeSet<Name>) -> Result<Vec<(Name, LiveRecord)>, ProviderError> {
        let mut state = self.state();
        state.reads += 1;
        Ok(state.records.iter().filter(|(name, _)| names.contains(name)).cloned().collect())
    }

    async fn apply(&self, cleared: &Cleared, _: &Progress<'_>) -> Vec<Outcome> {
        let mut state = self.state();
        state.writes += 1;
        let gone = || ProviderError::Unavailable { message: "the line was cut".into() };
        let is_lost = state.lost_replies > 0;
        state.lost_replies = state.lost_replies.saturating_sub(1);
        let mut outcomes = Vec::new();
        for change in cleared.changes() {
            let mut effects = Vec::new();
            for edit in &change.edits {
                match &mut state.edits_left {
                    Some(0) => break,
                    Some(left) => *left -= 1,
                    None => {}
                }
                state.last_id += 1;
                let new = RecordId(format!("id-{}", state.last_id).into());
                let effect = Effect::of(edit, edit.before().map_or(new, |before| before.id.clone()));
                state.carry_out(&effect);
                effects.push(effect);
            }
            outcomes.push(match effects.len() == change.edits.len() && !is_lost {
                true => Outcome::Applied(effects),
                false => Outcome::Unknown(gone()),
            });
        }
        outcomes
    }
}
