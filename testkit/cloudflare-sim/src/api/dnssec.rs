//! `dnssec`: status and options; keys are fixed, since nobody signs here.

use serde_json::{Value, json};

use super::Ask;
use crate::{
    error::{Failure, Outcome},
    record::stamp,
    reply::Reply,
    zone::{Dnssec, Zone},
};

const PUBLIC_KEY: &str =
    "oXiGYrSTO+LSCJ3mohc8EP+CzF9KxBj8/ydXJ22pKuZP3VAC3/Md/k7xZfz470CoRyZJ6gV6vml07IC3d8xqhA==";
const DIGEST: &str = "48E939042E82C22542CB377B580DFDC52A361CEFDC72E7F9107E2B6BD9306A45";

pub fn get(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    Ok(Reply::ok(&shown(world.zone(params[0])?)))
}

pub fn patch(Ask { world, call, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let body = call.object()?;
    let now = world.clock.tick();
    let zone = world.zone(params[0])?;
    let mut dnssec = Dnssec { modified_on: Some(now), ..zone.dnssec.clone() };
    dnssec.status = match body.get("status").map(Value::as_str) {
        None => dnssec.status,
        // Active only once the parent has the DS record, which it never will.
        Some(Some("active")) => "pending",
        Some(Some("disabled")) => "disabled",
        Some(_) => return Err(Failure::not_json()),
    };
    for (field, value) in [
        ("dnssec_multi_signer", &mut dnssec.multi_signer),
        ("dnssec_presigned", &mut dnssec.presigned),
        ("dnssec_use_nsec3", &mut dnssec.nsec3),
    ] {
        if let Some(given) = body.get(field) {
            *value = given.as_bool().ok_or_else(Failure::not_json)?;
        }
    }
    zone.dnssec = dnssec;
    Ok(Reply::ok(&shown(zone)))
}

pub fn delete(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    world.zone(params[0])?.dnssec = Dnssec::default();
    Ok(Reply::ok(&""))
}

pub fn zsk(Ask { world, params, .. }: Ask<'_>) -> Outcome<Reply> {
    let keys = match world.zone(params[0])?.dnssec.status {
        "disabled" => json!([]),
        _ => {
            json!([{"flags": 256, "protocol": 3, "algorithm": 13, "public_key": PUBLIC_KEY, "key_tag": 34505}])
        }
    };
    Ok(Reply::ok(&keys))
}

fn shown(zone: &Zone) -> Value {
    let dnssec = &zone.dnssec;
    let is_on = dnssec.status != "disabled";
    let key = |value: Value| if is_on { value } else { Value::Null };
    json!({
        "status": dnssec.status,
        "flags": key(json!(257)),
        "algorithm": key(json!("13")),
        "key_type": key(json!("ECDSAP256SHA256")),
        "digest_type": key(json!("2")),
        "digest_algorithm": key(json!("SHA256")),
        "digest": key(json!(DIGEST)),
        "ds": key(json!(format!("{}. 3600 IN DS 2371 13 2 {DIGEST}", zone.name))),
        "key_tag": key(json!(2371)),
        "public_key": key(json!(PUBLIC_KEY)),
        "modified_on": dnssec.modified_on.map(stamp),
        "dnssec_multi_signer": dnssec.multi_signer,
        "dnssec_presigned": dnssec.presigned,
        "dnssec_use_nsec3": dnssec.nsec3,
    })
}
