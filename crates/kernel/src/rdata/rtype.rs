//! A record type: a number that may have a name.

use std::{fmt, str::FromStr};

use super::{ValueError, row, table};

/// The type of a record; every 16-bit code is one, those in the table have a mnemonic.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordType(u16);

/// Names the codes in one place; the table must hold a row for each (a test says so).
macro_rules! record_types {
    ($($mnemonic:ident = $code:literal, $what:literal;)*) => {
        impl RecordType {
            $(#[doc = $what] pub const $mnemonic: Self = Self($code);)*
        }
        #[cfg(test)]
        const ALL: &[(&str, RecordType)] = &[$((stringify!($mnemonic), RecordType::$mnemonic)),*];
    };
}

record_types! {
    A = 1, "An IPv4 address.";
    NS = 2, "A name server.";
    CNAME = 5, "The canonical name of an alias.";
    SOA = 6, "The start of a zone.";
    PTR = 12, "A pointer to a name, as in reverse zones.";
    MX = 15, "A mail exchange.";
    TXT = 16, "Text.";
    AAAA = 28, "An IPv6 address.";
    LOC = 29, "A place on earth (RFC 1876).";
    SRV = 33, "Where a service is (RFC 2782).";
    NAPTR = 35, "A rewriting rule (RFC 3403).";
    CERT = 37, "A certificate (RFC 4398).";
    DNAME = 39, "The canonical name of a subtree (RFC 6672).";
    DS = 43, "The digest of a delegated zone's key (RFC 4034).";
    SSHFP = 44, "The fingerprint of an SSH host key (RFC 4255).";
    DNSKEY = 48, "A zone's public key (RFC 4034).";
    TLSA = 52, "A certificate association for TLS (RFC 6698).";
    SMIMEA = 53, "A certificate association for S/MIME (RFC 8162).";
    OPENPGPKEY = 61, "An OpenPGP public key (RFC 7929).";
    SVCB = 64, "A service binding (RFC 9460).";
    HTTPS = 65, "A service binding for HTTP origins (RFC 9460).";
    URI = 256, "A URI (RFC 7553).";
    CAA = 257, "Which authorities may issue certificates (RFC 8659).";
}

impl RecordType {
    /// The type with this code, whether it is in the table or not.
    pub const fn from_code(code: u16) -> Self {
        Self(code)
    }

    /// The code on the wire.
    pub const fn code(self) -> u16 {
        self.0
    }

    /// Whether the table has a row for this type; values of others are RFC 3597 only.
    pub fn is_known(self) -> bool {
        row(self).is_some()
    }

    /// The types that users may write, in table order: all rows but SOA, which belongs to the server.
    pub fn known() -> impl Iterator<Item = Self> {
        table::rows().iter().map(|row| row.rtype).filter(|rtype| *rtype != Self::SOA)
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match row(*self) {
            Some(row) => formatter.pad(row.mnemonic),
            None => formatter.pad(&format!("TYPE{}", self.0)),
        }
    }
}

impl fmt::Debug for RecordType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for RecordType {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(row) = table::rows().iter().find(|row| row.mnemonic.eq_ignore_ascii_case(text)) {
            return Ok(row.rtype);
        }
        match text.split_at_checked(4) {
            Some((prefix, digits))
                if prefix.eq_ignore_ascii_case("TYPE")
                    && digits.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                digits.parse().map(Self).map_err(|_| ValueError::NotAType(text.into()))
            }
            _ => Err(ValueError::NotAType(super::error::shorten(text))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_code_has_a_row_with_its_mnemonic() {
        for (mnemonic, rtype) in ALL {
            assert_eq!(row(*rtype).unwrap().mnemonic, *mnemonic);
            assert_eq!(mnemonic.parse::<RecordType>().unwrap(), *rtype);
            assert_eq!(mnemonic.to_lowercase().parse::<RecordType>().unwrap(), *rtype);
        }
        assert_eq!(table::rows().len(), ALL.len());
        assert_eq!(RecordType::known().count(), ALL.len() - 1);
        assert!(RecordType::SOA.is_known());
        assert!(RecordType::known().all(|rtype| rtype != RecordType::SOA));
    }

    #[test]
    fn a_type_without_a_name_is_written_by_its_number() {
        let unknown: RecordType = "type65280".parse().unwrap();
        assert_eq!(unknown.code(), 65280);
        assert_eq!(unknown.to_string(), "TYPE65280");
        assert!(!unknown.is_known());
        assert_eq!("TYPE1".parse::<RecordType>().unwrap(), RecordType::A);
        for bad in ["", "TYPE", "TYPE65536", "TYPE+1", "TYPE-1", "AA", "TYPé1"] {
            let text = bad.parse::<RecordType>().unwrap_err().to_string();
            assert_eq!(text, format!("{bad:?} is not a record type; expected e.g. A or TYPE65280"));
        }
    }
}
