//! What users copy: `examples/bind9`, with the named.conf that lies in it.

use std::{path::PathBuf, process::Command};

use dns_servers::{DnsServer, Key, Setup, Software};
use tempfile::TempDir;
use zonekeeper_kernel::name::Name;
use zonekeeper_providers::{
    Provider,
    rfc2136::{Rfc2136, Rotation, Settings},
};
use zonekeeper_tests::{
    binary::binary,
    dns::try_by_hand,
    stage::{DOMAIN, tsig},
};

use crate::support::{DNSKEY, serial, served};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/bind9");

fn example(file: &str) -> String {
    std::fs::read_to_string(format!("{EXAMPLE}/{file}")).expect("a file of the example")
}

/// The example in a folder of its own, as it is but for where the server listens.
struct Copy {
    folder: TempDir,
    roots: Option<PathBuf>,
}

impl Copy {
    fn of(server: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let provider = example("provider.yaml").replace("[\"127.0.0.1:53\"]", server);
        std::fs::write(folder.path().join("provider.yaml"), provider).unwrap();
        std::fs::write(folder.path().join("records.yaml"), example("records.yaml")).unwrap();
        Self { folder, roots: None }
    }

    fn run(&self, command: &str) -> (Option<i32>, String) {
        let mut call = Command::new(binary());
        call.args([command, "-f"]).arg(self.folder.path());
        if let Some(roots) = &self.roots {
            call.env("SSL_CERT_FILE", roots);
        }
        let output = call.output().unwrap();
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), said)
    }
}

fn setup() -> Setup {
    Setup {
        statements: Some(example("named.conf")),
        zone: example("zone.db"),
        ..Setup::new(Software::Bind, DOMAIN)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bind9_example_plans_applies_and_is_quiet() {
    let server = DnsServer::start(setup()).expect("the server starts");
    let copy = Copy::of(&format!("[\"{}\"]", server.address()));
    let (code, said) = copy.run("plan");
    assert!(code == Some(2) && said.contains("3 to create"), "{said}");
    let (code, said) = copy.run("apply");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(served(&server, "www.example.com", "A"), ["192.0.2.10", "192.0.2.11"]);
    assert_eq!(served(&server, "example.com", "MX"), ["10 mail1.example.net.", "20 mail2.example.net."]);
    assert_eq!(served(&server, "www.example.com", "HTTPS"), ["1 . alpn=\"h2,h3\""]);
    assert_eq!(served(&server, "ns1.example.com", "A"), ["192.0.2.53"], "what was there stays");
    let (code, said) = copy.run("plan");
    assert!(code == Some(0) && said.contains("nothing to do"), "{said}");
}

/// An export is a whole zone, or none.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_is_read_by_name_is_not_exported() {
    let server = DnsServer::start(setup()).expect("the server starts");
    let whole = format!("[\"{}\"]", server.address());
    let (code, said) = Copy::of(&whole).run("export");
    assert!(
        code == Some(0) && said.contains("ns1.example.com.") && said.contains("SOA record is made up"),
        "{said}"
    );
    let (code, said) = Copy::of(&format!("{whole}\n    reading: Names")).run("export");
    assert!(code == Some(1) && said.contains("name by name"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_works_where_the_certificate_is_trusted_and_only_there() {
    let (certificates, port) = (tempfile::tempdir().unwrap(), dns_servers::free_port().unwrap());
    let script = r#"set -e; cd "$1"
        openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=test-ca -days 2
        openssl req -newkey rsa:2048 -nodes -keyout leaf.key -out leaf.csr -subj /CN=localhost
        printf 'subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' > leaf.ext
        openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out leaf.pem -days 2 -extfile leaf.ext"#;
    let made = Command::new("bash").args(["-c", script, "bash"]).arg(certificates.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let path = certificates.path().display();
    let mut setup = setup();
    let tls = format!("tls test {{ cert-file \"{path}/leaf.pem\"; key-file \"{path}/leaf.key\"; }};\n");
    setup.statements = Some(tls + &example("named.conf"));
    setup.options = format!("listen-on port {port} tls test {{ 127.0.0.1; }};");
    let server = DnsServer::start(setup).expect("the server starts");
    let mut copy = Copy::of(&format!("[\"127.0.0.1:{port}\"]\n    transport: TLS"));
    let (code, said) = copy.run("apply");
    assert!(code == Some(1) && said.contains("certificate"), "{said}");
    copy.roots = Some(certificates.path().join("ca.pem"));
    let (code, said) = copy.run("apply");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(served(&server, "www.example.com", "A"), ["192.0.2.10", "192.0.2.11"]);
}

/// One key per zone: with the example's nobody changes or reads another zone, nor the authority of its own.
#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_the_example_may_do_no_more_than_it_needs() {
    let (text, other) = (example("named.conf"), Key::new("other"));
    let quoted: Vec<&str> = text.split('"').collect();
    let key = Key { name: quoted[1].into(), algorithm: "hmac-sha256".into(), secret: quoted[3].into() };
    let zone = "zone \"example.org\" { type primary; file \"example.org.db\"; \
                update-policy { grant other zonesub; }; allow-transfer { key other; }; };";
    let server = DnsServer::start(Setup {
        statements: Some(format!("{text}{}{zone}", other.statement())),
        more_domains: vec!["example.org".into()],
        ..setup()
    })
    .expect("the server starts");
    let hand = |key: &Key, zone: &str, lines: &str| try_by_hand(&server, key, zone, lines);
    let add = "update add www.example.org. 60 A 192.0.2.1";
    hand(&other, "example.org", add).unwrap();
    hand(&key, "example.com", "update add www.example.com. 60 A 192.0.2.1").unwrap();
    let before = serial(&server);
    for (zone, lines) in [
        ("example.org", "update add more.example.org. 60 A 192.0.2.1"),
        ("example.org", "update delete www.example.org. A"),
        ("example.com", "update add example.com. 60 SOA ns1 hostmaster 99 7200 3600 1209600 300"),
        ("example.com", "update add example.com. 60 NS ns2.example.net."),
        ("example.com", "update delete example.com. NS"),
        ("example.com", "update add sub.example.com. 60 NS ns2.example.net."),
        ("example.com", "update add example.com. 60 NSEC3PARAM 1 0 0 -"),
        ("example.com", &format!("update add sub.example.com. 60 DNSKEY {DNSKEY}")),
    ] {
        let said = hand(&key, zone, lines).unwrap_err();
        assert!(said.contains("REFUSED"), "{lines}: {said}");
    }
    assert_eq!(serial(&server), before);
    assert_eq!(served(&server, "www.example.org", "A"), ["192.0.2.1"]);
    let update_key = Rotation { current: Some(tsig(&key)), previous: None };
    let settings = Settings { update_key, ..Settings::new([server.address()]) };
    let zone =
        Rfc2136::new(settings).unwrap().open(&Name::parse("example.org").unwrap(), None).await.unwrap();
    assert_eq!(zone.list().await.unwrap_err().reason(), "CredentialsInvalid");
}
