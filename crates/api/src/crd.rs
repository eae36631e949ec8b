//! The definitions that a cluster needs, as a real API server takes them without a warning.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{AddressSource, DNSProvider, DNSZone, RecordSet};

/// The definitions of all kinds, in a fixed order.
pub fn crds() -> Vec<CustomResourceDefinition> {
    [DNSProvider::crd(), DNSZone::crd(), RecordSet::crd(), AddressSource::crd()]
        .into_iter()
        .map(finished)
        .collect()
}

/// All definitions as one YAML stream, ready for `kubectl apply`.
pub fn crds_yaml() -> String {
    crds().iter().map(|crd| format!("---\n{}", yaml_of(crd))).collect()
}

/// One object as YAML.
pub fn yaml_of(object: &impl Serialize) -> String {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    write_whole_numbers(&mut value);
    // Fails only for maps whose keys are not strings; no object of Kubernetes has any.
    serde_saphyr::to_string(&value).unwrap_or_default()
}

/// The OpenAPI schema of a kind, with defaults, enums and descriptions.
pub fn schema_of(kind: &str) -> Option<Value> {
    let crd = crds().into_iter().find(|crd| crd.spec.names.kind == kind)?;
    let schema = crd.spec.versions.into_iter().next()?.schema?.open_api_v3_schema?;
    let mut value = serde_json::to_value(schema).ok()?;
    write_whole_numbers(&mut value);
    Some(value)
}

/// Adds what the derive can't say, and removes what Kubernetes has another word for.
fn finished(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let Ok(mut value) = serde_json::to_value(&crd) else { return crd };
    if let Some(schema) = value.pointer_mut("/spec/versions/0/schema/openAPIV3Schema") {
        normalise(schema);
        finish_root(schema);
    }
    serde_json::from_value(value).unwrap_or(crd)
}

fn finish_root(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("title");
    }
    // kstatus: an object that was not looked at yet is not current.
    if let Some(status) = schema.pointer_mut("/properties/status") {
        status["default"] = json!({"observedGeneration": -1});
    }
}

/// Limits are floats in Kubernetes's own type. Written as `0.0` they would differ for ever from what the API server
/// gives back.
fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole: Option<i64> =
                number.to_string().strip_suffix(".0").and_then(|digits| digits.parse().ok());
            if let Some(whole) = whole {
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(write_whole_numbers),
        _ => {}
    }
}

/// Without `nullable` the API server drops nulls as if the field were absent, as it does for built-in kinds; and
/// it knows no unsigned formats, for which `minimum` already stands.
fn normalise(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if is_schema(fields) {
                fields.remove("nullable");
                if let Some(Value::String(description)) = fields.get_mut("description") {
                    // The line ends of doc comments mean nothing to readers of `kubectl explain`.
                    *description = description.replace("\n\n", "\0").replace('\n', " ").replace('\0', "\n\n");
                }
                if fields
                    .get("format")
                    .and_then(Value::as_str)
                    .is_some_and(|format| format.starts_with("uint"))
                {
                    fields.insert("format".into(), "int64".into());
                }
            }
            fields.iter_mut().filter(|(key, _)| *key != "default").for_each(|(_, value)| normalise(value));
        }
        Value::Array(items) => items.iter_mut().for_each(normalise),
        _ => {}
    }
}

/// Tells a schema from a map of properties, which may have a property of any name.
fn is_schema(fields: &Map<String, Value>) -> bool {
    fields.get("type").is_some_and(Value::is_string) || fields.contains_key("x-kubernetes-int-or-string")
}
