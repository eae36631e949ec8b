//! Replies: the success envelope, the two error envelopes, and bodies that are no JSON at all.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    error::{Failure, Shape},
    knobs::Knobs,
    page::PageInfo,
    record::Record,
};

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub content_type: &'static str,
    pub retry_after: Option<u64>,
    pub body: Bytes,
}

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=UTF-8";

impl Reply {
    pub fn ok(result: &impl Serialize) -> Self {
        Self::enveloped(|body| write_json(body, result), b"")
    }

    /// One record, from its cached JSON.
    pub fn record(record: &Record, knobs: &Knobs) -> Self {
        Self::enveloped(|body| body.extend_from_slice(record.json(knobs).as_bytes()), b"")
    }

    /// A page of anything.
    pub fn page(results: &[Value], info: PageInfo) -> Self {
        Self::enveloped(|body| write_json(body, results), &info.tail())
    }

    /// A page of records, spliced from their cached JSON.
    pub fn records<'a>(records: impl Iterator<Item = &'a Record>, info: PageInfo, knobs: &Knobs) -> Self {
        Self::enveloped(|body| write_records(body, records, knobs), &info.tail())
    }

    pub fn verified(result: &Value, messages: &Value) -> Self {
        Self::json(200, &json!({"result": result, "success": true, "errors": [], "messages": messages}))
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self { status, content_type: JSON, retry_after: None, body: body.to_string().into() }
    }

    pub fn text(body: String) -> Self {
        Self { status: 200, content_type: "text/plain; charset=utf-8", retry_after: None, body: body.into() }
    }

    pub fn html(status: u16, title: &str) -> Self {
        let body = format!(
            "<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n<body><h1>{title}</h1></body></html>\n"
        );
        Self { status, content_type: HTML, retry_after: None, body: body.into() }
    }

    pub fn empty(status: u16) -> Self {
        Self { status, content_type: JSON, retry_after: None, body: Bytes::new() }
    }

    /// `result` writes JSON; `tail` is what follows `messages`.
    pub fn enveloped(result: impl FnOnce(&mut Vec<u8>), tail: &[u8]) -> Self {
        let mut body = b"{\"result\":".to_vec();
        result(&mut body);
        body.extend_from_slice(b",\"success\":true,\"errors\":[],\"messages\":[]");
        body.extend_from_slice(tail);
        body.push(b'}');
        Self { status: 200, content_type: JSON, retry_after: None, body: body.into() }
    }
}

/// Writes a JSON array of records.
pub fn write_records<'a>(body: &mut Vec<u8>, records: impl Iterator<Item = &'a Record>, knobs: &Knobs) {
    body.push(b'[');
    for (index, record) in records.enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(record.json(knobs).as_bytes());
    }
    body.push(b']');
}

fn write_json(body: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let start = body.len();
    if serde_json::to_writer(&mut *body, value).is_err() {
        body.truncate(start);
        body.extend_from_slice(b"null");
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        let body = match failure.shape {
            Shape::Gateway => json!({"success": false, "errors": failure.errors}),
            Shape::Service => {
                json!({"result": null, "success": false, "errors": failure.errors, "messages": []})
            }
        };
        Self { retry_after: failure.retry_after, ..Self::json(failure.status, &body) }
    }
}
