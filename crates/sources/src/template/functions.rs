//! The functions of templates: ExternalDNS's, and those of Go that compare, index and print.

use std::{borrow::Cow, cmp::Ordering, net::IpAddr};

use serde_json::Value;

use super::{
    TemplateError,
    fields::{Item, is_true, kind_of, print, weight},
    source_name,
};
use crate::object::Kind;

const NAMES: &[&str] = &[
    "and",
    "or",
    "not",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "len",
    "index",
    "print",
    "printf",
    "println",
    "contains",
    "trimPrefix",
    "trimSuffix",
    "trim",
    "toLower",
    "replace",
    "isIPv4",
    "isIPv6",
    "isSource",
    "hasKey",
    "fromJson",
];

/// Whether a word is the name of a function.
pub(super) fn is_function(word: &str) -> bool {
    NAMES.contains(&word)
}

/// At least as many bytes as a call makes, or looks through: what it takes, but where one part stands many times.
pub(super) fn work(function: &str, arguments: &[Item<'_>]) -> usize {
    let text = |at: usize| match arguments.get(at).and_then(|item| item.as_deref()) {
        Some(Value::String(text)) => text.as_str(),
        _ => "",
    };
    let taken = || arguments.iter().flatten().map(|value| weight(value)).sum::<usize>();
    match function {
        "replace" => {
            let (old, new, whole) = (text(0), text(1), text(2));
            whole.matches(old).count().saturating_mul(new.len()).saturating_add(whole.len())
        }
        // A sequence of escapes, and a map of JSON, are several times as long.
        "printf" | "fromJson" => taken().saturating_mul(10),
        "print" | "println" => taken(),
        "index" | "and" | "or" | "not" | "len" | "hasKey" => 0,
        _ => arguments.iter().flatten().map(|value| value.as_str().map_or(0, str::len)).sum(),
    }
}

/// Calls a function; `and` and `or` see only arguments that were evaluated for them.
pub(super) fn call<'a>(
    function: &str,
    arguments: Vec<Item<'a>>,
    kind: Kind,
) -> Result<Item<'a>, TemplateError> {
    let texts = |count: usize| texts(function, &arguments, count);
    let value = match function {
        "and" | "or" => return Ok(arguments.into_iter().next_back().flatten()),
        "not" => Value::Bool(!is_true(one(function, &arguments)?)),
        "eq" => compare_any(function, &arguments)?,
        "ne" | "lt" | "le" | "gt" | "ge" => compare(function, &arguments)?,
        "len" => length(one(function, &arguments)?)?,
        "index" => return index(arguments),
        "print" => arguments.iter().map(print).collect::<String>().into(),
        "println" => format!("{}\n", arguments.iter().map(print).collect::<Vec<_>>().join(" ")).into(),
        "printf" => printf(&arguments)?,
        "contains" => texts(2).map(|texts| texts[0].contains(&texts[1]).into())?,
        "trimPrefix" => texts(2).map(|texts| texts[0].strip_prefix(&texts[1]).unwrap_or(&texts[0]).into())?,
        "trimSuffix" => texts(2).map(|texts| texts[0].strip_suffix(&texts[1]).unwrap_or(&texts[0]).into())?,
        "trim" => texts(1).map(|texts| texts[0].trim().into())?,
        "toLower" => texts(1).map(|texts| texts[0].to_lowercase().into())?,
        "replace" => texts(3).map(|texts| texts[2].replace(&texts[0], &texts[1]).into())?,
        "isIPv4" => texts(1).map(|texts| matches!(texts[0].parse(), Ok(IpAddr::V4(_))).into())?,
        "isIPv6" => texts(1).map(|texts| matches!(texts[0].parse(), Ok(IpAddr::V6(_))).into())?,
        "isSource" => texts(1).map(|texts| (texts[0] == source_name(kind)).into())?,
        "hasKey" => has_key(&arguments)?,
        "fromJson" => texts(1).map(|texts| serde_json::from_str(&texts[0]).unwrap_or(Value::Null))?,
        _ => return Err(TemplateError::new(format!("function {function:?} is not known"))),
    };
    Ok(Some(Cow::Owned(value)))
}

fn wrong(function: &str, what: &str) -> TemplateError {
    TemplateError::new(format!("{function} {what}"))
}

fn one<'a, 'b>(function: &str, arguments: &'b [Item<'a>]) -> Result<&'b Item<'a>, TemplateError> {
    match arguments {
        [argument] => Ok(argument),
        _ => Err(wrong(function, "takes one argument")),
    }
}

/// Exactly so many texts; what has no value counts as empty, as a field that is not set does in Go.
fn texts(function: &str, arguments: &[Item<'_>], count: usize) -> Result<Vec<String>, TemplateError> {
    if arguments.len() != count {
        return Err(wrong(function, &format!("takes {count} arguments, not {}", arguments.len())));
    }
    let text = |item: &Item<'_>| match item.as_deref() {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(wrong(function, &format!("takes texts, not {}", kind_of(other)))),
    };
    arguments.iter().map(text).collect()
}

/// Whether the first equals any of the others.
fn compare_any(function: &str, arguments: &[Item<'_>]) -> Result<Value, TemplateError> {
    match arguments {
        [first, others @ ..] if !others.is_empty() => {
            Ok(others.iter().any(|other| order(first, other) == Some(Ordering::Equal)).into())
        }
        _ => Err(wrong(function, "takes two arguments or more")),
    }
}

fn compare(function: &str, arguments: &[Item<'_>]) -> Result<Value, TemplateError> {
    let [one, other] = arguments else { return Err(wrong(function, "takes two arguments")) };
    let order = order(one, other);
    if function == "ne" {
        return Ok((order != Some(Ordering::Equal)).into());
    }
    let order = order.ok_or_else(|| wrong(function, "compares texts with texts and numbers with numbers"))?;
    Ok(match function {
        "lt" => order.is_lt(),
        "le" => order.is_le(),
        "gt" => order.is_gt(),
        _ => order.is_ge(),
    }
    .into())
}

/// How two values compare; a field that is not set is as good as empty.
fn order(one: &Item<'_>, other: &Item<'_>) -> Option<Ordering> {
    let null = Value::Null;
    match (one.as_deref().unwrap_or(&null), other.as_deref().unwrap_or(&null)) {
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Number(one), Value::Number(other)) => one.as_f64()?.partial_cmp(&other.as_f64()?),
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        (Value::Null, Value::String(text)) => Some("".cmp(text)),
        (Value::String(text), Value::Null) => Some(text.as_str().cmp("")),
        _ => None,
    }
}

fn length(item: &Item<'_>) -> Result<Value, TemplateError> {
    match item.as_deref() {
        None | Some(Value::Null) => Ok(0.into()),
        Some(Value::String(text)) => Ok(text.len().into()),
        Some(Value::Array(items)) => Ok(items.len().into()),
        Some(Value::Object(fields)) => Ok(fields.len().into()),
        Some(other) => Err(wrong("len", &format!("can't measure {}", kind_of(other)))),
    }
}

/// An entry of a map or list; a key that is not there gives an empty text, as in Go's maps of texts.
fn index(arguments: Vec<Item<'_>>) -> Result<Item<'_>, TemplateError> {
    let mut arguments = arguments.into_iter();
    let mut item = arguments.next().ok_or_else(|| wrong("index", "takes a map or list first"))?;
    for key in arguments {
        let found = match item {
            None => None,
            // What is borrowed stays so: no copy.
            Some(Cow::Borrowed(value)) => entry(value, key.as_deref())?.map(Cow::Borrowed),
            Some(Cow::Owned(value)) => entry(&value, key.as_deref())?.cloned().map(Cow::Owned),
        };
        item = Some(found.unwrap_or_else(|| Cow::Owned(String::new().into())));
    }
    Ok(item)
}

fn entry<'a>(value: &'a Value, key: Option<&Value>) -> Result<Option<&'a Value>, TemplateError> {
    match (value, key) {
        (Value::Null, _) => Ok(None),
        (Value::Object(fields), Some(Value::String(key))) => Ok(fields.get(key)),
        (Value::Array(items), Some(Value::Number(at))) => {
            let at = at.as_u64().and_then(|at| usize::try_from(at).ok());
            let found = at.and_then(|at| items.get(at));
            found.map(Some).ok_or_else(|| wrong("index", "is out of range"))
        }
        _ => Err(wrong("index", "takes texts for maps and numbers for lists")),
    }
}

fn has_key(arguments: &[Item<'_>]) -> Result<Value, TemplateError> {
    let [map, key] = arguments else { return Err(wrong("hasKey", "takes a map and a key")) };
    match (map.as_deref(), key.as_deref()) {
        (None | Some(Value::Null), _) => Ok(false.into()),
        (Some(Value::Object(fields)), Some(Value::String(key))) => Ok(fields.contains_key(key).into()),
        _ => Err(wrong("hasKey", "takes a map and a key")),
    }
}

/// Go's printf with %s, %v, %d, %t, %q and %%.
fn printf(arguments: &[Item<'_>]) -> Result<Value, TemplateError> {
    let mut arguments = arguments.iter();
    let format = arguments.next().map(print).ok_or_else(|| wrong("printf", "takes a format first"))?;
    let (mut text, mut characters) = (String::new(), format.chars());
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        let verb = characters.next();
        if verb == Some('%') {
            text.push('%');
            continue;
        }
        let argument = arguments.next().ok_or_else(|| wrong("printf", "has too few arguments"))?;
        match verb {
            Some('s' | 'v' | 'd' | 't') => text.push_str(&print(argument)),
            Some('q') => text.push_str(&format!("{:?}", print(argument))),
            _ => return Err(wrong("printf", "knows %s, %v, %d, %t, %q and %%")),
        }
    }
    match arguments.next() {
        None => Ok(text.into()),
        Some(_) => Err(wrong("printf", "has too many arguments")),
    }
}
