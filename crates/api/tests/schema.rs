//! The definitions are structural, fully described, and show the right columns and defaults.

#![allow(clippy::unwrap_used)] // Also in the functions that the tests share.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};
use zonekeeper_api::{crds, crds_yaml, schema_of};

const KINDS: [&str; 4] = ["DNSProvider", "DNSZone", "RecordSet", "AddressSource"];

/// What a structural schema of ours may say.
const KEYWORDS: [&str; 22] = [
    "additionalProperties",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// Calls with the path and schema of every field, list item and map value.
fn each(path: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        each(&format!("{path}.{name}"), field, visit);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = schema.get(key) {
            each(&format!("{path}{mark}"), inner, visit);
        }
    }
}

fn crd(kind: &str) -> CustomResourceDefinition {
    crds().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap()
}

#[test]
fn schemas_are_structural() {
    for kind in KINDS {
        each(kind, &schema_of(kind).unwrap(), &mut |path, schema| {
            let fields = schema.as_object().unwrap();
            for key in fields.keys() {
                assert!(KEYWORDS.contains(&key.as_str()), "{path} has {key}");
            }
            // A structural schema says nothing else of a value that is a text or an object.
            let is_any = fields.contains_key("x-kubernetes-preserve-unknown-fields");
            assert!(is_any || schema["type"].is_string(), "{path} has no type");
            for value in schema["enum"].as_array().into_iter().flatten() {
                assert!(value.is_string(), "{path} has {value} among its values");
            }
            let format = schema["format"].as_str().unwrap_or("int64");
            assert!(["int32", "int64", "date-time"].contains(&format), "{path} has format {format}");
        });
    }
}

#[test]
fn every_field_has_a_description_that_ends() {
    for kind in KINDS {
        each(kind, &schema_of(kind).unwrap(), &mut |path, schema| {
            let description = schema["description"].as_str().unwrap_or_default();
            let is_element = path.ends_with("[]") || path.ends_with("{}");
            assert!(is_element || description.ends_with('.'), "{path}: {description:?}");
        });
    }
}

#[test]
fn lists_that_users_write_have_an_end() {
    for kind in KINDS {
        each(".spec", &schema_of(kind).unwrap()["properties"]["spec"], &mut |path, schema| {
            // metav1 LabelSelector comes as it is.
            let is_ours = !path.contains("elector.match");
            assert!(!is_ours || schema["type"] != "array" || schema["maxItems"].is_u64(), "{kind}{path}");
        });
    }
}

#[test]
fn names_scopes_and_subresources_are_those_of_the_contract() {
    for (kind, plural, short, scope) in [
        ("DNSProvider", "dnsproviders", "zkp", "Cluster"),
        ("DNSZone", "dnszones", "zkz", "Namespaced"),
        ("RecordSet", "recordsets", "rrset", "Namespaced"),
        ("AddressSource", "addresssources", "zka", "Namespaced"),
    ] {
        let crd = crd(kind);
        assert_eq!(crd.metadata.name.unwrap(), format!("{plural}.zonekeeper.dev"));
        assert_eq!(crd.spec.group, "zonekeeper.dev");
        assert_eq!(crd.spec.names.short_names.unwrap(), [short]);
        assert_eq!(crd.spec.names.categories.unwrap(), ["zonekeeper"]);
        assert_eq!(crd.spec.scope, scope);
        assert_eq!(crd.spec.versions.len(), 1);
        assert_eq!(crd.spec.versions[0].name, "v1alpha1");
        assert!(crd.spec.versions[0].subresources.as_ref().unwrap().status.is_some());
    }
}

#[test]
fn columns_are_those_of_the_contract() {
    let columns = |kind: &str, wide: bool| -> Vec<String> {
        let columns = crd(kind).spec.versions[0].additional_printer_columns.clone().unwrap();
        let of_interest = columns.into_iter().filter(|column| (column.priority == Some(1)) == wide);
        of_interest.map(|column| column.name).collect()
    };
    let zone = ["Domain", "Provider", "Policy", "Records", "Held", "Ready", "Reason", "Age"];
    assert_eq!(columns("DNSZone", false), zone);
    let set = ["Name", "Type", "Values", "TTL", "Ready", "Reason", "Age"];
    assert_eq!(columns("RecordSet", false), set);
    let wide = ["Proxied", "Zone", "Zone ID", "Record ID", "Last Sync", "Message"];
    assert_eq!(columns("RecordSet", true), wide);
    for kind in KINDS {
        let all = columns(kind, false);
        assert!(all.ends_with(&["Ready".into(), "Reason".into(), "Age".into()]), "{kind}: {all:?}");
    }
}

#[test]
fn ready_and_reason_come_from_the_condition() {
    for kind in KINDS {
        for column in crd(kind).spec.versions[0].additional_printer_columns.iter().flatten() {
            let field = match column.name.as_str() {
                "Ready" => "status",
                "Reason" => "reason",
                "Message" => "message",
                _ => continue,
            };
            assert_eq!(column.json_path, format!(".status.conditions[?(@.type==\"Ready\")].{field}"));
        }
    }
}

#[test]
fn a_new_object_has_never_been_observed() {
    for kind in KINDS {
        let schema = schema_of(kind).unwrap();
        assert_eq!(schema["properties"]["status"]["default"], json!({"observedGeneration": -1}), "{kind}");
        let conditions = &schema["properties"]["status"]["properties"]["conditions"];
        assert_eq!(conditions["x-kubernetes-list-type"], "map", "{kind}");
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]), "{kind}");
    }
}

#[test]
fn the_yaml_says_the_same_as_the_types() {
    let yaml = crds_yaml();
    let documents: Vec<&str> = yaml.split("---\n").skip(1).collect();
    let read: Vec<CustomResourceDefinition> =
        documents.iter().map(|document| serde_saphyr::from_str(document).unwrap()).collect();
    assert_eq!(read, crds());
    assert!(!yaml.contains("null"), "no empty fields");
    assert!(!yaml.contains(".0\n"), "whole numbers");
}

#[test]
fn unknown_kinds_have_no_schema() {
    assert_eq!(schema_of("Dnszone"), None);
}
