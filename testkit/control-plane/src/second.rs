//! A second API server on the same etcd, which can be kept from seeing what is new.

use std::{ops::Deref, path::Path};

use anyhow::Result;

use crate::{
    relay::{Flow, Relay},
    view::View,
};

/// A [`View`] that can be frozen.
pub struct SecondView {
    view: View,
    relay: Relay,
}

// === impl SecondView ===

impl SecondView {
    pub(crate) async fn open(folder: &Path, etcd_port: u16) -> Result<Self> {
        let relay = Relay::start(etcd_port)?;
        let view = View::open("kube-apiserver-2", folder, relay.port()).await?;
        Ok(Self { view, relay })
    }

    /// Cuts it off from etcd without closing anything: watches fall silent, reads from its cache
    /// (`resourceVersion=0`) are stale, writes and other reads wait.
    pub fn freeze(&self) {
        self.relay.set(Flow::Held);
    }

    /// Lets through what was held back.
    pub fn thaw(&self) {
        self.relay.set(Flow::Open);
    }
}

impl Deref for SecondView {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}
