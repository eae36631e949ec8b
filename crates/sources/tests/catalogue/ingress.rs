//! Ingresses: cases 83 to 91.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use zonekeeper_kernel::rdata::RecordType;
use zonekeeper_sources::{Standing, Word};

use crate::scene::{Scene, scene};

/// An Ingress `shop/web` with annotations of ExternalDNS, a spec and where its load balancer listens.
fn ingress(annotations: &str, spec: &str, balancer: &str) -> String {
    format!(
        "kind: Ingress\nmetadata:\n  name: web\n  namespace: shop\n  annotations: {{{annotations}}}\nspec: {{{spec}}}\nstatus: {{loadBalancer: {{ingress: [{balancer}]}}}}\n",
        annotations = annotations.replace("dns/", "external-dns.kubernetes.io/")
    )
}

const RULE: &str = "rules: [{host: www.example.com}]";
const ADDRESS: &str = "{ip: 192.0.2.1}";

#[test]
fn case_83_addresses_of_both_families_form_one_set_each_and_names_give_way() {
    let balancer = "{ip: 192.0.2.1}, {ip: 192.0.2.2}, {ip: '2001:db8::1'}, {ip: '2001:db8::2'}, {hostname: a.example.net}, {hostname: b.example.net}";
    // ExternalDNS asks for two aliases as well, which its own plan drops (case 19).
    assert_eq!(
        scene(&ingress("", RULE, balancer)).records(),
        ["www.example.com A 192.0.2.1 192.0.2.2", "www.example.com AAAA 2001:db8::1 2001:db8::2"]
    );
}

#[test]
fn case_84_an_empty_host_asks_for_nothing_and_missing_targets_keep_the_record() {
    assert!(scene(&ingress("", "rules: [{host: ''}, {}]", ADDRESS)).records().is_empty());
    let empty = scene(&ingress("", RULE, ""));
    assert_eq!(empty.records(), ["www.example.com A ? TargetsUnknown"]);
    assert!(empty.complaints().is_empty());
}

#[test]
fn case_85_hosts_of_certificates_are_published() {
    let spec = "rules: [{host: www.example.com}], tls: [{hosts: [www.example.com, tls.example.com]}]";
    assert_eq!(
        scene(&ingress("", spec, ADDRESS)).records(),
        ["tls.example.com A 192.0.2.1", "www.example.com A 192.0.2.1"]
    );
}

#[test]
fn case_87_a_target_annotation_replaces_the_status_and_an_empty_one_does_not() {
    let with = |target: &str| scene(&ingress(&format!("dns/target: '{target}'"), RULE, ADDRESS)).records();
    assert_eq!(with("lb.example.net."), ["www.example.com CNAME lb.example.net."]);
    assert_eq!(
        with("198.51.100.1, 198.51.100.2 ,2001:db8::5"),
        ["www.example.com A 198.51.100.1 198.51.100.2", "www.example.com AAAA 2001:db8::5"]
    );
    assert_eq!(with(""), ["www.example.com A 192.0.2.1"]);
    assert_eq!(with("not a name"), ["www.example.com A ? InvalidValue"]);
}

#[test]
fn a_bad_or_mixed_target_is_told() {
    let told = |target: &str| scene(&ingress(&format!("dns/target: '{target}'"), RULE, ADDRESS)).complaints();
    let field = "InvalidValue external-dns.kubernetes.io/target: ";
    assert!(told("not a name")[0].starts_with(field));
    assert!(told("not a name")[0].ends_with("write addresses or names, separated by commas"));
    assert_eq!(
        told("192.0.2.1,lb.example.net"),
        [format!(
            "{field}a name stands alone: beside addresses it is dropped, and of several the first is taken"
        )]
    );
    assert!(told("192.0.2.1,2001:db8::1").is_empty() && told("lb.example.net").is_empty());
}

fn of_class(scene: Scene, class: &str) -> Scene {
    let labels = [("kubernetes.io/ingress.class".to_owned(), class.to_owned())].into();
    let selector = LabelSelector { match_labels: Some(labels), ..LabelSelector::default() };
    scene.reading(|sources| sources.annotation_selector = Some(selector))
}

#[test]
fn case_88_a_class_is_chosen_by_the_spec_and_then_by_the_annotation() {
    let annotated = ingress("kubernetes.io/ingress.class: nginx", RULE, ADDRESS);
    assert_eq!(of_class(scene(&annotated), "nginx").records().len(), 1);
    let both =
        ingress("kubernetes.io/ingress.class: nginx", &format!("ingressClassName: public, {RULE}"), ADDRESS);
    assert_eq!(of_class(scene(&both), "public").records().len(), 1);
    let other = of_class(scene(&both), "nginx");
    assert!(other.records().is_empty());
    // Another class is no word of the object's: what it holds is an orphan.
    assert_eq!(other.first().standing, Standing::NotRead);
    assert_eq!(other.says("www.example.com", RecordType::A), Word::Silent);
}

#[test]
fn case_89_each_ingress_asks_for_itself_and_resolving_merges_or_refuses() {
    let other = ingress("", RULE, "{ip: 192.0.2.2}").replace("namespace: shop", "namespace: blog");
    let scene = scene(&ingress("", RULE, ADDRESS)).and(&other);
    let holders: Vec<String> = scene
        .published()
        .iter()
        .flat_map(|published| &published.asked)
        .map(|asked| asked.intent.holder.as_str().to_owned())
        .collect();
    assert_eq!(holders, ["ingress/shop/web", "ingress/blog/web"]);
    assert_eq!(scene.records(), ["www.example.com A 192.0.2.1", "www.example.com A 192.0.2.2"]);
}

#[test]
fn case_91_alias_changes_nothing() {
    let plain = scene(&ingress("", RULE, ADDRESS)).records();
    assert_eq!(scene(&ingress("dns/alias: 'true'", RULE, ADDRESS)).records(), plain);
}

#[test]
fn the_source_of_hostnames_can_be_chosen_and_a_bad_choice_removes_nothing() {
    let with = |source: &str| {
        let annotations = format!("dns/hostname: api.example.com, dns/ingress-hostname-source: {source}");
        scene(&ingress(&annotations, RULE, ADDRESS)).records()
    };
    assert_eq!(with("Defined-Hosts-Only"), ["www.example.com A 192.0.2.1"]);
    assert_eq!(with("annotation-only"), ["api.example.com A 192.0.2.1"]);
    assert_eq!(with("sometimes"), ["api.example.com A ? InvalidValue", "www.example.com A ? InvalidValue"]);
}

#[test]
fn the_template_is_used_for_an_ingress_without_hosts() {
    let scene = scene(&ingress("", "", ADDRESS)).template("{{.Name}}.{{.Namespace}}.example.com");
    assert_eq!(scene.records(), ["web.shop.example.com A 192.0.2.1"]);
}

#[test]
fn operators_case_61_an_object_or_namespace_that_is_going_creates_nothing() {
    let yaml = ingress("", RULE, ADDRESS)
        .replace("  name: web", "  name: web\n  deletionTimestamp: '2026-11-02T00:00:00Z'");
    let leaving = scene(&yaml);
    assert!(leaving.records().is_empty());
    assert_eq!(leaving.first().standing, Standing::Leaving);
    assert_eq!(leaving.says("www.example.com", RecordType::A), Word::WantsOther);
    let namespace = "kind: Namespace\nmetadata: {name: shop, deletionTimestamp: '2026-11-02T00:00:00Z'}";
    let scene = scene(&ingress("", RULE, ADDRESS)).and(namespace);
    assert_eq!(scene.records(), ["www.example.com A ? TargetsUnknown"]);
}

#[test]
fn a_name_beside_addresses_is_left_out_and_that_is_said() {
    let with = |balancer: &str, annotations: &str| {
        scene(&format!(
            "kind: Ingress\nmetadata: {{name: web, namespace: shop, annotations: {{{annotations}}}}}\nspec: {{rules: [{{host: www.example.com}}]}}\nstatus: {{loadBalancer: {{ingress: [{balancer}]}}}}\n"
        ))
    };
    let mixed = with("{ip: 192.0.2.1, hostname: lb.example.net}", "");
    assert_eq!(mixed.records(), ["www.example.com A 192.0.2.1"]);
    let notes = mixed.first().notes;
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0].field, "status.loadBalancer.ingress");
    assert!(notes[0].message.starts_with("lb.example.net is left out"), "{}", notes[0].message);
    let names = with("{hostname: a.example.net}, {hostname: b.example.net}", "");
    assert_eq!(names.records(), ["www.example.com CNAME a.example.net."]);
    assert!(names.first().notes[0].message.starts_with("b.example.net is left out"));
    for quiet in [
        with("{ip: 192.0.2.1}, {ip: 192.0.2.2}", ""),
        with("{hostname: lb.example.net}", ""),
        with("{ip: 192.0.2.1, hostname: lb.example.net}", "external-dns.kubernetes.io/target: 192.0.2.9"),
    ] {
        assert!(quiet.first().notes.is_empty());
    }
}
