//! `dns_records/export` and `import`: a zone as a BIND file.

use serde_json::{Value, json};

use super::Ask;
use crate::{
    error::{Failure, Outcome},
    reply::Reply,
    write::{self, Quota},
    zonefile::{self, Parsed},
};

const LARGEST_FILE: usize = 256 * 1024;

pub fn export(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let zone = world.zone(params[0])?;
    let records = zone.records.ordered();
    Ok(Reply::text(zonefile::print(&zone.name, &records)))
}

/// Not a transaction: bad records are skipped and reported in `messages`.
pub fn import(Ask { world, call, params, effects }: Ask<'_>) -> Outcome<Reply> {
    // The codes of these two refusals are unverified.
    let file =
        call.form.get("file").ok_or_else(|| Failure::service(400, 9100, "file is a required field."))?;
    if file.len() > LARGEST_FILE {
        return Err(Failure::service(400, 9207, "The zone file exceeds 256 KiB."));
    }
    let is_proxied = call.form.get("proxied").is_some_and(|value| value.as_ref() == b"true");
    let zone_name = world.zone(params[0])?.name.clone();
    let text = String::from_utf8_lossy(file);
    let parsed = zonefile::parse(&text, &zone_name).map_err(|text| Failure::service(400, 9207, text))?;
    let total = parsed.len();
    let mut messages: Vec<Value> = Vec::new();
    for Parsed { line, body, is_proxiable } in parsed {
        let mut body = body;
        if is_proxied && is_proxiable && !body.contains_key("proxied") {
            body.insert("proxied".into(), Value::Bool(true));
        }
        if let Err(failure) = write::create(world, params[0], &body, Quota::Enforced, effects) {
            let of_line = |error: crate::error::ApiError| json!({"code": error.code, "message": format!("line {line}: {}", error.message)});
            messages.extend(failure.errors.into_iter().map(of_line));
        }
    }
    let result = json!({"recs_added": effects.len(), "total_records_parsed": total});
    Ok(Reply::verified(&result, &messages.into()))
}
