//! Walks a type's row: checks `data`, derives `content`, reads and writes presentation format.

use serde_json::{Map, Number, Value};

use crate::{
    error::{ApiError, error},
    kinds::{Content, Dot, Field, Form, Kind, Need, Priority, Shown},
    knobs::{DataRangeError, Knobs, UriContent},
    name,
    record::Record,
    txt,
};

/// The `data` of a record, complete and in the row's order.
pub fn check_data(
    kind: &Kind,
    given: &Map<String, Value>,
    knobs: &Knobs,
) -> Result<Map<String, Value>, Vec<ApiError>> {
    let mut data = Map::new();
    let mut errors = Vec::new();
    for field in kind.fields {
        match check_field(kind, field, given.get(field.name), knobs) {
            Ok(value) => drop(data.insert(field.name.to_owned(), value)),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(data) } else { Err(errors) }
}

/// The shown fields, joined by spaces.
pub fn content_of(kind: &Kind, data: &Map<String, Value>, knobs: &Knobs) -> String {
    let shown = kind.fields.iter().filter(|field| field.shown != Shown::Hidden);
    let bare_uri = kind.name == "URI" && knobs.uri_content == UriContent::Bare;
    let text = |field: &Field| match field_text(field, data) {
        text if field.shown == Shown::Quoted && !bare_uri => quoted(&text),
        text => text,
    };
    shown.map(text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The record's value as a zone file writes it: every field, hostnames absolute.
pub fn zone_text(record: &Record) -> String {
    let kind = record.kind;
    let mut parts = Vec::new();
    if let (Priority::Beside, Some(priority)) = (kind.priority, record.priority) {
        parts.push(priority.to_string());
    }
    match (&record.data, kind.content) {
        (Some(data), _) => {
            for field in kind.fields {
                let text = field_text(field, data);
                parts.push(match (field.shown, field.form) {
                    (Shown::Quoted, _) => quoted(&text),
                    (_, Form::Host(Dot::Strip)) => absolute(&text),
                    _ => text,
                });
            }
        }
        (None, Content::Host | Content::MailHost) => parts.push(absolute(&record.content)),
        (None, Content::Text) => parts.push(txt::zone_text(&record.content)),
        (None, _) => parts.push(record.content.clone()),
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

/// `data` from the words of a presentation; the last field takes all that remain.
pub fn data_from_words(fields: &[&Field], words: &[String]) -> Map<String, Value> {
    let mut data = Map::new();
    for (index, field) in fields.iter().enumerate() {
        let is_last = index + 1 == fields.len();
        let text = match words.get(index..) {
            None | Some([]) => continue,
            Some(rest) if is_last && matches!(field.form, Form::Hex | Form::Base64) => rest.concat(),
            Some(rest) if is_last => rest.join(" "),
            Some(rest) => rest[0].clone(),
        };
        let is_number = matches!(field.form, Form::Integer { .. } | Form::Decimal { .. });
        let number = text.trim_end_matches('m').parse::<f64>().ok().and_then(Number::from_f64);
        let value = match number {
            Some(number) if is_number => Value::Number(number),
            _ => Value::String(text),
        };
        data.insert(field.name.to_owned(), value);
    }
    data
}

/// An integer, also when it arrives as `5.0`.
pub fn integer(value: &Value) -> Option<i64> {
    let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
    value.as_i64().or_else(|| value.as_f64().and_then(whole))
}

fn check_field(kind: &Kind, field: &Field, given: Option<&Value>, knobs: &Knobs) -> Result<Value, ApiError> {
    let Some(value) = given.filter(|value| !value.is_null()) else {
        return match field.need {
            Need::OrZero => Ok(Value::from(0)),
            Need::Required => Err(error(9101, format!("{} is a required data field.", field.name))),
        };
    };
    let invalid = || {
        let text = format!("Content for {} record is invalid: {}.", kind.name, field.name);
        match knobs.data_range_error {
            DataRangeError::ContentInvalid => error(9007, text),
            DataRangeError::DataInvalid => error(9101, text),
        }
    };
    let text = || value.as_str().ok_or_else(invalid);
    let encoded = |is_valid: fn(&str) -> bool| {
        let compact = text()?.split_whitespace().collect::<String>();
        if is_valid(&compact) { Ok(Value::String(compact)) } else { Err(invalid()) }
    };
    match field.form {
        Form::Integer { max } => match integer(value) {
            Some(number) if (0..=i64::from(max)).contains(&number) => Ok(Value::from(number)),
            _ => Err(invalid()),
        },
        Form::Decimal { min, max, .. } => match value.as_f64() {
            Some(number) if (min..=max).contains(&number) => Ok(value.clone()),
            _ => Err(invalid()),
        },
        Form::Host(dot) => {
            let given = text()?;
            let mut host = name::hostname(given, knobs).ok_or_else(invalid)?;
            if dot == Dot::Keep && given.ends_with('.') && host != "." {
                host.push('.');
            }
            Ok(Value::String(host))
        }
        Form::Text => Ok(Value::from(text()?)),
        Form::Word if text()?.is_empty() => Err(invalid()),
        Form::Word => Ok(Value::from(text()?)),
        Form::Hex => encoded(is_hex),
        Form::Base64 => encoded(is_base64),
        Form::OneOf(words) if words.contains(&text()?) => Ok(value.clone()),
        Form::OneOf(_) => Err(invalid()),
    }
}

pub fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub fn is_base64(text: &str) -> bool {
    !text.is_empty() && data_encoding::BASE64.decode(text.as_bytes()).is_ok()
}

fn field_text(field: &Field, data: &Map<String, Value>) -> String {
    match (data.get(field.name), field.form) {
        (Some(Value::Number(number)), Form::Decimal { places, .. }) => {
            format!("{:.places$}", number.as_f64().unwrap_or_default())
        }
        (Some(Value::String(text)), _) => text.clone(),
        (Some(value), _) => value.to_string(),
        (None, _) => String::new(),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn absolute(host: &str) -> String {
    if host.ends_with('.') { host.to_owned() } else { format!("{host}.") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::kind;

    #[track_caller]
    fn derives(name: &str, data: Value, content: &str) {
        let kind = kind(name).unwrap();
        let data = check_data(kind, data.as_object().unwrap(), &Knobs::default()).unwrap();
        assert_eq!(content_of(kind, &data, &Knobs::default()), content);
    }

    #[test]
    fn content_follows_the_row() {
        derives(
            "SRV",
            json!({"priority": 5, "weight": 0, "port": 5222, "target": "Talk.example.com."}),
            "0 5222 talk.example.com",
        );
        derives("CAA", json!({"flags": 0, "tag": "issue", "value": "ca.example"}), "0 issue \"ca.example\"");
        derives("HTTPS", json!({"priority": 1.0, "target": ".", "value": "alpn=\"h2\""}), "1 . alpn=\"h2\"");
        derives(
            "NAPTR",
            json!({"order": 30, "preference": 100, "flags": "S", "service": "SIP+D2T", "regex": "",
                   "replacement": "_sip._tls.example.com."}),
            "30 100 \"S\" \"SIP+D2T\" \"\" _sip._tls.example.com.",
        );
        derives(
            "LOC",
            json!({"lat_degrees": 37, "lat_minutes": 46, "lat_seconds": 46, "lat_direction": "N",
                   "long_degrees": 122, "long_minutes": 23, "long_seconds": 35, "long_direction": "W",
                   "size": 100}),
            "37 46 46.000 N 122 23 35.000 W 0.00 100.00 0.00 0.00",
        );
    }

    #[test]
    fn every_problem_of_data_is_reported() {
        let kind = kind("DS").unwrap();
        let data = json!({"key_tag": 70000, "algorithm": 13, "digest_type": 2});
        let errors = check_data(kind, data.as_object().unwrap(), &Knobs::default()).unwrap_err();
        assert_eq!(errors.iter().map(|error| error.code).collect::<Vec<_>>(), [9007, 9101]);
    }
}
