//! What other namespaces may ask of a zone.

use serde_json::{Value, json};

use crate::support::{Lab, Manifest, address_source, namespace, records, zone};

async fn granting(grants: Value) -> Lab {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("allowedRecords", grants));
    lab
}

fn shop(name: &str, rtype: &str, value: &str) -> Manifest {
    records(name, rtype, &[value]).in_namespace("shop")
}

#[tokio::test]
async fn without_a_grant_other_namespaces_get_nothing() {
    let lab = Lab::start().await;
    lab.want(&[shop("www.example.com", "A", "192.0.2.1")]);
    lab.apply().await.exits(1).says("NotAllowed").says("namespace shop").says("spec.allowedRecords");
    assert_eq!(lab.sim.writes(), 0);
}

#[tokio::test]
async fn the_default_grant_leaves_special_names_and_types_out() {
    let lab = granting(json!([{"namespaces": {"from": "All"}}])).await;
    let special = [
        "example.com",
        "*.example.com",
        "_acme-challenge.www.example.com",
        "_dmarc.example.com",
        "k1._domainkey.example.com",
    ];
    let mut wishes: Vec<Manifest> = special.iter().map(|name| shop(name, "TXT", "x")).collect();
    wishes.push(shop("ns.example.com", "NS", "ns.example.net"));
    wishes.push(shop("caa.example.com", "CAA", "0 issue \"ca.example.net\""));
    wishes.push(shop("mx.example.com", "MX", "10 mail.example.net"));
    let refused = wishes.len();
    wishes.push(shop("www.example.com", "A", "192.0.2.1"));
    wishes.push(shop("txt.example.com", "TXT", "x"));
    lab.want(&wishes);
    let run = lab.apply().await.exits(1);
    assert_eq!(run.stdout.matches("NotAllowed").count(), refused, "{run}");
    assert_eq!(lab.contents(), ["txt.example.com TXT \"x\"", "www.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn the_zones_own_namespace_has_all_names_and_types() {
    let lab = Lab::start().await;
    lab.applied(&[
        records("example.com", "TXT", &["x"]),
        records("*.example.com", "A", &["192.0.2.1"]),
        records("_acme-challenge.example.com", "TXT", &["x"]),
    ])
    .await;
}

#[tokio::test]
async fn names_and_types_of_a_grant_are_exact() {
    let lab = granting(json!([{"namespaces": {"from": "All"}, "names": ["*.a.example.com", "example.com"], "types": ["A", "MX"]}])).await;
    lab.want(&[
        shop("x.y.a.example.com", "A", "192.0.2.1"),
        shop("example.com", "MX", "10 mail.example.net"),
        shop("a.example.com", "A", "192.0.2.1"),
        shop("x.a.example.com", "TXT", "x"),
        shop("b.example.com", "A", "192.0.2.1"),
    ]);
    let run = lab.apply().await.exits(1);
    assert_eq!(run.stdout.matches("NotAllowed").count(), 3, "{run}");
    assert_eq!(lab.contents(), ["example.com MX mail.example.net", "x.y.a.example.com A 192.0.2.1"]);
}

#[tokio::test]
async fn namespaces_are_chosen_by_their_labels() {
    let grant = |selector: Value| json!([{"namespaces": {"from": "Selector", "selector": selector}}]);
    let lab = granting(grant(json!({"matchLabels": {"team": "a"}}))).await;
    lab.want(&[shop("www.example.com", "A", "192.0.2.1")]);
    lab.apply().await.exits(1).says("NotAllowed");
    lab.folder.put("namespace.yaml", &[namespace("shop", ("team", "a"))]);
    lab.apply().await.exits(0);
    let lab = granting(grant(json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["shop"]}]}))).await;
    lab.applied(&[shop("www.example.com", "A", "192.0.2.1")]).await;
    let lab =
        granting(grant(json!({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}))).await;
    lab.applied(&[shop("www.example.com", "A", "192.0.2.1")]).await;
}

#[tokio::test]
async fn a_narrowed_grant_deletes_nothing() {
    let lab = granting(json!([{"namespaces": {"from": "All"}}])).await;
    lab.applied(&[shop("www.example.com", "A", "192.0.2.1")]).await;
    lab.declare(zone("example.com"));
    lab.apply().await.exits(1).says("NotAllowed");
    assert_eq!(lab.contents().len(), 1);
}

#[tokio::test]
async fn namespaces_share_a_set_only_where_the_grant_says_so() {
    let wishes = [
        shop("www.example.com", "A", "192.0.2.1"),
        records("www.example.com", "A", &["192.0.2.2"]).in_namespace("blog"),
    ];
    let lab = granting(json!([{"namespaces": {"from": "All"}}])).await;
    lab.want(&wishes);
    lab.apply()
        .await
        .exits(1)
        .says("recordset shop/www-example-com-a: Conflict")
        .says("held by recordset blog/");
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.2"]);
    lab.declare(
        zone("example.com").with("allowedRecords", json!([{"namespaces": {"from": "All"}, "share": true}])),
    );
    lab.apply().await.exits(0);
    assert_eq!(lab.values("www.example.com", "A"), ["192.0.2.1", "192.0.2.2"]);
}

#[tokio::test]
async fn a_grant_limits_adoption_whatever_is_asked() {
    let lab = granting(json!([{"namespaces": {"from": "All"}}])).await;
    lab.seed("A", "www", "192.0.2.1");
    lab.want(&[shop("www.example.com", "A", "192.0.2.1").with("adoption", "Force")]);
    lab.apply().await.exits(1).says("AdoptionRefused").says("Never");
    lab.declare(
        zone("example.com")
            .with("allowedRecords", json!([{"namespaces": {"from": "All"}, "adoption": "Identical"}])),
    );
    lab.apply().await.exits(0);
    assert_eq!(lab.contents().len(), 1);
}

#[tokio::test]
async fn an_address_source_serves_its_own_namespace_unless_it_says_otherwise() {
    let lab = granting(json!([{"namespaces": {"from": "All"}}])).await;
    let source = |allowed: Value| {
        address_source("home", json!({"static": ["192.0.2.8"], "allowedNamespaces": allowed}))
            .in_namespace("infra")
    };
    let wish = shop("www.example.com", "A", "x")
        .without("values")
        .with("valuesFrom", json!([{"addressSourceRef": {"name": "home", "namespace": "infra"}}]));
    lab.want(&[source(json!({"from": "Same"})), wish.clone()]);
    lab.apply().await.exits(1).says("RefNotPermitted").says("infra/home");
    lab.applied(&[source(json!({"from": "All"})), wish]).await;
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.8"]);
}

/// A name belongs to one namespace, under all its types.
#[tokio::test]
async fn a_name_belongs_to_one_namespace() {
    let lab = granting(json!([{"namespaces": {"from": "All"}}])).await;
    let a =
        |rtype: &str, value: &str| records("www.example.com", rtype, &[value]).in_namespace("a").named("www");
    let b = |rtype: &str, value: &str| {
        records("www.example.com", rtype, &[value])
            .in_namespace("b")
            .named(&format!("www-{}", rtype.to_lowercase()))
    };
    lab.applied(&[a("A", "192.0.2.1")]).await;
    let waiting = [b("AAAA", "2001:db8::2"), b("TXT", "x"), b("CNAME", "b.example.net")];
    let with = |held: Manifest| [&[held][..], &waiting[..]].concat();
    lab.want(&with(a("A", "192.0.2.1")));
    let run = lab.apply().await.exits(1);
    assert_eq!(run.stdout.matches("Conflict").count(), 3, "{run}");
    // The holder changes its value and its type; what is refused stops neither.
    lab.want(&with(a("A", "192.0.2.9")));
    lab.apply().await.exits(1);
    assert_eq!(lab.contents(), ["www.example.com A 192.0.2.9"]);
    lab.want(&with(a("CNAME", "a.example.net")));
    lab.apply().await.exits(1).says("Conflict");
    assert_eq!(lab.contents(), ["www.example.com CNAME a.example.net"]);
    // Given up, the name goes to the namespace that waits.
    lab.want(&waiting[..2]);
    lab.apply().await.exits(0);
    assert_eq!(lab.contents(), ["www.example.com AAAA 2001:db8::2", "www.example.com TXT \"x\""]);
}

/// Where the grants of both say share, types and values stand side by side, up to the limit of a set.
#[tokio::test]
async fn a_shared_name_takes_types_and_values_of_several_namespaces() {
    let lab = granting(json!([{"namespaces": {"from": "All"}, "share": true}])).await;
    let of = |namespace: &str, rtype: &str, values: &[&str]| {
        records("www.example.com", rtype, values)
            .in_namespace(namespace)
            .named(&format!("www-{}", rtype.to_lowercase()))
    };
    lab.applied(&[
        of("a", "A", &["192.0.2.1"]),
        of("b", "A", &["192.0.2.2"]),
        of("b", "AAAA", &["2001:db8::2"]),
    ])
    .await;
    let values: Vec<String> = (0..100).map(|last| format!("198.51.100.{last}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    lab.want(&[of("a", "A", &values[..60]), of("b", "A", &values[40..])]);
    lab.apply().await.exits(0);
    lab.want(&[of("a", "A", &values[..60]), of("b", "A", &values[40..]), of("c", "A", &["192.0.2.1"])]);
    lab.apply().await.exits(1).says("InvalidValue").says("101 values together").says("at most 100");
    assert_eq!(lab.values("www.example.com", "A").len(), 100);
}
