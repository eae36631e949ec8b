//! `zonekeeper export`: files that BIND loads and other readers understand.

use std::collections::BTreeSet;

use cloudflare_sim::Plan;
use domain::zonefile::inplace::{Entry, Zonefile};
use serde_json::json;

use crate::support::{Folder, Lab, Manifest, Run, builtin, provider, records, secret, zone, zonekeeper};

/// One record of every type that a RecordSet can have.
fn every_type() -> Vec<Manifest> {
    let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    [
        ("www", "A", "192.0.2.1"),
        ("www", "AAAA", "2001:db8::1"),
        ("shop", "CNAME", "www.example.test"),
        ("old", "DNAME", "example.net"),
        ("@", "MX", "10 mail.example.test"),
        ("sub", "NS", "ns.example.net"),
        ("@", "TXT", "v=spf1 \"mx\" \\ -all; größer"),
        ("_sip._tcp", "SRV", "10 5 5060 sip.example.test"),
        ("@", "CAA", "0 issue \"ca.example.net; account=1\""),
        ("web", "HTTPS", "1 . alpn=h2,h3 ipv4hint=192.0.2.1"),
        ("svc", "SVCB", "1 svc.example.net port=8443"),
        ("_443._tcp.www", "TLSA", &format!("3 1 1 {digest}")),
        ("mail._smimecert", "SMIMEA", &format!("3 1 1 {digest}")),
        ("ssh", "SSHFP", &format!("4 2 {digest}")),
        ("sub", "DS", &format!("12345 13 2 {digest}")),
        ("key", "DNSKEY", "257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4="),
        ("enum", "NAPTR", "100 10 \"S\" \"SIP+D2U\" \"!^.*$!sip:x@example.net!\" _sip._udp.example.test"),
        ("place", "LOC", "52 22 23.000 N 4 53 32.000 E -2.00m 1m 10000m 10m"),
        ("_ftp._tcp", "URI", "10 1 \"ftp://ftp.example.net/public\""),
        ("ptr", "PTR", "host.example.net"),
        ("cert", "CERT", "PKIX 0 0 MIIBCgKCAQEA"),
        ("pgp", "OPENPGPKEY", "mQENBFVHm5sBCADA"),
        ("raw", "TYPE65280", "\\# 4 c0000201"),
        ("*.apps", "A", "192.0.2.20"),
    ]
    .iter()
    .map(|(name, rtype, value)| {
        let name = if *name == "@" { "example.test".to_owned() } else { format!("{name}.example.test") };
        records(&name, rtype, &[value])
    })
    .collect()
}

fn folder_of(manifests: &[Manifest]) -> Folder {
    let folder = Folder::new();
    folder.put("all.yaml", manifests);
    folder
}

async fn exported(folder: &Folder) -> Run {
    zonekeeper(["export", "-f", folder.arg()]).run().await.exits(0)
}

/// Loads the file as BIND would.
#[track_caller]
fn loads(origin: &str, run: &Run) -> String {
    let folder = Folder::new();
    let file = folder.write("zone", &run.stdout);
    let output = std::process::Command::new("named-checkzone")
        .arg(origin)
        .arg(file)
        .output()
        .expect("named-checkzone is installed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{run}");
    said
}

/// Types that the `domain` crate reads in RFC 3597's form only (0.12).
const UNREAD: [&str; 5] = ["SMIMEA", "URI", "CERT", "LOC", "TYPE65280"];

/// Every record as the `domain` crate reads it, sorted.
fn parsed(run: &Run) -> BTreeSet<String> {
    let is_read = |line: &&str| !UNREAD.iter().any(|rtype| line.contains(&format!("\tIN\t{rtype}\t")));
    let text: Vec<&str> = run.stdout.lines().filter(is_read).collect();
    let mut file = Zonefile::from(format!("{}\n", text.join("\n")).as_bytes());
    let mut found = BTreeSet::new();
    while let Some(entry) = file.next_entry().unwrap_or_else(|error| panic!("{error}:\n{run}")) {
        let Entry::Record(record) = entry else { panic!("nothing is included") };
        found.insert(format!(
            "{} {} {} {}",
            record.owner(),
            record.ttl().as_secs(),
            record.rtype(),
            record.data()
        ));
    }
    found
}

#[tokio::test]
async fn a_zone_of_every_type_loads_in_bind_and_reads_back_the_same() {
    let folder = folder_of(&[&[builtin(), zone("example.test")], &*every_type()].concat());
    let run = exported(&folder).await;
    let said = loads("example.test", &run);
    assert!(said.contains("OK"), "{said}");
    let found = parsed(&run);
    assert_eq!(found.len(), every_type().len() + 2 - UNREAD.len(), "SOA and NS are added: {found:#?}");
    assert_eq!(
        run.stdout.lines().filter(|line| line.contains("\tIN\t")).count(),
        every_type().len() + 2,
        "{run}"
    );
    for expected in [
        "www.example.test 300 A 192.0.2.1",
        "*.apps.example.test 300 A 192.0.2.20",
        "ptr.example.test 300 PTR host.example.net",
    ] {
        assert!(found.iter().any(|line| line.trim_end_matches('.') == expected), "{expected} in {found:#?}");
    }
    let again = exported(&folder).await;
    assert_eq!(run.stdout, again.stdout, "the same folder gives the same file");
}

#[tokio::test]
async fn what_was_exported_can_be_served_again() {
    let first = exported(&folder_of(&[&[builtin(), zone("example.test")], &*every_type()].concat())).await;
    let manifests: Vec<Manifest> = first
        .stdout
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.splitn(5, '\t').collect();
            let [name, ttl, "IN", rtype, value] = fields[..] else { return None };
            let is_authority = rtype == "SOA" || (rtype == "NS" && name == "example.test.");
            (!is_authority)
                .then(|| records(name, rtype, &[value]).with("ttl", ttl.parse::<u32>().expect("a ttl")))
        })
        .collect();
    let named: Vec<Manifest> =
        manifests.into_iter().enumerate().map(|(n, set)| set.named(&format!("r{n}"))).collect();
    let second = exported(&folder_of(&[&[builtin(), zone("example.test")], &*named].concat())).await;
    assert_eq!(first.stdout, second.stdout);
}

#[tokio::test]
async fn a_name_server_inside_the_zone_needs_an_address() {
    let servers = json!({"nameServers": ["ns1.example.test", "ns2.example.test", "ns.example.net"]});
    let declared = zone("example.test").with("authority", servers);
    let folder = folder_of(&[builtin(), declared, records("ns1.example.test", "A", &["192.0.2.53"])]);
    let run = exported(&folder).await.says("note: name server ns2.example.test is left out");
    loads("example.test", &run);
    let found: Vec<String> = parsed(&run).into_iter().filter(|line| line.contains(" NS ")).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.iter().any(|line| line.contains("ns1.example.test"))
            && found.iter().any(|line| line.contains("ns.example.net"))
    );
}

#[tokio::test]
async fn a_zone_without_a_usable_name_server_names_localhost() {
    let run = exported(&folder_of(&[
        builtin(),
        zone("example.test"),
        records("www.example.test", "A", &["192.0.2.1"]),
    ]))
    .await;
    assert!(run.stdout.contains("IN\tNS\tlocalhost."), "{run}");
    assert!(run.stderr.contains("note: name server"), "{run}");
    loads("example.test", &run);
}

#[tokio::test]
async fn mail_and_services_without_an_address_are_kept() {
    let folder = folder_of(&[
        builtin(),
        zone("example.test"),
        records("example.test", "MX", &["10 mail.example.test"]),
        records("_sip._tcp.example.test", "SRV", &["1 1 1 sip.example.test"]),
    ]);
    let run = exported(&folder).await;
    loads("example.test", &run);
    assert!(run.stdout.contains("mail.example.test.") && run.stdout.contains("sip.example.test."), "{run}");
}

#[tokio::test]
async fn a_zone_at_cloudflare_is_exported_as_it_is() {
    let lab = Lab::on(Plan::Pro).await;
    lab.seed("A", "hand", "192.0.2.50");
    lab.applied(&[
        records("www.example.com", "A", &["192.0.2.1"]).with("ttl", 600),
        records("example.com", "TXT", &["a \"quoted\" text"]),
    ])
    .await;
    lab.want(&[records("planned.example.com", "A", &["192.0.2.2"])]);
    let writes = lab.sim.writes();
    let run = lab.call("export").run().await.exits(0).never_says("planned");
    loads("example.com", &run);
    let found = parsed(&run);
    assert!(
        found
            .iter()
            .any(|line| line.starts_with("hand.example.com 300 A")
                || line.starts_with("hand.example.com. 300 A")),
        "{found:#?}"
    );
    assert!(found.iter().any(|line| line.contains(" 600 A 192.0.2.1")), "{found:#?}");
    assert_eq!(lab.sim.writes(), writes);
}

#[tokio::test]
async fn a_flattened_cname_at_the_apex_is_left_out_with_a_note() {
    let lab = Lab::start().await;
    lab.applied(&[
        records("example.com", "CNAME", &["www.example.net"]),
        records("www.example.com", "A", &["192.0.2.1"]),
    ])
    .await;
    let run = lab.call("export").run().await.exits(0).says("note: example.com CNAME");
    loads("example.com", &run);
}

#[tokio::test]
async fn one_of_several_zones_is_chosen_by_its_domain() {
    let folder = folder_of(&[
        builtin(),
        zone("example.test"),
        zone("example.net"),
        records("www.example.net", "A", &["192.0.2.1"]),
    ]);
    zonekeeper(["export", "-f", folder.arg()])
        .run()
        .await
        .exits(1)
        .says("--zone")
        .says("example.net, example.test");
    zonekeeper(["export", "-f", folder.arg(), "--zone", "Example.NET."])
        .run()
        .await
        .exits(0)
        .says("www.example.net.");
    zonekeeper(["export", "-f", folder.arg(), "--zone", "example.com"])
        .run()
        .await
        .exits(1)
        .says("example.com");
}

#[tokio::test]
async fn a_folder_with_two_providers_exports_each_zone_as_its_provider_has_it() {
    let lab = Lab::start().await;
    lab.seed("A", "hand", "192.0.2.50");
    lab.declare(zone("example.com").with("providerRef", json!({"name": "cloudflare"})));
    lab.folder.put(
        "builtin.yaml",
        &[builtin(), zone("example.test").with("providerRef", json!({"name": "builtin"}))],
    );
    lab.want(&[
        records("www.example.test", "A", &["192.0.2.1"]),
        records("planned.example.com", "A", &["192.0.2.2"]),
    ]);
    lab.call("export")
        .args(&["--zone", "example.com"])
        .run()
        .await
        .exits(0)
        .says("hand.example.com.")
        .never_says("planned");
    lab.call("export").args(&["--zone", "example.test"]).run().await.exits(0).says("www.example.test.");
}

#[tokio::test]
async fn what_is_refused_is_missing_from_the_file_and_said_so() {
    let folder =
        folder_of(&[builtin(), zone("example.test"), records("www.example.net", "A", &["192.0.2.1"])]);
    exported(&folder).await.says("note: recordset default/www-example-net-a: NoMatchingZone");
}

#[tokio::test]
async fn a_zone_that_can_not_be_read_is_no_empty_file() {
    let lab = Lab::start().await;
    lab.folder.put("provider.yaml", &[provider(&lab.sim.base_url())]);
    lab.folder
        .put("token.yaml", &[secret("cloudflare", "apiToken", "bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0")]);
    let run = lab.call("export").run().await.exits(1);
    assert!(run.stdout.is_empty(), "{run}");
}
