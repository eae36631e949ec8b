//! What all tests need: requests that are counted, a hand that changes the zone from outside.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use dns_servers::DnsServer;
use zonekeeper_providers::{
    meter::{Meter, Outcome},
    rfc2136,
};
pub use zonekeeper_tests::dns::served;
use zonekeeper_tests::{
    dns::{self, Relay},
    stage::{AtServer, DOMAIN, Marks, Stage},
};

/// A key as a zone would hold it.
pub const DNSKEY: &str =
    "256 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==";

/// Counts requests by their method.
#[derive(Debug, Default)]
pub struct Counter(Mutex<BTreeMap<&'static str, usize>>);

impl Meter for Counter {
    fn request(&self, method: &'static str, _: Outcome, _: Duration) {
        *self.0.lock().unwrap().entry(method).or_default() += 1;
    }
}

impl Counter {
    /// How many requests of a method there were since the last time that somebody asked for it.
    pub fn take(&self, method: &str) -> usize {
        self.0.lock().unwrap().remove(method).unwrap_or_default()
    }
}

/// A stage whose requests are counted.
pub async fn counted(at: &AtServer) -> (Stage, Arc<Counter>) {
    let counter = Arc::new(Counter::default());
    let settings = rfc2136::Settings { meter: counter.clone(), ..at.settings() };
    (AtServer::stage_of(settings, Marks::Txt).await, counter)
}

/// A stage that reaches its server through a relay.
pub async fn relayed(at: &AtServer, settings: rfc2136::Settings) -> (Stage, Relay) {
    let relay = Relay::start(at.server.address()).await;
    let settings = rfc2136::Settings { servers: vec![relay.address.clone()], ..settings };
    (AtServer::stage_of(settings, Marks::Txt).await, relay)
}

/// Lines for `nsupdate`, as somebody else would type them.
pub fn by_hand(server: &DnsServer, lines: &str) {
    dns::by_hand(server, DOMAIN, lines);
}

/// The version of the zone.
pub fn serial(server: &DnsServer) -> u32 {
    dns::serial(server, DOMAIN)
}
