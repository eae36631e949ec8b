//! `dns_records/scan`: finds what a test made discoverable, and waits for a review.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Ask;
use crate::{
    error::{Failure, Outcome},
    record::Record,
    reply::{Reply, write_records},
    write::{self, Quota},
};

/// The deprecated form adds what it finds at once.
pub fn scan(Ask { world, params, effects, .. }: Ask<'_>) -> Outcome<Reply> {
    let found = std::mem::take(&mut world.zone(params[0])?.discoverable);
    let total = found.len();
    let bodies = found.iter().filter_map(Value::as_object);
    let added = bodies.filter(|body| write::create(world, params[0], body, Quota::Enforced, effects).is_ok());
    let added = added.count();
    Ok(Reply::ok(&json!({"recs_added": added, "total_records_parsed": total})))
}

pub fn trigger(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let found = std::mem::take(&mut world.zone(params[0])?.discoverable);
    for body in found.iter().filter_map(Value::as_object) {
        // Created and taken back: found records look like others, but are not in the zone.
        let mut effects = Vec::new();
        if let Ok(record) = write::create(world, params[0], body, Quota::Ignored, &mut effects) {
            let zone = world.zone(params[0])?;
            zone.undo(effects.drain(..));
            zone.unreviewed.push(record);
        }
    }
    Ok(Reply::json(200, &json!({"success": true, "errors": [], "messages": []})))
}

pub fn list(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let knobs = world.knobs;
    let found = &world.zone(params[0])?.unreviewed;
    let write = |body: &mut Vec<u8>| write_records(body, found.iter().map(AsRef::as_ref), &knobs);
    Ok(Reply::enveloped(write, b""))
}

/// `accepts` are records as a batch post takes them, `rejects` are ids.
pub fn review(Ask { world, call, params, effects }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let mut accepted: Vec<Arc<Record>> = Vec::new();
    for item in list_of(&body, "accepts")? {
        let operation = item.as_object().ok_or_else(Failure::not_json)?;
        let id = operation.get("id").and_then(Value::as_str).unwrap_or_default();
        accepted.push(write::create(world, params[0], operation, Quota::Enforced, effects)?);
        world.zone(params[0])?.unreviewed.retain(|found| found.id != id);
    }
    let mut rejected = Vec::new();
    for item in list_of(&body, "rejects")? {
        let id = item.as_str().or_else(|| item.get("id")?.as_str()).ok_or_else(Failure::not_json)?;
        world.zone(params[0])?.unreviewed.retain(|found| found.id != id);
        rejected.push(id.to_owned());
    }
    let accepts: Vec<Value> = accepted.iter().map(|record| record.value(&world.knobs)).collect();
    Ok(Reply::ok(&json!({"accepts": accepts, "rejects": rejected})))
}

fn list_of<'a>(body: &'a Map<String, Value>, field: &str) -> Outcome<&'a [Value]> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(Failure::not_json()),
    }
}
