//! What the guard must not forget is in the DNSZone's status before anything is sent.

use async_trait::async_trait;
use tokio::{
    sync::{mpsc::UnboundedSender, oneshot},
    time::Instant,
};
use zonekeeper_kernel::{guard::Window, zone::ZoneKey};
use zonekeeper_providers::ProviderError;

use crate::{cluster::Message, zone::Ledger};

/// Writes through the hub, which writes all of a status.
pub struct StatusLedger {
    pub zone: ZoneKey,
    pub pass: u64,
    pub hub: UnboundedSender<Message>,
}

/// A window to be written down, and who waits for that.
pub struct Entry {
    pub zone: ZoneKey,
    pub pass: u64,
    pub begun: Instant,
    pub window: Window,
    pub used: Option<String>,
    pub written: oneshot::Sender<()>,
}

#[async_trait]
impl Ledger for StatusLedger {
    async fn enter(&self, begun: Instant, window: Window, used: Option<&str>) -> Result<(), ProviderError> {
        let (written, is_written) = oneshot::channel();
        let (zone, pass) = (self.zone.clone(), self.pass);
        let entry = Entry { zone, pass, begun, window, used: used.map(str::to_owned), written };
        let failed = || ProviderError::Unavailable {
            message: "the guard's memory could not be written to the DNSZone; nothing was sent".into(),
        };
        self.hub.send(Message::Enter(entry)).map_err(|_| failed())?;
        is_written.await.map_err(|_| failed())
    }
}
