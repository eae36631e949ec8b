//! JSON schemas of all kinds, for editors.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value, json};
use zonekeeper_api::{API_VERSION, RECORD_TYPES, VERSION, schema_of};

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// The file of one kind.
pub fn file_of(kind: &str) -> String {
    format!("{}_{VERSION}.json", kind.to_lowercase())
}

/// The schema of one kind.
pub fn schema(crd: &CustomResourceDefinition) -> String {
    let kind = &crd.spec.names.kind;
    let mut whole = schema_of(kind).unwrap_or_default();
    let description = whole["description"].take();
    let mut spec = whole["properties"]["spec"].take();
    plain(&mut spec);
    if kind == "RecordSet" {
        // The API server has a rule with a message of its own; editors complete from a list.
        spec["properties"]["type"]["anyOf"] =
            json!([{ "enum": RECORD_TYPES }, { "pattern": "^TYPE[0-9]{1,5}$" }]);
    }
    printed(&json!({
        "$schema": DRAFT,
        "title": kind,
        "description": description,
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "additionalProperties": false,
        "properties": {
            "apiVersion": { "const": API_VERSION },
            "kind": { "const": kind },
            "metadata": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } },
            "spec": spec,
            "status": { "type": "object" },
        },
    }))
}

/// One schema for documents of any of these kinds.
pub fn any_of(crds: &[CustomResourceDefinition]) -> String {
    let files: Vec<Value> = crds.iter().map(|crd| json!({ "$ref": file_of(&crd.spec.names.kind) })).collect();
    printed(&json!({ "$schema": DRAFT, "title": "Zonekeeper", "oneOf": files }))
}

/// Takes out what only Kubernetes understands; a field that is not known is wrong.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.starts_with("x-kubernetes-"));
            fields.iter_mut().filter(|(name, _)| *name != "default").for_each(|(_, value)| plain(value));
            if is_object(fields) {
                fields.insert("additionalProperties".into(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// Tells a schema of an object from a map of properties.
fn is_object(fields: &Map<String, Value>) -> bool {
    fields.get("type").is_some_and(|kind| kind == "object") && fields.contains_key("properties")
}

fn printed(schema: &Value) -> String {
    // A value without other keys than texts has a text form.
    serde_json::to_string_pretty(schema).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_knows_the_types_and_refuses_unknown_fields() {
        let crds = zonekeeper_api::crds();
        let crd = crds.iter().find(|crd| crd.spec.names.kind == "RecordSet").unwrap();
        let schema: Value = serde_json::from_str(&schema(crd)).unwrap();
        let spec = &schema["properties"]["spec"];
        assert_eq!(spec["properties"]["type"]["anyOf"][0]["enum"][0], "A");
        assert_eq!(spec["additionalProperties"], false);
        assert!(spec["properties"]["values"]["description"].is_string());
        assert!(!schema.to_string().contains("x-kubernetes"), "only JSON Schema");
    }
}
