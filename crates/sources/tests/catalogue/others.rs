//! DNSEndpoints, Nodes and Pods: cases 104 to 106.

use zonekeeper_api::SourceKind;
use zonekeeper_kernel::rdata::RecordType;
use zonekeeper_sources::Word;

use crate::scene::{Scene, scene};

fn endpoint(endpoints: &str) -> Scene {
    scene(&format!(
        "kind: DNSEndpoint\nmetadata: {{name: web, namespace: shop}}\nspec: {{endpoints: [{endpoints}]}}"
    ))
}

fn set(rtype: &str, target: &str) -> String {
    format!("{{dnsName: x.example.com, recordType: {rtype}, targets: ['{target}']}}")
}

#[test]
fn case_104_a_dns_endpoint_asks_for_sets_of_any_type() {
    for (rtype, target, shown) in [
        ("A", "192.0.2.1", "192.0.2.1"),
        ("AAAA", "2001:db8:0::1", "2001:db8::1"),
        ("CNAME", "a.example.net", "a.example.net."),
        ("CNAME", "a.example.net.", "a.example.net."),
        ("DNAME", "a.example.net", "a.example.net."),
        ("MX", "10 mail.example.net", "10 mail.example.net."),
        ("SRV", "0 50 80 a.example.net.", "0 50 80 a.example.net."),
        ("SRV", "0 50 80 a.example.net", "0 50 80 a.example.net."),
        ("NS", "ns1.example.net", "ns1.example.net."),
        ("PTR", "a.example.net", "a.example.net."),
        ("TXT", "hello world", "\"hello world\""),
        (
            "NAPTR",
            "10 100 \"S\" \"SIP+D2U\" \"\" _sip._udp.example.net.",
            "10 100 \"S\" \"SIP+D2U\" \"\" _sip._udp.example.net.",
        ),
        ("TLSA", &format!("3 1 1 {}", "AB".repeat(32)), &format!("3 1 1 {}", "ab".repeat(32))),
    ] {
        let records = endpoint(&set(rtype, target)).records();
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].to_lowercase(), format!("x.example.com {rtype} {shown}").to_lowercase());
    }
}

#[test]
fn case_104_a_bad_target_is_told_and_keeps_its_set() {
    for (rtype, target) in
        [("A", "192.0.2.1."), ("NAPTR", "10 100 S SIP+D2U \"\" _sip.example.net"), ("MX", "mail.example.net")]
    {
        let scene = endpoint(&format!(
            "{}, {{dnsName: y.example.com, recordType: A, targets: [192.0.2.9]}}",
            set(rtype, target)
        ));
        let expected = format!("x.example.com {rtype} ? InvalidValue");
        assert_eq!(scene.records(), [expected, "y.example.com A 192.0.2.9".into()]);
        assert!(scene.complaints()[0].starts_with("InvalidValue spec.endpoints[0].targets: "));
    }
    let scene = endpoint(&set("NOPE", "x"));
    assert!(scene.complaints()[0].starts_with("InvalidValue spec.endpoints[0].recordType: "));
    assert_eq!(scene.says("x.example.com", RecordType::A), Word::Awaited);
}

#[test]
fn case_104_empty_targets_keep_the_set() {
    let scene = endpoint("{dnsName: x.example.com, recordType: CNAME, targets: []}");
    assert_eq!(scene.records(), ["x.example.com CNAME ? TargetsUnknown"]);
    assert!(scene.complaints().is_empty());
}

#[test]
fn provider_settings_are_read_in_every_spelling() {
    for name in [
        "cloudflare/proxied",
        "external-dns.kubernetes.io/cloudflare-proxied",
        "external-dns.alpha.kubernetes.io/cloudflare-proxied",
    ] {
        let properties =
            format!("providerSpecific: [{{name: {name}, value: 'true'}}, {{name: aws/weight, value: '1'}}]");
        let scene = endpoint(&format!(
            "{{dnsName: x.example.com, recordType: A, targets: [192.0.2.1], recordTTL: 90, {properties}}}"
        ));
        assert_eq!(scene.records(), ["x.example.com A 192.0.2.1 ttl=90 proxied=true"], "{name}");
    }
    let more = "providerSpecific: [{name: cloudflare/record-comment, value: hi}, {name: cloudflare/tags, value: 'b, a'}]";
    let scene = endpoint(&format!("{{dnsName: x.example.com, recordType: A, targets: [192.0.2.1], {more}}}"));
    assert_eq!(scene.records(), ["x.example.com A 192.0.2.1 comment=\"hi\" tags=a+b"]);
    let bad = "providerSpecific: [{name: cloudflare/proxied, value: sure}]";
    let scene = endpoint(&format!("{{dnsName: x.example.com, recordType: A, targets: [192.0.2.1], {bad}}}"));
    assert_eq!(scene.records(), ["x.example.com A ? InvalidValue"]);
}

#[test]
fn a_dns_endpoint_is_held_as_external_dns_writes_it_and_ignores_foreign_annotations() {
    let yaml = format!(
        "kind: DNSEndpoint\nmetadata: {{name: web, namespace: shop, annotations: {{external-dns.kubernetes.io/controller: other, external-dns.kubernetes.io/ttl: '5'}}}}\nspec: {{endpoints: [{}]}}",
        set("A", "192.0.2.1")
    );
    let scene = scene(&yaml);
    assert_eq!(scene.records(), ["x.example.com A 192.0.2.1"]);
    assert_eq!(scene.first().asked[0].intent.holder.as_str(), "crd/shop/web");
}

#[test]
fn one_name_and_type_asked_for_twice_is_one_set_or_a_told_mistake() {
    let twice = endpoint(&format!("{}, {}", set("A", "192.0.2.2"), set("A", "192.0.2.1")));
    assert_eq!(twice.records(), ["x.example.com A 192.0.2.1 192.0.2.2"]);
    let odd = "{dnsName: x.example.com, recordType: A, targets: [192.0.2.1], recordTTL: 60}";
    let scene = endpoint(&format!("{odd}, {}", set("A", "192.0.2.2")));
    assert_eq!(scene.records(), ["x.example.com A ? InvalidValue"]);
    assert!(scene.complaints()[0].contains("asked for twice"));
}

fn node(rest: &str, addresses: &str) -> Scene {
    scene(&format!(
        "kind: Node\nmetadata: {{name: n1.example.com{rest}}}\nstatus: {{addresses: [{addresses}]}}"
    ))
}

const EXTERNAL: &str = "{type: ExternalIP, address: 203.0.113.1}";
const INTERNAL: &str = "{type: InternalIP, address: 10.9.0.1}, {type: InternalIP, address: 'fd00::1'}";

#[test]
fn case_105_a_node_is_published_with_external_addresses_before_internal_ones() {
    let both = node("", &format!("{INTERNAL}, {EXTERNAL}"));
    assert_eq!(both.records(), ["n1.example.com A 203.0.113.1"]);
    assert_eq!(both.first().asked[0].intent.holder.as_str(), "node/n1.example.com");
    assert_eq!(node("", INTERNAL).records(), ["n1.example.com A 10.9.0.1", "n1.example.com AAAA fd00::1"]);
    assert_eq!(node("", "").records(), ["n1.example.com A ? TargetsUnknown"]);
    let targeted = node(
        ", annotations: {external-dns.kubernetes.io/target: 198.51.100.1, external-dns.kubernetes.io/ttl: '60'}",
        EXTERNAL,
    );
    assert_eq!(targeted.records(), ["n1.example.com A 198.51.100.1 ttl=60"]);
    assert_eq!(
        node("", EXTERNAL).template("{{.Name}}.nodes.example.com").records(),
        ["n1.example.com.nodes.example.com A 203.0.113.1"]
    );
}

#[test]
fn case_105_a_cordoned_node_says_itself_that_it_wants_nothing() {
    let yaml = format!(
        "kind: Node\nmetadata: {{name: n1.example.com}}\nspec: {{unschedulable: true}}\nstatus: {{addresses: [{EXTERNAL}]}}"
    );
    let scene = scene(&yaml);
    assert!(scene.records().is_empty());
    assert_eq!(scene.says("n1.example.com", RecordType::A), Word::WantsOther);
}

fn pod(annotations: &str) -> Scene {
    let yaml = format!(
        "kind: Pod\nmetadata: {{name: p, namespace: shop, annotations: {{{}}}}}\nspec: {{nodeName: n1}}\nstatus: {{podIP: 10.1.0.1, podIPs: [{{ip: 10.1.0.1}}, {{ip: 'fd00::11'}}]}}\n---\nkind: Node\nmetadata: {{name: n1}}\nstatus: {{addresses: [{EXTERNAL}, {INTERNAL}]}}",
        annotations.replace("dns/", "external-dns.kubernetes.io/")
    );
    scene(&yaml).reading(|sources| sources.kinds = vec![SourceKind::Pod])
}

#[test]
fn case_106_a_pod_publishes_its_node_outside_and_itself_inside() {
    assert_eq!(
        pod("dns/hostname: p.example.com").records(),
        ["p.example.com A 203.0.113.1", "p.example.com AAAA fd00::1"]
    );
    assert_eq!(pod("dns/internal-hostname: p.example.com").records(), ["p.example.com A 10.1.0.1"]);
    assert_eq!(
        pod("").template("{{.Name}}.example.com").records(),
        ["p.example.com A 10.1.0.1", "p.example.com AAAA fd00::11"]
    );
    assert!(pod("").records().is_empty());
}

#[test]
fn case_106_a_missing_node_keeps_the_record() {
    let unreadable = pod("dns/hostname: p.example.com").unreadable("Node");
    assert_eq!(unreadable.records(), ["p.example.com A ? TargetsUnknown"]);
    let deleted = pod("dns/hostname: p.example.com").deleted("Node", "", "n1");
    assert_eq!(deleted.records(), ["p.example.com A ? TargetsUnknown"]);
}
