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
            // A server on another port answers until the new one does; on the same port only one can.
            if let Some(before) = context.before.and_then(|before| before.builtin)
                && before.local_addr().is_some_and(|address| address.port() == settings.listen.port())
            {
                before.shutdown().await;
            }
            Builtin::bind(settings.listen, settings.allow_transfer.clone()).await?
        }
        Answering::Nothing => Builtin::detached(),
    };
    Ok(Opened { provider: Arc::new(builtin.clone()), builtin: Some(builtin) })
}
