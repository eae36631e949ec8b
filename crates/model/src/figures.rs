//! What the zones and objects are like now, in figures.

use zonekeeper_api::Reason;
use zonekeeper_kernel::{plan::Counts, zone::ZoneKey};

use crate::{core::Model, outbox::StatusOutbox};

/// Figures for people who watch the operator.
pub struct Figures {
    pub zones: Vec<ZoneFigures>,
    /// Every object that says how it is: its kind and its reason.
    pub objects: Vec<(&'static str, Reason)>,
}

/// One zone in figures.
pub struct ZoneFigures {
    pub zone: ZoneKey,
    pub domain: String,
    pub is_ready: bool,
    /// When it was last written to, in seconds since 1970.
    pub last_write: Option<i64>,
    /// How many changes are held, and what there is; none before the first look.
    pub survey: Option<(u32, Counts)>,
}

// === impl Model ===

impl Model {
    /// What there is to measure.
    pub fn figures(&self) -> Figures {
        let told = |outbox: &StatusOutbox| outbox.told.as_ref().map(|verdict| verdict.reason);
        let zones = self.zones.values().filter_map(|entry| Some(("DNSZone", told(&entry.outbox)?)));
        let records = self.records.values().filter_map(|entry| Some(("RecordSet", told(&entry.outbox)?)));
        let providers =
            self.providers.values().filter_map(|entry| Some(("DNSProvider", told(&entry.outbox)?)));
        let sources = self.address_sources.values();
        let sources = sources.filter_map(|entry| Some(("AddressSource", told(&entry.outbox)?)));
        let objects = zones.chain(records).chain(providers).chain(sources).collect();
        let ours = self.zones.iter().filter(|(_, entry)| entry.is_ours);
        let zones = ours.map(|(key, entry)| ZoneFigures {
            zone: key.clone(),
            domain: entry.object.spec.domain.clone(),
            is_ready: entry.outbox.told.as_ref().is_some_and(|verdict| verdict.is_ready()),
            last_write: entry.synced.as_ref().map(|time| time.0.as_second()),
            survey: entry.survey.as_ref().map(|survey| (survey.outstanding.plan.held, survey.counts)),
        });
        Figures { zones: zones.collect(), objects }
    }
}
