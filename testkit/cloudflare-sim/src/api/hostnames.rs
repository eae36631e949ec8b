//! `custom_hostnames` (by id, in pages) and `regional_hostnames` (by hostname, all at once).

use serde_json::{Map, Value, json};

use super::Ask;
use crate::{
    error::{Failure, Outcome},
    page::Page,
    query::decode,
    record::stamp,
    reply::Reply,
    world::World,
};

pub fn custom_list(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let knob = world.knobs.empty_list_pages;
    let zone = world.zone(params[0])?;
    let fits = |field: &str, value: &Value| call.query.get(field).is_none_or(|wanted| value[field] == wanted);
    let hostnames =
        zone.custom_hostnames.values().filter(|value| fits("hostname", value) && fits("id", value));
    let mut hostnames: Vec<Value> = hostnames.cloned().collect();
    hostnames.sort_by_key(|value| value["hostname"].to_string());
    let page = Page::of(&call.query, 5..=50, 20);
    Ok(Reply::page(&hostnames[page.range(hostnames.len())], page.info(hostnames.len(), knob)))
}

pub fn custom_create(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let mut body = call.object()?;
    let id = world.ids.id();
    let now = stamp(world.clock.tick());
    let zone = world.zone(params[0])?;
    let hostname = body.get("hostname").and_then(Value::as_str).unwrap_or_default().to_owned();
    if hostname.is_empty() {
        return Err(Failure::service(400, 1400, "hostname is a required field."));
    }
    if zone.custom_hostnames.values().any(|value| value["hostname"] == hostname) {
        return Err(Failure::service(409, 1406, "Duplicate custom hostname found."));
    }
    let mut ssl = body.remove("ssl").unwrap_or_else(|| json!({}));
    if let Some(ssl) = ssl.as_object_mut() {
        ssl.insert("status".into(), json!("initializing"));
        ssl.insert("id".into(), json!(id));
    }
    let mut custom =
        json!({"id": id, "hostname": hostname, "ssl": ssl, "status": "pending", "created_at": now});
    for field in ["custom_origin_server", "custom_origin_sni", "custom_metadata"] {
        if let Some(value) = body.remove(field) {
            custom[field] = value;
        }
    }
    zone.custom_hostnames.insert(id, custom.clone());
    Ok(Reply::ok(&custom))
}

pub fn custom_get(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    Ok(Reply::ok(custom(world, &params)?))
}

pub fn custom_patch(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let custom = custom(world, &params)?;
    overlay(custom, body, &["ssl", "custom_origin_server", "custom_origin_sni", "custom_metadata"]);
    Ok(Reply::ok(custom))
}

pub fn custom_delete(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    custom(world, &params)?;
    world.zone(params[0])?.custom_hostnames.remove(params[1]);
    Ok(Reply::json(200, &json!({"id": params[1], "success": true, "errors": [], "messages": []})))
}

/// `result` is null when there are none.
pub fn regional_list(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let zone = world.zone(params[0])?;
    let hostnames: Vec<&Value> = zone.regional_hostnames.values().collect();
    Ok(match hostnames.is_empty() {
        true => Reply::ok(&Value::Null),
        false => Reply::ok(&hostnames),
    })
}

pub fn regional_create(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let now = stamp(world.clock.tick());
    let text = |field: &str| body.get(field).and_then(Value::as_str);
    let (Some(hostname), Some(region)) = (text("hostname"), text("region_key")) else {
        return Err(Failure::service(400, 1500, "hostname and region_key are required."));
    };
    let regional = json!({
        "hostname": hostname,
        "region_key": region,
        "routing": text("routing").unwrap_or("dns"),
        "created_on": now,
    });
    let zone = world.zone(params[0])?;
    if zone.regional_hostnames.contains_key(hostname) {
        return Err(Failure::service(409, 1501, "Regional hostname already exists."));
    }
    zone.regional_hostnames.insert(hostname.to_owned(), regional.clone());
    Ok(Reply::ok(&regional))
}

pub fn regional_get(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    Ok(Reply::ok(regional(world, &params)?))
}

pub fn regional_patch(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let regional = regional(world, &params)?;
    overlay(regional, body, &["region_key", "routing"]);
    Ok(Reply::ok(regional))
}

/// The reply has no `result`.
pub fn regional_delete(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    regional(world, &params)?;
    world.zone(params[0])?.regional_hostnames.remove(&decode(params[1]));
    Ok(Reply::json(200, &json!({"success": true, "errors": [], "messages": []})))
}

fn custom<'a>(world: &'a mut World, params: &[&str]) -> Outcome<&'a mut Value> {
    let found = world.zone(params[0])?.custom_hostnames.get_mut(params[1]);
    found.ok_or_else(|| Failure::service(404, 1436, "The custom hostname was not found."))
}

fn regional<'a>(world: &'a mut World, params: &[&str]) -> Outcome<&'a mut Value> {
    let found = world.zone(params[0])?.regional_hostnames.get_mut(&decode(params[1]));
    found.ok_or_else(|| Failure::service(404, 1502, "Regional hostname not found."))
}

fn overlay(target: &mut Value, body: Map<String, Value>, fields: &[&str]) {
    for (field, value) in body {
        if fields.contains(&field.as_str()) {
            target[&field] = value;
        }
    }
}
