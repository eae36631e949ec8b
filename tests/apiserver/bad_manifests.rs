//! Manifests with mistakes: refused at admission, or reported on the object with a reason and the next step.

use serde_json::json;
use zonekeeper_tests::manifest::{Manifest, address_source};

use crate::support::Lab;

/// What becomes of a mistake.
enum Becomes {
    /// The API server refuses it, and says this.
    Refused(&'static str),
    /// The object says this reason, and this among other words.
    Reported(&'static str, &'static str),
}

use Becomes::{Refused, Reported};

#[tokio::test]
async fn mistakes_are_refused_or_reported_with_the_next_step() {
    let lab = Lab::new("mistakes").await;
    lab.wait_ready("DNSZone", "zone").await;
    lab.ready(&lab.a("good", "192.0.2.1")).await;
    let mark = lab.mark();
    let mut wrong = Vec::new();
    for (mistake, manifest, becomes) in mistakes(&lab) {
        let (words, said) = match becomes {
            Refused(words) => match lab.try_apply(&manifest).await {
                Ok(_) => (words, "it was accepted".to_owned()),
                Err(error) => (words, error.to_string()),
            },
            Reported(reason, words) => match lab.try_apply(&manifest).await {
                Ok(_) => (words, lab.not_ready(&manifest, reason).await),
                Err(error) => (words, error.to_string()),
            },
        };
        if !said.contains(words) {
            wrong.push(format!("{mistake}: not {words:?} but {said}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // None of them changed anything, or stopped the good one.
    assert_eq!(lab.changes_since(mark), [""; 0]);
    lab.ready(&lab.a("good", "192.0.2.2")).await;
    lab.wait_contents(&["good A 192.0.2.2"]).await;
}

fn mistakes(lab: &Lab<'_>) -> Vec<(&'static str, Manifest, Becomes)> {
    let www = || lab.a("www", "192.0.2.1").named("mistake");
    let of = |rtype: &str, values: &[&str]| lab.records("www", rtype, values).named("mistake");
    let zone = |name: &str| lab.dns_zone().named(name);
    let provider = || lab.provider().named(&format!("{}-mistake", lab.home.name()));
    vec![
        // What the schema knows.
        ("no name at all", www().without("name"), Refused("name")),
        ("a name with an empty label", www().with("name", format!("www..{}", lab.domain)), Refused("name")),
        ("both names", www().with("relativeName", "www"), Refused("relativeName")),
        ("no type", www().without("type"), Refused("type")),
        ("a type in small letters", of("a", &["192.0.2.1"]), Refused("type")),
        ("a type that does not exist", of("BOGUS", &["x"]), Refused("type")),
        ("no values", of("A", &[]), Refused("values")),
        ("values that are no list", www().with("values", "192.0.2.1"), Refused("values")),
        ("text for an address", of("A", &["not an address"]), Refused("address")),
        ("an IPv6 address in an A record", of("A", &["2001:db8::1"]), Refused("address")),
        ("two targets of an alias", of("CNAME", &["a.example.net", "b.example.net"]), Refused("CNAME")),
        ("a negative ttl", www().with("ttl", -1), Refused("ttl")),
        ("a ttl beyond 31 bits", www().with("ttl", 4_000_000_000_u64), Refused("ttl")),
        ("an unknown word for adoption", www().with("adoption", "Steal"), Refused("adoption")),
        ("an unknown word for deletion", www().with("deletionPolicy", "Orphan"), Refused("deletionPolicy")),
        ("a proxied text", of("TXT", &["x"]).with("cloudflare.proxied", true), Refused("proxies")),
        ("an unknown field", www().with("vaules", json!([])), Refused("vaules")),
        ("a zone without a domain", zone("mistake").without("domain"), Refused("domain")),
        ("a domain that is none", zone("mistake").with("domain", "not a domain"), Refused("domain")),
        ("an unknown policy", zone("mistake").with("policy", "Mirror"), Refused("policy")),
        ("an interval of nothing", zone("mistake").with("interval", "0s"), Refused("interval")),
        (
            "more than everything deleted",
            zone("mistake").with("guard", json!({"maxDeletePercent": 200})),
            Refused("maxDeletePercent"),
        ),
        (
            "a domain that changes",
            lab.dns_zone().with("domain", "example.net"),
            Refused("create another DNSZone"),
        ),
        ("a provider without a backend", provider().without("cloudflare"), Refused("exactly one")),
        ("two backends", provider().with("builtin", json!({})), Refused("exactly one")),
        (
            "comments at the built-in server",
            provider().without("cloudflare").with("builtin", json!({})).with("registry.type", "Comment"),
            Refused("Comment"),
        ),
        ("a source of nothing", address_source("mistake", json!({})), Refused("static")),
        (
            "a source that is no URL",
            address_source("mistake", json!({"http": [{"url": "here"}]})),
            Refused("url"),
        ),
        // What only the operator can know.
        (
            "a label of 64 letters",
            www().with("name", format!("{}.{}", "w".repeat(64), lab.domain)),
            Reported("InvalidValue", "name"),
        ),
        ("a priority that is none", of("MX", &["high mail.example.net"]), Reported("InvalidValue", "MX")),
        (
            "a flag out of range",
            of("CAA", &["256 issue \"ca.example.net\""]),
            Reported("InvalidValue", "CAA"),
        ),
        ("half an SRV record", of("SRV", &["10 5 5060"]), Reported("InvalidValue", "SRV")),
        ("a key that is no hex", of("TLSA", &["3 1 1 xyz"]), Reported("InvalidValue", "TLSA")),
        (
            "a name that no zone has",
            www().with("name", "www.nobody.example.org"),
            Reported("NoMatchingZone", "create one"),
        ),
        (
            "a zone that does not exist",
            www().with("zoneRefs", json!([{"name": "nowhere"}])),
            Reported("RefNotFound", "nowhere"),
        ),
        (
            "a source that does not exist",
            www().without("values").with("valuesFrom", json!([{"addressSourceRef": {"name": "nowhere"}}])),
            Reported("RefNotFound", "create it"),
        ),
        (
            "text in the form of a marker",
            of("TXT", &["heritage=external-dns,external-dns/owner=me"]),
            Reported("ReservedName", "marker"),
        ),
        (
            "a second object that disagrees",
            lab.a("good", "192.0.2.9").named("mistake").with("ttl", 777),
            Reported("Conflict", "good"),
        ),
        (
            "a provider that does not exist",
            zone("orphan").with("providerRef", json!({"name": "nobody"})),
            Reported("RefNotFound", "create it"),
        ),
        ("a second zone for the same", zone("second"), Reported("DuplicateZone", "remove one")),
        (
            "a zone that Cloudflare does not have",
            lab.zone_of("nobody.example.org").named("missing"),
            Reported("ZoneNotFound", "nobody.example.org"),
        ),
        (
            "a Secret that does not exist",
            provider().with("cloudflare.apiTokenSecretRef.name", "nowhere"),
            Reported("RefNotFound", "create it"),
        ),
    ]
}
