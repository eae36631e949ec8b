//! cloudflare-operator's Ingress and route support: cases 33 to 42 and 58 to 61 of reference/cloudflare-operators.md.
//!
//! 37 and 38 (records deleted or edited by hand come back) are the zone worker's drift, and 61 stands in ingress.rs.

use zonekeeper_api::Dialect;
use zonekeeper_kernel::rdata::RecordType;
use zonekeeper_sources::Word;

use crate::scene::{Scene, scene};

fn ingress(annotations: &str) -> Scene {
    scene(&format!(
        "kind: Ingress\nmetadata: {{name: web, namespace: shop, annotations: {{{}}}}}\nspec: {{rules: [{{host: a.example.com}}, {{host: b.example.com}}], tls: [{{hosts: [tls.example.com]}}]}}\nstatus: {{loadBalancer: {{ingress: [{{ip: 198.51.100.1}}]}}}}",
        annotations.replace("cf/", "cloudflare-operator.io/")
    ))
    .dialects(&[Dialect::CloudflareOperator])
}

#[test]
fn case_33_an_annotated_ingress_publishes_one_record_per_rule_proxied_by_default() {
    let scene = ingress("cf/content: 192.0.2.1");
    assert_eq!(
        scene.records(),
        ["a.example.com A 192.0.2.1 proxied=true", "b.example.com A 192.0.2.1 proxied=true"]
    );
    assert_eq!(scene.first().asked[0].intent.holder.as_str(), "ingress/shop/web");
}

#[test]
fn case_34_without_content_or_ip_ref_nothing_is_published() {
    assert!(ingress("cf/proxied: 'false'").records().is_empty());
    assert!(ingress("cf/content: ''").records().is_empty());
    // Beside another dialect the object is read in that one.
    let beside = ingress("").dialects(&[Dialect::CloudflareOperator, Dialect::ExternalDns]);
    assert_eq!(beside.records().len(), 3);
}

#[test]
fn case_36_annotations_taken_away_take_the_records_away() {
    let scene = ingress("").dialects(&[Dialect::CloudflareOperator, Dialect::ExternalDns]);
    assert_eq!(scene.says("a.example.com", RecordType::CNAME), Word::WantsOther);
    assert_eq!(ingress("").says("a.example.com", RecordType::A), Word::WantsOther);
}

#[test]
fn case_40_a_proxied_record_has_no_ttl_of_its_own() {
    let proxied = ingress("cf/content: 192.0.2.1, cf/proxied: 'true', cf/ttl: '120'");
    assert_eq!(proxied.records()[0], "a.example.com A 192.0.2.1 proxied=true");
    let plain = ingress(
        "cf/content: 192.0.2.1, cf/proxied: 'false', cf/ttl: '120', cf/comment: hello, cf/interval: 5m, cf/account-ref: x",
    );
    assert_eq!(plain.records()[0], "a.example.com A 192.0.2.1 ttl=120 proxied=false comment=\"hello\"");
}

#[test]
fn case_41_routes_are_read_without_their_gateways() {
    for kind in ["HTTPRoute", "TLSRoute", "GRPCRoute"] {
        let yaml = format!(
            "kind: {kind}\nmetadata: {{name: web, namespace: shop, annotations: {{cloudflare-operator.io/content: lb.example.net, cloudflare-operator.io/type: CNAME}}}}\nspec: {{hostnames: [a.example.com], parentRefs: [{{name: edge}}]}}"
        );
        let scene = scene(&yaml).dialects(&[Dialect::CloudflareOperator, Dialect::ExternalDns]);
        assert_eq!(scene.records(), ["a.example.com CNAME lb.example.net. proxied=true"], "{kind}");
    }
}

#[test]
fn case_42_a_kind_that_is_not_installed_stops_no_other() {
    let scene = ingress("cf/content: 192.0.2.1").unreadable("HTTPRoute").unreadable("Gateway");
    assert_eq!(scene.records().len(), 2);
}

#[test]
fn an_ip_ref_takes_what_an_address_source_says_and_goes_before_content() {
    let scene = ingress("cf/ip-ref: home, cf/content: 192.0.2.1").address("shop", "home", "192.0.2.77");
    assert_eq!(scene.records()[0], "a.example.com A 192.0.2.77 proxied=true");
    let other = ingress("cf/ip-ref: dns/home").address("dns", "home", "2001:db8::7");
    assert_eq!(other.records()[0], "a.example.com A ? TargetsUnknown proxied=true");
    assert_eq!(ingress("cf/ip-ref: home").records()[0], "a.example.com A ? RefNotFound proxied=true");
}

#[test]
fn the_type_is_taken_from_the_annotation_or_from_the_content() {
    let text = ingress("cf/content: hello, cf/type: TXT");
    assert_eq!(text.records()[0], "a.example.com TXT \"hello\"");
    assert_eq!(
        ingress("cf/content: '2001:db8::1'").records()[0],
        "a.example.com AAAA 2001:db8::1 proxied=true"
    );
    let bad = ingress("cf/content: 192.0.2.1, cf/type: NOPE");
    assert_eq!(bad.records()[0], "a.example.com A ? InvalidValue proxied=true");
    assert!(bad.complaints()[0].starts_with("InvalidValue cloudflare-operator.io/type: "));
    let mismatch = ingress("cf/content: lb.example.net, cf/type: A");
    assert!(mismatch.complaints()[0].starts_with("InvalidValue cloudflare-operator.io/content: "));
}

#[test]
fn case_59_two_ingresses_that_share_a_host_each_ask_and_resolving_decides() {
    let other = "kind: Ingress\nmetadata: {name: two, namespace: shop, annotations: {cloudflare-operator.io/content: 192.0.2.1}}\nspec: {rules: [{host: a.example.com}]}";
    let scene = ingress("cf/content: 192.0.2.1").and(other);
    let a = "a.example.com A 192.0.2.1 proxied=true";
    assert_eq!(scene.records(), [a, a, "b.example.com A 192.0.2.1 proxied=true"]);
}
