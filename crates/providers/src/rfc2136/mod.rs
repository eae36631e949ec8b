//! Zones on servers that take dynamic updates (RFC 2136): BIND9, Knot, PowerDNS and others.
//!
//! ```text
//! zone ─► client ─► conversation ─► connection      who is asked, and how
//! zone ─► transfer, by_name ─► mirror               what is there
//! apply ─► draft ─► message                         whole sets, compared before they are changed
//! apply ─► verify                                   and read back after
//! authority                                          SOA and apex NS, as fields of the zone itself
//! ```
//!
//! `message`, `transfer`, `mirror`, `draft` and `explain` are pure.

mod apply;
mod authority;
mod by_name;
mod client;
mod connection;
mod conversation;
mod draft;
mod explain;
mod key;
pub(crate) mod message;
mod mirror;
mod outside;
mod refused;
#[cfg(test)]
mod tests;
mod transfer;
mod verify;
mod zone;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::base::{Rtype, iana::Rcode};
use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
};

use self::{
    client::Client,
    conversation::Cause,
    explain::explain,
    message::{items, query},
    zone::Zone,
};
pub use self::{
    connection::Transport,
    key::{Rotation, Tsig},
    outside::{is_signed_answer, reads_as_transfer},
};
use crate::{
    OpenContext, Opened, Provider, ProviderError, Standing, ZoneAccess,
    fence::{Fence, Unfenced},
    meter::{Meter, Unmetered},
};

/// Servers of the same zones.
#[derive(Debug)]
pub struct Rfc2136 {
    client: Arc<Client>,
    reading: Reading,
    reread_after: Duration,
}

/// How to reach servers.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The servers as `host:port`; the first takes updates, others are tried where it can't be reached.
    pub servers: Vec<String>,
    /// How messages travel.
    pub transport: Transport,
    /// The key that signs updates, and everything else where there is no other.
    pub update_key: Rotation,
    /// The key that signs transfers and questions, where it is another.
    pub transfer_key: Option<Rotation>,
    /// How zones are read.
    pub reading: Reading,
    /// After this long all of a zone is read again, whatever its serial says: some are edited without a new one.
    pub reread_after: Duration,
    /// How long a server may take to answer.
    pub timeout: Duration,
    /// Whether this process may still send.
    pub fence: Arc<dyn Fence>,
    /// Told how long requests take.
    pub meter: Arc<dyn Meter>,
}

/// How zones are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// As a whole, by AXFR and IXFR.
    #[default]
    Transfer,
    /// Only the names that objects ask for, one by one.
    Names,
}

// === impl Settings ===

impl Settings {
    /// Servers that are asked over TCP, unsigned.
    pub fn new(servers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            servers: servers.into_iter().map(Into::into).collect(),
            transport: Transport::Tcp,
            update_key: Rotation::default(),
            transfer_key: None,
            reading: Reading::Transfer,
            reread_after: Duration::from_secs(3600),
            timeout: Duration::from_secs(10),
            fence: Arc::new(Unfenced),
            meter: Arc::new(Unmetered),
        }
    }
}

/// Opens servers; nothing is asked yet.
pub(crate) fn open(settings: &Settings, context: OpenContext) -> Result<Opened, ProviderError> {
    let OpenContext { fence, meter, .. } = context;
    Ok(Opened::outside(Rfc2136::new(Settings { fence, meter, ..settings.clone() })?))
}

// === impl Rfc2136 ===

impl Rfc2136 {
    /// A provider; nothing is asked yet.
    pub fn new(settings: Settings) -> Result<Self, ProviderError> {
        let (reading, reread_after) = (settings.reading, settings.reread_after);
        Ok(Self { client: Arc::new(Client::new(settings)?), reading, reread_after })
    }

    /// The servers that a zone names as its own.
    async fn name_servers(&self, domain: &Name) -> Result<Vec<String>, ProviderError> {
        let act = format!("finding zone {domain}");
        let answer = self.client.ask(&query(domain, Rtype::NS)).await;
        let (_, answer) = answer.map_err(|failure| explain(&act, &failure))?;
        let mut servers: Vec<String> = items(&answer)
            .unwrap_or_default()
            .iter()
            .filter(|item| item.name == *domain && item.rtype == RecordType::NS)
            .filter_map(|item| Rdata::from_wire(item.rtype, &item.wire).ok()?.target())
            .map(|target| target.to_string())
            .collect();
        servers.sort();
        Ok(servers)
    }
}

#[async_trait]
impl Provider for Rfc2136 {
    /// Asks for something that every server can answer: BIND judges the signature first, whatever it says then;
    /// Knot answers without one where it does not serve what was asked for.
    async fn check(&self) -> Result<Standing, ProviderError> {
        match self.client.ask(&query(&Name::root(), Rtype::SOA)).await {
            Ok(_) => Ok(Standing::default()),
            Err(failure) if matches!(failure.cause, Cause::Refused(_) | Cause::Unsigned(Rcode::REFUSED)) => {
                Ok(Standing::default())
            }
            Err(failure) => Err(explain("asking the server", &failure)),
        }
    }

    async fn open(&self, domain: &Name, _id: Option<&str>) -> Result<Arc<dyn ZoneAccess>, ProviderError> {
        let zone = Zone::new(self.client.clone(), domain.clone(), self.reading, self.reread_after);
        zone.soa().await.map_err(|failure| explain(&format!("finding zone {domain}"), &failure))?;
        Ok(Arc::new(zone.served_by(self.name_servers(domain).await?)))
    }
}
