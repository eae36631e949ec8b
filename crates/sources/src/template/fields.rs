//! Fields of an object, as Go spells them over the JSON that the API serves.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::TemplateError;

/// A value that a template works with; none is what Go prints as `<no value>`.
pub(super) type Item<'a> = Option<Cow<'a, Value>>;

/// What Go has as a map rather than a struct: keys are exact, and a missing one has no value.
const MAPS: [&str; 8] =
    ["labels", "annotations", "selector", "matchlabels", "nodeselector", "data", "finalizers", "limits"];

/// A field of the root, whose metadata can be named without saying so.
pub(super) fn of_root<'a>(root: &'a Value, kind: &str, field: &str) -> Result<Item<'a>, TemplateError> {
    let metadata = root.get("metadata");
    let within = |field: &str| metadata.and_then(|metadata| find(metadata, field));
    let found = match field {
        "Kind" => Some(Cow::Owned(Value::String(kind.to_owned()))),
        "APIVersion" => Some(root.get("apiVersion").map_or_else(empty, Cow::Borrowed)),
        "ObjectMeta" => Some(metadata.map_or_else(nothing, Cow::Borrowed)),
        "Labels" | "Annotations" | "Name" | "Namespace" | "UID" | "GenerateName" | "CreationTimestamp"
        | "Generation" | "ResourceVersion" => {
            let absent = if field.ends_with('s') { nothing } else { empty };
            Some(within(field).map_or_else(absent, Cow::Borrowed))
        }
        "Spec" | "Status" | "metadata" | "spec" | "status" => {
            Some(find(root, field).map_or_else(nothing, Cow::Borrowed))
        }
        _ => find(root, field).map(Cow::Borrowed),
    };
    match found {
        Some(found) => Ok(Some(found)),
        None => Err(TemplateError::new(format!("a {kind} has no field {field}"))),
    }
}

/// A field of a value that was itself found under `parent`.
pub(super) fn of<'a>(item: Item<'a>, parent: &str, field: &str) -> Result<Item<'a>, TemplateError> {
    let Some(value) = item else { return Ok(None) };
    let is_map = MAPS.contains(&parent.to_ascii_lowercase().as_str());
    let absent = || (!is_map).then(|| Cow::Owned(Value::Null));
    match value {
        Cow::Borrowed(Value::Object(fields)) if is_map => Ok(fields.get(field).map(Cow::Borrowed)),
        Cow::Borrowed(value @ Value::Object(_)) => Ok(find(value, field).map(Cow::Borrowed).or_else(absent)),
        Cow::Owned(Value::Object(ref fields)) if is_map => Ok(fields.get(field).cloned().map(Cow::Owned)),
        Cow::Owned(ref value @ Value::Object(_)) => {
            Ok(find(value, field).cloned().map(Cow::Owned).or_else(absent))
        }
        Cow::Borrowed(Value::Null) | Cow::Owned(Value::Null) => Ok(absent()),
        other => Err(TemplateError::new(format!("{} has no field {field}", kind_of(&other)))),
    }
}

/// A field as JSON spells it, else the one that differs in case only.
fn find<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    let fields: &Map<String, Value> = value.as_object()?;
    fields.get(field).or_else(|| {
        let alike = fields.iter().filter(|(key, _)| key.eq_ignore_ascii_case(field));
        alike.min_by_key(|(key, _)| *key).map(|(_, value)| value)
    })
}

fn empty<'a>() -> Cow<'a, Value> {
    Cow::Owned(Value::String(String::new()))
}

fn nothing<'a>() -> Cow<'a, Value> {
    Cow::Owned(Value::Object(Map::new()))
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

/// About how many bytes a value has, all that is in it included.
pub(super) fn weight(value: &Value) -> usize {
    const OWN: usize = 16;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => OWN,
        Value::String(text) => OWN + text.len(),
        Value::Array(items) => OWN + items.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => {
            OWN + fields.iter().map(|(key, value)| OWN + key.len() + weight(value)).sum::<usize>()
        }
    }
}

/// About how many bytes a copy of an item has; what is borrowed from the object stays there, but texts are looked
/// through.
pub(super) fn cost(item: &Item<'_>) -> usize {
    match item {
        None | Some(Cow::Borrowed(Value::Array(_) | Value::Object(_))) => 0,
        Some(value) => weight(value),
    }
}

/// Whether Go takes a value for true.
pub(super) fn is_true(item: &Item<'_>) -> bool {
    match item.as_deref() {
        None | Some(Value::Null) => false,
        Some(Value::Bool(value)) => *value,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
    }
}

/// A value as Go prints it.
pub(super) fn print(item: &Item<'_>) -> String {
    match item.as_deref() {
        None => "<no value>".into(),
        Some(value) => shown(value),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let mut pairs: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key}:{}", shown(value))).collect();
            pairs.sort();
            format!("map[{}]", pairs.join(" "))
        }
    }
}
