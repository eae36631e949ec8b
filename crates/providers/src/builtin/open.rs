//! The built-in server opened from its settings.

use std::{net::SocketAddr, sync::Arc};

use super::{Builtin, TransferPeer};
use crate::{Answering, OpenContext, Opened, ProviderError};

/// How to serve.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Who may transfer zones.
    pub allow_transfer: Vec<TransferPeer>,
}

/// Opens it; its zones are declared after.
pub(crate) async fn open(settings: &Settings, context: OpenContext) -> Result<Opened, ProviderError> {
    let builtin = match context.answering {
        Answering::Queries => {
            // A server at another address answers until the new one does; at the same one there is room for one.
            if let Some(before) = context.before.and_then(|before| before.builtin)
                && before.local_addr().is_some_and(|address| clash(address, settings.listen))
            {
                before.shutdown().await;
            }
            Builtin::bind(settings.listen, settings.allow_transfer.clone()).await?
        }
        Answering::Nothing => Builtin::detached(),
    };
    Ok(Opened { provider: Arc::new(builtin.clone()), builtin: Some(builtin) })
}

/// Whether two servers can't listen there at the same time.
fn clash(one: SocketAddr, other: SocketAddr) -> bool {
    let is_same_host = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && is_same_host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_at_the_same_address_has_to_make_room() {
        let address = |text: &str| text.parse().unwrap();
        let clash = |one: &str, other: &str| clash(address(one), address(other));
        assert!(clash("127.0.0.1:53", "127.0.0.1:53"));
        assert!(clash("0.0.0.0:53", "127.0.0.1:53") && clash("127.0.0.1:53", "[::]:53"));
        assert!(!clash("127.0.0.1:53", "127.0.0.1:54") && !clash("127.0.0.1:53", "127.0.0.2:53"));
        assert!(!clash("127.0.0.1:5300", "127.0.0.1:0"));
    }
}
