//! The servers that ask the DNS for us, and what they find: zones above a name, servers of a zone, addresses.

use std::{
    collections::BTreeSet,
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use domain::base::{Rtype, iana::Rcode};
use zonekeeper_kernel::{name::Name, rdata::RecordType};

use crate::{
    lookup::{
        LookupError,
        exchange::{Answer, Recursion, ask},
    },
    rfc2136::message::Item,
};

const PORT: u16 = 53;

/// Asks recursive servers.
#[derive(Debug, Clone)]
pub struct Resolver {
    servers: Vec<SocketAddr>,
}

// === impl Resolver ===

impl Resolver {
    /// One that asks these servers.
    pub fn new(servers: Vec<SocketAddr>) -> Self {
        Self { servers }
    }

    /// The one that this machine uses.
    pub fn of_system() -> Self {
        let text = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        let servers: Vec<SocketAddr> =
            name_servers(&text).map(|server| SocketAddr::new(server, PORT)).collect();
        // What resolv.conf(5) says of a file that names none.
        let local = || vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT)];
        Self { servers: if servers.is_empty() { local() } else { servers } }
    }

    /// The apex of the zone that a name lies in.
    pub(super) async fn zone_of(&self, name: &Name) -> Result<Option<Name>, LookupError> {
        let answer = self.ask(name, Rtype::SOA).await?;
        let origins = answer.answers.iter().chain(&answer.authority);
        let mut origins = origins.filter(|item| item.rtype == RecordType::SOA && name.is_within(&item.name));
        Ok(origins.next().map(|item| item.name.clone()))
    }

    /// The name servers of a zone.
    pub(super) async fn name_servers(&self, zone: &Name) -> Result<BTreeSet<Name>, LookupError> {
        let answer = self.ask(zone, Rtype::NS).await?;
        Ok(answer.answers.iter().filter(|item| item.name == *zone).filter_map(target).collect())
    }

    /// The addresses of a server.
    pub(super) async fn addresses(&self, name: &Name) -> Result<Vec<SocketAddr>, LookupError> {
        let mut addresses = Vec::new();
        for rtype in [Rtype::A, Rtype::AAAA] {
            let answer = self.ask(name, rtype).await?;
            addresses.extend(answer.answers.iter().filter_map(address));
        }
        Ok(addresses)
    }

    /// All addresses of a host, at the end of whatever aliases, and how long they hold. A name that is not there is an error,
    /// as is one of two families that can't be asked for: half of an answer would take the other half away.
    pub async fn resolve(&self, host: &Name) -> Result<(BTreeSet<IpAddr>, Duration), LookupError> {
        let mut addresses = BTreeSet::new();
        let mut ttl = u32::MAX;
        for rtype in [Rtype::A, Rtype::AAAA] {
            let answer = self.ask(host, rtype).await?;
            if answer.rcode == Rcode::NXDOMAIN {
                return Err(LookupError::NoSuchName { name: host.to_string() });
            }
            for item in &answer.answers {
                addresses.extend(address(item).map(|address| address.ip()));
                ttl = ttl.min(item.ttl);
            }
        }
        Ok((addresses, Duration::from_secs(ttl.into())))
    }

    async fn ask(&self, name: &Name, rtype: Rtype) -> Result<Answer, LookupError> {
        let mut last = LookupError::NoServer { zone: "the resolver".into() };
        for server in &self.servers {
            match ask(*server, name, rtype, Recursion::Desired).await {
                Ok(answer) if [Rcode::NOERROR, Rcode::NXDOMAIN].contains(&answer.rcode) => return Ok(answer),
                Ok(answer) => {
                    last = LookupError::NoAnswer {
                        server: server.to_string(),
                        question: format!("{name} {rtype}"),
                        why: format!("it answers {}", answer.rcode),
                    }
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// The name that a value begins with.
pub(super) fn target(item: &Item) -> Option<Name> {
    let is_name = item.rtype == RecordType::NS;
    is_name.then(|| Name::from_wire(&item.wire).ok())?.map(|(name, _)| name)
}

/// The address that a value is.
pub(super) fn address(item: &Item) -> Option<SocketAddr> {
    let address: IpAddr = match item.rtype {
        RecordType::A => <[u8; 4]>::try_from(&item.wire[..]).ok()?.into(),
        RecordType::AAAA => <[u8; 16]>::try_from(&item.wire[..]).ok()?.into(),
        _other => return None,
    };
    Some(SocketAddr::new(address, PORT))
}

fn name_servers(text: &str) -> impl Iterator<Item = IpAddr> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_servers_are_read() {
        let text = "search example.net\n# nameserver 192.0.2.1\nnameserver 192.0.2.53\nnameserver 2001:db8::53\noptions ndots:5\n";
        let found: Vec<String> = name_servers(text).map(|server| server.to_string()).collect();
        assert_eq!(found, ["192.0.2.53", "2001:db8::53"]);
    }
}
