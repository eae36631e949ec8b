//! Whatever the input: nothing panics, nothing is lost, and order never matters.

use std::sync::Arc;

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};
use zonekeeper_api::{Dialect, SourceKind, Sources};
use zonekeeper_kernel::{name::Name, rdata::RecordType, resolve::WantedName};
use zonekeeper_sources::{
    Addresses, Published, Reading, Surroundings, Template, Word, World,
    object::{Keep, Kind, Object},
    publish,
};

use crate::scene::{all_kinds, line};

const KEYS: [&str; 26] = [
    "hostname",
    "internal-hostname",
    "target",
    "ttl",
    "proxied",
    "cloudflare-proxied",
    "comment",
    "tags",
    "zone",
    "ignore",
    "controller",
    "access",
    "endpoints-type",
    "ingress-hostname-source",
    "gateway-hostname-source",
    "content",
    "ip-ref",
    "type",
    "interval",
    "account-ref",
    "cloudflare-tags",
    "cloudflare-record-comment",
    "alias",
    "set-identifier",
    "kubernetes.io/ingress.class",
    "odd",
];

const PREFIXES: [&str; 5] = [
    "zonekeeper.dev/",
    "external-dns.kubernetes.io/",
    "external-dns.alpha.kubernetes.io/",
    "cloudflare-operator.io/",
    "x.example.com/",
];

/// Field names that objects really have, so that arbitrary JSON gets somewhere.
const FIELDS: [&str; 40] = [
    "type",
    "clusterIP",
    "externalIPs",
    "externalName",
    "externalTrafficPolicy",
    "selector",
    "ports",
    "nodePort",
    "protocol",
    "loadBalancer",
    "ingress",
    "ip",
    "hostname",
    "rules",
    "host",
    "tls",
    "hosts",
    "listeners",
    "name",
    "namespace",
    "port",
    "allowedRoutes",
    "namespaces",
    "from",
    "kinds",
    "kind",
    "addresses",
    "value",
    "parentRefs",
    "parents",
    "parentRef",
    "conditions",
    "status",
    "hostnames",
    "endpoints",
    "dnsName",
    "targets",
    "recordType",
    "address",
    "providerSpecific",
];

const WORDS: [&str; 22] = [
    "LoadBalancer",
    "NodePort",
    "ClusterIP",
    "ExternalName",
    "None",
    "www.example.com",
    "*.example.com",
    "192.0.2.1",
    "2001:db8::1",
    "Accepted",
    "True",
    "HTTP",
    "HTTPS",
    "TLS",
    "All",
    "Same",
    "web",
    "A",
    "CNAME",
    "TXT",
    "",
    "true",
];

fn words() -> impl Strategy<Value = String> {
    prop_oneof![3 => select(WORDS.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => words().prop_map(Value::String),
        1 => any::<i64>().prop_map(Value::from),
        1 => (0..70_000_i64).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((select(FIELDS.to_vec()), inner), 0..6).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

fn annotations() -> impl Strategy<Value = Map<String, Value>> {
    let key =
        (select(PREFIXES.to_vec()), select(KEYS.to_vec())).prop_map(|(prefix, key)| format!("{prefix}{key}"));
    vec((key, words()), 0..8)
        .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key, Value::String(value))).collect())
}

/// An object whose spec and status make sense for its kind, with odd annotations and addresses.
fn sensible() -> impl Strategy<Value = Value> {
    let balancer = vec(select(vec!["192.0.2.1", "192.0.2.2", "2001:db8::1", "lb.example.net"]), 0..4);
    let hosts =
        vec(select(vec!["www.example.com", "api.example.com", "*.example.com", "UP.example.com."]), 0..3);
    (annotations(), balancer, hosts, select(vec!["LoadBalancer", "NodePort", "ClusterIP", "ExternalName"])).prop_map(
        |(annotations, balancer, hosts, kind)| {
            let places: Vec<Value> = balancer.iter().map(|text| json!({"ip": text, "value": text})).collect();
            let rules: Vec<Value> = hosts.iter().map(|host| json!({"host": host})).collect();
            let parent = json!({"name": "web", "namespace": "shop"});
            json!({
                "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
                "spec": {
                    "type": kind, "clusterIP": "10.0.0.1", "rules": rules, "hostnames": hosts, "parentRefs": [parent],
                    "endpoints": [{"dnsName": "e.example.com", "recordType": "A", "targets": balancer}],
                    "listeners": [{"name": "l", "protocol": "HTTP", "hostname": "*.example.com"}],
                },
                "status": {
                    "loadBalancer": {"ingress": places}, "addresses": places,
                    "parents": [{"parentRef": parent, "conditions": [{"type": "Accepted", "status": "True"}]}],
                },
            })
        },
    )
}

fn sources(template: &str) -> Sources {
    Sources {
        kinds: SourceKind::all().to_vec(),
        dialects: vec![Dialect::Zonekeeper, Dialect::ExternalDns, Dialect::CloudflareOperator],
        fqdn_template: template.into(),
        ..Sources::default()
    }
}

fn published(world: &World, objects: &[Arc<Object>]) -> Vec<Published> {
    let (addresses, labels) = (Addresses::default(), Arc::default());
    let surroundings = Surroundings { namespace_labels: &labels, addresses: &addresses };
    let reading = Reading::parse(&sources("{{.Name}}.t.example.com")).unwrap();
    objects.iter().map(|object| publish(object, &reading, world, &surroundings)).collect()
}

fn text(published: &Published) -> Vec<String> {
    let lines = published.asked.iter().map(line);
    let told = published.complaints.iter().map(|complaint| format!("{complaint:?}"));
    lines.chain(told).chain([format!("{:?} {:?}", published.looked_at, published.unclear)]).collect()
}

/// Turns every list and map around.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().rev().map(reversed).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect())
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_object_makes_publishing_panic(
        spec in json(), status in json(), annotations in annotations(), rest in json(), kind in 0..14_usize
    ) {
        let kind = all_kinds().nth(kind).unwrap();
        let json = json!({"metadata": {"name": "web", "namespace": "shop", "annotations": annotations}, "spec": spec, "status": status, "endpoints": rest});
        if let Ok(object) = Object::read(kind, json, Keep::Whole) {
            let mut world = World::default();
            all_kinds().for_each(|kind| world.synced(kind));
            let object = Arc::new(object);
            world.insert(object.clone());
            for published in published(&world, &[object]) {
                for asked in &published.asked {
                    prop_assert_eq!(asked.intent.values.is_none(), asked.unknown.is_some());
                    prop_assert!(asked.intent.values.as_ref().is_none_or(|values| !values.is_empty()));
                }
            }
        }
    }

    #[test]
    fn any_json_is_read_or_refused(json in json(), kind in 0..14_usize) {
        let _ = Object::read(all_kinds().nth(kind).unwrap(), json, Keep::Narrow);
    }

    #[test]
    fn the_order_of_lists_maps_and_objects_never_matters(json in sensible(), kind in 0..11_usize) {
        let kind = all_kinds().nth(kind).unwrap();
        let gateway = Kind::Source(SourceKind::Gateway);
        let read = |json: &Value| {
            let objects: Vec<Arc<Object>> = [kind, gateway]
                .into_iter()
                .filter_map(|kind| Object::read(kind, json.clone(), Keep::Whole).ok().map(Arc::new))
                .collect();
            objects
        };
        let (one, mut other) = (read(&json), read(&reversed(&json)));
        let world = |objects: &[Arc<Object>]| {
            let mut world = World::default();
            all_kinds().for_each(|kind| world.synced(kind));
            objects.iter().for_each(|object| world.insert(object.clone()));
            world
        };
        let first = published(&world(&one), &one);
        other.reverse();
        let mut second = published(&world(&other), &other);
        second.reverse();
        for (one, other) in first.iter().zip(&second) {
            prop_assert_eq!(text(one), text(other));
        }
    }

    #[test]
    fn no_edit_of_another_object_takes_a_host_from_a_route(
        listeners in vec((select(vec!["web", "other"]), select(vec!["", "www.example.com", "*.example.com", "shop.example.com"]), select(vec!["HTTP", "TLS"]), select(vec!["All", "Same", "Selector", "None"])), 0..3),
        controller in select(vec![None, Some("dns-controller"), Some("other")]),
        addresses in vec(select(vec!["192.0.2.1", "lb.example.net"]), 0..2),
        (accepted, section, team, is_read) in (any::<bool>(), any::<bool>(), select(vec!["a", "b"]), any::<bool>()),
    ) {
        let mut parent = json!({"name": "edge", "namespace": "infra"});
        if section {
            parent["sectionName"] = json!("web");
        }
        let status = if accepted { "True" } else { "False" };
        let route = json!({
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"parentRefs": [parent], "hostnames": ["www.example.com", "*.apps.example.com"]},
            "status": {"parents": [{"parentRef": parent, "conditions": [{"type": "Accepted", "status": status}]}]},
        });
        let listeners: Vec<Value> = listeners
            .iter()
            .map(|(name, hostname, protocol, from)| json!({
                "name": name, "hostname": hostname, "protocol": protocol, "port": 80,
                "allowedRoutes": {"namespaces": {"from": from, "selector": {"matchLabels": {"team": "a"}}}},
            }))
            .collect();
        let annotations = controller.map(|text| json!({"external-dns.kubernetes.io/controller": text}));
        let addresses: Vec<Value> = addresses.iter().map(|text| json!({"value": text})).collect();
        let gateway = json!({
            "metadata": {"name": "edge", "namespace": "infra", "annotations": annotations},
            "spec": {"listeners": listeners},
            "status": {"addresses": addresses},
        });
        let namespace = json!({"metadata": {"name": "shop", "labels": {"team": team}}});
        let read = |kind, json| Arc::new(Object::read(kind, json, Keep::Whole).unwrap());
        let route = read(Kind::Source(SourceKind::HttpRoute), route);
        let mut world = World::default();
        all_kinds().for_each(|kind| world.synced(kind));
        world.insert(read(Kind::Namespace, namespace));
        if is_read {
            world.insert(read(Kind::Source(SourceKind::Gateway), gateway));
        }
        let published = published(&world, &[route]).remove(0);
        for host in ["www.example.com", "*.apps.example.com", "one.apps.example.com"] {
            for rtype in [RecordType::A, RecordType::AAAA, RecordType::CNAME] {
                let word = published.about(&Name::parse(host).unwrap(), rtype);
                // Where its values are known, another type than theirs is not wanted; a wildcard answers for what is below it.
                let is_known = published.asked.iter().any(|asked| match &asked.intent.name {
                    WantedName::Absolute(name) if asked.intent.values.is_some() => {
                        name.to_string() == host || (name.to_string() == "*.apps.example.com" && host.ends_with(".apps.example.com"))
                    }
                    _others => false,
                });
                prop_assert!(is_known || matches!(word, Word::Wants | Word::Awaited), "{host} {rtype}: {word:?}");
            }
        }
        let gone = published.about(&Name::parse("gone.example.com").unwrap(), RecordType::A);
        prop_assert!(matches!(gone, Word::WantsOther | Word::Awaited));
    }

    #[test]
    fn no_template_panics(text in "(\\{\\{|\\}\\}|\\.|Name|Labels|if|end|range|else|with|eq|\\||\\$x|:=|\"a\"|\\(|\\)| |-|,|index|1|.){0,24}") {
        if let Ok(template) = Template::parse(&text) {
            let object = json!({"metadata": {"name": "web", "labels": {"a": "b"}}});
            let _ = template.names(Kind::Source(SourceKind::Service), &object);
        }
    }

    #[test]
    fn names_come_out_sorted_and_clean(text in "[a-c., ]{0,30}") {
        let names = Template::parse(&text).unwrap().names(Kind::Source(SourceKind::Service), &json!({})).unwrap();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        prop_assert_eq!(&names, &sorted);
        prop_assert!(names.iter().all(|name| !name.is_empty() && name.trim() == name));
    }
}
