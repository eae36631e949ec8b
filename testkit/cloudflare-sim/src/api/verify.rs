//! Whether a token works, as the token itself may ask.

use serde_json::{Map, Value, json};

use super::{Ask, Call};
use crate::{
    auth::Caller,
    error::{Failure, Outcome},
    knobs::{InactiveVerify, UnknownVerify},
    record::stamp,
    reply::Reply,
    token::{Location, TokenOwner, TokenStatus},
    world::World,
};

pub fn user(Ask { world, call, .. }: Ask<'_>) -> Outcome<Reply> {
    verify(world, call, TokenOwner::User)
}

pub fn account(Ask { world, call, .. }: Ask<'_>) -> Outcome<Reply> {
    verify(world, call, TokenOwner::Account)
}

fn verify(world: &World, call: &Call<'_>, owner: TokenOwner) -> Outcome<Reply> {
    let unknown = || {
        let status = match world.knobs.unknown_verify {
            UnknownVerify::Unauthorized => 401,
            UnknownVerify::Forbidden => 403,
        };
        Failure::service(status, 1000, "Invalid API Token")
    };
    let (id, grant) = match &call.actor.grant {
        Caller::Key(_) => return Err(Failure::service(400, 1001, "Missing \"Authorization\" header")),
        Caller::Unknown => return Err(unknown()),
        Caller::Token { grant, .. } if grant.location == Location::Barred => {
            return Err(call.actor.grant(world).err().unwrap_or_else(unknown));
        }
        Caller::Token { grant, .. } if grant.owner != owner => return Err(Failure::forbidden()),
        Caller::Token { id, grant } => (id, grant),
    };
    let status = grant.status_at(world.clock.now());
    if status != TokenStatus::Active && world.knobs.inactive_verify == InactiveVerify::Refuse {
        return Err(unknown());
    }
    let mut result = Map::new();
    result.insert("id".into(), Value::from(id.as_str()));
    result.insert("status".into(), Value::from(status.word()));
    for (field, at) in [("not_before", grant.not_before), ("expires_on", grant.expires_on)] {
        if let Some(at) = at {
            result.insert(field.into(), Value::from(stamp(at)));
        }
    }
    let messages = match status {
        TokenStatus::Active => {
            json!([{"code": 10000, "message": "This API Token is valid and active", "type": null}])
        }
        TokenStatus::Expired | TokenStatus::Disabled => json!([]),
    };
    Ok(Reply::verified(&result.into(), &messages))
}
