//! An authoritative DNS server inside the process, which is also a provider.
//!
//! ```text
//! message ─► respond ─► request ─► lookup ─► reply          zones ─► zone ─► tree
//!                              └─► transfer                 access ─► draft ─┘
//! ```
//!
//! `server` owns the sockets, `notify` tells secondaries of changes; all else is pure.

mod access;
mod answer;
mod authority;
mod check;
mod draft;
mod find;
mod key;
mod lookup;
mod notify;
mod open;
mod outside;
mod peer;
mod reply;
mod request;
mod respond;
mod server;
#[cfg(test)]
mod tests;
mod transfer;
mod tree;
mod zone;
mod zones;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use tokio::{runtime::Handle, task::JoinSet};
use zonekeeper_kernel::name::Name;

pub(crate) use self::open::open;
use self::{
    access::Access,
    server::{Service, Sockets},
    zone::{Zone, not_served},
    zones::Zones,
};
pub use self::{
    authority::Authority,
    open::Settings,
    peer::{PeerError, TransferPeer},
    server::take_failures,
};
use crate::{Provider, ProviderError, ZoneAccess, wire};

/// The built-in server: a handle that is cheap to clone. Its sockets close when the last one is dropped.
#[derive(Debug, Clone)]
pub struct Builtin {
    service: Arc<Service>,
    running: Arc<Running>,
}

/// What ends with the last handle.
#[derive(Debug)]
struct Running {
    listening: Option<Listening>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
struct Listening {
    address: SocketAddr,
    runtime: Handle,
}

// === impl Builtin ===

impl Builtin {
    /// Binds UDP and TCP on one port (0: any that is free for both) and answers from now on.
    ///
    /// Assumes: called within a tokio runtime, which outlives the server.
    pub async fn bind(listen: SocketAddr, allow_transfer: Vec<TransferPeer>) -> Result<Self, ProviderError> {
        let sockets = Sockets::bind(listen).await?;
        let address = sockets.local_addr().unwrap_or(listen);
        let service = Arc::new(Service { zones: Zones::default(), peers: allow_transfer });
        let mut tasks = JoinSet::new();
        sockets.serve(&service, &mut tasks);
        let listening = Some(Listening { address, runtime: Handle::current() });
        Ok(Self { service, running: Arc::new(Running { listening, tasks: Mutex::new(tasks) }) })
    }

    /// A server without sockets, for plans: its zones are empty, and no client asks.
    pub fn detached() -> Self {
        let service = Arc::new(Service { zones: Zones::default(), peers: Vec::new() });
        Self { service, running: Arc::new(Running { listening: None, tasks: Mutex::default() }) }
    }

    /// Where it answers.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.running.listening.as_ref().map(|listening| listening.address)
    }

    /// Serves a zone from now on; one that is served already gets this authority and keeps its records.
    ///
    /// Guarantees: until [`ZoneAccess::passed`] was called, it answers SERVFAIL, transfers nothing and sends no NOTIFY.
    pub fn declare(&self, domain: Name, authority: Authority) {
        let mut made = None;
        let zone = self.service.zones.get_or_insert(domain.clone(), || {
            let zone = Zone::new(domain, authority.clone(), first_serial());
            made = Some(zone.clone());
            zone
        });
        match made {
            Some(zone) => self.notify_secondaries(&zone),
            None => zone.set_authority(authority),
        }
    }

    /// Serves a zone no more. An access that is open finds it gone.
    pub fn retract(&self, domain: &Name) {
        if let Some(zone) = self.service.zones.remove(domain) {
            zone.retract();
        }
    }

    /// The zones that are served.
    pub fn domains(&self) -> Vec<Name> {
        self.service.zones.domains()
    }

    /// Closes sockets and connections; when this returns, the port is free.
    pub async fn shutdown(&self) {
        let mut tasks = std::mem::take(&mut *self.running.tasks());
        tasks.shutdown().await;
    }

    fn notify_secondaries(&self, zone: &Arc<Zone>) {
        let Some(listening) = &self.running.listening else { return };
        let mut tasks = self.running.tasks();
        while tasks.try_join_next().is_some() {}
        for to in self.service.peers.iter().filter_map(TransferPeer::notified_at) {
            let (zone, serials) = notify::watch_of(zone);
            let notifier = notify::notify_of_changes(zone, serials, listening.address.ip(), to);
            tasks.spawn_on(notifier, &listening.runtime);
        }
    }
}

#[async_trait]
impl Provider for Builtin {
    async fn open(&self, domain: &Name, _id: Option<&str>) -> Result<Arc<dyn ZoneAccess>, ProviderError> {
        let zone = self.service.zones.get(domain).ok_or_else(|| not_served(domain))?;
        Ok(Arc::new(Access::new(zone)))
    }
}

// === impl Running ===

impl Running {
    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Larger after a restart than before, as long as a zone changes less than once a second on average: that
/// is how secondaries know that they are behind (RFC 1982).
fn first_serial() -> u32 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    // Serial numbers wrap, by design; in 2106 so does this.
    (elapsed & u64::from(u32::MAX)) as u32
}
