//! Who is asking: reads the credential headers and finds the grant behind them.

use hyper::{HeaderMap, header::AUTHORIZATION};
use sha2::{Digest, Sha256};

use crate::{
    error::{Failure, Outcome},
    knobs::{UnknownKey, UnknownToken},
    token::{Location, TokenGrant, TokenStatus},
    world::World,
};

/// The caller of one request.
#[derive(Clone, Debug)]
pub struct Actor {
    /// A hash of the credential: the journal and the rate limit never hold the credential itself.
    pub hash: String,
    pub grant: Caller,
}

#[derive(Clone, Debug)]
pub enum Caller {
    /// An issued token, whether or not it still works.
    Token { id: String, grant: TokenGrant },
    /// The user's global key: every right, no status.
    Key(TokenGrant),
    /// Well formed, but nobody issued it.
    Unknown,
}

pub fn hash(credential: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(credential.as_bytes())[..8])
}

/// Guarantees: the credential was well formed.
pub fn identify(world: &World, headers: &HeaderMap) -> Outcome<Actor> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match (text("x-auth-email"), text("x-auth-key"), text(AUTHORIZATION.as_str())) {
        (None, None, None) => Err(missing()),
        (Some(email), Some(key), _) => by_key(world, email, key),
        (_, _, Some(value)) => by_token(world, value),
        (_, _, None) => Err(missing()),
    }
}

impl Actor {
    /// The grant of a credential that works right now, from here.
    pub fn grant(&self, world: &World) -> Outcome<&TokenGrant> {
        match &self.grant {
            Caller::Key(grant) => Ok(grant),
            Caller::Token { grant, .. } if grant.location == Location::Barred => {
                let text = "Cannot use the access token from location: 127.0.0.1";
                Err(Failure::gateway(403, 9109, text))
            }
            Caller::Token { grant, .. } if grant.status_at(world.clock.now()) == TokenStatus::Active => {
                Ok(grant)
            }
            Caller::Token { .. } | Caller::Unknown => Err(match world.knobs.unknown_token {
                UnknownToken::InvalidAccessToken => Failure::gateway(403, 9109, "Invalid access token"),
                UnknownToken::AuthenticationError => Failure::forbidden(),
            }),
        }
    }
}

fn missing() -> Failure {
    Failure::gateway(400, 9106, "Missing X-Auth-Key, X-Auth-Email or Authorization headers")
}

fn by_token(world: &World, header: &str) -> Outcome<Actor> {
    let malformed = || Failure::bad_header(6111, "Invalid format for Authorization header");
    let token = header.strip_prefix("Bearer ").ok_or_else(malformed)?;
    if !is_token(token) {
        return Err(malformed());
    }
    let grant = match world.tokens.get(token) {
        Some((id, grant)) => Caller::Token { id: id.clone(), grant: grant.clone() },
        None => Caller::Unknown,
    };
    Ok(Actor { hash: hash(token), grant })
}

fn by_key(world: &World, email: &str, key: &str) -> Outcome<Actor> {
    if !email.contains('@') {
        return Err(Failure::bad_header(6102, "Invalid format for X-Auth-Email header"));
    }
    if key.len() != 37 || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Failure::bad_header(6103, "Invalid format for X-Auth-Key header"));
    }
    if world.keys.get(email).is_some_and(|known| known == key) {
        return Ok(Actor { hash: hash(key), grant: Caller::Key(TokenGrant::full()) });
    }
    let status = match world.knobs.unknown_key {
        UnknownKey::Forbidden => 403,
        UnknownKey::BadRequest => 400,
    };
    Err(Failure::gateway(status, 9103, "Unknown X-Auth-Key or X-Auth-Email"))
}

/// 40 characters, or longer with the prefix of account-owned tokens.
pub fn is_token(token: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let fits = token.len() == 40 || (token.starts_with("cfat_") && (40..=80).contains(&token.len()));
    fits && token.bytes().all(allowed)
}
