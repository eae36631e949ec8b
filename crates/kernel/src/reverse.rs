//! The name under which an address is looked up (RFC 1035 section 3.5, RFC 3596 section 2.5).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{
    name::Name,
    rdata::{Rdata, RecordType},
};

/// The address that a value of type A or AAAA is.
pub fn address(rdata: &Rdata) -> Option<IpAddr> {
    match rdata.rtype() {
        RecordType::A => Some(Ipv4Addr::from(<[u8; 4]>::try_from(rdata.wire()).ok()?).into()),
        RecordType::AAAA => Some(Ipv6Addr::from(<[u8; 16]>::try_from(rdata.wire()).ok()?).into()),
        _other => None,
    }
}

/// Where the PTR records of an address stand.
pub fn reverse_name(address: IpAddr) -> Name {
    let text = match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(address) => {
            let nibbles = address.octets().into_iter().rev().flat_map(|octet| [octet & 0xf, octet >> 4]);
            let labels: String = nibbles.map(|nibble| format!("{nibble:x}.")).collect();
            format!("{labels}ip6.arpa")
        }
    };
    Name::parse(&text).expect("digits and dots: every label has one to three characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_turned_around() {
        let name = |text: &str| reverse_name(text.parse().unwrap()).to_string();
        assert_eq!(name("192.0.2.10"), "10.2.0.192.in-addr.arpa");
        // The example of RFC 3596.
        assert_eq!(
            name("4321:0:1:2:3:4:567:89ab"),
            "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa"
        );
    }

    #[test]
    fn values_of_other_types_are_no_addresses() {
        let value = |rtype: &str, text: &str| address(&Rdata::parse(rtype.parse().unwrap(), text).unwrap());
        assert_eq!(value("A", "192.0.2.1"), Some("192.0.2.1".parse().unwrap()));
        assert_eq!(value("AAAA", "2001:db8::1"), Some("2001:db8::1".parse().unwrap()));
        assert_eq!(value("TXT", "192.0.2.1"), None);
    }
}
