//! The keys with which secondary zones are transferred, from the Secrets that DNSZones name. A DNSZone reads Secrets of
//! its own namespace only: with another one it could have a key sent that its author may not read.

use zonekeeper_api::{DNSZone, Reason};
use zonekeeper_kernel::{transfer_key::TransferKey, zone::ZoneKey};

use crate::{
    Key,
    conditions::Verdict,
    core::{Alarm, Model},
    credentials::SECRET_RETRY,
    declare,
    secrets::{self, SecretState},
};

/// Why there is no key.
pub enum NoKey {
    /// It comes with the watch of its Secret.
    Unread,
    /// It can't be had now.
    Trouble(Verdict),
}

// === impl Model ===

impl Model {
    /// The key that a zone is transferred with, if its object names one.
    pub fn transfer_key(&mut self, key: &ZoneKey) -> Result<Option<TransferKey>, NoKey> {
        let Some(object) = self.zones.get(key).map(|entry| entry.object.clone()) else { return Ok(None) };
        let Some(secret) = secret_of(key, &object) else { return Ok(None) };
        let trouble = |reason, message: String| NoKey::Trouble(Verdict::new(reason, message));
        match self.secrets.get(&secret, &mut self.effects) {
            SecretState::Unread => Err(NoKey::Unread),
            SecretState::Present(data) => declare::transfer_key(&object, |key| data.get(key).cloned())
                .map_err(|bad| trouble(Reason::RefNotFound, bad.to_string())),
            SecretState::Absent => {
                let message = format!("Secret {}/{} does not exist; create it", secret.0, secret.1);
                Err(trouble(Reason::RefNotFound, message))
            }
            SecretState::Forbidden => {
                self.agenda.by(self.now.at + SECRET_RETRY, Alarm::Open(key.clone()));
                let message = secrets::forbidden(&secret, &self.namespace);
                Err(trouble(Reason::RefNotPermitted, message))
            }
        }
    }

    /// Secrets that DNSZones name.
    pub fn secrets_of_zones(&self) -> impl Iterator<Item = Key> + '_ {
        self.zones
            .iter()
            .filter(|(_, entry)| entry.is_ours)
            .filter_map(|(key, entry)| secret_of(key, &entry.object))
    }

    /// Works with what a Secret says now.
    pub fn open_zones_with_secret(&mut self, secret: &Key) {
        let uses = |key: &ZoneKey, object: &DNSZone| secret_of(key, object).as_ref() == Some(secret);
        let zones = self.zones.iter().filter(|(key, entry)| uses(key, &entry.object));
        let zones: Vec<ZoneKey> = zones.map(|(key, _)| key.clone()).collect();
        zones.iter().for_each(|key| self.consider_zone(key));
    }
}

/// The Secret that a DNSZone names; one that goes needs none.
fn secret_of(key: &ZoneKey, object: &DNSZone) -> Option<Key> {
    if object.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let reference = object.spec.cloudflare.as_ref()?.transfer_tsig_secret_ref.as_ref()?;
    Some((key.namespace.clone(), reference.name.clone()))
}
