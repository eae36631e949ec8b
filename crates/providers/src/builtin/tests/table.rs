//! Questions and their answers, one block each.

use super::{name, zones};
use crate::builtin::{
    answer::{Answer, RecordSet},
    lookup::{AnyAnswer, answer},
};

const EXAMPLE: &str = "
    example.com MX 10 mail.example.com
    mail.example.com A 192.0.2.25
    www.example.com 60 A 192.0.2.1
    www.example.com 30 A 192.0.2.2
    auto.example.com 1 A 192.0.2.9
    alias.example.com CNAME www.example.com
    far.example.com CNAME www.served.example.test
    near.example.com CNAME host.child.example.com
    away.example.com CNAME host.example.test
    lost.example.com CNAME missing.example.com
    bare.example.com CNAME mail.example.com
    loop-a.example.com CNAME loop-b.example.com
    loop-b.example.com CNAME loop-a.example.com
    self.example.com CNAME self.example.com
    out.example.com CNAME deep.sub.example.com
    *.wild.example.com A 192.0.2.7
    *.wild.example.com TXT \"any\"
    host.wild.example.com TXT \"here\"
    a.ent.wild.example.com A 192.0.2.8
    *.alias.wild.example.com CNAME www.example.com
    sub.*.star.example.com A 192.0.2.10
    deep.empty.example.com A 192.0.2.11
    sub.example.com NS ns.sub.example.com
    sub.example.com NS mail.example.com
    sub.example.com NS ns.example.test
    sub.example.com DS 12345 13 200 abcd
    ns.sub.example.com A 192.0.2.53
    ns.sub.example.com AAAA 2001:db8::53
    host.sub.example.com A 192.0.2.54
    child.example.com NS ns.child.example.com
    child.example.com DS 54321 13 200 abcd
    moved.example.com DNAME new.example.com
    moved.example.com A 192.0.2.12
    host.new.example.com A 192.0.2.13
    _sip._tcp.example.com SRV 1 2 5060 mail.example.com
    web.example.com HTTPS 1 . alpn=h2
    web.example.com AAAA 2001:db8::80
    two.example.com MX 10 mail.example.com
    two.example.com MX 20 mail.example.com
";
const CHILD: &str = "host.child.example.com A 192.0.2.20";
const OTHER: &str = "www.served.example.test A 192.0.2.30";

const SOA: &str = "! example.com 60 SOA";

/// A question; then the code, `aa` or not, and records: `>` answer, `!` authority, `+` glue, `?` additional.
const TABLE: &[(&str, &[&str])] = &[
    (
        "www.example.com A",
        &["NOERROR aa", "> www.example.com 30 A 192.0.2.1", "> www.example.com 30 A 192.0.2.2"],
    ),
    ("auto.example.com A", &["NOERROR aa", "> auto.example.com 300 A 192.0.2.9"]),
    ("www.example.com AAAA", &["NOERROR aa", SOA]),
    ("missing.example.com A", &["NXDOMAIN aa", SOA]),
    ("below.www.example.com A", &["NXDOMAIN aa", SOA]),
    ("example.test A", &["REFUSED"]),
    ("host.example.test A", &["REFUSED"]),
    ("notserved.example.test A", &["REFUSED"]),
    ("example.com NS", &["NOERROR aa", "> example.com 300 NS ns.example.com."]),
    (
        "example.com MX",
        &["NOERROR aa", "> example.com 300 MX 10 mail.example.com.", "? mail.example.com 300 A 192.0.2.25"],
    ),
    (
        "two.example.com MX",
        &[
            "NOERROR aa",
            "> two.example.com 300 MX 10 mail.example.com.",
            "> two.example.com 300 MX 20 mail.example.com.",
            "? mail.example.com 300 A 192.0.2.25",
        ],
    ),
    (
        "_sip._tcp.example.com SRV",
        &[
            "NOERROR aa",
            "> _sip._tcp.example.com 300 SRV 1 2 5060 mail.example.com.",
            "? mail.example.com 300 A 192.0.2.25",
        ],
    ),
    (
        "web.example.com HTTPS",
        &[
            "NOERROR aa",
            "> web.example.com 300 HTTPS 1 . alpn=\"h2\"",
            "? web.example.com 300 AAAA 2001:db8::80",
        ],
    ),
    ("_tcp.example.com A", &["NOERROR aa", SOA]),
    // Aliases.
    ("alias.example.com CNAME", &["NOERROR aa", "> alias.example.com 300 CNAME www.example.com."]),
    (
        "alias.example.com A",
        &[
            "NOERROR aa",
            "> alias.example.com 300 CNAME www.example.com.",
            "> www.example.com 30 A 192.0.2.1",
            "> www.example.com 30 A 192.0.2.2",
        ],
    ),
    ("alias.example.com MX", &["NOERROR aa", "> alias.example.com 300 CNAME www.example.com.", SOA]),
    (
        "far.example.com A",
        &[
            "NOERROR aa",
            "> far.example.com 300 CNAME www.served.example.test.",
            "> www.served.example.test 300 A 192.0.2.30",
        ],
    ),
    (
        "near.example.com A",
        &[
            "NOERROR aa",
            "> near.example.com 300 CNAME host.child.example.com.",
            "> host.child.example.com 300 A 192.0.2.20",
        ],
    ),
    ("away.example.com A", &["NOERROR aa", "> away.example.com 300 CNAME host.example.test."]),
    ("lost.example.com A", &["NXDOMAIN aa", "> lost.example.com 300 CNAME missing.example.com.", SOA]),
    (
        "loop-a.example.com A",
        &[
            "NOERROR aa",
            "> loop-a.example.com 300 CNAME loop-b.example.com.",
            "> loop-b.example.com 300 CNAME loop-a.example.com.",
        ],
    ),
    ("self.example.com A", &["NOERROR aa", "> self.example.com 300 CNAME self.example.com."]),
    (
        "out.example.com A",
        &[
            "NOERROR aa",
            "> out.example.com 300 CNAME deep.sub.example.com.",
            "! sub.example.com 300 NS ns.sub.example.com.",
            "! sub.example.com 300 NS ns.example.test.",
            "! sub.example.com 300 NS mail.example.com.",
            "! sub.example.com 300 DS 12345 13 200 abcd",
            "+ ns.sub.example.com 300 A 192.0.2.53",
            "+ ns.sub.example.com 300 AAAA 2001:db8::53",
            "? mail.example.com 300 A 192.0.2.25",
        ],
    ),
    // Wildcards and empty names.
    ("x.wild.example.com A", &["NOERROR aa", "> x.wild.example.com 300 A 192.0.2.7"]),
    ("x.y.wild.example.com A", &["NOERROR aa", "> x.y.wild.example.com 300 A 192.0.2.7"]),
    ("x.wild.example.com MX", &["NOERROR aa", SOA]),
    ("host.wild.example.com A", &["NOERROR aa", SOA]),
    ("x.host.wild.example.com A", &["NXDOMAIN aa", SOA]),
    ("ent.wild.example.com A", &["NOERROR aa", SOA]),
    ("b.ent.wild.example.com A", &["NXDOMAIN aa", SOA]),
    ("*.wild.example.com A", &["NOERROR aa", "> *.wild.example.com 300 A 192.0.2.7"]),
    ("x.*.wild.example.com A", &["NXDOMAIN aa", SOA]),
    ("wild.example.com A", &["NOERROR aa", SOA]),
    (
        "x.alias.wild.example.com A",
        &[
            "NOERROR aa",
            "> x.alias.wild.example.com 300 CNAME www.example.com.",
            "> www.example.com 30 A 192.0.2.1",
            "> www.example.com 30 A 192.0.2.2",
        ],
    ),
    ("x.star.example.com A", &["NOERROR aa", SOA]),
    ("sub.x.star.example.com A", &["NOERROR aa", SOA]),
    ("empty.example.com A", &["NOERROR aa", SOA]),
    // Delegations.
    ("sub.example.com DS", &["NOERROR aa", "> sub.example.com 300 DS 12345 13 200 abcd"]),
    (
        "ns.sub.example.com A",
        &[
            "NOERROR",
            "! sub.example.com 300 NS ns.sub.example.com.",
            "! sub.example.com 300 NS ns.example.test.",
            "! sub.example.com 300 NS mail.example.com.",
            "! sub.example.com 300 DS 12345 13 200 abcd",
            "+ ns.sub.example.com 300 A 192.0.2.53",
            "+ ns.sub.example.com 300 AAAA 2001:db8::53",
            "? mail.example.com 300 A 192.0.2.25",
        ],
    ),
    ("child.example.com DS", &["NOERROR aa", "> child.example.com 300 DS 54321 13 200 abcd"]),
    ("host.child.example.com A", &["NOERROR aa", "> host.child.example.com 300 A 192.0.2.20"]),
    ("x.child.example.com A", &["NXDOMAIN aa", "! child.example.com 60 SOA"]),
    ("served.example.test DS", &["NOERROR aa", "! served.example.test 60 SOA"]),
    // DNAME.
    (
        "host.moved.example.com A",
        &[
            "NOERROR aa",
            "> moved.example.com 300 DNAME new.example.com.",
            "> host.moved.example.com 300 CNAME host.new.example.com.",
            "> host.new.example.com 300 A 192.0.2.13",
        ],
    ),
    ("moved.example.com A", &["NOERROR aa", "> moved.example.com 300 A 192.0.2.12"]),
    ("moved.example.com DNAME", &["NOERROR aa", "> moved.example.com 300 DNAME new.example.com."]),
    // Everything at once.
    (
        "x.wild.example.com TYPE255",
        &["NOERROR aa", "> x.wild.example.com 300 A 192.0.2.7", "> x.wild.example.com 300 TXT \"any\""],
    ),
    ("alias.example.com TYPE255", &["NOERROR aa", "> alias.example.com 300 CNAME www.example.com."]),
];

#[test]
fn every_question_has_its_answer() {
    let zones =
        zones(&[("example.com", EXAMPLE), ("child.example.com", CHILD), ("served.example.test", OTHER)]);
    for (question, expected) in TABLE {
        let (owner, rtype) = question.split_once(' ').unwrap();
        let answer = answer(&zones, &name(owner), rtype.parse().unwrap(), AnyAnswer::AllSets);
        assert_eq!(lines(&answer), *expected, "{question}");
    }
}

#[test]
fn a_long_chain_of_aliases_is_cut() {
    let text: String =
        (0..40).map(|step| format!("a{step}.example.com CNAME a{}.example.com\n", step + 1)).collect();
    let zones = zones(&[("example.com", &text)]);
    let answer = answer(&zones, &name("a0.example.com"), "A".parse().unwrap(), AnyAnswer::AllSets);
    assert_eq!(answer.answer.len(), 16);
}

#[test]
fn a_name_that_a_dname_makes_too_long_is_refused() {
    let long = [63, 63, 63].map(|length| "a".repeat(length)).join(".");
    let zones = zones(&[("example.com", &format!("moved.example.com DNAME {long}.example.com"))]);
    let ask = |label: &str| {
        let owner = name(&format!("{label}.moved.example.com"));
        let answer = answer(&zones, &owner, "A".parse().unwrap(), AnyAnswer::AllSets);
        (answer.rcode.to_string(), answer.answer.len())
    };
    assert_eq!(ask(&"b".repeat(49)), ("NXDOMAIN".into(), 2));
    assert_eq!(ask(&"b".repeat(50)), ("YXDOMAIN".into(), 1));
}

fn lines(answer: &Answer) -> Vec<String> {
    let authority = if answer.is_authoritative { " aa" } else { "" };
    let mut lines = vec![format!("{}{authority}", answer.rcode)];
    let sections =
        [('>', &answer.answer), ('!', &answer.authority), ('+', &answer.glue), ('?', &answer.additional)];
    for (sign, sets) in sections {
        lines.extend(sets.iter().flat_map(|set| set_lines(sign, set)));
    }
    lines
}

fn set_lines(sign: char, set: &RecordSet) -> Vec<String> {
    let values = set.values().map(|rdata| match rdata.rtype().to_string().as_str() {
        "SOA" => "SOA".to_owned(),
        rtype => format!("{rtype} {rdata}"),
    });
    values.map(|value| format!("{sign} {} {} {value}", set.owner, set.ttl)).collect()
}
