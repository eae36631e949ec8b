//! `hold`: whether other accounts can add the zone.

use serde_json::{Value, json};

use super::Ask;
use crate::{error::Outcome, reply::Reply, zone::Hold};

pub fn get(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    Ok(Reply::ok(&shown(&world.zone(params[0])?.hold)))
}

pub fn post(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let includes_subdomains = call.query.get("include_subdomains") == Some("true");
    let zone = world.zone(params[0])?;
    zone.hold = Hold { is_on: true, includes_subdomains };
    Ok(Reply::ok(&shown(&zone.hold)))
}

pub fn patch(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let zone = world.zone(params[0])?;
    if let Some(includes) = body.get("include_subdomains").and_then(Value::as_bool) {
        zone.hold.includes_subdomains = includes;
    }
    Ok(Reply::ok(&shown(&zone.hold)))
}

pub fn delete(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let zone = world.zone(params[0])?;
    zone.hold = Hold::default();
    Ok(Reply::ok(&shown(&zone.hold)))
}

/// The schema has `include_subdomains` as a text.
fn shown(hold: &Hold) -> Value {
    json!({
        "hold": hold.is_on,
        "hold_after": null,
        "include_subdomains": hold.includes_subdomains.to_string(),
    })
}
