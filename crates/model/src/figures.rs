//! What the zones and objects are like now, in figures.

use std::{collections::BTreeMap, time::Duration};

use zonekeeper_api::Reason;
use zonekeeper_kernel::{plan::Counts, zone::ZoneKey};

use crate::{core::Model, outbox::StatusOutbox};

/// Figures for people who watch the operator.
pub struct Figures {
    pub zones: Vec<ZoneFigures>,
    pub providers: Vec<ProviderFigures>,
    /// Every object that says how it is: its kind and its reason.
    pub objects: Vec<(&'static str, Reason)>,
    /// How many zones wait for a pass.
    pub waiting_zones: usize,
}

/// One zone in figures. Times are in seconds since 1970.
pub struct ZoneFigures {
    pub zone: ZoneKey,
    pub domain: String,
    pub is_ready: bool,
    /// When it was last read and compared without an error.
    pub last_read: Option<i64>,
    /// When it was last written to.
    pub last_write: Option<i64>,
    /// How long the oldest change has been waiting that is neither made nor held.
    pub oldest_pending: Duration,
    /// What objects ask of it, by what became of that.
    pub requested: Vec<(Reason, i64)>,
    /// How many changes are held, and what there is; none before the first look.
    pub survey: Option<(u32, Counts)>,
}

/// One provider in figures.
pub struct ProviderFigures {
    pub provider: String,
    /// How many requests its window has, where requests are counted.
    pub budget_limit: Option<u32>,
    /// When its credentials end, in seconds since 1970.
    pub token_expires: Option<i64>,
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
        let waits = |entry: &&crate::zone_entry::ZoneEntry| entry.is_ours && !entry.dirty.is_clean();
        let waiting_zones = self.zones.values().filter(waits).count();
        Figures { zones: self.zone_figures(), providers: self.provider_figures(), objects, waiting_zones }
    }

    fn zone_figures(&self) -> Vec<ZoneFigures> {
        let mut requested = self.requested();
        let ours = self.zones.iter().filter(|(_, entry)| entry.is_ours);
        let figures = ours.map(|(key, entry)| ZoneFigures {
            zone: key.clone(),
            domain: entry.object.spec.domain.clone(),
            is_ready: entry.outbox.told.as_ref().is_some_and(|verdict| verdict.is_ready()),
            // A suspended zone is not read, and no change waits for it.
            last_read: entry
                .read
                .as_ref()
                .filter(|_| !entry.object.spec.suspend)
                .map(|time| time.0.as_second()),
            last_write: entry.synced.as_ref().map(|time| time.0.as_second()),
            oldest_pending: match entry.pending_since {
                Some(since) if !entry.object.spec.suspend => self.now.at - since,
                Some(_) | None => Duration::ZERO,
            },
            requested: requested.remove(key).unwrap_or_default().into_iter().collect(),
            survey: entry.survey.as_ref().map(|survey| (survey.outstanding.plan.held, survey.counts)),
        });
        figures.collect()
    }

    /// What objects ask of each zone, counted by what became of it.
    fn requested(&self) -> BTreeMap<&ZoneKey, BTreeMap<Reason, i64>> {
        let of_records = self.records.values().flat_map(|entry| entry.states.iter());
        let of_records = of_records.map(|(zone, state)| (zone, state.verdict.reason));
        let of_sources = self.sources.entries.values().flat_map(|entry| entry.states.iter());
        let of_sources = of_sources.map(|((zone, _, _), verdict)| (zone, verdict.reason));
        let mut counts: BTreeMap<&ZoneKey, BTreeMap<Reason, i64>> = BTreeMap::new();
        for (zone, reason) in of_records.chain(of_sources) {
            *counts.entry(zone).or_default().entry(reason).or_default() += 1;
        }
        counts
    }

    fn provider_figures(&self) -> Vec<ProviderFigures> {
        let figures = self.providers.iter().map(|(name, entry)| {
            let spec = &entry.object.spec;
            let status = entry.object.status.as_ref();
            let expires = status.and_then(|status| status.token_expires.as_ref());
            ProviderFigures {
                provider: name.clone(),
                budget_limit: spec.cloudflare.as_ref().map(|_| spec.rate_limit.requests),
                token_expires: expires.map(|time| time.0.as_second()),
            }
        });
        figures.collect()
    }
}
