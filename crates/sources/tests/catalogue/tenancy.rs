//! From objects to sets: which zone takes them, who may ask, and who wins a host that several want.

use zonekeeper_kernel::{
    attribute::{Attribute, Attributes, PROXIED, Schema, TtlRule},
    capability::{Capabilities, Types},
    desired::{Adoption, Values},
    marker::Registry,
    name::Name,
    record::Ttl,
    resolve::{Incumbents, Zones, choose, resolve},
    zone::{Grant, NameLimits, Namespaces, Selection, Sharing, Zone, ZoneKey},
};

use crate::scene::{Scene, scene};

fn ingress(namespace: &str, name: &str, created: &str, address: &str, annotations: &str) -> String {
    format!(
        "---\nkind: Ingress\nmetadata: {{name: {name}, namespace: {namespace}, uid: {name}, creationTimestamp: '{created}', annotations: {{{annotations}}}}}\nspec: {{rules: [{{host: www.example.com}}]}}\nstatus: {{loadBalancer: {{ingress: [{{ip: {address}}}]}}}}\n"
    )
}

/// A zone `dns/example-com` at Cloudflare that reads as the scene does and lets all namespaces in.
fn zone(scene: &Scene, share: Sharing) -> Zone {
    let grant =
        Grant { namespaces: Namespaces::All, names: None, types: None, share, adoption: Adoption::Identical };
    Zone {
        key: ZoneKey { namespace: "dns".into(), name: "example-com".into() },
        provider: "cloudflare".into(),
        domain: Name::parse("example.com").unwrap(),
        selection: Selection::Any,
        names: NameLimits::default(),
        grants: vec![grant],
        records_from: Vec::new(),
        sources: Some(scene.parsed().key().clone()),
        default_ttl: None,
        default_attributes: Attributes::default(),
    }
}

/// A provider with a proxy.
fn capabilities() -> Capabilities {
    let proxied = Attribute { ttl: TtlRule::Automatic, ..Attribute::flag(PROXIED, Types::Every) };
    let attributes = Schema { attributes: vec![proxied], ..Schema::default() };
    Capabilities { attributes, default_ttl: Ttl::AUTOMATIC, ..Capabilities::standard() }
}

/// The sets of the zone and who was refused why.
fn resolved(scene: &Scene, zone: Zone) -> (Vec<String>, Vec<String>) {
    let zones: Zones = [zone.clone()].into_iter().collect();
    let intents: Vec<_> =
        scene.published().into_iter().flat_map(|one| one.asked).map(|asked| asked.intent).collect();
    let (mut wishes, mut refused) = (Vec::new(), Vec::new());
    for intent in &intents {
        let (candidates, rejections) = choose(intent, &zones);
        wishes.extend(candidates.into_iter().map(|candidate| (candidate.name, intent)));
        refused.extend(rejections);
    }
    let registry = Registry::none(zone.domain.clone());
    let (desired, rejections) = resolve(&zone, &capabilities(), &registry, wishes, &Incumbents::new());
    refused.extend(rejections);
    let sets = desired.iter().flat_map(|(name, sets)| {
        sets.iter().map(move |set| {
            let values = match &set.values {
                Values::Known(values) => values.iter().map(|value| value.rdata.to_string()).collect(),
                Values::Unknown => vec!["?".to_owned()],
            };
            format!("{name} {} {} ttl {} by {}", set.rtype, values.join(" "), set.ttl, set.holders.len())
        })
    });
    let refused = refused.iter().map(|one| format!("{} {}: {}", one.holder, one.reason, one.message));
    (sets.collect(), refused.collect())
}

fn two(other_namespace: &str, annotations: &str) -> Scene {
    scene(&ingress("shop", "one", "2026-01-01T00:00:00Z", "192.0.2.1", "")).and(&ingress(
        other_namespace,
        "two",
        "2026-01-02T00:00:00Z",
        "192.0.2.2",
        annotations,
    ))
}

#[test]
fn case_89_one_namespace_merges_its_addresses() {
    let scene = two("shop", "");
    let (sets, refused) = resolved(&scene, zone(&scene, Sharing::Exclusive));
    assert_eq!(sets, ["www.example.com A 192.0.2.1 192.0.2.2 ttl auto by 2"]);
    assert!(refused.is_empty());
}

#[test]
fn case_89_another_namespace_loses_to_the_first_unless_the_grant_shares() {
    let scene = two("blog", "");
    let (sets, refused) = resolved(&scene, zone(&scene, Sharing::Exclusive));
    assert_eq!(sets, ["www.example.com A 192.0.2.1 ttl auto by 1"]);
    assert_eq!(refused.len(), 1);
    assert!(
        refused[0].starts_with("ingress blog/two Conflict: www.example.com A is held by ingress shop/one")
    );
    let (sets, refused) = resolved(&scene, zone(&scene, Sharing::Shared));
    assert_eq!(sets, ["www.example.com A 192.0.2.1 192.0.2.2 ttl auto by 2"]);
    assert!(refused.is_empty());
}

#[test]
fn operators_case_59_one_of_two_that_agree_may_go_and_two_that_disagree_conflict() {
    let disagreeing = two("shop", "zonekeeper.dev/ttl: '120'");
    let (sets, refused) = resolved(&disagreeing, zone(&disagreeing, Sharing::Exclusive));
    assert_eq!(sets, ["www.example.com A 192.0.2.1 ttl auto by 1"]);
    assert!(refused[0].starts_with("ingress shop/two Conflict: ") && refused[0].contains("with another ttl"));
    let alone = scene(&ingress("shop", "one", "2026-01-01T00:00:00Z", "192.0.2.1", ""));
    let (sets, _) = resolved(&alone, zone(&alone, Sharing::Exclusive));
    assert_eq!(sets, ["www.example.com A 192.0.2.1 ttl auto by 1"]);
}

#[test]
fn a_namespace_without_a_grant_and_a_zone_without_sources_refuse() {
    let scene = two("shop", "");
    let closed = Zone { grants: Vec::new(), ..zone(&scene, Sharing::Exclusive) };
    let (sets, refused) = resolved(&scene, closed);
    assert!(sets.is_empty());
    assert!(refused[0].contains("NotAllowed: DNSZone dns/example-com grants namespace shop no A records"));
    let silent = Zone { sources: None, ..zone(&scene, Sharing::Exclusive) };
    let (_, refused) = resolved(&scene, silent);
    assert!(refused[0].contains("NotAllowed: DNSZone dns/example-com takes no source objects"));
}

#[test]
fn case_111_a_proxied_record_has_an_automatic_ttl_whatever_was_asked() {
    let annotations =
        "external-dns.kubernetes.io/cloudflare-proxied: 'true', external-dns.kubernetes.io/ttl: '120'";
    let scene = scene(&ingress("shop", "one", "2026-01-01T00:00:00Z", "192.0.2.1", annotations));
    let (sets, _) = resolved(&scene, zone(&scene, Sharing::Exclusive));
    assert_eq!(sets, ["www.example.com A 192.0.2.1 ttl auto by 1"]);
}
