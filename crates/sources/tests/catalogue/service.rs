//! Services: cases 68 to 82.

use zonekeeper_kernel::rdata::RecordType;
use zonekeeper_sources::Word;

use crate::scene::scene;

/// A Service `shop/web` with annotations of ExternalDNS and the rest of its manifest.
fn service(annotations: &str, rest: &str) -> String {
    format!(
        "kind: Service\nmetadata:\n  name: web\n  namespace: shop\n  annotations: {{{annotations}}}\n{rest}",
        annotations = annotations.replace("dns/", "external-dns.kubernetes.io/")
    )
}

const HOSTNAME: &str = "dns/hostname: www.example.com";
const BALANCED: &str =
    "spec: {type: LoadBalancer, clusterIP: 10.0.0.1}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}";

#[test]
fn case_68_without_an_annotation_nothing_is_published() {
    assert!(scene(&service("", BALANCED)).records().is_empty());
}

#[test]
fn case_68_trailing_dots_commas_and_spaces_in_a_hostname_are_accepted() {
    let annotations = "dns/hostname: 'www.example.com., api.example.com ,, b .example.com'";
    let records = scene(&service(annotations, BALANCED)).records();
    assert_eq!(
        records,
        ["api.example.com A 192.0.2.1", "b.example.com A 192.0.2.1", "www.example.com A 192.0.2.1"]
    );
}

#[test]
fn case_69_each_target_gets_the_record_of_its_type() {
    let with = |ingress: &str| {
        let status =
            format!("spec: {{type: LoadBalancer}}\nstatus: {{loadBalancer: {{ingress: [{ingress}]}}}}");
        scene(&service(HOSTNAME, &status)).records()
    };
    assert_eq!(with("{hostname: lb.example.net}"), ["www.example.com CNAME lb.example.net."]);
    assert_eq!(
        with("{ip: 192.0.2.1}, {ip: '2001:db8::1'}"),
        ["www.example.com A 192.0.2.1", "www.example.com AAAA 2001:db8::1"]
    );
    // A CNAME beside addresses gives way, as in ExternalDNS's plan (case 19).
    assert_eq!(with("{ip: 192.0.2.1, hostname: lb.example.net}"), ["www.example.com A 192.0.2.1"]);
    assert_eq!(
        with("{hostname: b.example.net}, {hostname: a.example.net}"),
        ["www.example.com CNAME a.example.net."]
    );
}

#[test]
fn an_empty_load_balancer_status_keeps_the_record() {
    let scene = scene(&service(HOSTNAME, "spec: {type: LoadBalancer}"));
    assert_eq!(scene.records(), ["www.example.com A ? TargetsUnknown"]);
    assert_eq!(scene.says("www.example.com", RecordType::CNAME), Word::Awaited);
    assert_eq!(scene.says("other.example.com", RecordType::A), Word::WantsOther);
}

#[test]
fn case_70_external_ips_beat_the_status() {
    let spec = "spec: {type: LoadBalancer, externalIPs: [198.51.100.7]}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}";
    assert_eq!(scene(&service(HOSTNAME, spec)).records(), ["www.example.com A 198.51.100.7"]);
}

#[test]
fn case_71_a_cluster_address_is_published_only_under_the_internal_hostname() {
    let spec = "spec: {type: ClusterIP, clusterIP: 10.0.0.1}";
    let outside = scene(&service(HOSTNAME, spec));
    assert!(outside.records().is_empty());
    // It was read and is no load balancer any more: that is evidence.
    assert_eq!(outside.says("www.example.com", RecordType::A), Word::WantsOther);
    let inside = service("dns/internal-hostname: in.example.com", spec);
    assert_eq!(scene(&inside).records(), ["in.example.com A 10.0.0.1"]);
}

#[test]
fn a_load_balancer_has_an_outside_and_an_inside_name() {
    let annotations = "dns/hostname: www.example.com, dns/internal-hostname: in.example.com";
    let records = scene(&service(annotations, BALANCED)).records();
    assert_eq!(records, ["in.example.com A 10.0.0.1", "www.example.com A 192.0.2.1"]);
}

#[test]
fn case_73_the_template_counts_only_where_no_annotation_does() {
    let template = "{{.Name}}.tpl.example.com";
    assert_eq!(
        scene(&service("", BALANCED)).template(template).records(),
        ["web.tpl.example.com A 192.0.2.1"]
    );
    assert_eq!(
        scene(&service(HOSTNAME, BALANCED)).template(template).records(),
        ["www.example.com A 192.0.2.1"]
    );
}

#[test]
fn case_73_an_unknown_field_is_told_and_keeps_what_the_object_holds() {
    let scene = scene(&service("", BALANCED)).template("{{.Calibrate}}.example.com");
    assert!(scene.records().is_empty());
    assert_eq!(
        scene.complaints(),
        ["InvalidValue spec.sources.fqdnTemplate: a Service has no field Calibrate"]
    );
    assert_eq!(scene.says("web.example.com", RecordType::A), Word::Awaited);
}

#[test]
fn case_74_an_over_long_label_is_told_and_stops_no_other_name() {
    let annotations = format!("dns/hostname: '{}.example.com,www.example.com'", "a".repeat(64));
    let scene = scene(&service(&annotations, BALANCED));
    assert_eq!(scene.records(), ["www.example.com A 192.0.2.1"]);
    assert!(scene.complaints()[0].starts_with("InvalidValue external-dns.kubernetes.io/hostname: label"));
    assert_eq!(scene.says("old.example.com", RecordType::A), Word::Awaited);
}

#[test]
fn case_75_a_good_ttl_is_used_and_a_bad_one_keeps_the_last_good_state() {
    let with = |ttl: &str| scene(&service(&format!("{HOSTNAME}, dns/ttl: '{ttl}'"), BALANCED));
    assert_eq!(with("10").records(), ["www.example.com A 192.0.2.1 ttl=10"]);
    assert_eq!(with("1m").records(), ["www.example.com A 192.0.2.1 ttl=60"]);
    for bad in ["foo", "-10"] {
        assert_eq!(with(bad).records(), ["www.example.com A ? InvalidValue"]);
        let told = with(bad).complaints();
        assert!(told[0].starts_with("InvalidValue external-dns.kubernetes.io/ttl: "), "{told:?}");
        assert!(told[0].contains("write seconds from 1 to 2147483647"), "{told:?}");
    }
}

/// A headless Service with two Pods, of which the second is not ready.
fn headless(annotations: &str, spec: &str) -> String {
    let service = service(annotations, &format!("spec: {{clusterIP: None, selector: {{app: db}}, {spec}}}"));
    format!(
        r#"{service}
---
kind: EndpointSlice
metadata: {{name: web-1, namespace: shop, labels: {{kubernetes.io/service-name: web}}}}
endpoints:
- {{addresses: [10.1.0.1, 10.1.0.9], targetRef: {{kind: Pod, name: db-0}}}}
- {{addresses: [10.1.0.1], conditions: {{ready: true}}, targetRef: {{kind: Pod, name: db-0}}}}
- {{addresses: [10.1.0.2], conditions: {{ready: false}}, targetRef: {{kind: Pod, name: db-1}}}}
- {{addresses: [10.1.0.3], targetRef: {{kind: Pod, name: stranger}}}}
- {{addresses: [10.1.0.4]}}
---
kind: Pod
metadata: {{name: db-0, namespace: shop, labels: {{app: db}}}}
spec: {{hostname: db-0, nodeName: n1}}
status: {{hostIP: 10.9.0.1}}
---
kind: Pod
metadata: {{name: db-1, namespace: shop, labels: {{app: db}}}}
spec: {{hostname: db-1, nodeName: n1}}
---
kind: Pod
metadata: {{name: stranger, namespace: shop, labels: {{app: web}}}}
---
kind: Node
metadata: {{name: n1}}
status: {{addresses: [{{type: ExternalIP, address: 203.0.113.1}}, {{type: InternalIP, address: 10.9.0.1}}]}}
"#
    )
}

fn only_shop(yaml: &str) -> crate::scene::Scene {
    scene(yaml).reading(|sources| sources.kinds = vec![zonekeeper_api::SourceKind::Service])
}

#[test]
fn case_77_a_headless_service_publishes_ready_pods_once_and_under_their_own_names() {
    let records = only_shop(&headless(HOSTNAME, "")).records();
    assert_eq!(
        records,
        [
            "db-0.www.example.com A 10.1.0.1",
            // ExternalDNS drops it; a Pod that is not ready for a moment keeps its name (law 5).
            "db-1.www.example.com A ? TargetsUnknown",
            "www.example.com A 10.1.0.1",
        ]
    );
}

#[test]
fn case_77_pods_that_are_not_ready_count_where_the_service_says_so() {
    let records = only_shop(&headless(HOSTNAME, "publishNotReadyAddresses: true")).records();
    assert_eq!(
        records,
        [
            "db-0.www.example.com A 10.1.0.1",
            "db-1.www.example.com A 10.1.0.2",
            "www.example.com A 10.1.0.1 10.1.0.2",
        ]
    );
}

#[test]
fn case_77_the_target_annotation_of_a_pod_or_of_the_service_wins() {
    let annotated = headless(HOSTNAME, "").replace(
        "{name: db-0, namespace: shop,",
        "{name: db-0, namespace: shop, annotations: {external-dns.kubernetes.io/target: 198.51.100.9},",
    );
    let records = only_shop(&annotated).records();
    assert_eq!(records[2], "www.example.com A 198.51.100.9");
    let on_service = headless(&format!("{HOSTNAME}, dns/target: lb.example.net"), "");
    assert_eq!(only_shop(&on_service).records(), ["www.example.com CNAME lb.example.net."]);
}

#[test]
fn case_78_endpoints_type_chooses_the_addresses_of_pods() {
    let with = |kind: &str| only_shop(&headless(&format!("{HOSTNAME}, dns/endpoints-type: {kind}"), ""));
    assert_eq!(with("NodeExternalIP").records()[2], "www.example.com A 203.0.113.1");
    assert_eq!(with("HostIP").records()[2], "www.example.com A 10.9.0.1");
    assert_eq!(with("Nonsense").records()[2], "www.example.com A ? InvalidValue");
    assert!(with("Nonsense").complaints()[0].contains("is not one of NodeExternalIP, HostIP"));
}

#[test]
fn a_headless_service_without_ready_endpoints_keeps_everything() {
    let none_ready = headless(HOSTNAME, "").replace("10.1.0.1", "10.1.0.2").replace("db-0}", "db-1}");
    let none_ready = none_ready
        .replace("ready: true", "ready: false")
        .replace("addresses: [10.1.0.2, 10.1.0.9],", "addresses: [10.1.0.2], conditions: {ready: false},");
    let scene = only_shop(&none_ready);
    assert_eq!(scene.records(), ["www.example.com A ? TargetsUnknown"]);
    assert_eq!(scene.says("db-0.www.example.com", RecordType::A), Word::Awaited);
    for kind in ["EndpointSlice", "Pod"] {
        let blind = only_shop(&headless(HOSTNAME, "")).unreadable(kind);
        assert_eq!(blind.records(), ["www.example.com A ? TargetsUnknown"], "{kind}");
        assert_eq!(blind.says("db-0.www.example.com", RecordType::A), Word::Awaited);
    }
}

const NODES: &str = r#"---
kind: Node
metadata: {name: n1}
status: {addresses: [{type: ExternalIP, address: 203.0.113.1}, {type: InternalIP, address: 10.9.0.1}]}
---
kind: Node
metadata: {name: n2}
status: {addresses: [{type: ExternalIP, address: 203.0.113.2}, {type: InternalIP, address: 'fd00::2'}]}
---
kind: Node
metadata: {name: cordoned}
spec: {unschedulable: true}
status: {addresses: [{type: ExternalIP, address: 203.0.113.3}]}
---
kind: Pod
metadata: {name: ready, namespace: shop, labels: {app: web}}
spec: {nodeName: n2}
status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}
---
kind: Pod
metadata: {name: unready, namespace: shop, labels: {app: web}}
spec: {nodeName: n1}
status: {phase: Running}
"#;

fn node_port(annotations: &str, spec: &str) -> crate::scene::Scene {
    let spec = format!(
        "spec: {{type: NodePort, selector: {{app: web}}, ports: [{{port: 80, nodePort: 30080, protocol: TCP}}], {spec}}}\n"
    );
    only_shop(&format!("{}{NODES}", service(&format!("{HOSTNAME}{annotations}"), &spec)))
}

#[test]
fn a_node_port_publishes_open_nodes_and_a_server_record_per_port() {
    let records = node_port("", "").records();
    assert_eq!(
        records,
        [
            "_web._tcp.www.example.com SRV 0 50 30080 www.example.com.",
            "www.example.com A 203.0.113.1 203.0.113.2"
        ]
    );
}

#[test]
fn access_chooses_the_addresses_of_nodes() {
    let private = node_port(", dns/access: private", "").records();
    assert_eq!(private[1..], ["www.example.com A 10.9.0.1", "www.example.com AAAA fd00::2"]);
    assert_eq!(node_port(", dns/access: public", "").records(), node_port("", "").records());
    assert_eq!(node_port(", dns/access: other", "").records()[1], "www.example.com A ? InvalidValue");
}

#[test]
fn local_traffic_goes_to_nodes_with_ready_pods_only() {
    let records = node_port("", "externalTrafficPolicy: Local").records();
    assert_eq!(records[1], "www.example.com A 203.0.113.2");
    let blind = node_port("", "externalTrafficPolicy: Local").unreadable("Pod");
    assert_eq!(blind.records()[1], "www.example.com A ? TargetsUnknown");
    assert_eq!(node_port("", "").unreadable("Node").records()[1], "www.example.com A ? TargetsUnknown");
}

#[test]
fn case_82_an_external_name_is_an_alias_or_an_address() {
    let with =
        |spec: &str| scene(&service(HOSTNAME, &format!("spec: {{type: ExternalName, {spec}}}"))).records();
    assert_eq!(with("externalName: db.example.net"), ["www.example.com CNAME db.example.net."]);
    assert_eq!(with("externalName: 192.0.2.9"), ["www.example.com A 192.0.2.9"]);
    assert_eq!(
        with("externalName: db.example.net, externalIPs: [192.0.2.8]"),
        ["www.example.com A 192.0.2.8"]
    );
}

#[test]
fn case_82_an_unknown_type_is_told_and_removes_nothing() {
    let scene = scene(&service(HOSTNAME, "spec: {type: Teleport}"));
    assert_eq!(scene.records(), ["www.example.com A ? InvalidValue"]);
    assert!(scene.complaints()[0].contains("expected LoadBalancer, ClusterIP, NodePort or ExternalName"));
}
