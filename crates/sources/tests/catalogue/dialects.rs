//! Whose annotations are read, and what a zone's sources change about it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use zonekeeper_api::{Dialect, SourceKind, Sources};
use zonekeeper_kernel::rdata::RecordType;
use zonekeeper_sources::{Reading, Standing, Word, object::Keep};

use crate::scene::{Scene, scene};

fn service(annotations: &str) -> Scene {
    scene(&format!(
        "kind: Service\nmetadata: {{name: web, namespace: shop, labels: {{app: web}}, annotations: {{{annotations}}}}}\nspec: {{type: LoadBalancer}}\nstatus: {{loadBalancer: {{ingress: [{{ip: 192.0.2.1}}]}}}}"
    ))
}

#[test]
fn both_prefixes_of_external_dns_are_read_and_the_new_one_wins() {
    let old = "external-dns.alpha.kubernetes.io/hostname: old.example.com";
    assert_eq!(service(old).records(), ["old.example.com A 192.0.2.1"]);
    let both = format!(
        "{old}, external-dns.kubernetes.io/hostname: new.example.com, external-dns.alpha.kubernetes.io/ttl: '60'"
    );
    assert_eq!(service(&both).records(), ["new.example.com A 192.0.2.1 ttl=60"]);
}

#[test]
fn our_own_annotations_go_before_external_dnss() {
    let annotations = "zonekeeper.dev/hostname: ours.example.com, external-dns.kubernetes.io/hostname: theirs.example.com, zonekeeper.dev/target: 192.0.2.9, zonekeeper.dev/tags: 'b,a', zonekeeper.dev/zone: 'dns/public,private'";
    assert_eq!(
        service(annotations).records(),
        ["ours.example.com A 192.0.2.9 tags=a+b zones=dns/public+shop/private"]
    );
}

#[test]
fn further_prefixes_are_read_like_external_dnss_even_alone() {
    let annotations = "in.example.org/hostname: in.example.com, in.example.org/ttl: '60', external-dns.kubernetes.io/hostname: out.example.com";
    let inside = service(annotations)
        .dialects(&[])
        .reading(|sources| sources.annotation_prefixes = vec!["in.example.org/".into()]);
    assert_eq!(inside.records(), ["in.example.com A 192.0.2.1 ttl=60"]);
    assert_eq!(service(annotations).records(), ["out.example.com A 192.0.2.1"]);
}

#[test]
fn a_prefix_dialect_or_kind_that_is_read_no_more_is_no_evidence() {
    let old = service("old.example.org/hostname: www.example.com");
    assert!(old.records().is_empty());
    assert_eq!(old.says("www.example.com", RecordType::A), Word::Silent);
    // Nor do names below it count as given up, which Pods of a headless Service have.
    assert_eq!(old.says("pod-0.www.example.com", RecordType::A), Word::Silent);
    let alpha = service("external-dns.alpha.kubernetes.io/hostname: www.example.com")
        .dialects(&[Dialect::Zonekeeper]);
    assert_eq!(alpha.says("www.example.com", RecordType::A), Word::Silent);
    let kind = service("zonekeeper.dev/hostname: www.example.com")
        .reading(|sources| sources.kinds = vec![SourceKind::Ingress]);
    assert_eq!(kind.first().standing, Standing::NotRead);
    assert_eq!(kind.says("www.example.com", RecordType::A), Word::Silent);
    // Its own annotation taken away is.
    assert_eq!(service("").says("www.example.com", RecordType::A), Word::WantsOther);
}

#[test]
fn selectors_choose_objects() {
    let selector = |key: &str, value: &str| LabelSelector {
        match_labels: Some([(key.to_owned(), value.to_owned())].into()),
        ..LabelSelector::default()
    };
    let annotated = "zonekeeper.dev/hostname: www.example.com, tier: front";
    let labelled = |value: &str| {
        service(annotated).reading(|sources| sources.label_selector = Some(selector("app", value)))
    };
    assert_eq!(labelled("web").records().len(), 1);
    assert_eq!(labelled("api").first().standing, Standing::NotRead);
    let with = |value: &str| {
        service(annotated).reading(|sources| sources.annotation_selector = Some(selector("tier", value)))
    };
    assert_eq!(with("front").records().len(), 1);
    assert!(with("back").records().is_empty());
}

#[test]
fn ignore_and_another_controller_are_words_of_the_object() {
    for annotation in ["zonekeeper.dev/ignore: 'true'", "external-dns.kubernetes.io/controller: other"] {
        let scene = service(&format!("zonekeeper.dev/hostname: www.example.com, {annotation}"));
        assert!(scene.records().is_empty());
        assert_eq!(scene.says("www.example.com", RecordType::A), Word::WantsOther);
    }
    let not = service("zonekeeper.dev/hostname: www.example.com, zonekeeper.dev/ignore: 'false'");
    assert_eq!(not.records().len(), 1);
    let bad = service("zonekeeper.dev/hostname: www.example.com, zonekeeper.dev/ignore: perhaps");
    assert_eq!(bad.records(), ["www.example.com A ? InvalidValue"]);
}

#[test]
fn every_bad_value_names_its_annotation_and_what_is_accepted() {
    for (annotation, accepted) in [
        ("zonekeeper.dev/proxied: maybe", "write \"true\" or \"false\""),
        ("external-dns.kubernetes.io/cloudflare-proxied: maybe", "write \"true\" or \"false\""),
        ("zonekeeper.dev/ttl: soon", "write seconds from 1 to 2147483647, or a duration such as 5m"),
        ("zonekeeper.dev/zone: a/b/c", "write namespace/name"),
        ("zonekeeper.dev/ignore: maybe", "write \"true\" or \"false\""),
    ] {
        let scene = service(&format!("zonekeeper.dev/hostname: www.example.com, {annotation}"));
        assert_eq!(scene.records(), ["www.example.com A ? InvalidValue"], "{annotation}");
        let key = annotation.split(':').next().unwrap();
        let told = scene.complaints();
        assert!(
            told[0].starts_with(&format!("InvalidValue {key}: ")) && told[0].contains(accepted),
            "{told:?}"
        );
    }
}

#[test]
fn equal_sources_read_alike_however_they_are_written() {
    let one = Sources { kinds: vec![SourceKind::Ingress, SourceKind::Service], ..Sources::default() };
    let other = Sources {
        kinds: vec![SourceKind::Service, SourceKind::Ingress, SourceKind::Service],
        dialects: vec![Dialect::ExternalDns, Dialect::Zonekeeper],
        label_selector: Some(LabelSelector::default()),
        fqdn_template: " ".into(),
        ..Sources::default()
    };
    let (one, other) = (Reading::parse(&one).unwrap(), Reading::parse(&other).unwrap());
    assert_eq!(one, other);
    assert_eq!(one.key(), other.key());
    assert_eq!(one.keep(), Keep::Narrow);
    assert_ne!(one, Reading::parse(&Sources::default()).unwrap());
}

#[test]
fn a_field_that_cannot_be_understood_is_named() {
    let with = |change: fn(&mut Sources)| {
        let mut sources = Sources::default();
        change(&mut sources);
        Reading::parse(&sources).unwrap_err().field
    };
    assert_eq!(
        with(|sources| sources.annotation_prefixes = vec!["a.example.org".into()]),
        "spec.sources.annotationPrefixes[0]"
    );
    assert_eq!(with(|sources| sources.fqdn_template = "{{.Name".into()), "spec.sources.fqdnTemplate");
    let bad = |sources: &mut Sources| {
        let requirement = LabelSelectorRequirement { key: "a".into(), operator: "Like".into(), values: None };
        sources.label_selector =
            Some(LabelSelector { match_expressions: Some(vec![requirement]), ..LabelSelector::default() });
    };
    assert_eq!(with(bad), "spec.sources.labelSelector.matchExpressions[0].operator");
}

#[test]
fn what_needs_no_annotations_needs_no_dialect() {
    let endpoint = "kind: DNSEndpoint\nmetadata: {name: e, namespace: shop}\nspec: {endpoints: [{dnsName: e.example.com, recordType: A, targets: [192.0.2.1]}]}";
    assert_eq!(scene(endpoint).dialects(&[]).records(), ["e.example.com A 192.0.2.1"]);
    let ingress =
        "kind: Ingress\nmetadata: {name: i, namespace: shop}\nspec: {rules: [{host: i.example.com}]}";
    assert!(scene(ingress).dialects(&[]).records().is_empty());
    assert_eq!(scene(ingress).dialects(&[]).says("i.example.com", RecordType::A), Word::Silent);
}

/// A digest of it is kept in the status of zones.
#[test]
fn the_form_of_a_reading_is_fixed() {
    let mut sources = Sources { fqdn_template: " {{.Name}}.example.com ".into(), ..Sources::default() };
    let labels = [("team".to_owned(), "a".to_owned())].into();
    sources.label_selector = Some(LabelSelector { match_labels: Some(labels), ..LabelSelector::default() });
    let expected = [
        "kinds Service,Ingress,HTTPRoute",
        "annotations zonekeeper=zonekeeper.dev/,external-dns=external-dns.kubernetes.io/,external-dns=external-dns.alpha.kubernetes.io/",
        "labelSelector team in (a)",
        "annotationSelector ",
        "fqdnTemplate {{.Name}}.example.com",
    ];
    assert_eq!(&*Reading::parse(&sources).unwrap().key().0, expected.join("\n"));
}
