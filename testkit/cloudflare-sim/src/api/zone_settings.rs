//! `settings`: a zone's settings by their id, defaults overlaid by what was PATCHed.

use serde_json::{Value, json};

use super::Ask;
use crate::{
    error::{Failure, Outcome},
    reply::Reply,
    zone::Zone,
};

pub fn list(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let zone = world.zone(params[0])?;
    let all: Vec<Value> = defaults().iter().map(|(id, _)| shown(zone, id)).collect();
    Ok(Reply::ok(&all))
}

pub fn get(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let zone = world.zone(params[0])?;
    known(params[1])?;
    Ok(Reply::ok(&shown(zone, params[1])))
}

/// Only a value of the same JSON type is taken; objects are replaced as a whole.
pub fn patch(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let zone = world.zone(params[0])?;
    let id = params[1];
    let default = known(id)?;
    let key = if id == "ssl_recommender" { "enabled" } else { "value" };
    let value = body.get(key).ok_or_else(|| Failure::service(400, 1006, "Invalid value for zone setting"))?;
    if std::mem::discriminant(value) != std::mem::discriminant(&default) {
        return Err(Failure::service(400, 1007, format!("Invalid value for zone setting {id}")));
    }
    zone.zone_settings.insert(id.to_owned(), value.clone());
    Ok(Reply::ok(&shown(zone, id)))
}

fn known(id: &str) -> Outcome<Value> {
    let found = defaults().into_iter().find(|(known, _)| *known == id);
    found
        .map(|(_, value)| value)
        .ok_or_else(|| Failure::service(400, 1006, format!("Undefined zone setting: {id}")))
}

fn shown(zone: &Zone, id: &str) -> Value {
    let value = zone.zone_settings.get(id).cloned().or_else(|| known(id).ok());
    match id {
        "ssl_recommender" => json!({"id": id, "enabled": value, "editable": true}),
        _ => json!({"id": id, "value": value, "editable": true, "modified_on": null}),
    }
}

fn defaults() -> [(&'static str, Value); 12] {
    [
        ("always_online", json!("off")),
        ("always_use_https", json!("off")),
        ("automatic_https_rewrites", json!("on")),
        ("browser_cache_ttl", json!(14_400)),
        ("http3", json!("on")),
        ("ipv6", json!("on")),
        ("min_tls_version", json!("1.0")),
        (
            "security_header",
            json!({"strict_transport_security": {
                "enabled": false, "max_age": 0, "include_subdomains": false, "nosniff": false, "preload": false,
            }}),
        ),
        ("ssl", json!("full")),
        ("ssl_recommender", json!(false)),
        ("tls_1_3", json!("on")),
        ("websockets", json!("on")),
    ]
}
