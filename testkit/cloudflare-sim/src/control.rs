//! `/sim/v1`: what [`Sim`](crate::Sim) offers in Rust, for programs in other languages.

use std::time::Duration;

use bytes::Bytes;
use hyper::http::request::Parts;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    config::Plan,
    error::Failure,
    fault::{Fault, FaultPlan},
    knobs::Knobs,
    name,
    query::Query,
    rate::RateLimit,
    record::Access,
    reply::Reply,
    token::TokenGrant,
    world::{ACCOUNT, World},
};

const BASE: &str = "/sim/v1/";

#[derive(Deserialize)]
struct NewZone {
    name: String,
    #[serde(default)]
    plan: Plan,
}

#[derive(Deserialize)]
struct NewRecord {
    record: Value,
    #[serde(default)]
    read_only: bool,
}

#[derive(Deserialize)]
struct NewKey {
    email: String,
}

#[derive(Deserialize)]
struct Rate {
    limit: u32,
    window_seconds: u64,
}

#[derive(Deserialize)]
struct Skip {
    seconds: u64,
}

/// 200 with plain JSON, or 400 with `{"error": …}`. Not counted, journalled or faulted.
pub fn answer(world: &mut World, parts: &Parts, body: &Bytes) -> Reply {
    let path = parts.uri.path().strip_prefix(BASE).unwrap_or_default();
    let segments: Vec<&str> = path.split('/').collect();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    match route(world, parts.method.as_str(), &segments, &query, body) {
        Ok(value) => Reply::json(200, &value),
        Err(text) => Reply::json(400, &json!({"error": text})),
    }
}

fn route(
    world: &mut World,
    method: &str,
    path: &[&str],
    query: &Query,
    body: &Bytes,
) -> Result<Value, String> {
    match (method, path) {
        ("POST", ["zones"]) => {
            let NewZone { name, plan } = read(body)?;
            let name = name::zone_name(&name).ok_or_else(|| format!("{name} is no zone name"))?;
            Ok(json!({"id": world.create_zone(name, plan, "active", ACCOUNT.to_owned())}))
        }
        ("GET", ["zones"]) => {
            let zones = world.zones.values().map(|zone| (zone.name.clone(), Value::from(zone.id.clone())));
            Ok(Value::Object(zones.collect()))
        }
        ("POST", ["tokens"]) => Ok(json!({"token": world.issue(read::<TokenGrant>(body)?)})),
        ("POST", ["keys"]) => {
            let key = world.ids.key();
            world.keys.insert(read::<NewKey>(body)?.email, key.clone());
            Ok(json!({"key": key}))
        }
        ("GET", ["records", zone]) => Ok(world.records(zone).into()),
        ("POST", ["records", zone]) => {
            let NewRecord { record, read_only } = read(body)?;
            let access = if read_only { Access::ReadOnly } else { Access::Writable };
            world.seed(zone, &record, access).map(|id| json!({"id": id})).map_err(told)
        }
        ("PATCH", ["records", zone, record]) => {
            world.edit(zone, record, &read(body)?).map(|()| json!({})).map_err(told)
        }
        ("DELETE", ["records", zone, record]) => world.remove(zone, record).map(|()| json!({})).map_err(told),
        ("PUT", ["discoverable", zone]) => {
            world.zone(zone).map_err(told)?.discoverable = read(body)?;
            Ok(json!({}))
        }
        ("PUT", ["faults"]) => {
            world.faults = FaultPlan::new(read::<Vec<Fault>>(body)?);
            Ok(json!({}))
        }
        ("GET", ["held"]) => Ok(json!({"held": world.gate.held()})),
        ("POST", ["release"]) => {
            world.gate.release();
            Ok(json!({}))
        }
        ("GET", ["knobs"]) => serde_json::to_value(world.knobs).map_err(|error| error.to_string()),
        ("PUT", ["knobs"]) => {
            world.set_knobs(read::<Knobs>(body)?);
            Ok(json!({}))
        }
        ("PUT", ["rate_limit"]) => {
            let Rate { limit, window_seconds } = read(body)?;
            world.rate = RateLimit::new(limit, Duration::from_secs(window_seconds));
            Ok(json!({}))
        }
        ("PUT", ["lag"]) => {
            world.lag = Duration::from_secs(read::<Skip>(body)?.seconds);
            Ok(json!({}))
        }
        ("DELETE", ["zones", zone]) => match world.zones.remove(*zone) {
            Some(_) => Ok(json!({})),
            None => Err(format!("no zone {zone}")),
        },
        ("POST", ["clock"]) => {
            world.clock.skip(Duration::from_secs(read::<Skip>(body)?.seconds));
            Ok(json!({}))
        }
        ("GET", ["journal"]) => {
            let since = query.number("since").and_then(|since| u64::try_from(since).ok()).unwrap_or(0);
            serde_json::to_value(world.journal.since(since, &world.knobs)).map_err(|error| error.to_string())
        }
        _ => Err(format!("no {method} {BASE}{}", path.join("/"))),
    }
}

fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

fn told(failure: Failure) -> String {
    failure.errors.into_iter().map(|error| error.message).collect::<Vec<_>>().join("; ")
}
