//! Values of each type as users write them: what they become, and what a user reads where they are wrong.

#![allow(clippy::unwrap_used, clippy::panic)]

use zonekeeper_kernel::{
    name::Name,
    rdata::{FieldKind, Rdata, RecordType, row},
};

/// Type, value as written, canonical form, wire form. SVCB: RFC 9460 appendix D. LOC: RFC 1876 section 4.
#[rustfmt::skip]
const GOOD: &[(&str, &str, &str, &str)] = &[
    ("A", "192.0.2.1", "192.0.2.1", "c0000201"),
    ("A", " 192.0.2.255 ", "192.0.2.255", "c00002ff"),
    ("A", r#"\# 4 C0 00 02 01"#, "192.0.2.1", "c0000201"),
    ("AAAA", "2001:DB8:0:0:0:0:0:1", "2001:db8::1", "20010db8000000000000000000000001"),
    ("AAAA", "2001:db8::192.0.2.1", "2001:db8::c000:201", "20010db80000000000000000c0000201"),
    ("CNAME", "WWW.Example.COM", "www.example.com.", "03777777076578616d706c6503636f6d00"),
    ("CNAME", "bücher.example.com.", "xn--bcher-kva.example.com.", "0d786e2d2d62636865722d6b7661076578616d706c6503636f6d00"),
    ("CNAME", ".", ".", "00"),
    ("DNAME", "example.com.", "example.com.", "076578616d706c6503636f6d00"),
    ("MX", "10 mail.example.com", "10 mail.example.com.", "000a046d61696c076578616d706c6503636f6d00"),
    ("MX", "0 .", "0 .", "000000"),
    ("NS", "ns1.example.com", "ns1.example.com.", "036e7331076578616d706c6503636f6d00"),
    ("PTR", "host.example.com", "host.example.com.", "04686f7374076578616d706c6503636f6d00"),
    ("TXT", "v=spf1 include:_spf.example.com ~all", r#""v=spf1 include:_spf.example.com ~all""#, "24763d7370663120696e636c7564653a5f7370662e6578616d706c652e636f6d207e616c6c"),
    ("TXT", r#"  a\b;c "d" "#, r#""  a\\b;c \"d\" ""#, "0c2020615c623b632022642220"),
    ("TXT", r#""a" "b c"d"#, r#""a" "b c" "d""#, "0161036220630164"),
    ("TXT", r#""\"\\\065\200""#, r#""\"\\A\200""#, "04225c41c8"),
    ("TXT", r#""""#, r#""""#, "00"),
    ("TXT", "é", r#""\195\169""#, "02c3a9"),
    ("SRV", "10 5 5060 sip.example.com", "10 5 5060 sip.example.com.", "000a000513c403736970076578616d706c6503636f6d00"),
    ("SRV", "0 0 0 .", "0 0 0 .", "00000000000000"),
    ("CAA", "0 ISSUE ca.example.com", r#"0 issue "ca.example.com""#, "0005697373756563612e6578616d706c652e636f6d"),
    ("CAA", "128 issue ;", r#"128 issue ";""#, "800569737375653b"),
    ("CAA", r#"0 iodef "mailto:a@example.com""#, r#"0 iodef "mailto:a@example.com""#, "0005696f6465666d61696c746f3a61406578616d706c652e636f6d"),
    ("CAA", "0 issue ca.example.com; policy=ev", r#"0 issue "ca.example.com; policy=ev""#, "0005697373756563612e6578616d706c652e636f6d3b20706f6c6963793d6576"),
    ("CAA", r#"0 issuewild """#, r#"0 issuewild """#, "0009697373756577696c64"),
    ("HTTPS", "0 foo.example.com.", "0 foo.example.com.", "000003666f6f076578616d706c6503636f6d00"),
    ("SVCB", "1 .", "1 .", "000100"),
    ("SVCB", "16 foo.example.com. port=53", "16 foo.example.com. port=53", "001003666f6f076578616d706c6503636f6d00000300020035"),
    ("SVCB", r#"1 . key667=a\ "#, r#"1 . key667="a ""#, "000100029b00026120"),
    ("SVCB", "1 foo.example.com. key667=hello", r#"1 foo.example.com. key667="hello""#, "000103666f6f076578616d706c6503636f6d00029b000568656c6c6f"),
    ("SVCB", r#"1 foo.example.com. key667="hello\210qoo""#, r#"1 foo.example.com. key667="hello\210qoo""#, "000103666f6f076578616d706c6503636f6d00029b000968656c6c6fd2716f6f"),
    ("SVCB", r#"1 foo.example.com. ipv6hint="2001:db8::1,2001:db8::53:1""#, "1 foo.example.com. ipv6hint=2001:db8::1,2001:db8::53:1", "000103666f6f076578616d706c6503636f6d000006002020010db800000000000000000000000120010db8000000000000000000530001"),
    ("SVCB", r#"1 example.com. ipv6hint="2001:db8:122:344::192.0.2.33""#, "1 example.com. ipv6hint=2001:db8:122:344::c000:221", "0001076578616d706c6503636f6d000006001020010db80122034400000000c0000221"),
    ("SVCB", "16 foo.example.com. alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1", r#"16 foo.example.com. mandatory=alpn,ipv4hint alpn="h2,h3-19" ipv4hint=192.0.2.1"#, "001003666f6f076578616d706c6503636f6d000000000400010004000100090268320568332d313900040004c0000201"),
    ("SVCB", r#"16 foo.example.com. alpn="f\\\\oo\\,bar,h2""#, r#"16 foo.example.com. alpn="f\\\\oo\\,bar,h2""#, "001003666f6f076578616d706c6503636f6d000001000c08665c6f6f2c626172026832"),
    ("SVCB", r#"16 foo.example.com. alpn=f\\\092oo\092,bar,h2"#, r#"16 foo.example.com. alpn="f\\\\oo\\,bar,h2""#, "001003666f6f076578616d706c6503636f6d000001000c08665c6f6f2c626172026832"),
    ("HTTPS", r#"1 . ech=AEX+DQA= no-default-alpn alpn="h3" dohpath=/dns-query{?dns} ohttp"#, r#"1 . alpn="h3" no-default-alpn ech=AEX+DQA= dohpath="/dns-query{?dns}" ohttp"#, "0001000001000302683300020000000500050045fe0d00000700102f646e732d71756572797b3f646e737d00080000"),
    ("TLSA", "3 1 1 E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855", "3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "030101e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("TLSA", "0 0 0 30 82 0a", "0 0 0 30820a", "00000030820a"),
    ("SMIMEA", "3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "030101e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("SSHFP", "4 2 e3b0c44298fc1c149afbf4c8996fb924 27ae41e4649b934ca495991b7852b855", "4 2 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "0402e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("DS", "12345 ECDSAP256SHA256 2 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "12345 13 2 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "30390d02e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("DNSKEY", "257 3 ed25519 l02Woi0iS8Aa25FQkUd9 RMzZHJpBoRQwAQEX1SxZJA4=", "257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=", "0101030f974d96a22d224bc01adb915091477d44ccd91c9a41a11430010117d52c59240e"),
    ("NAPTR", r#"100 10 S SIP+D2U "" _sip._udp.example.com"#, r#"100 10 "S" "SIP+D2U" "" _sip._udp.example.com."#, "0064000a0153075349502b44325500045f736970045f756470076578616d706c6503636f6d00"),
    ("NAPTR", r#"100 50 "u" "E2U+sip" "!^.*$!sip:info@example.com!" ."#, r#"100 50 "u" "E2U+sip" "!^.*$!sip:info@example.com!" ."#, "006400320175074532552b7369701b215e2e2a24217369703a696e666f406578616d706c652e636f6d2100"),
    ("LOC", "42 21 54 N 71 06 18 W -24m 30m", "42 21 54.000 N 71 6 18.000 W -24.00m 30.00m 10000.00m 10.00m", "0033161389172dd070be15f000988d20"),
    ("LOC", "52 22 23.123 n 4 e 0", "52 22 23.123 N 4 0 0.000 E 0.00m 1.00m 10000.00m 10.00m", "001216138b3cf09380dbba0000989680"),
    ("LOC", "90 S 180 W 42849672.95m 0 0.05m 90000000m", "90 0 0.000 S 180 0 0.000 W 42849672.95m 0.00m 0.05m 90000000.00m", "000050996cb0270059604e00ffffffff"),
    ("LOC", "0 0 0 N 0 0 0 E 0 25m", "0 0 0.000 N 0 0 0.000 E 0.00m 20.00m 10000.00m 10.00m", "00231613800000008000000000989680"),
    ("URI", "10 1 https://www.example.com/a b", r#"10 1 "https://www.example.com/a b""#, "000a000168747470733a2f2f7777772e6578616d706c652e636f6d2f612062"),
    ("URI", r#"10 1 "ftp://ftp.example.com/""#, r#"10 1 "ftp://ftp.example.com/""#, "000a00016674703a2f2f6674702e6578616d706c652e636f6d2f"),
    ("CERT", "PKIX 0 RSASHA256 MIIB CgKC AQEA", "1 0 8 MIIBCgKCAQEA", "00010000083082010a0282010100"),
    ("OPENPGPKEY", "mQENBFVH m5sBCADA", "mQENBFVHm5sBCADA", "99010d0455479b9b010800c0"),
    ("SOA", r#"ns1.example.com Host\.Master.example.com 2026111500 7200 3600 1209600 4294967295"#, r#"ns1.example.com. host\.master.example.com. 2026111500 7200 3600 1209600 4294967295"#, "036e7331076578616d706c6503636f6d000b686f73742e6d6173746572076578616d706c6503636f6d0078c4020c00001c2000000e1000127500ffffffff"),
    ("TYPE65280", r#"\# 3 AB CDef"#, r#"\# 3 abcdef"#, "abcdef"),
    ("TYPE65280", r#"\# 0"#, r#"\# 0"#, ""),
];

/// Type, value as written, the message that a user reads.
#[rustfmt::skip]
const BAD: &[(&str, &str, &str)] = &[
    ("A", "192.0.2.256", r#"A: address "192.0.2.256" is not an IPv4 address; expected e.g. 192.0.2.1"#),
    ("A", "192.0.2.01", r#"A: address "192.0.2.01" is not an IPv4 address; expected e.g. 192.0.2.1"#),
    ("A", "", "A: address is missing; expected e.g. 192.0.2.1"),
    ("A", "192.0.2.1 192.0.2.2", r#"A: "192.0.2.2" is too much; expected e.g. 192.0.2.1"#),
    ("A", "2001:db8::1", r#"A: address "2001:db8::1" is not an IPv4 address; expected e.g. 192.0.2.1"#),
    ("A", r#"\# 3 c00002"#, "A: the wire form of address is cut off"),
    ("A", r#"\# 4 c00002"#, r#"A: "\\# 4 c00002" is not an RFC 3597 value; expected e.g. \# 4 c0000201"#),
    ("AAAA", "192.0.2.1", r#"AAAA: address "192.0.2.1" is not an IPv6 address; expected e.g. 2001:db8::1"#),
    ("AAAA", "2001:db8::1::", r#"AAAA: address "2001:db8::1::" is not an IPv6 address; expected e.g. 2001:db8::1"#),
    ("CNAME", "192.0.2.1", r#"CNAME: target "192.0.2.1" is an IP address, not a name; use an A or AAAA record for addresses; expected e.g. www.example.com"#),
    ("CNAME", "a b", r#"CNAME: "b" is too much; expected e.g. www.example.com"#),
    ("CNAME", "a..example.com", r#"CNAME: target "a..example.com" is not a domain name ("a..example.com" has an empty label; write each label once, separated by single dots); expected e.g. www.example.com"#),
    ("DNAME", "2001:db8::1", r#"DNAME: target "2001:db8::1" is an IP address, not a name; use an A or AAAA record for addresses; expected e.g. example.com"#),
    ("MX", "abc mail.example.com", r#"MX: preference "abc" is not a number from 0 to 65535; expected e.g. 10 mail.example.com"#),
    ("MX", "10", "MX: exchange is missing; expected e.g. 10 mail.example.com"),
    ("MX", "10 192.0.2.1", r#"MX: exchange "192.0.2.1" is an IP address, not a name; use an A or AAAA record for addresses; expected e.g. 10 mail.example.com"#),
    ("MX", "mail.example.com", r#"MX: preference "mail.example.com" is not a number from 0 to 65535; expected e.g. 10 mail.example.com"#),
    ("NS", ".", r#"NS: target "." is the root, which is no host; expected e.g. ns1.example.com"#),
    ("PTR", ".", r#"PTR: target "." is the root, which is no host; expected e.g. host.example.com"#),
    ("TXT", "", r#"TXT: text is missing; expected e.g. "v=spf1 -all""#),
    ("TXT", r#""a"#, r#"TXT: text "\"a" has no closing quote; expected e.g. "v=spf1 -all""#),
    ("TXT", r#""\256""#, r#"TXT: text "\\256" has a bad escape; write \\, \" or \000 to \255; expected e.g. "v=spf1 -all""#),
    ("TXT", r#""a" b"c"#, r#"TXT: text "b\"c" has a quote in the middle; write \" or quote all of it; expected e.g. "v=spf1 -all""#),
    ("SRV", "10 5 65536 sip.example.com", r#"SRV: port "65536" is not a number from 0 to 65535; expected e.g. 10 5 5060 sip.example.com"#),
    ("SRV", "10 5 5060 2001:db8::1", r#"SRV: target "2001:db8::1" is an IP address, not a name; use an A or AAAA record for addresses; expected e.g. 10 5 5060 sip.example.com"#),
    ("CAA", r#"256 issue "x""#, r#"CAA: flags "256" is not a number from 0 to 255; expected e.g. 0 issue "ca.example.com""#),
    ("CAA", r#"0 is-sue "x""#, r#"CAA: tag "is-sue" is not made of letters and digits; expected e.g. 0 issue "ca.example.com""#),
    ("CAA", "0 issue", r#"CAA: value is missing; expected e.g. 0 issue "ca.example.com""#),
    ("CAA", r#"0 issue "x" "y""#, r#"CAA: "\"y\"" is too much; expected e.g. 0 issue "ca.example.com""#),
    ("HTTPS", "0 . alpn=h2", r#"HTTPS: value "alpn=h2" must be empty after priority 0, which makes an alias; expected e.g. 1 . alpn=h2,h3"#),
    ("HTTPS", "1 . alpn", r#"HTTPS: value "alpn=" is not a list of protocols of 1 to 255 octets; expected e.g. 1 . alpn=h2,h3"#),
    ("HTTPS", "1 . port=99999", r#"HTTPS: value "port=99999" is not a number from 0 to 65535; expected e.g. 1 . alpn=h2,h3"#),
    ("HTTPS", "1 . nonsense=1", r#"HTTPS: value "nonsense" is not a service parameter key; expected e.g. 1 . alpn=h2,h3"#),
    ("HTTPS", "1 . no-default-alpn", r#"HTTPS: value "no-default-alpn" has no-default-alpn without alpn; expected e.g. 1 . alpn=h2,h3"#),
    ("HTTPS", r#"1 . alpn="h2"port=1"#, r#"HTTPS: value "port=1" follows a quoted value without a blank; expected e.g. 1 . alpn=h2,h3"#),
    ("SVCB", "1 . key123=a key123=b", r#"SVCB: value "key123" is there twice; expected e.g. 1 svc.example.com port=8443"#),
    ("SVCB", "1 . mandatory=key123", r#"SVCB: value "mandatory=key123" has mandatory listing key123, which is not there; expected e.g. 1 svc.example.com port=8443"#),
    ("SVCB", "1 . mandatory=mandatory", r#"SVCB: value "mandatory=mandatory" has mandatory listing itself; expected e.g. 1 svc.example.com port=8443"#),
    ("SVCB", "1 . mandatory=key123,key123 key123=a", r#"SVCB: value "mandatory=key123,key123 key123=a" has a bad value for mandatory; expected e.g. 1 svc.example.com port=8443"#),
    ("SVCB", "1 . ipv4hint=2001:db8::1", r#"SVCB: value "ipv4hint=2001:db8::1" is not a list of IPv4 addresses; expected e.g. 1 svc.example.com port=8443"#),
    ("SVCB", "1 . ipv6hint", r#"SVCB: value "ipv6hint=" is not a list of IPv6 addresses; expected e.g. 1 svc.example.com port=8443"#),
    ("SVCB", "1 . no-default-alpn=x alpn=h2", r#"SVCB: value "no-default-alpn=x" has a value; it takes none; expected e.g. 1 svc.example.com port=8443"#),
    ("SVCB", "1 . key65535=x", r#"SVCB: value "key65535" is not a service parameter key; expected e.g. 1 svc.example.com port=8443"#),
    ("SVCB", "1 . key007=x", r#"SVCB: value "key007" is not a service parameter key; expected e.g. 1 svc.example.com port=8443"#),
    ("SVCB", "1 . ech=x", r#"SVCB: value "ech=x" is not base64; expected e.g. 1 svc.example.com port=8443"#),
    ("TLSA", "3 1 1 abcd", r#"TLSA: certificate "abcd" has 2 octets, but type 1 has 32 (64 hexadecimal digits); expected e.g. 3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"#),
    ("TLSA", "3 1 2 xy", r#"TLSA: certificate "xy" is not hexadecimal; expected e.g. 3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"#),
    ("SMIMEA", "3 1 1", "SMIMEA: certificate is missing; expected e.g. 3 1 1 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("SSHFP", "4 1 abcd", r#"SSHFP: fingerprint "abcd" has 2 octets, but type 1 has 20 (40 hexadecimal digits); expected e.g. 4 2 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"#),
    ("DS", "12345 NONE 2 abcd", r#"DS: algorithm "NONE" is neither a number from 0 to 255 nor a known mnemonic; expected e.g. 12345 13 2 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"#),
    ("DS", "12345 13 2 abcd", r#"DS: digest "abcd" has 2 octets, but type 2 has 32 (64 hexadecimal digits); expected e.g. 12345 13 2 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"#),
    ("DNSKEY", "257 3 13 a-b", r#"DNSKEY: public_key "a-b" is not base64; expected e.g. 257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4="#),
    ("NAPTR", r#"1 2 "" "" ""#, r#"NAPTR: regex "\"" has no closing quote; expected e.g. 100 10 "S" "SIP+D2U" "" _sip._udp.example.com"#),
    ("NAPTR", r#"1 2 "" "" """#, r#"NAPTR: replacement is missing; expected e.g. 100 10 "S" "SIP+D2U" "" _sip._udp.example.com"#),
    ("LOC", "91 N 0 E 0m", r#"LOC: location "91" is not a number from 0 to 90; expected e.g. 52 22 23.000 N 4 53 32.000 E -2.00m 1.00m 10000.00m 10.00m"#),
    ("LOC", "52 60 N 4 E 0m", r#"LOC: location "60" is not a number from 0 to 59; expected e.g. 52 22 23.000 N 4 53 32.000 E -2.00m 1.00m 10000.00m 10.00m"#),
    ("LOC", "52 22", r#"LOC: location "52 22" is incomplete; expected e.g. 52 22 23.000 N 4 53 32.000 E -2.00m 1.00m 10000.00m 10.00m"#),
    ("LOC", "52 N 4 E 0m 1m 1m 1m 1m", r#"LOC: location "1m" follows the vertical precision, which is the last part; expected e.g. 52 22 23.000 N 4 53 32.000 E -2.00m 1.00m 10000.00m 10.00m"#),
    ("LOC", "90 0 0.001 N 0 E 0m", r#"LOC: location "N" follows more than 90 degrees; expected e.g. 52 22 23.000 N 4 53 32.000 E -2.00m 1.00m 10000.00m 10.00m"#),
    ("LOC", "52 N 4 E x", r#"LOC: location "x" is not an altitude from -100000.00 to 42849672.95 metres; expected e.g. 52 22 23.000 N 4 53 32.000 E -2.00m 1.00m 10000.00m 10.00m"#),
    ("URI", r#"10 1 """#, r#"URI: target "\"\"" is empty; expected e.g. 10 1 "https://www.example.com/""#),
    ("CERT", "NOPE 0 0 AAAA", r#"CERT: type "NOPE" is neither a number from 0 to 65535 nor a known mnemonic; expected e.g. PKIX 0 0 MIIBCgKCAQEA"#),
    ("OPENPGPKEY", "", "OPENPGPKEY: public_key is missing; expected e.g. mQENBFVHm5sBCADA"),
    ("SOA", "ns1.example.com. hostmaster.example.com. 4294967296 1 1 1 1", r#"SOA: serial "4294967296" is not a number from 0 to 4294967295; expected e.g. ns1.example.com hostmaster.example.com 1 7200 3600 1209600 3600"#),
    ("TYPE65280", "192.0.2.1", r#"TYPE65280: "192.0.2.1" is not an RFC 3597 value; expected e.g. \# 4 c0000201"#),
];

#[test]
fn good_values_have_one_text_and_one_wire_form() {
    for (rtype, written, canonical, wire) in GOOD {
        let value = parse(rtype, written).unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(value.to_string(), *canonical);
        assert_eq!(hex(value.wire()), *wire, "{written}");
        assert_eq!(format!("{value:?}"), format!("{rtype} {canonical}"));
        assert_eq!(parse(rtype, canonical).as_ref(), Ok(&value));
        assert_eq!(Rdata::from_wire(value.rtype(), value.wire()).as_ref(), Ok(&value));
    }
}

#[test]
fn bad_values_say_what_is_wrong_and_what_is_right() {
    for (rtype, written, message) in BAD {
        match parse(rtype, written) {
            Ok(value) => panic!("{rtype} {written} was accepted as {value}"),
            Err(error) => assert_eq!(error.to_string(), *message, "{rtype} {written}"),
        }
    }
}

#[test]
fn every_type_has_vectors_and_an_example_that_is_accepted() {
    for rtype in RecordType::known().chain([RecordType::SOA]) {
        let is_here = |there: &str| there == rtype.to_string();
        assert!(GOOD.iter().any(|(there, ..)| is_here(there)), "{rtype} has no good vector");
        assert!(BAD.iter().any(|(there, ..)| is_here(there)), "{rtype} has no bad vector");
        Rdata::parse(rtype, row(rtype).unwrap().example).unwrap();
    }
}

#[test]
fn a_long_text_is_split_at_255_octets() {
    let value = parse("TXT", &"x".repeat(600)).unwrap();
    let lengths = [value.wire()[0], value.wire()[256], value.wire()[512]];
    assert_eq!(lengths, [255, 255, 90]);
    assert_eq!(parse("TXT", &format!("\"{}\"", "x".repeat(600))).unwrap(), value);
    assert_eq!(Rdata::from_fields(RecordType::TXT, &[&"x".repeat(600)]).unwrap(), value);
    assert_eq!(value.fields()[0].text, "x".repeat(600));
}

#[test]
fn a_value_over_65535_octets_is_refused() {
    let error = parse("TXT", &"x".repeat(65_535)).unwrap_err();
    assert_eq!(error.to_string(), "TXT: the value has 65792 octets; at most 65535 are allowed");
    let error = Rdata::from_wire(RecordType::from_code(65_280), &[0; 65_536]).unwrap_err();
    assert_eq!(error.reason(), "ValueTooLong");
}

#[test]
fn fields_are_named_and_free_of_quotes_and_dots() {
    let fields = |rtype, text| {
        let fields = parse(rtype, text).unwrap().fields();
        fields.into_iter().map(|field| format!("{}={}", field.name, field.text)).collect::<Vec<_>>()
    };
    assert_eq!(
        fields("SRV", "10 5 5060 sip.example.com."),
        ["priority=10", "weight=5", "port=5060", "target=sip.example.com"]
    );
    assert_eq!(fields("CAA", "0 issue \"a\\\"b\""), ["flags=0", "tag=issue", "value=a\"b"]);
    assert_eq!(
        fields("HTTPS", "1 . port=443 alpn=h2"),
        ["priority=1", "target=.", "value=alpn=\"h2\" port=443"]
    );
    assert_eq!(
        fields("LOC", "52 22 23 N 4 53 32 E -2m"),
        [
            "lat_degrees=52",
            "lat_minutes=22",
            "lat_seconds=23.000",
            "lat_direction=N",
            "long_degrees=4",
            "long_minutes=53",
            "long_seconds=32.000",
            "long_direction=E",
            "altitude=-2.00",
            "size=1.00",
            "precision_horz=10000.00",
            "precision_vert=10.00"
        ]
    );
    assert_eq!(fields("TYPE65280", "\\# 1 00"), ["rdata=\\# 1 00"]);
    let kinds: Vec<_> =
        parse("MX", "10 a.example.com").unwrap().fields().into_iter().map(|field| field.kind).collect();
    assert_eq!(kinds, [FieldKind::Number, FieldKind::Text]);
}

#[test]
fn fields_are_taken_literally() {
    let from = |rtype: &str, fields: &[&str]| {
        Rdata::from_fields(rtype.parse().unwrap(), fields).unwrap().to_string()
    };
    assert_eq!(from("TXT", &["a\\b \"c\"", ""]), r#""a\\b \"c\"" """#);
    assert_eq!(from("CAA", &["0", "issue", "\"x\""]), r#"0 issue "\"x\"""#);
    assert_eq!(from("HTTPS", &["1", ".", "port=443", "alpn=\"h2\""]), "1 . alpn=\"h2\" port=443");
    assert_eq!(from("HTTPS", &["1", ".", "port=443 alpn=h2"]), "1 . alpn=\"h2\" port=443");
    assert_eq!(from("NAPTR", &["1", "2", "", "a b", "", "."]), r#"1 2 "" "a b" "" ."#);
    let error = Rdata::from_fields(RecordType::A, &["192.0.2.1", "192.0.2.2"]).unwrap_err();
    assert_eq!(error.to_string(), "A: \"192.0.2.2\" is too much; expected e.g. 192.0.2.1");
}

#[test]
fn a_value_knows_the_host_it_points_to() {
    let target = |rtype, text| parse(rtype, text).unwrap().target();
    let host = Name::parse("host.example.com").unwrap();
    for rtype in ["CNAME", "DNAME", "NS", "PTR"] {
        assert_eq!(target(rtype, "Host.example.com"), Some(host.clone()));
    }
    assert_eq!(target("MX", "10 host.example.com"), Some(host.clone()));
    assert_eq!(target("SRV", "0 0 1 host.example.com"), Some(host.clone()));
    assert_eq!(target("HTTPS", "1 host.example.com alpn=h2"), Some(host));
    assert_eq!(target("SVCB", "1 ."), Some(Name::root()));
    assert_eq!(target("NAPTR", "1 1 a a a host.example.com"), None);
    assert_eq!(target("A", "192.0.2.1"), None);
}

#[test]
fn a_wire_form_is_checked_and_made_canonical() {
    let wire = |rtype: &str, octets: &[u8]| {
        Rdata::from_wire(rtype.parse().unwrap(), octets).map(|value| value.to_string())
    };
    assert_eq!(wire("CNAME", b"\x03WwW\x07eXample\x03com\0").unwrap(), "www.example.com.");
    assert_eq!(wire("CAA", b"\0\x05ISSUEx").unwrap(), "0 issue \"x\"");
    for (rtype, octets, message) in [
        ("A", &b"\xc0\0\x02"[..], "A: the wire form of address is cut off"),
        ("A", b"\xc0\0\x02\x01\0", "A: the wire form of address is followed by 1 octets too many"),
        ("CNAME", b"\xc0\x0c", "CNAME: the wire form of target is a compressed name"),
        ("CNAME", b"\x03www", "CNAME: the wire form of target is cut off"),
        ("NS", b"\0", "NS: the wire form of target is the root, which is no host"),
        ("TXT", b"", "TXT: the wire form of text is empty"),
        ("TXT", b"\x02a", "TXT: the wire form of text is cut off"),
        ("CAA", b"\0\x00", "CAA: the wire form of tag is not made of letters and digits"),
        ("HTTPS", b"\0\x01\0\0\x03\0\x01\0", "HTTPS: the wire form of value has a bad value for port"),
        (
            "HTTPS",
            b"\0\x01\0\0\x08\0\0\0\x08\0\0",
            "HTTPS: the wire form of value has keys that are repeated or not in ascending order",
        ),
        ("LOC", &[1; 16], "LOC: the wire form of location has a version other than 0"),
    ] {
        assert_eq!(wire(rtype, octets).unwrap_err().to_string(), message);
    }
    let long = [&[63; 1][..], &[b'a'; 63]].concat().repeat(4);
    assert_eq!(
        wire("CNAME", &[&long[..], &[0]].concat()).unwrap_err().to_string(),
        "CNAME: the wire form of target is a name of more than 255 octets"
    );
}

fn parse(rtype: &str, text: &str) -> Result<Rdata, zonekeeper_kernel::rdata::ValueError> {
    Rdata::parse(rtype.parse().unwrap(), text)
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
