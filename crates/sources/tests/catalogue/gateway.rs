//! Gateways and routes: cases 92 to 102.

use zonekeeper_api::SourceKind;
use zonekeeper_kernel::rdata::RecordType;
use zonekeeper_sources::{Look, Word, object::ObjectRef};

use crate::scene::{Scene, kind, scene};

/// A Gateway `infra/NAME` with annotations, listeners and addresses.
fn gateway(name: &str, annotations: &str, listeners: &str, addresses: &str) -> String {
    let addresses: Vec<String> = addresses
        .split(' ')
        .filter(|text| !text.is_empty())
        .map(|text| format!("{{value: '{text}'}}"))
        .collect();
    format!(
        "---\nkind: Gateway\nmetadata: {{name: {name}, namespace: infra, annotations: {{{}}}}}\nspec: {{listeners: [{listeners}]}}\nstatus: {{addresses: [{}]}}\n",
        annotations.replace("dns/", "external-dns.kubernetes.io/"),
        addresses.join(", ")
    )
}

/// A route of a kind `shop/web` with annotations and hosts, accepted by these parents.
fn route(kind: &str, annotations: &str, hosts: &str, parents: &str) -> String {
    let refs: Vec<&str> = parents.split(' ').filter(|text| !text.is_empty()).collect();
    let reference = |text: &str| {
        let (name, rest) = text.split_once('/').unwrap_or((text, ""));
        let rest = if rest.is_empty() { String::new() } else { format!(", {}", rest.replace('=', ": ")) };
        format!("{{name: {name}, namespace: infra{rest}}}")
    };
    let spec: Vec<String> = refs.iter().map(|text| reference(text)).collect();
    let status: Vec<String> = spec
        .iter()
        .map(|text| format!("{{parentRef: {text}, conditions: [{{type: Accepted, status: 'True'}}]}}"))
        .collect();
    format!(
        "kind: {kind}\nmetadata: {{name: web, namespace: shop, annotations: {{{}}}}}\nspec: {{parentRefs: [{}], hostnames: [{hosts}]}}\nstatus: {{parents: [{}]}}\n",
        annotations.replace("dns/", "external-dns.kubernetes.io/"),
        spec.join(", "),
        status.join(", ")
    )
}

fn http(name: &str, hostname: &str, port: u16) -> String {
    format!(
        "{{name: {name}, hostname: '{hostname}', port: {port}, protocol: HTTP, allowedRoutes: {{namespaces: {{from: All}}}}}}"
    )
}

/// Only routes are published here.
fn routes(yaml: &str) -> Scene {
    scene(yaml).reading(|sources| sources.kinds.retain(|kind| kind.as_str().ends_with("Route")))
}

fn edge() -> String {
    gateway("edge", "", &http("web", "", 80), "192.0.2.1")
}

#[test]
fn a_route_takes_the_addresses_of_its_gateway() {
    let scene = routes(&(route("HTTPRoute", "", "www.example.com", "edge") + &edge()));
    assert_eq!(scene.records(), ["www.example.com A 192.0.2.1"]);
    let published = scene.first();
    assert_eq!(published.asked[0].intent.holder.as_str(), "httproute/shop/web");
    assert!(published.looked_at.contains(&Look::Object(ObjectRef::new(kind("Gateway"), "infra", "edge"))));
}

#[test]
fn case_92_addresses_of_all_parents_are_united() {
    let yaml = route("HTTPRoute", "", "www.example.com", "edge other")
        + &edge()
        + &gateway("other", "", &http("web", "", 80), "192.0.2.2");
    assert_eq!(routes(&yaml).records(), ["www.example.com A 192.0.2.1 192.0.2.2"]);
}

#[test]
fn case_93_a_route_that_is_not_accepted_any_more_keeps_its_record() {
    let yaml = route("HTTPRoute", "", "www.example.com", "edge") + &edge();
    for lost in [
        yaml.replace("status: 'True'", "status: 'False'"),
        yaml.replace("parents: [{parentRef: {name: edge", "parents: [{parentRef: {name: else"),
    ] {
        let scene = routes(&lost);
        assert_eq!(scene.records(), ["www.example.com A ? TargetsUnknown"]);
        assert_eq!(scene.says("www.example.com", RecordType::CNAME), Word::Awaited);
        assert_eq!(scene.says("removed.example.com", RecordType::A), Word::WantsOther);
    }
    // A route that takes the hosts of listeners keeps whatever it has.
    let open = (route("HTTPRoute", "", "", "edge") + &edge()).replace("status: 'True'", "status: 'False'");
    assert!(routes(&open).records().is_empty());
    assert_eq!(routes(&open).says("www.example.com", RecordType::A), Word::Awaited);
    // Without parents it asks for nothing.
    let alone = routes(&route("HTTPRoute", "", "www.example.com", ""));
    assert!(alone.records().is_empty());
    assert_eq!(alone.says("www.example.com", RecordType::A), Word::WantsOther);
}

#[test]
fn a_parent_that_refuses_does_not_spoil_one_that_accepts() {
    let both = route("HTTPRoute", "", "www.example.com", "edge other").replacen(
        "namespace: infra}, conditions: [{type: Accepted, status: 'True'}]}]",
        "namespace: infra}, conditions: [{type: Accepted, status: 'False'}]}]",
        1,
    );
    let yaml = both + &edge() + &gateway("other", "", &http("web", "", 80), "192.0.2.2");
    assert_eq!(routes(&yaml).records(), ["www.example.com A 192.0.2.1"]);
}

#[test]
fn a_gateway_without_addresses_or_that_nobody_knows_keeps_the_record() {
    let route = route("HTTPRoute", "", "www.example.com", "edge");
    let empty = routes(&(route.clone() + &gateway("edge", "", &http("web", "", 80), "")));
    assert_eq!(empty.records(), ["www.example.com A ? TargetsUnknown"]);
    let missing = routes(&route);
    assert_eq!(missing.records(), ["www.example.com A ? TargetsUnknown"]);
    let unreadable = routes(&(route.clone() + &edge())).unreadable("Gateway");
    assert_eq!(unreadable.records(), ["www.example.com A ? TargetsUnknown"]);
    let deleted = routes(&(route + &edge())).deleted("Gateway", "infra", "edge");
    assert!(deleted.records().is_empty());
    assert_eq!(deleted.says("www.example.com", RecordType::A), Word::WantsOther);
}

#[test]
fn case_94_section_and_port_choose_listeners() {
    let listeners = [
        http("a", "a.x.example.com", 80),
        http("b", "b.x.example.com", 80),
        http("c", "c.x.example.com", 81),
    ]
    .join(", ");
    let gateway = gateway("edge", "", &listeners, "192.0.2.1");
    let with =
        |parents: &str| routes(&(route("HTTPRoute", "", "'*.x.example.com'", parents) + &gateway)).records();
    let line = |name: &str| format!("{name}.x.example.com A 192.0.2.1");
    assert_eq!(with("edge"), [line("a"), line("b"), line("c")]);
    assert_eq!(with("edge/sectionName=b"), [line("b")]);
    assert_eq!(with("edge/port=80"), [line("a"), line("b")]);
}

#[test]
fn a_status_without_section_takes_that_of_the_spec() {
    let listeners = [http("a", "a.example.com", 80), http("b", "b.example.com", 80)].join(", ");
    let route = route("HTTPRoute", "", "", "edge/sectionName=b");
    let status = route.rfind("sectionName: b").unwrap();
    let route = format!("{}port: 80{}", &route[..status], &route[status + "sectionName: b".len()..]);
    let yaml = route + &gateway("edge", "", &listeners, "192.0.2.1");
    assert_eq!(routes(&yaml).records(), ["b.example.com A 192.0.2.1"]);
}

#[test]
fn case_96_a_route_without_hosts_takes_those_of_its_listeners() {
    let gateway = |host: &str| gateway("edge", "", &http("a", host, 80), "192.0.2.1");
    let route = route("HTTPRoute", "", "", "edge");
    assert_eq!(routes(&(route.clone() + &gateway("*.example.com"))).records(), ["*.example.com A 192.0.2.1"]);
    assert!(routes(&(route + &gateway(""))).records().is_empty());
}

#[test]
fn case_97_the_source_of_hostnames_can_be_chosen() {
    let with = |source: &str| {
        let annotations = format!("dns/hostname: api.example.com{source}");
        routes(&(route("HTTPRoute", &annotations, "www.example.com", "edge") + &edge())).records()
    };
    let (api, www) = ("api.example.com A 192.0.2.1", "www.example.com A 192.0.2.1");
    assert_eq!(with(""), [api, www]);
    assert_eq!(with(", dns/gateway-hostname-source: annotation-only"), [api]);
    assert_eq!(with(", dns/gateway-hostname-source: defined-hosts-only"), [www]);
    let bad = with(", dns/gateway-hostname-source: maybe");
    assert_eq!(bad, ["api.example.com A ? InvalidValue", "www.example.com A ? InvalidValue"]);
}

#[test]
fn case_99_the_target_of_a_gateway_replaces_its_own_addresses_only() {
    let yaml = route("HTTPRoute", "", "www.example.com", "edge other")
        + &gateway("edge", "dns/target: 198.51.100.1", &http("web", "", 80), "192.0.2.1")
        + &gateway("other", "", &http("web", "", 80), "192.0.2.2");
    assert_eq!(routes(&yaml).records(), ["www.example.com A 192.0.2.2 198.51.100.1"]);
}

#[test]
fn a_target_on_the_route_goes_before_its_gateways() {
    let yaml = route("HTTPRoute", "dns/target: lb.example.net", "www.example.com", "edge") + &edge();
    assert_eq!(routes(&yaml).records(), ["www.example.com CNAME lb.example.net."]);
}

#[test]
fn settings_are_inherited_from_the_gateway_unless_the_route_says_otherwise() {
    let annotations = "zonekeeper.dev/ttl: 5m, dns/cloudflare-proxied: 'true', zonekeeper.dev/comment: edge";
    let gateway = gateway("edge", annotations, &http("web", "", 80), "192.0.2.1");
    let inherited = routes(&(route("HTTPRoute", "", "www.example.com", "edge") + &gateway)).records();
    assert_eq!(inherited, ["www.example.com A 192.0.2.1 ttl=300 proxied=true comment=\"edge\""]);
    let own = routes(
        &(route("HTTPRoute", "dns/ttl: '60', zonekeeper.dev/proxied: 'false'", "www.example.com", "edge")
            + &gateway),
    );
    assert_eq!(own.records(), ["www.example.com A 192.0.2.1 ttl=60 proxied=false comment=\"edge\""]);
}

#[test]
fn case_101_routes_attach_to_listeners_of_their_protocol() {
    let with = |kind: &str, protocol: &str| {
        let listener =
            http("l", "www.example.com", 443).replace("protocol: HTTP", &format!("protocol: {protocol}"));
        let yaml = route(kind, "", "", "edge") + &gateway("edge", "", &listener, "192.0.2.1");
        routes(&yaml).records().len()
    };
    for (kind, protocol) in [
        ("HTTPRoute", "HTTPS"),
        ("GRPCRoute", "HTTPS"),
        ("GRPCRoute", "HTTP"),
        ("TCPRoute", "TLS"),
        ("TCPRoute", "TCP"),
        ("TLSRoute", "TLS"),
        ("UDPRoute", "UDP"),
    ] {
        assert_eq!(with(kind, protocol), 1, "{kind} on {protocol}");
    }
    for (kind, protocol) in
        [("TLSRoute", "TCP"), ("TCPRoute", "HTTPS"), ("HTTPRoute", "TLS"), ("UDPRoute", "TCP")]
    {
        assert_eq!(with(kind, protocol), 0, "{kind} on {protocol}");
    }
}

#[test]
fn case_102_another_controller_on_route_or_gateway_publishes_nothing() {
    let mine = route("HTTPRoute", "dns/controller: dns-controller", "www.example.com", "edge") + &edge();
    assert_eq!(routes(&mine).records().len(), 1);
    assert!(routes(&mine.replace("dns-controller", "other")).records().is_empty());
    // What the Gateway says is not the route's own word: a record that it has stays.
    let gateway = gateway("edge", "dns/controller: other", &http("web", "", 80), "192.0.2.1");
    let left = routes(&(route("HTTPRoute", "", "www.example.com", "edge") + &gateway));
    assert_eq!(left.records(), ["www.example.com A ? TargetsUnknown"]);
}

#[test]
fn a_narrowed_listener_takes_no_name_from_a_route() {
    let narrowed = |listener: &str| {
        let yaml = route("HTTPRoute", "", "www.example.com", "edge/sectionName=web")
            + &gateway("edge", "", listener, "192.0.2.1");
        routes(&yaml)
    };
    let web = http("web", "", 80);
    assert_eq!(narrowed(&web).records(), ["www.example.com A 192.0.2.1"]);
    for listener in [
        http("web", "shop.example.com", 80),
        http("renamed", "", 80),
        web.replace("from: All", "from: Same"),
        web.replace("{from: All}", "{from: Selector, selector: {matchLabels: {team: b}}}"),
        web.replace("{namespaces", "{kinds: [{kind: GRPCRoute}], namespaces"),
        web.replace("protocol: HTTP", "protocol: TLS"),
        String::new(),
    ] {
        let scene = narrowed(&listener).and("kind: Namespace\nmetadata: {name: shop, labels: {team: a}}");
        assert_eq!(scene.records(), ["www.example.com A ? TargetsUnknown"], "{listener}");
        assert_eq!(scene.says("www.example.com", RecordType::CNAME), Word::Awaited, "{listener}");
        assert_eq!(scene.says("removed.example.com", RecordType::A), Word::WantsOther, "{listener}");
    }
}

#[test]
fn a_wildcard_names_what_listeners_served_of_it() {
    let yaml = route("HTTPRoute", "", "'*.x.example.com'", "edge");
    let scene = routes(&(yaml + &gateway("edge", "", &http("a", "a.x.example.com", 80), "192.0.2.1")));
    assert_eq!(scene.records(), ["a.x.example.com A 192.0.2.1"]);
    assert_eq!(scene.says("b.x.example.com", RecordType::A), Word::Awaited);
    assert_eq!(scene.says("*.x.example.com", RecordType::A), Word::Awaited);
    assert_eq!(scene.says("x.example.com", RecordType::A), Word::WantsOther);
    // A listener that takes nobody any more says nothing of a route that takes its hosts.
    let open = route("HTTPRoute", "", "", "edge");
    let listener = http("a", "a.example.com", 80).replace("from: All", "from: Same");
    let scene = routes(&(open + &gateway("edge", "", &listener, "192.0.2.1")));
    assert_eq!(scene.says("a.example.com", RecordType::A), Word::Awaited);
}

#[test]
fn a_listener_admits_namespaces_by_default_its_own_or_by_label_and_kinds_by_name() {
    let with = |allowed: &str, namespace: &str| {
        let listener = format!("{{name: web, port: 80, protocol: HTTP, allowedRoutes: {{{allowed}}}}}");
        let yaml = route("HTTPRoute", "", "www.example.com", "edge")
            + &gateway("edge", "", &listener, "192.0.2.1")
            + &format!("---\nkind: Namespace\nmetadata: {{name: shop, labels: {{{namespace}}}}}\n");
        routes(&yaml)
    };
    let selector = "namespaces: {from: Selector, selector: {matchLabels: {team: a}}}";
    let unknown = ["www.example.com A ? TargetsUnknown"];
    assert_eq!(with("", "").records(), unknown);
    assert_eq!(with("namespaces: {from: All}", "").records().len(), 1);
    assert_eq!(with(selector, "team: a").records(), ["www.example.com A 192.0.2.1"]);
    assert_eq!(with(selector, "team: b").records(), unknown);
    assert_eq!(with(selector, "team: a").unreadable("Namespace").records(), unknown);
    let kinds = "namespaces: {from: All}, kinds: [{kind: GRPCRoute}]";
    assert_eq!(with(kinds, "").records(), unknown);
}

#[test]
fn an_address_that_is_a_name_in_the_cluster_means_that_services_load_balancer() {
    let yaml = route("HTTPRoute", "", "www.example.com", "edge")
        + &gateway("edge", "", &http("web", "", 80), "envoy.infra.svc.cluster.local");
    let service = "kind: Service\nmetadata: {name: envoy, namespace: infra}\nspec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: [{ip: 192.0.2.7}]}}";
    assert_eq!(routes(&yaml).and(service).records(), ["www.example.com A 192.0.2.7"]);
    let empty = service.replace("{ip: 192.0.2.7}", "");
    assert_eq!(routes(&yaml).and(&empty).records(), ["www.example.com A ? TargetsUnknown"]);
    assert_eq!(routes(&yaml).records(), ["www.example.com A ? TargetsUnknown"]);
}

#[test]
fn a_gateway_publishes_the_names_of_its_annotation() {
    let only = |yaml: &str| scene(yaml).reading(|sources| sources.kinds = vec![SourceKind::Gateway]);
    let named = gateway("edge", "dns/hostname: gw.example.com", "", "192.0.2.1 lb.example.net");
    assert_eq!(only(&named).records(), ["gw.example.com A 192.0.2.1"]);
    assert!(only(&named).first().notes[0].message.contains("lb.example.net is left out"));
    assert!(only(&edge()).records().is_empty());
    let empty = gateway("edge", "dns/hostname: gw.example.com", "", "");
    assert_eq!(only(&empty).records(), ["gw.example.com A ? TargetsUnknown"]);
}

/// A route on a ListenerSet `shop/set` of the Gateway `infra/edge`.
fn listener_set(allowed: &str, annotations: &str, accepted: &str) -> Scene {
    let route = route("HTTPRoute", "", "www.example.com", "set/kind=ListenerSet")
        .replace("namespace: infra", "namespace: shop");
    let gateway = gateway("edge", "", "", "192.0.2.1")
        .replace("listeners: []", &format!("listeners: [], allowedListeners: {{{allowed}}}"));
    let condition = format!("conditions: [{{type: Accepted, status: '{accepted}'}}]");
    let set = format!(
        "---\nkind: ListenerSet\nmetadata: {{name: set, namespace: shop, annotations: {{{annotations}}}}}\nspec: {{parentRef: {{name: edge, namespace: infra}}, listeners: [{}, {}]}}\nstatus: {{{condition}, listeners: [{{name: web, {condition}}}]}}\n",
        http("web", "www.example.com", 80),
        http("pending", "www.example.com", 81),
    );
    routes(&(route + &gateway + &set))
}

#[test]
fn a_listener_set_counts_where_its_gateway_takes_it() {
    let all = "namespaces: {from: All}";
    assert_eq!(listener_set(all, "", "True").records(), ["www.example.com A 192.0.2.1"]);
    assert_eq!(listener_set("", "", "True").records(), ["www.example.com A ? TargetsUnknown"]);
    assert_eq!(listener_set(all, "", "False").records(), ["www.example.com A ? TargetsUnknown"]);
    assert_eq!(
        listener_set(all, "", "True").unreadable("ListenerSet").records(),
        ["www.example.com A ? TargetsUnknown"]
    );
    let targeted = listener_set(
        all,
        "external-dns.kubernetes.io/target: 198.51.100.1, zonekeeper.dev/ttl: '90'",
        "True",
    );
    assert_eq!(targeted.records(), ["www.example.com A 198.51.100.1 ttl=90"]);
}
