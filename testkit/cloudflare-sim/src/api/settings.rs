//! `dns_settings`: defaults, overlaid by what was PATCHed.

use serde_json::{Map, Value, json};

use super::Ask;
use crate::{
    error::{Failure, Outcome},
    reply::Reply,
};

pub fn get(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    Ok(Reply::ok(&shown(&world.zone(params[0])?.settings)))
}

/// Only known settings with a value of the same JSON type are taken.
pub fn patch(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let zone = world.zone(params[0])?;
    let current = shown(&zone.settings);
    for (setting, value) in &body {
        let is_kind = |known: &Value| std::mem::discriminant(known) == std::mem::discriminant(value);
        if !current.get(setting).is_some_and(is_kind) {
            return Err(Failure::not_json());
        }
    }
    for (setting, value) in body {
        let merged = match (current.get(&setting), value) {
            (Some(Value::Object(own)), Value::Object(given)) => {
                let mut own = own.clone();
                own.extend(given);
                Value::Object(own)
            }
            (_, value) => value,
        };
        zone.settings.insert(setting, merged);
    }
    Ok(Reply::ok(&shown(&zone.settings)))
}

fn shown(changed: &Map<String, Value>) -> Value {
    let mut settings = json!({
        "flatten_all_cnames": false,
        "foundation_dns": false,
        "multi_provider": false,
        "nameservers": {"type": "cloudflare.standard", "ns_set": 1},
        "ns_ttl": 86400,
        "secondary_overrides": false,
        "soa": {
            "mname": "ada.ns.example.com",
            "rname": "dns.example.com",
            "refresh": 10000,
            "retry": 2400,
            "expire": 604_800,
            "min_ttl": 1800,
            "ttl": 3600,
        },
        "zone_mode": "standard",
        "internal_dns": {"reference_zone_id": ""},
    });
    if let Some(settings) = settings.as_object_mut() {
        settings.extend(changed.clone());
    }
    settings
}
