//! The built-in server as `dig` sees it.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "builtin_support.rs"]
mod support;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use support::{Directory, bound, dig, record, run, serve};
use zonekeeper_kernel::rdata::{Rdata, RecordType, row};
use zonekeeper_providers::{ProviderError, builtin::Builtin};

const ZONE: &[&str] = &[
    "example.com 300 MX 10 mail.example.com",
    "mail.example.com 300 A 192.0.2.25",
    "mail.example.com 300 AAAA 2001:db8::25",
    "ns.example.com 300 A 192.0.2.54",
    "www.example.com 60 A 192.0.2.1",
    "www.example.com 60 A 192.0.2.2",
    "text.example.com 1 TXT \"hello world\" \"again\"",
    "*.wild.example.com 300 A 192.0.2.7",
    "one.example.com 300 CNAME two.example.com",
    "two.example.com 300 CNAME www.example.com",
    "sub.example.com 300 NS ns.sub.example.com",
    "ns.sub.example.com 300 A 192.0.2.53",
    "odd.example.com 300 TYPE65280 \\# 4 c0000201",
];

/// The answer's status and flags, then its records in three blocks, white space reduced.
async fn ask(server: SocketAddr, arguments: &str) -> (String, Vec<String>) {
    let text = dig(server, &format!("{arguments} +noall +comments +answer +authority +additional")).await;
    let word = |key: &str| {
        let rest = text.split_once(key).map_or("", |(_, rest)| rest);
        rest.split([',', ';', '\n']).next().unwrap_or("").trim().to_owned()
    };
    let lines = text.lines().filter(|line| !line.starts_with(';') && !line.is_empty());
    let records = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    (format!("{} {}", word("status: "), word("flags: ")), records)
}

#[tokio::test]
async fn records_of_many_types_are_answered() {
    let (builtin, server) = bound(&[]).await;
    serve(&builtin, "example.com", ZONE).await;
    let table: &[(&str, &str, &[&str])] = &[
        (
            "www.example.com A",
            "NOERROR qr aa",
            &["www.example.com. 60 IN A 192.0.2.1", "www.example.com. 60 IN A 192.0.2.2"],
        ),
        (
            "WwW.eXample.com A +tcp",
            "NOERROR qr aa",
            &["WwW.eXample.com. 60 IN A 192.0.2.1", "WwW.eXample.com. 60 IN A 192.0.2.2"],
        ),
        (
            "text.example.com TXT",
            "NOERROR qr aa",
            &["text.example.com. 300 IN TXT \"hello world\" \"again\""],
        ),
        (
            "example.com MX",
            "NOERROR qr aa",
            &[
                "example.com. 300 IN MX 10 mail.example.com.",
                "mail.example.com. 300 IN A 192.0.2.25",
                "mail.example.com. 300 IN AAAA 2001:db8::25",
            ],
        ),
        ("a.b.wild.example.com A", "NOERROR qr aa", &["a.b.wild.example.com. 300 IN A 192.0.2.7"]),
        (
            "one.example.com A",
            "NOERROR qr aa",
            &[
                "one.example.com. 300 IN CNAME two.example.com.",
                "two.example.com. 300 IN CNAME www.example.com.",
                "www.example.com. 60 IN A 192.0.2.1",
                "www.example.com. 60 IN A 192.0.2.2",
            ],
        ),
        (
            "deep.sub.example.com A",
            "NOERROR qr",
            &["sub.example.com. 300 IN NS ns.sub.example.com.", "ns.sub.example.com. 300 IN A 192.0.2.53"],
        ),
        ("odd.example.com TYPE65280", "NOERROR qr aa", &["odd.example.com. 300 IN TYPE65280 \\# 4 C0000201"]),
        ("example.test A", "REFUSED qr", &[]),
        ("-c CH version.bind TXT", "REFUSED qr", &[]),
        ("www.example.com A +opcode=UPDATE", "NOTIMP qr", &[]),
        ("www.example.com A +opcode=NOTIFY", "NOERROR qr", &[]),
    ];
    for (question, status, records) in table {
        assert_eq!(
            ask(server, question).await,
            ((*status).into(), records.iter().map(|&line| line.into()).collect()),
            "{question}"
        );
    }
}

#[tokio::test]
async fn absence_is_proved_with_the_zones_soa() {
    let (builtin, server) = bound(&[]).await;
    serve(&builtin, "example.com", ZONE).await;
    for (question, status) in [
        ("missing.example.com A", "NXDOMAIN qr aa"),
        ("www.example.com AAAA", "NOERROR qr aa"),
        ("wild.example.com A", "NOERROR qr aa"),
    ] {
        let (found, records) = ask(server, question).await;
        assert_eq!(found, status, "{question}");
        assert_eq!(records.len(), 1, "{question}: {records:?}");
        assert!(
            records[0].starts_with("example.com. 60 IN SOA ns.example.com. hostmaster.example.com. "),
            "{records:?}"
        );
    }
}

#[tokio::test]
async fn what_a_datagram_can_not_hold_comes_by_tcp() {
    let (builtin, server) = bound(&[]).await;
    let many = (0..60).map(|number| format!("many.example.com 60 A 192.0.2.{number}"));
    serve(&builtin, "example.com", many.chain(ZONE.iter().map(|line| line.to_string()))).await;
    let (status, records) = ask(server, "many.example.com A +ignore +noedns").await;
    assert_eq!((status.as_str(), records.len()), ("NOERROR qr aa tc", 0));
    let (status, records) = ask(server, "many.example.com A +ignore +bufsize=4096").await;
    assert_eq!((status.as_str(), records.len()), ("NOERROR qr aa", 60));
    let (status, records) = ask(server, "many.example.com A +ignore +bufsize=700").await;
    assert_eq!((status.as_str(), records.len()), ("NOERROR qr aa tc", 0));
    let (status, records) = ask(server, "many.example.com A +noedns").await;
    assert_eq!((status.as_str(), records.len()), ("NOERROR qr aa", 60));
    let text = dig(server, "www.example.com A +bufsize=4096").await;
    assert!(text.contains("EDNS: version: 0, flags:; udp: 1232"), "{text}");
    let (status, _) = ask(server, "www.example.com A +edns=1 +noednsnegotiation").await;
    assert_eq!(status, "BADVERS qr");
}

#[tokio::test]
async fn questions_for_everything_are_answered_in_full_by_tcp_only() {
    let (builtin, server) = bound(&[]).await;
    serve(&builtin, "example.com", ZONE).await;
    let (_, records) = ask(server, "mail.example.com ANY +notcp").await;
    assert_eq!(records, ["mail.example.com. 300 IN A 192.0.2.25"]);
    let (_, records) = ask(server, "mail.example.com ANY +tcp").await;
    assert_eq!(
        records,
        ["mail.example.com. 300 IN A 192.0.2.25", "mail.example.com. 300 IN AAAA 2001:db8::25"]
    );
}

#[tokio::test]
async fn a_transfer_is_a_zone_that_bind_accepts() {
    let (builtin, server) = bound(&["127.0.0.0/8"]).await;
    serve(&builtin, "example.com", ZONE).await;
    let text = dig(server, "example.com AXFR +noall +answer +onesoa").await;
    assert_eq!(text.lines().count(), ZONE.len() + 2, "{text}");
    let directory = Directory::fresh();
    let file = directory.0.join("zone");
    std::fs::write(&file, &text).unwrap();
    let arguments = vec!["-i".into(), "full".into(), "example.com".into(), file.display().to_string()];
    let output = run("named-checkzone", "bind9-utils", arguments).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let current = dig(server, "example.com SOA +short").await;
    let serial = current.split_whitespace().nth(2).unwrap();
    let text = dig(server, &format!("example.com IXFR={serial} +noall +answer")).await;
    assert_eq!(text.lines().count(), 1, "{text}");
    let text = dig(server, "example.com IXFR=1 +tcp +noall +answer").await;
    assert_eq!(text.lines().count(), ZONE.len() + 3, "{text}");
}

#[tokio::test]
async fn every_type_of_the_table_goes_through_the_wire_unchanged() {
    let (builtin, server) = bound(&["127.0.0.1"]).await;
    let lines = RecordType::known().map(|rtype| {
        let example = row(rtype).unwrap().example;
        format!("{}.example.com 300 {rtype} {example}", rtype.to_string().to_lowercase())
    });
    let lines: Vec<String> = lines.collect();
    assert!(lines.len() >= 22);
    serve(&builtin, "example.com", &lines).await;
    let text = dig(server, "example.com AXFR +noall +answer +onesoa").await;
    for line in &lines {
        let wanted = record(line);
        let rtype = wanted.rdata.rtype();
        let owner = wanted.name.to_fqdn();
        let found = text.lines().find(|line| line.starts_with(&owner)).unwrap();
        let words: Vec<&str> = found.split_whitespace().collect();
        assert_eq!(words[3], rtype.to_string());
        assert_eq!(Rdata::parse(rtype, &words[4..].join(" ")).unwrap(), wanted.rdata, "{found}");
    }
}

#[tokio::test]
async fn one_connection_carries_many_questions() {
    let (builtin, server) = bound(&[]).await;
    serve(&builtin, "example.com", ZONE).await;
    let text =
        dig(server, "+tcp +keepopen +short www.example.com A mail.example.com A text.example.com TXT").await;
    assert_eq!(text.lines().count(), 4, "{text}");
}

#[tokio::test]
async fn a_transfer_is_refused_to_strangers() {
    let (builtin, server) = bound(&["192.0.2.1"]).await;
    serve(&builtin, "example.com", ZONE).await;
    let text = dig(server, "example.com AXFR").await;
    assert!(text.contains("Transfer failed"), "{text}");
    let (status, _) = ask(server, "example.com IXFR=1 +notcp").await;
    assert_eq!(status, "REFUSED qr");
}

#[tokio::test]
async fn a_hundred_thousand_records_are_transferred() {
    let (builtin, server) = bound(&["127.0.0.1"]).await;
    let lines =
        (0..100_000).map(|number| format!("host-{number}.example.com 300 A 192.0.2.{}", number % 256));
    serve(&builtin, "example.com", lines).await;
    let text = dig(server, "example.com AXFR +noall +answer").await;
    assert_eq!(text.lines().count(), 100_000 + 3);
}

#[tokio::test]
async fn a_taken_port_is_said_so_and_is_free_when_the_server_ends() {
    let (builtin, server) = bound(&[]).await;
    let message = format!(
        "{server} is in use by another program; free it, or change spec.builtin.listen of the DNSProvider"
    );
    let error = Builtin::bind(server, Vec::new()).await.unwrap_err();
    assert_eq!(error, ProviderError::Configuration { message });
    builtin.shutdown().await;
    let second = Builtin::bind(server, Vec::new()).await.unwrap();
    // The last handle closes the sockets, as soon as their tasks are gone.
    drop((builtin, second));
    let begin = Instant::now();
    while let Err(error) = Builtin::bind(server, Vec::new()).await {
        assert!(begin.elapsed() < Duration::from_secs(10), "{error}");
        tokio::task::yield_now().await;
    }
}
