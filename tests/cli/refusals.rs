//! Folders that are refused: everything that is wrong is said with file, line and field, and nothing is applied.

use serde_json::json;

use crate::support::{Folder, Lab, Manifest, Run, records, secret, zone, zonekeeper};

/// A folder with a good record and this text in bad.yaml; it must be refused without a single request.
async fn refused(text: &str) -> Run {
    let lab = Lab::start().await;
    lab.want(&[records("www.example.com", "A", &["192.0.2.1"])]);
    lab.folder.write("bad.yaml", text);
    let run = lab.apply().await.exits(1);
    assert_eq!(lab.sim.requests(), 0, "{run}");
    run
}

async fn refused_set(spec: &str) -> Run {
    refused(&format!(
        "apiVersion: zonekeeper.dev/v1alpha1\nkind: RecordSet\nmetadata: {{name: bad}}\nspec:\n{spec}"
    ))
    .await
}

#[tokio::test]
async fn an_unknown_field_names_the_nearest_one() {
    let run = refused_set("  name: x.example.com\n  type: A\n  values: [192.0.2.1]\n  ttll: 300\n").await;
    run.says("bad.yaml:8: spec.ttll: unknown field; did you mean ttl?");
    let run = refused_set(
        "  name: x.example.com\n  type: A\n  values: [192.0.2.1]\n  cloudflare:\n    proxed: true\n",
    )
    .await;
    run.says("bad.yaml:9: spec.cloudflare.proxed: unknown field; did you mean proxied?");
}

#[tokio::test]
async fn a_wrong_type_says_what_is_expected() {
    refused_set("  name: x.example.com\n  type: A\n  values: [192.0.2.1]\n  ttl: \"300\"\n")
        .await
        .says("bad.yaml:8: spec.ttl: ")
        .says("remove the quotes");
    refused_set("  name: x.example.com\n  type: TXT\n  values: [5]\n")
        .await
        .says("bad.yaml:7: spec.values[0]: ")
        .says("put it in quotes");
    refused_set("  name: x.example.com\n  type: A\n  values: 192.0.2.1\n")
        .await
        .says("spec.values: is a text, expected a list");
    refused_set("  name: x.example.com\n  type: A\n  values: [null]\n").await.says("spec.values[0]");
    refused_set("  name: x.example.com\n  type: A\n  values: [192.0.2.1]\n  ttl: 1.5\n")
        .await
        .says("spec.ttl");
    refused_set("  name: x.example.com\n  type: A\n  values: [192.0.2.1]\n  ttl: -1\n")
        .await
        .says("out of range");
}

#[tokio::test]
async fn a_value_outside_an_enum_lists_the_accepted_ones() {
    let run =
        refused_set("  name: x.example.com\n  type: A\n  values: [192.0.2.1]\n  adoption: Always\n").await;
    run.says("bad.yaml:8: spec.adoption: \"Always\" is not one of Never, Identical, Force");
}

#[tokio::test]
async fn a_missing_field_is_named() {
    refused_set("  name: x.example.com\n  values: [192.0.2.1]\n").await.says("spec").says("type is missing");
    let run = refused("apiVersion: zonekeeper.dev/v1alpha1\nkind: RecordSet\nmetadata: {name: bad}\n").await;
    run.says("bad.yaml:1").says("spec is missing");
    let run = refused("apiVersion: zonekeeper.dev/v1alpha1\nkind: RecordSet\nspec: {name: x.example.com, type: A, values: [192.0.2.1]}\n").await;
    run.says("metadata.name");
}

#[tokio::test]
async fn the_rules_of_the_schema_hold_without_an_api_server() {
    refused_set("  name: x.example.com\n  relativeName: x\n  type: A\n  values: [192.0.2.1]\n")
        .await
        .says("bad.yaml:")
        .says("either name (absolute) or relativeName");
    refused_set("  type: A\n  values: [192.0.2.1]\n").await.says("either name (absolute) or relativeName");
    refused_set("  name: x.example.com\n  type: A\n").await.says("set values, valuesFrom or both");
    refused_set("  name: x.example.com\n  type: A\n  values: [\"2001:db8::1\"]\n")
        .await
        .says("spec.values: ")
        .says("IPv4 addresses");
    refused_set("  name: x.example.com\n  type: CNAME\n  values: [a.example.net, b.example.net]\n")
        .await
        .says("has one value");
    refused_set("  name: x.example.com\n  type: TXT\n  values: [a]\n  cloudflare: {proxied: true}\n")
        .await
        .says("remove cloudflare.proxied");
    refused_set(
        "  name: x.example.com\n  type: TXT\n  values: [a]\n  valuesFrom: [{addressSourceRef: {name: x}}]\n",
    )
    .await
    .says("type A or AAAA");
    refused_set("  name: \"not a name\"\n  type: A\n  values: [192.0.2.1]\n").await.says("spec.name");
}

#[tokio::test]
async fn a_provider_has_exactly_one_backend() {
    let provider = |spec: serde_json::Value| {
        json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": "DNSProvider", "metadata": {"name": "bad"}, "spec": spec}).to_string()
    };
    refused(&provider(json!({}))).await.says("set exactly one of");
    refused(&provider(json!({"builtin": {}, "webhook": {"url": "http://127.0.0.1:1"}})))
        .await
        .says("set exactly one of");
    refused(&provider(json!({"cloudflare": null}))).await.says("set exactly one of");
    refused(&provider(json!({"builtin": {}, "registry": {"type": "Comment"}}))).await.says("Cloudflare only");
    refused(&provider(json!({"webhook": {"url": "http://127.0.0.1:1"}})))
        .await
        .says("bad.yaml:1")
        .says("not available");
}

#[tokio::test]
async fn an_interval_of_zero_is_refused() {
    let bad = zone("example.net").with("interval", "0s");
    refused(&bad.0.to_string()).await.says("spec.interval").says("above zero");
}

#[tokio::test]
async fn broken_yaml_is_refused_with_its_line() {
    refused("apiVersion: v1\nkind: [\n").await.says("bad.yaml:").says("is not valid YAML");
    let run = refused("a: 1\nb:\n  - c\n d: 2\n").await;
    assert!(run.stderr.contains("bad.yaml:4") || run.stderr.contains("bad.yaml:3"), "{run}");
    refused("apiVersion: v1\nkind: Secret\nkind: Secret\nmetadata: {name: x}\n").await.says("bad.yaml:3");
}

#[tokio::test]
async fn a_document_that_is_no_object_is_refused() {
    refused("just a text\n").await.says("bad.yaml:1").says("apiVersion and kind");
    refused("- a\n- b\n").await.says("apiVersion and kind");
    refused("kind: RecordSet\n").await.says("apiVersion and kind");
}

#[tokio::test]
async fn a_second_declaration_names_both_places() {
    let lab = Lab::start().await;
    lab.folder.write("a.yaml", &format!("\n\n{}\n", records("www.example.com", "A", &["192.0.2.1"]).0));
    lab.folder.put("b.yaml", &[records("www.example.com", "A", &["192.0.2.1"]).in_namespace("default")]);
    let run = lab.apply().await.exits(1);
    run.says("b.yaml:1: metadata.name: RecordSet default/www-example-com-a is declared a second time")
        .says("a.yaml:3");
    assert_eq!(lab.sim.requests(), 0);
}

#[tokio::test]
async fn the_same_secret_with_and_without_its_namespace_is_a_duplicate() {
    let again = secret("cloudflare", "apiToken", "x").in_namespace("default");
    refused(&again.0.to_string()).await.says("declared a second time");
}

#[tokio::test]
async fn the_same_name_in_another_namespace_or_kind_is_no_duplicate() {
    let lab = Lab::start().await;
    lab.declare(zone("example.com").with("allowedRecords", json!([{"namespaces": {"from": "All"}}])));
    let www = records("www.example.com", "A", &["192.0.2.1"]).named("x");
    let other = records("api.example.com", "A", &["192.0.2.1"]).named("x").in_namespace("shop");
    lab.applied(&[www, other, secret("x", "y", "z")]).await;
}

#[tokio::test]
async fn unknown_kinds_and_versions_of_our_group_are_mistakes() {
    let text = |version: &str, kind: &str| {
        format!("apiVersion: zonekeeper.dev/{version}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{}}\n")
    };
    refused(&text("v1alpha1", "RecordSets")).await.says("bad.yaml:2: kind: ").says("did you mean RecordSet?");
    refused(&text("v1", "RecordSet")).await.says("bad.yaml:1: apiVersion: ").says("zonekeeper.dev/v1alpha1");
}

#[tokio::test]
async fn everything_that_is_wrong_is_said_at_once() {
    let bad = |name: &str| {
        Manifest(
            json!({"apiVersion": "zonekeeper.dev/v1alpha1", "kind": "RecordSet", "metadata": {"name": name}, "spec": {"name": "x.example.com", "typ": "A"}}),
        )
    };
    let text = format!("{}\n---\n{}\n", bad("one").0, bad("two").0);
    let run = refused(&text).await;
    assert_eq!(run.stderr.matches("spec.typ").count(), 2, "{run}");
    assert!(run.stderr.contains("bad.yaml:1") && run.stderr.contains("bad.yaml:3"), "{run}");
}

#[tokio::test]
async fn a_secret_that_is_not_base64_is_refused_without_showing_it() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata:\n  key: 'canary!'\n";
    refused(text).await.says("bad.yaml:5: data.key").says("stringData").never_says("canary");
    let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData:\n  key: 12345678\n";
    refused(text).await.says("bad.yaml:5: stringData.key").says("quotes").never_says("12345678");
}

#[tokio::test]
async fn bad_patterns_of_a_zone_are_refused() {
    let bad = zone("example.net").with("names", json!({"include": ["a b"]}));
    refused(&bad.0.to_string()).await.says("spec.names.include[0]");
    let bad = zone("example.net").with("prune", json!({"ignore": [{"name": "a..b"}]}));
    refused(&bad.0.to_string()).await.says("spec.prune.ignore[0].name");
}

#[tokio::test]
async fn a_folder_without_manifests_is_an_error() {
    let folder = Folder::new();
    zonekeeper(["plan", "-f", folder.arg()]).run().await.exits(1).says("no manifest");
    folder.write("notes.txt", "x");
    folder.write("empty.yaml", "# nothing\n");
    zonekeeper(["apply", "-f", folder.arg()]).run().await.exits(1).says("no manifest");
    folder.write("other.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n");
    zonekeeper(["apply", "-f", folder.arg()]).run().await.exits(1).says("no manifest");
    let missing = format!("{}/missing", folder.arg());
    for command in ["plan", "apply", "export"] {
        zonekeeper([command, "-f", &missing]).run().await.exits(1).says("missing");
    }
    zonekeeper(["up", &missing]).run().await.exits(1).says("missing");
}

#[tokio::test]
async fn retain_is_refused_because_nothing_would_remember_it() {
    let bad = records("x.example.com", "A", &["192.0.2.1"]).with("deletionPolicy", "Retain");
    refused(&bad.0.to_string()).await.says("spec.deletionPolicy").says("Retain is refused");
}

#[tokio::test]
async fn names_that_an_api_server_refuses_are_refused() {
    for name in ["a b", "A", "a_b", "a:b", "-a", "a.", "a/b"] {
        let bad = records("x.example.com", "A", &["192.0.2.1"]).named(name);
        refused(&bad.0.to_string()).await.says("metadata.name").says("is no name of an object");
    }
    let bad = records("x.example.com", "A", &["192.0.2.1"]).in_namespace("a.b");
    refused(&bad.0.to_string()).await.says("metadata.namespace");
}
