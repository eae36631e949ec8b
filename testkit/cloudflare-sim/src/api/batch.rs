//! `dns_records/batch`: deletes, patches, puts, posts, in this order, all or nothing.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Ask;
use crate::{
    error::{Failure, Outcome},
    knobs::{EmptyBatch, OversizedBatch},
    record::{Effect, Record},
    reply::{Reply, write_records},
    world::World,
    write::{self, Quota},
};

const LISTS: [&str; 4] = ["deletes", "patches", "puts", "posts"];

/// Guarantees: on any error the zone is as it was, and the error is the first one in execution order.
pub fn run(Ask { world, call, params, effects }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let mut lists = Vec::with_capacity(LISTS.len());
    for list in LISTS {
        lists.push(operations(&body, list)?);
    }
    check_size(world, params[0], lists.iter().map(|list| list.len()).sum())?;
    let mut results = Vec::with_capacity(LISTS.len());
    for (name, list) in LISTS.into_iter().zip(&lists) {
        let mut done = Vec::with_capacity(list.len());
        for operation in *list {
            match apply(world, params[0], name, operation, effects) {
                Ok(record) => done.push(record),
                Err(failure) => {
                    world.zone(params[0])?.undo(effects.drain(..));
                    return Err(failure);
                }
            }
        }
        results.push((name, done));
    }
    let write = |body: &mut Vec<u8>| {
        for (index, (name, records)) in results.iter().enumerate() {
            let opening = if index == 0 { '{' } else { ',' };
            body.extend_from_slice(format!("{opening}\"{name}\":").as_bytes());
            write_records(body, records.iter().map(AsRef::as_ref), &world.knobs);
        }
        body.push(b'}');
    };
    Ok(Reply::enveloped(write, b""))
}

fn operations<'a>(body: &'a Map<String, Value>, list: &str) -> Outcome<&'a [Value]> {
    match body.get(list) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(operations)) => Ok(operations),
        Some(_) => Err(Failure::not_json()),
    }
}

fn check_size(world: &mut World, zone: &str, size: usize) -> Outcome<()> {
    let (oversized, empty) = (world.knobs.oversized_batch, world.knobs.empty_batch);
    let limit = world.zone(zone)?.plan.limits().batch;
    // Both codes are unverified.
    if size > limit {
        let status = match oversized {
            OversizedBatch::BadRequest => 400,
            OversizedBatch::TooLarge => 413,
        };
        let text = format!("Batch of {size} operations exceeds the limit of {limit}.");
        return Err(Failure::service(status, 9400, text));
    }
    if size == 0 && empty == EmptyBatch::Refuse {
        return Err(Failure::service(400, 9401, "Batch has no operations."));
    }
    Ok(())
}

fn apply(
    world: &mut World,
    zone: &str,
    list: &str,
    operation: &Value,
    effects: &mut Vec<Effect>,
) -> Outcome<Arc<Record>> {
    let body = operation.as_object().ok_or_else(Failure::not_json)?;
    let id = || match body.get("id").and_then(Value::as_str) {
        Some(id) => Ok(id),
        None => Err(Failure::service(400, 9100, "id is a required field.")),
    };
    match list {
        "deletes" => write::delete(world, zone, id()?, effects),
        "patches" => write::patch(world, zone, id()?, body, effects),
        "puts" => write::overwrite(world, zone, id()?, body, effects),
        _ => write::create(world, zone, body, Quota::Enforced, effects),
    }
}
