//! Which addresses an AddressSource may ask: nothing inside, unless the command line opens it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::Workers;

/// What asking an AddressSource may use.
#[derive(Debug, Clone, Default)]
pub struct Reachable {
    /// Networks that are open though they are not public, given by `--allow-address-source`.
    pub allowed: Vec<IpNet>,
    /// Where filters run.
    pub workers: Workers,
}

// === impl Reachable ===

impl Reachable {
    /// Whether a request may go there.
    pub fn permits(&self, address: IpAddr) -> bool {
        let address = unwrapped(address);
        is_public(address) || self.allowed.iter().any(|network| network.contains(&address))
    }
}

/// Resolves names for one request, and hides what may not be reached: a name that changes its mind between
/// a check and the connection gains nothing.
impl Resolve for Reachable {
    fn resolve(&self, name: Name) -> Resolving {
        let reachable = self.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let open: Vec<SocketAddr> =
                found.iter().copied().filter(|at| reachable.permits(at.ip())).collect();
            match (found.is_empty(), open.is_empty()) {
                (false, true) => Err(refusal(name.as_str()).into()),
                (_, _) => Ok(Box::new(open.into_iter()) as Addrs),
            }
        })
    }
}

/// What a person reads about a target inside.
pub fn refusal(host: &str) -> String {
    format!("{host} is not a public address; allow it with --allow-address-source CIDR")
}

/// The IPv4 address inside an IPv6 one, where that is what it stands for.
fn unwrapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let segments = v6.segments();
    let tail = || {
        let [a, b] = segments[6].to_be_bytes();
        let [c, d] = segments[7].to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    let middle = || {
        let [a, b] = segments[1].to_be_bytes();
        let [c, d] = segments[2].to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Mapped, and compatible but for :: and ::1.
        [0, 0, 0, 0, 0, 0xffff, _, _] => tail(),
        [0, 0, 0, 0, 0, 0, high, _] if high != 0 => tail(),
        // NAT64 (RFC 6052) and 6to4 (RFC 3056).
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => tail(),
        [0x2002, ..] => middle(),
        _other => address,
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// IANA's special-purpose registry, as of 2026-11, and the addresses of clouds' own services that lie outside of it:
/// 168.63.129.16 is Azure's. Those of others are link-local, shared (100.64.0.0/10) or reserved (192.0.0.0/24).
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!((a, b, c), (0 | 10 | 127 | 240..=255, _, _))
        || (a == 100 && (64..128).contains(&b))
        || (a == 172 && (16..32).contains(&b))
        || matches!((a, b), (169, 254) | (192, 168) | (198, 18 | 19))
        || matches!((a, b, c), (192, 0, 0) | (192, 0, 2) | (192, 88, 99) | (198, 51, 100) | (203, 0, 113));
    let is_of_a_cloud = address == Ipv4Addr::new(168, 63, 129, 16);
    !is_special && !is_of_a_cloud && !address.is_multicast()
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    // Global unicast is 2000::/3; of it, what is assigned to protocols (2001::/23: Teredo, benchmarking, ORCHID and
    // others) and documentation are not public.
    (0x2000..0x4000).contains(&first)
        && !matches!(address.segments(), [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_inside_is_reachable_in_any_spelling() {
        let reachable = Reachable::default();
        for address in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::ffff:168.63.129.16",
            "64:ff9b::a83f:8110",
            "2002:a83f:8110::1",
            "100.100.100.200",
            "192.0.0.192",
            "fd00:ec2::254",
            "64:ff9b:1::a00:1",
            "2001::1",
            "2001:0:7f00:1::",
            "2001:10::1",
            "2001:20::1",
            "3fff::1",
            "5f00::1",
            "fec0::1",
            "100::1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
        ] {
            assert!(!reachable.permits(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "168.63.129.17",
            "2001:200::1",
            "2606:4700::1111",
            "64:ff9b::101:101",
        ] {
            assert!(reachable.permits(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn the_command_line_opens_networks() {
        let reachable = Reachable { allowed: vec!["127.0.0.0/8".parse().unwrap()], ..Reachable::default() };
        assert!(reachable.permits("127.0.0.1".parse().unwrap()));
        assert!(reachable.permits("::ffff:127.0.0.1".parse().unwrap()));
        assert!(!reachable.permits("10.0.0.1".parse().unwrap()));
    }
}
