//! One message answered without a socket, for tests with bytes of any kind.

use std::net::{IpAddr, Ipv4Addr};

use super::{
    Builtin,
    request::Transport,
    respond::{Reply, respond},
};

// === impl Builtin ===

impl Builtin {
    /// What the server says to a message over UDP and over TCP; a transfer's messages are left out.
    #[doc(hidden)]
    pub fn answers_to(&self, message: &[u8]) -> Vec<Vec<u8>> {
        let source = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let reply = |transport| respond(&self.service.zones, &self.service.peers, message, source, transport);
        let said = [Transport::Udp, Transport::Tcp].map(reply).into_iter();
        said.filter_map(|reply| match reply {
            Reply::Message(answer) => Some(answer),
            Reply::Silence | Reply::Transfer(_) => None,
        })
        .collect()
    }
}
