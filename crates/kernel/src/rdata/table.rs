//! The record types: one row each, naming the fields that parser, printer and wire checker walk.

use self::Kind::{
    Base64, CharString, CharStrings, Code8, Code16, Digest, Ipv4, Ipv6, Loc, SvcParams, Tag, Target, Text,
    U8, U16, U32,
};
use super::RecordType;

/// What the crate knows of a record type.
#[derive(Debug)]
pub struct Row {
    /// The type.
    pub rtype: RecordType,
    /// Its name in zone files.
    pub mnemonic: &'static str,
    /// Its fields, in the order of the wire and of the presentation.
    pub fields: &'static [Field],
    /// A value in presentation format that is accepted.
    pub example: &'static str,
}

/// A field of a record type.
#[derive(Debug)]
pub struct Field {
    /// Its name in messages and JSON.
    pub name: &'static str,
    /// How it is written and read.
    pub kind: Kind,
}

/// How a field is written, on the wire and in presentation format.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// One octet, in decimal.
    U8,
    /// Two octets, in decimal.
    U16,
    /// Four octets, in decimal.
    U32,
    /// One octet, in decimal; these mnemonics are read as well.
    Code8(&'static [(&'static str, u8)]),
    /// Two octets, in decimal; these mnemonics are read as well.
    Code16(&'static [(&'static str, u16)]),
    /// A domain name.
    Name,
    /// The host that the record points to.
    Target(Root),
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// One character-string: at most 255 octets after their length.
    CharString,
    /// One or more character-strings, to the end.
    CharStrings,
    /// One or more octets in hexadecimal, to the end; an earlier octet may fix their number.
    Digest {
        /// Where in the value the deciding octet is.
        decided_at: usize,
        /// The lengths that follow from it; other values leave it open.
        lengths: &'static [(u8, usize)],
    },
    /// One or more octets in base64, to the end.
    Base64,
    /// A CAA property: letters and digits after their number, lower-case.
    Tag,
    /// Text without a length, to the end.
    Text(Emptiness),
    /// Service parameters (RFC 9460), to the end; the value starts with the priority.
    SvcParams,
    /// A whole LOC value (RFC 1876).
    Loc,
}

/// Whether a target may be the root, which says that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// It may: null MX, SRV without service, HTTPS in place, CNAME of a response policy zone.
    Allowed,
    /// It may not.
    Refused,
}

/// Whether a text may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emptiness {
    /// It may.
    Allowed,
    /// It may not.
    Refused,
}

/// The row of a type, if it has one.
pub fn row(rtype: RecordType) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.rtype == rtype)
}

/// All rows, in table order.
pub(super) fn rows() -> &'static [Row] {
    ROWS
}

macro_rules! rows {
    ($($rtype:ident [$($field:literal $kind:expr),*] $example:literal;)*) => {
        &[$(Row {
            rtype: RecordType::$rtype,
            mnemonic: stringify!($rtype),
            fields: &[$(Field { name: $field, kind: $kind }),*],
            example: $example,
        }),*]
    };
}

static ROWS: &[Row] = rows! {
    A ["address" Ipv4] "192.0.2.1";
    AAAA ["address" Ipv6] "2001:db8::1";
    CNAME ["target" Target(Root::Allowed)] "www.example.com";
    DNAME ["target" Target(Root::Allowed)] "example.com";
    MX ["preference" U16, "exchange" Target(Root::Allowed)] "10 mail.example.com";
    NS ["target" Target(Root::Refused)] "ns1.example.com";
    TXT ["text" CharStrings] "\"v=spf1 -all\"";
    SRV ["priority" U16, "weight" U16, "port" U16, "target" Target(Root::Allowed)] "10 5 5060 sip.example.com";
    CAA ["flags" U8, "tag" Tag, "value" Text(Emptiness::Allowed)] "0 issue \"ca.example.com\"";
    HTTPS ["priority" U16, "target" Target(Root::Allowed), "value" SvcParams] "1 . alpn=h2,h3";
    SVCB ["priority" U16, "target" Target(Root::Allowed), "value" SvcParams] "1 svc.example.com port=8443";
    TLSA ["usage" U8, "selector" U8, "matching_type" U8, "certificate" ASSOCIATION]
        "3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    SMIMEA ["usage" U8, "selector" U8, "matching_type" U8, "certificate" ASSOCIATION]
        "3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    SSHFP ["algorithm" U8, "type" U8, "fingerprint" Digest { decided_at: 1, lengths: &[(1, 20), (2, 32)] }]
        "4 2 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    DS ["key_tag" U16, "algorithm" Code8(ALGORITHMS), "digest_type" U8, "digest" DIGEST]
        "12345 13 2 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    DNSKEY ["flags" U16, "protocol" U8, "algorithm" Code8(ALGORITHMS), "public_key" Base64]
        "257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=";
    NAPTR ["order" U16, "preference" U16, "flags" CharString, "service" CharString, "regex" CharString,
        "replacement" Kind::Name] "100 10 \"S\" \"SIP+D2U\" \"\" _sip._udp.example.com";
    LOC ["location" Loc] "52 22 23.000 N 4 53 32.000 E -2.00m 1.00m 10000.00m 10.00m";
    URI ["priority" U16, "weight" U16, "target" Text(Emptiness::Refused)] "10 1 \"https://www.example.com/\"";
    PTR ["target" Target(Root::Refused)] "host.example.com";
    CERT ["type" Code16(CERTIFICATES), "key_tag" U16, "algorithm" Code8(ALGORITHMS), "certificate" Base64]
        "PKIX 0 0 MIIBCgKCAQEA";
    OPENPGPKEY ["public_key" Base64] "mQENBFVHm5sBCADA";
    SOA ["mname" Kind::Name, "rname" Kind::Name, "serial" U32, "refresh" U32, "retry" U32, "expire" U32,
        "minimum" U32] "ns1.example.com hostmaster.example.com 1 7200 3600 1209600 3600";
};

/// IANA: TLSA Matching Types.
const ASSOCIATION: Kind = Digest { decided_at: 2, lengths: &[(1, 32), (2, 64)] };

/// IANA: DS Digest Algorithms.
const DIGEST: Kind =
    Digest { decided_at: 3, lengths: &[(1, 20), (2, 32), (3, 32), (4, 48), (5, 32), (6, 32)] };

/// IANA: DNS Security Algorithm Numbers; and three spellings of BIND's.
const ALGORITHMS: &[(&str, u8)] = &[
    ("RSAMD5", 1),
    ("DH", 2),
    ("DSA", 3),
    ("RSASHA1", 5),
    ("DSA-NSEC3-SHA1", 6),
    ("NSEC3DSA", 6),
    ("RSASHA1-NSEC3-SHA1", 7),
    ("NSEC3RSASHA1", 7),
    ("RSASHA256", 8),
    ("RSASHA512", 10),
    ("ECC-GOST", 12),
    ("ECCGOST", 12),
    ("ECDSAP256SHA256", 13),
    ("ECDSAP384SHA384", 14),
    ("ED25519", 15),
    ("ED448", 16),
    ("INDIRECT", 252),
    ("PRIVATEDNS", 253),
    ("PRIVATEOID", 254),
];

/// IANA: CERT RR Certificate Types.
const CERTIFICATES: &[(&str, u16)] = &[
    ("PKIX", 1),
    ("SPKI", 2),
    ("PGP", 3),
    ("IPKIX", 4),
    ("ISPKI", 5),
    ("IPGP", 6),
    ("ACPKIX", 7),
    ("IACPKIX", 8),
    ("URI", 253),
    ("OID", 254),
];
