//! The four changes to a record: create, overwrite, merge, delete. Every path to a zone ends here.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    admit::{Entry, admit},
    draft::Draft,
    error::{ApiError, Failure, Link, Outcome, error},
    knobs::{IdenticalPatch, Knobs, LateProxy, MissingRecord, ReadOnlyWrite, ValidationShape},
    record::{Access, Effect, Record},
    world::World,
};

/// Whether a new record counts against the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    Enforced,
    Ignored,
}

pub fn create(
    world: &mut World,
    zone: &str,
    body: &Map<String, Value>,
    quota: Quota,
    effects: &mut Vec<Effect>,
) -> Outcome<Arc<Record>> {
    let draft = Draft::read(body)?;
    let (id, now) = (world.ids.id(), world.clock.tick());
    let knobs = world.knobs;
    let zone = world.zone(zone)?;
    let entry = Entry { zone, knobs: &knobs, now, id, previous: None };
    let record = admit(entry, draft).map_err(|errors| shaped(errors, &knobs))?;
    if quota == Quota::Enforced && zone.records.len() >= zone.plan.quota(knobs.record_quota) {
        return Err(error(81045, "Record quota exceeded.").into());
    }
    let record = Arc::new(record);
    zone.change(&record.id, Some(record.clone()), effects);
    Ok(record)
}

/// PUT: what the body leaves out returns to its default.
pub fn overwrite(
    world: &mut World,
    zone: &str,
    id: &str,
    body: &Map<String, Value>,
    effects: &mut Vec<Effect>,
) -> Outcome<Arc<Record>> {
    let previous = writable(world, zone, id)?;
    let draft = Draft::read(body)?;
    replace(world, zone, &previous, draft, effects)
}

/// PATCH: what the body leaves out stays.
pub fn patch(
    world: &mut World,
    zone: &str,
    id: &str,
    body: &Map<String, Value>,
    effects: &mut Vec<Effect>,
) -> Outcome<Arc<Record>> {
    let previous = writable(world, zone, id)?;
    let mut patch = Draft::read(body)?;
    if world.knobs.late_proxy == LateProxy::Forgotten && !previous.proxied {
        patch.proxied = patch.proxied.filter(|proxied| !proxied);
    }
    let draft = Draft::of(&previous).patched(patch, world.knobs.typed_content);
    replace(world, zone, &previous, draft, effects)
}

pub fn delete(world: &mut World, zone: &str, id: &str, effects: &mut Vec<Effect>) -> Outcome<Arc<Record>> {
    let previous = writable(world, zone, id)?;
    world.zone(zone)?.change(id, None, effects);
    Ok(previous)
}

pub fn existing(world: &mut World, zone: &str, id: &str) -> Outcome<Arc<Record>> {
    let status = match world.knobs.missing_record {
        MissingRecord::NotFound => 404,
        MissingRecord::BadRequest => 400,
    };
    let found = world.zone(zone)?.records.get(id).cloned();
    found.ok_or_else(|| Failure::service(status, 81044, "Record does not exist."))
}

fn writable(world: &mut World, zone: &str, id: &str) -> Outcome<Arc<Record>> {
    let record = existing(world, zone, id)?;
    match (record.access, world.knobs.read_only_write) {
        (Access::Writable, _) => Ok(record),
        // The code is unverified; clients should key on `meta.read_only` instead.
        (Access::ReadOnly, ReadOnlyWrite::BadRequest) => {
            Err(Failure::service(400, 1043, "This record is managed by Cloudflare and is read only."))
        }
        (Access::ReadOnly, ReadOnlyWrite::Forbidden) => {
            Err(Failure::service(403, 1043, "This record is managed by Cloudflare and is read only."))
        }
    }
}

fn replace(
    world: &mut World,
    zone: &str,
    previous: &Record,
    draft: Draft,
    effects: &mut Vec<Effect>,
) -> Outcome<Arc<Record>> {
    let now = world.clock.tick();
    let knobs = world.knobs;
    let zone = world.zone(zone)?;
    let entry = Entry { zone, knobs: &knobs, now, id: previous.id.clone(), previous: Some(previous) };
    let mut record = admit(entry, draft).map_err(|errors| shaped(errors, &knobs))?;
    if knobs.identical_patch == IdenticalPatch::Stays && says_the_same(&record, previous) {
        record.modified_on = previous.modified_on;
    }
    let record = Arc::new(record);
    zone.change(&record.id, Some(record.clone()), effects);
    Ok(record)
}

fn says_the_same(record: &Record, previous: &Record) -> bool {
    let facts = |record: &Record| {
        let shown = (record.proxied, record.ttl, record.priority, record.private_routing);
        (shown, record.kind.name, record.name.clone(), record.content.clone(), record.comment.clone())
    };
    facts(record) == facts(previous)
        && (&record.data, &record.settings, &record.tags)
            == (&previous.data, &previous.settings, &previous.tags)
}

fn shaped(errors: Vec<ApiError>, knobs: &Knobs) -> Failure {
    match knobs.validation_shape {
        ValidationShape::Flat => errors.into(),
        ValidationShape::Chained => {
            let mut wrapper = error(1004, "DNS Validation Error");
            wrapper.error_chain =
                errors.into_iter().map(|error| Link { code: error.code, message: error.message }).collect();
            wrapper.into()
        }
    }
}
