//! Who speaks for a zone: what its SOA and NS records say.

use std::collections::BTreeSet;

use zonekeeper_kernel::{
    name::Name,
    rdata::{Rdata, RecordType},
    record::Ttl,
};

use super::tree::{SERVER, Stored};

/// What a zone's SOA record and the NS records of its apex say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    /// The server that changes are made at.
    pub primary: Name,
    /// The mailbox of the person in charge, its `@` written as a dot.
    pub mailbox: Name,
    /// How often secondaries look for changes, in seconds.
    pub refresh: u32,
    /// How soon they look again after a failure, in seconds.
    pub retry: u32,
    /// How long they serve without having reached us, in seconds.
    pub expire: u32,
    /// How long the absence of a record is remembered, in seconds.
    pub minimum: u32,
    /// The TTL of the SOA and NS records themselves.
    pub ttl: u32,
    /// The servers that answer for the zone; the primary alone where there are none.
    pub name_servers: Vec<Name>,
}

// === impl Authority ===

impl Authority {
    /// The primary is `ns`, the mailbox `hostmaster`, both in the domain; absence is remembered for a minute.
    pub fn default_for(domain: &Name) -> Self {
        // A domain with less than 11 octets of room keeps its own name: still a valid SOA.
        let within = |label: &str| Name::parse_under(label, domain).unwrap_or_else(|_| domain.clone());
        Self {
            primary: within("ns"),
            mailbox: within("hostmaster"),
            refresh: 3600,
            retry: 600,
            expire: 604_800,
            minimum: 60,
            ttl: 300,
            name_servers: Vec::new(),
        }
    }

    /// The servers that answer for the zone.
    pub(super) fn servers(&self) -> &[Name] {
        if self.name_servers.is_empty() { std::slice::from_ref(&self.primary) } else { &self.name_servers }
    }

    /// The SOA record with this serial number.
    pub(super) fn soa(&self, serial: u32) -> Stored {
        let mut wire = Vec::with_capacity(64);
        self.primary.to_wire(&mut wire);
        self.mailbox.to_wire(&mut wire);
        for number in [serial, self.refresh, self.retry, self.expire, self.minimum] {
            wire.extend_from_slice(&number.to_be_bytes());
        }
        let rdata = Rdata::from_wire(RecordType::SOA, &wire).expect("two whole names and five numbers");
        Stored { rdata, ttl: Ttl(self.ttl), id: SERVER }
    }

    /// The NS records of the apex, each server once; the root is no server.
    pub(super) fn ns(&self) -> Vec<Stored> {
        let servers: BTreeSet<&Name> = self.servers().iter().collect();
        let values = servers.into_iter().filter_map(|server| {
            let mut wire = Vec::with_capacity(32);
            server.to_wire(&mut wire);
            Rdata::from_wire(RecordType::NS, &wire).ok()
        });
        values.map(|rdata| Stored { rdata, ttl: Ttl(self.ttl), id: SERVER }).collect()
    }
}

/// How long the absence of a record is remembered, by the SOA's last field (RFC 2308 section 4).
pub(super) fn minimum_of(soa: &Rdata) -> u32 {
    soa.wire().last_chunk().copied().map_or(0, u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_authority_lies_in_its_domain() {
        let authority = Authority::default_for(&Name::parse("example.com").unwrap());
        let soa = authority.soa(7);
        assert_eq!(soa.rdata.to_string(), "ns.example.com. hostmaster.example.com. 7 3600 600 604800 60");
        assert_eq!(minimum_of(&soa.rdata), 60);
        assert_eq!(authority.ns()[0].rdata.to_string(), "ns.example.com.");
    }
}
