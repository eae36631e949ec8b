//! Checks a manifest against the schema and rules of its kind, as an API server would, and says what to do.

use std::collections::BTreeMap;

use kube_cel::{CompiledSchema, Validator, compile_schema};
use regex::Regex;
use serde_json::Value;
use zonekeeper_api::schema_of;

use crate::folder::node::{Node, Step, Tree};

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The field.
    pub path: Vec<Step>,
    /// What is wrong, and what to do.
    pub message: String,
}

/// The schemas of our kinds, compiled once.
pub struct Schemas {
    kinds: BTreeMap<&'static str, (Value, CompiledSchema)>,
    validator: Validator,
    patterns: BTreeMap<String, Regex>,
}

/// The kinds that a folder may declare.
pub const KINDS: [&str; 4] = ["DNSProvider", "DNSZone", "RecordSet", "AddressSource"];

// === impl Schemas ===

impl Schemas {
    /// The schemas of all our kinds.
    pub fn compiled() -> Self {
        let kinds = KINDS
            .into_iter()
            .filter_map(|kind| {
                let schema = schema_of(kind)?;
                let compiled = compile_schema(&schema);
                Some((kind, (schema, compiled)))
            })
            .collect();
        Self { kinds, validator: Validator::new(), patterns: BTreeMap::new() }
    }

    /// Everything that is wrong with a manifest of one of our kinds.
    pub fn check(&mut self, kind: &str, node: &Node) -> Vec<Fault> {
        let Some((schema, compiled)) = self.kinds.get(kind) else { return Vec::new() };
        let mut walk = Walk { patterns: &mut self.patterns, faults: Vec::new(), path: Vec::new() };
        walk.check(node, schema);
        let mut faults = walk.faults;
        if faults.is_empty()
            && let Err(broken) = self.validator.validate_compiled(compiled, &node.to_json(), None)
        {
            faults.extend(
                broken
                    .iter()
                    .map(|rule| Fault { path: parse_path(&rule.field_path), message: rule.message.clone() }),
            );
        }
        faults
    }
}

struct Walk<'a> {
    patterns: &'a mut BTreeMap<String, Regex>,
    faults: Vec<Fault>,
    path: Vec<Step>,
}

// === impl Walk ===

impl Walk<'_> {
    fn check(&mut self, node: &Node, schema: &Value) {
        match (&node.tree, schema["type"].as_str()) {
            (Tree::Mapping(entries), Some("object")) => self.check_mapping(entries, schema),
            (Tree::Sequence(nodes), Some("array")) => {
                self.check_size(nodes.len(), &schema["minItems"], &schema["maxItems"], "values");
                for (index, node) in nodes.iter().enumerate() {
                    self.within(Step::Index(index), |walk| walk.check(node, &schema["items"]));
                }
            }
            (Tree::Text(text), Some("string")) => self.check_text(text, schema),
            (Tree::Number(number), Some("integer")) if number.is_i64() || number.is_u64() => {
                self.check_number(number.as_f64().unwrap_or_default(), schema);
            }
            (Tree::Number(number), Some("number")) => {
                self.check_number(number.as_f64().unwrap_or_default(), schema);
            }
            (Tree::Bool(_), Some("boolean")) | (_, None) => {}
            (Tree::Null, _) if schema["nullable"] == Value::Bool(true) => {}
            (tree, Some(expected)) => {
                let hint = match (tree, expected) {
                    (Tree::Text(_), "integer" | "number" | "boolean") => "; remove the quotes",
                    (Tree::Number(_) | Tree::Bool(_), "string") => "; put it in quotes",
                    (_, _) => "",
                };
                self.fault(format!("is {}, expected {}{hint}", describe(tree), article(expected)));
            }
        }
    }

    fn check_mapping(&mut self, entries: &[(crate::folder::node::Key, Node)], schema: &Value) {
        let properties = schema["properties"].as_object();
        let additional = &schema["additionalProperties"];
        let is_open = schema["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true)
            || (properties.is_none() && !additional.is_object());
        let is_root = self.path.is_empty();
        for (key, node) in entries {
            let field = properties.and_then(|properties| properties.get(&key.text));
            self.path.push(Step::Field(key.text.clone()));
            match field {
                _ if is_root
                    && matches!(key.text.as_str(), "apiVersion" | "kind" | "metadata" | "status") => {}
                Some(schema) => self.check(node, schema),
                None if additional.is_object() => self.check(node, additional),
                None if is_open => {}
                None => {
                    let known = properties.into_iter().flat_map(|properties| properties.keys());
                    self.fault(unknown_field(&key.text, known.map(String::as_str)));
                }
            }
            self.path.pop();
        }
        for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !entries.iter().any(|(key, _)| key.text == required) {
                self.fault(format!("{required} is missing"));
            }
        }
    }

    fn check_text(&mut self, text: &str, schema: &Value) {
        if let Some(accepted) = schema["enum"].as_array() {
            let accepted: Vec<&str> = accepted.iter().filter_map(Value::as_str).collect();
            if !accepted.contains(&text) {
                self.fault(format!("{text:?} is not one of {}", accepted.join(", ")));
            }
        }
        self.check_size(text.chars().count(), &schema["minLength"], &schema["maxLength"], "characters");
        if let Some(pattern) = schema["pattern"].as_str() {
            let compiled = match self.patterns.get(pattern) {
                Some(compiled) => Some(compiled.clone()),
                None => Regex::new(pattern).ok(),
            };
            if let Some(compiled) = compiled {
                if !compiled.is_match(text) {
                    self.fault(format!("{text:?} does not have the form {pattern}"));
                }
                self.patterns.insert(pattern.to_owned(), compiled);
            }
        }
    }

    fn check_number(&mut self, number: f64, schema: &Value) {
        let (low, high) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
        if low.is_some_and(|low| number < low) || high.is_some_and(|high| number > high) {
            let range = match (low, high) {
                (Some(low), Some(high)) => format!("{low} to {high}"),
                (Some(low), None) => format!("{low} or more"),
                (None, high) => format!("{} or less", high.unwrap_or_default()),
            };
            self.fault(format!("{number} is out of range; use {range}"));
        }
    }

    fn check_size(&mut self, size: usize, least: &Value, most: &Value, what: &str) {
        if least.as_u64().is_some_and(|least| (size as u64) < least) {
            self.fault(format!("has {size} {what}; at least {least} needed"));
        }
        if most.as_u64().is_some_and(|most| (size as u64) > most) {
            self.fault(format!("has {size} {what}; at most {most} allowed"));
        }
    }

    fn within(&mut self, step: Step, check: impl FnOnce(&mut Self)) {
        self.path.push(step);
        check(self);
        self.path.pop();
    }

    fn fault(&mut self, message: String) {
        self.faults.push(Fault { path: self.path.clone(), message });
    }
}

/// Names the nearest known name, as a person would guess it.
pub fn unknown_field<'a>(field: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&field.to_lowercase(), &name.to_lowercase()), name))
        .min()
        .filter(|(distance, name)| *distance <= 3.max(name.len() / 2));
    match nearest {
        Some((_, name)) => format!("unknown field; did you mean {name}?"),
        None => format!("unknown field; known here: {}", known.join(", ")),
    }
}

fn describe(tree: &Tree) -> &'static str {
    match tree {
        Tree::Null => "empty",
        Tree::Bool(_) => "a boolean",
        Tree::Number(_) => "a number",
        Tree::Text(_) => "a text",
        Tree::Sequence(_) => "a list",
        Tree::Mapping(_) => "a mapping",
    }
}

fn article(expected: &str) -> &'static str {
    match expected {
        "object" => "a mapping",
        "array" => "a list",
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        _boolean => "true or false",
    }
}

/// Reads `spec.values[0]`, with or without a leading dot.
fn parse_path(text: &str) -> Vec<Step> {
    let mut path = Vec::new();
    for part in text.split(['.', '[']).filter(|part| !part.is_empty()) {
        match part.strip_suffix(']') {
            Some(index) => match index.parse() {
                Ok(index) => path.push(Step::Index(index)),
                Err(_) => path.push(Step::Field(index.trim_matches(['"', '\'']).into())),
            },
            None => path.push(Step::Field(part.into())),
        }
    }
    path
}
