//! Who may transfer zones, and who is told of changes.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

/// A secondary server, or a network of them.
///
/// One written as an address, with or without a port, is told of each change (RFC 1996); a network is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransferPeer {
    /// One server: may transfer from any port, and is told of changes at this one.
    Server(SocketAddr),
    /// All addresses with the same first bits.
    Network {
        /// Any address of the network.
        address: IpAddr,
        /// How many bits count.
        prefix: u8,
    },
}

/// Why a text is not a peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no secondary server; write an address, address:port or a network such as 192.0.2.0/24")]
pub struct PeerError(String);

const DNS_PORT: u16 = 53;

// === impl TransferPeer ===

impl TransferPeer {
    /// Whether this source address may transfer zones.
    pub fn allows(&self, source: IpAddr) -> bool {
        let source = source.to_canonical();
        match self {
            Self::Server(server) => server.ip().to_canonical() == source,
            Self::Network { address, prefix } => match (address, source) {
                (IpAddr::V4(address), IpAddr::V4(source)) => {
                    let shift = 32 - u32::from(*prefix);
                    (address.to_bits() ^ source.to_bits()).checked_shr(shift).unwrap_or(0) == 0
                }
                (IpAddr::V6(address), IpAddr::V6(source)) => {
                    let shift = 128 - u32::from(*prefix);
                    (address.to_bits() ^ source.to_bits()).checked_shr(shift).unwrap_or(0) == 0
                }
                (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
            },
        }
    }

    /// Where to tell it of changes.
    pub fn notified_at(&self) -> Option<SocketAddr> {
        match self {
            Self::Server(server) => Some(*server),
            Self::Network { .. } => None,
        }
    }
}

impl FromStr for TransferPeer {
    type Err = PeerError;

    fn from_str(text: &str) -> Result<Self, PeerError> {
        let error = || PeerError(text.into());
        if let Some((address, prefix)) = text.split_once('/') {
            let address: IpAddr = address.parse().map_err(|_| error())?;
            let prefix: u8 = prefix.parse().map_err(|_| error())?;
            let longest = if address.is_ipv4() { 32 } else { 128 };
            return if prefix <= longest { Ok(Self::Network { address, prefix }) } else { Err(error()) };
        }
        match text.parse::<IpAddr>() {
            Ok(address) => Ok(Self::Server(SocketAddr::new(address, DNS_PORT))),
            Err(_) => text.parse().map(Self::Server).map_err(|_| error()),
        }
    }
}

impl fmt::Display for TransferPeer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(server) if server.port() == DNS_PORT => write!(formatter, "{}", server.ip()),
            Self::Server(server) => write!(formatter, "{server}"),
            Self::Network { address, prefix } => write!(formatter, "{address}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> TransferPeer {
        text.parse().unwrap()
    }

    #[test]
    fn a_server_is_allowed_from_any_port_and_notified_at_its_own() {
        assert_eq!(peer("192.0.2.1").notified_at(), Some("192.0.2.1:53".parse().unwrap()));
        assert_eq!(peer("[2001:db8::1]:5353").notified_at(), Some("[2001:db8::1]:5353".parse().unwrap()));
        assert!(peer("192.0.2.1:5353").allows("192.0.2.1".parse().unwrap()));
        assert!(peer("192.0.2.1").allows("::ffff:192.0.2.1".parse().unwrap()));
        assert!(!peer("192.0.2.1").allows("192.0.2.2".parse().unwrap()));
    }

    #[test]
    fn a_network_is_allowed_by_its_first_bits_and_never_notified() {
        let network = peer("192.0.2.0/25");
        assert!(network.allows("192.0.2.127".parse().unwrap()));
        assert!(!network.allows("192.0.2.128".parse().unwrap()));
        assert_eq!(network.notified_at(), None);
        assert!(peer("0.0.0.0/0").allows("192.0.2.1".parse().unwrap()));
        assert!(!peer("0.0.0.0/0").allows("2001:db8::1".parse().unwrap()));
        assert!(peer("2001:db8::/32").allows("2001:db8:1::1".parse().unwrap()));
        assert!(!peer("2001:db8::1/128").allows("2001:db8::2".parse().unwrap()));
        assert!(peer("::/0").allows("2001:db8::2".parse().unwrap()));
    }

    #[test]
    fn texts_that_are_no_peer_are_refused_and_others_print_as_written() {
        for bad in ["", "ns1.example.com", "192.0.2.0/33", "192.0.2.1:x", "2001:db8::/129"] {
            assert!(bad.parse::<TransferPeer>().is_err(), "{bad}");
        }
        for good in ["192.0.2.1", "192.0.2.1:5353", "192.0.2.0/24", "[2001:db8::1]:5353", "2001:db8::1"] {
            assert_eq!(peer(good).to_string(), good);
        }
    }
}
