//! The reference of all kinds, written from their schemas.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;
use zonekeeper_api::{API_VERSION, Reason};

/// The whole page.
pub fn markdown(crds: &[CustomResourceDefinition]) -> String {
    let mut page = String::from(
        "<!-- Generated from crates/api by `cargo run -p xtask -- gen`; do not edit. -->\n\n# API reference\n\n",
    );
    page.push_str(&format!("All kinds are in `{API_VERSION}`; `kubectl get zonekeeper -A` lists them.\n"));
    for crd in crds {
        kind(&mut page, crd);
    }
    page.push_str("\n## Reasons\n\nThe same word in conditions, Events and metrics.\n\n| Reason | Meaning |\n|---|---|\n");
    for reason in Reason::all() {
        page.push_str(&format!("| `{reason}` | {} |\n", reason.meaning()));
    }
    page
}

fn kind(page: &mut String, crd: &CustomResourceDefinition) {
    let names = &crd.spec.names;
    let schema = zonekeeper_api::schema_of(&names.kind).unwrap_or_default();
    page.push_str(&format!("\n## {}\n\n{}\n\n", names.kind, text(&schema, "description")));
    let short: Vec<_> = names.short_names.iter().flatten().map(|name| format!("`{name}`")).collect();
    page.push_str(&format!("Scope: {}. Short name: {}.\n", crd.spec.scope, short.join(", ")));
    for part in ["spec", "status"] {
        let part_schema = &schema["properties"][part];
        page.push_str(&format!("\n### {} {part}\n\n", names.kind));
        page.push_str("| Field | Type | Default | Description |\n|---|---|---|---|\n");
        fields(page, "", part_schema);
        let mut rules = Vec::new();
        collect_rules(&mut rules, "", part_schema);
        if !rules.is_empty() {
            page.push_str("\nRules:\n\n");
            for (path, message) in rules {
                let place = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
                page.push_str(&format!("- {place}{message}.\n"));
            }
        }
    }
}

/// A row per field, parents before children.
fn fields(page: &mut String, prefix: &str, schema: &Value) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = join(prefix, name);
        let required = schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        page.push_str(&format!(
            "| `{path}` | {} | {} | {} |\n",
            type_of(field),
            default_of(field, required),
            text(field, "description").replace('\n', " ").replace('|', "\\|")
        ));
        if let Some((path, inner)) = inner(&path, field) {
            fields(page, &path, inner);
        }
    }
}

/// What a field holds that has fields of its own; types that Kubernetes documents are not repeated.
fn inner<'a>(path: &str, field: &'a Value) -> Option<(String, &'a Value)> {
    let (path, inner) = match field.get("items") {
        Some(items) => (format!("{path}[]"), items),
        None => (path.to_owned(), field),
    };
    (well_known(inner).is_none() && inner.get("properties").is_some()).then_some((path, inner))
}

fn well_known(schema: &Value) -> Option<&'static str> {
    let has = |name: &str| schema["properties"].get(name).is_some();
    if has("matchLabels") && has("matchExpressions") {
        Some("LabelSelector")
    } else if has("lastTransitionTime") && has("reason") {
        Some("Condition")
    } else {
        None
    }
}

fn type_of(schema: &Value) -> String {
    if let Some(name) = well_known(schema) {
        return name.into();
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<_> =
            values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
        return values.join(", ");
    }
    match (text(schema, "type"), text(schema, "format")) {
        ("array", _) => format!("list of {}", type_of(&schema["items"])),
        ("object", _) if schema["additionalProperties"].is_object() => {
            format!("map of {}", type_of(&schema["additionalProperties"]))
        }
        ("string", "date-time") => "time".into(),
        (other, _) => other.into(),
    }
}

fn default_of(schema: &Value, required: bool) -> String {
    match schema.get("default") {
        // The fields inside have rows, and defaults, of their own.
        Some(Value::Object(_)) => String::new(),
        Some(default) => format!("`{default}`"),
        None if required => "required".into(),
        None => String::new(),
    }
}

fn collect_rules<'a>(rules: &mut Vec<(String, &'a str)>, path: &str, schema: &'a Value) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        rules.push((path.to_owned(), text(rule, "message")));
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        collect_rules(rules, &join(path, name), field);
    }
    if let Some(items) = schema.get("items") {
        collect_rules(rules, &format!("{path}[]"), items);
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.into() } else { format!("{prefix}.{name}") }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_fields_defaults_rules_and_reasons() {
        let page = markdown(&zonekeeper_api::crds());
        for line in [
            "| `guard.maxDeletePercent` | integer | `30` |",
            "| `domain` | string | required |",
            "| `allowedRecords[].namespaces.selector` | LabelSelector |",
            "| `policy` | `Sync`, `UpsertOnly`, `CreateOnly`, `Observe` | `\"Sync\"` |",
            "- set values, valuesFrom or both.",
            "| `Held` | Waits for a person's approval. |",
        ] {
            assert!(page.contains(line), "{line}");
        }
    }
}
