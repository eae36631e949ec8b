//! What an interrupted pass needs to go on: holders confirmed by fresh reads, and the guard's memory in the zone's status.

use std::sync::Arc;

use zonekeeper_kernel::provider::ProviderError;
use zonekeeper_kernel::zone::ZoneKey;

use crate::{
    confirmation::Confirmation,
    core::Model,
    pass::{Applied, Needs},
    worker::GuardRecord,
    zone_entry::{Awaits, ZoneEntry},
};

// === impl Model ===

impl Model {
    /// A pass ended before its time. It is repeated, for the same names, when it can have what it needs.
    pub fn pass_interrupted(&mut self, key: &ZoneKey, number: u64, applied: Vec<Applied>, needs: Needs) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        entry.dirty.join(entry.serving.clone());
        entry.note_applied(&applied, self.now);
        self.tell_changes(key, &applied);
        match needs {
            Needs::Holders(about) => {
                if let Some(entry) = self.zones.get_mut(key) {
                    entry.awaits = Some(Awaits::Confirmation(number));
                }
                self.confirm(key, number, about);
                // What that has found is known to the pass that is repeated.
                if let Some(entry) = self.zones.get_mut(key) {
                    entry.touched.clear();
                }
            }
            Needs::Saved(record) => self.save_guard(key, record),
        }
    }

    /// What is known of holders was confirmed, or not.
    pub fn holders_confirmed(&mut self, confirmation: Confirmation) {
        let Confirmation { zone: key, pass, confirmed, is_staying } = confirmation;
        if let Some(is_staying) = is_staying {
            self.note_definition(is_staying);
        }
        let is_its = |entry: &&mut ZoneEntry| entry.awaits == Some(Awaits::Confirmation(pass));
        let Some(entry) = self.zones.get_mut(&key).filter(is_its) else { return };
        entry.awaits = None;
        entry.confirmed = Some((self.now.at, Arc::new(confirmed)));
        self.resume_pass(&key);
    }

    /// Puts into the zone's status what the guard must not forget; the pass goes on when it is written.
    fn save_guard(&mut self, key: &ZoneKey, record: GuardRecord) {
        let begun = self.now.time_of(record.begun);
        let Some(entry) = self.zones.get_mut(key) else { return };
        let (guard, window) = (&mut entry.guard, &record.window);
        guard.window_start = Some(begun);
        guard.owned_at_start = window.owned_at_start as u32;
        guard.deletes = window.deletes as u32;
        guard.updates = window.updates as u32;
        guard.prunes = window.prunes as u32;
        if let Some(used) = &record.used
            && guard.pending_approval.as_ref() != Some(used)
        {
            entry.use_up_approval();
            entry.guard.pending_approval = Some(used.clone());
        }
        entry.awaits = Some(Awaits::Saving(record));
        self.report_zone(key);
    }

    /// The zone's status has what the guard must not forget.
    pub fn guard_saved(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        if let Some(Awaits::Saving(record)) =
            entry.awaits.take_if(|awaits| matches!(awaits, Awaits::Saving(_)))
        {
            entry.saved = Some(record);
            self.resume_pass(key);
        }
    }

    /// The zone's status could not be written: what is not saved is not sent.
    pub fn guard_not_saved(&mut self, key: &ZoneKey) {
        let Some(entry) = self.zones.get_mut(key) else { return };
        if entry.awaits.take_if(|awaits| matches!(awaits, Awaits::Saving(_))).is_some() {
            entry.forget_needs();
            let message = "the guard's memory could not be written to the DNSZone; nothing was sent".into();
            self.pass_failed(key, ProviderError::Unavailable { message });
        }
    }

    fn resume_pass(&mut self, key: &ZoneKey) {
        if !self.is_ending {
            self.start_pass(key);
        }
    }
}
