//! Every record type of the kernel's table, and those that are not in it.

use dns_servers::Software;
use zonekeeper_kernel::rdata::{Rdata, RecordType, row};
use zonekeeper_tests::wish::{Wish, want};

use crate::ground::{Ground, Host};

/// A second value for every type; the first is the table's own example.
const OTHERS: &[(&str, &str)] = &[
    ("A", "192.0.2.2"),
    ("AAAA", "2001:db8::2"),
    ("CNAME", "other.example.net"),
    ("DNAME", "other.example.net"),
    ("MX", "20 other.example.net"),
    ("NS", "ns2.example.net"),
    ("TXT", "\"another text\""),
    ("SRV", "20 6 5061 other.example.net"),
    ("CAA", "128 issuewild \"ca.example.net; policy=ev\""),
    ("HTTPS", "2 svc.example.net alpn=h3 port=8443 ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1"),
    ("SVCB", "0 alias.example.net"),
    ("TLSA", "2 0 0 30820122300d"),
    ("SMIMEA", "2 0 0 30820122300d"),
    ("SSHFP", "1 1 da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    (
        "DS",
        "54321 15 4 38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b",
    ),
    (
        "DNSKEY",
        "256 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==",
    ),
    ("NAPTR", "10 20 \"U\" \"E2U+sip\" \"!^(.*)$!sip:\\\\1@example.net!\" ."),
    ("LOC", "33 51 35.900 S 151 12 40.123 W 123.45m 30.00m 2000.00m 5.00m"),
    ("URI", "20 2 \"ftp://ftp.example.net/public?a=b\""),
    ("PTR", "other.example.net"),
    ("CERT", "3 12345 8 MIIBCgKCAQEAAAAA"),
    ("OPENPGPKEY", "mQENBFVHm5sBCADAAAAA"),
];

pub async fn every_type_is_created_read_back_updated_and_deleted(ground: &mut Ground) {
    ground.allow_dnskey().await;
    let capabilities = &ground.stage.access.traits().capabilities;
    let (supported, skipped): (Vec<RecordType>, Vec<RecordType>) =
        RecordType::known().partition(|rtype| capabilities.types.contain(*rtype));
    let expected: &[RecordType] = match ground.place.host {
        Host::MemoryCloudflare | Host::Cloudflare(_) | Host::CloudflareInDoubt => &[RecordType::DNAME],
        Host::MemoryStandard | Host::Builtin | Host::Server(_) => &[],
    };
    assert_eq!(skipped, expected, "types that the place declares not to take");
    // PowerDNS 4.7 says yes to a DNSKEY and ignores it (2026-11).
    let is_ignored = |rtype: &RecordType| {
        ground.place.host == Host::Server(Software::PowerDns) && *rtype == RecordType::DNSKEY
    };
    let supported: Vec<RecordType> = supported.into_iter().filter(|rtype| !is_ignored(rtype)).collect();

    let all = |value_of: fn(RecordType) -> &'static str| -> Vec<Wish> {
        let mut wishes: Vec<Wish> = supported
            .iter()
            .map(|rtype| want(&rtype.to_string(), &name_of(*rtype), [value_of(*rtype)]))
            .collect();
        // Cloudflare takes a DS record only beside its delegation.
        wishes.push(want("NS", &name_of(RecordType::DS), ["ns1.example.net"]));
        wishes
    };
    ground.settle(&all(example)).await;
    for rtype in &supported {
        ground.holds(&name_of(*rtype), &rtype.to_string(), [example(*rtype)]).await;
    }
    ground.settle(&all(other)).await;
    for rtype in &supported {
        ground.holds(&name_of(*rtype), &rtype.to_string(), [other(*rtype)]).await;
        assert_ne!(Rdata::parse(*rtype, example(*rtype)), Rdata::parse(*rtype, other(*rtype)));
    }
    ground.clear().await;
}

pub async fn an_unknown_type_travels_by_rfc_3597(ground: &mut Ground) {
    ground.settle(&[want("TYPE65280", "private", ["\\# 4 c0000201"])]).await;
    ground.holds("private", "TYPE65280", ["\\# 4 C0000201"]).await;
    ground.settle(&[want("TYPE65280", "private", ["\\# 4 c0000202", "\\# 0"])]).await;
    ground.holds("private", "TYPE65280", ["\\# 4 c0000202", "\\# 0"]).await;
    ground.clear().await;
}

pub async fn a_delegation_and_its_ds_come_and_go_together(ground: &mut Ground) {
    let delegation = want("NS", "sub", ["ns1.example.net", "ns2.example.net"]);
    let ds = want("DS", "sub", [other(RecordType::DS)]);
    let pass = ground.settle(&[ds.clone(), delegation.clone()]).await;
    assert_eq!(pass.applied[0].rtype, RecordType::NS, "the delegation before what secures it");
    ground.holds("sub", "NS", ["ns1.example.net", "ns2.example.net"]).await;
    ground.settle(&[want("NS", "sub", ["ns2.example.net", "ns3.example.net"]), ds]).await;
    ground.holds("sub", "DS", [other(RecordType::DS)]).await;
    ground.settle(&[delegation]).await;
    ground.holds("sub", "DS", []).await;
    ground.clear().await;
}

pub async fn a_target_may_be_the_root(ground: &mut Ground) {
    let wishes = [
        want("MX", "nomail", ["0 ."]),
        want("HTTPS", "here", ["1 . alpn=h2"]),
        want("SRV", "_gone._tcp", ["0 0 0 ."]),
    ];
    ground.settle(&wishes).await;
    ground.holds("nomail", "MX", ["0 ."]).await;
    ground.holds("here", "HTTPS", ["1 . alpn=h2"]).await;
    ground.holds("_gone._tcp", "SRV", ["0 0 0 ."]).await;
    ground.clear().await;
}

fn name_of(rtype: RecordType) -> String {
    format!("every-{}", rtype.to_string().to_lowercase())
}

fn example(rtype: RecordType) -> &'static str {
    row(rtype).expect("a known type has a row").example
}

fn other(rtype: RecordType) -> &'static str {
    let mnemonic = rtype.to_string();
    let found = OTHERS.iter().find(|(name, _)| *name == mnemonic);
    found.map(|(_, value)| *value).expect("every type of the table has a second value here")
}
