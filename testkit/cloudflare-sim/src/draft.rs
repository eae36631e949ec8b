//! A record as a request asks for it: typed, but not yet checked against any rule.

use serde_json::{Map, Value};

use crate::{
    error::{Failure, Outcome, error},
    kinds::{Kind, kind},
    knobs::TypedContent,
    rdata::integer,
    record::Record,
};

/// Fields that the API removed or ignores are not here, so that clients may still send them.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub name: Option<String>,
    pub kind: Option<&'static Kind>,
    pub content: Option<String>,
    pub data: Option<Map<String, Value>>,
    pub priority: Option<i64>,
    pub ttl: Option<i64>,
    pub proxied: Option<bool>,
    pub settings: Option<Map<String, Value>>,
    pub comment: Option<String>,
    pub tags: Option<Vec<String>>,
    pub private_routing: Option<bool>,
}

// === impl Draft ===

impl Draft {
    /// A wrong JSON type is refused as a whole (code 9207), before any field is looked at.
    pub fn read(body: &Map<String, Value>) -> Outcome<Self> {
        let kind_name: Option<String> = text(body, "type")?;
        let known = |name: String| kind(&name).ok_or_else(|| error(9002, "Invalid record type."));
        Ok(Self {
            name: text(body, "name")?,
            kind: kind_name.map(known).transpose()?,
            content: text(body, "content")?,
            data: object(body, "data")?,
            priority: number(body, "priority")?,
            ttl: number(body, "ttl")?,
            proxied: flag(body, "proxied")?,
            settings: object(body, "settings")?,
            // Both null and "" clear a comment.
            comment: match body.get("comment") {
                Some(Value::Null) => Some(String::new()),
                _ => text(body, "comment")?,
            },
            tags: tags(body)?,
            private_routing: flag(body, "private_routing")?,
        })
    }

    /// What a record says, as the draft that a PATCH starts from.
    pub fn of(record: &Record) -> Self {
        Self {
            name: Some(record.name.clone()),
            kind: Some(record.kind),
            content: Some(record.content.clone()),
            data: record.data.clone(),
            priority: record.priority.map(i64::from),
            ttl: Some(i64::from(record.ttl)),
            proxied: Some(record.proxied),
            settings: Some(record.settings.clone()),
            comment: Some(record.comment.clone().unwrap_or_default()),
            tags: Some(record.tags.clone()),
            private_routing: record.private_routing,
        }
    }

    /// PATCH: what the patch leaves out stays; `data` and `settings` merge by key.
    pub fn patched(self, patch: Self, typed_content: TypedContent) -> Self {
        let changes_kind = |kind: &Kind| self.kind.is_some_and(|own| own.name != kind.name);
        // Where content can be parsed, a patch of content alone replaces data; else it is read-only.
        let replaces_data =
            typed_content == TypedContent::Parse && patch.content.is_some() && patch.data.is_none();
        let own_data = match patch.kind {
            Some(kind) if changes_kind(kind) => None,
            _ if replaces_data => None,
            _ => self.data,
        };
        Self {
            name: patch.name.or(self.name),
            kind: patch.kind.or(self.kind),
            content: patch.content.or(self.content),
            data: merged(own_data, patch.data),
            priority: patch.priority.or(self.priority),
            ttl: patch.ttl.or(self.ttl),
            proxied: patch.proxied.or(self.proxied),
            settings: merged(self.settings, patch.settings),
            comment: patch.comment.or(self.comment),
            tags: patch.tags.or(self.tags),
            private_routing: patch.private_routing.or(self.private_routing),
        }
    }
}

fn merged(own: Option<Map<String, Value>>, patch: Option<Map<String, Value>>) -> Option<Map<String, Value>> {
    match (own, patch) {
        (Some(mut own), Some(patch)) => {
            own.extend(patch);
            Some(own)
        }
        (own, patch) => patch.or(own),
    }
}

fn present<'a>(body: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    body.get(field).filter(|value| !value.is_null())
}

fn text(body: &Map<String, Value>, field: &str) -> Outcome<Option<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(Failure::not_json);
    present(body, field).map(text).transpose()
}

fn number(body: &Map<String, Value>, field: &str) -> Outcome<Option<i64>> {
    let number = |value: &Value| integer(value).ok_or_else(Failure::not_json);
    present(body, field).map(number).transpose()
}

fn flag(body: &Map<String, Value>, field: &str) -> Outcome<Option<bool>> {
    let flag = |value: &Value| value.as_bool().ok_or_else(Failure::not_json);
    present(body, field).map(flag).transpose()
}

fn object(body: &Map<String, Value>, field: &str) -> Outcome<Option<Map<String, Value>>> {
    let object = |value: &Value| value.as_object().cloned().ok_or_else(Failure::not_json);
    present(body, field).map(object).transpose()
}

fn tags(body: &Map<String, Value>) -> Outcome<Option<Vec<String>>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = |value: &Value| value.as_array().and_then(|list| list.iter().map(text).collect());
    match body.get("tags") {
        None => Ok(None),
        Some(Value::Null) => Ok(Some(Vec::new())),
        Some(value) => list(value).map(Some).ok_or_else(Failure::not_json),
    }
}
