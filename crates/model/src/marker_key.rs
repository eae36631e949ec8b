//! The key that signs markers: made once, and only if no zone needs one that was lost.

use std::time::Duration;

use zonekeeper_api::Reason;
use zonekeeper_kernel::zone::ZoneKey;

use crate::{
    Key,
    conditions::Verdict,
    core::{Alarm, Model},
    credentials::marker_key_of,
    effects::Effect,
    zone_entry::ZoneEntry,
};

const RETRY: Duration = Duration::from_secs(5);

// === impl Model ===

impl Model {
    /// Why nothing may be written to a zone now, where that is so: its markers could not be signed.
    pub fn why_read_only(&self, key: &ZoneKey) -> Option<Verdict> {
        let entry = self.zones.get(key)?;
        let provider = entry.provider.as_deref()?;
        let active = self.active_provider(provider)?;
        if !active.registry.lacks_key() {
            return None;
        }
        let secret = marker_key_of(&self.providers.get(provider)?.object, &self.namespace);
        let is_missed = self.zones_of_key(&secret).any(|(_, zone)| shows_us(zone))
            && !active.registry.takes_itself_over();
        Some(match is_missed {
            true => Verdict::new(
                Reason::MarkerKeyMissing,
                format!(
                    "zones hold records marked with our owner id, and Secret {}/{} with the key that signed them is gone; restore it, or name {:?} in registry.takeOverFrom of DNSProvider {provider} to trust them",
                    secret.0,
                    secret.1,
                    active.registry.owner().unwrap_or_default()
                ),
            ),
            false => Verdict::new(Reason::Pending, "the marker key is being made"),
        })
    }

    /// Makes the key when every zone that could miss it was looked at.
    pub fn consider_marker_key(&mut self, key: &ZoneKey) {
        let Some(provider) = self.zones.get(key).and_then(|entry| entry.provider.clone()) else { return };
        let Some(active) = self.active_provider(&provider) else { return };
        if !active.registry.lacks_key() {
            return;
        }
        let Some(object) = self.providers.get(&provider).map(|entry| entry.object.clone()) else { return };
        let secret = marker_key_of(&object, &self.namespace);
        // A zone that can't be read, or is not, must not keep the others waiting: its markers are foreign without
        // their key.
        let is_open =
            |zone: &ZoneEntry| zone.trouble.is_none() && !zone.object.spec.suspend && !zone.is_surveyed();
        let waits = self.zones_of_key(&secret).any(|(_, zone)| is_open(zone));
        let is_missed = self.zones_of_key(&secret).any(|(_, zone)| shows_us(zone));
        if is_missed && !active.registry.takes_itself_over() {
            self.tell_missing_key(&secret);
        } else if !waits {
            self.effects.push(Effect::CreateMarkerKey(secret));
        }
    }

    /// Zones that were looked at before it was known that the key is missed are told.
    fn tell_missing_key(&mut self, secret: &Key) {
        let zones: Vec<ZoneKey> = self.zones_of_key(secret).map(|(zone, _)| zone.clone()).collect();
        for zone in zones {
            let why = self.why_read_only(&zone);
            let Some(survey) = self.zones.get_mut(&zone).and_then(|entry| entry.survey.as_mut()) else {
                continue;
            };
            if survey.read_only.is_none() || survey.read_only == why {
                continue;
            }
            survey.read_only.clone_from(&why);
            if let Some(why) = &why {
                self.tell_requesters(&zone, why, None);
            }
            self.report_zone(&zone);
        }
    }

    fn zones_of_key<'a>(&'a self, secret: &'a Key) -> impl Iterator<Item = (&'a ZoneKey, &'a ZoneEntry)> {
        self.zones.iter().filter(move |(_, zone)| {
            let provider = zone.provider.as_deref().and_then(|name| self.providers.get(name));
            zone.is_ours
                && provider.is_some_and(|entry| marker_key_of(&entry.object, &self.namespace) == *secret)
        })
    }

    /// The key was made, or could not be.
    pub fn key_made(&mut self, key: &Key, made: Result<(), String>) {
        let Err(error) = made else { return };
        tracing::warn!(
            namespace = key.0,
            name = key.1,
            error,
            "the marker key could not be made; trying again"
        );
        let zones: Vec<ZoneKey> = self.zones_of_key(key).map(|(zone, _)| zone.clone()).collect();
        for zone in zones {
            self.agenda.by(self.now.at + RETRY, Alarm::Again(zone));
        }
    }
}

fn shows_us(zone: &ZoneEntry) -> bool {
    zone.survey.as_ref().is_some_and(|survey| survey.shows_our_id)
}
