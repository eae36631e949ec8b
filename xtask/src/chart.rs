//! What the chart has from the code: rules of its roles, definitions, and the schema and README of its values.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value, json};
use zonekeeper_api::{
    SourceKind,
    rbac::{self, EDIT, Rule, SECRET_READER, Scope, VIEW},
};

const KEEP: &str = "(ternary (dict \"helm.sh/resource-policy\" \"keep\") (dict) .Values.crds.keep)";

/// The rules of all roles, as named templates; each right follows the source kinds that need it.
pub fn rules() -> String {
    let mut text =
        String::from("{{/* Generated from crates/api/src/rbac.rs by `make gen`; do not edit. */}}\n");
    let cluster: Vec<&Rule> = rbac::operator_rules(Scope::Cluster).collect();
    let own: Vec<&Rule> = rbac::operator_rules(Scope::OwnNamespace).collect();
    for (name, rules) in [
        ("cluster", cluster),
        ("ownNamespace", own),
        ("secretReader", SECRET_READER.iter().collect()),
        ("view", VIEW.iter().collect()),
        ("edit", EDIT.iter().collect()),
    ] {
        text.push_str(&format!("\n{{{{- define \"zonekeeper.rules.{name}\" }}}}\n"));
        text.push_str("{{- $kinds := .Values.sources.kinds }}\n");
        rules.into_iter().for_each(|rule| self::rule(&mut text, rule));
        text.push_str("{{- end }}\n");
    }
    text
}

fn rule(text: &mut String, rule: &Rule) {
    let needed_by = |resource: &&str| rbac::kinds_that_need(rule.group, resource);
    let all: Vec<Vec<SourceKind>> = rule.resources.iter().map(needed_by).collect();
    let mut any: Vec<SourceKind> = all.iter().flatten().copied().collect();
    any.sort();
    any.dedup();
    let is_conditional = all.iter().all(|kinds| !kinds.is_empty());
    if is_conditional {
        text.push_str(&format!("{}\n", condition(&any)));
    }
    text.push_str(&format!("# {}\n- apiGroups: [{:?}]\n  resources:\n", rule.why, rule.group));
    for (resource, kinds) in rule.resources.iter().zip(&all) {
        let is_own = !kinds.is_empty() && *kinds != any;
        if is_own {
            text.push_str(&format!("  {}\n", condition(kinds)));
        }
        text.push_str(&format!("  - {resource}\n"));
        if is_own {
            text.push_str("  {{- end }}\n");
        }
    }
    text.push_str(&format!("  verbs: [{}]\n", rule.verbs.join(", ")));
    if is_conditional {
        text.push_str("{{- end }}\n");
    }
}

fn condition(kinds: &[SourceKind]) -> String {
    let asked: Vec<String> = kinds.iter().map(|kind| format!("(has \"{}\" $kinds)", kind.as_str())).collect();
    format!("{{{{- if or {} }}}}", asked.join(" "))
}

/// A definition as a template.
pub fn definition(crd: &CustomResourceDefinition) -> String {
    let yaml = zonekeeper_api::yaml_of(crd).replace("{{", "{{ \"{{\" }}");
    let (head, spec) = yaml.split_once("\nspec:\n").unwrap_or_default();
    format!(
        "{{{{- /* Generated from crates/api by `make gen`; do not edit. */}}}}\n{{{{- if .Values.crds.enabled }}}}\n{head}\n  \
         {{{{- include \"zonekeeper.metadata\" (dict \"root\" . \"annotations\" {KEEP}) | nindent 2 }}}}\nspec:\n{spec}{{{{- end }}}}\n"
    )
}

/// A key of values.yaml and what its comment says.
#[derive(Debug, Default, Clone)]
struct About {
    description: String,
    schema: Map<String, Value>,
    /// Everything below it is the user's.
    is_free: bool,
}

/// values.yaml, understood.
pub struct Values {
    defaults: Value,
    about: BTreeMap<String, About>,
}

// === impl Values ===

impl Values {
    /// Fails where a key has no description.
    pub fn read(text: &str) -> Result<Self> {
        let defaults: Value = serde_saphyr::from_str(text).context("reading values.yaml")?;
        let values = Self { defaults, about: comments(text)? };
        let mut leaves = Vec::new();
        values.leaves("", &values.defaults, &mut leaves);
        for (path, _) in &leaves {
            let is_described = values.about.get(path).is_some_and(|about| !about.description.is_empty());
            ensure!(is_described, "values.yaml: {path} has no description");
        }
        for path in values.about.keys() {
            ensure!(
                leaves.iter().any(|(leaf, _)| leaf == path),
                "values.yaml: the comment of {path} is lost"
            );
        }
        Ok(values)
    }

    /// values.schema.json.
    pub fn schema(&self) -> Result<String> {
        let mut schema = self.schema_of("", &self.defaults);
        schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
        Ok(serde_json::to_string_pretty(&schema)? + "\n")
    }

    /// The chart's README.
    pub fn readme(&self) -> String {
        let mut page = String::from(
            "<!-- Generated from values.yaml by `make gen`; do not edit. -->\n\n# Zonekeeper's Helm chart\n\n    helm install zonekeeper \
             ./charts/zonekeeper --namespace zonekeeper-system --create-namespace\n\ndocs/install.md in the repository describes how to install, \
             upgrade and uninstall.\n\n## Values\n\n| Key | Type | Default | Description |\n|---|---|---|---|\n",
        );
        let mut leaves = Vec::new();
        self.leaves("", &self.defaults, &mut leaves);
        for (path, value) in leaves {
            let about = &self.about[&path];
            let description = about.description.replace('|', "\\|");
            page.push_str(&format!("| `{path}` | {} | `{value}` | {description} |\n", type_of(value)));
        }
        page
    }

    /// Keys that are set as a whole, with their defaults.
    fn leaves<'a>(&'a self, path: &str, value: &'a Value, leaves: &mut Vec<(String, &'a Value)>) {
        match value.as_object().filter(|object| !object.is_empty() && !self.is_free(path)) {
            Some(object) => {
                object.iter().for_each(|(key, value)| self.leaves(&join(path, key), value, leaves))
            }
            None => leaves.push((path.to_owned(), value)),
        }
    }

    fn is_free(&self, path: &str) -> bool {
        self.about.get(path).is_some_and(|about| about.is_free)
    }

    fn schema_of(&self, path: &str, value: &Value) -> Value {
        if let Some(object) = value.as_object().filter(|object| !object.is_empty() && !self.is_free(path)) {
            let fields: Map<String, Value> = object
                .iter()
                .map(|(key, value)| (key.clone(), self.schema_of(&join(path, key), value)))
                .collect();
            return json!({"type": "object", "additionalProperties": false, "properties": fields});
        }
        let about = &self.about[path];
        let mut schema = json!({"description": about.description, "type": type_of(value), "default": value});
        for (key, value) in &about.schema {
            schema[key] = value.clone();
        }
        schema
    }
}

/// The comment right above each key, by the key's path.
fn comments(text: &str) -> Result<BTreeMap<String, About>> {
    let mut about = BTreeMap::new();
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut pending = About::default();
    for line in text.lines() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if let Some(comment) = content.strip_prefix("# ") {
            match comment.split_once(' ').unwrap_or((comment, "")) {
                ("@free", _) => pending.is_free = true,
                ("@schema", schema) => {
                    let kinds: Vec<&str> = SourceKind::all().iter().map(|kind| kind.as_str()).collect();
                    let schema = schema.replace("@kinds", &json!(kinds).to_string());
                    pending.schema = serde_json::from_str(&schema)
                        .with_context(|| format!("values.yaml: reading {comment}"))?;
                }
                _ if pending.description.is_empty() => pending.description = comment.to_owned(),
                _ => pending.description = format!("{} {comment}", pending.description),
            }
            continue;
        }
        let found = std::mem::take(&mut pending);
        let Some((key, _)) =
            content.split_once(':').filter(|(key, _)| key.chars().all(char::is_alphanumeric))
        else {
            continue;
        };
        path.retain(|(at, _)| *at < indent);
        path.push((indent, key));
        if !found.description.is_empty() {
            let keys: Vec<&str> = path.iter().map(|(_, key)| *key).collect();
            about.insert(keys.join("."), found);
        }
    }
    Ok(about)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: &str = "# The head of the file.\n\n# How many.\n# @schema {\"minimum\": 0}\nreplicas: 2\nimage:\n  # Its name,\n  # in full.\n  name: x\n\
                          # Yours.\n# @free\nresources:\n  limits:\n    cpu: \"1\"\n";

    #[test]
    fn a_schema_knows_types_defaults_and_what_comments_add() {
        let schema: Value = serde_json::from_str(&Values::read(VALUES).unwrap().schema().unwrap()).unwrap();
        let properties = &schema["properties"];
        assert_eq!(
            properties["replicas"],
            json!({"description": "How many.", "type": "integer", "default": 2, "minimum": 0})
        );
        assert_eq!(properties["image"]["additionalProperties"], false);
        assert_eq!(properties["image"]["properties"]["name"]["description"], "Its name, in full.");
        assert_eq!(properties["resources"]["type"], "object");
        assert_eq!(properties["resources"].get("properties"), None);
        assert_eq!(schema["additionalProperties"], false);
    }

    #[test]
    fn the_readme_has_a_row_per_key() {
        let page = Values::read(VALUES).unwrap().readme();
        assert!(page.contains("| `image.name` | string | `\"x\"` | Its name, in full. |\n"), "{page}");
        assert!(
            page.contains("| `resources` | object | `{\"limits\":{\"cpu\":\"1\"}}` | Yours. |\n"),
            "{page}"
        );
    }

    #[test]
    fn a_key_without_a_description_is_an_error() {
        let error = Values::read("a:\n  b: 1\n").err().unwrap();
        assert_eq!(error.to_string(), "values.yaml: a.b has no description");
    }

    #[test]
    fn a_right_is_bound_to_the_kinds_that_need_it() {
        let text = rules();
        let services = "  - services\n  {{- end }}\n";
        assert!(text.contains(services), "{text}");
        assert!(text.contains("{{- if or (has \"Ingress\" $kinds) }}\n# Publishes"), "{text}");
        assert!(
            text.contains("- apiGroups: [\"zonekeeper.dev\"]\n  resources:\n  - dnsproviders\n"),
            "{text}"
        );
    }

    #[test]
    fn braces_of_a_definition_are_not_templates() {
        let zones = zonekeeper_api::crds().into_iter().find(|crd| crd.spec.names.kind == "DNSZone").unwrap();
        let text = definition(&zones);
        assert!(text.contains("`{{ \"{{\" }}.Name}}.example.com`"));
        assert!(text.contains("\n  name: dnszones.zonekeeper.dev\n  {{- include"), "{}", &text[..600]);
    }
}
